#include <metal_stdlib>
using namespace metal;

// A sweep of Jacobi's method: each row's equation is solved for its own unknown, with the others as they were.
kernel void sweep(device const float* matrix [[buffer(0)]], device const float* right [[buffer(1)]], device const float* x [[buffer(2)]],
                  device float* better [[buffer(3)]], uint row [[thread_position_in_grid]], uint rows [[threads_per_grid]]) {
    float rest = right[row];
    for (uint i = 0; i < rows; i++)
        rest -= i == row ? 0 : matrix[row * rows + i] * x[i];
    better[row] = rest / matrix[row * rows + row];
}
