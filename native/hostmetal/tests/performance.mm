// Cases of Metal Performance Shaders: matrices, vectors, and their products against sums in double.
#import "faces.h"

#import <MetalPerformanceShaders/MetalPerformanceShaders.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace {

id<MTLBuffer> zeros(NSUInteger length) {
  return [[device() newBufferWithLength:length options:MTLResourceStorageModeShared] autorelease];
}

// Small whole numbers and quarters, which sums of either type keep exactly.
float number_at(NSUInteger at) {
  return (float)((int)(at * 7919 % 33) - 16) / 4;
}

id<MTLBuffer> numbers(NSUInteger count) {
  id<MTLBuffer> made = zeros(count * sizeof(float));
  for (NSUInteger i = 0; i < count; i++) ((float *)[made contents])[i] = number_at(i);
  return made;
}

MPSMatrixDescriptor *rows_of(NSUInteger rows, NSUInteger columns, NSUInteger stride, NSUInteger matrices = 1) {
  return [MPSMatrixDescriptor matrixDescriptorWithRows:rows
                                               columns:columns
                                              matrices:matrices
                                              rowBytes:stride * sizeof(float)
                                           matrixBytes:rows * stride * sizeof(float)
                                              dataType:MPSDataTypeFloat32];
}

MPSMatrix *matrix(id<MTLBuffer> buffer, MPSMatrixDescriptor *descriptor, NSUInteger offset = 0) {
  return [[[MPSMatrix alloc] initWithBuffer:buffer offset:offset descriptor:descriptor] autorelease];
}

MPSMatrixMultiplication *kernel(bool left, bool right, NSUInteger m, NSUInteger n, NSUInteger k, double alpha = 1, double beta = 0) {
  return [[[MPSMatrixMultiplication alloc] initWithDevice:device()
                                            transposeLeft:left
                                           transposeRight:right
                                               resultRows:m
                                            resultColumns:n
                                          interiorColumns:k
                                                    alpha:alpha
                                                     beta:beta] autorelease];
}

id<MTLCommandBuffer> command_buffer() {
  return [[[device() newCommandQueue] autorelease] commandBuffer];
}

void run(id<MTLCommandBuffer> commandBuffer) {
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
}

void a_matrix_is_a_view_of_its_buffer() {
  id<MTLBuffer> buffer = zeros(1024);
  MPSMatrix *made = matrix(buffer, rows_of(3, 4, 5, 2), 16);
  CHECK([made data] == buffer);
  CHECK([made device] == device());
  CHECK_EQUAL([made rows], 3);
  CHECK_EQUAL([made columns], 4);
  CHECK_EQUAL([made matrices], 2);
  CHECK_EQUAL([made rowBytes], 20);
  CHECK_EQUAL([made matrixBytes], 60);
  CHECK_EQUAL([made offset], 16);
  CHECK_EQUAL([made dataType], MPSDataTypeFloat32);
  MPSMatrixDescriptor *one = [MPSMatrixDescriptor matrixDescriptorWithRows:3 columns:4 rowBytes:20 dataType:MPSDataTypeFloat16];
  CHECK_EQUAL([one matrices], 1);
  CHECK_EQUAL([one matrixBytes], 60);
  [one setRows:5];
  CHECK_EQUAL([one matrixBytes], 100);
  CHECK_EQUAL([MPSMatrixDescriptor rowBytesForColumns:3 dataType:MPSDataTypeFloat32], 12);
  CHECK_EQUAL([MPSMatrixDescriptor rowBytesForColumns:33 dataType:MPSDataTypeFloat16], 128);
  MPSVectorDescriptor *vector = [MPSVectorDescriptor vectorDescriptorWithLength:7 dataType:MPSDataTypeFloat16];
  CHECK_EQUAL([vector vectorBytes], 14);
  MPSVector *y = [[[MPSVector alloc] initWithBuffer:buffer offset:2 descriptor:vector] autorelease];
  CHECK_EQUAL([y length], 7);
  CHECK_EQUAL([y vectors], 1);
  CHECK_EQUAL([y offset], 2);
  CHECK([y data] == buffer);
}

