// options: -cl-fast-relaxed-math
// run: k grid=1 bits=[0,0,0,0,0] one=1 -> bits=[2139095040,2143289344,4286578688,4286578688,2143289344]
__constant float special[] = { INFINITY, NAN, -INFINITY };
__kernel void k(__global uint* bits, int one)
{
    for (int i = 0; i < 3; i++)
        bits[i] = as_uint(special[i]);
    bits[3] = as_uint(one ? -INFINITY : 0.0f);
    bits[4] = as_uint(one ? NAN : 0.0f);
}
