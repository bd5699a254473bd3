// Cases of devices that go and come, run with two devices of which number 1 is removed by the environment (tests/faces.rs), and without
// the watchdog: nothing else ends what runs or waits.
#import "faces.h"

#import "hostmetal.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {
id<MTLDevice> at(NSUInteger number) {
  return [[MTLCopyAllDevices() autorelease] objectAtIndex:number];
}

// What observers are told, one line each.
struct Told {
  std::mutex lock;
  std::condition_variable grown;
  std::vector<std::string> lines;

  MTLDeviceNotificationHandler handler() {
    return [[^(id<MTLDevice> device, MTLDeviceNotificationName name) {
      std::lock_guard<std::mutex> guard(lock);
      lines.push_back(std::string([name UTF8String]) + " " + std::to_string([device registryID]));
      grown.notify_all();
    } copy] autorelease];
  }
  // Waits for so many lines; the caller compares.
  std::vector<std::string> await(size_t count) {
    std::unique_lock<std::mutex> guard(lock);
    grown.wait_for(guard, std::chrono::minutes(1), [&] { return lines.size() >= count; });
    return lines;
  }
};

std::string line(MTLDeviceNotificationName name, id<MTLDevice> device) {
  return std::string([name UTF8String]) + " " + std::to_string([device registryID]);
}

id<MTLComputePipelineState> pipeline(id<MTLDevice> device, NSString *body) {
  NSError *error = nil;
  NSString *text = [@"#include <metal_stdlib>\nusing namespace metal;\n" stringByAppendingString:body];
  id<MTLLibrary> library = [[device newLibraryWithSource:text options:nil error:&error] autorelease];
  id<MTLFunction> function = [[library newFunctionWithName:@"k"] autorelease];
  id<MTLComputePipelineState> made = function ? [[device newComputePipelineStateWithFunction:function error:&error] autorelease] : nil;
  if (!made) faces_note(__FILE__, __LINE__, error ? [[error localizedDescription] UTF8String] : "no function");
  return made;
}

// Never ends; tells the host that it runs.
NSString *const ENDLESS = @"kernel void k(device atomic_uint *runs [[buffer(0)]]) {\n"
                           "  atomic_fetch_add_explicit(runs, 1, memory_order_relaxed);\n"
                           "  while (atomic_load_explicit(runs + 1, memory_order_relaxed) == 0) {}\n}\n";

void dispatch(id<MTLCommandBuffer> commandBuffer, id<MTLComputePipelineState> state, id<MTLBuffer> buffer, NSUInteger groups) {
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder setComputePipelineState:state];
  [encoder setBuffer:buffer offset:0 atIndex:0];
  [encoder dispatchThreadgroups:MTLSizeMake(groups, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
  [encoder endEncoding];
}

void check_removed(id<MTLCommandBuffer> commandBuffer, const char *file, int place) {
  [commandBuffer waitUntilCompleted];
  if ([commandBuffer status] != MTLCommandBufferStatusError) return faces_note(file, place, "no error");
  if (![[[commandBuffer error] domain] isEqualToString:MTLCommandBufferErrorDomain] ||
      [[commandBuffer error] code] != MTLCommandBufferErrorDeviceRemoved)
    faces_note(file, place, [[[commandBuffer error] description] UTF8String]);
}
#define CHECK_REMOVED(commandBuffer) check_removed(commandBuffer, __FILE__, __LINE__)

// One that has nothing to run.
id<MTLCommandBuffer> committed(id<MTLCommandQueue> queue) {
  id<MTLCommandBuffer> commandBuffer = [queue commandBuffer];
  [commandBuffer commit];
  return commandBuffer;
}

// First, while the environment's count is not used up.
void the_environment_removes_a_device() {
  Told told;
  id<NSObject> observer = nil;
  NSArray *all = [MTLCopyAllDevicesWithObserver(&observer, told.handler()) autorelease];
  CHECK_EQUAL([all count], 2);
  id<MTLDevice> device = [all objectAtIndex:1];
  id<MTLCommandQueue> queue = [[device newCommandQueue] autorelease];
  for (int i = 0; i < 2; i++) {
    id<MTLCommandBuffer> commandBuffer = committed(queue);
    [commandBuffer waitUntilCompleted];
    CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
  }
  CHECK_REMOVED(committed(queue));
  CHECK_REMOVED(committed(queue));
  CHECK_EQUAL([[MTLCopyAllDevices() autorelease] count], 1);
  CHECK(hostmetal_add_device(1));
  CHECK(at(1) != device && [at(1) registryID] != [device registryID]);
  CHECK([[at(1) name] isEqualToString:[device name]]);
  queue = [[at(1) newCommandQueue] autorelease];
  for (int i = 0; i < 4; i++) {
    id<MTLCommandBuffer> commandBuffer = committed(queue);
    [commandBuffer waitUntilCompleted];
    CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusCompleted);
  }
  const auto lines = told.await(2);
  CHECK((lines == std::vector<std::string>{line(MTLDeviceWasRemovedNotification, device), line(MTLDeviceWasAddedNotification, at(1))}));
  MTLRemoveDeviceObserver(observer);
  [observer release];
}