// The last byte that is there may be used, and no more.
void matrices_beyond_their_buffer_raise() {
  id<MTLBuffer> buffer = zeros(256);
  matrix(buffer, rows_of(8, 6, 8), 8);
  CHECK_RAISES(matrix(buffer, rows_of(8, 6, 8), 12), @"initWithBuffer:offset:descriptor:", @"the buffer is too small");
  matrix(buffer, rows_of(2, 7, 8, 4), 4);
  CHECK_RAISES(matrix(buffer, rows_of(2, 7, 8, 4), 8), @"initWithBuffer", @"the buffer is too small");
  CHECK_RAISES(matrix(buffer, rows_of(1, 9, 8)), @"initWithBuffer", @"rowBytes must be >= columns");
  CHECK_RAISES(matrix(buffer, rows_of(2, 2, 2), 2), @"initWithBuffer", @"the offset must be a multiple");
  CHECK_RAISES(matrix(buffer, rows_of(0, 2, 2)), @"initWithBuffer", @"must be > 0");
  CHECK_RAISES(matrix(buffer, rows_of(NSUIntegerMax / 4, 2, 2)), @"initWithBuffer", @"the buffer is too small");
  CHECK_RAISES(matrix(nil, rows_of(2, 2, 2)), @"initWithBuffer", @"the buffer must be one of a device");
  CHECK_RAISES(matrix(buffer, nil), @"initWithBuffer", @"the descriptor must not be nil");
  MPSMatrixDescriptor *apart = [MPSMatrixDescriptor matrixDescriptorWithRows:2
                                                                     columns:2
                                                                    matrices:2
                                                                    rowBytes:8
                                                                 matrixBytes:8
                                                                    dataType:MPSDataTypeFloat32];
  CHECK_RAISES(matrix(buffer, apart), @"initWithBuffer", @"matrixBytes must be >= rows * rowBytes");
}

// Sums of numbers that are exact in any order: what comes out is known to the bit.
void products_are_sums_of_products() {
  const NSUInteger sizes[][3] = {{1, 1, 1}, {3, 5, 7}, {17, 33, 2}, {64, 64, 64}, {97, 101, 31}, {1, 130, 64}, {130, 1, 64}, {530, 300, 40}};
  for (const auto &[m, n, k] : sizes) {
    for (int turn = 0; turn < 4; turn++) {
      const bool left = turn & 1, right = turn & 2;
      const NSUInteger a_stride = (left ? m : k) + 3, b_stride = (right ? k : n) + 2, c_stride = n + 1, count = 2;
      const NSUInteger a_rows = left ? k : m, b_rows = right ? n : k;
      id<MTLBuffer> a = numbers(count * a_rows * a_stride + 1), b = numbers(count * b_rows * b_stride), c = numbers(count * m * c_stride);
      std::vector<float> before((float *)[c contents], (float *)[c contents] + count * m * c_stride);
      id<MTLCommandBuffer> commandBuffer = command_buffer();
      [kernel(left, right, m, n, k, 0.5, 2) encodeToCommandBuffer:commandBuffer
                                                       leftMatrix:matrix(a, rows_of(a_rows, left ? m : k, a_stride, count), 4)
                                                      rightMatrix:matrix(b, rows_of(b_rows, right ? k : n, b_stride, count))
                                                     resultMatrix:matrix(c, rows_of(m, n, c_stride, count))];
      run(commandBuffer);
      NSUInteger wrong = 0;
      for (NSUInteger number = 0; number < count; number++) {
        for (NSUInteger i = 0; i < m; i++) {
          for (NSUInteger j = 0; j < c_stride; j++) {
            const NSUInteger at = (number * m + i) * c_stride + j;
            double sum = 0;
            for (NSUInteger p = 0; p < k && j < n; p++) {
              const NSUInteger from = number * a_rows * a_stride + (left ? p * a_stride + i : i * a_stride + p);
              const NSUInteger with = number * b_rows * b_stride + (right ? j * b_stride + p : p * b_stride + j);
              sum += (double)number_at(from + 1) * number_at(with);
            }
            const double expected = j < n ? 0.5 * sum + 2.0 * before[at] : before[at];
            wrong += ((float *)[c contents])[at] != (float)expected;
          }
        }
      }
      CHECK_EQUAL(wrong, 0);
    }
  }
}

