// MTLComputePipelineDescriptor, MTLComputePipelineState and its reflection.
#import "faces.h"

@interface HostMTLThreadgroupBinding : HostMTLBinding <MTLThreadgroupBinding>
@end

@interface HostMTLTextureBinding : HostMTLBinding <MTLTextureBinding>
@end

namespace {
const NSUInteger places = 31;  // of the argument table of buffers
}

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
  return _info.argument;
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
- (MTLStructType *)bufferStructType {
  return hostmetal_struct_type(_arguments);
}
- (MTLPointerType *)bufferPointerType {
  return hostmetal_pointer_type(_arguments, &_info);
}
- (void)dealloc {
  hm_arguments_release(_arguments);
  [super dealloc];
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
  return _info.pointer;
}
- (NSUInteger)arrayLength {
  return _info.count;
}
@end

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
@interface MTLArgument (Engine)
- (instancetype)initWithBinding:(id<MTLBinding>)binding;
@end

@implementation MTLArgument
- (id<MTLBufferBinding>)buffer {
  return [_binding type] == MTLBindingTypeBuffer ? (id<MTLBufferBinding>)_binding : nil;
}
- (id<MTLThreadgroupBinding>)memory {
  return [_binding type] == MTLBindingTypeThreadgroupMemory ? (id<MTLThreadgroupBinding>)_binding : nil;
}
- (id<MTLTextureBinding>)texture {
  return [_binding type] == MTLBindingTypeTexture ? (id<MTLTextureBinding>)_binding : nil;
}
- (NSString *)name {
  return [_binding name];
}
- (MTLArgumentType)type {
  return (MTLArgumentType)[_binding type];
}
- (MTLBindingAccess)access {
  return [_binding access];
}
- (NSUInteger)index {
  return [_binding index];
}
- (BOOL)isActive {
  return [_binding isUsed];
}
- (NSUInteger)bufferAlignment {
  return [[self buffer] bufferAlignment];
}
- (NSUInteger)bufferDataSize {
  return [[self buffer] bufferDataSize];
}
- (MTLDataType)bufferDataType {
  return [[self buffer] bufferDataType];
}
- (MTLStructType *)bufferStructType {
  return [[self buffer] bufferStructType];
}
- (MTLPointerType *)bufferPointerType {
  return [[self buffer] bufferPointerType];
}
- (NSUInteger)threadgroupMemoryAlignment {
  return [[self memory] threadgroupMemoryAlignment];
}
- (NSUInteger)threadgroupMemoryDataSize {
  return [[self memory] threadgroupMemoryDataSize];
}
- (MTLTextureType)textureType {
  return [[self texture] textureType];
}
- (MTLDataType)textureDataType {
  return [[self texture] textureDataType];
}
- (BOOL)isDepthTexture {
  return [[self texture] isDepthTexture];
}
- (NSUInteger)arrayLength {
  return [[self texture] arrayLength];
}
- (void)dealloc {
  [_binding release];
  [super dealloc];
}
@end

@implementation MTLArgument (Engine)
- (instancetype)initWithBinding:(id<MTLBinding>)binding {
  if ((self = [super init])) _binding = [(id)binding retain];
  return self;
}
@end

@implementation MTLComputePipelineReflection
@synthesize bindings = _bindings;

- (NSArray<MTLArgument *> *)arguments {
  NSMutableArray *all = [NSMutableArray arrayWithCapacity:[_bindings count]];
  for (id<MTLBinding> binding in _bindings) [all addObject:[[[MTLArgument alloc] initWithBinding:binding] autorelease]];
  return all;
}

- (void)dealloc {
  [_bindings release];
  [super dealloc];
}
@end
#pragma clang diagnostic pop

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
      if (info.kind == MTLBindingTypeBuffer) ((HostMTLBufferBinding *)binding)->_arguments = hm_pipeline_arguments(pipeline, i);
      [bindings addObject:binding];
      [binding release];
    }
    _bindings = bindings;
  }
  return self;
}
@end

@implementation MTLPipelineBufferDescriptor
@synthesize mutability = _mutability;

- (id)copyWithZone:(NSZone *)zone {
  MTLPipelineBufferDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setMutability:_mutability];
  return copy;
}
@end

@implementation MTLPipelineBufferDescriptorArray
HM_DESCRIPTORS(MTLPipelineBufferDescriptor)
@end

@implementation MTLLinkedFunctions
@synthesize functions = _functions, binaryFunctions = _binaryFunctions, groups = _groups,
            privateFunctions = _privateFunctions;

+ (MTLLinkedFunctions *)linkedFunctions {
  return [[[self alloc] init] autorelease];
}

