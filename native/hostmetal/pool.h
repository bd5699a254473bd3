// pool.h: @autoreleasepool for calls that are made for every command buffer, or several times for each.
#ifndef HOSTMETAL_POOL_H
#define HOSTMETAL_POOL_H

#import <Foundation/Foundation.h>

namespace hostmetal {

// GCC's runtime looks NSAutoreleasePool up by name at each @autoreleasepool, a tenth of the time that
// a command buffer's creation takes; here its class, which never changes, is looked up once, and asked for a `new` one: GNUstep has that
// call its two methods directly. It finds those at the first `new`, of which two threads must not make one each: the second
// would call what is found by half. A thread that ends says so to the notification center, whose class makes a lock when it is first used:
// that is not left to threads that end at the same time either.
class Pool {
 public:
  Pool() : pool_([class_of_pools() new]) {}
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;
  ~Pool() { [pool_ drain]; }

 private:
  friend class StandingPool;
  static Class class_of_pools() {
    static const Class pools = [] {
      const Class pools = [NSAutoreleasePool class];
      [(NSAutoreleasePool *)[pools new] drain];
      [NSNotificationCenter defaultCenter];
      return pools;
    }();
    return pools;
  }
  NSAutoreleasePool *pool_;
};

// For calls that autorelease nothing unless they raise, and are over sooner than a pool is made: a thread that has no pool gets
// one that stays, and that is emptied when such a call has raised. GNUstep drains it when the thread ends.
class StandingPool {
 public:
  static void ensure() {
    if (!standing_ && ![Pool::class_of_pools() currentPool]) standing_ = [Pool::class_of_pools() new];
  }
  // Not where the program has made a pool of its own since, which has got what was autoreleased.
  static void empty() {
    if (!standing_ || [Pool::class_of_pools() currentPool] != standing_) return;
    NSAutoreleasePool *const full = standing_;
    standing_ = nil;
    [full drain];
  }

 private:
  inline static thread_local NSAutoreleasePool *standing_ = nil;
};

}  // namespace hostmetal

#endif
