// MTLComputeCommandEncoder.
#import "faces.h"

namespace {
// The engine's buffer behind an argument; raises for what is not a buffer of hostmetal's.
HMBuffer engineBuffer(id<MTLBuffer> buffer, id encoder, SEL selector) {
  static const Class bufferClass = [HostMTLBuffer class];
  if (!buffer) return nullptr;
  if (object_getClass(buffer) != bufferClass) hostmetal_raise(encoder, selector, "the buffer is not one of this device");
  return ((HostMTLBuffer *)buffer)->_engine;
}

HMTexture engineTexture(id<MTLTexture> texture, id encoder, SEL selector) {
  static const Class textureClass = [HostMTLTexture class];
  if (!texture) return nullptr;
  if (object_getClass(texture) != textureClass) hostmetal_raise(encoder, selector, "the texture is not one of this device");
  return ((HostMTLTexture *)texture)->_engine;
}

const HMSampler *engineSampler(id<MTLSamplerState> sampler, id<MTLCommandEncoder> encoder, SEL selector) {
  static const Class samplerClass = [HostMTLSamplerState class];
  if (!sampler) return nullptr;
  if (object_getClass(sampler) != samplerClass) hostmetal_raise(encoder, selector, "the sampler is not one of this device");
  if ([sampler device] != [encoder device])
    hostmetal_raise(encoder, selector, "sampler was created with a different device than the command buffer.");
  return &((HostMTLSamplerState *)sampler)->_engine;
}
}  // namespace

@implementation HostMTLComputeCommandEncoder
@synthesize dispatchType = _dispatchType;

- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
  static const Class stateClass = [HostMTLComputePipelineState class];
  HM_REQUIRE(object_getClass(state) == stateClass, "the pipeline state must be one of this device");
  HM_CHECK(hm_compute_set_pipeline(_engine, ((HostMTLComputePipelineState *)state)->_engine));
}

- (void)setBytes:(const void *)bytes length:(NSUInteger)length atIndex:(NSUInteger)index {
  HM_REQUIRE(bytes != nullptr, "the pointer must not be NULL");
  HM_CHECK(hm_compute_set_bytes(_engine, bytes, length, index));
}

- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
  HM_CHECK(hm_compute_set_buffer(_engine, engineBuffer(buffer, self, _cmd), offset, index));
}

- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index {
  HM_CHECK(hm_compute_set_buffer_offset(_engine, offset, index));
}

- (void)setBuffers:(const id<MTLBuffer> [])buffers offsets:(const NSUInteger[])offsets withRange:(NSRange)range {
  HM_REQUIRE(buffers != nullptr && offsets != nullptr, "the arrays must not be NULL");
  for (NSUInteger i = 0; i < range.length; i++)
    HM_CHECK(hm_compute_set_buffer(_engine, engineBuffer(buffers[i], self, _cmd), offsets[i], range.location + i));
}

// ------------------------------------------------------------------ strides of buffers that [[stage_in]] is read from

- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset attributeStride:(NSUInteger)stride atIndex:(NSUInteger)index {
  HM_CHECK(hm_compute_set_buffer(_engine, engineBuffer(buffer, self, _cmd), offset, index));
  HM_CHECK(hm_compute_set_attribute_stride(_engine, stride, index));
}

- (void)setBuffers:(const id<MTLBuffer> [])buffers
             offsets:(const NSUInteger[])offsets
    attributeStrides:(const NSUInteger[])strides
           withRange:(NSRange)range {
  HM_REQUIRE(buffers != nullptr && offsets != nullptr && strides != nullptr, "the arrays must not be NULL");
  for (NSUInteger i = 0; i < range.length; i++) {
    HM_CHECK(hm_compute_set_buffer(_engine, engineBuffer(buffers[i], self, _cmd), offsets[i], range.location + i));
    HM_CHECK(hm_compute_set_attribute_stride(_engine, strides[i], range.location + i));
  }
}

- (void)setBufferOffset:(NSUInteger)offset attributeStride:(NSUInteger)stride atIndex:(NSUInteger)index {
  HM_CHECK(hm_compute_set_buffer_offset(_engine, offset, index));
  HM_CHECK(hm_compute_set_attribute_stride(_engine, stride, index));
}

- (void)setBytes:(const void *)bytes length:(NSUInteger)length attributeStride:(NSUInteger)stride atIndex:(NSUInteger)index {
  HM_REQUIRE(bytes != nullptr, "the pointer must not be NULL");
  HM_CHECK(hm_compute_set_bytes(_engine, bytes, length, index));
  HM_CHECK(hm_compute_set_attribute_stride(_engine, stride, index));
}

// ------------------------------------------------------------------ tables, textures and samplers

