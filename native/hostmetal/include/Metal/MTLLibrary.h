// Compiled source, its functions and compile options. https://developer.apple.com/documentation/metal/mtllibrary
#pragma once
#import <Metal/MTLArgument.h>
#import <Metal/MTLDataType.h>
#import <Metal/MTLFunctionDescriptor.h>
#import <Metal/MTLTypes.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLArgumentEncoder, MTLDevice, MTLDynamicLibrary, MTLFunction;
@class MTLFunctionConstantValues;

typedef NS_ENUM(NSUInteger, MTLFunctionType) {
  MTLFunctionTypeVertex = 1,
  MTLFunctionTypeFragment = 2,
  MTLFunctionTypeKernel = 3,
  MTLFunctionTypeVisible = 5,
} API_AVAILABLE(macos(10.11));

typedef NS_ENUM(NSUInteger, MTLLanguageVersion) {
  MTLLanguageVersion1_0 API_UNAVAILABLE(macos) = (1 << 16),  // of iOS alone; asked for, a library fails
  MTLLanguageVersion1_1 = (1 << 16) + 1,
  MTLLanguageVersion1_2 = (1 << 16) + 2,
  MTLLanguageVersion2_0 = (2 << 16),
  MTLLanguageVersion2_1 = (2 << 16) + 1,
  MTLLanguageVersion2_2 = (2 << 16) + 2,
  MTLLanguageVersion2_3 = (2 << 16) + 3,
  MTLLanguageVersion2_4 = (2 << 16) + 4,
  MTLLanguageVersion3_0 = (3 << 16) + 0,
  MTLLanguageVersion3_1 = (3 << 16) + 1,
  MTLLanguageVersion3_2 = (3 << 16) + 2,
  MTLLanguageVersion4_0 API_AVAILABLE(macos(26.0)) = (4 << 16) + 0,
} API_AVAILABLE(macos(10.11));

typedef NS_ENUM(NSInteger, MTLLibraryType) {
  MTLLibraryTypeExecutable = 0,
  MTLLibraryTypeDynamic = 1,
} API_AVAILABLE(macos(11.0));

typedef NS_ENUM(NSInteger, MTLMathMode) {
  MTLMathModeSafe = 0,
  MTLMathModeRelaxed = 1,
  MTLMathModeFast = 2,
} API_AVAILABLE(macos(15.0));

typedef NS_ENUM(NSInteger, MTLMathFloatingPointFunctions) {
  MTLMathFloatingPointFunctionsFast = 0,
  MTLMathFloatingPointFunctionsPrecise = 1,
} API_AVAILABLE(macos(15.0));

typedef NS_ENUM(NSInteger, MTLLibraryOptimizationLevel) {
  MTLLibraryOptimizationLevelDefault = 0,
  MTLLibraryOptimizationLevelSize = 1,
} API_AVAILABLE(macos(13.0));

typedef NS_ENUM(NSInteger, MTLCompileSymbolVisibility) {
  MTLCompileSymbolVisibilityDefault = 0,
  MTLCompileSymbolVisibilityHidden = 1,
} API_AVAILABLE(macos(13.3));

MTL_EXTERN NSErrorDomain const MTLLibraryErrorDomain API_AVAILABLE(macos(10.11));

typedef NS_ENUM(NSUInteger, MTLLibraryError) {
  MTLLibraryErrorUnsupported = 1,
  MTLLibraryErrorInternal = 2,
  MTLLibraryErrorCompileFailure = 3,
  MTLLibraryErrorCompileWarning = 4,
  MTLLibraryErrorFunctionNotFound = 5,
  MTLLibraryErrorFileNotFound = 6,
} API_AVAILABLE(macos(10.11));

