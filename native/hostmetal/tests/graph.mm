// Cases of Metal Performance Shaders Graph: command buffers that go on in others, tensors in buffers, and operations against sums in double.
// What the operations compute in every shape is tried in crates/hostmetal/tests/engine_graph.rs; these see that each method is its operation.
#import "faces.h"

#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

#include <cmath>
#include <cstdlib>
#include <vector>

// Sees what is committed meanwhile.
@interface GraphPieces : MPSCommandBuffer {
 @public
  NSMutableArray *_pieces;
}
@end

@implementation GraphPieces
- (void)commitAndContinue {
  if (!_pieces) _pieces = [[NSMutableArray alloc] init];
  [_pieces addObject:[self rootCommandBuffer]];
  [super commitAndContinue];
}
- (void)dealloc {
  [_pieces release];
  [super dealloc];
}
@end

namespace {

float number_at(NSUInteger at) {
  return (float)((int)(at * 7919 % 33) - 16) / 4;
}

MPSShape *extents(std::vector<NSUInteger> of) {
  NSMutableArray *made = [NSMutableArray array];
  for (NSUInteger extent : of) [made addObject:[NSNumber numberWithUnsignedInteger:extent]];
  return made;
}

// Numbers behind so many others, which are there to stay.
struct Packed {
  std::vector<NSUInteger> shape;
  NSUInteger count = 1, before;
  id<MTLBuffer> buffer;

