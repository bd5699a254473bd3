// MTLIndirectCommandBuffer, its descriptor and its commands.
#import "faces.h"

// One place of the buffer; the buffer lives as long as it.
@interface HostMTLIndirectComputeCommand : NSObject <MTLIndirectComputeCommand> {
  HostMTLIndirectCommandBuffer *_buffer;
  NSUInteger _index;
}
- (instancetype)initWithBuffer:(HostMTLIndirectCommandBuffer *)buffer index:(NSUInteger)index;
@end

@implementation MTLIndirectCommandBufferDescriptor
@synthesize commandTypes = _commandTypes, inheritPipelineState = _inheritPipelineState, inheritBuffers = _inheritBuffers,
            maxKernelBufferBindCount = _maxKernelBufferBindCount,
            maxKernelThreadgroupMemoryBindCount = _maxKernelThreadgroupMemoryBindCount,
            supportDynamicAttributeStride = _supportDynamicAttributeStride, supportRayTracing = _supportRayTracing,
            maxVertexBufferBindCount = _maxVertexBufferBindCount, maxFragmentBufferBindCount = _maxFragmentBufferBindCount;

- (instancetype)init {
  if ((self = [super init])) {
    _maxKernelBufferBindCount = 31;
    _maxKernelThreadgroupMemoryBindCount = 31;
    _maxVertexBufferBindCount = 31;
    _maxFragmentBufferBindCount = 31;
  }
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  MTLIndirectCommandBufferDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setCommandTypes:_commandTypes];
  [copy setInheritPipelineState:_inheritPipelineState];
  [copy setInheritBuffers:_inheritBuffers];
  [copy setMaxKernelBufferBindCount:_maxKernelBufferBindCount];
  [copy setMaxKernelThreadgroupMemoryBindCount:_maxKernelThreadgroupMemoryBindCount];
  [copy setSupportDynamicAttributeStride:_supportDynamicAttributeStride];
  [copy setSupportRayTracing:_supportRayTracing];
  [copy setMaxVertexBufferBindCount:_maxVertexBufferBindCount];
  [copy setMaxFragmentBufferBindCount:_maxFragmentBufferBindCount];
  return copy;
}
@end

@implementation HostMTLIndirectCommandBuffer
- (instancetype)initWithDevice:(HostMTLDevice *)device engine:(HMCommands)engine options:(MTLResourceOptions)options {
  if ((self = [super initWithDevice:device memory:hm_commands_memory(engine) heap:nil options:options])) _engine = engine;
  return self;
}

- (NSUInteger)size {
  return hm_commands_count(_engine);
}
- (MTLResourceID)gpuResourceID {
  return (MTLResourceID){hm_commands_handle(_engine)};
}
- (void)resetWithRange:(NSRange)range {
  HM_CHECK(hm_commands_reset(_engine, range.location, range.length));
}
- (id<MTLIndirectComputeCommand>)indirectComputeCommandAtIndex:(NSUInteger)index {
  HM_REQUIRE(index < [self size], "the index must be < size");
  return [[[HostMTLIndirectComputeCommand alloc] initWithBuffer:self index:index] autorelease];
}
- (void)dealloc {
  hm_commands_release(_engine);
  [super dealloc];
}
@end

@implementation HostMTLIndirectComputeCommand
- (instancetype)initWithBuffer:(HostMTLIndirectCommandBuffer *)buffer index:(NSUInteger)index {
  if ((self = [super init])) {
    _buffer = [buffer retain];
    _index = index;
  }
  return self;
}

- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
  HM_REQUIRE(object_getClass(state) == [HostMTLComputePipelineState class], "the pipeline state must be one of this device");
  HM_REQUIRE([state supportIndirectCommandBuffers], "the pipeline state was made without supportIndirectCommandBuffers");
  HM_CHECK(hm_commands_set_pipeline(_buffer->_engine, _index, ((HostMTLComputePipelineState *)state)->_engine));
}

- (void)setKernelBuffer:(id<MTLBuffer>)buffer
                 offset:(NSUInteger)offset
        attributeStride:(NSUInteger)stride
                atIndex:(NSUInteger)index {
  HM_REQUIRE(object_getClass(buffer) == [HostMTLBuffer class] && [buffer device] == [_buffer device],
             "the buffer must be one of this device");
  HM_CHECK(hm_commands_set_buffer(_buffer->_engine, _index, ((HostMTLBuffer *)buffer)->_engine, offset, stride, index));
}
- (void)setKernelBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
  HM_REQUIRE(object_getClass(buffer) == [HostMTLBuffer class] && [buffer device] == [_buffer device],
             "the buffer must be one of this device");
  const NSUInteger none = MTLAttributeStrideStatic;
  HM_CHECK(hm_commands_set_buffer(_buffer->_engine, _index, ((HostMTLBuffer *)buffer)->_engine, offset, none, index));
}
- (void)setStageInRegion:(MTLRegion)region {
  const uint64_t origin[3] = {region.origin.x, region.origin.y, region.origin.z};
  const uint64_t size[3] = {region.size.width, region.size.height, region.size.depth};
  HM_CHECK(hm_commands_set_stage_in_region(_buffer->_engine, _index, origin, size));
}

- (void)concurrentDispatchThreadgroups:(MTLSize)threadgroups threadsPerThreadgroup:(MTLSize)threads {
  const uint64_t grid[3] = {threadgroups.width, threadgroups.height, threadgroups.depth};
  const uint64_t size[3] = {threads.width, threads.height, threads.depth};
  HM_CHECK(hm_commands_dispatch(_buffer->_engine, _index, false, grid, size));
}

- (void)concurrentDispatchThreads:(MTLSize)threads threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup {
  const uint64_t grid[3] = {threads.width, threads.height, threads.depth};
  const uint64_t size[3] = {threadsPerThreadgroup.width, threadsPerThreadgroup.height, threadsPerThreadgroup.depth};
  HM_CHECK(hm_commands_dispatch(_buffer->_engine, _index, true, grid, size));
}

- (void)setBarrier {
  HM_CHECK(hm_commands_set_barrier(_buffer->_engine, _index, true));
}
- (void)clearBarrier {
  HM_CHECK(hm_commands_set_barrier(_buffer->_engine, _index, false));
}
- (void)reset {
  HM_CHECK(hm_commands_reset(_buffer->_engine, _index, 1));
}
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index {
  HM_CHECK(hm_commands_set_memory(_buffer->_engine, _index, length, index));
}
- (void)setImageblockWidth:(NSUInteger)width height:(NSUInteger)height {
  HM_CHECK(hm_commands_set_imageblock(_buffer->_engine, _index, width, height));
}
- (void)dealloc {
  [_buffer release];
  [super dealloc];
}
@end
