// libdispatch's queues, on threads that are made when work waits and end when none came for some seconds.
//
// A queue is a list of items of which those at its head may run: any number of plain ones, or one barrier alone. In a serial
// queue every item is a barrier. An item that may run goes to the threads; a caller that waits for its turn (dispatch_sync)
// is woken instead and runs the item itself. As with Apple's, at most 64 threads run items of concurrent queues and at most 512
// those of serial ones, each whatever the others do, so that a blocked thread of one kind does not stop the other.
#import "dispatch.h"

#import "faces.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

@class HostDispatchQueue;

namespace {
struct Item {
  Item *next;
  dispatch_function_t work;
  void *context;
  HostDispatchQueue *queue;  // retained; nil for the parts of dispatch_apply
  dispatch_group_t group;    // left when the work is done
  bool barrier;
  pthread_cond_t *turn;  // of a thread that waits to run the work itself
  bool started;
  uint64_t when;  // for the timers
};

struct List {
  Item *first = nullptr, **end = &first;
  void add(Item *item) {
    item->next = nullptr;
    *end = item;
    end = &item->next;
  }
  Item *take() {
    Item *item = first;
    if (item && !(first = item->next)) end = &first;
    return item;
  }
};

// ---------------------------------------------------------------- threads
constexpr int64_t idleTime = 5 * NSEC_PER_SEC;

// Items of one kind of queues.
struct Work {
  explicit Work(size_t most) : most(most) {}
  List items;
  size_t waiting = 0, running = 0;
  const size_t most;  // at once
  size_t due() const { return std::min(waiting, most - running); }
  Item *take() {
    waiting--;
    running++;
    return items.take();
  }
};

struct Threads {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wake;
  Work serial{512}, concurrent{64};
  size_t idle = 0, count = 0;  // threads; one that has only just been made is idle
  size_t due() const { return serial.due() + concurrent.due(); }
};

Threads &threads() {
  // Never destroyed: its threads outlive main.
  static Threads *all = [] {
    Threads *made = new Threads;
    dispatch_condition_init(&made->wake);
    return made;
  }();
  return *all;
}

thread_local HostDispatchQueue *running;

bool make_thread(void *(*main)(void *)) {
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const bool made = pthread_create(&thread, &detached, main, nullptr) == 0;
  pthread_attr_destroy(&detached);
  return made;
}

Item *run(Item *item);

void call_thread(Threads &all);

void *thread_main(void *) {
  Threads &all = threads();
  Work *done = nullptr;  // whose item this thread has run
  for (;;) {
    Item *item;
    {
      DispatchLocked locked(&all.lock);
      if (done)
        done->running--;
      else
        all.idle--;
      const dispatch_time_t until = dispatch_time(DISPATCH_TIME_NOW, idleTime);
      while (all.due() == 0) {
        all.idle++;
        const bool in_time = dispatch_condition_wait(&all.wake, &all.lock, until);
        all.idle--;
        if (!in_time && all.due() == 0) {
          all.count--;
          return nullptr;
        }
      }
      done = all.serial.due() > 0 ? &all.serial : &all.concurrent;
      item = done->take();
      // A concurrent one may have become due when this thread was done with its own.
      if (all.due() > 0) call_thread(all);
    }
    while (item) item = run(item);
  }
}

// For what is due and has no thread yet. The lock is held.
void call_thread(Threads &all) {
  if (all.due() <= all.idle)
    pthread_cond_signal(&all.wake);
  else if (make_thread(thread_main))
    all.count++, all.idle++;
  else if (all.count == 0)
    dispatch_misuse("no thread can be made");
}

void hand_over(Item *item, bool serial) {
  Threads &all = threads();
  DispatchLocked locked(&all.lock);
  Work &work = serial ? all.serial : all.concurrent;
  work.items.add(item);
  work.waiting++;
  if (work.due() > 0) call_thread(all);
}
}  // namespace

// ---------------------------------------------------------------- a queue
@interface HostDispatchQueue : NSObject <OS_dispatch_queue> {
 @public
  char *_label;
  BOOL _concurrent, _global;
  pthread_mutex_t _lock;
  List _items;
  size_t _active;
  BOOL _exclusive;  // a barrier runs,
  BOOL _owned;      // on this thread:
  pthread_t _owner;
}
- (instancetype)initWithLabel:(const char *)label concurrent:(BOOL)concurrent;
@end

