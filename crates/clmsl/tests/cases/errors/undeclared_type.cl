float4 helper(undefined_t t);
__kernel void k(__global int* a) {
    unknown_type v;
}
