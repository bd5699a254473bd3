// DCMetalGraph.mm: the C ABI over Metal Performance Shaders Graph.
//
// Apple's checks of graphs end the process, so everything that they look at is checked here first.

#include "DCMetalShim.h"

#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

using namespace dcmetal;
using ull = unsigned long long;

// Before this SDK there were no tensors at an offset of a buffer.
#if !defined(__APPLE__) || (defined(__MAC_OS_X_VERSION_MAX_ALLOWED) && __MAC_OS_X_VERSION_MAX_ALLOWED >= 150000)
#define DC_HAS_GRAPHS 1
static_assert((uint32_t)MPSDataTypeBFloat16 == 0x90000010, "type_of has Metal's value");
#else
#define DC_HAS_GRAPHS 0
#endif

constexpr uint64_t kElements = uint64_t(1) << 31;  // "The product of all dimension lengths must be less than 2**31": MPSNDArrayDescriptor
constexpr uint64_t kExtent = 65536;                // of a convolution's result: "output channels > 2^16" end the process before macOS 15.1

struct DCMetalGraph_s {
  DCMetalGraph_s(MPSGraphExecutable *compiled, const DCMetalGraphDescriptor &of) : object(compiled), descriptor(of) {}
  Strong<MPSGraphExecutable *> object;
  const DCMetalGraphDescriptor descriptor;
  uint8_t feeds[5] = {}, targets[2] = {};  // which of our tensors the executable wants at each place
  uint64_t registry_id = 0;
};

// MPSGraph may have what it has encoded committed meanwhile. Here a command buffer is committed once and whole: it has one outcome, and one place in its queue.
@interface DCMetalWhole : MPSCommandBuffer
@end

@implementation DCMetalWhole
- (void)commitAndContinue {
}
@end

static bool supports_graphs(id<MTLDevice> device) {
#if DC_HAS_GRAPHS
  if (@available(macOS 15.0, *)) return MPSSupportsMTLDevice(device);
#endif
  (void)device;
  return false;
}

bool DCMetalDevice_SupportsGraphs(DCMetalDevice device) {
  if (!device) return false;
  return ask(false, [=] { return supports_graphs(in(device)); });
}

// ------------------------------------------------------------------ what is checked of a graph

namespace {
// What an operation takes, by name and in order.
struct Inputs {
  const char *names[5] = {"x"};
  uint32_t count = 1;
  void add(const char *name, bool there = true) {
    if (there) names[count++] = name;
  }
};
}  // namespace

static Inputs inputs_of(const DCMetalGraphDescriptor &of) {
  Inputs inputs;
  const bool convolution = of.operation == DC_METAL_GRAPH_CONVOLUTION, normalization = of.operation == DC_METAL_GRAPH_NORMALIZATION;
  inputs.add("weights", convolution);
  inputs.add("bias", convolution && of.has_bias);
  inputs.add("mean", normalization);
  inputs.add("variance", normalization);
  const bool scales = normalization || of.operation == DC_METAL_GRAPH_LAYER_NORMALIZATION;
  inputs.add("scale", scales && of.has_scale);
  inputs.add("shift", scales && of.has_shift);
  return inputs;
}

static const char *result_name(const DCMetalGraphDescriptor &of, uint32_t number) {
  if (of.operation != DC_METAL_GRAPH_STATISTICS) return "the result";
  return number == 0 ? "the mean" : "the variance";
}

static bool slides(const DCMetalGraphDescriptor &of) { return of.operation <= DC_METAL_GRAPH_AVERAGE_POOLING; }
static bool has_axes(const DCMetalGraphDescriptor &of) { return of.operation >= DC_METAL_GRAPH_LAYER_NORMALIZATION; }
// Whether it computes with floats whatever its tensors are.
static bool computes_with_floats(const DCMetalGraphDescriptor &of) {
  return of.operation >= DC_METAL_GRAPH_NORMALIZATION && of.operation <= DC_METAL_GRAPH_MEAN;
}

static uint64_t bytes_of(DCMetalNumber number) { return number == DC_METAL_NUMBER_FLOAT32 ? 4 : 2; }

static uint64_t elements_of(const DCMetalShape &shape) {
  uint64_t elements = 1;
  for (uint32_t axis = 0; axis < shape.rank; axis++) elements *= shape.extents[axis];
  return elements;
}