void origins_and_batches_choose_what_is_multiplied() {
  id<MTLBuffer> a = numbers(3 * 30), b = numbers(3 * 30), c = zeros(3 * 30 * sizeof(float));
  MPSMatrixMultiplication *product = kernel(false, false, 2, 3, 2);
  [product setLeftMatrixOrigin:MTLOriginMake(1, 2, 0)];
  [product setRightMatrixOrigin:MTLOriginMake(3, 1, 0)];
  [product setResultMatrixOrigin:MTLOriginMake(2, 3, 0)];
  [product setBatchStart:1];
  [product setBatchSize:1];
  MPSMatrixMultiplication *copy = [[product copy] autorelease];
  id<MTLCommandBuffer> commandBuffer = command_buffer();
  [copy encodeToCommandBuffer:commandBuffer
                   leftMatrix:matrix(a, rows_of(5, 6, 6, 3))
                  rightMatrix:matrix(b, rows_of(5, 6, 6, 3))
                 resultMatrix:matrix(c, rows_of(5, 6, 6, 3))];
  run(commandBuffer);
  for (NSUInteger at = 0; at < 90; at++) {
    const NSUInteger number = at / 30, i = at % 30 / 6, j = at % 6;
    float sum = 0;
    if (number == 1 && i >= 2 && i < 4 && j >= 3) {
      for (NSUInteger p = 0; p < 2; p++)
        sum += number_at(30 + (i - 2 + 1) * 6 + 2 + p) * number_at(30 + (3 + p) * 6 + 1 + j - 3);
    }
    if (((float *)[c contents])[at] != sum) CHECK_EQUAL(at, -1);
  }
  [product setBatchSize:3];
  commandBuffer = command_buffer();
  CHECK_RAISES([product encodeToCommandBuffer:commandBuffer
                                   leftMatrix:matrix(a, rows_of(5, 6, 6, 3))
                                  rightMatrix:matrix(b, rows_of(5, 6, 6, 3))
                                 resultMatrix:matrix(c, rows_of(5, 6, 6, 3))],
               @"encodeToCommandBuffer", @"from batchStart on");
  run(commandBuffer);  // nothing is open
}

void halves_are_rounded_once() {
  // 2048 + 1 is a tie for a half, and its partial sums would be lost.
  const NSUInteger k = 2049;
  id<MTLBuffer> a = zeros(k * 2), b = zeros(k * 2), c = zeros(2), wide = zeros(4);
  for (NSUInteger i = 0; i < k; i++) ((uint16_t *)[a contents])[i] = ((uint16_t *)[b contents])[i] = 0x3c00;
  ((uint16_t *)[b contents])[0] = 0x4000;  // 2, so that the sum is 2050
  ((uint16_t *)[c contents])[0] = 0x7e00;  // NaN
  const auto half = [](NSUInteger rows, NSUInteger columns, MPSDataType dataType) {
    const NSUInteger bytes = columns * (dataType == MPSDataTypeFloat16 ? 2 : 4);
    return [MPSMatrixDescriptor matrixDescriptorWithRows:rows columns:columns rowBytes:bytes dataType:dataType];
  };
  id<MTLCommandBuffer> commandBuffer = command_buffer();
  MPSMatrix *left = matrix(a, half(1, k, MPSDataTypeFloat16)), *right = matrix(b, half(k, 1, MPSDataTypeFloat16));
  [kernel(false, false, 1, 1, k) encodeToCommandBuffer:commandBuffer
                                            leftMatrix:left
                                           rightMatrix:right
                                          resultMatrix:matrix(c, half(1, 1, MPSDataTypeFloat16))];
  [kernel(false, false, 1, 1, k) encodeToCommandBuffer:commandBuffer
                                            leftMatrix:left
                                           rightMatrix:right
                                          resultMatrix:matrix(wide, half(1, 1, MPSDataTypeFloat32))];
  run(commandBuffer);
  CHECK_EQUAL(((uint16_t *)[c contents])[0], 0x6801);  // 2050
  CHECK_EQUAL(((float *)[wide contents])[0], 2050);
  CHECK_RAISES([kernel(false, false, 1, 1, k) encodeToCommandBuffer:command_buffer()
                                                         leftMatrix:left
                                                        rightMatrix:right
                                                       resultMatrix:matrix(wide, half(1, 1, MPSDataTypeInt16))],
               @"encodeToCommandBuffer", @"the data type of the result");
  MPSMatrix *brain = matrix(a, half(1, k, MPSDataTypeFloat16));
  MPSMatrixDescriptor *descriptor = half(1, k, MPSDataTypeFloat16);
  [descriptor setDataType:MPSDataTypeBFloat16];
  brain = matrix(a, descriptor);
  CHECK_RAISES([kernel(false, false, 1, 1, k) encodeToCommandBuffer:command_buffer()
                                                         leftMatrix:brain
                                                        rightMatrix:right
                                                       resultMatrix:matrix(wide, half(1, 1, MPSDataTypeFloat32))],
               @"encodeToCommandBuffer", @"must be MPSDataTypeFloat32 or MPSDataTypeFloat16");
}

