// MTLCompileOptions, MTLLibrary, MTLFunction and MTLFunctionConstant.
#import "faces.h"

NSErrorDomain const MTLLibraryErrorDomain = @"MTLLibraryErrorDomain";

@implementation MTLCompileOptions
@synthesize preprocessorMacros = _preprocessorMacros, languageVersion = _languageVersion, installName = _installName, libraries = _libraries,
            preserveInvariance = _preserveInvariance,
            allowReferencingUndefinedSymbols = _allowReferencingUndefinedSymbols,
            maxTotalThreadsPerThreadgroup = _maxTotalThreadsPerThreadgroup, enableLogging = _enableLogging,
            requiredThreadsPerThreadgroup = _requiredThreadsPerThreadgroup;

- (instancetype)init {
  if ((self = [super init])) {
    _mathMode = MTLMathModeFast;
    _languageVersion = MTLLanguageVersion3_2;
  }
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  MTLCompileOptions *copy = [[[self class] allocWithZone:zone] init];
  [copy setPreprocessorMacros:_preprocessorMacros];
  copy->_mathMode = _mathMode;
  copy->_mathFloatingPointFunctions = _mathFloatingPointFunctions;
  [copy setLanguageVersion:_languageVersion];
  copy->_libraryType = _libraryType;
  [copy setInstallName:_installName];
  [copy setLibraries:_libraries];
  copy->_preserveInvariance = _preserveInvariance;
  copy->_optimizationLevel = _optimizationLevel;
  copy->_compileSymbolVisibility = _compileSymbolVisibility;
  copy->_allowReferencingUndefinedSymbols = _allowReferencingUndefinedSymbols;
  copy->_maxTotalThreadsPerThreadgroup = _maxTotalThreadsPerThreadgroup;
  copy->_enableLogging = _enableLogging;
  copy->_requiredThreadsPerThreadgroup = _requiredThreadsPerThreadgroup;
  return copy;
}

- (MTLMathMode)mathMode {
  return (MTLMathMode)_mathMode;
}

- (void)setMathMode:(MTLMathMode)mode {
  HM_REQUIRE(mode >= MTLMathModeSafe && mode <= MTLMathModeFast, "unknown math mode");
  _mathMode = mode;
}

- (BOOL)fastMathEnabled {
  return _mathMode != MTLMathModeSafe;
}

- (void)setFastMathEnabled:(BOOL)enabled {
  _mathMode = enabled ? MTLMathModeFast : MTLMathModeSafe;
  _mathFloatingPointFunctions = enabled ? MTLMathFloatingPointFunctionsFast : MTLMathFloatingPointFunctionsPrecise;
}

- (MTLMathFloatingPointFunctions)mathFloatingPointFunctions {
  return (MTLMathFloatingPointFunctions)_mathFloatingPointFunctions;
}

- (void)setMathFloatingPointFunctions:(MTLMathFloatingPointFunctions)functions {
  HM_REQUIRE(functions == MTLMathFloatingPointFunctionsFast || functions == MTLMathFloatingPointFunctionsPrecise,
             "unknown kind of math functions");
  _mathFloatingPointFunctions = functions;
}

- (MTLLibraryType)libraryType {
  return (MTLLibraryType)_libraryType;
}

- (void)setLibraryType:(MTLLibraryType)type {
  HM_REQUIRE(type == MTLLibraryTypeExecutable || type == MTLLibraryTypeDynamic, "unknown library type");
  _libraryType = type;
}

- (MTLLibraryOptimizationLevel)optimizationLevel {
  return (MTLLibraryOptimizationLevel)_optimizationLevel;
}

- (void)setOptimizationLevel:(MTLLibraryOptimizationLevel)level {
  HM_REQUIRE(level == MTLLibraryOptimizationLevelDefault || level == MTLLibraryOptimizationLevelSize,
             "unknown optimization level");
  _optimizationLevel = level;
}

- (MTLCompileSymbolVisibility)compileSymbolVisibility {
  return (MTLCompileSymbolVisibility)_compileSymbolVisibility;
}

- (void)setCompileSymbolVisibility:(MTLCompileSymbolVisibility)visibility {
  HM_REQUIRE(visibility == MTLCompileSymbolVisibilityDefault || visibility == MTLCompileSymbolVisibilityHidden,
             "unknown symbol visibility");
  _compileSymbolVisibility = visibility;
}

- (void)dealloc {
  [_preprocessorMacros release];
  [_installName release];
  [_libraries release];
  [super dealloc];
}
@end

