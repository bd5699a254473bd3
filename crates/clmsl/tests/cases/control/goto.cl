// run: jumps grid=6 out=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0] -> out=[-1,13000,384,-1,1,13000,413,3,51,13000,418,1,107,13101,454,2,1,13103,384,3,1,13206,454,4]
// Jumps forward: out of nested statements, past declarations, to a common exit.
int forward(int x)
{
    int r = 0;
    if (x < 0) goto fail;
    for (int i = 0; i < 10; i++) {
        for (int j = 0; j < 10; j++) {
            r += i * j;
            if (r > 50 * x) goto done;
        }
        r++;
        while (1) {
            switch (x) {
            case 1: goto next;
            case 2: if (i > 2) goto fail;
                    break;
            default: goto done;
            }
            break;
        }
    next:
        r += 2;
    }
    const int large = r + 1000;
    int parts[3] = { r, 1 };
    if (x == 3) goto last;
    parts[1] += 5;
    if (x == 2) { r += 7; goto last; }
    r += large + parts[1];
last:
    parts[2] = 1;
    r += parts[2];
done:
    return r;
fail:
    return -1 - r;
}

// Jumps backward: loops, also nested, with breaks and continues of loops around them.
int backward(int x)
{
    int i = 0, r = 0;
again:
    r += i;
    int odd = i & 1;
inner:
    if (odd) { odd = 0; r += 100; goto inner; }
    i++;
    if (i < x) goto again;
    for (int k = 0; k < 6; k++) {
        int tries = 0;
    retry:
        tries++;
        if (k == 1) continue;
        switch (k) {
        case 2:
            if (tries < 3) goto retry;
            break;
        case 3:
            if (tries < 2) goto retry;
            continue;
        case 5:
            goto out;
        default:
            if (tries > 4) break;
            goto retry;
        }
        r += tries * 1000;
        if (k == 4 && x == 3) break;
    }
out:
    return r;
}

// Forward and backward to one label; a loop left by a jump from its middle; labels in blocks and switches.
int mixed(int x)
{
    int r = 0, n = 0;
    if (x & 1) goto body;
    r = 10;
body:
    n++;
    {
        if (n == 2) goto skip;
        r += n;
    skip:
        ;
    }
    do {
        r += 3;
        if (r > 40) goto end;
        if (r % 5 == 0) goto body;
    } while (r < 30);
    switch (x) {
    case 0:
        r++;
        if (r > 5) goto two;
        r += 1000;
    two:
        r += 2;
        break;
    case 1:
        r = -r;
    }
    if (n < 4) goto body;
end:
    return r * 10 + n;
}

int jump_over_everything(int x) { if (x) goto out; { int y = 3; x += y; } out: return x; }

__kernel void jumps(__global int* out)
{
    int i = get_global_id(0), x = i - 1;
    out[4 * i] = forward(x);
    out[4 * i + 1] = backward(x);
    out[4 * i + 2] = mixed(x);
    out[4 * i + 3] = jump_over_everything(x);
}
