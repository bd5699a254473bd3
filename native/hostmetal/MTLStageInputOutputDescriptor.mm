// MTLStageInputOutputDescriptor and what it is made of, and MTLAttribute.
#import "faces.h"

namespace {
const NSUInteger places = 31;  // attributes, and buffers of the argument table
}

@implementation MTLBufferLayoutDescriptor
@synthesize stride = _stride, stepFunction = _stepFunction, stepRate = _stepRate;

- (instancetype)init {
  if ((self = [super init])) {
    _stepFunction = MTLStepFunctionPerVertex;
    _stepRate = 1;
  }
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  MTLBufferLayoutDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setStride:_stride];
  [copy setStepFunction:_stepFunction];
  [copy setStepRate:_stepRate];
  return copy;
}
@end

@implementation MTLBufferLayoutDescriptorArray
HM_DESCRIPTORS(MTLBufferLayoutDescriptor)
@end

@implementation MTLAttributeDescriptor
@synthesize format = _format, offset = _offset, bufferIndex = _bufferIndex;

- (id)copyWithZone:(NSZone *)zone {
  MTLAttributeDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setFormat:_format];
  [copy setOffset:_offset];
  [copy setBufferIndex:_bufferIndex];
  return copy;
}
@end

@implementation MTLAttributeDescriptorArray
HM_DESCRIPTORS(MTLAttributeDescriptor)
@end

@implementation MTLStageInputOutputDescriptor
@synthesize layouts = _layouts, attributes = _attributes, indexType = _indexType, indexBufferIndex = _indexBufferIndex;

+ (MTLStageInputOutputDescriptor *)stageInputOutputDescriptor {
  return [[[self alloc] init] autorelease];
}

- (instancetype)init {
  if ((self = [super init])) {
    _layouts = [[MTLBufferLayoutDescriptorArray alloc] init];
    _attributes = [[MTLAttributeDescriptorArray alloc] init];
  }
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  MTLStageInputOutputDescriptor *copy = [[[self class] allocWithZone:zone] init];
  for (NSUInteger i = 0; i < places; i++) {
    [copy->_layouts setObject:[_layouts objectAtIndexedSubscript:i] atIndexedSubscript:i];
    [copy->_attributes setObject:[_attributes objectAtIndexedSubscript:i] atIndexedSubscript:i];
  }
  [copy setIndexType:_indexType];
  [copy setIndexBufferIndex:_indexBufferIndex];
  return copy;
}

- (void)reset {
  for (NSUInteger i = 0; i < places; i++) {
    [_layouts setObject:nil atIndexedSubscript:i];
    [_attributes setObject:nil atIndexedSubscript:i];
  }
  _indexType = MTLIndexTypeUInt16;
  _indexBufferIndex = 0;
}

- (void)dealloc {
  [_layouts release];
  [_attributes release];
  [super dealloc];
}
@end

namespace {
// Numbers that the engine refuses stay numbers that it refuses.
uint32_t narrow(NSUInteger number) {
  return number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}
}  // namespace

@implementation MTLStageInputOutputDescriptor (Engine)
- (HMStageInput)engineInput {
  HMStageInput input = {};
  for (NSUInteger i = 0; i < places; i++) {
    MTLAttributeDescriptor *attribute = [_attributes objectAtIndexedSubscript:i];
    input.attributes[i] = {narrow([attribute format]), narrow([attribute bufferIndex]), [attribute offset]};
    MTLBufferLayoutDescriptor *layout = [_layouts objectAtIndexedSubscript:i];
    input.layouts[i] = {[layout stride], [layout stepRate], narrow([layout stepFunction])};
  }
  input.index_type = narrow(_indexType);
  input.index_buffer = narrow(_indexBufferIndex);
  return input;
}
@end

@implementation MTLAttribute
@synthesize name = _name, attributeIndex = _attributeIndex, attributeType = _attributeType, active = _active;

- (BOOL)isPatchData {
  return NO;
}
- (BOOL)isPatchControlPointData {
  return NO;
}
- (void)dealloc {
  [_name release];
  [super dealloc];
}
@end

@implementation MTLAttribute (Engine)
- (instancetype)initWithInfo:(const HMAttribute *)info {
  if ((self = [super init])) {
    _name = [[NSString alloc] initWithUTF8String:info->name];
    _attributeIndex = info->index;
    _attributeType = (MTLDataType)info->data_type;
    _active = info->active;
  }
  return self;
}
@end
