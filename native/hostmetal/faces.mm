// Exceptions, errors and calls into the user's blocks, as all faces need them.
#import "faces.h"

#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <unistd.h>

#if __has_feature(address_sanitizer)
#import <objc/message.h>
#include <sanitizer/lsan_interface.h>

namespace {
// NSArray's +initialize keeps one object that nothing points to. The leak check must not learn of it; to suppress it by
// place would hide every leak of an object, as all are allocated by the same functions. (Selectors of this file may not be
// registered yet, so the runtime is asked by name.)
__attribute__((constructor)) void initializeArrays() {
  __lsan_disable();
  Class arrays = objc_getClass("NSArray");
  SEL selector = sel_registerName("class");
  if (arrays) objc_msg_lookup((id)arrays, selector)((id)arrays, selector);
  __lsan_enable();
}
}  // namespace
#endif

namespace {
[[noreturn]] void raise(NSExceptionName name, id object, SEL selector, const char *text) {
  [NSException raise:name format:@"-[%@ %@] %s", NSStringFromClass([object class]), NSStringFromSelector(selector), text];
  abort();  // raise does not return
}
}  // namespace

void hostmetal_raise(id object, SEL selector, const char *text) {
  raise(NSInternalInconsistencyException, object, selector, text);
}

void hostmetal_raise_no_memory(id object, SEL selector, const char *text) {
  raise(NSMallocException, object, selector, text);
}

NSError *hostmetal_error(NSErrorDomain domain, HMError *error, NSDictionary *more) {
  NSMutableDictionary *info = more ? [NSMutableDictionary dictionaryWithDictionary:more] : [NSMutableDictionary dictionary];
  NSString *text = error->message ? [NSString stringWithUTF8String:error->message] : nil;
  if (!text) text = [NSString stringWithFormat:@"%@ %lld", domain, (long long)error->code];
  [info setObject:text forKey:NSLocalizedDescriptionKey];
  hm_string_release(error->message);
  error->message = nullptr;
  return [NSError errorWithDomain:domain code:(NSInteger)error->code userInfo:info];
}

void hostmetal_call_out(const char *what, void (^work)(void)) {
  hostmetal::Pool pool;
  @try {
    work();
  } @catch (NSException *exception) {
    fprintf(stderr, "uncaught exception in a %s: %s: %s\n", what, [[exception name] UTF8String],
            [[exception reason] UTF8String]);
    abort();
  }
}

// A thread for each: a handler may wait for another's, so none may have to wait for a thread. How many compilers run at
// once is the engine's business.
static void *asyncMain(void *argument) {
  void (^work)(void) = (void (^)(void))argument;
  hostmetal_call_out("completion handler", work);
  Block_release(work);
  return nullptr;
}

void hostmetal_async(void (^work)(void)) {
  void *copy = (void *)Block_copy(work);
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  // Without a new thread the caller's does the work.
  if (pthread_create(&thread, &detached, asyncMain, copy) != 0) asyncMain(copy);
  pthread_attr_destroy(&detached);
}