  explicit Packed(std::vector<NSUInteger> of, NSUInteger skipped = 1) : shape(of), before(skipped) {
    for (NSUInteger extent : of) count *= extent;
    buffer = [[device() newBufferWithLength:(before + count + 1) * sizeof(float) options:MTLResourceStorageModeShared] autorelease];
    for (NSUInteger i = 0; i < before + count + 1; i++) ((float *)[buffer contents])[i] = number_at(i + 5 * skipped);
  }
  float &operator[](NSUInteger at) const {
    return ((float *)[buffer contents])[before + at];
  }
  bool neighbours_stay() const {
    const float *const all = (const float *)[buffer contents];
    return all[before - 1] == number_at(before - 1 + 5 * before) && all[before + count] == number_at(before + count + 5 * before);
  }
  MPSGraphTensorData *data() const {
    MPSNDArrayDescriptor *descriptor = [MPSNDArrayDescriptor descriptorWithDataType:MPSDataTypeFloat32 shape:extents(shape)];
    [descriptor setPreferPackedRows:YES];
    MPSNDArray *array = [[[MPSNDArray alloc] initWithBuffer:buffer offset:before * sizeof(float) descriptor:descriptor] autorelease];
    return [[[MPSGraphTensorData alloc] initWithMPSNDArray:array] autorelease];
  }
};

MPSGraphTensor *placeholder(MPSGraph *graph, std::vector<NSUInteger> shape) {
  return [graph placeholderWithShape:extents(shape) dataType:MPSDataTypeFloat32 name:nil];
}

// GCC's runtime has no subscripts of arrays.
MPSGraphTensor *tensor_at(NSArray *tensors, NSUInteger at) {
  return [tensors objectAtIndex:at];
}

MPSGraphExecutable *compiled(MPSGraph *graph, NSArray *feeds, NSArray *targets) {
  NSMutableDictionary *types = [NSMutableDictionary dictionary];
  for (MPSGraphTensor *feed in feeds) {
    [types setObject:[[[MPSGraphShapedType alloc] initWithShape:[feed shape] dataType:[feed dataType]] autorelease] forKey:feed];
  }
  MPSGraphCompilationDescriptor *descriptor = [[[MPSGraphCompilationDescriptor alloc] init] autorelease];
  CHECK_EQUAL([descriptor optimizationLevel], MPSGraphOptimizationLevel1);
  [descriptor setOptimizationLevel:MPSGraphOptimizationLevel0];
  return [graph compileWithDevice:[MPSGraphDevice deviceWithMTLDevice:device()]
                            feeds:types
                    targetTensors:targets
                 targetOperations:nil
            compilationDescriptor:descriptor];
}

// Data of the feeds in the executable's order.
NSArray *in_order(MPSGraphExecutable *executable, NSArray *feeds, NSArray *data) {
  NSMutableArray *ordered = [NSMutableArray array];
  for (MPSGraphTensor *feed in [executable feedTensors]) [ordered addObject:[data objectAtIndex:[feeds indexOfObjectIdenticalTo:feed]]];
  return ordered;
}

void run(MPSGraph *graph, NSArray *feeds, NSArray *data, NSArray *targets, NSArray *results, NSUInteger pieces = 0) {
  MPSGraphExecutable *executable = compiled(graph, feeds, targets);
  CHECK([[executable targetTensors] isEqual:targets]);
  id<MTLCommandBuffer> first = [[[device() newCommandQueue] autorelease] commandBuffer];
  GraphPieces *commandBuffer = [GraphPieces commandBufferWithCommandBuffer:first];
  NSArray *made = [executable encodeToCommandBuffer:commandBuffer
                                        inputsArray:in_order(executable, feeds, data)
                                       resultsArray:results
                                executionDescriptor:nil];
  CHECK([made isEqual:results]);
  CHECK_EQUAL([commandBuffer->_pieces count], pieces);
  CHECK(([commandBuffer rootCommandBuffer] == first) == (pieces == 0));
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
  for (id<MTLCommandBuffer> piece in commandBuffer->_pieces) CHECK_EQUAL([piece status], MTLCommandBufferStatusCompleted);
}

void a_command_buffer_goes_on_in_another() {
  id<MTLCommandQueue> queue = [[device() newCommandQueue] autorelease];
  id<MTLCommandBuffer> first = [queue commandBuffer];
  MPSCommandBuffer *wrapped = [MPSCommandBuffer commandBufferWithCommandBuffer:first];
  CHECK([wrapped commandBuffer] == first);
  CHECK([wrapped rootCommandBuffer] == first);
  CHECK([wrapped commandQueue] == queue);
  CHECK([wrapped device] == device());
  [wrapped setLabel:@"first"];
  CHECK([[first label] isEqualToString:@"first"]);
  __block int fired = 0;
  [wrapped addCompletedHandler:^(id<MTLCommandBuffer> done) { fired += done == first; }];
  id<MTLBuffer> buffer = [[device() newBufferWithLength:2 options:MTLResourceStorageModeShared] autorelease];
  id<MTLBlitCommandEncoder> blit = [wrapped blitCommandEncoder];
  [blit fillBuffer:buffer range:NSMakeRange(0, 1) value:1];
  [blit endEncoding];
  // One that wraps it is told to go on as well, and is in the same one then.
  GraphPieces *around = [GraphPieces commandBufferWithCommandBuffer:wrapped];
  [around commitAndContinue];
  CHECK_EQUAL([around->_pieces count], 1);
  CHECK([around->_pieces objectAtIndex:0] == (id)first);
  CHECK([wrapped rootCommandBuffer] != first);
  CHECK([around rootCommandBuffer] == [wrapped rootCommandBuffer]);
  CHECK_EQUAL([wrapped status], MTLCommandBufferStatusNotEnqueued);
  blit = [around blitCommandEncoder];
  [blit fillBuffer:buffer range:NSMakeRange(1, 1) value:2];
  [blit endEncoding];
  [around commit];
  [around waitUntilCompleted];
  [first waitUntilCompleted];
  CHECK_EQUAL([first status], MTLCommandBufferStatusCompleted);
  CHECK_EQUAL(fired, 1);
  CHECK_EQUAL(((uint8_t *)[buffer contents])[0], 1);
  CHECK_EQUAL(((uint8_t *)[buffer contents])[1], 2);
  CHECK_RAISES([MPSCommandBuffer commandBufferWithCommandBuffer:nil], @"initWithCommandBuffer:", @"must be one of a device");
}

void a_tensor_is_a_view_of_its_buffer() {
  MPSNDArrayDescriptor *descriptor = [MPSNDArrayDescriptor descriptorWithDataType:MPSDataTypeFloat16 shape:extents({2, 3, 5})];
  CHECK_EQUAL([descriptor lengthOfDimension:0], 5);
  CHECK_EQUAL([descriptor lengthOfDimension:2], 2);
  CHECK([[descriptor getShape] isEqual:extents({2, 3, 5})]);
  CHECK_EQUAL([descriptor preferPackedRows], NO);
  id<MTLBuffer> buffer = [[device() newBufferWithLength:66 options:MTLResourceStorageModeShared] autorelease];
  CHECK_RAISES([[MPSNDArray alloc] initWithBuffer:buffer offset:0 descriptor:descriptor], @"initWithBuffer:offset:descriptor:", @"not packed");
  [descriptor setPreferPackedRows:YES];
  MPSNDArray *array = [[[MPSNDArray alloc] initWithBuffer:buffer offset:6 descriptor:descriptor] autorelease];
  CHECK_EQUAL([array numberOfDimensions], 3);
  CHECK_EQUAL([array lengthOfDimension:1], 3);
  CHECK_EQUAL([array dataType], MPSDataTypeFloat16);
  CHECK([array userBuffer] == buffer);
  CHECK([array device] == device());
  CHECK_RAISES([[MPSNDArray alloc] initWithBuffer:buffer offset:8 descriptor:descriptor], @"initWithBuffer", @"is not large enough");
  CHECK_RAISES([[MPSNDArray alloc] initWithBuffer:buffer offset:5 descriptor:descriptor], @"initWithBuffer", @"multiple of the element size");
  CHECK_RAISES([MPSNDArrayDescriptor descriptorWithDataType:MPSDataTypeInt8 shape:extents({2})], @"descriptorWithDataType", @"not supported");
  CHECK_RAISES([MPSNDArrayDescriptor descriptorWithDataType:MPSDataTypeFloat32 shape:extents({1, 1, 1, 1, 1})], @"descriptorWithDataType", @"1 to 4 axes");
}

// Every number of the descriptor differs from every other, so that none can stand for another.
MPSGraphConvolution2DOpDescriptor *windows(NSUInteger groups) {
  return [MPSGraphConvolution2DOpDescriptor descriptorWithStrideInX:3
                                                          strideInY:2
                                                    dilationRateInX:1
                                                    dilationRateInY:2
                                                             groups:groups
                                                        paddingLeft:2
                                                       paddingRight:1
                                                         paddingTop:3
                                                      paddingBottom:0
                                                       paddingStyle:MPSGraphPaddingStyleExplicit
                                                         dataLayout:MPSGraphTensorNamedDataLayoutNHWC
                                                      weightsLayout:MPSGraphTensorNamedDataLayoutHWIO];
}

// Windows of 3 rows and 2 columns over 9 rows and 10 columns, laid as `windows` says.
constexpr NSUInteger rows = 9, columns = 10, down = (9 + 3 + 0 - 5) / 2 + 1, across = (10 + 2 + 1 - 2) / 3 + 1;
template <typename With>
void each_element(NSUInteger y, NSUInteger x, With with) {
  for (int r = 0; r < 3; r++) {
    for (int c = 0; c < 2; c++) {
      const int at = (int)y * 2 + r * 2 - 3, beside = (int)x * 3 + c - 2;
      if (at >= 0 && at < (int)rows && beside >= 0 && beside < (int)columns) with(r * 2 + c, at * columns + beside);
    }
  }
}

void convolutions_with_a_bias(NSUInteger pieces) {
  const NSUInteger channels = 4, features = 6, groups = 2;
  const Packed x({2, rows, columns, channels}), w({3, 2, channels / groups, features}, 2), bias({1, 1, 1, features}, 3), y({2, down, across, features}, 4);
  MPSGraph *graph = [[[MPSGraph alloc] init] autorelease];
  NSArray *feeds = @[ placeholder(graph, x.shape), placeholder(graph, w.shape), placeholder(graph, bias.shape) ];
  MPSGraphTensor *product = [graph convolution2DWithSourceTensor:tensor_at(feeds, 0) weightsTensor:tensor_at(feeds, 1) descriptor:[[windows(groups) copy] autorelease] name:nil];
  CHECK([[product shape] isEqual:extents(y.shape)]);
  MPSGraphTensor *sum = [graph additionWithPrimaryTensor:product secondaryTensor:tensor_at(feeds, 2) name:@"with bias"];
  run(graph, feeds, @[ x.data(), w.data(), bias.data() ], @[ sum ], @[ y.data() ], pieces);
  NSUInteger wrong = 0;
  for (NSUInteger at = 0; at < y.count; at++) {
    const NSUInteger feature = at % features, place = at / features, first = feature / (features / groups) * (channels / groups);
    double expected = bias[feature];
    each_element(place / across % down, place % across, [&](NSUInteger tap, NSUInteger pixel) {
      for (NSUInteger c = 0; c < channels / groups; c++) {
        expected += (double)x[(place / across / down * rows * columns + pixel) * channels + first + c] * w[(tap * channels / groups + c) * features + feature];
      }
    });
    wrong += y[at] != (float)expected;  // sums of sixteenths are exact
  }
  CHECK_EQUAL(wrong, 0);
  CHECK(y.neighbours_stay());
}

void a_convolution_is_a_sum_over_windows() {
  convolutions_with_a_bias(0);
}

// As Apple's may: results, and what lies between operations, are the same.
void a_graph_may_commit_meanwhile() {
  setenv("HOSTMETAL_GRAPH_COMMITS", "1", 1);
  convolutions_with_a_bias(1);
  unsetenv("HOSTMETAL_GRAPH_COMMITS");
}

void pools_of_windows() {
  const NSUInteger channels = 3;
  const Packed x({2, rows, columns, channels}), largest({2, down, across, channels}, 2), within({2, down, across, channels}, 3), all({2, down, across, channels}, 4);
  MPSGraphPooling2DOpDescriptor *descriptor = [MPSGraphPooling2DOpDescriptor descriptorWithKernelWidth:2
                                                                                          kernelHeight:3
                                                                                             strideInX:3
                                                                                             strideInY:2
                                                                                       dilationRateInX:1
                                                                                       dilationRateInY:2
                                                                                           paddingLeft:2
                                                                                          paddingRight:1
                                                                                            paddingTop:3
                                                                                         paddingBottom:0
                                                                                          paddingStyle:MPSGraphPaddingStyleExplicit
                                                                                            dataLayout:MPSGraphTensorNamedDataLayoutNHWC];
  CHECK_EQUAL([descriptor includeZeroPadToAverage], NO);
  MPSGraph *graph = [[[MPSGraph alloc] init] autorelease];
  NSArray *feeds = @[ placeholder(graph, x.shape) ];
  MPSGraphTensor *maximum = [graph maxPooling2DWithSourceTensor:tensor_at(feeds, 0) descriptor:descriptor name:nil];
  MPSGraphTensor *mean = [graph avgPooling2DWithSourceTensor:tensor_at(feeds, 0) descriptor:descriptor name:nil];
  [descriptor setIncludeZeroPadToAverage:YES];
  MPSGraphTensor *padded = [graph avgPooling2DWithSourceTensor:tensor_at(feeds, 0) descriptor:[[descriptor copy] autorelease] name:nil];
  run(graph, feeds, @[ x.data() ], @[ maximum, mean, padded ], @[ largest.data(), within.data(), all.data() ]);
  NSUInteger wrong = 0;
  for (NSUInteger at = 0; at < largest.count; at++) {
    const NSUInteger place = at / channels;
    double sum = 0, count = 0, most = -INFINITY;
    each_element(place / across % down, place % across, [&](NSUInteger, NSUInteger pixel) {
      const double number = x[(place / across / down * rows * columns + pixel) * channels + at % channels];
      sum += number, count += 1, most = std::fmax(most, number);
    });
    wrong += largest[at] != (float)most || all[at] != (float)(sum / 6);
    wrong += count == 0 ? !std::isnan(within[at]) : within[at] != (float)(sum / count);
  }
  CHECK_EQUAL(wrong, 0);
}

void layers_are_normalised() {
  const NSUInteger count = 7, length = 9;
  const Packed x({count, length}), gamma({1, length}, 2), beta({1, length}, 3), y({count, length}, 4), means({count, 1}, 5), variances({count, 1}, 6);
  MPSGraph *graph = [[[MPSGraph alloc] init] autorelease];
  NSArray *feeds = @[ placeholder(graph, x.shape), placeholder(graph, gamma.shape), placeholder(graph, beta.shape) ], *axes = @[ @1 ];
  MPSGraphTensor *mean = [graph meanOfTensor:tensor_at(feeds, 0) axes:axes name:nil];
  MPSGraphTensor *variance = [graph varianceOfTensor:tensor_at(feeds, 0) meanTensor:mean axes:axes name:nil];
  [graph reductionSumWithTensor:placeholder(graph, {2}) axes:@[ @0 ] name:@"what no target needs"];
  MPSGraphTensor *normal = [graph normalizationWithTensor:tensor_at(feeds, 0) meanTensor:mean varianceTensor:variance gammaTensor:tensor_at(feeds, 1) betaTensor:tensor_at(feeds, 2) epsilon:0.5f name:nil];
  run(graph, feeds, @[ x.data(), gamma.data(), beta.data() ], @[ variance, normal, mean ], @[ variances.data(), y.data(), means.data() ]);
  NSUInteger wrong = 0;
  for (NSUInteger row = 0; row < count; row++) {
    double sum = 0, squares = 0;
    for (NSUInteger i = 0; i < length; i++) sum += x[row * length + i];
    for (NSUInteger i = 0; i < length; i++) squares += std::pow(x[row * length + i] - sum / length, 2);
    wrong += !(std::fabs(means[row] - sum / length) < 1e-5) || !(std::fabs(variances[row] - squares / length) < 1e-5);
    for (NSUInteger i = 0; i < length; i++) {
      const double expected = (x[row * length + i] - sum / length) / std::sqrt(squares / length + 0.5) * gamma[i] + beta[i];
      wrong += !(std::fabs(y[row * length + i] - expected) < 1e-5);
    }
  }
  CHECK_EQUAL(wrong, 0);
}

void reductions_and_casts() {
  const Packed x({5, 6}), sums({1, 6}, 2), largest({5, 1}, 3), smallest({1, 1}, 4);
  MPSGraph *graph = [[[MPSGraph alloc] init] autorelease];
  NSArray *feeds = @[ placeholder(graph, x.shape) ];
  MPSGraphTensor *half = [graph castTensor:tensor_at(feeds, 0) toType:MPSDataTypeBFloat16 name:nil];
  CHECK_EQUAL([half dataType], MPSDataTypeBFloat16);
  MPSGraphTensor *whole = [graph castTensor:half toType:MPSDataTypeFloat32 name:nil];
  NSArray *targets = @[
    [graph reductionSumWithTensor:whole axes:@[ @0 ] name:nil], [graph reductionMaximumPropagateNaNWithTensor:tensor_at(feeds, 0) axes:@[ @1 ] name:nil],
    [graph reductionMinimumPropagateNaNWithTensor:whole axes:@[ @0, @1 ] name:nil]
  ];
  run(graph, feeds, @[ x.data() ], targets, @[ sums.data(), largest.data(), smallest.data() ]);
  double least = INFINITY;
  for (NSUInteger i = 0; i < 30; i++) least = std::fmin(least, x[i]);
  CHECK(smallest[0] == (float)least);
  for (NSUInteger i = 0; i < 6; i++) {
    double sum = 0, most = -INFINITY;
    for (NSUInteger row = 0; row < 5; row++) sum += x[row * 6 + i];
    for (NSUInteger column = 0; column < 6 && i < 5; column++) most = std::fmax(most, x[i * 6 + column]);
    CHECK(sums[i] == (float)sum);
    CHECK(i == 5 || largest[i] == (float)most);
  }
}

void graphs_refuse_what_does_not_fit() {
  MPSGraph *graph = [[[MPSGraph alloc] init] autorelease], *other = [[[MPSGraph alloc] init] autorelease];
  CHECK_EQUAL([graph options], MPSGraphOptionsDefault);
  MPSGraphTensor *x = placeholder(graph, {2, 3}), *y = placeholder(graph, {2, 3}), *z = placeholder(other, {2, 3});
  CHECK([[x copy] autorelease] == x);
  CHECK_RAISES([graph additionWithPrimaryTensor:x secondaryTensor:z name:nil], @"additionWithPrimaryTensor:", @"another graph's");
  CHECK_RAISES([graph additionWithPrimaryTensor:x secondaryTensor:placeholder(graph, {3, 2}) name:nil], @"additionWithPrimaryTensor:", @"spread to one shape");
  CHECK_RAISES([graph meanOfTensor:x axes:nil name:nil], @"meanOfTensor:", @"axes of nil");
  CHECK_RAISES([graph meanOfTensor:x axes:@[ @2 ] name:nil], @"meanOfTensor:", @"the axes must be some of the tensor's");
  CHECK_RAISES([graph meanOfTensor:x axes:@[ @(-1) ] name:nil], @"meanOfTensor:", @"the axes must be some of the tensor's");
  CHECK_RAISES([graph convolution2DWithSourceTensor:x weightsTensor:y descriptor:windows(1) name:nil], @"convolution2DWithSourceTensor:", @"4 axes");
  CHECK_RAISES([graph castTensor:x toType:MPSDataTypeInt32 name:nil], @"castTensor:", @"not supported by hostmetal");
  CHECK_RAISES([MPSGraphDevice deviceWithMTLDevice:nil], @"deviceWithMTLDevice:", @"one of hostmetal's");
  MPSGraphTensor *sum = [graph additionWithPrimaryTensor:x secondaryTensor:y name:nil];
  CHECK_RAISES(compiled(graph, @[ x ], @[ sum ]), @"compileWithDevice", @"is not fed");
  CHECK_RAISES(compiled(graph, @[ x, y ], @[]), @"compileWithDevice", @"a target tensor");
  CHECK_RAISES(compiled(graph, @[ x, y ], (@[ sum, sum ])), @"compileWithDevice", @"must differ");
  CHECK_RAISES(compiled(graph, @[ x, z ], @[ sum ]), @"compileWithDevice", @"another graph's");
  MPSGraphExecutable *executable = compiled(graph, @[ x, y ], @[ sum ]);
  const Packed one({2, 3}), turned({3, 2});
  MPSCommandBuffer *commandBuffer = [MPSCommandBuffer commandBufferFromCommandQueue:[[device() newCommandQueue] autorelease]];
  const auto encode = [&](NSArray *inputs, NSArray *results) {
    [executable encodeToCommandBuffer:commandBuffer inputsArray:inputs resultsArray:results executionDescriptor:nil];
  };
  NSArray *result = @[ one.data() ];
  CHECK_RAISES(encode(result, result), @"encodeToCommandBuffer", @"as many inputs as feeds");
  CHECK_RAISES(encode((@[ one.data(), turned.data() ]), result), @"encodeToCommandBuffer", @"of the tensor's shape and type");
  CHECK_RAISES(encode((@[ one.data(), one.data() ]), nil), @"encodeToCommandBuffer", @"a results array of nil");
  CHECK_RAISES(encode((@[ Packed({2, 3}).data(), one.data() ]), result), @"encodeToCommandBuffer", @"overlaps an input");
  MPSGraphExecutable *both = compiled(graph, @[ x, y ], (@[ sum, [graph meanOfTensor:x axes:@[ @0 ] name:nil] ]));
  NSArray *apart = @[ Packed({2, 3}).data(), Packed({2, 3}).data() ];
  MPSNDArrayDescriptor *within = [MPSNDArrayDescriptor descriptorWithDataType:MPSDataTypeFloat32 shape:extents({1, 3})];
  [within setPreferPackedRows:YES];
  MPSNDArray *last = [[[MPSNDArray alloc] initWithBuffer:one.buffer offset:(one.before + 3) * sizeof(float) descriptor:within] autorelease];
  MPSGraphTensorData *in_the_sum = [[[MPSGraphTensorData alloc] initWithMPSNDArray:last] autorelease];
  NSArray *over_each_other = @[ one.data(), in_the_sum ];
  CHECK_RAISES([both encodeToCommandBuffer:commandBuffer inputsArray:apart resultsArray:over_each_other executionDescriptor:nil], @"encodeToCommandBuffer",
               @"another result");
  CHECK_RAISES([graph meanOfTensor:nil axes:@[ @0 ] name:nil], @"meanOfTensor:", @"must not be nil");
  MPSGraphTensor *tall = placeholder(graph, {65536, 1}), *broad = placeholder(graph, {1, 65536});
  CHECK_RAISES([graph additionWithPrimaryTensor:tall secondaryTensor:broad name:nil], @"additionWithPrimaryTensor:", @"2^31 - 1 elements");
}

}  // namespace

#define CASE(name) {#name, name}
const FaceCase graph_cases[] = {
    CASE(a_command_buffer_goes_on_in_another),
    CASE(a_tensor_is_a_view_of_its_buffer),
    CASE(a_convolution_is_a_sum_over_windows),
    CASE(a_graph_may_commit_meanwhile),
    CASE(pools_of_windows),
    CASE(layers_are_normalised),
    CASE(reductions_and_casts),
    CASE(graphs_refuse_what_does_not_fit),
    {nullptr, nullptr},
};
