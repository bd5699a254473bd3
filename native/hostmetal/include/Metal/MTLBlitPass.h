// What a blit pass is opened with. https://developer.apple.com/documentation/metal/mtlblitpassdescriptor
#pragma once
#import <Metal/MTLCommandBuffer.h>
#import <Metal/MTLCounters.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXPORT API_AVAILABLE(macos(11.0))
@interface MTLBlitPassSampleBufferAttachmentDescriptor : NSObject <NSCopying> {
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
@interface MTLBlitPassSampleBufferAttachmentDescriptorArray : NSObject {
 @private
  MTLBlitPassSampleBufferAttachmentDescriptor *_attachments[4];
}
- (MTLBlitPassSampleBufferAttachmentDescriptor *)objectAtIndexedSubscript:(NSUInteger)attachmentIndex;
- (void)setObject:(nullable MTLBlitPassSampleBufferAttachmentDescriptor *)attachment
    atIndexedSubscript:(NSUInteger)attachmentIndex;
@end

MTL_EXPORT API_AVAILABLE(macos(11.0))
@interface MTLBlitPassDescriptor : NSObject <NSCopying> {
 @private
  MTLBlitPassSampleBufferAttachmentDescriptorArray *_sampleBufferAttachments;
}
+ (MTLBlitPassDescriptor *)blitPassDescriptor;
@property(readonly) MTLBlitPassSampleBufferAttachmentDescriptorArray *sampleBufferAttachments;
@end

NS_ASSUME_NONNULL_END
