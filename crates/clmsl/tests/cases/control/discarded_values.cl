// run: k grid=1 x=[2.5] out=[0;6] -> out=[2.5,3,7,4,9,2.5]
// A conversion that nobody uses is no declaration: `float(x);` would be one in C++.
__kernel void k(__global const float* x, __global float* out)
{
    float f = x[0], y = 1.0f;
    int i = 7, n = 4, count = 0;
    {
        (int)f;
        (float4)(f);
        convert_int(f);
        out[0] = f;
    }
    if (f > 0) {
        (int)f, y = 3.0f;
        out[1] = y;
    }
    for ((long)n, i = 0; i < n; i++) {
        (char)n;
        count++;
    }
    out[2] = i + 3;
    out[3] = count;
    {
        (float4)(1.0f), (int)(out[4] = 9.0f);
        (int)out[5];
        (short)count++;
    }
    out[5] = count == 5 ? f : 0.0f;
}
