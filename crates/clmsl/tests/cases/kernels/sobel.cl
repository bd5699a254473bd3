// run: sobel grid=8,8 image=[255,38,105,238,78,1,147,192,190,207,164,35,216,107,216,208,248,3,221,160,124,203,243,131,22,185,59,57,49,50,232,92,27,45,101,88,79,242,221,146,252,87,35,69,22,243,56,113,51,250,40,131,243,133,230,229,196,190,147,148,212,109,242,224] edges=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0] size=[8,8] -> edges=[255,255,255,211,255,255,255,172,255,232,119,20,221,255,255,120,255,255,210,255,255,255,141,255,255,255,255,255,220,255,84,255,255,33,146,72,255,255,255,255,255,255,168,244,255,202,255,255,236,255,255,255,255,114,255,255,255,205,255,255,134,102,255,55]
inline uchar pixel(__global const uchar* image, int x, int y, int2 size)
{
    x = clamp(x, 0, size.x - 1);
    y = clamp(y, 0, size.y - 1);
    return image[y * size.x + x];
}

__kernel void sobel(__global const uchar* image, __global uchar* edges, int2 size)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= size.x || y >= size.y)
        return;
    int gx = 0, gy = 0;
    const int weight[3] = { 1, 2, 1 };
    for (int i = -1; i <= 1; i++) {
        gx += weight[i + 1] * (pixel(image, x + 1, y + i, size) - pixel(image, x - 1, y + i, size));
        gy += weight[i + 1] * (pixel(image, x + i, y + 1, size) - pixel(image, x + i, y - 1, size));
    }
    edges[y * size.x + x] = convert_uchar_sat(sqrt((float)(gx * gx + gy * gy)));
}
