// Our libdispatch: order, exclusion, waiting and lifetimes as Apple's documentation states them. Misuse that ends the process
// is tried in children.
#import "faces.h"

#include <dispatch/dispatch.h>

#include <atomic>
#include <cstring>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {
dispatch_queue_t global() {
  return dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0);
}

void a_serial_queue_runs_one_block_after_the_other() {
  dispatch_queue_t queue = dispatch_queue_create("serial", DISPATCH_QUEUE_SERIAL);
  dispatch_group_t group = dispatch_group_create();
  std::vector<int> *order = new std::vector<int>;  // no lock: the queue is one
  for (int i = 0; i < 2000; i++) dispatch_group_async(group, queue, ^{ order->push_back(i); });
  CHECK_EQUAL(dispatch_group_wait(group, DISPATCH_TIME_FOREVER), 0);
  __block size_t size = 0;
  dispatch_sync(queue, ^{ size = order->size(); });
  CHECK_EQUAL(size, 2000);
  for (int i = 0; i < 2000; i++) CHECK_EQUAL((*order)[(size_t)i], i);
  CHECK(strcmp(dispatch_queue_get_label(queue), "serial") == 0);
  dispatch_release(group);
  dispatch_release(queue);
  delete order;
}

void serial_work_and_synchronous_work_exclude_each_other() {
  dispatch_queue_t queue = dispatch_queue_create(nullptr, nullptr);
  int *count = new int(0);  // no lock; not __block, which several threads may not move to the heap at once
  dispatch_apply(8, nullptr, ^(size_t) {
    for (int i = 0; i < 200; i++) {
      dispatch_async(queue, ^{ ++*count; });
      dispatch_sync(queue, ^{ ++*count; });
    }
  });
  dispatch_sync(queue, ^{ CHECK_EQUAL(*count, 8 * 200 * 2); });
  dispatch_release(queue);
  delete count;
}

void blocks_of_a_concurrent_queue_run_at_the_same_time() {
  // Each waits for the other.
  dispatch_queue_t queue = dispatch_queue_create("concurrent", DISPATCH_QUEUE_CONCURRENT);
  for (dispatch_queue_t each : {queue, global()}) {
    dispatch_semaphore_t here = dispatch_semaphore_create(0), there = dispatch_semaphore_create(0);
    dispatch_group_t group = dispatch_group_create();
    dispatch_group_async(group, each, ^{
      dispatch_semaphore_signal(there);
      dispatch_semaphore_wait(here, DISPATCH_TIME_FOREVER);
    });
    dispatch_group_async(group, each, ^{
      dispatch_semaphore_signal(here);
      dispatch_semaphore_wait(there, DISPATCH_TIME_FOREVER);
    });
    CHECK_EQUAL(dispatch_group_wait(group, DISPATCH_TIME_FOREVER), 0);
    dispatch_release(group);
    dispatch_release(here);
    dispatch_release(there);
  }
  dispatch_release(queue);
}

void a_barrier_runs_alone() {
  dispatch_queue_t queue = dispatch_queue_create("concurrent", DISPATCH_QUEUE_CONCURRENT);
  std::atomic<int> *inside = new std::atomic<int>(0);
  __block int plain = 0;  // no lock: only barriers write it
  __block bool alone = true;
  for (int i = 0; i < 500; i++) {
    dispatch_async(queue, ^{
      inside->fetch_add(1);
      (void)plain;
      inside->fetch_sub(1);
    });
    if (i % 5 == 0)
      dispatch_barrier_async(queue, ^{
        if (inside->load() != 0) alone = false;
        plain++;
      });
  }
  dispatch_barrier_sync(queue, ^{
    CHECK_EQUAL(plain, 100);
    CHECK(alone);
    CHECK_EQUAL(inside->load(), 0);
  });
  dispatch_release(queue);
  delete inside;
}