static NSError *libraryError(MTLLibraryError code, NSString *text) {
  return [NSError errorWithDomain:MTLLibraryErrorDomain code:code userInfo:@{NSLocalizedDescriptionKey : text}];
}

@implementation MTLCompileOptions (Engine)
- (void)withEngineOptionsOf:(HostMTLDevice *)device call:(void (^)(const HMCompileOptions *))body {
  NSMutableData *macros = [NSMutableData dataWithCapacity:[_preprocessorMacros count] * sizeof(HMMacro)];
  for (NSString *name in _preprocessorMacros) {
    NSObject *value = [_preprocessorMacros objectForKey:name];
    NSString *text = nil;
    if ([value isKindOfClass:[NSString class]])
      text = (NSString *)value;
    else if ([value isKindOfClass:[NSNumber class]])
      text = [(NSNumber *)value stringValue];
    HM_REQUIRE([name isKindOfClass:[NSString class]] && text, "preprocessorMacros maps NSString to NSString or NSNumber");
    const HMMacro macro = {[name UTF8String], [text UTF8String]};
    HM_REQUIRE(macro.name && macro.value, "preprocessorMacros holds text that is not Unicode");
    [macros appendBytes:&macro length:sizeof macro];
  }
  const bool precise = _mathFloatingPointFunctions == MTLMathFloatingPointFunctionsPrecise;
  NSMutableData *libraries = [NSMutableData data];
  [device appendLibraries:_libraries to:libraries selector:@selector(newLibraryWithSource:options:error:)];
  const MTLSize required = _requiredThreadsPerThreadgroup;
  const char *const installName = _libraryType == MTLLibraryTypeDynamic ? [_installName UTF8String] : nullptr;
  const HMCompileOptions options = {(uint32_t)_mathMode,
                                    precise,
                                    (uint32_t)_languageVersion,
                                    (const HMMacro *)[macros bytes],
                                    [macros length] / sizeof(HMMacro),
                                    _maxTotalThreadsPerThreadgroup,
                                    (bool)_enableLogging,
                                    installName,
                                    _compileSymbolVisibility == MTLCompileSymbolVisibilityHidden,
                                    (bool)_allowReferencingUndefinedSymbols,
                                    (const HMDynamic *)[libraries bytes],
                                    [libraries length] / sizeof(HMDynamic),
                                    {required.width, required.height, required.depth}};
  body(&options);
}
@end

@implementation MTLFunctionConstant
@synthesize name = _name, type = _type, index = _index, required = _required;

- (void)dealloc {
  [_name release];
  [super dealloc];
}
@end

@implementation MTLFunctionConstant (Engine)
- (instancetype)initWithInfo:(const HMConstantInfo *)info {
  if ((self = [super init])) {
    _name = [[NSString alloc] initWithUTF8String:info->name];
    _type = (MTLDataType)info->data_type;
    _index = info->index;
    _required = info->required;
  }
  return self;
}
@end

@implementation HostMTLLibrary
@synthesize label = _label, installName = _installName;

- (instancetype)initWithDevice:(HostMTLDevice *)device engine:(HMLibrary)engine installName:(NSString *)installName {
  if ((self = [super init])) {
    _device = device;
    _engine = engine;
    _installName = [installName copy];
  }
  return self;
}

- (id<MTLDevice>)device {
  return _device;
}

- (NSArray<NSString *> *)functionNames {
  const size_t count = hm_library_function_count(_engine);
  NSMutableArray *names = [NSMutableArray arrayWithCapacity:count];
  for (size_t i = 0; i < count; i++) [names addObject:[NSString stringWithUTF8String:hm_library_function_name(_engine, i)]];
  return names;
}

- (MTLLibraryType)type {
  return _installName ? MTLLibraryTypeDynamic : MTLLibraryTypeExecutable;
}

- (id<MTLFunction>)newFunctionWithName:(NSString *)name {
  HM_REQUIRE(name != nil, "the name must not be nil");
  HMError failure = {};
  HMFunction function = hm_function_create(_engine, [name UTF8String], nullptr, 0, &failure);
  if (!function && failure.code == MTLLibraryErrorFunctionNotFound) {
    hm_string_release(failure.message);
    return nil;
  }
  NSError *missing = function ? nil : hostmetal_error(MTLLibraryErrorDomain, &failure, nil);
  return [[HostMTLFunction alloc] initWithLibrary:self name:name engine:function missing:missing];
}