@implementation HostDispatchQueue
- (instancetype)initWithLabel:(const char *)label concurrent:(BOOL)concurrent {
  if ((self = [super init])) {
    _label = strdup(label ? label : "");
    _concurrent = concurrent;
    pthread_mutex_init(&_lock, nullptr);
  }
  return self;
}
- (void)dealloc {
  pthread_mutex_destroy(&_lock);
  free(_label);
  [super dealloc];
}
@end

// Lives as long as the process.
@interface HostDispatchGlobalQueue : HostDispatchQueue
@end
@implementation HostDispatchGlobalQueue
- (instancetype)retain {
  return self;
}
- (oneway void)release {
}
- (instancetype)autorelease {
  return self;
}
@end

namespace {
HostDispatchQueue *own(dispatch_queue_t queue) {
  if (!queue) dispatch_misuse("a queue is NULL");
  return (HostDispatchQueue *)queue;
}

// Starts what may run. The lock is held; the result is for hand_over.
List start(HostDispatchQueue *queue) {
  List started;
  while (Item *item = queue->_items.first) {
    if (queue->_exclusive || (item->barrier && queue->_active > 0)) break;
    queue->_items.take();
    queue->_active++;
    queue->_exclusive = item->barrier;
    queue->_owned = NO;
    if (item->turn) {
      item->started = true;
      pthread_cond_signal(item->turn);
    } else {
      started.add(item);
    }
  }
  return started;
}

void hand_over_all(HostDispatchQueue *queue, List *items) {
  while (Item *item = items->take()) hand_over(item, !queue->_concurrent);
}

// The lock is held.
void set_owner(HostDispatchQueue *queue) {
  if (!queue->_exclusive) return;
  queue->_owned = YES;
  queue->_owner = pthread_self();
}

List finish(HostDispatchQueue *queue) {
  DispatchLocked locked(&queue->_lock);
  queue->_active--;
  queue->_exclusive = NO;
  return start(queue);
}

// Runs and frees an item, and answers with another one of its queue.
Item *run(Item *item) {
  HostDispatchQueue *queue = item->queue;
  if (queue) {
    DispatchLocked locked(&queue->_lock);
    if (item->barrier) set_owner(queue);
  }
  running = queue;
  @autoreleasepool {
    dispatch_call(item->work, item->context);
  }
  running = nil;
  if (item->group) dispatch_group_leave(item->group);
  free(item);
  if (!queue) return nullptr;
  List started = finish(queue);
  Item *next = started.take();
  hand_over_all(queue, &started);
  [queue release];
  return next;
}

Item *make_item(HostDispatchQueue *queue, bool barrier, void *context, dispatch_function_t work) {
  Item *item = (Item *)dispatch_allocate(sizeof(Item));
  item->work = work;
  item->context = context;
  item->queue = [queue retain];
  item->barrier = !queue->_global && (barrier || !queue->_concurrent);
  return item;
}

void submit(Item *item) {
  HostDispatchQueue *queue = item->queue;
  List started;
  [queue retain];  // the item may be done at once
  {
    DispatchLocked locked(&queue->_lock);
    queue->_items.add(item);
    started = start(queue);
  }
  hand_over_all(queue, &started);
  [queue release];
}

void run_here(dispatch_queue_t given, bool barrier, void *context, dispatch_function_t work) {
  HostDispatchQueue *queue = own(given);
  barrier = !queue->_global && (barrier || !queue->_concurrent);
  {
    DispatchLocked locked(&queue->_lock);
    if (queue->_exclusive && queue->_owned && pthread_equal(queue->_owner, pthread_self()))
      dispatch_misuse("dispatch_sync on a queue that this thread holds already would wait for itself");
    pthread_cond_t turn;
    dispatch_condition_init(&turn);
    Item item = {};
    item.barrier = barrier;
    item.turn = &turn;
    queue->_items.add(&item);
    // Nothing else can start: what was ahead could not, or this is the head.
    start(queue);
    while (!item.started) pthread_cond_wait(&turn, &queue->_lock);
    pthread_cond_destroy(&turn);
    if (barrier) set_owner(queue);
  }
  HostDispatchQueue *outer = running;
  running = queue;
  dispatch_call(work, context);
  running = outer;
  List started = finish(queue);
  hand_over_all(queue, &started);
}

void call_borrowed(void *block) {
  ((dispatch_block_t)block)();
}
}  // namespace