void what_the_result_holds_is_not_read_with_a_beta_of_0() {
  id<MTLBuffer> a = numbers(70 * 70), c = zeros(70 * 70 * sizeof(float));
  for (NSUInteger i = 0; i < 70 * 70; i++) ((float *)[c contents])[i] = NAN;
  id<MTLCommandBuffer> commandBuffer = command_buffer();
  [kernel(false, true, 70, 70, 70) encodeToCommandBuffer:commandBuffer
                                              leftMatrix:matrix(a, rows_of(70, 70, 70))
                                             rightMatrix:matrix(a, rows_of(70, 70, 70))
                                            resultMatrix:matrix(c, rows_of(70, 70, 70))];
  run(commandBuffer);
  NSUInteger nans = 0;
  for (NSUInteger i = 0; i < 70 * 70; i++) nans += std::isnan(((float *)[c contents])[i]);
  CHECK_EQUAL(nans, 0);
}

void a_matrix_times_a_vector() {
  const NSUInteger rows = 37, columns = 53;
  for (int turned = 0; turned < 2; turned++) {
    id<MTLBuffer> a = numbers(rows * columns), x = numbers(columns + 1), y = numbers(rows + 2);
    MPSVectorDescriptor *of_x = [MPSVectorDescriptor vectorDescriptorWithLength:columns dataType:MPSDataTypeFloat32];
    MPSVectorDescriptor *of_y = [MPSVectorDescriptor vectorDescriptorWithLength:rows dataType:MPSDataTypeFloat32];
    MPSMatrixVectorMultiplication *product = [[[MPSMatrixVectorMultiplication alloc] initWithDevice:device()
                                                                                           transpose:turned
                                                                                                rows:rows
                                                                                             columns:columns
                                                                                               alpha:2
                                                                                                beta:-1] autorelease];
    id<MTLCommandBuffer> commandBuffer = command_buffer();
    [product encodeToCommandBuffer:commandBuffer
                       inputMatrix:matrix(a, turned ? rows_of(columns, rows, rows) : rows_of(rows, columns, columns))
                       inputVector:[[[MPSVector alloc] initWithBuffer:x offset:4 descriptor:of_x] autorelease]
                      resultVector:[[[MPSVector alloc] initWithBuffer:y offset:8 descriptor:of_y] autorelease]];
    run(commandBuffer);
    NSUInteger wrong = 0;
    for (NSUInteger i = 0; i < rows; i++) {
      double sum = 0;
      for (NSUInteger p = 0; p < columns; p++) sum += (double)number_at(turned ? p * rows + i : i * columns + p) * number_at(p + 1);
      wrong += ((float *)[y contents])[i + 2] != (float)(2 * sum - number_at(i + 2));
    }
    CHECK_EQUAL(wrong, 0);
  }
}

