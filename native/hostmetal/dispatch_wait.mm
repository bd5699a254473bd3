// What libdispatch's threads wait with: times, once, groups, semaphores; and its data objects.
#import "dispatch.h"

#include <Block.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

void dispatch_misuse(const char *text) {
  fprintf(stderr, "libdispatch: %s\n", text);
  abort();
}

void *dispatch_allocate(size_t size) {
  void *memory = calloc(1, size);
  if (!memory) dispatch_misuse("memory is out");
  return memory;
}

void dispatch_call(dispatch_function_t work, void *context) {
  @try {
    work(context);
  } @catch (NSException *exception) {
    fprintf(stderr, "uncaught exception in a dispatch queue: %s: %s\n", [[exception name] UTF8String],
            [[exception reason] UTF8String]);
    abort();
  }
}

void dispatch_call_block(void *block) {
  ((dispatch_block_t)block)();
  _Block_release(block);
}

// Under manual retain and release a program may send these objects messages; here they are sent for it.
void dispatch_retain(dispatch_object_t object) {
  [object retain];
}
void dispatch_release(dispatch_object_t object) {
  [object release];
}

// ---------------------------------------------------------------- time
// A dispatch_time_t is CLOCK_MONOTONIC's nanoseconds, or, with its highest bit set, the negative of CLOCK_REALTIME's.
namespace {
constexpr uint64_t wallBit = 1ull << 63;

uint64_t nanoseconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

// Saturates between 1 and the greatest that is a time.
uint64_t shifted(uint64_t time, int64_t delta) {
  int64_t sum;
  if (__builtin_add_overflow((int64_t)time, delta, &sum)) return delta > 0 ? DISPATCH_TIME_FOREVER : 1;
  return sum < 1 ? 1 : (uint64_t)sum;
}
uint64_t wall(uint64_t time) {
  return time == DISPATCH_TIME_FOREVER ? time : (uint64_t)-(int64_t)(time < 2 ? 2 : time);
}
}  // namespace

dispatch_time_t dispatch_time(dispatch_time_t when, int64_t delta) {
  if (when == DISPATCH_TIME_FOREVER) return when;
  if (when == DISPATCH_WALLTIME_NOW) return wall(shifted(nanoseconds(CLOCK_REALTIME), delta));
  if (when & wallBit) return wall(shifted((uint64_t)-(int64_t)when, delta));
  return shifted(when == DISPATCH_TIME_NOW ? nanoseconds(CLOCK_MONOTONIC) : when, delta);
}

dispatch_time_t dispatch_walltime(const struct timespec *when, int64_t delta) {
  const uint64_t time =
      when ? (uint64_t)when->tv_sec * NSEC_PER_SEC + (uint64_t)when->tv_nsec : nanoseconds(CLOCK_REALTIME);
  return wall(shifted(time, delta));
}

uint64_t dispatch_monotonic(dispatch_time_t when) {
  if (when == DISPATCH_TIME_NOW) return nanoseconds(CLOCK_MONOTONIC);
  if (when == DISPATCH_TIME_FOREVER || !(when & wallBit)) return when;
  const uint64_t time = when == DISPATCH_WALLTIME_NOW ? 0 : (uint64_t)-(int64_t)when;
  const uint64_t now = nanoseconds(CLOCK_REALTIME);
  return nanoseconds(CLOCK_MONOTONIC) + (time > now ? time - now : 0);
}

void dispatch_condition_init(pthread_cond_t *condition) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &monotonic);
  pthread_condattr_destroy(&monotonic);
}

bool dispatch_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, dispatch_time_t until) {
  if (until == DISPATCH_TIME_FOREVER) return pthread_cond_wait(condition, mutex) == 0;
  const uint64_t time = dispatch_monotonic(until);
  const struct timespec at = {(time_t)(time / NSEC_PER_SEC), (long)(time % NSEC_PER_SEC)};
  return pthread_cond_timedwait(condition, mutex, &at) != ETIMEDOUT;
}

// ---------------------------------------------------------------- once
// The predicate is 0, then an address that tells who runs the work, then all ones.
void dispatch_once_f(dispatch_once_t *predicate, void *context, dispatch_function_t work) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  static thread_local char self;
  const dispatch_once_t done = ~(dispatch_once_t)0;
  if (__atomic_load_n(predicate, __ATOMIC_ACQUIRE) == done) return;
  dispatch_once_t state = 0;
  if (__atomic_compare_exchange_n(predicate, &state, (dispatch_once_t)&self, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    dispatch_call(work, context);
    DispatchLocked locked(&lock);
    __atomic_store_n(predicate, done, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&changed);
    return;
  }
  if (state == (dispatch_once_t)&self) dispatch_misuse("dispatch_once inside its own work would wait for itself");
  DispatchLocked locked(&lock);
  while (__atomic_load_n(predicate, __ATOMIC_ACQUIRE) != done) pthread_cond_wait(&changed, &lock);
}
void dispatch_once(dispatch_once_t *predicate, DISPATCH_NOESCAPE dispatch_block_t block) {
  dispatch_once_f(predicate, (void *)block, [](void *work) { ((dispatch_block_t)work)(); });
}

