// Functions that a pipeline's kernel may call through pointers. https://developer.apple.com/documentation/metal/mtllinkedfunctions
#pragma once
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLFunction;

// The groups, hints for the compiler, change nothing.
MTL_EXPORT API_AVAILABLE(macos(11.0))
@interface MTLLinkedFunctions : NSObject <NSCopying> {
  NSArray<id<MTLFunction>> *_functions;
  NSArray<id<MTLFunction>> *_binaryFunctions;
  NSDictionary<NSString *, NSArray<id<MTLFunction>> *> *_groups;
  NSArray<id<MTLFunction>> *_privateFunctions;
}
+ (MTLLinkedFunctions *)linkedFunctions;
@property(readwrite, nullable, nonatomic, copy) NSArray<id<MTLFunction>> *functions;
@property(readwrite, nullable, nonatomic, copy) NSArray<id<MTLFunction>> *binaryFunctions;
@property(readwrite, nullable, nonatomic, copy) NSDictionary<NSString *, NSArray<id<MTLFunction>> *> *groups;
@property(readwrite, nullable, nonatomic, copy) NSArray<id<MTLFunction>> *privateFunctions API_AVAILABLE(macos(12.0));
@end

NS_ASSUME_NONNULL_END
