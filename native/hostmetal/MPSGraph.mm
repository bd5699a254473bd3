// Graphs of tensors: each operation is checked when it is added, as Metal's validation does.
#import "performance.h"

// ------------------------------------------------------------------ types and tensors

@implementation MPSGraphObject
@end

@implementation MPSGraphType
- (id)copyWithZone:(NSZone *)zone {
  return [[[self class] allocWithZone:zone] init];
}
@end

@implementation MPSGraphShapedType
@synthesize shape = _shape, dataType = _dataType;

- (instancetype)initWithShape:(MPSShape *)shape dataType:(MPSDataType)dataType {
  if (!(self = [super init])) return nil;
  _shape = [shape copy];
  _dataType = dataType;
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  return [[[self class] allocWithZone:zone] initWithShape:[self shape] dataType:[self dataType]];
}

- (void)dealloc {
  [_shape release];
  [super dealloc];
}
@end

@implementation MPSGraphDevice
@synthesize metalDevice = _metalDevice;

// Devices live as long as the process.
+ (instancetype)deviceWithMTLDevice:(id<MTLDevice>)metalDevice {
  HM_REQUIRE(MPSSupportsMTLDevice(metalDevice), "the device must be one of hostmetal's");
  MPSGraphDevice *made = [[[self alloc] init] autorelease];
  made->_metalDevice = metalDevice;
  return made;
}
@end

@implementation MPSGraphTensor
@synthesize shape = _shape, dataType = _dataType;

- (instancetype)initWithGraph:(MPSGraph *)graph number:(NSUInteger)number shape:(HMGraphShape)shape {
  if (!(self = [super init])) return nil;
  NSMutableArray *extents = [[NSMutableArray alloc] initWithCapacity:shape.rank];
  for (uint32_t i = 0; i < shape.rank; i++) [extents addObject:[NSNumber numberWithUnsignedInteger:shape.extents[i]]];
  _shape = extents;
  _graph = [graph retain];
  _number = number;
  _dataType = (MPSDataType)shape.data_type;
  return self;
}

// It is the same tensor of the same graph.
- (id)copyWithZone:(NSZone *)zone {
  return [self retain];
}

- (MPSGraph *)engineGraph {
  return _graph;
}

- (NSUInteger)engineNumber {
  return _number;
}

- (HMGraphShape)engineShape {
  return hostmetal_graph_shape(self, _cmd, _shape, _dataType);
}

- (void)dealloc {
  [_graph release];
  [_shape release];
  [super dealloc];
}
@end

// ------------------------------------------------------------------ what operations say

namespace {
// Explicit paddings and the layouts N x H x W x C and H x W x I x O are what hostmetal has.
const char *unsupported(MPSGraphPaddingStyle style, MPSGraphTensorNamedDataLayout layout) {
  if (style != MPSGraphPaddingStyleExplicit) return "a padding style beside MPSGraphPaddingStyleExplicit is not supported by hostmetal";
  if (layout != MPSGraphTensorNamedDataLayoutNHWC) return "a data layout beside NHWC is not supported by hostmetal";
  return nullptr;
}

void put_windows(HMGraphNode *node, const NSUInteger strides[2], const NSUInteger dilations[2], const NSUInteger padding[4]) {
  for (int i = 0; i < 2; i++) node->stride[i] = strides[i], node->dilation[i] = dilations[i];
  for (int i = 0; i < 4; i++) node->padding[i] = padding[i];
}
}  // namespace

@implementation MPSGraphConvolution2DOpDescriptor
@synthesize groups = _groups;

+ (instancetype)descriptorWithStrideInX:(NSUInteger)strideInX
                              strideInY:(NSUInteger)strideInY
                        dilationRateInX:(NSUInteger)dilationRateInX
                        dilationRateInY:(NSUInteger)dilationRateInY
                                 groups:(NSUInteger)groups
                            paddingLeft:(NSUInteger)paddingLeft
                           paddingRight:(NSUInteger)paddingRight
                             paddingTop:(NSUInteger)paddingTop
                          paddingBottom:(NSUInteger)paddingBottom
                           paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                             dataLayout:(MPSGraphTensorNamedDataLayout)dataLayout
                          weightsLayout:(MPSGraphTensorNamedDataLayout)weightsLayout {
  HM_CHECK(unsupported(paddingStyle, dataLayout));
  HM_REQUIRE(weightsLayout == MPSGraphTensorNamedDataLayoutHWIO, "a weights layout beside HWIO is not supported by hostmetal");
  MPSGraphConvolution2DOpDescriptor *made = [[[self alloc] init] autorelease];
  made->_groups = groups;
  made->_strides[0] = strideInY, made->_strides[1] = strideInX;
  made->_dilations[0] = dilationRateInY, made->_dilations[1] = dilationRateInX;
  made->_padding[0] = paddingTop, made->_padding[1] = paddingBottom, made->_padding[2] = paddingLeft, made->_padding[3] = paddingRight;
  return made;
}

