#include <metal_stdlib>
using namespace metal;

struct Interval { float left, right; };
struct Leaf { float left, right, value; };
// What the next launch is: its number of threadgroups, as Metal reads it, and how many intervals there are.
struct Level { atomic_uint threadgroups; uint one, also_one; atomic_uint count; };

static float f(float x) { return 1 / (1e-4f + x * x); }
static float simpson(float left, float right) {
    return (right - left) / 6 * (f(left) + 4 * f((left + right) / 2) + f(right));
}

// An interval whose halves say what the whole says is a leaf; of any other the halves are two intervals of the next level.
kernel void refine(device const Interval* now [[buffer(0)]], device const uint* level [[buffer(1)]], device Interval* next [[buffer(2)]],
                   device Level* next_level [[buffer(3)]], device Leaf* leaves [[buffer(4)]], device atomic_uint* leaf_count [[buffer(5)]],
                   constant uint& capacity [[buffer(6)]], constant float& tolerance [[buffer(7)]],
                   uint i [[thread_position_in_grid]], uint threads [[threads_per_threadgroup]]) {
    if (i >= level[3])
        return;
    float left = now[i].left, right = now[i].right, middle = (left + right) / 2;
    float whole = simpson(left, right), halves = simpson(left, middle) + simpson(middle, right);
    if (fabs(halves - whole) <= tolerance * (right - left) || middle <= left || middle >= right) {
        uint at = atomic_fetch_add_explicit(leaf_count, 1, memory_order_relaxed);
        if (at < capacity)
            leaves[at] = {left, right, halves};
        return;
    }
    uint at = atomic_fetch_add_explicit(&next_level->count, 2, memory_order_relaxed);
    atomic_fetch_max_explicit(&next_level->threadgroups, (at + 2 + threads - 1) / threads, memory_order_relaxed);
    // Where there is no room the launch of so many threadgroups is refused.
    if (at + 2 <= capacity) {
        next[at] = {left, middle};
        next[at + 1] = {middle, right};
    }
}
