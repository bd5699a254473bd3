// options: -cl-fast-relaxed-math
// differential: given: what lies outside is at coordinates whose sums come out in the order of each side
// run: filter grid=5 image=r32float:4x2:[1,3,5,7,20,40,80,160] at=[0.5,0.5,0.3125,0.375,-0.0625,0.25,1.125,0.875,2.4375,-0.5] out=[0;30] -> out=[32,32,32,32,32,3,10.625,10.625,10.625,10.625,10.625,3,1,5.5,1,1,0.25,3,160,15.25,160,160,0,3,7,26.75,26.75,7,0,3]
// run: volume grid=1 image=r8unorm:2x2x2:[0,51,102,153,204,255,0,51] out=[0;2] -> out=[0.4,0.1]
// run: of_any_format grid=1 image=r32float:2x1:[1,3] out=[0,0] -> out=[2,3]
// run: of_any_format grid=1 image=r8uint:2x1:[1,3] out=[0,0] -> out=[3,3]
// Samplers that are known and filter are Metal's, where Metal has their modes. Others are computed.
__constant sampler_t edge = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
__constant sampler_t border = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;

float second(read_only image2d_t image) { return read_imagef(image, (int2)(1, 0)).x; }

__kernel void filter(read_only image2d_t image, __global const float2* at, __global float* out)
{
    const sampler_t repeat = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;
    const sampler_t mirrored = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_MIRRORED_REPEAT | CLK_FILTER_LINEAR;
    int i = get_global_id(0);
    __global float* mine = out + 6 * i;
    mine[0] = read_imagef(image, edge, at[i]).x;
    mine[1] = read_imagef(image, repeat, at[i]).x;
    mine[2] = read_imagef(image, mirrored, at[i]).x;
    mine[3] = read_imagef(image, CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR, at[i] * (float2)(4, 2)).x;
    mine[4] = read_imagef(image, border, at[i]).x;
    mine[5] = second(image);
}

__kernel void volume(read_only image3d_t image, __global float* out)
{
    out[0] = read_imagef(image, edge, (float4)(0.5f, 0.5f, 0.5f, 0)).x;
    out[1] = read_imagef(image, edge, (float4)(0.5f, 0, 0, 0)).x;
}

__constant sampler_t nearest = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

__kernel void of_any_format(read_only image2d_t image, __global float* out)
{
    int is_float = get_image_channel_data_type(image) == CLK_FLOAT;
    out[0] = is_float ? read_imagef(image, edge, (float2)(0.5f)).x : read_imageui(image, nearest, (float2)(0.5f)).x;
    out[1] = is_float ? second(image) : read_imageui(image, (int2)(1, 0)).x;
}