void dispatch_submit(dispatch_queue_t queue, dispatch_group_t group, bool barrier, void *context, dispatch_function_t work) {
  Item *item = make_item(own(queue), barrier, context, work);
  item->group = group;
  submit(item);
}

// ---------------------------------------------------------------- interface
struct dispatch_queue_attr_s {
  int unused;
};
struct dispatch_queue_attr_s _dispatch_queue_attr_concurrent;

dispatch_queue_t dispatch_queue_create(const char *label, dispatch_queue_attr_t attr) {
  if (attr && attr != DISPATCH_QUEUE_CONCURRENT) dispatch_misuse("a queue's attribute is none of ours");
  return [[HostDispatchQueue alloc] initWithLabel:label concurrent:attr == DISPATCH_QUEUE_CONCURRENT];
}

dispatch_queue_attr_t dispatch_queue_attr_make_with_autorelease_frequency(dispatch_queue_attr_t attr,
                                                                          dispatch_autorelease_frequency_t) {
  return attr;
}

dispatch_queue_attr_t dispatch_queue_attr_make_with_qos_class(dispatch_queue_attr_t attr, dispatch_qos_class_t, int) {
  return attr;
}

dispatch_queue_t dispatch_get_global_queue(intptr_t identifier, uintptr_t flags) {
  if (flags & ~(uintptr_t)2) return nil;  // 2: DISPATCH_QUEUE_OVERCOMMIT
  switch (identifier) {
    case DISPATCH_QUEUE_PRIORITY_HIGH:
    case DISPATCH_QUEUE_PRIORITY_DEFAULT:
    case DISPATCH_QUEUE_PRIORITY_LOW:
    case DISPATCH_QUEUE_PRIORITY_BACKGROUND:
    case QOS_CLASS_USER_INTERACTIVE:
    case QOS_CLASS_USER_INITIATED:
    case QOS_CLASS_DEFAULT:
    case QOS_CLASS_UTILITY:
    case QOS_CLASS_BACKGROUND:
      break;
    default:
      return nil;
  }
  static HostDispatchQueue *global = [] {
    HostDispatchQueue *made = [[HostDispatchGlobalQueue alloc] initWithLabel:"com.apple.root.default-qos" concurrent:YES];
    made->_global = YES;
    return made;
  }();
  return global;
}

const char *dispatch_queue_get_label(dispatch_queue_t queue) {
  if (!queue) return running ? running->_label : "";
  return own(queue)->_label;
}

void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work) {
  dispatch_submit(queue, nil, false, context, work);
}
void dispatch_barrier_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work) {
  dispatch_submit(queue, nil, true, context, work);
}
void dispatch_async(dispatch_queue_t queue, dispatch_block_t block) {
  dispatch_submit(queue, nil, false, _Block_copy((void *)block), dispatch_call_block);
}
void dispatch_barrier_async(dispatch_queue_t queue, dispatch_block_t block) {
  dispatch_submit(queue, nil, true, _Block_copy((void *)block), dispatch_call_block);
}
void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work) {
  run_here(queue, false, context, work);
}
void dispatch_async_and_wait_f(dispatch_queue_t queue, void *context, dispatch_function_t work) {
  run_here(queue, false, context, work);
}
void dispatch_barrier_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work) {
  run_here(queue, true, context, work);
}
void dispatch_sync(dispatch_queue_t queue, DISPATCH_NOESCAPE dispatch_block_t block) {
  run_here(queue, false, (void *)block, call_borrowed);
}
void dispatch_async_and_wait(dispatch_queue_t queue, DISPATCH_NOESCAPE dispatch_block_t block) {
  run_here(queue, false, (void *)block, call_borrowed);
}
void dispatch_barrier_sync(dispatch_queue_t queue, DISPATCH_NOESCAPE dispatch_block_t block) {
  run_here(queue, true, (void *)block, call_borrowed);
}

