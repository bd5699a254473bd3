// MTLComputePipelineDescriptor, MTLComputePipelineState and its reflection.
#import "faces.h"

@interface HostMTLBinding : NSObject <MTLBinding> {
  NSString *_name;
 @protected
  HMBinding _info;
}
- (instancetype)initWithInfo:(const HMBinding *)info;
@end

@interface HostMTLBufferBinding : HostMTLBinding <MTLBufferBinding>
@end

@interface HostMTLThreadgroupBinding : HostMTLBinding <MTLThreadgroupBinding>
@end

@interface HostMTLTextureBinding : HostMTLBinding <MTLTextureBinding>
@end

@interface MTLComputePipelineReflection (Engine)
- (instancetype)initWithPipeline:(HMPipeline)pipeline count:(size_t)count;
@end

@implementation HostMTLBinding
@synthesize name = _name;

- (instancetype)initWithInfo:(const HMBinding *)info {
  if ((self = [super init])) {
    _info = *info;
    _info.name = nullptr;  // is the pipeline's
    _name = [[NSString alloc] initWithUTF8String:info->name];
  }
  return self;
}
- (MTLBindingType)type {
  return (MTLBindingType)_info.kind;
}
- (MTLBindingAccess)access {
  return (MTLBindingAccess)_info.access;
}
- (NSUInteger)index {
  return _info.index;
}
- (BOOL)isUsed {
  return _info.used;
}
- (BOOL)isArgument {
  return YES;
}
- (void)dealloc {
  [_name release];
  [super dealloc];
}
@end

@implementation HostMTLBufferBinding
- (NSUInteger)bufferAlignment {
  return _info.alignment;
}
- (NSUInteger)bufferDataSize {
  return _info.data_size;
}
- (MTLDataType)bufferDataType {
  return (MTLDataType)_info.data_type;
}
@end

@implementation HostMTLThreadgroupBinding
- (NSUInteger)threadgroupMemoryAlignment {
  return _info.alignment;
}
- (NSUInteger)threadgroupMemoryDataSize {
  return _info.data_size;
}
@end

@implementation HostMTLTextureBinding
- (MTLTextureType)textureType {
  return (MTLTextureType)_info.texture_type;
}
- (MTLDataType)textureDataType {
  return (MTLDataType)_info.data_type;
}
- (BOOL)isDepthTexture {
  return NO;
}
- (NSUInteger)arrayLength {
  return _info.count;
}
@end

@implementation MTLComputePipelineReflection
@synthesize bindings = _bindings;

- (void)dealloc {
  [_bindings release];
  [super dealloc];
}
@end

@implementation MTLComputePipelineReflection (Engine)
- (instancetype)initWithPipeline:(HMPipeline)pipeline count:(size_t)count {
  if ((self = [super init])) {
    NSMutableArray *bindings = [[NSMutableArray alloc] initWithCapacity:count];
    for (size_t i = 0; i < count; i++) {
      HMBinding info;
      if (!hm_pipeline_binding(pipeline, i, &info)) continue;
      Class face = info.kind == MTLBindingTypeBuffer              ? [HostMTLBufferBinding class]
                   : info.kind == MTLBindingTypeThreadgroupMemory ? [HostMTLThreadgroupBinding class]
                   : info.kind == MTLBindingTypeTexture           ? [HostMTLTextureBinding class]
                                                                  : [HostMTLBinding class];
      HostMTLBinding *binding = [(HostMTLBinding *)[face alloc] initWithInfo:&info];
      [bindings addObject:binding];
      [binding release];
    }
    _bindings = bindings;
  }
  return self;
}
@end

@implementation MTLComputePipelineDescriptor
@synthesize label = _label, computeFunction = _computeFunction,
            threadGroupSizeIsMultipleOfThreadExecutionWidth = _threadGroupSizeIsMultipleOfThreadExecutionWidth,
            maxTotalThreadsPerThreadgroup = _maxTotalThreadsPerThreadgroup;

- (id)copyWithZone:(NSZone *)zone {
  MTLComputePipelineDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setLabel:_label];
  [copy setComputeFunction:_computeFunction];
  [copy setThreadGroupSizeIsMultipleOfThreadExecutionWidth:_threadGroupSizeIsMultipleOfThreadExecutionWidth];
  [copy setMaxTotalThreadsPerThreadgroup:_maxTotalThreadsPerThreadgroup];
  return copy;
}

- (void)reset {
  [self setLabel:nil];
  [self setComputeFunction:nil];
  _threadGroupSizeIsMultipleOfThreadExecutionWidth = NO;
  _maxTotalThreadsPerThreadgroup = 0;
}

- (void)dealloc {
  [_label release];
  [_computeFunction release];
  [super dealloc];
}
@end

@implementation HostMTLComputePipelineState
@synthesize label = _label;

- (instancetype)initWithDevice:(HostMTLDevice *)device engine:(HMPipeline)engine label:(NSString *)label {
  if ((self = [super init])) {
    _device = device;
    _engine = engine;
    _label = [label copy];
    hm_pipeline_info(engine, &_info);
  }
  return self;
}

- (id<MTLDevice>)device {
  return _device;
}

- (NSUInteger)maxTotalThreadsPerThreadgroup {
  return _info.max_total_threads_per_threadgroup;
}
- (NSUInteger)threadExecutionWidth {
  return _info.thread_execution_width;
}
- (NSUInteger)staticThreadgroupMemoryLength {
  return _info.static_threadgroup_memory_length;
}

- (MTLComputePipelineReflection *)makeReflection {
  return [[[MTLComputePipelineReflection alloc] initWithPipeline:_engine count:_info.binding_count] autorelease];
}

- (void)dealloc {
  hm_pipeline_release(_engine);
  [_label release];
  [super dealloc];
}
@end
