// Devices and what they make. https://developer.apple.com/documentation/metal/mtldevice
#pragma once
#import <Metal/MTLComputePipeline.h>
#import <Metal/MTLCounters.h>
#import <Metal/MTLIOCompressor.h>
#import <Metal/MTLLibrary.h>
#import <Metal/MTLPixelFormat.h>
#import <Metal/MTLResource.h>
#import <Metal/MTLTypes.h>
#import <dispatch/dispatch.h>

NS_ASSUME_NONNULL_BEGIN

@class MTLBinaryArchiveDescriptor, MTLHeapDescriptor, MTLResidencySetDescriptor, MTLSamplerDescriptor, MTLTextureDescriptor;
@protocol MTLBinaryArchive, MTLDevice, MTLDynamicLibrary, MTLCommandQueue, MTLBuffer, MTLHeap, MTLResidencySet, MTLSamplerState, MTLTexture;
@class MTLCommandQueueDescriptor, MTLLogStateDescriptor, MTLSharedEventHandle, MTLSharedTextureHandle;
@protocol MTLEvent, MTLFence, MTLLogState, MTLSharedEvent;
@class MTLIOCommandQueueDescriptor;
@protocol MTLIOCommandQueue, MTLIOFileHandle;

// The first device; +1. nil on a machine without one.
MTL_EXTERN id<MTLDevice> _Nullable MTLCreateSystemDefaultDevice(void) API_AVAILABLE(macos(10.11)) NS_RETURNS_RETAINED;
MTL_EXTERN NSArray<id<MTLDevice>> *MTLCopyAllDevices(void) API_AVAILABLE(macos(10.11)) NS_RETURNS_RETAINED;

typedef NSString *MTLDeviceNotificationName;
MTL_EXTERN MTLDeviceNotificationName const MTLDeviceWasAddedNotification API_AVAILABLE(macos(10.13));
MTL_EXTERN MTLDeviceNotificationName const MTLDeviceRemovalRequestedNotification API_AVAILABLE(macos(10.13));
MTL_EXTERN MTLDeviceNotificationName const MTLDeviceWasRemovedNotification API_AVAILABLE(macos(10.13));
typedef void (^MTLDeviceNotificationHandler)(id<MTLDevice> device, MTLDeviceNotificationName notifyName);
// observer is +1 and given to MTLRemoveDeviceObserver at the end.
MTL_EXTERN NSArray<id<MTLDevice>> *MTLCopyAllDevicesWithObserver(id<NSObject> _Nullable *_Nonnull observer,
                                                                 MTLDeviceNotificationHandler handler)
    API_AVAILABLE(macos(10.13)) NS_RETURNS_RETAINED;
MTL_EXTERN void MTLRemoveDeviceObserver(id<NSObject> observer) API_AVAILABLE(macos(10.13));

typedef NS_ENUM(NSInteger, MTLGPUFamily) {
  MTLGPUFamilyApple1 = 1001,
  MTLGPUFamilyApple2 = 1002,
  MTLGPUFamilyApple3 = 1003,
  MTLGPUFamilyApple4 = 1004,
  MTLGPUFamilyApple5 = 1005,
  MTLGPUFamilyApple6 = 1006,
  MTLGPUFamilyApple7 = 1007,
  MTLGPUFamilyApple8 = 1008,
  MTLGPUFamilyApple9 = 1009,
  MTLGPUFamilyApple10 = 1010,
  MTLGPUFamilyMac1 = 2001,
  MTLGPUFamilyMac2 = 2002,
  MTLGPUFamilyCommon1 = 3001,
  MTLGPUFamilyCommon2 = 3002,
  MTLGPUFamilyCommon3 = 3003,
  MTLGPUFamilyMacCatalyst1 = 4001,
  MTLGPUFamilyMacCatalyst2 = 4002,
  MTLGPUFamilyMetal3 = 5001,
  MTLGPUFamilyMetal4 = 5002,
} API_AVAILABLE(macos(10.15));