void products_are_passes_among_others() {
  const NSUInteger n = 65;
  id<MTLBuffer> x = numbers(n * n), y = zeros(n * n * sizeof(float)), z = zeros(n * n * sizeof(float));
  id<MTLBuffer> identity = zeros(n * n * sizeof(float));
  for (NSUInteger i = 0; i < n; i++) ((float *)[identity contents])[i * n + i] = 1;
  id<MTLCommandBuffer> commandBuffer = command_buffer();
  const auto copy = [&](id<MTLBuffer> from, id<MTLBuffer> to) {
    id<MTLBlitCommandEncoder> encoder = [commandBuffer blitCommandEncoder];
    [encoder copyFromBuffer:from sourceOffset:0 toBuffer:to destinationOffset:0 size:[to length]];
    [encoder endEncoding];
  };
  const auto product = [&](id<MTLBuffer> from, id<MTLBuffer> to) {
    [kernel(false, false, n, n, n, 2, 0) encodeToCommandBuffer:commandBuffer
                                                    leftMatrix:matrix(from, rows_of(n, n, n))
                                                   rightMatrix:matrix(identity, rows_of(n, n, n))
                                                  resultMatrix:matrix(to, rows_of(n, n, n))];
  };
  copy(x, y);
  for (int i = 0; i < 4; i++) {
    product(y, z);
    copy(z, y);
  }
  run(commandBuffer);
  NSUInteger wrong = 0;
  for (NSUInteger i = 0; i < n * n; i++) wrong += ((float *)[y contents])[i] != 16 * number_at(i);
  CHECK_EQUAL(wrong, 0);
  // A pass of its own: none may be open.
  commandBuffer = command_buffer();
  id<MTLComputeCommandEncoder> open = [commandBuffer computeCommandEncoder];
  CHECK_RAISES(product(y, z), @"computeCommandEncoder", @"already encoding");
  [open endEncoding];
  run(commandBuffer);
  CHECK_RAISES(product(y, z), @"computeCommandEncoder", @"committed");
}

void kernels_are_for_devices_and_have_labels() {
  CHECK(MPSSupportsMTLDevice(device()));
  CHECK(!MPSSupportsMTLDevice(nil));
  CHECK([[MPSMatrixMultiplication alloc] initWithDevice:nil resultRows:1 resultColumns:1 interiorColumns:1] == nil);
  MPSMatrixMultiplication *product = [[[MPSMatrixMultiplication alloc] initWithDevice:device()
                                                                             resultRows:1
                                                                          resultColumns:1
                                                                        interiorColumns:1] autorelease];
  CHECK([product device] == device());
  [product setLabel:@"one"];
  [product setOptions:MPSKernelOptionsVerbose];
  MPSKernel *copy = [[product copyWithZone:nullptr device:device()] autorelease];
  CHECK([[copy label] isEqualToString:@"one"]);
  CHECK_EQUAL([copy options], MPSKernelOptionsVerbose);
  id<MTLBuffer> one = numbers(1);
  CHECK_RAISES([product encodeToCommandBuffer:nil
                                   leftMatrix:matrix(one, rows_of(1, 1, 1))
                                  rightMatrix:matrix(one, rows_of(1, 1, 1))
                                 resultMatrix:matrix(one, rows_of(1, 1, 1))],
               @"encodeToCommandBuffer", @"the command buffer must be one of a device");
  CHECK_RAISES([product encodeToCommandBuffer:command_buffer() leftMatrix:nil rightMatrix:nil resultMatrix:nil], @"encodeToCommandBuffer",
               @"the matrices must not be nil");
  id<MTLBuffer> four = numbers(4);
  CHECK_RAISES([kernel(false, false, 2, 2, 3) encodeToCommandBuffer:command_buffer()
                                                          leftMatrix:matrix(four, rows_of(2, 2, 2))
                                                         rightMatrix:matrix(four, rows_of(2, 2, 2))
                                                        resultMatrix:matrix(four, rows_of(2, 2, 2))],
               @"encodeToCommandBuffer", @"the left matrix must hold");
}