- (id<MTLFunction>)newFunctionWithName:(NSString *)name
                        constantValues:(MTLFunctionConstantValues *)values
                                 error:(NSError **)error {
  HM_REQUIRE(name != nil, "the name must not be nil");
  HM_REQUIRE(values != nil, "the constant values must not be nil");
  if (error) *error = nil;
  __block HMFunction function = nullptr;
  __block HMError failure = {};
  [values withEngineValues:^(const HMConstantValue *given, size_t count) {
    function = hm_function_create(_engine, [name UTF8String], given, count, &failure);
  }];
  if (!function) {
    NSError *told = hostmetal_error(MTLLibraryErrorDomain, &failure, nil);
    if (error) *error = told;
    return nil;
  }
  return [[HostMTLFunction alloc] initWithLibrary:self name:name engine:function missing:nil];
}

- (void)newFunctionWithName:(NSString *)name
             constantValues:(MTLFunctionConstantValues *)values
          completionHandler:(void (^)(id<MTLFunction>, NSError *))handler {
  HM_REQUIRE(name != nil, "the name must not be nil");
  HM_REQUIRE(values != nil, "the constant values must not be nil");
  HM_REQUIRE(handler != nil, "the completion handler must not be nil");
  NSString *nameCopy = [[name copy] autorelease];
  MTLFunctionConstantValues *valuesCopy = [[values copy] autorelease];
  hostmetal_async(^{
    NSError *error = nil;
    id<MTLFunction> function = [self newFunctionWithName:nameCopy constantValues:valuesCopy error:&error];
    handler([function autorelease], error);
  });
}

- (id<MTLFunction>)newFunctionWithDescriptor:(MTLFunctionDescriptor *)descriptor error:(NSError **)error {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  HM_REQUIRE([descriptor name] != nil, "the descriptor's name must not be nil");
  if (error) *error = nil;
  if ([descriptor options] & ~(MTLFunctionOptionFailOnBinaryArchiveMiss | MTLFunctionOptionCompileToBinary)) {
    if (error)
      *error = libraryError(MTLLibraryErrorUnsupported,
                            @"of MTLFunctionOptions hostmetal has only MTLFunctionOptionFailOnBinaryArchiveMiss and "
                             "MTLFunctionOptionCompileToBinary");
    return nil;
  }
  HostMTLFunction *function = nil;
  if ([descriptor constantValues]) {
    function = [self newFunctionWithName:[descriptor name] constantValues:[descriptor constantValues] error:error];
  } else if (!(function = [self newFunctionWithName:[descriptor name]])) {
    NSString *text = [NSString stringWithFormat:@"Function %@ was not found in the library", [descriptor name]];
    if (error) *error = libraryError(MTLLibraryErrorFunctionNotFound, text);
  }
  [function takeDescriptor:descriptor];
  return function;
}

- (void)newFunctionWithDescriptor:(MTLFunctionDescriptor *)descriptor
                completionHandler:(void (^)(id<MTLFunction>, NSError *))handler {
  HM_REQUIRE(descriptor != nil, "the descriptor must not be nil");
  HM_REQUIRE([descriptor name] != nil, "the descriptor's name must not be nil");
  HM_REQUIRE(handler != nil, "the completion handler must not be nil");
  MTLFunctionDescriptor *copy = [[descriptor copy] autorelease];
  hostmetal_async(^{
    NSError *error = nil;
    id<MTLFunction> function = [self newFunctionWithDescriptor:copy error:&error];
    handler([function autorelease], error);
  });
}

- (void)dealloc {
  hm_library_release(_engine);
  [_label release];
  [_installName release];
  [super dealloc];
}
@end

@implementation MTLFunctionDescriptor
@synthesize name = _name, specializedName = _specializedName, constantValues = _constantValues, options = _options,
            binaryArchives = _binaryArchives;

+ (MTLFunctionDescriptor *)functionDescriptor {
  return [[[self alloc] init] autorelease];
}

- (id)copyWithZone:(NSZone *)zone {
  MTLFunctionDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setName:_name];
  [copy setSpecializedName:_specializedName];
  [copy setConstantValues:_constantValues];
  [copy setOptions:_options];
  [copy setBinaryArchives:_binaryArchives];
  return copy;
}

- (void)dealloc {
  [_name release];
  [_specializedName release];
  [_constantValues release];
  [_binaryArchives release];
  [super dealloc];
}
@end

