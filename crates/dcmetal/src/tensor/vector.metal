// y = alpha * A x + beta * y for a matrix and a vector; sums are made in float. Given by the host: DC_T, the elements of A and x; DC_U, those of y; DC_IN_LINE, 1 where
// what a row of threads reads follows each other.

typedef DC_T T;
typedef DC_U U;

struct Sizes {
  uint m, k, a_row, a_column, x_step, y_step;
  float alpha, beta;
};

static U result_of(float sum, device U *before, constant Sizes &size) {
  return U(size.beta == 0.0f ? size.alpha * sum : fma(size.beta, float(*before), size.alpha * sum));
}

#if DC_IN_LINE
#define STEP_OF(step) 1
#else
#define STEP_OF(step) ulong(step)
#endif

// A row of threads for each row of A.
kernel void vector_rows(const device T *a [[buffer(0)]], const device T *x [[buffer(1)]], device U *y [[buffer(2)]], constant Sizes &size [[buffer(3)]],
                        uint3 at [[thread_position_in_threadgroup]], uint3 group [[threadgroup_position_in_grid]]) {
  threadgroup float part[ROWS_AT_ONCE * ROOM];
  const uint row = group.y * ROWS_AT_ONCE + at.y, whole = size.k / WIDTH;
  const device T *own_a = a + ulong(min(row, size.m - 1)) * size.a_row + ulong(at.x) * STEP_OF(size.a_column);
  const device T *own_x = x + ulong(at.x) * STEP_OF(size.x_step);
  float sum = 0.0f;
  for (uint i = 0; i < whole; i++)
    sum = fma(float(own_a[ulong(i) * WIDTH * STEP_OF(size.a_column)]), float(own_x[ulong(i) * WIDTH * STEP_OF(size.x_step)]), sum);
  threadgroup_barrier(mem_flags::mem_none);
  if (whole * WIDTH + at.x < size.k)
    sum = fma(float(own_a[ulong(whole) * WIDTH * STEP_OF(size.a_column)]), float(own_x[ulong(whole) * WIDTH * STEP_OF(size.x_step)]), sum);
  sum = combined(part + at.y * ROOM, sum, at.x, Plus());
  if (at.x == 0 && row < size.m) {
    device U *to = y + ulong(row) * size.y_step;
    *to = result_of(sum, to, size);
  }
}

// A thread for each row, of a matrix whose columns are elements beside each other.
kernel void vector_columns(const device T *a [[buffer(0)]], const device T *x [[buffer(1)]], device U *y [[buffer(2)]], constant Sizes &size [[buffer(3)]],
                           uint row [[thread_position_in_grid]]) {
  const device T *own = a + ulong(row) * STEP_OF(size.a_row);
  float sum = 0.0f;
  for (uint i = 0; i < size.k; i++)
    sum = fma(float(own[ulong(i) * size.a_column]), float(x[ulong(i) * size.x_step]), sum);
  device U *to = y + ulong(row) * size.y_step;
  *to = result_of(sum, to, size);
}
