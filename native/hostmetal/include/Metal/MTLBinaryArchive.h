// Compiled code of chosen pipelines, in a file. https://developer.apple.com/documentation/metal/mtlbinaryarchive
#pragma once
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice, MTLLibrary;
@class MTLComputePipelineDescriptor, MTLFunctionDescriptor, MTLStitchedLibraryDescriptor;

MTL_EXTERN NSErrorDomain const MTLBinaryArchiveDomain API_AVAILABLE(macos(11.0));

typedef NS_ENUM(NSUInteger, MTLBinaryArchiveError) {
  MTLBinaryArchiveErrorNone = 0,
  MTLBinaryArchiveErrorInvalidFile = 1,
  MTLBinaryArchiveErrorUnexpectedElement = 2,
  MTLBinaryArchiveErrorCompilationFailure = 3,
  MTLBinaryArchiveErrorInternalError = 4,
} API_AVAILABLE(macos(11.0));

MTL_EXPORT API_AVAILABLE(macos(11.0))
@interface MTLBinaryArchiveDescriptor : NSObject <NSCopying> {
  NSURL *_url;
}
@property(nullable, readwrite, nonatomic, copy) NSURL *url;
@end

API_AVAILABLE(macos(11.0))
@protocol MTLBinaryArchive <NSObject>
@property(nullable, copy, atomic) NSString *label;
@property(readonly) id<MTLDevice> device;
- (BOOL)addComputePipelineFunctionsWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                            error:(__autoreleasing NSError **)error;
- (BOOL)addFunctionWithDescriptor:(MTLFunctionDescriptor *)descriptor
                          library:(id<MTLLibrary>)library
                            error:(__autoreleasing NSError **)error API_AVAILABLE(macos(12.0));
- (BOOL)addLibraryWithDescriptor:(MTLStitchedLibraryDescriptor *)descriptor
                           error:(__autoreleasing NSError **)error API_AVAILABLE(macos(15.0));
- (BOOL)serializeToURL:(NSURL *)url error:(__autoreleasing NSError **)error;
@end

NS_ASSUME_NONNULL_END
