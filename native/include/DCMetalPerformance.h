/* DCMetalPerformance.h: the part of the C ABI over Metal Performance Shaders (https://developer.apple.com/documentation/metalperformanceshaders).
 *
 * DCMetal.h includes it, and says what holds of handles, statuses, strings and threads. */
#ifndef DCMETAL_PERFORMANCE_H
#define DCMETAL_PERFORMANCE_H

#include "DCMetal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ types */

typedef struct DCMetalMultiplication_s *DCMetalMultiplication;
typedef struct DCMetalRowKernel_s *DCMetalRowKernel;
typedef struct DCMetalGraph_s *DCMetalGraph;

/* MPSDataType, same values but for the last, which is 0x90000010 there, more than an enumerator of C may be; those that this interface has */
typedef DC_METAL_ENUM(DCMetalNumber) {
  DC_METAL_NUMBER_FLOAT16 = 0x10000010,
  DC_METAL_NUMBER_FLOAT32 = 0x10000020,
  DC_METAL_NUMBER_BFLOAT16 = 1 /* of graphs; matrices have none */
} DCMetalNumber;

/* MPSCNNNeuronType, same values; those that this interface has */
typedef DC_METAL_ENUM(DCMetalNeuron) {
  DC_METAL_NEURON_RELU = 1,    /* x, or a x where x is below 0 */
  DC_METAL_NEURON_SIGMOID = 3, /* 1 / (1 + exp(-x)) */
  DC_METAL_NEURON_TANH = 5,    /* a tanh(b x) */
  DC_METAL_NEURON_GELU = 15    /* x (1 + erf(x / sqrt(2))) / 2 */
} DCMetalNeuron;

/* ------------------------------------------------------------------ DCMetalMultiplication (MPSMatrixMultiplication)
 *
 * Metal Performance Shaders. A kernel of it is encoded into a command buffer as a pass of its own, behind what is encoded before, and Metal
 * orders it as other passes: by the tracked memory that both use. It belongs to one thread at a time, and is kept, as its buffers are, until
 * the command buffer has completed. */

/* Whether the device has Metal Performance Shaders (MPSSupportsMTLDevice); false for NULL. */
DC_METAL_API bool DCMetalDevice_SupportsPerformanceShaders(DCMetalDevice device);

/* Matrices in a buffer (MPSMatrix): element (i, j) of number n is at offset + n * matrix_bytes + i * row_bytes + j * (2 or 4). Nothing is copied. */
typedef struct DCMetalMatrix {
  DCMetalBuffer buffer;
  uint64_t offset; /* a multiple of the element's size, as is row_bytes */
  uint64_t rows, columns;
  uint64_t row_bytes;    /* a row at least */
  uint64_t matrices;     /* at least 1 */
  uint64_t matrix_bytes; /* a multiple of row_bytes, all rows at least; of one matrix it means nothing */
  DCMetalNumber number;
} DCMetalMatrix;

/* result = alpha op(left) op(right) + beta result, where op transposes or does not. Both factors are rounded to float. */
typedef struct DCMetalMultiplicationDescriptor {
  bool transpose_left, transpose_right;
  uint64_t rows, columns; /* of a result */
  uint64_t interior;      /* columns of op(left), rows of op(right) */
  double alpha, beta;     /* with a beta of 0 what the result holds does not matter */
} DCMetalMultiplicationDescriptor;

/* DC_METAL_UNSUPPORTED where the device has no Metal Performance Shaders. */
DC_METAL_API DCMetalStatus DCMetalMultiplication_Create(DCMetalDevice device,
                                                        const DCMetalMultiplicationDescriptor *descriptor,
                                                        DCMetalMultiplication *multiplication, DCMetalError *error);
/* The matrices have the sizes that the descriptor says, and as many of each; left and right hold one kind of numbers, the result that or FLOAT32.
 * What does not fit is DC_METAL_INVALID_ARGUMENT, an open encoder DC_METAL_INVALID_STATE. The result has no byte
 * of the others', in whatever buffers of one memory they are. */
DC_METAL_API DCMetalStatus DCMetalMultiplication_Encode(DCMetalMultiplication multiplication,
                                                        DCMetalCommandBuffer command_buffer, const DCMetalMatrix *left,
                                                        const DCMetalMatrix *right, const DCMetalMatrix *result,
                                                        DCMetalError *error);
DC_METAL_API void DCMetalMultiplication_Release(DCMetalMultiplication multiplication);

/* ------------------------------------------------------------------ DCMetalRowKernel (MPSMatrixSoftMax, MPSMatrixNeuron), as above */

/* exp(x), divided by its sum over the row; or a function of each element, with its parameters a and b. */
DC_METAL_API DCMetalStatus DCMetalRowKernel_CreateSoftMax(DCMetalDevice device, DCMetalRowKernel *kernel,
                                                          DCMetalError *error);
DC_METAL_API DCMetalStatus DCMetalRowKernel_CreateNeuron(DCMetalDevice device, DCMetalNeuron neuron, float a, float b,
                                                         DCMetalRowKernel *kernel, DCMetalError *error);
