// options: --fp64 emulate
// run: ends grid=3 out=[9;3] -> out=[0,1.5,3]
double some(int x) { if (x > 0) return 1.5 * x; }
__kernel void ends(__global double* out)
{
    int i = get_global_id(0);
    double d = some(i);
    out[i] = i > 0 ? d : 0;
}
