static const __constant float black = 16.0f;
static const __constant float white = 255.0f;
__constant float level = black / white;
__constant int stride = 3;
__constant int sums[2] = { stride + stride, -stride };
__constant int chosen = level > 0.5f ? sizeof(stride) : stride + 2;

// run: initialisers grid=1 floats=[0] ints=[0;3] -> floats=[0.0627451017] ints=[6,-3,5]
__kernel void initialisers(__global float* floats, __global int* ints)
{
    __constant float half_level = level * 0.5f;
    floats[0] = half_level * 2.0f;
    ints[0] = sums[0];
    ints[1] = sums[1];
    ints[2] = chosen;
}