- (id)copyWithZone:(NSZone *)zone {
  MPSGraphConvolution2DOpDescriptor *copy = [[[self class] allocWithZone:zone] init];
  copy->_groups = _groups;
  for (int i = 0; i < 2; i++) copy->_strides[i] = _strides[i], copy->_dilations[i] = _dilations[i];
  for (int i = 0; i < 4; i++) copy->_padding[i] = _padding[i];
  return copy;
}

- (void)describe:(HMGraphNode *)node {
  node->groups = _groups;
  put_windows(node, _strides, _dilations, _padding);
}
@end

@implementation MPSGraphPooling2DOpDescriptor
@synthesize includeZeroPadToAverage = _includeZeroPadToAverage;

+ (instancetype)descriptorWithKernelWidth:(NSUInteger)kernelWidth
                             kernelHeight:(NSUInteger)kernelHeight
                                strideInX:(NSUInteger)strideInX
                                strideInY:(NSUInteger)strideInY
                          dilationRateInX:(NSUInteger)dilationRateInX
                          dilationRateInY:(NSUInteger)dilationRateInY
                              paddingLeft:(NSUInteger)paddingLeft
                             paddingRight:(NSUInteger)paddingRight
                               paddingTop:(NSUInteger)paddingTop
                            paddingBottom:(NSUInteger)paddingBottom
                             paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                               dataLayout:(MPSGraphTensorNamedDataLayout)dataLayout {
  HM_CHECK(unsupported(paddingStyle, dataLayout));
  MPSGraphPooling2DOpDescriptor *made = [[[self alloc] init] autorelease];
  made->_window[0] = kernelHeight, made->_window[1] = kernelWidth;
  made->_strides[0] = strideInY, made->_strides[1] = strideInX;
  made->_dilations[0] = dilationRateInY, made->_dilations[1] = dilationRateInX;
  made->_padding[0] = paddingTop, made->_padding[1] = paddingBottom, made->_padding[2] = paddingLeft, made->_padding[3] = paddingRight;
  return made;
}

- (id)copyWithZone:(NSZone *)zone {
  MPSGraphPooling2DOpDescriptor *copy = [[[self class] allocWithZone:zone] init];
  copy->_includeZeroPadToAverage = _includeZeroPadToAverage;
  for (int i = 0; i < 2; i++) copy->_window[i] = _window[i], copy->_strides[i] = _strides[i], copy->_dilations[i] = _dilations[i];
  for (int i = 0; i < 4; i++) copy->_padding[i] = _padding[i];
  return copy;
}

- (void)describe:(HMGraphNode *)node {
  for (int i = 0; i < 2; i++) node->window[i] = _window[i];
  node->counts_padding = _includeZeroPadToAverage;
  put_windows(node, _strides, _dilations, _padding);
}
@end

// ------------------------------------------------------------------ graphs

@implementation MPSGraph
@synthesize options = _options;

- (instancetype)init {
  if (!(self = [super init])) return nil;
  _options = MPSGraphOptionsDefault;
  _steps = [[NSMutableData alloc] init];
  return self;
}

- (MPSGraphTensor *)tensorOf:(HMGraphShape)shape {
  return [[[MPSGraphTensor alloc] initWithGraph:self number:_tensors++ shape:shape] autorelease];
}

// The node is complete but for its inputs' shapes and its result's.
- (MPSGraphTensor *)add:(HMGraphNode)node of:(NSArray *)inputs selector:(SEL)selector {
  HMGraphStep step = {node, {}, 0};
  for (NSUInteger i = 0; i < [inputs count]; i++) {
    MPSGraphTensor *input = [inputs objectAtIndex:i];
    if ((id)input == [NSNull null]) continue;
    if ([input engineGraph] != self) hostmetal_raise(self, selector, "the tensor is another graph's");
    step.inputs[i] = [input engineNumber];
    step.node.inputs[i] = [input engineShape];
  }
  const char *const misuse = hm_graph_check(&step.node);
  if (misuse) hostmetal_raise(self, selector, misuse);
  MPSGraphTensor *result = [self tensorOf:step.node.result];
  step.result = [result engineNumber];
  [(NSMutableData *)_steps appendBytes:&step length:sizeof(step)];
  return result;
}

