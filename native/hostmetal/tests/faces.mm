// Runs one case by number and tells what did not hold.
#import "faces.h"

#include <link.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace {
std::mutex notes_lock;
std::string notes;
std::mutex living_lock;
std::condition_variable living_changed;
int living;

// By what the environment asks for: one device, several, what cannot be, or one without validation.
const std::vector<const FaceCase *> groups[] = {
    {
        object_cases,
        library_cases,
        texture_cases,
        heap_cases,
        archive_cases,
        dynamic_cases,
        argument_cases,
        command_cases,
        imageblock_cases,
        stage_cases,
        function_cases,
        stitching_cases,
        dispatch_cases,
        residency_cases,
        event_cases,
        io_cases,
        log_cases,
        performance_cases,
        graph_cases,
        fault_cases,
    },
    {device_cases},
    {no_device_cases},
    {unvalidated_cases},
    {logged_cases},
    {removal_cases},
    {overlap_cases},
};

const FaceCase *case_at(size_t group, size_t number) {
  for (const FaceCase *list : groups[group])
    for (; list->name; list++)
      if (number-- == 0) return list;
  return nullptr;
}
}  // namespace

void faces_note(const char *file, int line, const std::string &text) {
  std::lock_guard<std::mutex> lock(notes_lock);
  notes += std::string(file) + ":" + std::to_string(line) + ": " + text + "\n";
}

id<MTLLibrary> library_of(NSString *text, MTLCompileOptions *options) {
  NSString *source = [@"#include <metal_stdlib>\nusing namespace metal;\n" stringByAppendingString:text];
  NSError *error = nil;
  id<MTLLibrary> library = [[device() newLibraryWithSource:source options:options error:&error] autorelease];
  if (!library) faces_note(__FILE__, __LINE__, [[error localizedDescription] UTF8String]);
  return library;
}

id<MTLFunction> kernel_of(NSString *text) {
  return [[library_of(text) newFunctionWithName:@"k"] autorelease];
}

MTLComputePipelineDescriptor *linking(id<MTLFunction> kernel, NSArray *functions) {
  MTLComputePipelineDescriptor *made = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
  [made setComputeFunction:kernel];
  MTLLinkedFunctions *linked = [MTLLinkedFunctions linkedFunctions];
  [linked setFunctions:functions];
  [made setLinkedFunctions:linked];
  return made;
}

id<MTLComputePipelineState> pipeline_of(MTLComputePipelineDescriptor *descriptor, NSError **error, MTLPipelineOption option) {
  NSError *told = nil;
  id<MTLComputePipelineState> made =
      [[device() newComputePipelineStateWithDescriptor:descriptor options:option reflection:nullptr error:&told] autorelease];
  if (error) *error = told;
  if (told && !error) faces_note(__FILE__, __LINE__, [[told localizedDescription] UTF8String]);
  return made;
}

@implementation Probe
- (instancetype)init {
  if ((self = [super init])) {
    std::lock_guard<std::mutex> lock(living_lock);
    living++;
  }
  return self;
}
+ (int)living {
  std::lock_guard<std::mutex> lock(living_lock);
  return living;
}
+ (void)awaitNone {
  std::unique_lock<std::mutex> lock(living_lock);
  living_changed.wait_for(lock, std::chrono::minutes(1), [] { return living == 0; });  // the case's end says if some are left
}
- (void)dealloc {
  {
    std::lock_guard<std::mutex> lock(living_lock);
    living--;
  }
  living_changed.notify_all();
  [super dealloc];
}
@end

// NULL past the last.
extern "C" const char *faces_case_name(size_t group, size_t number) {
  const FaceCase *found = case_at(group, number);
  return found ? found->name : nullptr;
}

// So many libraries the process loads for its first device, when this is its first call of Foundation.
extern "C" unsigned long long faces_begin() {
  const auto loads = [] {
    unsigned long long loads = 0;
    dl_iterate_phdr([](dl_phdr_info *info, size_t, void *loads) { return *(unsigned long long *)loads = info->dlpi_adds, 1; }, &loads);
    return loads;
  };
  const unsigned long long before = loads();
  [MTLCreateSystemDefaultDevice() release];
  return loads() - before;
}

// What did not hold, "" when all did; valid until the next call.
extern "C" const char *faces_case_run(size_t group, size_t number) {
  notes.clear();
  @autoreleasepool {
    @try {
      case_at(group, number)->run();
    } @catch (NSException *exception) {
      faces_note("case", 0, std::string("raised ") + [[exception name] UTF8String] + ": " + [[exception reason] UTF8String]);
    }
  }
  CHECK_EQUAL([Probe living], 0);
  return notes.c_str();
}
