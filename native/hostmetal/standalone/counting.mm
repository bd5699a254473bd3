// What programs for Apple's Objective-C runtime call to count references, and GCC's runtime does not have: the functions of
// automatic reference counting (https://clang.llvm.org/docs/AutomaticReferenceCounting.html#runtime-support) as plain
// messages. Weak references are absent: GCC's runtime cannot clear them.
#import <Foundation/Foundation.h>

#include <Block.h>

#pragma clang diagnostic ignored "-Wmissing-prototypes"
#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT id objc_retain(id object) {
  return [object retain];
}
EXPORT void objc_release(id object) {
  [object release];
}
EXPORT id objc_autorelease(id object) {
  return [object autorelease];
}
EXPORT id objc_retainAutorelease(id object) {
  return [[object retain] autorelease];
}
EXPORT id objc_autoreleaseReturnValue(id object) {
  return [object autorelease];
}
EXPORT id objc_retainAutoreleaseReturnValue(id object) {
  return [[object retain] autorelease];
}
EXPORT id objc_retainAutoreleasedReturnValue(id object) {
  return [object retain];
}
EXPORT id objc_claimAutoreleasedReturnValue(id object) {
  return [object retain];
}
EXPORT id objc_unsafeClaimAutoreleasedReturnValue(id object) {
  return object;
}
EXPORT id objc_retainBlock(id block) {
  return (id)_Block_copy(block);
}
EXPORT void objc_storeStrong(id *place, id object) {
  id before = *place;
  if (before == object) return;
  *place = [object retain];
  [before release];
}

EXPORT void *objc_autoreleasePoolPush(void) {
  return [[NSAutoreleasePool alloc] init];
}
EXPORT void objc_autoreleasePoolPop(void *pool) {
  [(NSAutoreleasePool *)pool drain];
}

EXPORT id objc_alloc(Class one) {
  return [one alloc];
}
EXPORT id objc_allocWithZone(Class one) {
  return [one allocWithZone:nullptr];
}
EXPORT id objc_alloc_init(Class one) {
  return [[one alloc] init];
}
EXPORT id objc_opt_new(Class one) {
  return [one new];
}
EXPORT id objc_opt_self(id object) {
  return [object self];
}
EXPORT Class objc_opt_class(id object) {
  return [object class];
}
EXPORT BOOL objc_opt_isKindOfClass(id object, Class one) {
  return [object isKindOfClass:one];
}
EXPORT BOOL objc_opt_respondsToSelector(id object, SEL selector) {
  return [object respondsToSelector:selector];
}
