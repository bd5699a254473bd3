// A thread for each number of y: where groups have too few channels for tiles. Given by the host: DC_T, the elements; DC_IN_LINE, 1 where channels follow each other
// in all tensors; DC_DEPTHWISE, 1 where groups have one channel of x and one of y.

#if DC_IN_LINE
#define STEP_OF(step) 1
#else
#define STEP_OF(step) ulong(step)
#endif

kernel void convolution_each(const device T *x_all [[buffer(0)]], const device T *w_all [[buffer(1)]], const device T *bias [[buffer(2)]],
                             device T *y [[buffer(3)]], constant Sizes &size [[buffer(4)]], uint3 at [[thread_position_in_grid]]) {
  const uint image = at.z / size.to_height, to_row = at.z % size.to_height, to_column = at.y, channel = at.x;
  const uint first = DC_DEPTHWISE ? channel : channel / size.outputs * size.inputs;
  const device T *x = x_all + ulong(image) * size.x[0] + ulong(first) * STEP_OF(size.x[3]);
  const device T *w = w_all + ulong(channel) * STEP_OF(size.w[3]);
  float sum = 0.0f;
  for (uint i = 0; i < size.window[0]; i++) {
    const uint row_at = place_in(to_row, i, 0, size);
    if (row_at >= size.height)
      continue;
    for (uint j = 0; j < size.window[1]; j++) {
      const uint column_at = place_in(to_column, j, 1, size);
      if (column_at >= size.width)
        continue;
      const device T *x_part = x + ulong(row_at) * size.x[1] + ulong(column_at) * size.x[2], *w_part = w + ulong(i) * size.w[0] + ulong(j) * size.w[1];
      for (uint k = 0; k < (DC_DEPTHWISE ? 1 : size.inputs); k++)
        sum = fma(float(x_part[ulong(k) * STEP_OF(size.x[3])]), float(w_part[ulong(k) * size.w[2]]), sum);
    }
  }
  y[ulong(image) * size.y[0] + ulong(to_row) * size.y[1] + ulong(to_column) * size.y[2] + ulong(channel) * STEP_OF(size.y[3])] =
      T(size.has_bias ? sum + float(bias[channel]) : sum);
}
