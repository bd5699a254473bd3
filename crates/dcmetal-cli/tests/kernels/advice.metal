#include <metal_stdlib>
using namespace metal;

// What can be changed as `dcmetal analyze` advises, and be run so.

// Columns of a tile, whose 32 numbers lie in one bank.
kernel void banks(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                  uint2 at [[thread_position_in_threadgroup]], uint2 group [[threadgroup_position_in_grid]])
{
    threadgroup float tile[32][32];
    const uint own = group.x * 1024 + at.y * 32 + at.x;
    tile[at.y][at.x] = x[own];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[own] = tile[at.x][at.y];
}

// One address for all, and a divisor that is not known.
kernel void shared_values(device const float *table [[buffer(0)]], device float *y [[buffer(1)]],
                          constant uint &n [[buffer(2)]], uint at [[thread_position_in_grid]])
{
    y[at] = table[3] + float(at / n);
}

// One SIMD-group in each threadgroup.
kernel void barrier(device float *y [[buffer(0)]], uint at [[thread_index_in_threadgroup]],
                    uint own [[thread_position_in_grid]])
{
    threadgroup float row[32];
    row[at] = float(own);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[own] = row[31 - at];
}

static float first(device const float *table) { return table[0]; }

// In constant memory it could not be passed on.
kernel void passes_on(device const float *table [[buffer(0)]], device float *y [[buffer(1)]],
                      uint at [[thread_position_in_grid]])
{
    y[at] = first(table) + at;
}

// In constant memory it is no output any more.
kernel void not_const(device uint *table [[buffer(0)]], device uint *y [[buffer(1)]], uint at [[thread_position_in_grid]])
{
    y[at] = table[3] + at;
}