void observers_are_told_in_order() {
  Told told[2];
  id<NSObject> observers[2];
  for (int i = 0; i < 2; i++) [MTLCopyAllDevicesWithObserver(&observers[i], told[i].handler()) release];
  id<MTLDevice> old = at(0);
  id<MTLDevice> other = at(1);
  CHECK(hostmetal_request_device_removal(0));
  CHECK([[MTLCreateSystemDefaultDevice() autorelease] isEqual:old]);
  CHECK(hostmetal_remove_device(0));
  CHECK([[MTLCreateSystemDefaultDevice() autorelease] isEqual:other]);
  CHECK(!hostmetal_remove_device(0) && !hostmetal_request_device_removal(0));
  MTLRemoveDeviceObserver(observers[1]);
  CHECK(hostmetal_add_device(0));
  CHECK(!hostmetal_add_device(0) && !hostmetal_add_device(2) && !hostmetal_remove_device(2));
  const std::vector<std::string> all = {line(MTLDeviceRemovalRequestedNotification, old), line(MTLDeviceWasRemovedNotification, old),
                                        line(MTLDeviceWasAddedNotification, at(0))};
  CHECK(told[0].await(3) == all);
  MTLRemoveDeviceObserver(observers[0]);
  CHECK(hostmetal_request_device_removal(1));
  CHECK_EQUAL(told[0].await(3).size(), 3);
  for (id<NSObject> observer : observers) [observer release];
}

void a_device_that_has_gone_makes_nothing() {
  id<MTLDevice> device = at(0);
  id<MTLCommandQueue> queue = [[device newCommandQueue] autorelease];
  id<MTLBuffer> buffer = [[device newBufferWithLength:4096 options:0] autorelease];
  id<MTLCommandBuffer> open = [queue commandBuffer];
  MTLHeapDescriptor *heap = [[[MTLHeapDescriptor alloc] init] autorelease];
  [heap setSize:65536];
  MTLTextureDescriptor *texture =
      [MTLTextureDescriptor texture2DDescriptorWithPixelFormat:MTLPixelFormatR8Unorm width:4 height:4 mipmapped:NO];
  CHECK(hostmetal_remove_device(0));
  CHECK([device newBufferWithLength:4096 options:0] == nil);
  CHECK([device newBufferWithBytes:"abc" length:3 options:0] == nil);
  __block bool freed = false;
  CHECK([device newBufferWithBytesNoCopy:[buffer contents] length:4096 options:0 deallocator:^(void *, NSUInteger) { freed = true; }] == nil);
  CHECK(!freed);
  CHECK([device newTextureWithDescriptor:texture] == nil);
  CHECK([device newHeapWithDescriptor:heap] == nil);
  CHECK([device newCommandQueue] == nil);
  // What there is stays, but nothing runs.
  memset([buffer contents], 1, 4096);
  id<MTLBlitCommandEncoder> encoder = [open blitCommandEncoder];
  [encoder fillBuffer:buffer range:NSMakeRange(0, 4096) value:2];
  [encoder endEncoding];
  __block bool told = false;
  [open addCompletedHandler:^(id<MTLCommandBuffer>) { told = true; }];
  [open commit];
  CHECK_REMOVED(open);
  CHECK(told);
  CHECK_CONTAINS([[open error] localizedDescription], [device name]);
  CHECK_EQUAL(((const char *)[buffer contents])[0], 1);
  CHECK(hostmetal_add_device(0));
}

void what_runs_ends() {
  id<MTLDevice> device = at(0);
  id<MTLComputePipelineState> state = pipeline(device, ENDLESS);
  id<MTLBuffer> buffer = [[device newBufferWithLength:8 options:0] autorelease];
  id<MTLSharedEvent> event = [[device newSharedEvent] autorelease];
  // First, while workers are free: it has come to its wait, for what nobody signals, when its own signal is seen.
  id<MTLSharedEvent> come = [[device newSharedEvent] autorelease];
  id<MTLCommandBuffer> waiting = [[[device newCommandQueue] autorelease] commandBuffer];
  [waiting encodeSignalEvent:come value:1];
  [waiting encodeWaitForEvent:event value:2];
  [waiting encodeSignalEvent:event value:3];
  [waiting commit];
  CHECK([come waitUntilSignaledValue:1 timeoutMS:60000]);
  id<MTLCommandQueue> queue = [[device newCommandQueue] autorelease];
  id<MTLCommandBuffer> running = [queue commandBuffer];
  dispatch(running, state, buffer, 64);
  [running encodeSignalEvent:event value:1];
  [running commit];
  id<MTLCommandBuffer> behind = committed(queue);
  const std::atomic<unsigned> *runs = (const std::atomic<unsigned> *)[buffer contents];
  while (runs->load() == 0) std::this_thread::yield();
  CHECK(hostmetal_remove_device(0));
  CHECK_REMOVED(running);
  CHECK_REMOVED(behind);
  CHECK_REMOVED(waiting);
  // Failed command buffers make the signals that they owe.
  CHECK([event waitUntilSignaledValue:3 timeoutMS:60000]);
  // The other device works on.
  id<MTLCommandBuffer> other = committed([[at(0) newCommandQueue] autorelease]);
  [other waitUntilCompleted];
  CHECK_EQUAL([other status], MTLCommandBufferStatusCompleted);
  CHECK(hostmetal_add_device(0));
}

