// A step of the heat on a plate whose edge is kept at 0: a work-group's tile, with a border of one, in local memory.
__kernel void heat(__global const float *now, __global float *next, __local float *tile, int width, int height, float rate)
{
    const int x = get_global_id(0), y = get_global_id(1);
    const int columns = get_local_size(0), rows = get_local_size(1), pitch = columns + 2;
    const int i = get_local_id(0) + 1, j = get_local_id(1) + 1;

#define AT(x, y) ((x) >= 0 && (x) < width && (y) >= 0 && (y) < height ? now[(y) * width + (x)] : 0.0f)
    tile[j * pitch + i] = AT(x, y);
    if (i == 1) tile[j * pitch] = AT(x - 1, y);
    if (i == columns) tile[j * pitch + i + 1] = AT(x + 1, y);
    if (j == 1) tile[i] = AT(x, y - 1);
    if (j == rows) tile[(j + 1) * pitch + i] = AT(x, y + 1);
    barrier(CLK_LOCAL_MEM_FENCE);

    const float here = tile[j * pitch + i];
    const float around = tile[j * pitch + i - 1] + tile[j * pitch + i + 1] + tile[(j - 1) * pitch + i] + tile[(j + 1) * pitch + i];
    if (x < width && y < height)
        next[y * width + x] = here + rate * (around - 4.0f * here);
}