void a_serial_queue_runs_though_all_concurrent_threads_wait() {
  dispatch_semaphore_t gate = dispatch_semaphore_create(0);
  dispatch_group_t group = dispatch_group_create();
  for (int i = 0; i < 100; i++) dispatch_group_async(group, global(), ^{ dispatch_semaphore_wait(gate, DISPATCH_TIME_FOREVER); });
  dispatch_queue_t queue = dispatch_queue_create("serial", nullptr);
  dispatch_async(queue, ^{
    for (int i = 0; i < 100; i++) dispatch_semaphore_signal(gate);
  });
  CHECK_EQUAL(dispatch_group_wait(group, DISPATCH_TIME_FOREVER), 0);
  dispatch_sync(queue, ^{});
  dispatch_release(queue);
  dispatch_release(group);
  dispatch_release(gate);
}

void concurrent_work_runs_though_more_serial_queues_wait_than_it_has_threads() {
  dispatch_semaphore_t gate = dispatch_semaphore_create(0), begun = dispatch_semaphore_create(0);
  dispatch_group_t group = dispatch_group_create();
  for (int i = 0; i < 100; i++) {
    dispatch_queue_t queue = dispatch_queue_create("serial", nullptr);
    dispatch_group_async(group, queue, ^{
      dispatch_semaphore_signal(begun);
      dispatch_semaphore_wait(gate, DISPATCH_TIME_FOREVER);
    });
    dispatch_release(queue);
  }
  for (int i = 0; i < 100; i++) dispatch_semaphore_wait(begun, DISPATCH_TIME_FOREVER);
  dispatch_group_async(group, global(), ^{
    for (int i = 0; i < 100; i++) dispatch_semaphore_signal(gate);
  });
  CHECK_EQUAL(dispatch_group_wait(group, DISPATCH_TIME_FOREVER), 0);
  dispatch_release(group);
  dispatch_release(begun);
  dispatch_release(gate);
}

void a_block_is_kept_however_often_it_is_copied() {
  // Apple's runtime counts 32,767 copies and never frees what has more; ours counts 4,194,303.
  constexpr int copies = 100000;
  Probe *probe = [[Probe alloc] init];
  void (^block)() = Block_copy(^{ (void)[probe description]; });
  [probe release];
  for (int i = 0; i < copies; i++) (void)Block_copy(block);
  CHECK_EQUAL([(id)block retainCount], copies + 1);
  for (int i = 0; i < copies; i++) Block_release(block);
  CHECK_EQUAL([Probe living], 1);
  Block_release(block);
  CHECK_EQUAL([Probe living], 0);

  // Each of many blocks refers to the variable.
  __block int variable = 0;
  std::vector<void (^)()> blocks;
  for (int i = 0; i < copies; i++) blocks.push_back(Block_copy(^{ variable++; }));
  while (blocks.size() > 1) {
    Block_release(blocks.back());
    blocks.pop_back();
  }
  blocks[0]();
  CHECK_EQUAL(variable, 1);
  Block_release(blocks[0]);

  // Beyond the end of the count it is kept for good.
  static void (^kept)() = nil;  // where a leak checker sees it
  int calls = 0, *counted = &calls;
  kept = Block_copy(^{ ++*counted; });
  constexpr int many = 4300000;
  for (int i = 0; i < many; i++) (void)Block_copy(kept);
  for (int i = 0; i <= many; i++) Block_release(kept);
  kept();
  CHECK_EQUAL(calls, 1);
}

