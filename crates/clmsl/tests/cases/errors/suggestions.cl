typedef struct { float velocity; int mass; } Body;
typedef float Real;
int helper_function(int x) { return x; }
__kernel void k(__global Body* bodies, __gloabl int* out) { out[0] = 1; }
__kernel void l(__global Body* bodies, __global int* results) {
    unit i = get_gobal_id(0);
    size_t index = get_global_id(0);
    bodies[index].velocty = sqtr(1.0f);
    results[indx] = helper_fuction(bodies->Mass);
    Raal r = INFINITE;
    nothing_like_it(index);
}
