// Captures of commands for tools. https://developer.apple.com/documentation/metal/mtlcapturemanager
//
// hostmetal has no such tools: it says that it supports no destination, and a capture does not start.
#pragma once
#import <Metal/MTLCaptureScope.h>

NS_ASSUME_NONNULL_BEGIN

@class NSURL;

MTL_EXTERN NSErrorDomain const MTLCaptureErrorDomain API_AVAILABLE(macos(10.15));

typedef NS_ENUM(NSInteger, MTLCaptureError) {
  MTLCaptureErrorNotSupported = 1,
  MTLCaptureErrorAlreadyCapturing = 2,
  MTLCaptureErrorInvalidDescriptor = 3,
} API_AVAILABLE(macos(10.15));

typedef NS_ENUM(NSInteger, MTLCaptureDestination) {
  MTLCaptureDestinationDeveloperTools = 1,
  MTLCaptureDestinationGPUTraceDocument = 2,
} API_AVAILABLE(macos(10.15));

MTL_EXPORT API_AVAILABLE(macos(10.15))
@interface MTLCaptureDescriptor : NSObject <NSCopying> {
 @private
  id _captureObject;
  MTLCaptureDestination _destination;
  NSURL *_outputURL;
}
@property(nonatomic, strong, nullable) id captureObject;
@property(nonatomic, assign) MTLCaptureDestination destination;
@property(nonatomic, copy, nullable) NSURL *outputURL;
@end

MTL_EXPORT API_AVAILABLE(macos(10.13))
@interface MTLCaptureManager : NSObject {
 @private
  id<MTLCaptureScope> _defaultCaptureScope;
}
+ (MTLCaptureManager *)sharedCaptureManager;
- (id<MTLCaptureScope>)newCaptureScopeWithDevice:(id<MTLDevice>)device;
- (id<MTLCaptureScope>)newCaptureScopeWithCommandQueue:(id<MTLCommandQueue>)commandQueue;
- (BOOL)supportsDestination:(MTLCaptureDestination)destination API_AVAILABLE(macos(10.15));
- (BOOL)startCaptureWithDescriptor:(MTLCaptureDescriptor *)descriptor
                             error:(__autoreleasing NSError **)error API_AVAILABLE(macos(10.15));
// These say on standard error that nothing is captured.
- (void)startCaptureWithDevice:(id<MTLDevice>)device
    API_DEPRECATED("Use startCaptureWithDescriptor:error: instead", macos(10.13, 10.15));
- (void)startCaptureWithCommandQueue:(id<MTLCommandQueue>)commandQueue
    API_DEPRECATED("Use startCaptureWithDescriptor:error: instead", macos(10.13, 10.15));
- (void)startCaptureWithScope:(id<MTLCaptureScope>)captureScope
    API_DEPRECATED("Use startCaptureWithDescriptor:error: instead", macos(10.13, 10.15));
- (void)stopCapture;
@property(nullable, strong, atomic) id<MTLCaptureScope> defaultCaptureScope;
@property(readonly) BOOL isCapturing;
@end

NS_ASSUME_NONNULL_END
