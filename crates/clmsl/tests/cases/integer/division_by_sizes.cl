// run: k grid=12 group=4 n=-7 out=[0;12] q=[0;12] -> out=[0,1,2,3,104,105,106,107,208,209,210,211] q=[1073741822,1073741822,1073741822,1073741822,1073741823,1073741823,1073741823,1073741823,1073741824,1073741824,1073741824,1073741824]
// Work-items are there, so sizes are not 0 and division by them needs no guard; as a narrow or signed number they may be.
__kernel void k(int n, __global uint* out, __global uint* q)
{
    uint i = get_global_id(0);
    out[i] = i / get_local_size(0) * 100 + i % get_global_size(0);
    uint wide = 4294967289u;
    wide /= get_num_groups(0) + 1;
    q[i] = wide + get_global_id(0) / get_local_size(0);
    q[i] += n / (int)get_global_size(1) + 7 + i / (ushort)get_local_size(0) - i / (uint)get_local_size(0);
}