void apply_runs_each_iteration_once() {
  for (dispatch_queue_t queue : {(dispatch_queue_t)nil, dispatch_queue_create("serial", nullptr),
                                 dispatch_queue_create("concurrent", DISPATCH_QUEUE_CONCURRENT)}) {
    std::vector<std::atomic<int>> *counts = new std::vector<std::atomic<int>>(10000);
    dispatch_apply(10000, queue, ^(size_t i) { (*counts)[i]++; });
    for (const std::atomic<int> &count : *counts)
      if (count != 1) CHECK_EQUAL(count, 1);
    delete counts;
    dispatch_apply(0, queue, ^(size_t) { CHECK(false); });
    if (queue) dispatch_release(queue);
  }
  // Nested, from blocks of a queue.
  std::atomic<int> *sum = new std::atomic<int>(0);
  dispatch_apply(10, nullptr, ^(size_t) { dispatch_apply(10, global(), ^(size_t) { sum->fetch_add(1); }); });
  CHECK_EQUAL(sum->load(), 100);
  delete sum;
}

void a_semaphore_counts() {
  dispatch_semaphore_t semaphore = dispatch_semaphore_create(2);
  CHECK_EQUAL(dispatch_semaphore_wait(semaphore, DISPATCH_TIME_NOW), 0);
  CHECK_EQUAL(dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER), 0);
  CHECK(dispatch_semaphore_wait(semaphore, DISPATCH_TIME_NOW) != 0);
  CHECK(dispatch_semaphore_wait(semaphore, dispatch_time(DISPATCH_TIME_NOW, NSEC_PER_MSEC)) != 0);
  CHECK(dispatch_semaphore_wait(semaphore, dispatch_walltime(nullptr, NSEC_PER_MSEC)) != 0);
  CHECK_EQUAL(dispatch_semaphore_signal(semaphore), 0);
  CHECK_EQUAL(dispatch_semaphore_wait(semaphore, DISPATCH_TIME_NOW), 0);
  dispatch_semaphore_signal(semaphore);
  dispatch_semaphore_signal(semaphore);
  dispatch_release(semaphore);
  CHECK(dispatch_semaphore_create(-1) == nil);
}

void a_group_tells_when_it_is_empty() {
  dispatch_group_t group = dispatch_group_create();
  dispatch_semaphore_t told = dispatch_semaphore_create(0);
  CHECK_EQUAL(dispatch_group_wait(group, DISPATCH_TIME_NOW), 0);
  dispatch_group_enter(group);
  dispatch_group_notify(group, global(), ^{ dispatch_semaphore_signal(told); });
  CHECK(dispatch_group_wait(group, DISPATCH_TIME_NOW) != 0);
  CHECK(dispatch_semaphore_wait(told, DISPATCH_TIME_NOW) != 0);
  dispatch_group_leave(group);
  CHECK_EQUAL(dispatch_semaphore_wait(told, DISPATCH_TIME_FOREVER), 0);
  // An empty one at once.
  dispatch_group_notify_f(group, global(), (void *)told, [](void *context) {
    dispatch_semaphore_signal((dispatch_semaphore_t)context);
  });
  CHECK_EQUAL(dispatch_semaphore_wait(told, DISPATCH_TIME_FOREVER), 0);
  // A group in use outlives its owner's reference.
  dispatch_group_enter(group);
  dispatch_release(group);
  dispatch_group_leave(group);
  dispatch_release(told);
}

void once_means_once() {
  static dispatch_once_t predicate;
  static int runs;  // no lock
  dispatch_apply(64, nullptr, ^(size_t) {
    dispatch_once(&predicate, ^{ runs++; });
    if (runs != 1) faces_note(__FILE__, __LINE__, "dispatch_once returned before the work was done");
  });
  CHECK_EQUAL(runs, 1);
}

