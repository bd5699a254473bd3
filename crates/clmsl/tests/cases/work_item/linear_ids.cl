// options: -cl-std=CL2.0
// run: linear grid=4,2,2 group=2,2,1 out=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0] -> out=[2000,2101,2002,2103,2204,2305,2206,2307,2008,2109,2010,2111,2212,2313,2214,2315]
__kernel void linear(__global uint* out)
{
    size_t i = get_global_linear_id();
    out[i] = get_local_linear_id() * 100 + i + get_enqueued_local_size(0) * 1000;
}
