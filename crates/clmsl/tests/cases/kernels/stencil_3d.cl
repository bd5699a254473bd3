// run: laplace grid=4,4,4 in=[-5,-5,4,-5,9,-6,9,1,-5,-9,-4,2,-7,-6,-7,3,-8,-9,-1,-4,1,8,7,1,3,6,-1,3,-5,2,-5,-6,5,1,-2,-9,-5,6,-1,9,8,7,-9,-9,1,-3,6,-3,-7,-7,-4,2,-7,6,-4,-4,3,7,-1,6,-4,-7,6,5] out=[9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9] -> out=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,-43,-27,0,0,-26,4,0,0,0,0,0,0,0,0,0,0,-20,13,0,0,-27,55,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]
#define AT(x, y, z) (((z) * ny + (y)) * nx + (x))

__kernel void laplace(__global const float* in, __global float* out)
{
    const size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    const size_t nx = get_global_size(0), ny = get_global_size(1), nz = get_global_size(2);
    if (x == 0 || y == 0 || z == 0 || x == nx - 1 || y == ny - 1 || z == nz - 1) {
        out[AT(x, y, z)] = 0;
        return;
    }
    out[AT(x, y, z)] = in[AT(x - 1, y, z)] + in[AT(x + 1, y, z)] + in[AT(x, y - 1, z)] + in[AT(x, y + 1, z)]
                     + in[AT(x, y, z - 1)] + in[AT(x, y, z + 1)] - 6.0f * in[AT(x, y, z)];
}