typedef NS_ENUM(NSUInteger, MTLDeviceLocation) {
  MTLDeviceLocationBuiltIn = 0,
  MTLDeviceLocationSlot = 1,
  MTLDeviceLocationExternal = 2,
  MTLDeviceLocationUnspecified = NSUIntegerMax,
} API_AVAILABLE(macos(10.15));

typedef NS_ENUM(NSUInteger, MTLArgumentBuffersTier) {
  MTLArgumentBuffersTier1 = 0,
  MTLArgumentBuffersTier2 = 1,
} API_AVAILABLE(macos(10.13));

typedef NS_ENUM(NSUInteger, MTLReadWriteTextureTier) {
  MTLReadWriteTextureTierNone = 0,
  MTLReadWriteTextureTier1 = 1,
  MTLReadWriteTextureTier2 = 2,
} API_AVAILABLE(macos(10.13));

// Of a resource in a heap.
typedef struct {
  NSUInteger size;
  NSUInteger align;
} MTLSizeAndAlign;

typedef NS_ENUM(NSUInteger, MTLCounterSamplingPoint) {
  MTLCounterSamplingPointAtStageBoundary = 0,
  MTLCounterSamplingPointAtDrawBoundary = 1,
  MTLCounterSamplingPointAtDispatchBoundary = 2,
  MTLCounterSamplingPointAtTileDispatchBoundary = 3,
  MTLCounterSamplingPointAtBlitBoundary = 4,
} API_AVAILABLE(macos(11.0));

typedef uint64_t MTLTimestamp;

typedef NS_OPTIONS(NSUInteger, MTLPipelineOption) {
  MTLPipelineOptionNone = 0,
  MTLPipelineOptionArgumentInfo = 1 << 0,
  MTLPipelineOptionBindingInfo = 1 << 0,
  MTLPipelineOptionBufferTypeInfo = 1 << 1,
  MTLPipelineOptionFailOnBinaryArchiveMiss = 1 << 2,
} API_AVAILABLE(macos(10.11));

typedef __autoreleasing MTLComputePipelineReflection *_Nullable MTLAutoreleasedComputePipelineReflection;

typedef void (^MTLNewLibraryCompletionHandler)(id<MTLLibrary> _Nullable library, NSError *_Nullable error);
typedef void (^MTLNewComputePipelineStateCompletionHandler)(id<MTLComputePipelineState> _Nullable computePipelineState,
                                                            NSError *_Nullable error);

typedef void (^MTLNewComputePipelineStateWithReflectionCompletionHandler)(
    id<MTLComputePipelineState> _Nullable computePipelineState,
    MTLComputePipelineReflection *_Nullable_result reflection, NSError *_Nullable error);

MTL_EXPORT API_AVAILABLE(macos(14.0))
@interface MTLArchitecture : NSObject <NSCopying> {
 @private
  NSString *_name;
}
@property(readonly) NSString *name;
@end

@class MTLIndirectCommandBufferDescriptor, MTLStitchedLibraryDescriptor;
@protocol MTLArgumentEncoder, MTLIndirectCommandBuffer;

// An argument of an argument buffer that no structure of a kernel describes.
MTL_EXPORT API_AVAILABLE(macos(10.13))
@interface MTLArgumentDescriptor : NSObject <NSCopying> {
  MTLDataType _dataType;
  NSUInteger _index, _arrayLength, _constantBlockAlignment;
  MTLBindingAccess _access;
  MTLTextureType _textureType;
}
+ (MTLArgumentDescriptor *)argumentDescriptor;
@property(nonatomic) MTLDataType dataType;
@property(nonatomic) NSUInteger index;
@property(nonatomic) NSUInteger arrayLength;
@property(nonatomic) MTLBindingAccess access;
@property(nonatomic) MTLTextureType textureType;
@property(nonatomic) NSUInteger constantBlockAlignment;
@end

