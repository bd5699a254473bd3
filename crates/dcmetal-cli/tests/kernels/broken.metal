#include <metal_stdlib>
kernel void broken(device float *y [[buffer(0)]])
{
    y[0] = undeclared;
}
