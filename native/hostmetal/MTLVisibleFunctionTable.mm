// MTLVisibleFunctionTable, its descriptor, MTLFunctionHandle, and the functions that pipelines link.
#import "faces.h"

@implementation MTLVisibleFunctionTableDescriptor
@synthesize functionCount = _functionCount;

+ (MTLVisibleFunctionTableDescriptor *)visibleFunctionTableDescriptor {
  return [[[self alloc] init] autorelease];
}

- (id)copyWithZone:(NSZone *)zone {
  MTLVisibleFunctionTableDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setFunctionCount:_functionCount];
  return copy;
}
@end

@implementation HostMTLFunctionHandle
- (instancetype)initWithFunction:(HostMTLFunction *)function engine:(HMVisible)engine {
  if ((self = [super init])) {
    _function = [function retain];
    _engine = engine;
  }
  return self;
}

- (MTLFunctionType)functionType {
  return MTLFunctionTypeVisible;
}
- (NSString *)name {
  return [_function name];
}
- (id<MTLDevice>)device {
  return [_function device];
}

- (void)dealloc {
  hm_visible_release(_engine);
  [_function release];
  [super dealloc];
}
@end

@implementation HostMTLVisibleFunctionTable
- (instancetype)initWithDevice:(HostMTLDevice *)device engine:(HMFunctionTable)engine {
  if ((self = [super initWithDevice:device
                             memory:hm_function_table_memory(engine)
                               heap:nil
                            options:MTLResourceStorageModeShared]))
    _engine = engine;
  return self;
}

- (MTLResourceID)gpuResourceID {
  return (MTLResourceID){hm_function_table_handle(_engine)};
}

- (void)setFunction:(id<MTLFunctionHandle>)function atIndex:(NSUInteger)index {
  HM_REQUIRE(!function || object_getClass(function) == [HostMTLFunctionHandle class], "the function handle is not one of this device");
  HM_CHECK(hm_function_table_set(_engine, function ? ((HostMTLFunctionHandle *)function)->_engine : nullptr, index));
}

- (void)setFunctions:(const id<MTLFunctionHandle> [])functions withRange:(NSRange)range {
  HM_REQUIRE(functions != nullptr, "the array must not be NULL");
  for (NSUInteger i = 0; i < range.length; i++) [self setFunction:functions[i] atIndex:range.location + i];
}

- (void)dealloc {
  hm_function_table_release(_engine);
  [super dealloc];
}
@end

@implementation HostMTLDevice (VisibleFunctions)
- (BOOL)compileFunctions:(NSArray<id<MTLFunction>> *)functions
                 options:(const HMPipelineOptions *)options
                      to:(NSMutableArray *)handles
                   error:(NSError **)error
                selector:(SEL)selector {
  for (id<MTLFunction> function in functions) {
    [self requireFunction:function selector:selector];
    HostMTLFunction *const host = (HostMTLFunction *)function;
    if (!host->_engine) {
      if (error) *error = [[host->_missing retain] autorelease];
      return NO;
    }
    HMError failure = {};
    HMVisible engine = hm_visible_create(_engine, host->_engine, options, &failure);
    if (!engine) {
      NSError *told = hostmetal_error(MTLLibraryErrorDomain, &failure, nil);
      if (error) *error = told;
      return NO;
    }
    hm_string_release(failure.message);
    HostMTLFunctionHandle *handle = [[HostMTLFunctionHandle alloc] initWithFunction:host engine:engine];
    [handles addObject:handle];
    [handle release];
  }
  return YES;
}
@end