void later_is_not_before_its_time_and_in_order() {
  dispatch_queue_t queue = dispatch_queue_create("timed", nullptr);
  dispatch_semaphore_t done = dispatch_semaphore_create(0);
  // Once more where this thread was so slow that the first came due before the last was known.
  for (bool in_time = false; !in_time;) {
    std::vector<int> *order = new std::vector<int>;
    const dispatch_time_t start = dispatch_time(DISPATCH_TIME_NOW, 100 * NSEC_PER_MSEC);
    for (int number : {3, 1, 2, 0}) {
      const dispatch_time_t when = dispatch_time(start, number * (int64_t)NSEC_PER_MSEC);
      dispatch_after(when, queue, ^{
        CHECK(dispatch_time(DISPATCH_TIME_NOW, 0) >= when);
        order->push_back(number);
        dispatch_semaphore_signal(done);
      });
    }
    in_time = dispatch_time(DISPATCH_TIME_NOW, 0) < start;
    for (int i = 0; i < 4; i++) dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
    CHECK_EQUAL(order->size(), 4);
    for (size_t i = 0; in_time && i < order->size(); i++) CHECK_EQUAL((*order)[i], i);
    delete order;
  }
  dispatch_after(DISPATCH_TIME_NOW, queue, ^{ dispatch_semaphore_signal(done); });
  dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
  dispatch_release(queue);
  dispatch_release(done);
}

void times_saturate() {
  CHECK(dispatch_time(DISPATCH_TIME_FOREVER, -5) == DISPATCH_TIME_FOREVER);
  CHECK(dispatch_time(DISPATCH_TIME_NOW, INT64_MAX) == DISPATCH_TIME_FOREVER);
  CHECK(dispatch_time(DISPATCH_TIME_NOW, INT64_MIN) == 1);
  const struct timespec second = {1000, 7};
  CHECK_EQUAL((int64_t)dispatch_walltime(&second, 0), -1000000000007);
  CHECK_EQUAL((int64_t)dispatch_time(dispatch_walltime(&second, 0), -7), -1000000000000);
  // A wall time of long ago has come.
  dispatch_semaphore_t semaphore = dispatch_semaphore_create(0);
  CHECK(dispatch_semaphore_wait(semaphore, dispatch_walltime(&second, 0)) != 0);
  dispatch_release(semaphore);
}

void what_a_block_captures_is_kept_until_it_has_run() {
  dispatch_queue_t queue = dispatch_queue_create("keeps", nullptr);
  dispatch_semaphore_t gate = dispatch_semaphore_create(0);
  @autoreleasepool {
    Probe *probe = [[Probe alloc] init];
    dispatch_async(queue, ^{
      dispatch_semaphore_wait(gate, DISPATCH_TIME_FOREVER);
      (void)[probe description];
      dispatch_async(queue, ^{ (void)[probe description]; });  // on a queue that its owner has released
    });
    [probe release];
    CHECK_EQUAL([Probe living], 1);
  }
  dispatch_release(queue);
  dispatch_semaphore_signal(gate);
  [Probe awaitNone];
  dispatch_release(gate);
}

void an_object_autoreleased_in_a_synchronous_block_lives_on() {
  dispatch_queue_t queue = dispatch_queue_create("sync", nullptr);
  __block Probe *probe = nil;
  @autoreleasepool {
    dispatch_sync(queue, ^{ probe = [[[Probe alloc] init] autorelease]; });
    CHECK_EQUAL([Probe living], 1);
  }
  CHECK_EQUAL([Probe living], 0);
  dispatch_release(queue);
}

