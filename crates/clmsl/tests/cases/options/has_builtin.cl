// run: asks grid=1 out=[0,0] -> out=[1,2]
// Clang's question for its own functions, of which there are none here.
__kernel void asks(__global int* out)
{
#if __has_builtin(__builtin_amdgcn_global_atomic_fadd_f32)
    __builtin_amdgcn_global_atomic_fadd_f32(out, 1.0f);
#else
    out[0] = 1;
#endif
#if !(__has_builtin (__builtin_of_nobody)) && 1
    out[1] = 2;
#endif
}