// What families are now; those of Macs.
typedef NS_ENUM(NSUInteger, MTLFeatureSet) {
  MTLFeatureSet_macOS_GPUFamily1_v1 = 10000,
  MTLFeatureSet_OSX_GPUFamily1_v1 = MTLFeatureSet_macOS_GPUFamily1_v1,
  MTLFeatureSet_macOS_GPUFamily1_v2 = 10001,
  MTLFeatureSet_OSX_GPUFamily1_v2 = MTLFeatureSet_macOS_GPUFamily1_v2,
  MTLFeatureSet_macOS_ReadWriteTextureTier2 = 10002,
  MTLFeatureSet_OSX_ReadWriteTextureTier2 = MTLFeatureSet_macOS_ReadWriteTextureTier2,
  MTLFeatureSet_macOS_GPUFamily1_v3 = 10003,
  MTLFeatureSet_macOS_GPUFamily1_v4 = 10004,
  MTLFeatureSet_macOS_GPUFamily2_v1 = 10005,
} API_AVAILABLE(macos(10.11));

API_AVAILABLE(macos(10.11))
@protocol MTLDevice <NSObject>
@property(readonly) NSString *name;
@property(readonly) uint64_t registryID API_AVAILABLE(macos(10.13));
@property(readonly) MTLArchitecture *architecture API_AVAILABLE(macos(14.0));
@property(readonly) MTLSize maxThreadsPerThreadgroup API_AVAILABLE(macos(10.11));
@property(readonly, getter=isLowPower) BOOL lowPower API_AVAILABLE(macos(10.11));
@property(readonly, getter=isHeadless) BOOL headless API_AVAILABLE(macos(10.11));
@property(readonly, getter=isRemovable) BOOL removable API_AVAILABLE(macos(10.13));
@property(readonly) BOOL hasUnifiedMemory API_AVAILABLE(macos(10.15));
@property(readonly) uint64_t recommendedMaxWorkingSetSize API_AVAILABLE(macos(10.12));
@property(readonly) MTLDeviceLocation location API_AVAILABLE(macos(10.15));
@property(readonly) NSUInteger locationNumber API_AVAILABLE(macos(10.15));
@property(readonly) uint64_t peerGroupID API_AVAILABLE(macos(10.15));
@property(readonly) uint32_t peerIndex API_AVAILABLE(macos(10.15));
@property(readonly) uint32_t peerCount API_AVAILABLE(macos(10.15));
@property(readonly) uint64_t maxTransferRate API_AVAILABLE(macos(10.15));
@property(readonly) NSUInteger currentAllocatedSize API_AVAILABLE(macos(10.13));
@property(readonly) NSUInteger maxThreadgroupMemoryLength API_AVAILABLE(macos(10.13));
@property(readonly) NSUInteger maxBufferLength API_AVAILABLE(macos(10.14));
@property(readonly) MTLReadWriteTextureTier readWriteTextureSupport API_AVAILABLE(macos(10.13));
@property(readonly) MTLArgumentBuffersTier argumentBuffersSupport API_AVAILABLE(macos(10.13));
@property(readonly) NSUInteger maxArgumentBufferSamplerCount API_AVAILABLE(macos(10.14));
@property(readonly) BOOL supports32BitFloatFiltering API_AVAILABLE(macos(11.0));
@property(readonly, getter=isDepth24Stencil8PixelFormatSupported) BOOL depth24Stencil8PixelFormatSupported
    API_AVAILABLE(macos(10.11));
@property(readonly, getter=areRasterOrderGroupsSupported) BOOL rasterOrderGroupsSupported API_AVAILABLE(macos(10.13));
@property(readonly, getter=areProgrammableSamplePositionsSupported) BOOL programmableSamplePositionsSupported
    API_AVAILABLE(macos(10.13));
