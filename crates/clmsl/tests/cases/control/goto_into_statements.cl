// Jumps into loops, branches and switches, and to a loop's second entry.
int into_loop(int x) { if (x > 2) goto inner; while (x < 9) { x++; inner: x += 2; } return x; }

int two_entries(int x) { if (x) goto middle; start: x += 1; middle: x += 2; if (x < 9) goto start; return x; }

int past_labels(int x) { switch (x) { case 1: if (x) goto end; case 2: x = 5; end: x++; } return x; }

int back_past_labels(int x) { switch (x) { case 0: again: x++; case 1: if (x < 3) goto again; } return x; }

int between_branches(int x)
{
    int r = 0;
    if (x & 1) {
        r += 10;
        if (x & 2) goto other;
        r += 20;
    } else if (x & 4) {
        r += 100;
    } else {
        r += 1000;
    other:
        r += 2000;
        if (r < 5000) goto other;
    }
    return r + x;
}

// The initialisation of the loop is passed, and of what is declared in it.
int into_counted_loop(int x)
{
    int r = 0, i = 3;
    if (x & 1) goto inside;
    for (i = 0; i < 6; i++) {
        const int square = i * i;
        if (square == 4) continue;
        r += square;
        for (int k = 0; k < 3; k++) {
            r += k;
            if (r > 100) goto inside;
        }
        {
        inside:
            r += 7;
            if (i == x) break;
        }
    }
    if (r < 200) { r += 150; goto inside; }
    return r;
}

int into_switch(int x)
{
    int r = x;
    if (x > 3) goto two;
    do {
        switch (r & 3) {
        case 0: r += 1; break;
        case 1: r += 4;
        two: r += 2;
        case 3: r += 5; break;
        default: r += 9;
        }
    } while (r < 30);
    return r;
}

// The second time round, the jump to `default` is over.
int past_an_old_jump(int x)
{
    uint r = (uint)x;
    int left = 60, i = 0;
    for (i = 0; --left > 0 && i < 1; i++) {
        switch ((int)(r % 5u)) {
        back:
            if (--left < 0) return (int)r;
            switch ((int)(r % 5u)) {
            inner:
                for (i = 0; --left > 0 && i < 4; i++) {
            case 1:;
                }
            }
            r = r * 31u + 17u;
        default:
            goto back;
        }
    }
    if (r & 2u) goto inner;
    return (int)r;
}

__kernel void k(__global int* out)
{
    int i = get_global_id(0);
    __global int* own = out + 8 * i;
    own[0] = into_loop(i);
    own[1] = two_entries(i);
    own[2] = past_labels(i);
    own[3] = back_past_labels(i);
    own[4] = between_branches(i);
    own[5] = into_counted_loop(i);
    own[6] = into_switch(i);
    own[7] = past_an_old_jump(i);
}
// run: k grid=8 out=[0;64] -> out=[9,9,0,3,5000,324,36,-739060943,10,9,2,3,31,225,36,230520080,11,10,6,2,5002,258,40,-2034433105,11,11,3,3,6013,321,32,1732557731,9,9,4,4,104,223,40,-1681647667,10,10,5,5,35,225,36,-186123124,11,11,6,6,106,258,36,-1482608890,9,9,7,7,6017,225,40,-1490368249]
