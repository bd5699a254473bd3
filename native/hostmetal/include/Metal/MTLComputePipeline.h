// Kernels ready to run. https://developer.apple.com/documentation/metal/mtlcomputepipelinestate
#pragma once
#import <Metal/MTLArgument.h>
#import <Metal/MTLPipeline.h>
#import <Metal/MTLTypes.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLBinaryArchive, MTLDevice, MTLDynamicLibrary, MTLFunction, MTLFunctionHandle, MTLVisibleFunctionTable;
@class MTLLinkedFunctions, MTLVisibleFunctionTableDescriptor, MTLStageInputOutputDescriptor;

MTL_EXPORT API_AVAILABLE(macos(10.11))
@interface MTLComputePipelineReflection : NSObject {
  NSArray<id<MTLBinding>> *_bindings;
}
@property(readonly) NSArray<id<MTLBinding>> *bindings API_AVAILABLE(macos(13.0));
@property(readonly) NSArray<MTLArgument *> *arguments API_DEPRECATED_WITH_REPLACEMENT("bindings", macos(10.11, 13.0));
@end

// maxCallStackDepth changes nothing: calls may be as deep as the stack is.
MTL_EXPORT API_AVAILABLE(macos(10.11))
@interface MTLComputePipelineDescriptor : NSObject <NSCopying> {
  NSString *_label;
  id<MTLFunction> _computeFunction;
  BOOL _threadGroupSizeIsMultipleOfThreadExecutionWidth;
  NSUInteger _maxTotalThreadsPerThreadgroup;
  MTLStageInputOutputDescriptor *_stageInputDescriptor;
  MTLPipelineBufferDescriptorArray *_buffers;
  NSArray<id<MTLBinaryArchive>> *_binaryArchives;
  NSArray<id<MTLDynamicLibrary>> *_preloadedLibraries;  // insertLibraries are the same ones
  MTLLinkedFunctions *_linkedFunctions;
  BOOL _supportAddingBinaryFunctions;
  NSUInteger _maxCallStackDepth;
  BOOL _supportIndirectCommandBuffers;
  NSInteger _shaderValidation;  // MTLShaderValidation
  MTLSize _requiredThreadsPerThreadgroup;
}
@property(nullable, copy, nonatomic) NSString *label;
@property(nullable, readwrite, nonatomic, strong) id<MTLFunction> computeFunction;
@property(readwrite, nonatomic) BOOL threadGroupSizeIsMultipleOfThreadExecutionWidth;
@property(readwrite, nonatomic) NSUInteger maxTotalThreadsPerThreadgroup API_AVAILABLE(macos(10.14));
@property(nullable, copy, nonatomic) MTLStageInputOutputDescriptor *stageInputDescriptor API_AVAILABLE(macos(10.12));
@property(readonly) MTLPipelineBufferDescriptorArray *buffers API_AVAILABLE(macos(10.13));
@property(readwrite, nullable, nonatomic, copy) NSArray<id<MTLBinaryArchive>> *binaryArchives API_AVAILABLE(macos(11.0));
@property(readwrite, nullable, nonatomic, copy) NSArray<id<MTLDynamicLibrary>> *insertLibraries
    API_DEPRECATED_WITH_REPLACEMENT("preloadedLibraries", macos(11.0, 12.0));
@property(readwrite, nonnull, nonatomic, copy) NSArray<id<MTLDynamicLibrary>> *preloadedLibraries API_AVAILABLE(macos(12.0));
@property(null_resettable, copy, nonatomic) MTLLinkedFunctions *linkedFunctions API_AVAILABLE(macos(11.0));
@property(readwrite, nonatomic) BOOL supportAddingBinaryFunctions API_AVAILABLE(macos(11.0));
@property(readwrite, nonatomic) NSUInteger maxCallStackDepth API_AVAILABLE(macos(11.0));
@property(readwrite, nonatomic) BOOL supportIndirectCommandBuffers API_AVAILABLE(macos(11.0));
// Changes nothing: there is no such validation.
@property(readwrite, nonatomic) MTLShaderValidation shaderValidation API_AVAILABLE(macos(15.0));
// Of every dispatch; zeros for any size.
@property(readwrite, nonatomic) MTLSize requiredThreadsPerThreadgroup API_AVAILABLE(macos(26.0));
- (void)reset;
@end

API_AVAILABLE(macos(10.11))
@protocol MTLComputePipelineState <NSObject>
@property(nullable, readonly) NSString *label API_AVAILABLE(macos(10.13));
@property(readonly) id<MTLDevice> device;
@property(readonly) NSUInteger maxTotalThreadsPerThreadgroup;
@property(readonly) NSUInteger threadExecutionWidth;
@property(readonly) MTLSize requiredThreadsPerThreadgroup API_AVAILABLE(macos(26.0));
@property(readonly) NSUInteger staticThreadgroupMemoryLength API_AVAILABLE(macos(10.13));
- (NSUInteger)imageblockMemoryLengthForDimensions:(MTLSize)imageblockDimensions API_AVAILABLE(macos(11.0));
@property(readonly) BOOL supportIndirectCommandBuffers API_AVAILABLE(macos(11.0));
@property(readonly, nonatomic) MTLShaderValidation shaderValidation API_AVAILABLE(macos(15.0));  // always disabled
@property(readonly) MTLResourceID gpuResourceID API_AVAILABLE(macos(13.0));
@property(nullable, readonly) MTLComputePipelineReflection *reflection API_AVAILABLE(macos(26.0));
- (nullable id<MTLFunctionHandle>)functionHandleWithFunction:(id<MTLFunction>)function API_AVAILABLE(macos(11.0));
// Of the linked functions.
- (nullable id<MTLFunctionHandle>)functionHandleWithName:(NSString *)name API_AVAILABLE(macos(26.0));
- (nullable id<MTLComputePipelineState>)
    newComputePipelineStateWithAdditionalBinaryFunctions:(NSArray<id<MTLFunction>> *)functions
                                                   error:(__autoreleasing NSError **)error API_AVAILABLE(macos(11.0));
- (nullable id<MTLVisibleFunctionTable>)newVisibleFunctionTableWithDescriptor:(MTLVisibleFunctionTableDescriptor *)descriptor
    API_AVAILABLE(macos(11.0));
@end

NS_ASSUME_NONNULL_END