// ---------------------------------------------------------------- groups
namespace {
// What a group does when it becomes empty.
struct Notification {
  Notification *next;
  dispatch_queue_t queue;  // retained
  void *context;
  dispatch_function_t work;
};
}  // namespace

// A group that is not empty retains itself, as a program may release it first.
@interface HostDispatchGroup : NSObject <OS_dispatch_group> {
 @public
  pthread_mutex_t _lock;
  pthread_cond_t _empty;
  size_t _count, _generation;
  Notification *_first, **_end;
}
@end

@implementation HostDispatchGroup
- (instancetype)init {
  if ((self = [super init])) {
    pthread_mutex_init(&_lock, nullptr);
    dispatch_condition_init(&_empty);
    _end = &_first;
  }
  return self;
}
- (void)dealloc {
  pthread_mutex_destroy(&_lock);
  pthread_cond_destroy(&_empty);
  [super dealloc];
}
@end

namespace {
HostDispatchGroup *own(dispatch_group_t group) {
  if (!group) dispatch_misuse("a group is NULL");
  return (HostDispatchGroup *)group;
}
}  // namespace

dispatch_group_t dispatch_group_create(void) {
  return [[HostDispatchGroup alloc] init];
}

void dispatch_group_enter(dispatch_group_t given) {
  HostDispatchGroup *group = own(given);
  DispatchLocked locked(&group->_lock);
  if (group->_count++ == 0) [group retain];
}

void dispatch_group_leave(dispatch_group_t given) {
  HostDispatchGroup *group = own(given);
  Notification *notifications;
  {
    DispatchLocked locked(&group->_lock);
    if (group->_count == 0) dispatch_misuse("dispatch_group_leave without a dispatch_group_enter");
    if (--group->_count > 0) return;
    group->_generation++;
    notifications = group->_first;
    group->_first = nullptr;
    group->_end = &group->_first;
    pthread_cond_broadcast(&group->_empty);
  }
  while (Notification *next = notifications) {
    notifications = next->next;
    dispatch_submit(next->queue, nil, false, next->context, next->work);
    [next->queue release];
    free(next);
  }
  [group release];
}

intptr_t dispatch_group_wait(dispatch_group_t given, dispatch_time_t timeout) {
  HostDispatchGroup *group = own(given);
  DispatchLocked locked(&group->_lock);
  if (group->_count == 0) return 0;
  const size_t generation = group->_generation;
  while (group->_generation == generation)
    if (!dispatch_condition_wait(&group->_empty, &group->_lock, timeout) && group->_generation == generation)
      return ETIMEDOUT;
  return 0;
}

void dispatch_group_async_f(dispatch_group_t group, dispatch_queue_t queue, void *context, dispatch_function_t work) {
  dispatch_group_enter(group);
  dispatch_submit(queue, group, false, context, work);
}
void dispatch_group_async(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block) {
  dispatch_group_async_f(group, queue, _Block_copy((void *)block), dispatch_call_block);
}

void dispatch_group_notify_f(dispatch_group_t given, dispatch_queue_t queue, void *context, dispatch_function_t work) {
  HostDispatchGroup *group = own(given);
  {
    DispatchLocked locked(&group->_lock);
    if (group->_count > 0) {
      Notification *notification = (Notification *)dispatch_allocate(sizeof(Notification));
      notification->queue = [queue retain];
      notification->context = context;
      notification->work = work;
      *group->_end = notification;
      group->_end = &notification->next;
      return;
    }
  }
  dispatch_submit(queue, nil, false, context, work);
}
void dispatch_group_notify(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block) {
  dispatch_group_notify_f(group, queue, _Block_copy((void *)block), dispatch_call_block);
}

// ---------------------------------------------------------------- semaphores
@interface HostDispatchSemaphore : NSObject <OS_dispatch_semaphore> {
 @public
  pthread_mutex_t _lock;
  pthread_cond_t _signalled;
  intptr_t _value, _original;
  size_t _waiting;
}
@end

@implementation HostDispatchSemaphore
- (void)dealloc {
  if (_value < _original) dispatch_misuse("a semaphore is released while what it counts is in use");
  pthread_mutex_destroy(&_lock);
  pthread_cond_destroy(&_signalled);
  [super dealloc];
}
@end

namespace {
HostDispatchSemaphore *own(dispatch_semaphore_t semaphore) {
  if (!semaphore) dispatch_misuse("a semaphore is NULL");
  return (HostDispatchSemaphore *)semaphore;
}
}  // namespace

dispatch_semaphore_t dispatch_semaphore_create(intptr_t value) {
  if (value < 0) return nil;
  HostDispatchSemaphore *semaphore = [[HostDispatchSemaphore alloc] init];
  semaphore->_value = semaphore->_original = value;
  pthread_mutex_init(&semaphore->_lock, nullptr);
  dispatch_condition_init(&semaphore->_signalled);
  return semaphore;
}

