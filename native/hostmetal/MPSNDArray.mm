// Tensors in buffers.
#import "performance.h"

HMGraphShape hostmetal_graph_shape(id object, SEL selector, MPSShape *shape, MPSDataType dataType) {
  HMGraphShape made = {dataType, (uint32_t)[shape count], {}};
  for (NSUInteger i = 0; i < [shape count] && i < 4; i++) made.extents[i] = [[shape objectAtIndex:i] unsignedIntegerValue];
  const char *const misuse = hm_graph_shape_check(&made);
  if (misuse) hostmetal_raise(object, selector, misuse);
  return made;
}

@implementation MPSNDArrayDescriptor
@synthesize dataType = _dataType, preferPackedRows = _preferPackedRows;

+ (instancetype)descriptorWithDataType:(MPSDataType)dataType shape:(NSArray<NSNumber *> *)shape {
  MPSNDArrayDescriptor *made = [[[self alloc] init] autorelease];
  hostmetal_graph_shape(made, _cmd, shape, dataType);
  made->_dataType = dataType;
  made->_shape = [shape copy];
  return made;
}

// Of dimensions that it has not it is 1.
- (NSUInteger)lengthOfDimension:(NSUInteger)dimensionIndex {
  const NSUInteger count = [_shape count];
  return dimensionIndex < count ? [[_shape objectAtIndex:count - 1 - dimensionIndex] unsignedIntegerValue] : 1;
}

- (NSArray<NSNumber *> *)getShape {
  return _shape;
}

- (void)dealloc {
  [_shape release];
  [super dealloc];
}
@end

@implementation MPSNDArray
@synthesize dataType = _dataType;

// Rows that are not packed lie as Metal chooses; hostmetal has none.
- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset descriptor:(MPSNDArrayDescriptor *)descriptor {
  if (!(self = [super init])) return nil;
  @try {
    HM_REQUIRE(object_getClass(buffer) == [HostMTLBuffer class], "the buffer must be one of a device");
    HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
    HM_REQUIRE([descriptor preferPackedRows], "rows that are not packed are not supported by hostmetal");
    _buffer = [buffer retain];
    _offset = offset;
    _dataType = [descriptor dataType];
    _shape = [[descriptor getShape] copy];
    const HMGraphShape shape = hostmetal_graph_shape(self, _cmd, _shape, _dataType);
    const HMGraphMemory memory = [self engineMemory];
    HM_CHECK(hm_graph_memory_check(&memory, &shape));
  } @catch (NSException *exception) {
    [self release];
    @throw;
  }
  return self;
}

- (NSUInteger)numberOfDimensions {
  return [_shape count];
}

- (id<MTLDevice>)device {
  return [_buffer device];
}

- (NSUInteger)lengthOfDimension:(NSUInteger)dimensionIndex {
  const NSUInteger count = [_shape count];
  return dimensionIndex < count ? [[_shape objectAtIndex:count - 1 - dimensionIndex] unsignedIntegerValue] : 1;
}

- (id<MTLBuffer>)userBuffer {
  return _buffer;
}

- (HMGraphMemory)engineMemory {
  return {((HostMTLBuffer *)_buffer)->_engine, _offset};
}

- (MPSShape *)engineShape {
  return _shape;
}

- (void)dealloc {
  [_buffer release];
  [_shape release];
  [super dealloc];
}
@end