- (MPSGraphTensor *)placeholderWithShape:(MPSShape *)shape dataType:(MPSDataType)dataType name:(NSString *)name {
  return [self tensorOf:hostmetal_graph_shape(self, _cmd, shape, dataType)];
}

namespace {
HMGraphNode node_of(HMGraphOperation operation) {
  HMGraphNode node = {};
  node.operation = operation;
  return node;
}

// A list of what operations take; nil ends it, but for what may be nil.
NSArray *list(id one, id two = nil) {
  return two ? [NSArray arrayWithObjects:one, two, nil] : one ? [NSArray arrayWithObject:one] : [NSArray array];
}

id or_null(id object) {
  return object ? object : [NSNull null];
}
}  // namespace

- (MPSGraphTensor *)castTensor:(MPSGraphTensor *)tensor toType:(MPSDataType)type name:(NSString *)name {
  HMGraphNode node = node_of(HM_GRAPH_CAST);
  node.result.data_type = type;
  return [self add:node of:list(tensor) selector:_cmd];
}

- (MPSGraphTensor *)additionWithPrimaryTensor:(MPSGraphTensor *)primaryTensor secondaryTensor:(MPSGraphTensor *)secondaryTensor name:(NSString *)name {
  return [self add:node_of(HM_GRAPH_ADDITION) of:list(primaryTensor, secondaryTensor) selector:_cmd];
}

- (MPSGraphTensor *)convolution2DWithSourceTensor:(MPSGraphTensor *)source
                                    weightsTensor:(MPSGraphTensor *)weights
                                       descriptor:(MPSGraphConvolution2DOpDescriptor *)descriptor
                                             name:(NSString *)name {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  HMGraphNode node = node_of(HM_GRAPH_CONVOLUTION);
  [descriptor describe:&node];
  return [self add:node of:list(source, weights) selector:_cmd];
}

- (MPSGraphTensor *)maxPooling2DWithSourceTensor:(MPSGraphTensor *)source descriptor:(MPSGraphPooling2DOpDescriptor *)descriptor name:(NSString *)name {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  HMGraphNode node = node_of(HM_GRAPH_MAX_POOLING);
  [descriptor describe:&node];
  return [self add:node of:list(source) selector:_cmd];
}

- (MPSGraphTensor *)avgPooling2DWithSourceTensor:(MPSGraphTensor *)source descriptor:(MPSGraphPooling2DOpDescriptor *)descriptor name:(NSString *)name {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  HMGraphNode node = node_of(HM_GRAPH_AVERAGE_POOLING);
  [descriptor describe:&node];
  return [self add:node of:list(source) selector:_cmd];
}

- (MPSGraphTensor *)reduce:(HMGraphOperation)operation of:(NSArray *)inputs axes:(NSArray<NSNumber *> *)axes selector:(SEL)selector {
  if (!axes) hostmetal_raise(self, selector, "axes of nil are not supported by hostmetal");
  HMGraphNode node = node_of(operation);
  for (NSNumber *axis in axes) {
    if ([axis integerValue] < 0 || [axis integerValue] > 3) hostmetal_raise(self, selector, "the axes must be some of the tensor's");
    node.axes |= 1u << [axis integerValue];
  }
  return [self add:node of:inputs selector:selector];
}

- (MPSGraphTensor *)meanOfTensor:(MPSGraphTensor *)tensor axes:(NSArray<NSNumber *> *)axes name:(NSString *)name {
  return [self reduce:HM_GRAPH_MEAN of:list(tensor) axes:axes selector:_cmd];
}

- (MPSGraphTensor *)varianceOfTensor:(MPSGraphTensor *)tensor
                          meanTensor:(MPSGraphTensor *)meanTensor
                                axes:(NSArray<NSNumber *> *)axes
                                name:(NSString *)name {
  return [self reduce:HM_GRAPH_VARIANCE of:list(tensor, meanTensor) axes:axes selector:_cmd];
}

- (MPSGraphTensor *)reductionSumWithTensor:(MPSGraphTensor *)tensor axes:(NSArray<NSNumber *> *)axes name:(NSString *)name {
  return [self reduce:HM_GRAPH_SUM of:list(tensor) axes:axes selector:_cmd];
}

- (MPSGraphTensor *)reductionMaximumPropagateNaNWithTensor:(MPSGraphTensor *)tensor axes:(NSArray<NSNumber *> *)axes name:(NSString *)name {
  return [self reduce:HM_GRAPH_MAXIMUM of:list(tensor) axes:axes selector:_cmd];
}

