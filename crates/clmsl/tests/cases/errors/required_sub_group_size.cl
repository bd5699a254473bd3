__attribute__((intel_reqd_sub_group_size(16)))
__kernel void sixteen(__global int* out)
{
    out[get_global_id(0)] = 1;
}

__attribute__((qcom_reqd_sub_group_size("half")))
__kernel void half_of_the_wave(__global int* out)
{
    out[get_global_id(0)] = 2;
}

__kernel void eight(__global int* out) __attribute__((intel_reqd_sub_group_size(2 * 4)));
__kernel void eight(__global int* out) { *out = 3; }

__attribute__((intel_reqd_sub_group_size(width)))
__kernel void unknown(__global int* out) { *out = 4; }

__attribute__((intel_reqd_sub_group_size))
__kernel void nothing(__global int* out) { *out = 5; }
