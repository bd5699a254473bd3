// A tile of places in one row of y and of channels: product_threads.metal, with a row of A for each place and those of B for each channel of x, once for each
// number of the window. Given by the host: DC_T, the elements; DC_ROWS, DC_COLUMNS, DC_GROUP, DC_DEPTH as for products.

kernel void convolution_threads(const device T *x_all [[buffer(0)]], const device T *w_all [[buffer(1)]], const device T *bias [[buffer(2)]],
                                device T *y_all [[buffer(3)]], constant Sizes &size [[buffer(4)]], uint3 group [[threadgroup_position_in_grid]],
                                uint3 thread_at [[thread_position_in_threadgroup]]) {
  constexpr uint TILE_ROWS = DC_ROWS * DC_GROUP, TILE_COLUMNS = DC_COLUMNS * LANES;
  threadgroup float right[DC_DEPTH * TILE_COLUMNS];
  const uint2 at = thread_at.xy;
  const uint tiles = (size.outputs + TILE_COLUMNS - 1) / TILE_COLUMNS, channels = group.x / tiles;
  const uint image = group.z / size.to_height, to_row = group.z % size.to_height;
  const uint first_row = group.y * TILE_ROWS, first_column = group.x % tiles * TILE_COLUMNS;
  const uint rows = size.to_width - first_row, columns = size.outputs - first_column;
  const device T *x = x_all + ulong(image) * size.x[0] + ulong(channels) * size.inputs * size.x[3];
  const device T *w = w_all + ulong(channels * size.outputs + first_column) * size.w[3];

  float sums[DC_ROWS][DC_COLUMNS];
#pragma unroll
  for (uint i = 0; i < DC_ROWS; i++)
#pragma unroll
    for (uint j = 0; j < DC_COLUMNS; j++)
      sums[i][j] = 0.0f;

  // Rows of the window outside of x are left out for the whole tile. Columns are outside for some places of it: what these add is taken back rather than multiplied by 0, for
  // a number of w may be infinite or NaN.
  for (uint window_row = 0; window_row < size.window[0]; window_row++) {
    const uint row_at = place_in(to_row, window_row, 0, size);
    if (row_at >= size.height)
      continue;
    for (uint window_column = 0; window_column < size.window[1]; window_column++)
      for (uint begin = 0; begin < size.inputs; begin += DC_DEPTH) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const uint depth = min(uint(DC_DEPTH), size.inputs - begin);
        const device T *w_part = w + ulong(window_row) * size.w[0] + ulong(window_column) * size.w[1] + ulong(begin) * size.w[2];
        if (size.w[3] == 1)
          copy_lines<DC_DEPTH, TILE_COLUMNS, TILE_COLUMNS, 1>(right, w_part, size.w[2], depth, columns, at);
        if (columns < TILE_COLUMNS || size.w[3] != 1) {
          threadgroup_barrier(mem_flags::mem_threadgroup);
          if (size.w[3] == 1)
            copy_rest<DC_DEPTH, TILE_COLUMNS, TILE_COLUMNS, 1>(right, w_part, size.w[2], depth, columns, at);
          else
            copy_strided<DC_DEPTH, TILE_COLUMNS, TILE_COLUMNS>(right, w_part, size.w[2], size.w[3], depth, columns, at);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (at.y * DC_ROWS < rows) {
          const threadgroup float *own_right = right + at.x;
          const device T *x_part = x + ulong(row_at) * size.x[1] + ulong(begin) * size.x[3];
          const device T *lines[DC_ROWS];
          bool is_inside[DC_ROWS];
#pragma unroll
          for (uint i = 0; i < DC_ROWS; i++) {
            const uint column_at = place_in(first_row + at.y * DC_ROWS + i, window_column, 1, size);
            is_inside[i] = column_at < size.width;
            lines[i] = x_part + ulong(min(column_at, size.width - 1)) * size.x[2];
          }
          float before[DC_ROWS][DC_COLUMNS];
#pragma unroll
          for (uint i = 0; i < DC_ROWS; i++)
#pragma unroll
            for (uint j = 0; j < DC_COLUMNS; j++)
              before[i][j] = sums[i][j];
          for (uint k = 0; k < depth; k++) {
            float row[DC_COLUMNS];
#pragma unroll
            for (uint j = 0; j < DC_COLUMNS; j++)
              row[j] = own_right[k * TILE_COLUMNS + j * LANES];
#pragma unroll
            for (uint i = 0; i < DC_ROWS; i++) {
              const float factor = float(lines[i][ulong(k) * size.x[3]]);
#pragma unroll
              for (uint j = 0; j < DC_COLUMNS; j++)
                sums[i][j] = fma(factor, row[j], sums[i][j]);
            }
          }
#pragma unroll
          for (uint i = 0; i < DC_ROWS; i++)
#pragma unroll
            for (uint j = 0; j < DC_COLUMNS; j++)
              sums[i][j] = is_inside[i] ? sums[i][j] : before[i][j];
        }
      }
  }

  threadgroup_barrier(mem_flags::mem_none);
  const uint channel = channels * size.outputs + first_column;
  device T *y = y_all + ulong(image) * size.y[0] + ulong(to_row) * size.y[1] + ulong(first_row) * size.y[2] + ulong(channel) * size.y[3];
  if (size.y[3] == 1) {
    device T *own = y + ulong(at.y) * DC_ROWS * size.y[2] + ulong(at.x);
    const device T *own_bias = bias + ulong(size.has_bias ? channel : 0) + ulong(at.x);
#pragma unroll
    for (uint i = 0; i < DC_ROWS; i++)
#pragma unroll
      for (uint j = 0; j < DC_COLUMNS; j++)
        if (at.y * DC_ROWS + i < rows && at.x + j * LANES < columns)
          own[ulong(i) * size.y[2] + j * LANES] = T(size.has_bias ? sums[i][j] + float(own_bias[j * LANES]) : sums[i][j]);
    return;
  }
  threadgroup_barrier(mem_flags::mem_none);
#pragma unroll
  for (uint i = 0; i < DC_ROWS; i++)
#pragma unroll
    for (uint j = 0; j < DC_COLUMNS; j++) {
      const uint row = at.y * DC_ROWS + i, column = at.x + j * LANES;
      if (row < rows && column < columns)
        y[ulong(row) * size.y[2] + ulong(column) * size.y[3]] = T(size.has_bias ? sums[i][j] + float(bias[channel + column]) : sums[i][j]);
    }
}
