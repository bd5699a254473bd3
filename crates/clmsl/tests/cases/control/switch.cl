// run: switches grid=7 out=[0,0,0,0,0,0,0] in=[2,3,-1,0,1,97,7] -> out=[-1985,-2995,100207,1000,3000,7000,-7000]
int classify(int n)
{
    switch (n) {
    case -1:
        return 100;
    case 0:
    case 1: {
        int inner = n * 2;
        return inner + 1;
    }
    case 'a': return 7;
    default:
        break;
    }
    return -n;
}

__kernel void switches(__global int* out, __global const int* in)
{
    int i = get_global_id(0);
    int total = 0;
    switch ((uchar)in[i]) {
        const int seven = 7;
        int twice[2] = { 3, 4 };
    case 2:
        total += 10;
    case 3: ;
        int late = 5;
        total += late;
        break;
    case 255:
        late = 50;
        for (int k = 0; k < 10; k++) {
            if (k == 3) continue;
            if (k == 5) break;
            total += late + k;
        }
        break;
    case 7:
    }
    out[i] = total + 1000 * classify(in[i]);
}
