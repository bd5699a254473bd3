// Escape times in fixed point with 12 fractional bits, so that every result is exact.
int escape(int cx, int cy, int limit) {
    int x = 0, y = 0, n = 0;
    while (n < limit && ((x * x + y * y) >> 12) <= (4 << 12)) {
        int next = ((x * x - y * y) >> 12) + cx;
        y = ((2 * x * y) >> 12) + cy;
        x = next;
        ++n;
    }
    return n;
}

__kernel void mandelbrot(__global ushort *out, int2 origin, int step, int limit) {
    int px = get_global_id(0), py = get_global_id(1);
    int n = escape(origin.x + px * step, origin.y + py * step, limit);
    out[py * get_global_size(0) + px] = (ushort)n;
}