intptr_t dispatch_semaphore_wait(dispatch_semaphore_t given, dispatch_time_t timeout) {
  HostDispatchSemaphore *semaphore = own(given);
  DispatchLocked locked(&semaphore->_lock);
  semaphore->_waiting++;
  bool in_time = true;
  while (semaphore->_value == 0 && in_time)
    in_time = dispatch_condition_wait(&semaphore->_signalled, &semaphore->_lock, timeout);
  semaphore->_waiting--;
  if (semaphore->_value == 0) return ETIMEDOUT;
  semaphore->_value--;
  return 0;
}

intptr_t dispatch_semaphore_signal(dispatch_semaphore_t given) {
  HostDispatchSemaphore *semaphore = own(given);
  DispatchLocked locked(&semaphore->_lock);
  semaphore->_value++;
  if (semaphore->_waiting == 0) return 0;
  pthread_cond_signal(&semaphore->_signalled);
  return 1;
}

// ---------------------------------------------------------------- data
// Bytes that do not change, in one piece: a part of other data keeps that, what joins two is a copy.
@interface HostDispatchData : NSObject <OS_dispatch_data> {
 @public
  const void *_bytes;
  size_t _size;
  HostDispatchData *_whole;
  dispatch_queue_t _queue;
  dispatch_block_t _destructor;
}
@end

const dispatch_block_t _dispatch_data_destructor_free = ^{
  dispatch_misuse("DISPATCH_DATA_DESTRUCTOR_FREE is not for calling");
};
const dispatch_block_t _dispatch_data_destructor_munmap = ^{
  dispatch_misuse("DISPATCH_DATA_DESTRUCTOR_MUNMAP is not for calling");
};

@implementation HostDispatchData
- (void)dealloc {
  [_whole release];
  if (_destructor == _dispatch_data_destructor_free) {
    free((void *)_bytes);
  } else if (_destructor == _dispatch_data_destructor_munmap) {
    munmap((void *)_bytes, _size);
  } else if (_destructor) {
    dispatch_async_f(_queue, (void *)_destructor, dispatch_call_block);
    [_queue release];
  }
  [super dealloc];
}
@end

namespace {
HostDispatchData *own(dispatch_data_t data) {
  if (!data) dispatch_misuse("data is NULL");
  return (HostDispatchData *)data;
}

HostDispatchData *joined(const void *first, size_t first_size, const void *second, size_t second_size) {
  HostDispatchData *data = [[HostDispatchData alloc] init];
  char *bytes = (char *)dispatch_allocate(first_size + second_size + 1);
  if (first_size > 0) memcpy(bytes, first, first_size);
  if (second_size > 0) memcpy(bytes + first_size, second, second_size);
  data->_bytes = bytes;
  data->_size = first_size + second_size;
  data->_destructor = _dispatch_data_destructor_free;
  return data;
}
}  // namespace

dispatch_data_t dispatch_data_create(const void *bytes, size_t size, dispatch_queue_t queue, dispatch_block_t destructor) {
  if (!destructor) return joined(bytes, size, nullptr, 0);
  HostDispatchData *data = [[HostDispatchData alloc] init];
  data->_bytes = bytes;
  data->_size = size;
  data->_destructor = destructor;
  if (destructor != _dispatch_data_destructor_free && destructor != _dispatch_data_destructor_munmap) {
    data->_destructor = (dispatch_block_t)_Block_copy((void *)destructor);
    data->_queue = [queue ? queue : dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0) retain];
  }
  return data;
}

size_t dispatch_data_get_size(dispatch_data_t data) {
  return own(data)->_size;
}

dispatch_data_t dispatch_data_create_subrange(dispatch_data_t given, size_t offset, size_t length) {
  HostDispatchData *data = own(given);
  if (offset > data->_size) offset = data->_size;
  if (length > data->_size - offset) length = data->_size - offset;
  HostDispatchData *part = [[HostDispatchData alloc] init];
  part->_bytes = (const char *)data->_bytes + offset;
  part->_size = length;
  part->_whole = [data retain];
  return part;
}

dispatch_data_t dispatch_data_create_map(dispatch_data_t given, const void **bytes, size_t *size) {
  HostDispatchData *data = own(given);
  if (bytes) *bytes = data->_bytes;
  if (size) *size = data->_size;
  return [data retain];
}

dispatch_data_t dispatch_data_create_concat(dispatch_data_t first, dispatch_data_t second) {
  return joined(own(first)->_bytes, own(first)->_size, own(second)->_bytes, own(second)->_size);
}

bool dispatch_data_apply(dispatch_data_t given, DISPATCH_NOESCAPE dispatch_data_applier_t applier) {
  HostDispatchData *data = own(given);
  return data->_size == 0 || applier(data, 0, data->_bytes, data->_size);
}
