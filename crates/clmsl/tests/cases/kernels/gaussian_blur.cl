// run: blur_rows grid=8,8 group=8,1 in=[9,3,12,14,3,8,0,2,6,14,15,10,9,9,0,6,15,6,3,3,11,0,15,14,9,7,12,8,7,5,7,12,0,0,11,5,12,0,14,1,6,15,1,10,11,6,1,8,6,13,10,5,0,9,4,10,13,5,14,8,8,12,12,14] out=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0] width=8 height=8 -> out=[7.6875,7.8125,9.5,9.6875,7.375,4.75,2.8125,1.875,8.5625,11.5,12.5625,11.1875,9.0625,6.625,4.6875,4.6875,12,7.875,5,5,6,7.5625,10.6875,13.375,8.6875,8.9375,9.25,8.5,7.0625,6.625,8.0625,10.3125,0.6875,3.0625,6.125,7.625,7.3125,6.875,6.3125,4.1875,7.9375,8.375,7.6875,8.0625,8.25,6.375,5.0625,6.125,8,9.5625,8.625,5.75,4.375,5.3125,6.875,8.4375,11.0625,9.9375,9.8125,9.5625,9.625,10.875,12.375,13.375]
// run: blur_columns grid=8,8 in=[9,3,12,14,3,8,0,2,6,14,15,10,9,9,0,6,15,6,3,3,11,0,15,14,9,7,12,8,7,5,7,12,0,0,11,5,12,0,14,1,6,15,1,10,11,6,1,8,6,13,10,5,0,9,4,10,13,5,14,8,8,12,12,14] out=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0] width=8 height=8 -> out=[8.625,5.9375,12.1875,12.3125,5,7.75,0.9375,3.75,9.375,8.125,10.875,9.375,7.5,6.1875,4.1875,7.125,9.9375,7.6875,9.3125,6.8125,9.0625,4,8.25,9.9375,7.875,5.9375,9,6.25,9.625,2.8125,9.9375,9.125,5.0625,6.6875,8.1875,6.875,9.6875,3.3125,8.4375,6.875,5.125,9.625,7.25,7.25,8.0625,5.5625,6.0625,7.375,7.8125,10.1875,9.0625,7.1875,6,8.625,6.375,10.1875,10.8125,7.625,12.1875,7.375,6.1875,10.875,9.3125,12.625]
#define RADIUS 2
#define GROUP 8

__constant float weights[2 * RADIUS + 1] = { 0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f };

int clamp_index(int i, int n) { return min(max(i, 0), n - 1); }

float tap(const float* line, int centre)
{
    float sum = 0.0f;
    for (int k = -RADIUS; k <= RADIUS; ++k)
        sum += weights[k + RADIUS] * line[centre + k];
    return sum;
}

__kernel void blur_rows(__global const float* in, __global float* out, int width, int height)
{
    __local float line[GROUP + 2 * RADIUS];
    const int x = get_global_id(0), y = get_global_id(1), l = get_local_id(0);
    line[l + RADIUS] = in[y * width + clamp_index(x, width)];
    if (l < RADIUS) {
        line[l] = in[y * width + clamp_index(x - RADIUS, width)];
        line[l + GROUP + RADIUS] = in[y * width + clamp_index(x + GROUP, width)];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x < width && y < height)
        out[y * width + x] = tap(line, l + RADIUS);
}

// The other direction without local memory; the helper works on private memory.
__kernel void blur_columns(__global const float* in, __global float* out, int width, int height)
{
    const int x = get_global_id(0), y = get_global_id(1);
    float line[2 * RADIUS + 1];
    for (int k = -RADIUS; k <= RADIUS; ++k)
        line[k + RADIUS] = in[clamp_index(y + k, height) * width + x];
    out[y * width + x] = tap(line, RADIUS);
}
