// run: mandelbrot grid=8,4 out=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0] origin=[-2,-1] step=0.375 limit=50 -> out=[1,2,3,3,4,13,4,2,1,3,3,5,20,50,17,3,1,4,9,24,50,50,50,4,1,6,19,50,50,50,50,4]
static float2 csqr(float2 z) { return (float2)(z.x * z.x - z.y * z.y, 2.0f * z.x * z.y); }

__kernel void mandelbrot(__global uchar* out, float2 origin, float step, int limit)
{
    const size_t x = get_global_id(0), y = get_global_id(1);
    const float2 c = origin + step * (float2)(x, y);
    float2 z = 0.0f;
    int n = 0;
    while (n < limit && dot(z, z) <= 4.0f) {
        z = csqr(z) + c;
        n++;
    }
    out[y * get_global_size(0) + x] = n;
}
