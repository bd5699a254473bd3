// Duff's device: the remainder enters the loop in its middle.
void copy(__global int* to, __global const int* from, int count)
{
    int rounds = (count + 3) / 4;
    switch (count % 4) {
    case 0: do { *to++ = *from++;
    case 3:      *to++ = *from++;
    case 2:      *to++ = *from++;
    case 1:      *to++ = *from++;
            } while (--rounds > 0);
    }
}

// A coroutine: each call goes on behind the return that left the one before.
typedef struct { int state, i, k; } Walk;

int next(Walk* walk)
{
    switch (walk->state) {
    case 0:
        for (walk->i = 1; walk->i <= 2; walk->i++) {
            for (walk->k = 0; walk->k < walk->i; walk->k++) {
                do { walk->state = 1; return walk->i * 10 + walk->k; case 1:; } while (0);
            }
            if (walk->i == 2) {
                walk->state = 2;
                return 100;
    case 2:
                walk->state = 3;
                return 200;
            }
        }
    case 3:
    default:
        walk->state = 4;
    }
    return -1;
}

// In a loop of its own, with breaks of both, and a switch within.
int mixed(int x)
{
    int r = 0;
    for (int n = 0; n < 6; n++) {
        switch (x + n) {
            if (r > 50) {
        case 3:
                r += 1;
                break;
            } else {
        default:
                r += 10;
                if (r > 90) continue;
            }
            switch (n) {
            case 3: r += 500;
            case 4: break;
            }
            r += 2;
            while (r < 40) {
        case 5:
                r += 7;
                if (r & 1) break;
            }
        }
        r += 1000;
    }
    return r;
}

int ranges(int c)
{
    switch (c) {
    case '0' ... '9': return 1;
    case 'a' ... 'f':
    case 'A' ... 'F': return 2;
    case -3 ... -3: return 3;
    }
    switch (c) case 1 ... 4: return 4;
    return 0;
}

__kernel void k(__global int* out, __global const int* in)
{
    int i = get_global_id(0);
    copy(out + 8 * i, in, i + 1);
    Walk walk = { 0, 0, 0 };
    __global int* walked = out + 64 + 8 * i;
    for (int n = 0; n < 8; n++) walked[n] = next(&walk);
    out[128 + i] = mixed(i);
}

__kernel void classify(__global int* out, __global const int* in)
{
    int i = get_global_id(0);
    out[i] = ranges(in[i]);
}
// run: k grid=8 out=[0;136] in=[5,6,7,8,9,10,11,12] -> out=[5,0,0,0,0,0,0,0,5,6,0,0,0,0,0,0,5,6,7,0,0,0,0,0,5,6,7,8,0,0,0,0,5,6,7,8,9,0,0,0,5,6,7,8,9,10,0,0,5,6,7,8,9,10,11,0,5,6,7,8,9,10,11,12,10,20,21,100,200,-1,-1,-1,10,20,21,100,200,-1,-1,-1,10,20,21,100,200,-1,-1,-1,10,20,21,100,200,-1,-1,-1,10,20,21,100,200,-1,-1,-1,10,20,21,100,200,-1,-1,-1,10,20,21,100,200,-1,-1,-1,10,20,21,100,200,-1,-1,-1,3057,3057,3057,2048,2066,1057,1069,1069]
// run: classify grid=10 out=[0;10] in=[48,57,97,102,70,103,-3,4,0,58] -> out=[1,1,2,2,2,0,3,4,0,0]
