// C = alpha * A * B + beta * C for a grid of tiles of C; every product is accumulated in float. docs/TENSOR.md says what bounds that has.
//
// The head of product_threads.metal and product_simdgroups.metal. Given by the host: DC_T, the elements of A and B; DC_U, those of C; and the tile, by DC_ROWS,
// DC_COLUMNS and DC_DEPTH, which is how much of the inner extent is in threadgroup memory at once. Nothing outside of A, B and C is accessed.

#include <metal_stdlib>
using namespace metal;

typedef DC_T T;
typedef DC_U U;

// Strides are in elements. Batches lie at places (i, j), of which the last index goes up to `inner_batches`.
struct Sizes {
  uint m, n, k, inner_batches;
  uint a_row, a_column, b_row, b_column, c_row, c_column;
  uint a_batch[2], b_batch[2], c_batch[2];
  float alpha, beta;
};

static ulong place_of(uint batch, constant Sizes &size, constant uint *strides) {
  return ulong(batch / size.inner_batches) * strides[0] + ulong(batch % size.inner_batches) * strides[1];
}

// What C gets for a sum of products.
static U result_of(float sum, device U *before, constant Sizes &size) {
  return U(size.beta == 0.0f ? size.alpha * sum : fma(size.beta, float(*before), size.alpha * sum));
}
