// The part of libdispatch that programs around Metal use, with Apple's names and rules
// (https://developer.apple.com/documentation/dispatch); implemented by dispatch_*.mm. What is not here is not implemented:
// the main queue, sources, I/O, suspension, targets and specifics of queues.
//
// Qualities of service are accepted and change nothing. An exception that leaves a block ends the process with a message.
#ifndef HOSTMETAL_DISPATCH_H
#define HOSTMETAL_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifdef __OBJC__
#import <Foundation/NSObject.h>
#endif

#ifdef __cplusplus
#define DISPATCH_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define DISPATCH_EXPORT extern __attribute__((visibility("default")))
#endif

#define DISPATCH_NOESCAPE __attribute__((noescape))

// ---------------------------------------------------------------- objects
// All are Objective-C objects; in Objective-C, blocks retain the ones they capture.
#ifdef __OBJC__
@protocol OS_dispatch_object <NSObject>
@end
typedef NSObject<OS_dispatch_object> *dispatch_object_t;
#define DISPATCH_DECL_(name)                     \
  @protocol OS_##name <OS_dispatch_object>       \
  @end                                           \
  typedef NSObject<OS_##name> *name##_t
#define DISPATCH_BRIDGE_ __unsafe_unretained
#elif defined(__cplusplus)
typedef struct dispatch_object_s *dispatch_object_t;
struct dispatch_object_s {};
#define DISPATCH_DECL_(name) \
  struct name##_s : public dispatch_object_s {}; \
  typedef struct name##_s *name##_t
#define DISPATCH_BRIDGE_
#else
typedef union {
  struct dispatch_object_s *object_;
  struct dispatch_queue_s *queue_;
  struct dispatch_queue_attr_s *queue_attr_;
  struct dispatch_group_s *group_;
  struct dispatch_semaphore_s *semaphore_;
  struct dispatch_data_s *data_;
} dispatch_object_t __attribute__((__transparent_union__));
#define DISPATCH_DECL_(name) typedef struct name##_s *name##_t
#define DISPATCH_BRIDGE_
#endif
DISPATCH_DECL_(dispatch_queue);
DISPATCH_DECL_(dispatch_queue_attr);
DISPATCH_DECL_(dispatch_group);
DISPATCH_DECL_(dispatch_semaphore);
DISPATCH_DECL_(dispatch_data);

DISPATCH_EXPORT void dispatch_retain(dispatch_object_t object);
DISPATCH_EXPORT void dispatch_release(dispatch_object_t object);

typedef void (*dispatch_function_t)(void *context);
#ifdef __BLOCKS__
typedef void (^dispatch_block_t)(void);
#endif

// ---------------------------------------------------------------- time
typedef uint64_t dispatch_time_t;
#define NSEC_PER_SEC 1000000000ull
#define NSEC_PER_MSEC 1000000ull
#define USEC_PER_SEC 1000000ull
#define NSEC_PER_USEC 1000ull
#define DISPATCH_TIME_NOW (0ull)
#define DISPATCH_TIME_FOREVER (~0ull)
enum { DISPATCH_WALLTIME_NOW = ~1ull };
DISPATCH_EXPORT dispatch_time_t dispatch_time(dispatch_time_t when, int64_t delta);
DISPATCH_EXPORT dispatch_time_t dispatch_walltime(const struct timespec *when, int64_t delta);

// ---------------------------------------------------------------- queues
typedef unsigned int dispatch_qos_class_t;
enum {
  QOS_CLASS_USER_INTERACTIVE = 0x21,
  QOS_CLASS_USER_INITIATED = 0x19,
  QOS_CLASS_DEFAULT = 0x15,
  QOS_CLASS_UTILITY = 0x11,
  QOS_CLASS_BACKGROUND = 0x09,
  QOS_CLASS_UNSPECIFIED = 0x00,
};
#define DISPATCH_QUEUE_PRIORITY_HIGH 2
#define DISPATCH_QUEUE_PRIORITY_DEFAULT 0
#define DISPATCH_QUEUE_PRIORITY_LOW (-2)
#define DISPATCH_QUEUE_PRIORITY_BACKGROUND INT16_MIN

typedef enum {
  DISPATCH_AUTORELEASE_FREQUENCY_INHERIT = 0,
  DISPATCH_AUTORELEASE_FREQUENCY_WORK_ITEM = 1,
  DISPATCH_AUTORELEASE_FREQUENCY_NEVER = 2,
} dispatch_autorelease_frequency_t;

DISPATCH_EXPORT struct dispatch_queue_attr_s _dispatch_queue_attr_concurrent;
#define DISPATCH_QUEUE_SERIAL NULL
#define DISPATCH_QUEUE_CONCURRENT ((DISPATCH_BRIDGE_ dispatch_queue_attr_t)(void *)&_dispatch_queue_attr_concurrent)
#define DISPATCH_QUEUE_SERIAL_WITH_AUTORELEASE_POOL NULL
#define DISPATCH_QUEUE_CONCURRENT_WITH_AUTORELEASE_POOL DISPATCH_QUEUE_CONCURRENT
#define DISPATCH_TARGET_QUEUE_DEFAULT NULL
#define DISPATCH_APPLY_AUTO NULL
#define DISPATCH_CURRENT_QUEUE_LABEL NULL

DISPATCH_EXPORT dispatch_queue_t dispatch_queue_create(const char *label, dispatch_queue_attr_t attr);
// Each work item has an autorelease pool of its own whatever is asked for.
DISPATCH_EXPORT dispatch_queue_attr_t dispatch_queue_attr_make_with_autorelease_frequency(
    dispatch_queue_attr_t attr, dispatch_autorelease_frequency_t frequency);
