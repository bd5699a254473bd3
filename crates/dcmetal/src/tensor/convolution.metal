// Two-dimensional convolution. The strides of all tensors are the host's, by the axes: of x and y the image, its row, its column and the channel; of w the window's row, its
// column, the channel of x within its group and the channel of y.

#include <metal_stdlib>
using namespace metal;

typedef DC_T T;

struct Sizes {
  uint height, width, inputs, outputs; // of x; channels of a group of x, and of y
  uint to_height, to_width, groups;
  uint window[2], stride[2], padding[2], dilation[2];
  uint x[4], w[4], y[4];
  uint has_bias;
};

// Where a window's row or column is in x, beyond its end for one in the padding in front as well.
static uint place_in(uint to, uint at, uint axis, constant Sizes &size) { return to * size.stride[axis] + at * size.dilation[axis] - size.padding[axis]; }