static DCMetalStatus check_shape(const DCMetalShape &shape, const char *name, DCMetalError *error) {
  const auto wrong = [=](const char *why) { return fail(error, DC_METAL_INVALID_ARGUMENT, "%s: %s", name, why); };
  if (shape.number != DC_METAL_NUMBER_FLOAT16 && shape.number != DC_METAL_NUMBER_FLOAT32 && shape.number != DC_METAL_NUMBER_BFLOAT16) {
    return wrong("numbers are FLOAT32, FLOAT16 or BFLOAT16");
  }
  if (shape.rank == 0 || shape.rank > 4) return wrong("a tensor has 1 to 4 axes");
  uint64_t elements = 1;
  for (uint32_t axis = 0; axis < shape.rank; axis++) {
    if (shape.extents[axis] == 0) return wrong("it has no elements");
    if (shape.extents[axis] >= kElements || (elements *= shape.extents[axis]) >= kElements) return wrong("it has 2^31 elements or more");
  }
  return DC_METAL_OK;
}

static bool same_extents(const DCMetalShape &one, const DCMetalShape &other) {
  if (one.rank != other.rank) return false;
  for (uint32_t axis = 0; axis < one.rank; axis++) {
    if (one.extents[axis] != other.extents[axis]) return false;
  }
  return true;
}

// Whether it has one element, or as many, along each axis of the other.
static bool spreads_to(const DCMetalShape &shape, const DCMetalShape &other) {
  if (shape.rank != other.rank) return false;
  for (uint32_t axis = 0; axis < shape.rank; axis++) {
    if (shape.extents[axis] != 1 && shape.extents[axis] != other.extents[axis]) return false;
  }
  return true;
}

// The places of a window along rows or columns.
static DCMetalStatus places_of(const DCMetalGraphDescriptor &of, uint32_t side, uint64_t window, uint64_t *places, DCMetalError *error) {
  const uint64_t stride = of.stride[side], dilation = of.dilation[side], padding = of.padding[side];
  if (window == 0 || stride == 0 || dilation == 0) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "window, stride and dilation are to be above 0");
  }
  if (window >= kElements || stride >= kElements || dilation >= kElements || padding >= kElements) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "window, stride, dilation and padding are to be below 2^31");
  }
  const uint64_t padded = of.inputs[0].extents[1 + side] + 2 * padding, reach = (window - 1) * dilation + 1;
  if (reach > padded) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "a window that reaches over %llu does not fit into %llu with the padding", (ull)reach, (ull)padded);
  }
  *places = (padded - reach) / stride + 1;
  return DC_METAL_OK;
}

static DCMetalStatus check_convolution(const DCMetalGraphDescriptor &of, DCMetalError *error) {
  const DCMetalShape &x = of.inputs[0], &weights = of.inputs[1];
  const auto wrong = [=](const char *why) { return fail(error, DC_METAL_INVALID_ARGUMENT, "%s", why); };
  if (weights.rank != 4) return wrong("weights: they have 4 axes");
  if (of.groups == 0 || x.extents[3] % of.groups || weights.extents[3] % of.groups || weights.extents[2] != x.extents[3] / of.groups) {
    return wrong("weights: the groups divide channels and features, and the third axis has the channels of a group");
  }
  const DCMetalShape bias = {4, {1, 1, 1, weights.extents[3]}, x.number};
  if (of.has_bias && !same_extents(of.inputs[2], bias)) return wrong("bias: it has the extents 1 x 1 x 1 x features");
  return DC_METAL_OK;
}