DISPATCH_EXPORT dispatch_queue_attr_t dispatch_queue_attr_make_with_qos_class(dispatch_queue_attr_t attr,
                                                                              dispatch_qos_class_t qos_class,
                                                                              int relative_priority);
// A priority or a class of quality; NULL for anything else.
DISPATCH_EXPORT dispatch_queue_t dispatch_get_global_queue(intptr_t identifier, uintptr_t flags);
// "" for NULL on a thread that runs nothing of a queue.
DISPATCH_EXPORT const char *dispatch_queue_get_label(dispatch_queue_t queue);

DISPATCH_EXPORT void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
DISPATCH_EXPORT void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
DISPATCH_EXPORT void dispatch_async_and_wait_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
DISPATCH_EXPORT void dispatch_barrier_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
DISPATCH_EXPORT void dispatch_barrier_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
DISPATCH_EXPORT void dispatch_after_f(dispatch_time_t when, dispatch_queue_t queue, void *context, dispatch_function_t work);
DISPATCH_EXPORT void dispatch_apply_f(size_t iterations, dispatch_queue_t queue, void *context,
                                      void (*work)(void *context, size_t iteration));
#ifdef __BLOCKS__
DISPATCH_EXPORT void dispatch_async(dispatch_queue_t queue, dispatch_block_t block);
DISPATCH_EXPORT void dispatch_sync(dispatch_queue_t queue, DISPATCH_NOESCAPE dispatch_block_t block);
DISPATCH_EXPORT void dispatch_async_and_wait(dispatch_queue_t queue, DISPATCH_NOESCAPE dispatch_block_t block);
DISPATCH_EXPORT void dispatch_barrier_async(dispatch_queue_t queue, dispatch_block_t block);
DISPATCH_EXPORT void dispatch_barrier_sync(dispatch_queue_t queue, DISPATCH_NOESCAPE dispatch_block_t block);
DISPATCH_EXPORT void dispatch_after(dispatch_time_t when, dispatch_queue_t queue, dispatch_block_t block);
DISPATCH_EXPORT void dispatch_apply(size_t iterations, dispatch_queue_t queue,
                                    DISPATCH_NOESCAPE void (^block)(size_t iteration));
#endif

typedef intptr_t dispatch_once_t;
DISPATCH_EXPORT void dispatch_once_f(dispatch_once_t *predicate, void *context, dispatch_function_t work);
#ifdef __BLOCKS__
DISPATCH_EXPORT void dispatch_once(dispatch_once_t *predicate, DISPATCH_NOESCAPE dispatch_block_t block);
#endif

// ---------------------------------------------------------------- groups
DISPATCH_EXPORT dispatch_group_t dispatch_group_create(void);
DISPATCH_EXPORT void dispatch_group_enter(dispatch_group_t group);
DISPATCH_EXPORT void dispatch_group_leave(dispatch_group_t group);
// 0, or another number when the time came first.
DISPATCH_EXPORT intptr_t dispatch_group_wait(dispatch_group_t group, dispatch_time_t timeout);
DISPATCH_EXPORT void dispatch_group_async_f(dispatch_group_t group, dispatch_queue_t queue, void *context,
                                            dispatch_function_t work);
DISPATCH_EXPORT void dispatch_group_notify_f(dispatch_group_t group, dispatch_queue_t queue, void *context,
                                             dispatch_function_t work);
#ifdef __BLOCKS__
DISPATCH_EXPORT void dispatch_group_async(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block);
DISPATCH_EXPORT void dispatch_group_notify(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block);
#endif

// ---------------------------------------------------------------- semaphores
// NULL for a negative value.
DISPATCH_EXPORT dispatch_semaphore_t dispatch_semaphore_create(intptr_t value);
// 0, or another number when the time came first.
DISPATCH_EXPORT intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t timeout);
// Whether a thread waited.
DISPATCH_EXPORT intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore);

// ---------------------------------------------------------------- data
#ifdef __BLOCKS__
DISPATCH_EXPORT const dispatch_block_t _dispatch_data_destructor_free;
DISPATCH_EXPORT const dispatch_block_t _dispatch_data_destructor_munmap;
#define DISPATCH_DATA_DESTRUCTOR_DEFAULT NULL  // the bytes are copied
#define DISPATCH_DATA_DESTRUCTOR_FREE (_dispatch_data_destructor_free)
#define DISPATCH_DATA_DESTRUCTOR_MUNMAP (_dispatch_data_destructor_munmap)
typedef bool (^dispatch_data_applier_t)(dispatch_data_t region, size_t offset, const void *bytes, size_t size);

DISPATCH_EXPORT dispatch_data_t dispatch_data_create(const void *bytes, size_t size, dispatch_queue_t queue,
                                                     dispatch_block_t destructor);
DISPATCH_EXPORT size_t dispatch_data_get_size(dispatch_data_t data);
DISPATCH_EXPORT dispatch_data_t dispatch_data_create_map(dispatch_data_t data, const void **bytes, size_t *size);
DISPATCH_EXPORT dispatch_data_t dispatch_data_create_concat(dispatch_data_t first, dispatch_data_t second);
DISPATCH_EXPORT dispatch_data_t dispatch_data_create_subrange(dispatch_data_t data, size_t offset, size_t length);
DISPATCH_EXPORT bool dispatch_data_apply(dispatch_data_t data, DISPATCH_NOESCAPE dispatch_data_applier_t applier);
#endif

#endif
