// Escape times in fixed point with 12 fractional bits, so that every result is exact.
#include <metal_stdlib>
using namespace metal;

static int escape(int cx, int cy, int limit) {
    int x = 0, y = 0, n = 0;
    while (n < limit && ((x * x + y * y) >> 12) <= (4 << 12)) {
        int next = ((x * x - y * y) >> 12) + cx;
        y = ((2 * x * y) >> 12) + cy;
        x = next;
        ++n;
    }
    return n;
}

kernel void mandelbrot(device ushort* out [[buffer(0)]], constant int2& origin [[buffer(1)]],
                       constant int& step [[buffer(2)]], constant int& limit [[buffer(3)]],
                       uint2 p [[thread_position_in_grid]], uint2 size [[threads_per_grid]]) {
    int n = escape(origin.x + int(p.x) * step, origin.y + int(p.y) * step, limit);
    out[p.y * size.x + p.x] = ushort(n);
}
