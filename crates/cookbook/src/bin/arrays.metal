// Takes the mean of each column away. x is row by row; a thread is a column.

#include <metal_stdlib>
using namespace metal;

kernel void centre(device float* x [[buffer(0)]], constant uint& rows [[buffer(1)]], uint column [[thread_position_in_grid]],
                   uint columns [[threads_per_grid]]) {
    float sum = 0;
    for (uint row = 0; row < rows; row++)
        sum += x[row * columns + column];
    float mean = sum / rows;
    for (uint row = 0; row < rows; row++)
        x[row * columns + column] -= mean;
}
