// What a pipeline is told of its buffers. https://developer.apple.com/documentation/metal/mtlpipelinebufferdescriptor
#pragma once
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_ENUM(NSUInteger, MTLMutability) {
  MTLMutabilityDefault = 0,
  MTLMutabilityMutable = 1,
  MTLMutabilityImmutable = 2,
} API_AVAILABLE(macos(10.13));

typedef NS_ENUM(NSInteger, MTLShaderValidation) {
  MTLShaderValidationDefault = 0,
  MTLShaderValidationEnabled = 1,
  MTLShaderValidationDisabled = 2,
} API_AVAILABLE(macos(15.0));

// A promise about the buffer's content while it is bound, which hostmetal makes no use of.
MTL_EXPORT API_AVAILABLE(macos(10.13))
@interface MTLPipelineBufferDescriptor : NSObject <NSCopying> {
  MTLMutability _mutability;
}
@property(nonatomic) MTLMutability mutability;
@end

// One descriptor for each index of the argument table of buffers.
MTL_EXPORT API_AVAILABLE(macos(10.13))
@interface MTLPipelineBufferDescriptorArray : NSObject {
  MTLPipelineBufferDescriptor *_descriptors[31];
}
- (MTLPipelineBufferDescriptor *)objectAtIndexedSubscript:(NSUInteger)bufferIndex;
- (void)setObject:(nullable MTLPipelineBufferDescriptor *)buffer atIndexedSubscript:(NSUInteger)bufferIndex;
@end

NS_ASSUME_NONNULL_END