@property(readonly) BOOL supports32BitMSAA API_AVAILABLE(macos(11.0));
@property(readonly) BOOL supportsQueryTextureLOD API_AVAILABLE(macos(11.0));
@property(readonly) BOOL supportsBCTextureCompression API_AVAILABLE(macos(11.0));
@property(readonly) BOOL supportsPullModelInterpolation API_AVAILABLE(macos(11.0));
@property(readonly) BOOL supportsShaderBarycentricCoordinates API_AVAILABLE(macos(10.15));
@property(readonly) BOOL supportsRaytracing API_AVAILABLE(macos(11.0));
@property(readonly) BOOL supportsRaytracingFromRender API_AVAILABLE(macos(12.0));
@property(readonly) BOOL supportsPrimitiveMotionBlur API_AVAILABLE(macos(11.0));
@property(readonly) BOOL supportsFunctionPointers API_AVAILABLE(macos(11.0));
@property(readonly) BOOL supportsFunctionPointersFromRender API_AVAILABLE(macos(12.0));
@property(readonly) BOOL supportsPlacementSparse API_AVAILABLE(macos(26.4));

- (nullable id<MTLCommandQueue>)newCommandQueue;
- (nullable id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)maxCommandBufferCount;
- (nullable id<MTLCommandQueue>)newCommandQueueWithDescriptor:(MTLCommandQueueDescriptor *)descriptor
    API_AVAILABLE(macos(15.0));

- (nullable id<MTLLogState>)newLogStateWithDescriptor:(MTLLogStateDescriptor *)descriptor
                                                error:(__autoreleasing NSError **)error API_AVAILABLE(macos(15.0));

- (nullable id<MTLIOCommandQueue>)newIOCommandQueueWithDescriptor:(MTLIOCommandQueueDescriptor *)descriptor
                                                            error:(__autoreleasing NSError **)error
    API_AVAILABLE(macos(13.0));
- (nullable id<MTLIOFileHandle>)newIOFileHandleWithURL:(NSURL *)url
                                                 error:(__autoreleasing NSError **)error API_AVAILABLE(macos(14.0));
// An error: the files are of a format of Apple's.
- (nullable id<MTLIOFileHandle>)newIOFileHandleWithURL:(NSURL *)url
                                     compressionMethod:(MTLIOCompressionMethod)compressionMethod
                                                 error:(__autoreleasing NSError **)error API_AVAILABLE(macos(14.0));
- (nullable id<MTLIOFileHandle>)newIOHandleWithURL:(NSURL *)url
                                             error:(__autoreleasing NSError **)error
    API_DEPRECATED_WITH_REPLACEMENT("newIOFileHandleWithURL:error:", macos(13.0, 14.0));
- (nullable id<MTLIOFileHandle>)newIOHandleWithURL:(NSURL *)url
                                 compressionMethod:(MTLIOCompressionMethod)compressionMethod
                                             error:(__autoreleasing NSError **)error
    API_DEPRECATED_WITH_REPLACEMENT("newIOFileHandleWithURL:compressionMethod:error:", macos(13.0, 14.0));

- (nullable id<MTLFence>)newFence API_AVAILABLE(macos(10.13));
- (nullable id<MTLEvent>)newEvent API_AVAILABLE(macos(10.14));
- (nullable id<MTLSharedEvent>)newSharedEvent API_AVAILABLE(macos(10.14));
- (nullable id<MTLSharedEvent>)newSharedEventWithHandle:(MTLSharedEventHandle *)sharedEventHandle
    API_AVAILABLE(macos(10.14));

@property(nullable, readonly) NSArray<id<MTLCounterSet>> *counterSets API_AVAILABLE(macos(10.15));
- (nullable id<MTLCounterSampleBuffer>)
    newCounterSampleBufferWithDescriptor:(MTLCounterSampleBufferDescriptor *)descriptor
                                   error:(__autoreleasing NSError **)error API_AVAILABLE(macos(10.15));
