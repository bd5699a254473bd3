// Mistakes made on purpose: whoever runs the cases under a sanitizer sees by them that it reports what it is there for.
#import "faces.h"

#include <climits>
#include <cstring>
#include <pthread.h>

namespace {
volatile int raced;
volatile int largest = INT_MAX;

void *race(void *) {
  for (int i = 0; i < 100000; i++) raced = raced + 1;
  return nullptr;
}

void leak_an_object() {
  @autoreleasepool {
    id<MTLDevice> device = [MTLCreateSystemDefaultDevice() autorelease];
    [device newCommandQueue];
  }
}

void use_a_block_after_its_end() {
  const int captured = raced;
  int (^block)(void) = [^{
    return captured;
  } copy];
  [block release];
  raced = block();
}

void race_two_threads() {
  pthread_t threads[2];
  for (pthread_t &thread : threads) pthread_create(&thread, nullptr, race, nullptr);
  for (pthread_t &thread : threads) pthread_join(thread, nullptr);
}

void overflow_an_integer() {
  raced = largest + 1;
}
}  // namespace

// false when there is no mistake of that name.
extern "C" bool faces_plant(const char *name) {
  static const FaceCase plants[] = {{"leak", leak_an_object},
                                    {"use-after-free", use_a_block_after_its_end},
                                    {"race", race_two_threads},
                                    {"overflow", overflow_an_integer}};
  for (const FaceCase &plant : plants) {
    if (strcmp(plant.name, name) != 0) continue;
    plant.run();
    return true;
  }
  return false;
}