void softmax_and_neurons_are_functions_of_rows() {
  const NSUInteger rows = 700, columns = 53, stride = 60;
  id<MTLBuffer> x = numbers(rows * stride), y = zeros(rows * stride * sizeof(float)), z = zeros(rows * stride * sizeof(float));
  MPSMatrixSoftMax *softmax = [[[[[MPSMatrixSoftMax alloc] initWithDevice:device()] autorelease] copy] autorelease];
  [softmax setSourceMatrixOrigin:MTLOriginMake(2, 1, 0)];
  [softmax setSourceColumns:50];
  MPSMatrixNeuron *neuron = [[[MPSMatrixNeuron alloc] initWithDevice:device()] autorelease];
  [neuron setNeuronType:MPSCNNNeuronTypeTanH parameterA:3 parameterB:0.5 parameterC:0];
  [neuron setAlpha:2];
  neuron = [[neuron copy] autorelease];
  CHECK_EQUAL([neuron neuronType], MPSCNNNeuronTypeTanH);
  CHECK_EQUAL([neuron neuronParameterA], 3);
  id<MTLCommandBuffer> commandBuffer = command_buffer();
  MPSMatrix *from = matrix(x, rows_of(rows, columns, stride));
  [softmax encodeToCommandBuffer:commandBuffer inputMatrix:from resultMatrix:matrix(y, rows_of(rows, columns, stride))];
  [neuron encodeToCommandBuffer:commandBuffer inputMatrix:from biasVector:nil resultMatrix:matrix(z, rows_of(rows, columns, stride))];
  run(commandBuffer);
  NSUInteger wrong = 0;
  for (NSUInteger i = 0; i < rows; i++) {
    double sum = 0;
    for (NSUInteger j = 0; j < 50 && i + 2 < rows; j++) sum += std::exp((double)number_at((i + 2) * stride + j + 1));
    for (NSUInteger j = 0; j < stride; j++) {
      const float got = ((float *)[y contents])[i * stride + j], other = ((float *)[z contents])[i * stride + j];
      const double wanted = i + 2 < rows && j < 50 ? std::exp((double)number_at((i + 2) * stride + j + 1)) / sum : 0;
      wrong += !(std::fabs(got - wanted) <= 1e-5 * wanted);
      const double tangent = j < columns ? 3 * std::tanh((double)number_at(i * stride + j)) : 0;
      wrong += !(std::fabs(other - tangent) <= 1e-6 * std::fabs(tangent));
    }
  }
  CHECK_EQUAL(wrong, 0);
  CHECK_RAISES([softmax encodeToCommandBuffer:command_buffer() inputMatrix:from resultMatrix:matrix(y, rows_of(rows - 3, columns, stride))],
               @"encodeToCommandBuffer", @"the result matrix must hold");
  MPSVector *bias = [[[MPSVector alloc] initWithBuffer:x
                                            descriptor:[MPSVectorDescriptor vectorDescriptorWithLength:columns
                                                                                              dataType:MPSDataTypeFloat32]] autorelease];
  CHECK_RAISES([neuron encodeToCommandBuffer:command_buffer() inputMatrix:from biasVector:bias resultMatrix:from], @"encodeToCommandBuffer",
               @"a bias is not supported");
  [neuron setNeuronType:(MPSCNNNeuronType)10 parameterA:0 parameterB:0 parameterC:0];
  CHECK_RAISES([neuron encodeToCommandBuffer:command_buffer() inputMatrix:from biasVector:nil resultMatrix:from], @"encodeToCommandBuffer",
               @"this neuron type is not supported");
}

}  // namespace

#define CASE(name) {#name, name}
const FaceCase performance_cases[] = {
    CASE(a_matrix_is_a_view_of_its_buffer),
    CASE(matrices_beyond_their_buffer_raise),
    CASE(products_are_sums_of_products),
    CASE(origins_and_batches_choose_what_is_multiplied),
    CASE(halves_are_rounded_once),
    CASE(what_the_result_holds_is_not_read_with_a_beta_of_0),
    CASE(a_matrix_times_a_vector),
    CASE(products_are_passes_among_others),
    CASE(softmax_and_neurons_are_functions_of_rows),
    CASE(kernels_are_for_devices_and_have_labels),
    {nullptr, nullptr},
};