- (void)setVisibleFunctionTable:(id<MTLVisibleFunctionTable>)table atBufferIndex:(NSUInteger)index {
  HM_REQUIRE(!table || object_getClass(table) == [HostMTLVisibleFunctionTable class], "the table is not one of this device");
  HM_CHECK(hm_compute_set_functions(_engine, table ? ((HostMTLVisibleFunctionTable *)table)->_engine : nullptr, index));
}

- (void)setVisibleFunctionTables:(const id<MTLVisibleFunctionTable> [])tables withBufferRange:(NSRange)range {
  HM_REQUIRE(tables != nullptr, "the array must not be NULL");
  for (NSUInteger i = 0; i < range.length; i++) [self setVisibleFunctionTable:tables[i] atBufferIndex:range.location + i];
}

- (void)setTexture:(id<MTLTexture>)texture atIndex:(NSUInteger)index {
  HM_CHECK(hm_compute_set_texture(_engine, engineTexture(texture, self, _cmd), index));
}

- (void)setTextures:(const id<MTLTexture> [])textures withRange:(NSRange)range {
  HM_REQUIRE(textures != nullptr, "the array must not be NULL");
  for (NSUInteger i = 0; i < range.length; i++)
    HM_CHECK(hm_compute_set_texture(_engine, engineTexture(textures[i], self, _cmd), range.location + i));
}

- (void)setSamplerState:(id<MTLSamplerState>)sampler atIndex:(NSUInteger)index {
  HM_CHECK(hm_compute_set_sampler(_engine, engineSampler(sampler, self, _cmd), index));
}

- (void)setSamplerStates:(const id<MTLSamplerState> [])samplers withRange:(NSRange)range {
  HM_REQUIRE(samplers != nullptr, "the array must not be NULL");
  for (NSUInteger i = 0; i < range.length; i++)
    HM_CHECK(hm_compute_set_sampler(_engine, engineSampler(samplers[i], self, _cmd), range.location + i));
}

- (void)setSamplerState:(id<MTLSamplerState>)sampler
            lodMinClamp:(float)lodMinClamp
            lodMaxClamp:(float)lodMaxClamp
                atIndex:(NSUInteger)index {
  HM_REQUIRE(lodMinClamp <= lodMaxClamp, "lodMinClamp must be <= lodMaxClamp");
  const HMSampler *given = engineSampler(sampler, self, _cmd);
  HMSampler clamped = given ? *given : HMSampler{};
  clamped.lod_min = lodMinClamp;
  clamped.lod_max = lodMaxClamp;
  HM_CHECK(hm_compute_set_sampler(_engine, given ? &clamped : nullptr, index));
}

- (void)setSamplerStates:(const id<MTLSamplerState> [])samplers
            lodMinClamps:(const float[])lodMinClamps
            lodMaxClamps:(const float[])lodMaxClamps
               withRange:(NSRange)range {
  HM_REQUIRE(samplers != nullptr && lodMinClamps != nullptr && lodMaxClamps != nullptr, "the arrays must not be NULL");
  for (NSUInteger i = 0; i < range.length; i++)
    [self setSamplerState:samplers[i]
              lodMinClamp:lodMinClamps[i]
              lodMaxClamp:lodMaxClamps[i]
                  atIndex:range.location + i];
}

- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index {
  HM_CHECK(hm_compute_set_threadgroup_memory(_engine, length, index));
}

- (void)setImageblockWidth:(NSUInteger)width height:(NSUInteger)height {
  HM_CHECK(hm_compute_set_imageblock(_engine, width, height));
}

- (void)dispatchThreadgroups:(MTLSize)threadgroups threadsPerThreadgroup:(MTLSize)threads {
  const uint64_t groups[3] = {threadgroups.width, threadgroups.height, threadgroups.depth};
  const uint64_t size[3] = {threads.width, threads.height, threads.depth};
  HM_CHECK(hm_compute_dispatch_threadgroups(_engine, groups, size));
}

- (void)dispatchThreads:(MTLSize)threads threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup {
  const uint64_t grid[3] = {threads.width, threads.height, threads.depth};
  const uint64_t size[3] = {threadsPerThreadgroup.width, threadsPerThreadgroup.height, threadsPerThreadgroup.depth};
  HM_CHECK(hm_compute_dispatch_threads(_engine, grid, size));
}

- (void)dispatchThreadgroupsWithIndirectBuffer:(id<MTLBuffer>)buffer
                          indirectBufferOffset:(NSUInteger)offset
                         threadsPerThreadgroup:(MTLSize)threads {
  const uint64_t size[3] = {threads.width, threads.height, threads.depth};
  HM_CHECK(hm_compute_dispatch_indirect(_engine, engineBuffer(buffer, self, _cmd), offset, size));
}

- (void)setStageInRegion:(MTLRegion)region {
  const uint64_t origin[3] = {region.origin.x, region.origin.y, region.origin.z};
  const uint64_t size[3] = {region.size.width, region.size.height, region.size.depth};
  HM_CHECK(hm_compute_set_stage_in_region(_engine, origin, size));
}

