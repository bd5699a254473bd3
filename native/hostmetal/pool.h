// pool.h: @autoreleasepool for calls that are made for every command buffer, or several times for each.
#ifndef HOSTMETAL_POOL_H
#define HOSTMETAL_POOL_H

#import <Foundation/Foundation.h>

namespace hostmetal {

// +[NSString class], which a process calls sooner or later, in a third of its time.
void make_strings();

// GCC's runtime looks NSAutoreleasePool up by name at each @autoreleasepool, a tenth of the time that
// a command buffer's creation takes; here its class, which never changes, is looked up once, and asked for a `new` one: GNUstep has that
// call its two methods directly. It finds those at the first `new`, of which two threads must not make one each: the second
// would call what is found by half. A thread that ends says so to the notification center, whose class makes a lock when it is first used:
// that is not left to threads that end at the same time either.
inline Class class_of_pools() {
  static const Class pools = [] {
    make_strings();
    const Class pools = [NSAutoreleasePool class];
    [(NSAutoreleasePool *)[pools new] drain];
    [NSNotificationCenter defaultCenter];
    return pools;
  }();
  return pools;
}

class Pool {
 public:
  Pool() : pool_([class_of_pools() new]) {}
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;
  ~Pool() { [pool_ drain]; }

 private:
  NSAutoreleasePool *pool_;
};

// For calls that autorelease nothing unless they raise, and are over sooner than a pool is made. A thread that has no pool then gets
// one that stays: what calls raised is there until the thread ends, when GNUstep drains it.
inline void have_pool() {
  static thread_local bool has_own = false;
  if (has_own || [class_of_pools() currentPool]) return;
  [class_of_pools() new];
  has_own = true;
}

}  // namespace hostmetal

// What hostmetal's queues and command buffers are asked by who has no pool for a result: it is the caller's. Elsewhere, and for a
// program's own queues, there are Metal's methods.
@protocol HostMTLMaking
@optional
// As -commandBufferWithDescriptor:.
- (id)newCommandBufferRetaining:(BOOL)retainedReferences errorOptions:(NSUInteger)options;
// As -computeCommandEncoderWithDispatchType:.
- (id)newComputeCommandEncoderWithDispatchType:(NSUInteger)dispatchType;
@end

#endif
