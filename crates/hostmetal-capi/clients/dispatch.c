// libdispatch from C, with and without blocks. With `plant` as its argument it releases a block once too often, for a sanitizer to tell.
#include <Block.h>
#include <dispatch/dispatch.h>
#include <stdio.h>
#include <string.h>

static void add(void *context) {
  ++*(int *)context;
}

int main(int argument_count, char **arguments) {
  int count = 0;
  dispatch_queue_t queue = dispatch_queue_create("counts", DISPATCH_QUEUE_SERIAL);
  dispatch_group_t group = dispatch_group_create();
  for (int i = 0; i < 100; i++) dispatch_group_async_f(group, queue, &count, add);
  dispatch_group_wait(group, DISPATCH_TIME_FOREVER);
  int *place = &count;
  dispatch_sync(queue, ^{ *place += 1; });
  dispatch_queue_t concurrent = dispatch_queue_create("concurrent", DISPATCH_QUEUE_CONCURRENT);
  dispatch_barrier_sync_f(concurrent, &count, add);
  dispatch_release(concurrent);
  dispatch_release(group);
  dispatch_release(queue);
  dispatch_block_t block = Block_copy(^{ *place += 1; });
  Block_release(block);
  if (argument_count > 1 && !strcmp(arguments[1], "plant")) Block_release(block);
  printf("%d\n", count);
  return count == 102 ? 0 : 1;
}