- (void)setStageInRegionWithIndirectBuffer:(id<MTLBuffer>)buffer indirectBufferOffset:(NSUInteger)offset {
  HM_CHECK(hm_compute_set_stage_in_region_indirect(_engine, engineBuffer(buffer, self, _cmd), offset));
}

- (void)memoryBarrierWithScope:(MTLBarrierScope)scope {
  HM_REQUIRE((scope & ~(MTLBarrierScopeBuffers | MTLBarrierScopeTextures | MTLBarrierScopeRenderTargets)) == 0,
             "unknown barrier scope");
  HM_REQUIRE(!(scope & MTLBarrierScopeRenderTargets), "a compute encoder has no render targets");
  HM_CHECK(hm_compute_barrier(_engine));
}

- (void)memoryBarrierWithResources:(const id<MTLResource> [])resources count:(NSUInteger)count {
  HM_REQUIRE(resources != nullptr || count == 0, "the array must not be NULL");
  for (NSUInteger i = 0; i < count; i++) {
    HM_REQUIRE(resources[i] != nil, "a resource must not be nil");
    HM_REQUIRE([resources[i] device] == [self device], "a resource was created with a different device than the command buffer.");
  }
  HM_CHECK(hm_compute_barrier(_engine));
}

// ------------------------------------------------------------------ what is reached through argument buffers

- (void)useResources:(const id<MTLResource> [])resources
               count:(NSUInteger)count
               usage:(MTLResourceUsage)usage
            selector:(SEL)selector {
  [self requireOpen:selector];
  if (!resources && count > 0) hostmetal_raise(self, selector, "the array must not be NULL");
  if (usage & ~(MTLResourceUsage)(MTLResourceUsageRead | MTLResourceUsageWrite | MTLResourceUsageSample))
    hostmetal_raise(self, selector, "unknown resource usage");
  [self keepAll:(const id *)resources count:count selector:selector];
  for (NSUInteger i = 0; i < count; i++)
    hm_encoder_use_buffer(_engine, [(HostMTLResource *)resources[i] engineMemory], usage & MTLResourceUsageWrite);
}

- (void)keepAll:(const id *)objects count:(NSUInteger)count selector:(SEL)selector {
  for (NSUInteger i = 0; i < count; i++) {
    if (!objects[i]) hostmetal_raise(self, selector, "the resource or heap must not be nil");
    if ([(id<MTLResource>)objects[i] device] != [self device])
      hostmetal_raise(self, selector, "a resource was created with a different device than the command buffer.");
  }
  for (NSUInteger i = 0; i < count; i++) [self keep:objects[i]];
}

- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage {
  [self useResources:&resource count:1 usage:usage selector:_cmd];
}

- (void)useResources:(const id<MTLResource> [])resources count:(NSUInteger)count usage:(MTLResourceUsage)usage {
  [self useResources:resources count:count usage:usage selector:_cmd];
}

- (void)useHeap:(id<MTLHeap>)heap {
  [self requireOpen:_cmd];
  [self readHeaps:&heap count:1 selector:_cmd];
}

- (void)useHeaps:(const id<MTLHeap> [])heaps count:(NSUInteger)count {
  [self requireOpen:_cmd];
  HM_REQUIRE(heaps != nullptr || count == 0, "the array must not be NULL");
  [self readHeaps:heaps count:count selector:_cmd];
}

// "This method applies the read resource usage option to all of the resources within heap" (Apple, useHeaps(_:)).
- (void)readHeaps:(const id<MTLHeap> [])heaps count:(NSUInteger)count selector:(SEL)selector {
  [self keepAll:(const id *)heaps count:count selector:selector];
  for (NSUInteger i = 0; i < count; i++)
    if ([heaps[i] hazardTrackingMode] == MTLHazardTrackingModeTracked)
      hm_encoder_use_heap(_engine, ((HostMTLHeap *)heaps[i])->_engine);
}

- (HMCommands)engineCommands:(id<MTLIndirectCommandBuffer>)commands selector:(SEL)selector {
  if (object_getClass(commands) != [HostMTLIndirectCommandBuffer class])
    hostmetal_raise(self, selector, "the indirect command buffer must be one of this device");
  return ((HostMTLIndirectCommandBuffer *)commands)->_engine;
}

- (void)executeCommandsInBuffer:(id<MTLIndirectCommandBuffer>)commands withRange:(NSRange)range {
  HM_CHECK(hm_compute_execute(_engine, [self engineCommands:commands selector:_cmd], range.location, range.length));
}

- (void)executeCommandsInBuffer:(id<MTLIndirectCommandBuffer>)commands
                 indirectBuffer:(id<MTLBuffer>)buffer
           indirectBufferOffset:(NSUInteger)offset {
  HMCommands all = [self engineCommands:commands selector:_cmd];
  HM_CHECK(hm_compute_execute_indirect(_engine, all, engineBuffer(buffer, self, _cmd), offset));
}
@end
