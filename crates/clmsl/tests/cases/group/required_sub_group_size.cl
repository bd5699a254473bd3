// options: -cl-std=CL2.0
// Butterflies that are right for sub-groups of 32 only, as programs written for one width have them.
#ifdef cl_intel_required_subgroup_size
#error "announced, which says that sizes other than 32 can be had"
#endif

__attribute__((intel_reqd_sub_group_size(32)))
__kernel void total(__global const int* x, __global int* sum)
{
    int own = x[get_global_id(0)];
    for (uint mask = 16; mask > 0; mask /= 2)
        own += sub_group_shuffle_xor(own, mask);
    if (get_sub_group_local_id() == 31)
        sum[get_global_id(0) / 32] = own;
}

__kernel void width(__global uint* size) __attribute__((intel_reqd_sub_group_size(1 << 5)));
__kernel void width(__global uint* size) { *size = get_max_sub_group_size(); }
// run: total grid=96 group=96 x=[-39,-2,35,-29,8,45,-19,18,-46,-9,28,-36,1,38,-26,11,48,-16,21,-43,-6,31,-33,4,41,-23,14,-50,-13,24,-40,-3,34,-30,7,44,-20,17,-47,-10,27,-37,0,37,-27,10,47,-17,20,-44,-7,30,-34,3,40,-24,13,50,-14,23,-41,-4,33,-31,6,43,-21,16,-48,-11,26,-38,-1,36,-28,9,46,-18,19,-45,-8,29,-35,2,39,-25,12,49,-15,22,-42,-5,32,-32,5,42] sum=[0;3] -> sum=[-66,48,61]
// run: width grid=1 size=[0] -> size=[32]
