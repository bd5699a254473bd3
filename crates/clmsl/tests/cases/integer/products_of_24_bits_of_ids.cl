// run: k grid=6 group=2 size=3 out=[0;6] all=[0;6] -> out=[0,10,3,13,6,16] all=[0,1,4,5,8,9]
// Ids are `size_t`, and so are products of them; what is kept of them has 32 bits.
__kernel void k(uint size, __global uint* out, __global int* all)
{
    out[get_global_id(0)] = mad24(get_group_id(0), size, get_local_id(0) * 10);
    all[get_global_id(0)] = mul24(get_group_id(0), get_local_size(0) * 2) + get_local_id(0);
}