// ---------------------------------------------------------------- apply
namespace {
// Shared by the caller and its helpers; a helper that comes late finds no iteration left and touches nothing of the caller's.
struct Apply {
  std::atomic<size_t> next{0}, left, users;
  size_t iterations;
  void *context;
  void (*work)(void *, size_t);
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t done = PTHREAD_COND_INITIALIZER;
};

void drop(Apply *apply) {
  if (apply->users.fetch_sub(1) != 1) return;
  pthread_mutex_destroy(&apply->lock);
  pthread_cond_destroy(&apply->done);
  delete apply;
}

void iterate(Apply *apply) {
  for (;;) {
    const size_t iteration = apply->next.fetch_add(1);
    if (iteration >= apply->iterations) return;
    apply->work(apply->context, iteration);
    if (apply->left.fetch_sub(1) == 1) {
      DispatchLocked locked(&apply->lock);
      pthread_cond_signal(&apply->done);
    }
  }
}

void help(void *argument) {
  iterate((Apply *)argument);
  drop((Apply *)argument);
}

// The caller's part, on its queue.
void lead(void *argument) {
  Apply *apply = (Apply *)argument;
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  size_t helpers = processors > 1 ? (size_t)processors - 1 : 0;
  if (running && !running->_concurrent) helpers = 0;
  if (helpers >= apply->iterations) helpers = apply->iterations - 1;
  apply->users = helpers + 1;
  for (size_t i = 0; i < helpers; i++) {
    Item *item = (Item *)dispatch_allocate(sizeof(Item));
    item->work = help;
    item->context = apply;
    hand_over(item, false);
  }
  iterate(apply);
  DispatchLocked locked(&apply->lock);
  while (apply->left.load() > 0) pthread_cond_wait(&apply->done, &apply->lock);
}

void call_iteration(void *block, size_t iteration) {
  ((void (^)(size_t))block)(iteration);
}
}  // namespace

void dispatch_apply_f(size_t iterations, dispatch_queue_t queue, void *context, void (*work)(void *, size_t)) {
  if (iterations == 0) return;
  Apply *apply = new Apply;
  apply->left = apply->iterations = iterations;
  apply->context = context;
  apply->work = work;
  run_here(queue ? queue : dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0), false, apply, lead);
  drop(apply);
}
void dispatch_apply(size_t iterations, dispatch_queue_t queue, DISPATCH_NOESCAPE void (^block)(size_t)) {
  dispatch_apply_f(iterations, queue, (void *)block, call_iteration);
}

// ---------------------------------------------------------------- timers
namespace {
// One thread while something waits for its time; the items are sorted by it.
struct Timers {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed;
  Item *first = nullptr;
  bool has_thread = false;
};

Timers &timers() {
  static Timers *all = [] {
    Timers *made = new Timers;
    dispatch_condition_init(&made->changed);
    return made;
  }();
  return *all;
}

void *timer_main(void *) {
  Timers &all = timers();
  pthread_mutex_lock(&all.lock);
  while (Item *item = all.first) {
    if (item->when > dispatch_monotonic(DISPATCH_TIME_NOW)) {
      dispatch_condition_wait(&all.changed, &all.lock, item->when);
      continue;
    }
    all.first = item->next;
    pthread_mutex_unlock(&all.lock);
    submit(item);
    pthread_mutex_lock(&all.lock);
  }
  all.has_thread = false;
  pthread_mutex_unlock(&all.lock);
  return nullptr;
}
}  // namespace

void dispatch_after_f(dispatch_time_t when, dispatch_queue_t queue, void *context, dispatch_function_t work) {
  if (when == DISPATCH_TIME_FOREVER) dispatch_misuse("dispatch_after with a time that never comes");
  Item *item = make_item(own(queue), false, context, work);
  item->when = dispatch_monotonic(when);
  Timers &all = timers();
  DispatchLocked locked(&all.lock);
  Item **place = &all.first;
  while (*place && (*place)->when <= item->when) place = &(*place)->next;
  item->next = *place;
  *place = item;
  if (all.has_thread)
    pthread_cond_signal(&all.changed);
  else if (!(all.has_thread = make_thread(timer_main)))
    dispatch_misuse("no thread can be made");
}
void dispatch_after(dispatch_time_t when, dispatch_queue_t queue, dispatch_block_t block) {
  dispatch_after_f(when, queue, _Block_copy((void *)block), dispatch_call_block);
}
