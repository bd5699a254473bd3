// Values of function constants. https://developer.apple.com/documentation/metal/mtlfunctionconstantvalues
#pragma once
#import <Metal/MTLDataType.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXPORT API_AVAILABLE(macos(10.12))
@interface MTLFunctionConstantValues : NSObject <NSCopying> {
  NSMutableDictionary *_values;  // by NSNumber (index) or NSString (name)
}
- (void)setConstantValue:(const void *)value type:(MTLDataType)type atIndex:(NSUInteger)index;
- (void)setConstantValues:(const void *)values type:(MTLDataType)type withRange:(NSRange)range;
- (void)setConstantValue:(const void *)value type:(MTLDataType)type withName:(NSString *)name;
- (void)reset;
@end

NS_ASSUME_NONNULL_END
