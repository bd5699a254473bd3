// MTLBinaryArchiveDescriptor and MTLBinaryArchive.
#import "faces.h"

NSErrorDomain const MTLBinaryArchiveDomain = @"MTLBinaryArchiveDomain";

@implementation MTLBinaryArchiveDescriptor
@synthesize url = _url;

- (id)copyWithZone:(NSZone *)zone {
  MTLBinaryArchiveDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setUrl:_url];
  return copy;
}

- (void)dealloc {
  [_url release];
  [super dealloc];
}
@end

namespace {
BOOL fail(HMError *failure, NSError **error) {
  NSError *told = hostmetal_error(MTLBinaryArchiveDomain, failure, nil);
  if (error) *error = told;
  return NO;
}
}  // namespace

@implementation HostMTLBinaryArchive
@synthesize label = _label;

- (instancetype)initWithDevice:(HostMTLDevice *)device
                    descriptor:(MTLBinaryArchiveDescriptor *)descriptor
                         error:(NSError **)error {
  if (!(self = [super init])) return nil;
  _device = device;
  HMError fault = {};
  if (hm_archive_fails(device->_engine, &fault)) {
    fail(&fault, error);
    [self release];
    return nil;
  }
  NSURL *const url = [descriptor url];
  if (!url) {
    _engine = hm_archive_create();
    return self;
  }
  NSString *const path = [device pathOf:url domain:MTLBinaryArchiveDomain code:MTLBinaryArchiveErrorInvalidFile error:error];
  HMError failure = {};
  if (path && !(_engine = hm_archive_read([path fileSystemRepresentation], &failure)))
    fail(&failure, error);
  if (_engine) return self;
  [self release];
  return nil;
}

- (id<MTLDevice>)device {
  return _device;
}

- (BOOL)addFunction:(id<MTLFunction>)function options:(const HMPipelineOptions *)options error:(NSError **)error {
  HostMTLFunction *const host = (HostMTLFunction *)function;
  HMError failure = {};
  if (hm_archive_fails(_device->_engine, &failure)) return fail(&failure, error);
  if (host->_engine) return hm_archive_add(_engine, _device->_engine, host->_engine, options, &failure) || fail(&failure, error);
  if (error)
    *error = [NSError errorWithDomain:MTLBinaryArchiveDomain
                                 code:MTLBinaryArchiveErrorCompilationFailure
                             userInfo:[host->_missing userInfo]];
  return NO;
}

- (BOOL)addComputePipelineFunctionsWithDescriptor:(MTLComputePipelineDescriptor *)descriptor error:(NSError **)error {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  if (error) *error = nil;
  id<MTLFunction> const function = [descriptor computeFunction];
  [_device requireFunction:function selector:_cmd];
  NSMutableData *preloaded = [NSMutableData data];
  [_device appendLibraries:[descriptor preloadedLibraries] to:preloaded selector:_cmd];
  MTLStageInputOutputDescriptor *const stage = [descriptor stageInputDescriptor];
  const HMStageInput input = stage ? [stage engineInput] : HMStageInput{};
  MTLLinkedFunctions *const linked = [descriptor linkedFunctions];
  NSData *const definitions = [_device definitionsOf:linked selector:_cmd];
  const MTLSize required = [descriptor requiredThreadsPerThreadgroup];
  const HMPipelineOptions options = {[descriptor maxTotalThreadsPerThreadgroup],
                                     (bool)[descriptor threadGroupSizeIsMultipleOfThreadExecutionWidth],
                                     false,
                                     nullptr,
                                     0,
                                     (const HMDynamic *)[preloaded bytes],
                                     [preloaded length] / sizeof(HMDynamic),
                                     (const HMFunction *)[definitions bytes],
                                     [definitions length] / sizeof(HMFunction),
                                     stage ? &input : nullptr,
                                     {required.width, required.height, required.depth}};
  NSArray *const kinds = @[ [linked functions] ?: @[], [linked binaryFunctions] ?: @[], [linked privateFunctions] ?: @[] ];
  for (NSArray *functions in kinds)
    for (id<MTLFunction> one in functions) {
      [_device requireFunction:one selector:_cmd];
      if (![self addFunction:one options:&options error:error]) return NO;
    }
  return [self addFunction:function options:&options error:error];
}

- (BOOL)addFunctionWithDescriptor:(MTLFunctionDescriptor *)descriptor
                          library:(id<MTLLibrary>)library
                            error:(NSError **)error {
  HM_REQUIRE(library != nil, "the library must not be nil");
  if (error) *error = nil;
  id<MTLFunction> const function = [[library newFunctionWithDescriptor:descriptor error:error] autorelease];
  if (!function) return NO;
  [_device requireFunction:function selector:_cmd];
  return [self addFunction:function options:nullptr error:error];
}

- (BOOL)addLibraryWithDescriptor:(MTLStitchedLibraryDescriptor *)descriptor error:(NSError **)error {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  if (error) *error = nil;
  HostMTLStitching *const stitching = [[[HostMTLStitching alloc] initWithDevice:_device descriptor:descriptor selector:_cmd] autorelease];
  id<MTLLibrary> const library = [[stitching newWholeLibraryWithError:error] autorelease];
  for (NSString *name in [library functionNames]) {
    id<MTLFunction> const function = [[library newFunctionWithName:name] autorelease];
    if (![self addFunction:function options:nullptr error:error]) return NO;
  }
  return library != nil;
}

- (BOOL)serializeToURL:(NSURL *)url error:(NSError **)error {
  HM_REQUIRE(url != nil, "the URL must not be nil");
  if (error) *error = nil;
  NSString *const path = [_device pathOf:url domain:MTLBinaryArchiveDomain code:MTLBinaryArchiveErrorInvalidFile error:error];
  if (!path) return NO;
  HMError failure = {};
  if (hm_archive_fails(_device->_engine, &failure)) return fail(&failure, error);
  return hm_archive_write(_engine, [path fileSystemRepresentation], &failure) || fail(&failure, error);
}

- (void)dealloc {
  if (_engine) hm_archive_release(_engine);
  [_label release];
  [super dealloc];
}
@end
