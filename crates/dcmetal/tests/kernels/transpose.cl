// A transpose through a tile of local memory; partial tiles at the edges are masked.
#define TILE 8

__kernel void transpose(__global const uint *in, __global uint *out, uint width, uint height) {
    __local uint tile[TILE][TILE + 1];
    uint lx = (uint)get_local_id(0), ly = (uint)get_local_id(1);
    uint x = (uint)get_group_id(0) * TILE + lx, y = (uint)get_group_id(1) * TILE + ly;
    if (x < width && y < height) tile[ly][lx] = in[y * width + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    uint tx = (uint)get_group_id(1) * TILE + lx, ty = (uint)get_group_id(0) * TILE + ly;
    if (tx < height && ty < width) out[ty * height + tx] = tile[lx][ly];
}