@implementation HostMTLFunction
@synthesize options = _options, label = _label;

- (instancetype)initWithLibrary:(HostMTLLibrary *)library
                           name:(NSString *)name
                         engine:(HMFunction)engine
                        missing:(NSError *)missing {
  if ((self = [super init])) {
    _library = [library retain];
    _name = [name copy];
    _engine = engine;
    _missing = [missing retain];
  }
  return self;
}

- (id<MTLDevice>)device {
  return [_library device];
}

- (NSString *)name {
  return _specializedName ? _specializedName : _name;
}

- (void)takeDescriptor:(MTLFunctionDescriptor *)descriptor {
  _options = [descriptor options];
  _specializedName = [[descriptor specializedName] copy];
  _binaryArchives = [[descriptor binaryArchives] copy];
}

- (MTLFunctionType)functionType {
  return hm_library_function_visible(_library->_engine, [_name UTF8String]) ? MTLFunctionTypeVisible : MTLFunctionTypeKernel;
}

- (NSDictionary<NSString *, MTLFunctionConstant *> *)functionConstantsDictionary {
  const char *const name = [_name UTF8String];
  const size_t count = hm_library_constant_count(_library->_engine, name);
  NSMutableDictionary *constants = [NSMutableDictionary dictionaryWithCapacity:count];
  for (size_t i = 0; i < count; i++) {
    HMConstantInfo info;
    if (!hm_library_constant(_library->_engine, name, i, &info)) continue;
    MTLFunctionConstant *constant = [[MTLFunctionConstant alloc] initWithInfo:&info];
    [constants setObject:constant forKey:[constant name]];
    [constant release];
  }
  return constants;
}

// nil when it has none, or when it needs values for its constants.
- (NSArray<MTLAttribute *> *)stageInputAttributes {
  NSMutableArray *attributes = [NSMutableArray array];
  HMAttribute info;
  for (size_t i = 0; _engine && hm_function_attribute(_engine, i, &info); i++)
    [attributes addObject:[[[MTLAttribute alloc] initWithInfo:&info] autorelease]];
  return [attributes count] ? attributes : nil;
}

// hostmetal's own: asked for by name (native/DCMetalLibrary.mm).
- (NSString *)hostmetalAnalysisWithError:(NSError **)error {
  if (error) *error = nil;
  if (!_engine) {
    if (error) *error = _missing;
    return nil;
  }
  HMError failure = {};
  char *const text = hm_function_analysis(_engine, &failure);
  if (!text) {
    NSError *told = hostmetal_error(MTLLibraryErrorDomain, &failure, nil);
    if (error) *error = told;
    return nil;
  }
  NSString *string = [NSString stringWithUTF8String:text];
  hm_string_release(text);
  return string;
}

- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)index {
  HM_REQUIRE(_engine != nullptr, "the function needs values for its constants");
  HostMTLDevice *device = (HostMTLDevice *)[self device];
  HMError failure = {};
  HMArguments arguments = hm_function_arguments(_engine, (uint32_t)index, &failure);
  NSError *error = failure.message ? hostmetal_error(MTLLibraryErrorDomain, &failure, nil) : nil;
  HM_REQUIRE(error == nil, [[error localizedDescription] UTF8String]);
  HM_REQUIRE(arguments != nullptr, "the function has no buffer argument at this index");
  return [[HostMTLArgumentEncoder alloc] initWithDevice:device engine:arguments];
}

// What the argument is, of a kernel that makes a pipeline as it is.
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)index reflection:(MTLAutoreleasedArgument *)reflection {
  id<MTLArgumentEncoder> encoder = [self newArgumentEncoderWithBufferIndex:index];
  if (!reflection) return encoder;
  *reflection = nil;
  MTLComputePipelineReflection *all = nil;
  const MTLPipelineOption options = MTLPipelineOptionBindingInfo | MTLPipelineOptionBufferTypeInfo;
  [[[self device] newComputePipelineStateWithFunction:self options:options reflection:&all error:nullptr] release];
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
  for (MTLArgument *argument in [all arguments])
    if ([argument type] == MTLArgumentTypeBuffer && [argument index] == index) *reflection = argument;
#pragma clang diagnostic pop
  return encoder;
}

- (void)dealloc {
  if (_engine) hm_function_release(_engine);
  [_missing release];
  [_library release];
  [_name release];
  [_specializedName release];
  [_binaryArchives release];
  [_label release];
  [super dealloc];
}
@end
