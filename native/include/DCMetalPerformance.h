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

/* MPSDataType, same values; those that matrices of this interface may have */
typedef DC_METAL_ENUM(DCMetalNumber) {
  DC_METAL_NUMBER_FLOAT16 = 0x10000010,
  DC_METAL_NUMBER_FLOAT32 = 0x10000020
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
 * What does not fit is DC_METAL_INVALID_ARGUMENT, an open encoder DC_METAL_INVALID_STATE. The result may not overlap the others. */
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

#ifdef __cplusplus
}
#endif

#endif