- (MPSGraphTensor *)reductionMinimumPropagateNaNWithTensor:(MPSGraphTensor *)tensor axes:(NSArray<NSNumber *> *)axes name:(NSString *)name {
  return [self reduce:HM_GRAPH_MINIMUM of:list(tensor) axes:axes selector:_cmd];
}

- (MPSGraphTensor *)normalizationWithTensor:(MPSGraphTensor *)tensor
                                 meanTensor:(MPSGraphTensor *)mean
                             varianceTensor:(MPSGraphTensor *)variance
                                gammaTensor:(MPSGraphTensor *)gamma
                                 betaTensor:(MPSGraphTensor *)beta
                                    epsilon:(float)epsilon
                                       name:(NSString *)name {
  HM_REQUIRE(tensor != nil && mean != nil && variance != nil, "tensor, mean and variance must not be nil");
  HMGraphNode node = node_of(HM_GRAPH_NORMALIZATION);
  node.epsilon = epsilon;
  NSArray *inputs = [NSArray arrayWithObjects:tensor, mean, variance, or_null(gamma), or_null(beta), nil];
  return [self add:node of:inputs selector:_cmd];
}

// ------------------------------------------------------------------ compilation

// Only what the targets need is run; whether all of that is fed is looked at from the last step to the first.
- (MPSGraphExecutable *)compileWithDevice:(MPSGraphDevice *)device
                                    feeds:(MPSGraphTensorShapedTypeDictionary *)feeds
                            targetTensors:(NSArray<MPSGraphTensor *> *)targetTensors
                         targetOperations:(NSArray<MPSGraphOperation *> *)targetOperations
                    compilationDescriptor:(MPSGraphCompilationDescriptor *)compilationDescriptor {
  HM_REQUIRE(device != nil, "a device of nil is not supported by hostmetal");
  HM_REQUIRE(targetOperations == nil, "target operations are not supported by hostmetal");
  HM_REQUIRE([targetTensors count] > 0, "there must be a target tensor");
  NSMutableIndexSet *needed = [NSMutableIndexSet indexSet];
  for (MPSGraphTensor *target in targetTensors) {
    HM_REQUIRE([target engineGraph] == self, "the tensor is another graph's");
    HM_REQUIRE(![needed containsIndex:[target engineNumber]], "the target tensors must differ");
    HM_REQUIRE(![feeds objectForKey:target], "a target that is fed is not supported by hostmetal");
    [needed addIndex:[target engineNumber]];
  }
  NSMutableArray *feedTensors = [NSMutableArray array];
  for (MPSGraphTensor *feed in feeds) {
    HM_REQUIRE([feed engineGraph] == self, "the tensor is another graph's");
    MPSGraphShapedType *type = [feeds objectForKey:feed];
    HM_REQUIRE([[type shape] isEqual:[feed shape]] && [type dataType] == [feed dataType],
               "a feed of another shape or type than the placeholder's is not supported by hostmetal");
    [feedTensors addObject:feed];
  }
  NSMutableIndexSet *fed = [NSMutableIndexSet indexSet];
  for (MPSGraphTensor *feed in feedTensors) [fed addIndex:[feed engineNumber]];
  NSMutableData *steps = [NSMutableData data];
  const HMGraphStep *const all = (const HMGraphStep *)[_steps bytes];
  const NSUInteger count = [_steps length] / sizeof(HMGraphStep);
  NSMutableIndexSet *chosen = [NSMutableIndexSet indexSet];
  for (NSUInteger i = count; i-- > 0;) {
    if (![needed containsIndex:all[i].result] || [fed containsIndex:all[i].result]) continue;
    [needed removeIndex:all[i].result];
    [chosen addIndex:i];
    for (int input = 0; input < 5; input++) {
      if (all[i].node.inputs[input].rank > 0) [needed addIndex:all[i].inputs[input]];
    }
  }
  [needed removeIndexes:fed];
  HM_REQUIRE([needed count] == 0, "a placeholder that a target needs is not fed");
  for (NSUInteger i = 0; i < count; i++) {
    if ([chosen containsIndex:i]) [steps appendBytes:&all[i] length:sizeof(HMGraphStep)];
  }
  return [[[MPSGraphExecutable alloc] initWithDevice:[device metalDevice]
                                               steps:steps
                                             tensors:_tensors
                                               feeds:feedTensors
                                             targets:[[targetTensors copy] autorelease]] autorelease];
}

- (void)dealloc {
  [_steps release];
  [super dealloc];
}
@end
