#include <metal_stdlib>

kernel void outside(device float *y [[buffer(0)]], constant ulong &far [[buffer(1)]])
{
    y[far] = 1.0f;
}