// The extents of a result, of inputs that are right by themselves.
static DCMetalStatus extents_of_result(const DCMetalGraphDescriptor &of, DCMetalShape *result, DCMetalError *error) {
  const DCMetalShape &x = of.inputs[0];
  *result = x;
  if (slides(of)) {
    if (x.rank != 4) return fail(error, DC_METAL_INVALID_ARGUMENT, "x: it has 4 axes");
    const bool convolution = of.operation == DC_METAL_GRAPH_CONVOLUTION;
    DCMetalStatus status = convolution ? check_convolution(of, error) : DC_METAL_OK;
    for (uint32_t side = 0; side < 2 && status == DC_METAL_OK; side++) {
      const uint64_t window = convolution ? of.inputs[1].extents[side] : of.window[side];
      status = places_of(of, side, window, &result->extents[1 + side], error);
    }
    if (convolution) result->extents[3] = of.inputs[1].extents[3];
    return status;
  }
  if (has_axes(of) && (of.axes == 0 || of.axes >> x.rank)) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "axes: they are some of x's, one at least");
  }
  for (uint32_t input = 1; input < of.input_count; input++) {
    if (!spreads_to(of.inputs[input], x)) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "%s: along each axis it has one element or as many as x", inputs_of(of).names[input]);
    }
  }
  for (uint32_t axis = 0; axis < x.rank && of.operation >= DC_METAL_GRAPH_STATISTICS; axis++) {
    if (of.axes >> axis & 1) result->extents[axis] = 1;
  }
  return DC_METAL_OK;
}

static DCMetalStatus check_result(const DCMetalGraphDescriptor &of, uint32_t number, const DCMetalShape &wanted, DCMetalError *error) {
  const DCMetalShape &result = of.results[number];
  const char *name = result_name(of, number);
  DCMetalStatus status = check_shape(result, name, error);
  if (status != DC_METAL_OK) return status;
  if (!same_extents(result, wanted)) return fail(error, DC_METAL_INVALID_ARGUMENT, "%s has other extents than the operation gives", name);
  for (uint32_t axis = 0; axis < 4 && of.operation == DC_METAL_GRAPH_CONVOLUTION; axis++) {
    if (result.extents[axis] > kExtent) {
      return fail(error, DC_METAL_UNSUPPORTED, "%s of a convolution has an extent above %llu", name, (ull)kExtent);
    }
  }
  return DC_METAL_OK;
}

static DCMetalStatus check_graph(const DCMetalGraphDescriptor &of, DCMetalError *error) {
  if (of.operation > DC_METAL_GRAPH_MINIMUM) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "%u is no operation of graphs", (unsigned)of.operation);
  }
  const Inputs inputs = inputs_of(of);
  const uint32_t results = of.operation == DC_METAL_GRAPH_STATISTICS ? 2 : 1;
  if (of.input_count != inputs.count || of.result_count != results) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "the operation takes %u tensors and gives %u", (unsigned)inputs.count, (unsigned)results);
  }
  DCMetalStatus status = DC_METAL_OK;
  for (uint32_t input = 0; input < inputs.count && status == DC_METAL_OK; input++) {
    status = check_shape(of.inputs[input], inputs.names[input], error);
  }
  DCMetalShape wanted;
  if (status == DC_METAL_OK) status = extents_of_result(of, &wanted, error);
  for (uint32_t result = 0; result < results && status == DC_METAL_OK; result++) status = check_result(of, result, wanted, error);
  if (status != DC_METAL_OK || computes_with_floats(of)) return status;
  bool alike = of.results[0].number == of.inputs[0].number;
  for (uint32_t input = 1; input < inputs.count; input++) alike = alike && of.inputs[input].number == of.inputs[0].number;
  return alike ? DC_METAL_OK : fail(error, DC_METAL_INVALID_ARGUMENT, "the tensors are of one kind of numbers");
}

// ------------------------------------------------------------------ compilation

static MPSDataType type_of(DCMetalNumber number) {
  const MPSDataType bfloat16 = (MPSDataType)0x90000010;  // MPSDataTypeBFloat16, which SDKs before macOS 14's lack
  return number == DC_METAL_NUMBER_BFLOAT16 ? bfloat16 : (MPSDataType)number;
}

static MPSShape *shape_of(const DCMetalShape &shape) {
  NSMutableArray<NSNumber *> *extents = [NSMutableArray array];
  for (uint32_t axis = 0; axis < shape.rank; axis++) [extents addObject:[NSNumber numberWithUnsignedInteger:shape.extents[axis]]];
  return extents;
}

static MPSGraphTensor *cast_to(MPSGraph *graph, MPSGraphTensor *tensor, DCMetalNumber number) {
  if ([tensor dataType] == type_of(number)) return tensor;
  return [graph castTensor:tensor toType:type_of(number) name:nil];
}

