// MTLArgumentEncoder and MTLArgumentDescriptor.
#import "faces.h"

@implementation MTLArgumentDescriptor
@synthesize dataType = _dataType, index = _index, arrayLength = _arrayLength, access = _access, textureType = _textureType,
            constantBlockAlignment = _constantBlockAlignment;

+ (MTLArgumentDescriptor *)argumentDescriptor {
  return [[[self alloc] init] autorelease];
}

- (id)copyWithZone:(NSZone *)zone {
  MTLArgumentDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setDataType:_dataType];
  [copy setIndex:_index];
  [copy setArrayLength:_arrayLength];
  [copy setAccess:_access];
  [copy setTextureType:_textureType];
  [copy setConstantBlockAlignment:_constantBlockAlignment];
  return copy;
}
@end

@implementation HostMTLArgumentEncoder
@synthesize label = _label;

- (instancetype)initWithDevice:(HostMTLDevice *)device engine:(HMArguments)engine {
  if ((self = [super init])) {
    _device = device;
    _engine = engine;
  }
  return self;
}

- (id<MTLDevice>)device {
  return _device;
}
- (NSUInteger)encodedLength {
  return hm_arguments_length(_engine);
}
- (NSUInteger)alignment {
  return hm_arguments_alignment(_engine);
}

- (void)setArgumentBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset {
  if (buffer) {
    HM_REQUIRE(object_getClass(buffer) == [HostMTLBuffer class] && [buffer device] == _device,
               "the buffer is not one of this device");
    HM_REQUIRE([buffer contents] != nullptr, "the argument buffer must not be private");
    HM_REQUIRE(offset % [self alignment] == 0, "offset must be a multiple of alignment");
    const NSUInteger length = [buffer length], own = [self encodedLength];
    HM_REQUIRE(offset <= length && own <= length - offset, "the buffer must hold encodedLength bytes from offset on");
  }
  [buffer retain];
  [_buffer release];
  _buffer = (HostMTLBuffer *)buffer;
  _offset = offset;
}

- (void)setArgumentBuffer:(id<MTLBuffer>)buffer startOffset:(NSUInteger)startOffset arrayElement:(NSUInteger)arrayElement {
  NSUInteger offset = 0;
  HM_REQUIRE(!__builtin_mul_overflow([self encodedLength], arrayElement, &offset) &&
                 !__builtin_add_overflow(offset, startOffset, &offset),
             "arrayElement is too large");
  [self setArgumentBuffer:buffer offset:offset];
}

// Of the argument with an index, in the argument buffer.
- (void *)placeAtIndex:(NSUInteger)index type:(uint32_t)type selector:(SEL)selector {
  if (!_buffer) hostmetal_raise(self, selector, "no argument buffer is set");
  uint64_t offset = 0;
  const char *misuse = index > UINT32_MAX ? "there is no argument with this index."
                                          : hm_arguments_find(_engine, (uint32_t)index, type, &offset);
  if (misuse) hostmetal_raise(self, selector, misuse);
  return (char *)[_buffer contents] + _offset + offset;
}

- (void)setHandle:(uint64_t)handle atIndex:(NSUInteger)index type:(uint32_t)type selector:(SEL)selector {
  *(uint64_t *)[self placeAtIndex:index type:type selector:selector] = handle;
}

- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
  HM_REQUIRE(!buffer || (object_getClass(buffer) == [HostMTLBuffer class] && [buffer device] == _device),
             "the buffer is not one of this device");
  HM_REQUIRE(!buffer || offset <= [buffer length], "offset must be <= [buffer length]");
  [self setHandle:buffer ? [buffer gpuAddress] + offset : 0 atIndex:index type:MTLDataTypePointer selector:_cmd];
}

- (void)setBuffers:(const id<MTLBuffer> [])buffers offsets:(const NSUInteger[])offsets withRange:(NSRange)range {
  HM_REQUIRE(buffers != nullptr && offsets != nullptr, "the arrays must not be NULL");
  for (NSUInteger i = 0; i < range.length; i++) [self setBuffer:buffers[i] offset:offsets[i] atIndex:range.location + i];
}

- (void)setTexture:(id<MTLTexture>)texture atIndex:(NSUInteger)index {
  HM_REQUIRE(!texture || (object_getClass(texture) == [HostMTLTexture class] && [texture device] == _device),
             "the texture is not one of this device");
  [self setHandle:texture ? [texture gpuResourceID]._impl : 0 atIndex:index type:MTLDataTypeTexture selector:_cmd];
}

