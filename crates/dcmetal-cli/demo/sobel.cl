// Sobel filter: how strongly the brightness of an RGBA image changes at each pixel, 0 to 255.
// https://en.wikipedia.org/wiki/Sobel_operator; pixels beyond the edge repeat the edge pixel.

static float brightness(uchar4 pixel)
{
    /* ITU-R BT.601 luma */
    const float4 weight = (float4)(0.299f, 0.587f, 0.114f, 0.0f);
    return dot(convert_float4(pixel), weight);
}

static float at(__global const uchar4 *image, int x, int y, int width, int height)
{
    return brightness(image[clamp(y, 0, height - 1) * width + clamp(x, 0, width - 1)]);
}

__kernel void sobel(__global const uchar4 *image, __global uchar *edges, int width, int height)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;

    float across = 0.0f, down = 0.0f;
    for (int i = -1; i <= 1; i++) {
        const float weight = i == 0 ? 2.0f : 1.0f;
        across += weight * (at(image, x + 1, y + i, width, height) - at(image, x - 1, y + i, width, height));
        down += weight * (at(image, x + i, y + 1, width, height) - at(image, x + i, y - 1, width, height));
    }
    edges[y * width + x] = convert_uchar_sat_rte(hypot(across, down));
}
