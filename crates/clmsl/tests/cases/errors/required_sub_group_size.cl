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