- (BOOL)supportsCounterSampling:(MTLCounterSamplingPoint)samplingPoint API_AVAILABLE(macos(11.0));
// Both are times of one clock, in nanoseconds.
- (void)sampleTimestamps:(MTLTimestamp *)cpuTimestamp
            gpuTimestamp:(MTLTimestamp *)gpuTimestamp API_AVAILABLE(macos(10.15));
- (uint64_t)queryTimestampFrequency API_AVAILABLE(macos(26.0));  // ticks of that clock in a second

- (nullable id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
- (nullable id<MTLBuffer>)newBufferWithBytes:(const void *)pointer
                                      length:(NSUInteger)length
                                     options:(MTLResourceOptions)options;
- (nullable id<MTLBuffer>)newBufferWithBytesNoCopy:(void *)pointer
                                            length:(NSUInteger)length
                                           options:(MTLResourceOptions)options
                                       deallocator:(void (^_Nullable)(void *pointer, NSUInteger length))deallocator;

- (MTLSizeAndAlign)heapTextureSizeAndAlignWithDescriptor:(MTLTextureDescriptor *)desc API_AVAILABLE(macos(10.13));
- (MTLSizeAndAlign)heapBufferSizeAndAlignWithLength:(NSUInteger)length
                                            options:(MTLResourceOptions)options API_AVAILABLE(macos(10.13));
- (nullable id<MTLHeap>)newHeapWithDescriptor:(MTLHeapDescriptor *)descriptor API_AVAILABLE(macos(10.13));
- (nullable id<MTLResidencySet>)newResidencySetWithDescriptor:(MTLResidencySetDescriptor *)desc
                                                        error:(__autoreleasing NSError **)error API_AVAILABLE(macos(15.0));

- (nullable id<MTLTexture>)newTextureWithDescriptor:(MTLTextureDescriptor *)descriptor;
// Of private storage. Its handle serves in this process.
- (nullable id<MTLTexture>)newSharedTextureWithDescriptor:(MTLTextureDescriptor *)descriptor API_AVAILABLE(macos(10.14));
- (nullable id<MTLTexture>)newSharedTextureWithHandle:(MTLSharedTextureHandle *)sharedHandle API_AVAILABLE(macos(10.14));
- (nullable id<MTLSamplerState>)newSamplerStateWithDescriptor:(MTLSamplerDescriptor *)descriptor;
- (nullable id<MTLIndirectCommandBuffer>)newIndirectCommandBufferWithDescriptor:(MTLIndirectCommandBufferDescriptor *)descriptor
                                                                maxCommandCount:(NSUInteger)maxCount
                                                                        options:(MTLResourceOptions)options
    API_AVAILABLE(macos(10.14));
- (nullable id<MTLArgumentEncoder>)newArgumentEncoderWithArguments:(NSArray<MTLArgumentDescriptor *> *)arguments
    API_AVAILABLE(macos(10.13));
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferBinding:(id<MTLBufferBinding>)bufferBinding API_AVAILABLE(macos(13.0));
- (NSUInteger)minimumLinearTextureAlignmentForPixelFormat:(MTLPixelFormat)format API_AVAILABLE(macos(10.13));
- (NSUInteger)minimumTextureBufferAlignmentForPixelFormat:(MTLPixelFormat)format API_AVAILABLE(macos(10.14));

// A library file of hostmetal is MSL source; what Apple's tools make is code for Apple's GPUs and an error.
- (nullable id<MTLLibrary>)newDefaultLibrary;
- (nullable id<MTLLibrary>)newDefaultLibraryWithBundle:(NSBundle *)bundle
                                                 error:(__autoreleasing NSError **)error API_AVAILABLE(macos(10.12));
- (nullable id<MTLLibrary>)newLibraryWithFile:(NSString *)filepath
                                        error:(__autoreleasing NSError **)error
    API_DEPRECATED("Use -newLibraryWithURL:error: instead", macos(10.11, 13.0));
- (nullable id<MTLLibrary>)newLibraryWithURL:(NSURL *)url
                                       error:(__autoreleasing NSError **)error API_AVAILABLE(macos(10.13));
- (nullable id<MTLLibrary>)newLibraryWithData:(dispatch_data_t)data error:(__autoreleasing NSError **)error;
- (nullable id<MTLLibrary>)newLibraryWithSource:(NSString *)source
                                        options:(nullable MTLCompileOptions *)options
                                          error:(__autoreleasing NSError **)error;
- (void)newLibraryWithSource:(NSString *)source
                     options:(nullable MTLCompileOptions *)options
           completionHandler:(MTLNewLibraryCompletionHandler)completionHandler;
- (nullable id<MTLLibrary>)newLibraryWithStitchedDescriptor:(MTLStitchedLibraryDescriptor *)descriptor
                                                      error:(__autoreleasing NSError **)error API_AVAILABLE(macos(12.0));
- (void)newLibraryWithStitchedDescriptor:(MTLStitchedLibraryDescriptor *)descriptor
                       completionHandler:(MTLNewLibraryCompletionHandler)completionHandler API_AVAILABLE(macos(12.0));

- (nullable id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)computeFunction
                                                                      error:(__autoreleasing NSError **)error;
- (nullable id<MTLComputePipelineState>)
    newComputePipelineStateWithFunction:(id<MTLFunction>)computeFunction
                                options:(MTLPipelineOption)options
                             reflection:(MTLAutoreleasedComputePipelineReflection *_Nullable)reflection
                                  error:(__autoreleasing NSError **)error;
- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)computeFunction
                          completionHandler:(MTLNewComputePipelineStateCompletionHandler)completionHandler;
- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)computeFunction
                                    options:(MTLPipelineOption)options
                          completionHandler:(MTLNewComputePipelineStateWithReflectionCompletionHandler)completionHandler;
- (nullable id<MTLComputePipelineState>)
    newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                  options:(MTLPipelineOption)options
                               reflection:(MTLAutoreleasedComputePipelineReflection *_Nullable)reflection
                                    error:(__autoreleasing NSError **)error API_AVAILABLE(macos(10.11));
- (void)newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                      options:(MTLPipelineOption)options
                            completionHandler:(MTLNewComputePipelineStateWithReflectionCompletionHandler)completionHandler
    API_AVAILABLE(macos(10.11));

- (nullable id<MTLBinaryArchive>)newBinaryArchiveWithDescriptor:(MTLBinaryArchiveDescriptor *)descriptor
                                                          error:(__autoreleasing NSError **)error
    API_AVAILABLE(macos(11.0));

@property(readonly) BOOL supportsDynamicLibraries API_AVAILABLE(macos(11.0));
@property(readonly) BOOL supportsRenderDynamicLibraries API_AVAILABLE(macos(12.0));
- (nullable id<MTLDynamicLibrary>)newDynamicLibrary:(id<MTLLibrary>)library
                                              error:(__autoreleasing NSError **)error API_AVAILABLE(macos(11.0));
- (nullable id<MTLDynamicLibrary>)newDynamicLibraryWithURL:(NSURL *)url
                                                     error:(__autoreleasing NSError **)error API_AVAILABLE(macos(11.0));

- (BOOL)supportsTextureSampleCount:(NSUInteger)sampleCount API_AVAILABLE(macos(10.11));
- (BOOL)supportsFamily:(MTLGPUFamily)gpuFamily API_AVAILABLE(macos(10.15));
- (BOOL)supportsFeatureSet:(MTLFeatureSet)featureSet API_DEPRECATED("Use supportsFamily instead", macos(10.11, 13.0));
// As many compilers as the machine has processors run in any case.
@property(readonly) NSUInteger maximumConcurrentCompilationTaskCount API_AVAILABLE(macos(13.3));
@property(atomic) BOOL shouldMaximizeConcurrentCompilation API_AVAILABLE(macos(13.3));
@end

NS_ASSUME_NONNULL_END
