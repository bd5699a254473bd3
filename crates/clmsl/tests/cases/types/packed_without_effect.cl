// run: rays grid=2 pairs={i32:1,i32:2,i32:3,i32:4} out=[0;6] -> pairs={i32:1,i32:4,i32:3,i32:8} out=[32,8,24,32,8,24]
// Packing that moves no member and changes no size: the same structure, with the attribute in any of its places.
typedef struct __attribute__((packed)) Ray { float3 origin; float3 direction; } Ray;
struct Pair { int first; int second; } __attribute__((__packed__));
typedef struct { struct Pair pairs[3]; } Pairs;

float along(const Ray ray) { return ray.direction.y; }

__kernel void rays(__global struct Pair* pairs, __global int* out)
{
    size_t i = get_global_id(0);
    Ray ray = { (float3)(0.0f), (float3)(1.0f, pairs[i].first, 2.0f) };
    __global int* words = (__global int*)pairs;
    struct Pair* none = 0;
    __global struct Pair* second = (__global struct Pair*)(words + 2 * i);
    second->second += (along(ray) > 1.0f ? 4 : 2);
    out[3 * i] = sizeof(Ray);
    out[3 * i + 1] = none ? 0 : sizeof(struct Pair);
    out[3 * i + 2] = sizeof(Pairs);
}