static MPSGraphTensor *convolution(MPSGraph *graph, const DCMetalGraphDescriptor &of, NSArray<MPSGraphTensor *> *inputs) {
  MPSGraphConvolution2DOpDescriptor *descriptor =
      [MPSGraphConvolution2DOpDescriptor descriptorWithStrideInX:of.stride[1]
                                                       strideInY:of.stride[0]
                                                 dilationRateInX:of.dilation[1]
                                                 dilationRateInY:of.dilation[0]
                                                          groups:of.groups
                                                     paddingLeft:of.padding[1]
                                                    paddingRight:of.padding[1]
                                                      paddingTop:of.padding[0]
                                                   paddingBottom:of.padding[0]
                                                    paddingStyle:MPSGraphPaddingStyleExplicit
                                                      dataLayout:MPSGraphTensorNamedDataLayoutNHWC
                                                   weightsLayout:MPSGraphTensorNamedDataLayoutHWIO];
  if (!descriptor) return nil;
  MPSGraphTensor *sums = [graph convolution2DWithSourceTensor:[inputs objectAtIndex:0]
                                                weightsTensor:[inputs objectAtIndex:1]
                                                   descriptor:descriptor
                                                         name:nil];
  return of.has_bias ? [graph additionWithPrimaryTensor:sums secondaryTensor:[inputs objectAtIndex:2] name:nil] : sums;
}

static MPSGraphTensor *pooling(MPSGraph *graph, const DCMetalGraphDescriptor &of, MPSGraphTensor *x) {
  MPSGraphPooling2DOpDescriptor *descriptor = [MPSGraphPooling2DOpDescriptor descriptorWithKernelWidth:of.window[1]
                                                                                          kernelHeight:of.window[0]
                                                                                             strideInX:of.stride[1]
                                                                                             strideInY:of.stride[0]
                                                                                       dilationRateInX:of.dilation[1]
                                                                                       dilationRateInY:of.dilation[0]
                                                                                           paddingLeft:of.padding[1]
                                                                                          paddingRight:of.padding[1]
                                                                                            paddingTop:of.padding[0]
                                                                                         paddingBottom:of.padding[0]
                                                                                          paddingStyle:MPSGraphPaddingStyleExplicit
                                                                                            dataLayout:MPSGraphTensorNamedDataLayoutNHWC];
  if (!descriptor) return nil;
  [descriptor setIncludeZeroPadToAverage:of.counts_padding];
  return of.operation == DC_METAL_GRAPH_MAX_POOLING ? [graph maxPooling2DWithSourceTensor:x descriptor:descriptor name:nil]
                                                    : [graph avgPooling2DWithSourceTensor:x descriptor:descriptor name:nil];
}

// Mean and variance are those of `moments`, or the inputs behind x.
static MPSGraphTensor *normalization(MPSGraph *graph, const DCMetalGraphDescriptor &of, NSArray<MPSGraphTensor *> *inputs,
                                     NSArray<MPSGraphTensor *> *moments) {
  NSUInteger next = moments ? 1 : 3;
  MPSGraphTensor *scale = of.has_scale ? [inputs objectAtIndex:next++] : nil;
  MPSGraphTensor *shift = of.has_shift ? [inputs objectAtIndex:next] : nil;
  return [graph normalizationWithTensor:[inputs objectAtIndex:0]
                             meanTensor:[moments ? moments : inputs objectAtIndex:moments ? 0 : 1]
                         varianceTensor:[moments ? moments : inputs objectAtIndex:moments ? 1 : 2]
                            gammaTensor:scale
                             betaTensor:shift
                                epsilon:of.epsilon
                                   name:nil];
}

