// A thread that autoreleases an object without a pool gets one that lasts as long as the thread, as with Apple's runtime
// (Rust programs rely on it). GNUstep by itself would write a line to stderr and never release the object. GNUstep ends a
// thread's pools with the thread.
//
// GNUstep's `new`, which @autoreleasepool is compiled to, finds the methods that it calls at its first call, and another thread's
// first call meanwhile jumps to what is not found yet. Threads of a program may well begin with that.
#import <Foundation/Foundation.h>

#include <objc/runtime.h>

namespace {
typedef void (*AddObject)(Class, SEL, id);
AddObject add_to_pool;
Class pools;

void add(Class self, SEL selector, id object) {
  if (![self currentPool]) [[pools alloc] init];
  add_to_pool(self, selector, object);
}

id create(Class self, SEL selector) {
  (void)selector;
  return [[self alloc] init];
}

// Selectors of this file may not be registered yet, so the runtime is asked by name.
__attribute__((constructor)) void prepare() {
  pools = (Class)objc_getClass("NSAutoreleasePool");
  if (Method method = class_getClassMethod(pools, sel_registerName("new"))) method_setImplementation(method, (IMP)(void *)create);
  SEL selector = sel_registerName("addObject:");
  Method method = class_getClassMethod(pools, selector);
  if (!method) return;
  add_to_pool = (AddObject)(void *)method_getImplementation(method);
  method_setImplementation(method, (IMP)(void *)add);
}
}  // namespace