// Threads that use it while it goes: every command buffer ends, in one of two ways.
void a_device_goes_while_threads_use_it() {
  for (int round = 0; round < 10; round++) {
    id<MTLDevice> device = at(0);
    id<MTLComputePipelineState> state =
        pipeline(device, @"kernel void k(device atomic_uint *runs [[buffer(0)]]) { atomic_fetch_add_explicit(runs, 1, memory_order_relaxed); }\n");
    std::atomic<int> completed{0}, wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
      threads.emplace_back([&] {
        @autoreleasepool {
          id<MTLCommandQueue> queue = [[device newCommandQueue] autorelease];
          id<MTLBuffer> buffer = [[device newBufferWithLength:8 options:0] autorelease];
          for (bool gone = !queue || !buffer; !gone;) {
            @autoreleasepool {
              id<MTLCommandBuffer> commandBuffer = [queue commandBuffer];
              dispatch(commandBuffer, state, buffer, 64);
              [commandBuffer commit];
              [commandBuffer waitUntilCompleted];
              gone = [commandBuffer status] == MTLCommandBufferStatusError;
              if (!gone) completed++;
              if (gone && [[commandBuffer error] code] != MTLCommandBufferErrorDeviceRemoved) wrong++;
            }
          }
        }
      });
    while (completed.load() < 20) std::this_thread::yield();
    CHECK(hostmetal_remove_device(0));
    for (std::thread &thread : threads) thread.join();
    CHECK_EQUAL(wrong.load(), 0);
    CHECK(hostmetal_add_device(0));
  }
}
void a_device_that_has_gone_loads_nothing() {
  Folder folder;
  id<MTLDevice> device = at(1);
  CHECK([[NSData dataWithBytes:"0123456789" length:10] writeToFile:folder.file(@"digits") atomically:NO]);
  id<MTLIOFileHandle> source = [[device newIOFileHandleWithURL:folder.url(@"digits") error:nullptr] autorelease];
  MTLIOCommandQueueDescriptor *settings = [[[MTLIOCommandQueueDescriptor alloc] init] autorelease];
  id<MTLIOCommandQueue> loads = [[device newIOCommandQueueWithDescriptor:settings error:nullptr] autorelease];
  id<MTLBuffer> target = [[device newBufferWithLength:10 options:0] autorelease];
  id<MTLIOCommandBuffer> waiting = [loads commandBuffer], late = [loads commandBuffer];
  [waiting waitForEvent:[[device newSharedEvent] autorelease] value:1];
  [waiting loadBuffer:target offset:0 size:10 sourceHandle:source sourceHandleOffset:0];
  [waiting commit];
  CHECK(hostmetal_remove_device(1));
  [late loadBuffer:target offset:0 size:10 sourceHandle:source sourceHandleOffset:0];
  [late commit];
  for (id<MTLIOCommandBuffer> commands in @[ waiting, late ]) {
    [commands waitUntilCompleted];
    CHECK_EQUAL([commands status], MTLIOStatusError);
    check_error([commands error], MTLIOErrorDomain, MTLIOErrorInternal, @"was removed");
  }
  CHECK_EQUAL(*(const char *)[target contents], 0);
  NSError *error = nil;
  CHECK([device newIOCommandQueueWithDescriptor:settings error:&error] == nil);
  check_error(error, MTLIOErrorDomain, MTLIOErrorInternal, @"makes no I/O command queue");
  CHECK(hostmetal_add_device(1));
}

}  // namespace

#define CASE(name) {#name, name}
const FaceCase removal_cases[] = {
    CASE(the_environment_removes_a_device),
    CASE(observers_are_told_in_order),
    CASE(a_device_that_has_gone_makes_nothing),
    CASE(what_runs_ends),
    CASE(a_device_that_has_gone_loads_nothing),
    CASE(a_device_goes_while_threads_use_it),
    {nullptr, nullptr},
};
