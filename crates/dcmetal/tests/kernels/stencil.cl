// A 3x3 binomial filter over a clamped image; the weights are program-scope constants.
__constant float weight[3] = {0.25f, 0.5f, 0.25f};

float at(__global const float *image, int2 size, int x, int y) {
    return image[clamp(y, 0, size.y - 1) * size.x + clamp(x, 0, size.x - 1)];
}

__kernel void stencil(__global const float *image, __global float *out, int2 size) {
    int x = (int)get_global_id(0);
    int y = (int)get_global_id(1);
    float sum = 0.0f;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            sum += weight[dx + 1] * weight[dy + 1] * at(image, size, x + dx, y + dy);
    out[y * size.x + x] = sum;
}