- (id)copyWithZone:(NSZone *)zone {
  MTLLinkedFunctions *copy = [[[self class] allocWithZone:zone] init];
  [copy setFunctions:_functions];
  [copy setBinaryFunctions:_binaryFunctions];
  [copy setGroups:_groups];
  [copy setPrivateFunctions:_privateFunctions];
  return copy;
}

- (void)dealloc {
  [_functions release];
  [_binaryFunctions release];
  [_groups release];
  [_privateFunctions release];
  [super dealloc];
}
@end

@implementation MTLComputePipelineDescriptor
@synthesize label = _label, computeFunction = _computeFunction,
            threadGroupSizeIsMultipleOfThreadExecutionWidth = _threadGroupSizeIsMultipleOfThreadExecutionWidth,
            maxTotalThreadsPerThreadgroup = _maxTotalThreadsPerThreadgroup,
            stageInputDescriptor = _stageInputDescriptor, buffers = _buffers,
            binaryArchives = _binaryArchives, preloadedLibraries = _preloadedLibraries,
            supportAddingBinaryFunctions = _supportAddingBinaryFunctions,
            maxCallStackDepth = _maxCallStackDepth, supportIndirectCommandBuffers = _supportIndirectCommandBuffers,
            requiredThreadsPerThreadgroup = _requiredThreadsPerThreadgroup;

- (instancetype)init {
  if ((self = [super init])) {
    _buffers = [[MTLPipelineBufferDescriptorArray alloc] init];
    _preloadedLibraries = [[NSArray alloc] init];
    _maxCallStackDepth = 1;
  }
  return self;
}

- (NSArray<id<MTLDynamicLibrary>> *)insertLibraries {
  return _preloadedLibraries;
}

- (void)setInsertLibraries:(NSArray<id<MTLDynamicLibrary>> *)libraries {
  [self setPreloadedLibraries:libraries ? libraries : @[]];
}

- (MTLShaderValidation)shaderValidation {
  return (MTLShaderValidation)_shaderValidation;
}

- (void)setShaderValidation:(MTLShaderValidation)validation {
  HM_REQUIRE(validation >= MTLShaderValidationDefault && validation <= MTLShaderValidationDisabled, "unknown kind of shader validation");
  _shaderValidation = validation;
}

- (MTLLinkedFunctions *)linkedFunctions {
  if (!_linkedFunctions) _linkedFunctions = [[MTLLinkedFunctions alloc] init];
  return _linkedFunctions;
}

- (void)setLinkedFunctions:(MTLLinkedFunctions *)functions {
  MTLLinkedFunctions *copy = [functions copy];
  [_linkedFunctions release];
  _linkedFunctions = copy;
}

- (id)copyWithZone:(NSZone *)zone {
  MTLComputePipelineDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setLabel:_label];
  [copy setComputeFunction:_computeFunction];
  [copy setThreadGroupSizeIsMultipleOfThreadExecutionWidth:_threadGroupSizeIsMultipleOfThreadExecutionWidth];
  [copy setMaxTotalThreadsPerThreadgroup:_maxTotalThreadsPerThreadgroup];
  for (NSUInteger i = 0; i < places; i++) [copy->_buffers setObject:[_buffers objectAtIndexedSubscript:i] atIndexedSubscript:i];
  [copy setStageInputDescriptor:_stageInputDescriptor];
  [copy setBinaryArchives:_binaryArchives];
  [copy setPreloadedLibraries:_preloadedLibraries];
  [copy setLinkedFunctions:_linkedFunctions];
  [copy setSupportAddingBinaryFunctions:_supportAddingBinaryFunctions];
  [copy setMaxCallStackDepth:_maxCallStackDepth];
  [copy setSupportIndirectCommandBuffers:_supportIndirectCommandBuffers];
  copy->_shaderValidation = _shaderValidation;
  copy->_requiredThreadsPerThreadgroup = _requiredThreadsPerThreadgroup;
  return copy;
}

- (void)reset {
  [self setLabel:nil];
  [self setComputeFunction:nil];
  _threadGroupSizeIsMultipleOfThreadExecutionWidth = NO;
  _maxTotalThreadsPerThreadgroup = 0;
  for (NSUInteger i = 0; i < places; i++) [_buffers setObject:nil atIndexedSubscript:i];
  [self setStageInputDescriptor:nil];
  [self setBinaryArchives:nil];
  [self setPreloadedLibraries:@[]];
  [self setLinkedFunctions:nil];
  _supportAddingBinaryFunctions = NO;
  _maxCallStackDepth = 1;
  _supportIndirectCommandBuffers = NO;
  _shaderValidation = MTLShaderValidationDefault;
  _requiredThreadsPerThreadgroup = MTLSizeMake(0, 0, 0);
}

