// The descriptors of compute and blit passes: what they are alike in, and what they are named.
#import "faces.h"

#define ATTACHMENT(NAME)                                                                                         \
  @implementation MTL##NAME##PassSampleBufferAttachmentDescriptor                                                \
  @synthesize sampleBuffer = _sampleBuffer, startOfEncoderSampleIndex = _startOfEncoderSampleIndex,              \
              endOfEncoderSampleIndex = _endOfEncoderSampleIndex;                                                \
                                                                                                                 \
  -(id)copyWithZone : (NSZone *)zone {                                                                           \
    MTL##NAME##PassSampleBufferAttachmentDescriptor *copy = [[[self class] allocWithZone:zone] init];            \
    [copy setSampleBuffer:_sampleBuffer];                                                                        \
    [copy setStartOfEncoderSampleIndex:_startOfEncoderSampleIndex];                                              \
    [copy setEndOfEncoderSampleIndex:_endOfEncoderSampleIndex];                                                  \
    return copy;                                                                                                 \
  }                                                                                                              \
                                                                                                                 \
  -(void)dealloc {                                                                                               \
    [_sampleBuffer release];                                                                                     \
    [super dealloc];                                                                                             \
  }                                                                                                              \
  @end                                                                                                           \
                                                                                                                 \
  @implementation MTL##NAME##PassSampleBufferAttachmentDescriptorArray                                           \
  -(MTL##NAME##PassSampleBufferAttachmentDescriptor *)objectAtIndexedSubscript : (NSUInteger)index {             \
    HM_REQUIRE(index < HM_PASS_ATTACHMENTS, "the index must be < 4");                                                    \
    if (!_attachments[index])                                                                                    \
      _attachments[index] = [[MTL##NAME##PassSampleBufferAttachmentDescriptor alloc] init];                      \
    return _attachments[index];                                                                                  \
  }                                                                                                              \
                                                                                                                 \
  -(void)setObject : (MTL##NAME##PassSampleBufferAttachmentDescriptor *)attachment atIndexedSubscript            \
      : (NSUInteger)index {                                                                                      \
    HM_REQUIRE(index < HM_PASS_ATTACHMENTS, "the index must be < 4");                                                    \
    MTL##NAME##PassSampleBufferAttachmentDescriptor *copy = [attachment copy];                                   \
    [_attachments[index] release];                                                                               \
    _attachments[index] = copy;                                                                                  \
  }                                                                                                              \
                                                                                                                 \
  -(void)dealloc {                                                                                               \
    for (id attachment : _attachments) [attachment release];                                                     \
    [super dealloc];                                                                                             \
  }                                                                                                              \
  @end

ATTACHMENT(Compute)
ATTACHMENT(Blit)

@implementation MTLComputePassDescriptor
@synthesize dispatchType = _dispatchType, sampleBufferAttachments = _sampleBufferAttachments;

+ (MTLComputePassDescriptor *)computePassDescriptor {
  return [[[self alloc] init] autorelease];
}

- (instancetype)init {
  if ((self = [super init])) _sampleBufferAttachments = [[MTLComputePassSampleBufferAttachmentDescriptorArray alloc] init];
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  MTLComputePassDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setDispatchType:_dispatchType];
  for (NSUInteger i = 0; i < HM_PASS_ATTACHMENTS; i++)
    [[copy sampleBufferAttachments] setObject:[_sampleBufferAttachments objectAtIndexedSubscript:i] atIndexedSubscript:i];
  return copy;
}

- (void)dealloc {
  [_sampleBufferAttachments release];
  [super dealloc];
}
@end

@implementation MTLBlitPassDescriptor
@synthesize sampleBufferAttachments = _sampleBufferAttachments;

+ (MTLBlitPassDescriptor *)blitPassDescriptor {
  return [[[self alloc] init] autorelease];
}

- (instancetype)init {
  if ((self = [super init])) _sampleBufferAttachments = [[MTLBlitPassSampleBufferAttachmentDescriptorArray alloc] init];
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  MTLBlitPassDescriptor *copy = [[[self class] allocWithZone:zone] init];
  for (NSUInteger i = 0; i < HM_PASS_ATTACHMENTS; i++)
    [[copy sampleBufferAttachments] setObject:[_sampleBufferAttachments objectAtIndexedSubscript:i] atIndexedSubscript:i];
  return copy;
}

- (void)dealloc {
  [_sampleBufferAttachments release];
  [super dealloc];
}
@end