// The tensors that the operation gives; nil where Metal makes none.
static NSArray<MPSGraphTensor *> *operate(MPSGraph *graph, const DCMetalGraphDescriptor &of, NSArray<MPSGraphTensor *> *inputs) {
  MPSGraphTensor *x = [inputs objectAtIndex:0], *made[2] = {nil, nil};
  NSMutableArray<NSNumber *> *axes = [NSMutableArray array];
  for (uint32_t axis = 0; has_axes(of) && axis < of.inputs[0].rank; axis++) {
    if (of.axes >> axis & 1) [axes addObject:[NSNumber numberWithInteger:axis]];
  }
  NSArray<MPSGraphTensor *> *moments = nil;
  if (of.operation == DC_METAL_GRAPH_LAYER_NORMALIZATION || of.operation == DC_METAL_GRAPH_STATISTICS) {
    made[0] = [graph meanOfTensor:x axes:axes name:nil];
    made[1] = made[0] ? [graph varianceOfTensor:x meanTensor:made[0] axes:axes name:nil] : nil;
    if (!made[1]) return nil;
    moments = [NSArray arrayWithObjects:made count:2];
  }
  switch (of.operation) {
    case DC_METAL_GRAPH_CONVOLUTION: made[0] = convolution(graph, of, inputs); break;
    case DC_METAL_GRAPH_MAX_POOLING:
    case DC_METAL_GRAPH_AVERAGE_POOLING: made[0] = pooling(graph, of, x); break;
    case DC_METAL_GRAPH_NORMALIZATION: made[0] = normalization(graph, of, inputs, nil); break;
    case DC_METAL_GRAPH_LAYER_NORMALIZATION: made[0] = normalization(graph, of, inputs, moments); break;
    case DC_METAL_GRAPH_STATISTICS: return moments;
    case DC_METAL_GRAPH_SUM: made[0] = [graph reductionSumWithTensor:x axes:axes name:nil]; break;
    case DC_METAL_GRAPH_MEAN: made[0] = [graph meanOfTensor:x axes:axes name:nil]; break;
    case DC_METAL_GRAPH_MAXIMUM: made[0] = [graph reductionMaximumPropagateNaNWithTensor:x axes:axes name:nil]; break;
    case DC_METAL_GRAPH_MINIMUM: made[0] = [graph reductionMinimumPropagateNaNWithTensor:x axes:axes name:nil]; break;
  }
  return made[0] ? [NSArray arrayWithObjects:made count:1] : nil;
}

// Which of our tensors the executable has at each place.
static bool order_of(NSArray<MPSGraphTensor *> *theirs, NSArray<MPSGraphTensor *> *ours, uint8_t *order) {
  if ([theirs count] != [ours count]) return false;
  for (NSUInteger place = 0; place < [theirs count]; place++) {
    const NSUInteger found = [ours indexOfObjectIdenticalTo:[theirs objectAtIndex:place]];
    if (found == (NSUInteger)NSNotFound) return false;
    order[place] = (uint8_t)found;
  }
  return true;
}

// On the GPU alone, and all at once: other levels use the CPU and other devices, and compile later. Metal copies no results to where the CPU sees
// them: whoever has managed memory synchronises it.
static MPSGraphExecutable *compile(id<MTLDevice> device, MPSGraph *graph, NSArray<MPSGraphTensor *> *feeds, NSArray<MPSGraphTensor *> *targets) {
  MPSGraphCompilationDescriptor *how = owned([[MPSGraphCompilationDescriptor alloc] init]);
  [how setOptimizationLevel:MPSGraphOptimizationLevel0];
  [how setWaitForCompilationCompletion:YES];
  MPSGraphTensor *keys[5];
  MPSGraphShapedType *types[5];
  for (NSUInteger i = 0; i < [feeds count]; i++) {
    keys[i] = [feeds objectAtIndex:i];
    types[i] = owned([[MPSGraphShapedType alloc] initWithShape:[keys[i] shape] dataType:[keys[i] dataType]]);
    if (!types[i]) return nil;
  }
  MPSGraphExecutable *made = [graph compileWithDevice:[MPSGraphDevice deviceWithMTLDevice:device]
                                                feeds:[NSDictionary dictionaryWithObjects:types forKeys:keys count:[feeds count]]
                                        targetTensors:targets
                                     targetOperations:nil
                                compilationDescriptor:how];
  [made setOptions:MPSGraphOptionsNone];
  return made;
}