- (void)dealloc {
  [_label release];
  [_computeFunction release];
  [_stageInputDescriptor release];
  [_buffers release];
  [_binaryArchives release];
  [_preloadedLibraries release];
  [_linkedFunctions release];
  [super dealloc];
}
@end

@implementation HostMTLComputePipelineState
@synthesize label = _label, supportIndirectCommandBuffers = _supportIndirectCommandBuffers;

- (instancetype)initWithDevice:(HostMTLDevice *)device
                        engine:(HMPipeline)engine
                       handles:(NSArray *)handles
                    descriptor:(MTLComputePipelineDescriptor *)descriptor {
  if ((self = [super init])) {
    _handles = [handles copy];
    _supportAddingBinaryFunctions = [descriptor supportAddingBinaryFunctions];
    _device = device;
    _engine = engine;
    _label = [[descriptor label] copy];
    _supportIndirectCommandBuffers = [descriptor supportIndirectCommandBuffers];
    hm_pipeline_info(engine, &_info);
  }
  return self;
}

- (MTLShaderValidation)shaderValidation {
  return MTLShaderValidationDisabled;
}

- (id<MTLDevice>)device {
  return _device;
}

- (NSUInteger)maxTotalThreadsPerThreadgroup {
  return _info.max_total_threads_per_threadgroup;
}
- (MTLSize)requiredThreadsPerThreadgroup {
  const uint64_t *const size = _info.required_threads_per_threadgroup;
  return MTLSizeMake(size[0], size[1], size[2]);
}
- (NSUInteger)threadExecutionWidth {
  return _info.thread_execution_width;
}
- (NSUInteger)staticThreadgroupMemoryLength {
  return _info.static_threadgroup_memory_length;
}

- (NSUInteger)imageblockMemoryLengthForDimensions:(MTLSize)dimensions {
  return dimensions.width * dimensions.height * _info.imageblock_pixel_length;
}

- (MTLResourceID)gpuResourceID {
  HM_REQUIRE(_supportIndirectCommandBuffers, "the pipeline state was made without supportIndirectCommandBuffers");
  return (MTLResourceID){hm_pipeline_handle(_engine)};
}

- (id<MTLFunctionHandle>)functionHandleWithFunction:(id<MTLFunction>)function {
  HM_REQUIRE(function != nil, "the function must not be nil");
  for (HostMTLFunctionHandle *handle in _handles)
    if ((id)handle->_function == function) return handle;
  return nil;
}

- (id<MTLFunctionHandle>)functionHandleWithName:(NSString *)name {
  HM_REQUIRE(name != nil, "the name must not be nil");
  for (HostMTLFunctionHandle *handle in _handles)
    if ([[handle name] isEqualToString:name]) return handle;
  return nil;
}

- (id<MTLVisibleFunctionTable>)newVisibleFunctionTableWithDescriptor:(MTLVisibleFunctionTableDescriptor *)descriptor {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  const char *misuse = nullptr;
  HMFunctionTable table = hm_function_table_create(_device->_engine, [descriptor functionCount], &misuse);
  HM_CHECK(misuse);
  return table ? [[HostMTLVisibleFunctionTable alloc] initWithDevice:_device engine:table] : nil;
}

// The code is the same: what is added is only what tables may be given.
- (id<MTLComputePipelineState>)newComputePipelineStateWithAdditionalBinaryFunctions:(NSArray<id<MTLFunction>> *)functions
                                                                              error:(NSError **)error {
  HM_REQUIRE(functions != nil, "the functions must not be nil");
  HM_REQUIRE(_supportAddingBinaryFunctions, "the pipeline state was made without supportAddingBinaryFunctions");
  if (error) *error = nil;
  NSMutableArray *handles = [NSMutableArray arrayWithArray:_handles];
  if (![_device compileFunctions:functions options:nullptr to:handles error:error selector:_cmd]) return nil;
  HostMTLComputePipelineState *made = [[HostMTLComputePipelineState alloc] initWithDevice:_device
                                                                                   engine:hm_pipeline_retain(_engine)
                                                                                  handles:handles
                                                                               descriptor:nil];
  made->_label = [_label copy];
  made->_supportIndirectCommandBuffers = _supportIndirectCommandBuffers;
  made->_supportAddingBinaryFunctions = YES;
  return made;
}

- (MTLComputePipelineReflection *)reflection {
  return [[[MTLComputePipelineReflection alloc] initWithPipeline:_engine count:_info.binding_count] autorelease];
}

- (void)dealloc {
  hm_pipeline_release(_engine);
  [_handles release];
  [_label release];
  [super dealloc];
}
@end