void data_is_copied_or_given_back() {
  char text[] = "some bytes";
  dispatch_data_t copy = dispatch_data_create(text, 4, nil, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
  text[0] = 'X';
  const void *bytes = nullptr;
  size_t size = 0;
  dispatch_data_t map = dispatch_data_create_map(copy, &bytes, &size);
  CHECK_EQUAL(size, 4);
  CHECK(memcmp(bytes, "some", 4) == 0);
  dispatch_data_t part = dispatch_data_create_subrange(copy, 2, 100);
  dispatch_data_t both = dispatch_data_create_concat(copy, part);
  dispatch_release(copy);
  dispatch_release(map);
  CHECK_EQUAL(dispatch_data_get_size(part), 2);
  CHECK(dispatch_data_apply(both, ^bool(dispatch_data_t, size_t offset, const void *region, size_t length) {
    CHECK_EQUAL(offset, 0);
    CHECK_EQUAL(length, 6);
    CHECK(memcmp(region, "someme", 6) == 0);
    return true;
  }));
  dispatch_release(part);
  dispatch_release(both);

  dispatch_semaphore_t freed = dispatch_semaphore_create(0);
  dispatch_release(dispatch_data_create(text, sizeof text, global(), ^{ dispatch_semaphore_signal(freed); }));
  CHECK_EQUAL(dispatch_semaphore_wait(freed, DISPATCH_TIME_FOREVER), 0);
  dispatch_release(freed);
  dispatch_release(dispatch_data_create(strdup("text"), 4, nil, DISPATCH_DATA_DESTRUCTOR_FREE));
  void *pages = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  dispatch_release(dispatch_data_create(pages, 4096, nil, DISPATCH_DATA_DESTRUCTOR_MUNMAP));
}

// The text that a child writes which must end by abort.
std::string last_words(void (*misuse)()) {
  int ends[2];
  CHECK_EQUAL(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    misuse();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char piece[256];
  for (ssize_t got; (got = read(ends[0], piece, sizeof piece)) > 0;) text.append(piece, (size_t)got);
  close(ends[0]);
  int status = 0;
  CHECK_EQUAL(waitpid(child, &status, 0), child);
  CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
  return text;
}

void misuse_ends_the_process_with_a_message() {
  struct {
    void (*misuse)();
    const char *text;
  } const cases[] = {
      {[] {
         dispatch_queue_t queue = dispatch_queue_create("mine", nullptr);
         dispatch_sync(queue, ^{ dispatch_sync(queue, ^{}); });
       },
       "would wait for itself"},
      {[] { dispatch_group_leave(dispatch_group_create()); }, "without a dispatch_group_enter"},
      {[] {
         dispatch_semaphore_t semaphore = dispatch_semaphore_create(1);
         dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER);
         dispatch_release(semaphore);
       },
       "while what it counts is in use"},
      {[] {
         static dispatch_once_t predicate;
         dispatch_once(&predicate, ^{ dispatch_once(&predicate, ^{}); });
       },
       "inside its own work"},
      {[] { dispatch_async(nil, ^{}); }, "a queue is NULL"},
      {[] {
         dispatch_queue_t queue = dispatch_queue_create("raises", nullptr);
         dispatch_sync(queue, ^{ [NSException raise:@"Name" format:@"reason"]; });
       },
       "Name: reason"},
  };
  for (const auto &each : cases) CHECK_CONTAINS([NSString stringWithUTF8String:last_words(each.misuse).c_str()],
                                                [NSString stringWithUTF8String:each.text]);
  CHECK(dispatch_get_global_queue(12345, 0) == nil);
}
}  // namespace

const FaceCase dispatch_cases[] = {
#define CASE(name) {#name, name}
    CASE(a_serial_queue_runs_one_block_after_the_other),
    CASE(serial_work_and_synchronous_work_exclude_each_other),
    CASE(blocks_of_a_concurrent_queue_run_at_the_same_time),
    CASE(a_barrier_runs_alone),
    CASE(a_serial_queue_runs_though_all_concurrent_threads_wait),
    CASE(concurrent_work_runs_though_more_serial_queues_wait_than_it_has_threads),
    CASE(a_block_is_kept_however_often_it_is_copied),
    CASE(apply_runs_each_iteration_once),
    CASE(a_semaphore_counts),
    CASE(a_group_tells_when_it_is_empty),
    CASE(once_means_once),
    CASE(later_is_not_before_its_time_and_in_order),
    CASE(times_saturate),
    CASE(what_a_block_captures_is_kept_until_it_has_run),
    CASE(an_object_autoreleased_in_a_synchronous_block_lives_on),
    CASE(data_is_copied_or_given_back),
    CASE(misuse_ends_the_process_with_a_message),
    {nullptr, nullptr},
};
