// Products with DC_ROWS x DC_COLUMNS matrices of 8 x 8 numbers for each of 2 x 2 SIMD-groups. What a tile has beyond the edges of C is computed of zeros.

#include <metal_simdgroup_matrix>

constant constexpr uint SIDE = 8, GROUPS = 2, THREADS = 32 * GROUPS * GROUPS;

// Lines of a matrix into threadgroup memory, with zeros for what is not there.
template <uint LINES, uint ELEMENTS, uint TO_LINE, uint TO_ELEMENT>
static void copy_padded(threadgroup T *to, const device T *from, uint stride, uint step, uint lines, uint elements, uint thread_index) {
  for (uint i = thread_index; i < LINES * ELEMENTS; i += THREADS) {
    const uint line = i / ELEMENTS, element = i % ELEMENTS;
    const bool is_there = line < lines && element < elements;
    to[line * TO_LINE + element * TO_ELEMENT] = is_there ? from[ulong(line) * stride + ulong(element) * step] : T(0.0f);
  }
}

kernel void product_simdgroups(const device T *a_all [[buffer(0)]], const device T *b_all [[buffer(1)]], device U *c_all [[buffer(2)]],
                               constant Sizes &size [[buffer(3)]], uint3 group [[threadgroup_position_in_grid]],
                               uint thread_index [[thread_index_in_threadgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  constexpr uint TILE_ROWS = GROUPS * DC_ROWS * SIDE, TILE_COLUMNS = GROUPS * DC_COLUMNS * SIDE;
  threadgroup T left[TILE_ROWS * DC_DEPTH], right[DC_DEPTH * TILE_COLUMNS];
  threadgroup float results[TILE_ROWS * TILE_COLUMNS];
  const uint first_row = group.y * TILE_ROWS, first_column = group.x * TILE_COLUMNS;
  const uint rows = size.m - first_row, columns = size.n - first_column;
  const device T *a = a_all + place_of(group.z, size, size.a_batch) + ulong(first_row) * size.a_row;
  const device T *b = b_all + place_of(group.z, size, size.b_batch) + ulong(first_column) * size.b_column;
  const uint own_row = simdgroup / GROUPS * DC_ROWS * SIDE, own_column = simdgroup % GROUPS * DC_COLUMNS * SIDE;

  simdgroup_matrix<float, SIDE, SIDE> sums[DC_ROWS][DC_COLUMNS];
#pragma unroll
  for (uint i = 0; i < DC_ROWS; i++)
#pragma unroll
    for (uint j = 0; j < DC_COLUMNS; j++)
      sums[i][j] = make_filled_simdgroup_matrix<float, SIDE, SIDE>(0.0f);

  for (uint begin = 0; begin < size.k; begin += DC_DEPTH) {
    const uint depth = size.k - begin;
    const device T *a_part = a + ulong(begin) * size.a_column, *b_part = b + ulong(begin) * size.b_row;
    // Threads beside each other read what lies beside each other.
    if (size.a_row == 1)
      copy_padded<DC_DEPTH, TILE_ROWS, 1, DC_DEPTH>(left, a_part, size.a_column, 1, depth, rows, thread_index);
    else
      copy_padded<TILE_ROWS, DC_DEPTH, DC_DEPTH, 1>(left, a_part, size.a_row, size.a_column, rows, depth, thread_index);
    if (size.b_row == 1)
      copy_padded<TILE_COLUMNS, DC_DEPTH, 1, TILE_COLUMNS>(right, b_part, size.b_column, 1, columns, depth, thread_index);
    else
      copy_padded<DC_DEPTH, TILE_COLUMNS, TILE_COLUMNS, 1>(right, b_part, size.b_row, size.b_column, depth, columns, thread_index);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < DC_DEPTH; k += SIDE) {
      simdgroup_matrix<T, SIDE, SIDE> column[DC_ROWS], row[DC_COLUMNS];
#pragma unroll
      for (uint i = 0; i < DC_ROWS; i++)
        simdgroup_load(column[i], left + (own_row + i * SIDE) * DC_DEPTH + k, DC_DEPTH);
#pragma unroll
      for (uint j = 0; j < DC_COLUMNS; j++)
        simdgroup_load(row[j], right + k * TILE_COLUMNS + own_column + j * SIDE, TILE_COLUMNS);
#pragma unroll
      for (uint i = 0; i < DC_ROWS; i++)
#pragma unroll
        for (uint j = 0; j < DC_COLUMNS; j++)
          simdgroup_multiply_accumulate(sums[i][j], column[i], row[j], sums[i][j]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }

#pragma unroll
  for (uint i = 0; i < DC_ROWS; i++)
#pragma unroll
    for (uint j = 0; j < DC_COLUMNS; j++)
      simdgroup_store(sums[i][j], results + (own_row + i * SIDE) * TILE_COLUMNS + own_column + j * SIDE, TILE_COLUMNS);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  device U *c = c_all + place_of(group.z, size, size.c_batch) + ulong(first_row) * size.c_row + ulong(first_column) * size.c_column;
  for (uint i = thread_index; i < TILE_ROWS * TILE_COLUMNS; i += THREADS) {
    const uint row = i / TILE_COLUMNS, column = i % TILE_COLUMNS;
    if (row < rows && column < columns) {
      device U *to = c + ulong(row) * size.c_row + ulong(column) * size.c_column;
      *to = result_of(results[i], to, size);
    }
  }
}
