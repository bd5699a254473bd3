__constant float roots[6] = { sqrt(2.0f), fabs(-1.5f), floor(-0.5f), ceil(0.5f), trunc(-1.75f), rint(2.5f) };
__constant float4 pairs = (float4)(fmin(1.0f, NAN), fmax(-2.0f, 1.0f), copysign(3.0f, -0.0f), round(-2.5f));
__constant float8 limits = max((float8)(-1, 2, -3, 4, -5, 6, -7, 8), 0.5f);
__constant int8 bounded = clamp((int8)(-9, 9, 0, 100, -100, 3, 2, 1), -3, 5);
__constant uint4 sizes = abs((int4)(-1, 2, -2147483647 - 1, 0));
__constant uint differences[2] = { abs_diff(-2147483647, 2147483647), abs_diff(3u, 5u) };
__constant int rows = max(3, 2 * vec_step(float3)) - min(2, 1);

// run: functions grid=1 floats=[0;18] ints=[0;15] -> floats=[1.41421356,1.5,-1,1,-1,2,1,1,-3,-3,0.5,2,0.5,4,0.5,6,0.5,8] ints=[-3,5,0,5,-3,3,2,1,1,2,-2147483648,0,-2,2,7]
__kernel void functions(__global float* floats, __global int* ints)
{
    for (int i = 0; i < 6; i++)
        floats[i] = roots[i];
    vstore4(pairs, 0, floats + 6);
    vstore8(limits, 0, floats + 10);
    vstore8(bounded, 0, ints);
    vstore4(as_int4(sizes), 2, ints);
    ints[12] = as_int(differences[0]);
    ints[13] = as_int(differences[1]);
    ints[14] = rows;
}
