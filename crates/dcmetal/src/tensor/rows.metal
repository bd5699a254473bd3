// What one row of WIDTH threads finds out together. A threadgroup has ROWS_AT_ONCE such rows.

#include <metal_stdlib>
using namespace metal;

constant constexpr uint WIDTH = 64, ROWS_AT_ONCE = 4, STEP = 8, ROOM = WIDTH + STEP;

// A value from each thread's, given to all threads of the row: `part` is the row's own ROOM. The order is fixed: thread i of eight takes those of the threads i, i + 8, ... first.
template <class V, class Take>
static V combined(threadgroup V *part, V own, uint t, Take take) {
  threadgroup_barrier(mem_flags::mem_threadgroup);
  part[t] = own;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t < STEP) {
    V some = part[t];
    for (uint i = t + STEP; i < WIDTH; i += STEP)
      some = take(some, part[i]);
    part[WIDTH + t] = some;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  V all = part[WIDTH];
#pragma unroll
  for (uint i = 1; i < STEP; i++)
    all = take(all, part[WIDTH + i]);
  return all;
}

struct Plus {
  float operator()(float a, float b) const { return a + b; }
};
// NaN stays.
struct Larger {
  float operator()(float a, float b) const { return b > a || isnan(b) ? b : a; }
};
