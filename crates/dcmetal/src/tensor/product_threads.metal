// Products with a block of numbers per thread, of 16 x DC_GROUP threads: DC_ROWS rows and DC_COLUMNS times 16 columns.
//
// Sixteen threads beside each other have sixteen columns beside each other, DC_COLUMNS times, and the same DC_ROWS rows. For each step of the inner extent a thread reads
// DC_ROWS numbers of A, which are the same for all sixteen, and DC_COLUMNS of threadgroup memory, where a part of B lies row by row, for DC_ROWS * DC_COLUMNS multiply-adds. A is read where it is:
// each of its numbers is used by one row of threads only. What a tile has beyond the edges of C is computed of whatever lies there, and not stored.

kernel void product_threads(const device T *a_all [[buffer(0)]], const device T *b_all [[buffer(1)]], device U *c_all [[buffer(2)]],
                            constant Sizes &size [[buffer(3)]], uint3 group [[threadgroup_position_in_grid]],
                            uint3 thread_at [[thread_position_in_threadgroup]]) {
  constexpr uint TILE_ROWS = DC_ROWS * DC_GROUP, TILE_COLUMNS = DC_COLUMNS * LANES;
  threadgroup float right[DC_DEPTH * TILE_COLUMNS];
  const uint2 at = thread_at.xy;
  const uint first_row = group.y * TILE_ROWS, first_column = group.x * TILE_COLUMNS;
  const uint rows = size.m - first_row, columns = size.n - first_column;
  const device T *a = a_all + place_of(group.z, size, size.a_batch) + ulong(first_row) * size.a_row;
  const device T *b = b_all + place_of(group.z, size, size.b_batch) + ulong(first_column) * size.b_column;

  float sums[DC_ROWS][DC_COLUMNS];
#pragma unroll
  for (uint i = 0; i < DC_ROWS; i++)
#pragma unroll
    for (uint j = 0; j < DC_COLUMNS; j++)
      sums[i][j] = 0.0f;

  for (uint begin = 0; begin < size.k; begin += DC_DEPTH) {
    // Here rather than at the end, so that no sums are moved where the loop begins anew.
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint depth = min(uint(DC_DEPTH), size.k - begin);
    const device T *a_part = a + ulong(begin) * size.a_column, *b_part = b + ulong(begin) * size.b_row;
    if (size.b_column == 1)
      copy_lines<DC_DEPTH, TILE_COLUMNS, TILE_COLUMNS, 1>(right, b_part, size.b_row, depth, columns, at);
    else if (size.b_row == 1)
      copy_lines<TILE_COLUMNS, DC_DEPTH, 1, TILE_COLUMNS>(right, b_part, size.b_column, columns, depth, at);
    if (depth % LANES != 0 || columns < TILE_COLUMNS || (size.b_column != 1 && size.b_row != 1)) {
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (size.b_column == 1)
        copy_rest<DC_DEPTH, TILE_COLUMNS, TILE_COLUMNS, 1>(right, b_part, size.b_row, depth, columns, at);
      else if (size.b_row == 1)
        copy_rest<TILE_COLUMNS, DC_DEPTH, 1, TILE_COLUMNS>(right, b_part, size.b_column, columns, depth, at);
      else
        copy_strided<DC_DEPTH, TILE_COLUMNS, TILE_COLUMNS>(right, b_part, size.b_row, size.b_column, depth, columns, at);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (at.y * DC_ROWS < rows) {
      const threadgroup float *own_right = right + at.x;
      const device T *lines[DC_ROWS];
#pragma unroll
      for (uint i = 0; i < DC_ROWS; i++)
        lines[i] = a_part + ulong(min(at.y * DC_ROWS + i, rows - 1)) * size.a_row;
      for (uint k = 0; k < depth; k++) {
        float row[DC_COLUMNS];
#pragma unroll
        for (uint j = 0; j < DC_COLUMNS; j++)
          row[j] = own_right[k * TILE_COLUMNS + j * LANES];
#pragma unroll
        for (uint i = 0; i < DC_ROWS; i++) {
          const float factor = float(lines[i][ulong(k) * size.a_column]);
#pragma unroll
          for (uint j = 0; j < DC_COLUMNS; j++)
            sums[i][j] = fma(factor, row[j], sums[i][j]);
        }
      }
    }
  }

  // Barriers that threads do not need: they keep apart what is one way for all from what is not.
  threadgroup_barrier(mem_flags::mem_none);
  device U *c = c_all + place_of(group.z, size, size.c_batch) + ulong(first_row) * size.c_row + ulong(first_column) * size.c_column;
  if (size.c_column == 1) {
    device U *own = c + ulong(at.y) * DC_ROWS * size.c_row + ulong(at.x);
#pragma unroll
    for (uint i = 0; i < DC_ROWS; i++)
#pragma unroll
      for (uint j = 0; j < DC_COLUMNS; j++)
        if (at.y * DC_ROWS + i < rows && at.x + j * LANES < columns)
          own[ulong(i) * size.c_row + j * LANES] = result_of(sums[i][j], own + ulong(i) * size.c_row + j * LANES, size);
    return;
  }
  threadgroup_barrier(mem_flags::mem_none);
#pragma unroll
  for (uint i = 0; i < DC_ROWS; i++)
#pragma unroll
    for (uint j = 0; j < DC_COLUMNS; j++) {
      const uint row = at.y * DC_ROWS + i, column = at.x + j * LANES;
      if (row < rows && column < columns) {
        device U *to = c + ulong(row) * size.c_row + ulong(column) * size.c_column;
        *to = result_of(sums[i][j], to, size);
      }
    }
}
