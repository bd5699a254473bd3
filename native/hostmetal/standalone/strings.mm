// Strings that clang makes of __builtin___CFStringMakeConstantString, as metal-cpp's MTLSTR does: their class is a symbol
// that CoreFoundation exports on macOS. The layout is clang's: class, flags, bytes, length.
#import <Foundation/Foundation.h>

#include <cstdint>
#include <cstring>

@interface HostMTLConstantString : NSString {
  int _flags;
  const void *_bytes;
  long _length;  // of characters: UTF-16 units where the text is not ASCII, else bytes
}
@end

@implementation HostMTLConstantString
static const int wide = 0x10;  // the flags are 0x7d0 for UTF-16 and 0x7c8 for ASCII

- (NSUInteger)length {
  return (NSUInteger)_length;
}
- (unichar)characterAtIndex:(NSUInteger)index {
  if (index >= (NSUInteger)_length) [NSException raise:NSRangeException format:@"index %lu of a constant string", (unsigned long)index];
  return _flags & wide ? ((const uint16_t *)_bytes)[index] : ((const unsigned char *)_bytes)[index];
}
- (const char *)UTF8String {
  return _flags & wide ? [super UTF8String] : (const char *)_bytes;
}
- (id)copy {
  return self;
}
- (id)copyWithZone:(NSZone *)zone {
  (void)zone;
  return self;
}
- (instancetype)retain {
  return self;
}
- (oneway void)release {
}
- (instancetype)autorelease {
  return self;
}
@end

__asm__(".globl __CFConstantStringClassReference\n"
        ".set __CFConstantStringClassReference, _OBJC_CLASS_HostMTLConstantString\n");
