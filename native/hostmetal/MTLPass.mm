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

// A pass of its kind; OTHERS synthesizes what else the descriptor has, and COPY takes it over.
#define PASS(NAME, MAKE, OTHERS, COPY)                                                                                   \
  @implementation MTL##NAME##PassDescriptor                                                                      \
  @synthesize sampleBufferAttachments = _sampleBufferAttachments;                                                \
  OTHERS                                                                                                         \
                                                                                                                 \
  +(MTL##NAME##PassDescriptor *)MAKE {                                                                           \
    return [[[self alloc] init] autorelease];                                                                    \
  }                                                                                                              \
                                                                                                                 \
  -(instancetype)init {                                                                                          \
    if ((self = [super init]))                                                                                   \
      _sampleBufferAttachments = [[MTL##NAME##PassSampleBufferAttachmentDescriptorArray alloc] init];            \
    return self;                                                                                                 \
  }                                                                                                              \
                                                                                                                 \
  -(id)copyWithZone : (NSZone *)zone {                                                                           \
    MTL##NAME##PassDescriptor *copy = [[[self class] allocWithZone:zone] init];                                  \
    COPY;                                                                                                        \
    for (NSUInteger i = 0; i < HM_PASS_ATTACHMENTS; i++)                                                         \
      [[copy sampleBufferAttachments] setObject:[_sampleBufferAttachments objectAtIndexedSubscript:i]            \
                             atIndexedSubscript:i];                                                              \
    return copy;                                                                                                 \
  }                                                                                                              \
                                                                                                                 \
  -(void)dealloc {                                                                                               \
    [_sampleBufferAttachments release];                                                                          \
    [super dealloc];                                                                                             \
  }                                                                                                              \
  @end

PASS(Compute, computePassDescriptor, @synthesize dispatchType = _dispatchType;, copy->_dispatchType = _dispatchType)
PASS(Blit, blitPassDescriptor, , )