/* Source and result have one size and one kind of numbers, and do not overlap; errors as of DCMetalMultiplication_Encode. */
DC_METAL_API DCMetalStatus DCMetalRowKernel_Encode(DCMetalRowKernel kernel, DCMetalCommandBuffer command_buffer,
                                                   const DCMetalMatrix *source, const DCMetalMatrix *result,
                                                   DCMetalError *error);
DC_METAL_API void DCMetalRowKernel_Release(DCMetalRowKernel kernel);

/* ------------------------------------------------------------------ DCMetalGraph (MPSGraphExecutable)
 *
 * Metal Performance Shaders Graph: one operation of tensors, compiled, for macOS 15 and later. A tensor is in a buffer from an offset on, its numbers
 * one behind the other, the last axis the fastest; it is not copied. What a graph keeps between its steps is memory of Metal's. A graph belongs to one
 * thread at a time. */

/* What is computed of which inputs, in this order; those with a question mark where the descriptor has them. Images are N x H x W x C. A window has
 * (H + 2 padding - (window - 1) dilation - 1) / stride + 1 places along H, and so along W. NaN in pooled maxima is what Metal makes of it. */
typedef DC_METAL_ENUM(DCMetalGraphOperation) {
  DC_METAL_GRAPH_CONVOLUTION = 0,         /* x, weights (rows x columns x C / groups x D), bias? (1 x 1 x 1 x D): not mirrored, N x H' x W' x D */
  DC_METAL_GRAPH_MAX_POOLING = 1,         /* x: N x H' x W' x C */
  DC_METAL_GRAPH_AVERAGE_POOLING = 2,     /* x: N x H' x W' x C */
  DC_METAL_GRAPH_NORMALIZATION = 3,       /* x, mean, variance, scale?, shift?: (x - mean) / root(variance + epsilon) scale + shift, as large as x */
  DC_METAL_GRAPH_LAYER_NORMALIZATION = 4, /* x, scale?, shift?: the same with the mean and the variance of x over the axes */
  DC_METAL_GRAPH_STATISTICS = 5,          /* x: mean, and mean square of the distance to it, over the axes */
  DC_METAL_GRAPH_SUM = 6,                 /* x: over the axes, as the three below; an axis that is gone has the extent 1 */
  DC_METAL_GRAPH_MEAN = 7,
  DC_METAL_GRAPH_MAXIMUM = 8, /* NaN where one is NaN, as the minimum */
  DC_METAL_GRAPH_MINIMUM = 9
} DCMetalGraphOperation;

/* 1 to 4 axes, the slowest first, of 1 to 2^31 - 1 elements. */
typedef struct DCMetalShape {
  uint32_t rank;
  uint64_t extents[4];
  DCMetalNumber number;
} DCMetalShape;

/* What an operation does not take means nothing to it. Convolutions, pools, maxima and minima have one kind of numbers, and Metal does not say what it
 * sums in; the others compute with FLOAT32 whatever kinds their tensors have, and round once. Mean, variance, scale and shift have x's axes, each of x's
 * extent or of 1. */
typedef struct DCMetalGraphDescriptor {
  DCMetalGraphOperation operation;
  uint32_t input_count, result_count;
  DCMetalShape inputs[5];
  DCMetalShape results[2];
  uint64_t window[2];                               /* of pools: rows, columns */
  uint64_t stride[2], dilation[2], padding[2];      /* of convolutions and pools; as much padding behind as in front */
  uint64_t groups;                                  /* of convolutions */
  uint32_t axes;                                    /* bit n: axis n; of layer normalisation, statistics and reductions */
  bool has_bias, has_scale, has_shift;
  bool counts_padding; /* averages are of the padding's zeros too */
  float epsilon;
} DCMetalGraphDescriptor;

/* offset: in bytes, a multiple of the element's size. */
typedef struct DCMetalTensor {
  DCMetalBuffer buffer;
  uint64_t offset;
} DCMetalTensor;

/* macOS 15 or later, and a device with Metal Performance Shaders; false for NULL. */
DC_METAL_API bool DCMetalDevice_SupportsGraphs(DCMetalDevice device);
/* Shapes that do not fit are DC_METAL_INVALID_ARGUMENT; DC_METAL_UNSUPPORTED where the device has no graphs, and for a convolution whose result has an
 * extent above 65536. Metal compiles meanwhile. */
DC_METAL_API DCMetalStatus DCMetalGraph_Create(DCMetalDevice device, const DCMetalGraphDescriptor *descriptor, DCMetalGraph *graph,
                                               DCMetalError *error);
/* As many inputs and results as the descriptor says; a result overlaps no other tensor, in whatever buffers of one memory they are. What does not fit, and
 * a command buffer that does not retain its references, is DC_METAL_INVALID_ARGUMENT; an open encoder is DC_METAL_INVALID_STATE. After any other failure
 * the command buffer can be released only: what else is asked of it is DC_METAL_INVALID_STATE. */
DC_METAL_API DCMetalStatus DCMetalGraph_Encode(DCMetalGraph graph, DCMetalCommandBuffer command_buffer, const DCMetalTensor *inputs,
                                               const DCMetalTensor *results, DCMetalError *error);
DC_METAL_API void DCMetalGraph_Release(DCMetalGraph graph);

#ifdef __cplusplus
}
#endif

#endif
