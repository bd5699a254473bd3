__kernel void k(__global float* a, __global half* h, __global int* n, __global float4* v)
{
    n[0] = get_kernel_work_group_size(0);
    enqueue_kernel(0, 0, 0, 0);
    read_pipe(0, 0);
    n[0] = get_image_width(0);
    v[0] = read_imagef(0, 0, 0);
}
