// What a compute pass is opened with. https://developer.apple.com/documentation/metal/mtlcomputepassdescriptor
#pragma once
#import <Metal/MTLCommandBuffer.h>
#import <Metal/MTLCounters.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXPORT API_AVAILABLE(macos(11.0))
@interface MTLComputePassSampleBufferAttachmentDescriptor : NSObject <NSCopying> {
 @private
  id<MTLCounterSampleBuffer> _sampleBuffer;
  NSUInteger _startOfEncoderSampleIndex, _endOfEncoderSampleIndex;
}
@property(nullable, retain, nonatomic) id<MTLCounterSampleBuffer> sampleBuffer;
@property(nonatomic) NSUInteger startOfEncoderSampleIndex;
@property(nonatomic) NSUInteger endOfEncoderSampleIndex;
@end

// Four, made when they are asked for.
MTL_EXPORT API_AVAILABLE(macos(11.0))
@interface MTLComputePassSampleBufferAttachmentDescriptorArray : NSObject {
 @private
  MTLComputePassSampleBufferAttachmentDescriptor *_attachments[4];
}
- (MTLComputePassSampleBufferAttachmentDescriptor *)objectAtIndexedSubscript:(NSUInteger)attachmentIndex;
- (void)setObject:(nullable MTLComputePassSampleBufferAttachmentDescriptor *)attachment
    atIndexedSubscript:(NSUInteger)attachmentIndex;
@end

MTL_EXPORT API_AVAILABLE(macos(11.0))
@interface MTLComputePassDescriptor : NSObject <NSCopying> {
 @private
  MTLDispatchType _dispatchType;
  MTLComputePassSampleBufferAttachmentDescriptorArray *_sampleBufferAttachments;
}
+ (MTLComputePassDescriptor *)computePassDescriptor;
@property(nonatomic) MTLDispatchType dispatchType;
@property(readonly) MTLComputePassSampleBufferAttachmentDescriptorArray *sampleBufferAttachments;
@end

NS_ASSUME_NONNULL_END
