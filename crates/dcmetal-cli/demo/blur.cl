// Separable Gaussian blur of an RGBA image with local memory: blur_rows, then blur_columns.
// Work-group: GROUP x 1 for rows, 1 x GROUP for columns; pixels beyond the edge repeat the edge pixel.

#ifndef GROUP
#define GROUP 64
#endif
#define MAX_RADIUS 16

/* Sum of 2 * radius + 1 neighbours of tile[centre], weighted. */
static float4 weighted_sum(__local const float4 *tile, int centre, __constant const float *weights, int radius)
{
    float4 sum = (float4)(0.0f);
    for (int i = -radius; i <= radius; i++)
        sum += weights[i + radius] * tile[centre + i];
    return sum;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void blur_rows(__global const uchar4 *source, __global float4 *result, __constant float *weights,
               int radius, int width, int height)
{
    __local float4 tile[GROUP + 2 * MAX_RADIUS];
    const int x = get_global_id(0), y = get_global_id(1), lane = get_local_id(0);
    const int first = (int)(get_group_id(0) * GROUP) - radius;

    for (int i = lane; i < GROUP + 2 * radius; i += GROUP)
        tile[i] = convert_float4(source[y * width + clamp(first + i, 0, width - 1)]);
    barrier(CLK_LOCAL_MEM_FENCE);

    if (x < width && y < height)
        result[y * width + x] = weighted_sum(tile, lane + radius, weights, radius);
}

__kernel __attribute__((reqd_work_group_size(1, GROUP, 1)))
void blur_columns(__global const float4 *source, __global uchar4 *result, __constant float *weights,
                  int radius, int width, int height)
{
    __local float4 tile[GROUP + 2 * MAX_RADIUS];
    const int x = get_global_id(0), y = get_global_id(1), lane = get_local_id(1);
    const int first = (int)(get_group_id(1) * GROUP) - radius;

    for (int i = lane; i < GROUP + 2 * radius; i += GROUP)
        tile[i] = source[clamp(first + i, 0, height - 1) * width + x];
    barrier(CLK_LOCAL_MEM_FENCE);

    if (x < width && y < height)
        result[y * width + x] = convert_uchar4_sat_rte(weighted_sum(tile, lane + radius, weights, radius));
}
