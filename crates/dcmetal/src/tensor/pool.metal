// Pooling: the largest number of each window, or the mean; a thread for each number of y. Given by the host: DC_T, the elements; DC_IN_LINE, 1 where
// channels follow each other; DC_IS_MAX.

#if DC_IN_LINE
#define STEP_OF(step) 1
#else
#define STEP_OF(step) ulong(step)
#endif

kernel void pool(const device T *x_all [[buffer(0)]], device T *y [[buffer(1)]], constant Sizes &size [[buffer(2)]], constant uint &counts_padding [[buffer(3)]],
                 uint3 at [[thread_position_in_grid]]) {
  const uint image = at.z / size.to_height, to_row = at.z % size.to_height, to_column = at.y;
  const device T *x = x_all + ulong(image) * size.x[0] + ulong(at.x) * STEP_OF(size.x[3]);
  float found = DC_IS_MAX ? -INFINITY : 0.0f;
  uint count = 0;
  for (uint i = 0; i < size.window[0]; i++) {
    const uint row_at = place_in(to_row, i, 0, size);
    if (row_at >= size.height)
      continue;
    for (uint j = 0; j < size.window[1]; j++) {
      const uint column_at = place_in(to_column, j, 1, size);
      if (column_at >= size.width)
        continue;
      const float number = float(x[ulong(row_at) * size.x[1] + ulong(column_at) * size.x[2]]);
      // NaN stays.
      found = !DC_IS_MAX ? found + number : number > found || isnan(number) ? number : found;
      count++;
    }
  }
  const uint all = size.window[0] * size.window[1];
  y[ulong(image) * size.y[0] + ulong(to_row) * size.y[1] + ulong(to_column) * size.y[2] + ulong(at.x) * STEP_OF(size.y[3])] =
      T(DC_IS_MAX ? found : found / float(counts_padding ? all : count));
}
