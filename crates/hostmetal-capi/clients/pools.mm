// Two threads that begin with a pool each, before anything else of the program has had one. GNUstep by itself finds what `new` calls in
// steps, and a second thread in between jumps to nowhere: here the step in between lasts until the second thread is done.
#import <Foundation/Foundation.h>

#include <objc/runtime.h>

#include <atomic>
#include <cstdio>
#include <thread>

namespace {
std::atomic<bool> between{false}, first_done{false}, second_done{false};
IMP (*find)(Class, SEL, SEL);

IMP find_late(Class self, SEL selector, SEL wanted) {
  between = true;
  while (!second_done) std::this_thread::yield();
  return find(self, selector, wanted);
}

NSUInteger characters() {
  @autoreleasepool {
    return [[NSString stringWithFormat:@"%d", 12345] length];
  }
}
}  // namespace

int main() {
  Class pools = (Class)objc_getClass("NSAutoreleasePool");
  SEL selector = sel_registerName("instanceMethodForSelector:");
  Method method = class_getClassMethod(pools, selector);
  find = (IMP(*)(Class, SEL, SEL))(void *)method_getImplementation(method);
  if (!class_addMethod(object_getClass(pools), selector, (IMP)(void *)find_late, method_getTypeEncoding(method))) return 1;
  NSUInteger sum[2] = {};
  std::thread first([&] {
    sum[0] = characters();
    first_done = true;
  });
  std::thread second([&] {
    while (!between && !first_done) std::this_thread::yield();
    sum[1] = characters();
    second_done = true;
  });
  first.join();
  second.join();
  printf("%d characters of two threads\n", (int)(sum[0] + sum[1]));
}