// mathMode starts as MTLMathModeFast; fastMathEnabled is the older view of it and of mathFloatingPointFunctions: NO is
// MTLMathModeSafe with precise functions.
//
// preserveInvariance is about vertices; optimizationLevel changes nothing here, compileSymbolVisibility only dynamic libraries.
MTL_EXPORT API_AVAILABLE(macos(10.11))
@interface MTLCompileOptions : NSObject <NSCopying> {
  NSDictionary<NSString *, NSObject *> *_preprocessorMacros;
  NSInteger _mathMode;                    // MTLMathMode
  NSInteger _mathFloatingPointFunctions;  // MTLMathFloatingPointFunctions
  MTLLanguageVersion _languageVersion;
  NSInteger _libraryType;  // MTLLibraryType
  NSString *_installName;
  NSArray<id<MTLDynamicLibrary>> *_libraries;
  BOOL _preserveInvariance;
  NSInteger _optimizationLevel;        // MTLLibraryOptimizationLevel
  NSInteger _compileSymbolVisibility;  // MTLCompileSymbolVisibility
  BOOL _allowReferencingUndefinedSymbols;
  NSUInteger _maxTotalThreadsPerThreadgroup;
  BOOL _enableLogging;
  MTLSize _requiredThreadsPerThreadgroup;
}
@property(nullable, readwrite, copy, nonatomic) NSDictionary<NSString *, NSObject *> *preprocessorMacros;
@property(readwrite, nonatomic) BOOL fastMathEnabled API_DEPRECATED("Use mathMode instead", macos(10.11, 15.0));
@property(readwrite, nonatomic) MTLMathMode mathMode API_AVAILABLE(macos(15.0));
@property(nonatomic) MTLMathFloatingPointFunctions mathFloatingPointFunctions API_AVAILABLE(macos(15.0));
@property(readwrite, nonatomic) MTLLanguageVersion languageVersion API_AVAILABLE(macos(10.11));
@property(readwrite, nonatomic) MTLLibraryType libraryType API_AVAILABLE(macos(11.0));
@property(readwrite, nullable, copy, nonatomic) NSString *installName API_AVAILABLE(macos(11.0));
@property(readwrite, nullable, copy, nonatomic) NSArray<id<MTLDynamicLibrary>> *libraries API_AVAILABLE(macos(11.0));
@property(readwrite, nonatomic) BOOL preserveInvariance API_AVAILABLE(macos(11.0));
@property(readwrite, nonatomic) MTLLibraryOptimizationLevel optimizationLevel API_AVAILABLE(macos(13.0));
@property(readwrite, nonatomic) MTLCompileSymbolVisibility compileSymbolVisibility API_AVAILABLE(macos(13.3));
@property(readwrite, nonatomic) BOOL allowReferencingUndefinedSymbols API_AVAILABLE(macos(13.3));
@property(readwrite, nonatomic) NSUInteger maxTotalThreadsPerThreadgroup API_AVAILABLE(macos(13.3));
@property(readwrite, nonatomic) BOOL enableLogging API_AVAILABLE(macos(15.0));
// Of every dispatch of every kernel; zeros for any size.
@property(readwrite, nonatomic) MTLSize requiredThreadsPerThreadgroup API_AVAILABLE(macos(26.0));
@end

MTL_EXPORT API_AVAILABLE(macos(10.12))
@interface MTLFunctionConstant : NSObject {
  NSString *_name;
  MTLDataType _type;
  NSUInteger _index;
  BOOL _required;
}
@property(readonly) NSString *name;
@property(readonly) MTLDataType type;
@property(readonly) NSUInteger index;
@property(readonly) BOOL required;
@end

// A member of the structure that a kernel takes as [[stage_in]].
MTL_EXPORT API_AVAILABLE(macos(10.12))
@interface MTLAttribute : NSObject {
  NSString *_name;
  NSUInteger _attributeIndex;
  MTLDataType _attributeType;
  BOOL _active;
}
@property(readonly) NSString *name;
@property(readonly) NSUInteger attributeIndex;
@property(readonly) MTLDataType attributeType;
@property(readonly, getter=isActive) BOOL active;
@property(readonly, getter=isPatchData) BOOL patchData;
@property(readonly, getter=isPatchControlPointData) BOOL patchControlPointData;
@end

API_AVAILABLE(macos(10.11))
@protocol MTLFunction <NSObject>
@property(nullable, copy, atomic) NSString *label API_AVAILABLE(macos(10.12));
@property(readonly) id<MTLDevice> device;
@property(readonly) MTLFunctionType functionType;
@property(readonly) NSString *name;
@property(nullable, readonly) NSArray<MTLAttribute *> *stageInputAttributes API_AVAILABLE(macos(10.12));
@property(readonly)
    NSDictionary<NSString *, MTLFunctionConstant *> *functionConstantsDictionary API_AVAILABLE(macos(10.12));
@property(readonly) MTLFunctionOptions options API_AVAILABLE(macos(11.0));
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)bufferIndex API_AVAILABLE(macos(10.13));
// The reflection is nil of a kernel that needs more than itself for a pipeline.
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)bufferIndex
                                                 reflection:(MTLAutoreleasedArgument *_Nullable)reflection
    API_DEPRECATED("Use MTLDevice's newArgumentEncoderWithBufferBinding: instead", macos(10.13, 13.0));
@end

API_AVAILABLE(macos(10.11))
@protocol MTLLibrary <NSObject>
@property(nullable, copy, atomic) NSString *label;
@property(readonly) id<MTLDevice> device;
@property(readonly) NSArray<NSString *> *functionNames;
@property(readonly) MTLLibraryType type API_AVAILABLE(macos(11.0));
@property(readonly, nullable) NSString *installName API_AVAILABLE(macos(11.0));
- (nullable id<MTLFunction>)newFunctionWithName:(NSString *)functionName;
- (nullable id<MTLFunction>)newFunctionWithName:(NSString *)name
                                 constantValues:(MTLFunctionConstantValues *)constantValues
                                          error:(__autoreleasing NSError **)error API_AVAILABLE(macos(10.12));
- (void)newFunctionWithName:(NSString *)name
             constantValues:(MTLFunctionConstantValues *)constantValues
          completionHandler:(void (^)(id<MTLFunction> _Nullable function, NSError *_Nullable error))completionHandler
    API_AVAILABLE(macos(10.12));
- (nullable id<MTLFunction>)newFunctionWithDescriptor:(MTLFunctionDescriptor *)descriptor
                                                error:(__autoreleasing NSError **)error API_AVAILABLE(macos(11.0));
- (void)newFunctionWithDescriptor:(MTLFunctionDescriptor *)descriptor
                completionHandler:(void (^)(id<MTLFunction> _Nullable function, NSError *_Nullable error))completionHandler
    API_AVAILABLE(macos(11.0));
@end

NS_ASSUME_NONNULL_END
