// MTLDynamicLibrary.
#import "faces.h"

NSErrorDomain const MTLDynamicLibraryDomain = @"MTLDynamicLibraryDomain";

@implementation HostMTLDynamicLibrary
@synthesize label = _label, installName = _installName;

- (instancetype)initWithDevice:(HostMTLDevice *)device engine:(HMDynamic)engine {
  if ((self = [super init])) {
    _device = device;
    _engine = engine;
    char *const name = hm_dynamic_install_name(engine);
    _installName = [[NSString alloc] initWithUTF8String:name];
    hm_string_release(name);
  }
  return self;
}

- (id<MTLDevice>)device {
  return _device;
}

- (BOOL)serializeToURL:(NSURL *)url error:(NSError **)error {
  HM_REQUIRE(url != nil, "the URL must not be nil");
  if (error) *error = nil;
  NSString *const path = [_device pathOf:url domain:MTLDynamicLibraryDomain code:MTLDynamicLibraryErrorInvalidFile error:error];
  if (!path) return NO;
  HMError failure = {};
  if (hm_dynamic_write(_engine, [path fileSystemRepresentation], &failure)) return YES;
  NSError *const told = hostmetal_error(MTLDynamicLibraryDomain, &failure, nil);
  if (error) *error = told;
  return NO;
}

- (void)dealloc {
  hm_dynamic_release(_engine);
  [_label release];
  [_installName release];
  [super dealloc];
}
@end

@implementation HostMTLDevice (DynamicLibraries)
- (NSString *)pathOf:(NSURL *)url domain:(NSErrorDomain)domain code:(NSInteger)code error:(NSError **)error {
  if ([url isFileURL]) return [url path];
  NSString *const text = [NSString stringWithFormat:@"%@ names no file", url];
  if (error) *error = [NSError errorWithDomain:domain code:code userInfo:@{NSLocalizedDescriptionKey : text}];
  return nil;
}

- (void)appendLibraries:(NSArray<id<MTLDynamicLibrary>> *)libraries to:(NSMutableData *)engines selector:(SEL)selector {
  for (HostMTLDynamicLibrary *library in libraries) {
    if (![library isKindOfClass:[HostMTLDynamicLibrary class]] || [library device] != self)
      hostmetal_raise(self, selector, "a dynamic library is of another device");
    [engines appendBytes:&library->_engine length:sizeof library->_engine];
  }
}
@end