- (void)setTextures:(const id<MTLTexture> [])textures withRange:(NSRange)range {
  HM_REQUIRE(textures != nullptr, "the array must not be NULL");
  for (NSUInteger i = 0; i < range.length; i++) [self setTexture:textures[i] atIndex:range.location + i];
}

- (void)setSamplerState:(id<MTLSamplerState>)sampler atIndex:(NSUInteger)index {
  HM_REQUIRE(!sampler || (object_getClass(sampler) == [HostMTLSamplerState class] && [sampler device] == _device),
             "the sampler is not one of this device");
  [self setHandle:sampler ? [sampler gpuResourceID]._impl : 0 atIndex:index type:MTLDataTypeSampler selector:_cmd];
}

- (void)setSamplerStates:(const id<MTLSamplerState> [])samplers withRange:(NSRange)range {
  HM_REQUIRE(samplers != nullptr, "the array must not be NULL");
  for (NSUInteger i = 0; i < range.length; i++) [self setSamplerState:samplers[i] atIndex:range.location + i];
}

- (void)setComputePipelineState:(id<MTLComputePipelineState>)pipeline atIndex:(NSUInteger)index {
  HM_REQUIRE(!pipeline || (object_getClass(pipeline) == [HostMTLComputePipelineState class] && [pipeline device] == _device),
             "the pipeline state is not one of this device");
  [self setHandle:pipeline ? [pipeline gpuResourceID]._impl : 0 atIndex:index type:MTLDataTypeComputePipeline selector:_cmd];
}

- (void)setComputePipelineStates:(const id<MTLComputePipelineState> [])pipelines withRange:(NSRange)range {
  HM_REQUIRE(pipelines != nullptr, "the array must not be NULL");
  for (NSUInteger i = 0; i < range.length; i++) [self setComputePipelineState:pipelines[i] atIndex:range.location + i];
}

- (void)setIndirectCommandBuffer:(id<MTLIndirectCommandBuffer>)buffer atIndex:(NSUInteger)index {
  HM_REQUIRE(!buffer || (object_getClass(buffer) == [HostMTLIndirectCommandBuffer class] && [buffer device] == _device),
             "the indirect command buffer is not one of this device");
  [self setHandle:buffer ? [buffer gpuResourceID]._impl : 0
          atIndex:index
             type:MTLDataTypeIndirectCommandBuffer
         selector:_cmd];
}

- (void)setIndirectCommandBuffers:(const id<MTLIndirectCommandBuffer> [])buffers withRange:(NSRange)range {
  HM_REQUIRE(buffers != nullptr, "the array must not be NULL");
  for (NSUInteger i = 0; i < range.length; i++) [self setIndirectCommandBuffer:buffers[i] atIndex:range.location + i];
}

- (void)setVisibleFunctionTable:(id<MTLVisibleFunctionTable>)table atIndex:(NSUInteger)index {
  HM_REQUIRE(!table || (object_getClass(table) == [HostMTLVisibleFunctionTable class] && [table device] == _device),
             "the visible function table is not one of this device");
  [self setHandle:table ? [table gpuResourceID]._impl : 0 atIndex:index type:MTLDataTypeVisibleFunctionTable selector:_cmd];
}

- (void)setVisibleFunctionTables:(const id<MTLVisibleFunctionTable> [])tables withRange:(NSRange)range {
  HM_REQUIRE(tables != nullptr, "the array must not be NULL");
  for (NSUInteger i = 0; i < range.length; i++) [self setVisibleFunctionTable:tables[i] atIndex:range.location + i];
}

- (void *)constantDataAtIndex:(NSUInteger)index {
  return [self placeAtIndex:index type:MTLDataTypeNone selector:_cmd];
}

- (id<MTLArgumentEncoder>)newArgumentEncoderForBufferAtIndex:(NSUInteger)index {
  HM_REQUIRE(index <= UINT32_MAX, "there is no argument with this index.");
  const char *misuse = nullptr;
  HMArguments pointee = hm_arguments_pointee(_engine, (uint32_t)index, &misuse);
  HM_CHECK(misuse);
  return [[HostMTLArgumentEncoder alloc] initWithDevice:_device engine:pointee];
}

- (void)dealloc {
  hm_arguments_release(_engine);
  [_buffer release];
  [_label release];
  [super dealloc];
}
@end
