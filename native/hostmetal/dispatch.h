// What the files of our libdispatch share (its interface: include/compat/dispatch/dispatch.h).
#pragma once
#import <Foundation/Foundation.h>
#include <dispatch/dispatch.h>
#include <pthread.h>

// A rule of libdispatch was broken, where Apple's ends the process too.
[[noreturn]] void dispatch_misuse(const char *text);

// A lock for a scope.
struct DispatchLocked {
  explicit DispatchLocked(pthread_mutex_t *mutex) : mutex(mutex) { pthread_mutex_lock(mutex); }
  ~DispatchLocked() { pthread_mutex_unlock(mutex); }
  DispatchLocked(const DispatchLocked &) = delete;
  DispatchLocked &operator=(const DispatchLocked &) = delete;
  pthread_mutex_t *mutex;
};

// A condition whose times are those of CLOCK_MONOTONIC.
void dispatch_condition_init(pthread_cond_t *condition);
// The mutex is held. False once the time has come.
bool dispatch_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, dispatch_time_t until);
// When, by CLOCK_MONOTONIC, in nanoseconds; DISPATCH_TIME_FOREVER stays.
uint64_t dispatch_monotonic(dispatch_time_t when);

void *dispatch_allocate(size_t size);  // zero-filled

// Calls a function that no exception may leave.
void dispatch_call(dispatch_function_t work, void *context);

// As dispatch_async; a function that takes a copied block calls and releases it.
void dispatch_call_block(void *block);
void dispatch_submit(dispatch_queue_t queue, dispatch_group_t group, bool barrier, void *context, dispatch_function_t work);