static DCMetalStatus make_graph(id<MTLDevice> device, const DCMetalGraphDescriptor &of, DCMetalGraph *graph, DCMetalError *error) {
  MPSGraph *made = owned([[MPSGraph alloc] init]);
  [made setOptions:MPSGraphOptionsNone];
  NSMutableArray<MPSGraphTensor *> *feeds = [NSMutableArray array], *inputs = [NSMutableArray array], *targets = [NSMutableArray array];
  for (uint32_t input = 0; input < of.input_count; input++) {
    MPSGraphTensor *feed = [made placeholderWithShape:shape_of(of.inputs[input]) dataType:type_of(of.inputs[input].number) name:nil];
    if (!feed) return fail(error, DC_METAL_UNSUPPORTED, "Metal made no graph");
    [feeds addObject:feed];
    [inputs addObject:computes_with_floats(of) ? cast_to(made, feed, DC_METAL_NUMBER_FLOAT32) : feed];
  }
  NSArray<MPSGraphTensor *> *given = operate(made, of, inputs);
  for (uint32_t result = 0; given && result < of.result_count; result++) {
    [targets addObject:cast_to(made, [given objectAtIndex:result], of.results[result].number)];
  }
  MPSGraphExecutable *executable = given ? compile(device, made, feeds, targets) : nil;
  if (!executable) return fail(error, DC_METAL_UNSUPPORTED, "Metal made no graph");
  *graph = new (std::nothrow) DCMetalGraph_s(executable, of);
  if (!*graph) return fail(error, DC_METAL_OUT_OF_MEMORY, "no memory for a graph's handle");
  (*graph)->registry_id = [device registryID];
  if (order_of([executable feedTensors], feeds, (*graph)->feeds) && order_of([executable targetTensors], targets, (*graph)->targets)) {
    return DC_METAL_OK;
  }
  delete *graph;
  *graph = nullptr;
  return fail(error, DC_METAL_FAILED, "Metal does not tell the order of a graph's tensors");
}

DCMetalStatus DCMetalGraph_Create(DCMetalDevice device, const DCMetalGraphDescriptor *descriptor, DCMetalGraph *graph, DCMetalError *error) {
  if (graph) *graph = nullptr;
  return entry(error, [=] {
    if (!device) return null_argument(error, "device");
    if (!descriptor) return null_argument(error, "descriptor");
    if (!graph) return null_argument(error, "graph");
    DCMetalStatus status = check_graph(*descriptor, error);
    if (status != DC_METAL_OK) return status;
    if (!supports_graphs(in(device))) {
      return fail(error, DC_METAL_UNSUPPORTED, "graphs need macOS 15 and a device with Metal Performance Shaders");
    }
    return make_graph(in(device), *descriptor, graph, error);
  });
}

// ------------------------------------------------------------------ encoding

static DCMetalStatus check_tensor(const DCMetalTensor &tensor, const DCMetalShape &shape, uint64_t registry_id, const char *name, DCMetalError *error) {
  DCMetalStatus status = check_buffer(tensor.buffer, registry_id, name, error);
  if (status != DC_METAL_OK) return status;
  if (tensor.offset % bytes_of(shape.number)) return fail(error, DC_METAL_INVALID_ARGUMENT, "%s: the offset is a multiple of an element", name);
  if (!within(tensor.offset, elements_of(shape) * bytes_of(shape.number), [in(tensor.buffer) length])) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "%s: it ends behind its buffer", name);
  }
  return DC_METAL_OK;
}

static bool overlap(const DCMetalTensor &one, const DCMetalShape &of_one, const DCMetalTensor &other, const DCMetalShape &of_other) {
  const Place a = place_of(one.buffer, one.offset), b = place_of(other.buffer, other.offset);
  return a.from == b.from && a.bytes < b.bytes + elements_of(of_other) * bytes_of(of_other.number) &&
         b.bytes < a.bytes + elements_of(of_one) * bytes_of(of_one.number);
}

static DCMetalStatus check_tensors(DCMetalGraph graph, const DCMetalTensor *inputs, const DCMetalTensor *results, DCMetalError *error) {
  const DCMetalGraphDescriptor &of = graph->descriptor;
  const Inputs names = inputs_of(of);
  DCMetalStatus status = DC_METAL_OK;
  for (uint32_t i = 0; i < of.input_count && status == DC_METAL_OK; i++) {
    status = check_tensor(inputs[i], of.inputs[i], graph->registry_id, names.names[i], error);
  }
  for (uint32_t i = 0; i < of.result_count && status == DC_METAL_OK; i++) {
    status = check_tensor(results[i], of.results[i], graph->registry_id, result_name(of, i), error);
  }
  if (status != DC_METAL_OK) return status;
  for (uint32_t result = 0; result < of.result_count; result++) {
    bool apart = result == 0 || !overlap(results[0], of.results[0], results[1], of.results[1]);
    for (uint32_t i = 0; i < of.input_count; i++) apart = apart && !overlap(results[result], of.results[result], inputs[i], of.inputs[i]);
    if (!apart) return fail(error, DC_METAL_INVALID_ARGUMENT, "%s overlaps another tensor", result_name(of, result));
  }
  return DC_METAL_OK;
}

// In the order that the executable wants; nil where there is no memory for them.
static NSArray<MPSGraphTensorData *> *data_of(const DCMetalShape *shapes, const DCMetalTensor *tensors, const uint8_t *order, uint32_t count) {
  NSMutableArray<MPSGraphTensorData *> *all = [NSMutableArray array];
#if DC_HAS_GRAPHS
  if (@available(macOS 15.0, *)) {
    for (uint32_t place = 0; place < count; place++) {
      const DCMetalShape &shape = shapes[order[place]];
      const DCMetalTensor &tensor = tensors[order[place]];
      MPSNDArrayDescriptor *descriptor = [MPSNDArrayDescriptor descriptorWithDataType:type_of(shape.number) shape:shape_of(shape)];
      [descriptor setPreferPackedRows:YES];
      MPSNDArray *array = descriptor ? owned([[MPSNDArray alloc] initWithBuffer:in(tensor.buffer) offset:tensor.offset descriptor:descriptor]) : nil;
      MPSGraphTensorData *data = array ? owned([[MPSGraphTensorData alloc] initWithMPSNDArray:array]) : nil;
      if (!data) return nil;
      [all addObject:data];
    }
  }
#endif
  return [all count] == count ? all : nil;
}

static DCMetalStatus encode(DCMetalGraph graph, id<MTLCommandBuffer> into, NSArray<MPSGraphTensorData *> *inputs, NSArray<MPSGraphTensorData *> *results,
                            DCMetalError *error) {
  DCMetalWhole *whole = owned([[DCMetalWhole alloc] initWithCommandBuffer:into]);
  if (!whole) return fail(error, DC_METAL_OUT_OF_MEMORY, "Metal made no command buffer for a graph");
  [graph->object encodeToCommandBuffer:whole inputsArray:inputs resultsArray:results executionDescriptor:nil];
  // What went on elsewhere would take its failure with it.
  if ([whole rootCommandBuffer] == into && [into status] < MTLCommandBufferStatusCommitted) return DC_METAL_OK;
  return fail(error, DC_METAL_FAILED, "Metal committed a graph by itself");
}

DCMetalStatus DCMetalGraph_Encode(DCMetalGraph graph, DCMetalCommandBuffer command_buffer, const DCMetalTensor *inputs, const DCMetalTensor *results,
                                  DCMetalError *error) {
  DCMetalStatus encoded = entry(error, [=] {
    if (!graph) return null_argument(error, "graph");
    if (!inputs) return null_argument(error, "inputs");
    if (!results) return null_argument(error, "results");
    DCMetalStatus status = check_moment(command_buffer, graph->registry_id, error);
    if (status != DC_METAL_OK) return status;
    if (![command_buffer->object retainedReferences]) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "the command buffer does not retain its references");
    }
    status = check_tensors(graph, inputs, results, error);
    if (status != DC_METAL_OK) return status;
    const DCMetalGraphDescriptor &of = graph->descriptor;
    command_buffer->broken = true;
    NSArray<MPSGraphTensorData *> *from = data_of(of.inputs, inputs, graph->feeds, of.input_count);
    NSArray<MPSGraphTensorData *> *into = data_of(of.results, results, graph->targets, of.result_count);
    if (!from || !into) return fail(error, DC_METAL_OUT_OF_MEMORY, "Metal made no tensor");
    status = encode(graph, command_buffer->object, from, into, error);
    command_buffer->broken = status != DC_METAL_OK;
    return status;
  });
  // Nothing that it was given is used any longer.
  if (command_buffer && command_buffer->broken) {
    drop([=] {
      if ([command_buffer->object status] >= MTLCommandBufferStatusCommitted) [command_buffer->object waitUntilCompleted];
    });
  }
  return encoded;
}

void DCMetalGraph_Release(DCMetalGraph graph) {
  drop([=] { delete graph; });
}
