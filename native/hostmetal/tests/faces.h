// The cases that try hostmetal's Metal classes from Objective-C, and what they check with.
#pragma once
#import <Metal/Metal.h>

#include <cstdlib>
#include <string>

#pragma clang diagnostic ignored "-Wnonnull"  // cases pass nil on purpose

// A case notes what does not hold and goes on.
void faces_note(const char *file, int line, const std::string &text);

#define CHECK(condition) \
  do {                   \
    if (!(condition)) faces_note(__FILE__, __LINE__, #condition); \
  } while (0)

// The values are compared as long long and told when they differ.
#define CHECK_EQUAL(left, right)                                                                                      \
  do {                                                                                                                \
    const long long left_ = (long long)(left), right_ = (long long)(right);                                           \
    if (left_ != right_)                                                                                              \
      faces_note(__FILE__, __LINE__, #left " is " + std::to_string(left_) + ", expected " + std::to_string(right_));  \
  } while (0)

// statement must raise an exception of that name with a reason that contains both texts.
#define CHECK_RAISES_NAMED(statement, kind, selector, text)                                                            \
  do {                                                                                                                 \
    NSString *raised_ = nil;                                                                                           \
    @try {                                                                                                             \
      statement;                                                                                                       \
    } @catch (NSException * exception) {                                                                               \
      raised_ = [NSString stringWithFormat:@"%@: %@", [exception name], [exception reason]];                           \
    }                                                                                                                  \
    if (!raised_ || ![raised_ hasPrefix:kind] || [raised_ rangeOfString:selector].location == NSNotFound ||            \
        [raised_ rangeOfString:text].location == NSNotFound)                                                           \
      faces_note(__FILE__, __LINE__, std::string(#statement " raised ") + (raised_ ? [raised_ UTF8String] : "nothing")); \
  } while (0)

#define CHECK_RAISES(statement, selector, text) CHECK_RAISES_NAMED(statement, NSInternalInconsistencyException, selector, text)

#define CHECK_CONTAINS(text, part)                                                                                     \
  do {                                                                                                                 \
    NSString *text_ = (text);                                                                                          \
    if (!text_ || [text_ rangeOfString:part].location == NSNotFound)                                                   \
      faces_note(__FILE__, __LINE__, std::string(#text " is ") + (text_ ? [text_ UTF8String] : "nil"));                \
  } while (0)

// An error that lacks the part, or is of another kind, is noted.
inline void check_error(NSError *error, NSErrorDomain domain, NSInteger code, NSString *part) {
  CHECK([[error domain] isEqualToString:domain]);
  CHECK_EQUAL([error code], code);
  CHECK_CONTAINS([error localizedDescription], part);
}

inline id<MTLDevice> device() {
  return [MTLCreateSystemDefaultDevice() autorelease];
}

// What these cannot make is noted, and nil. The text of a library goes behind the usual first two lines.
id<MTLLibrary> library_of(NSString *text, MTLCompileOptions *options = nil);
id<MTLFunction> kernel_of(NSString *text);  // the library's kernel k
// Of a pipeline of a kernel that is linked with visible functions.
MTLComputePipelineDescriptor *linking(id<MTLFunction> kernel, NSArray *functions);
// With error, what is told there is not noted.
id<MTLComputePipelineState> pipeline_of(MTLComputePipelineDescriptor *descriptor, NSError **error = nullptr,
                                        MTLPipelineOption option = MTLPipelineOptionNone);

// A folder that is gone when the case ends.
struct Folder {
  char path[64] = "/tmp/hostmetal-faces-XXXXXX";
  Folder() {
    if (!mkdtemp(path)) faces_note(__FILE__, __LINE__, "no temporary folder");
  }
  ~Folder() {
    [[NSFileManager defaultManager] removeFileAtPath:[NSString stringWithUTF8String:path] handler:nil];
  }
  NSString *file(NSString *name) const {
    return [[NSString stringWithUTF8String:path] stringByAppendingPathComponent:name];
  }
  NSURL *url(NSString *name) const {
    return [NSURL fileURLWithPath:file(name)];
  }
};

// Counts how many of it live.
@interface Probe : NSObject
+ (int)living;
+ (void)awaitNone;  // for what another thread releases
@end

typedef void (*FaceCaseRun)(void);
typedef struct FaceCase {
  const char *name;
  FaceCaseRun run;
} FaceCase;

extern const FaceCase object_cases[];   // buffers, queues, command buffers, blocks, threads
extern const FaceCase library_cases[];  // what is compiled from source
extern const FaceCase texture_cases[];  // textures and samplers
extern const FaceCase heap_cases[];     // heaps and purgeable contents
extern const FaceCase archive_cases[];  // binary archives, descriptors, library files
extern const FaceCase dynamic_cases[];  // dynamic libraries
extern const FaceCase argument_cases[];  // argument buffers
extern const FaceCase command_cases[];   // indirect command buffers
extern const FaceCase imageblock_cases[];  // imageblocks
extern const FaceCase stage_cases[];     // [[stage_in]] of kernels
extern const FaceCase function_cases[];  // visible functions
extern const FaceCase stitching_cases[];  // functions made of calls of others
extern const FaceCase dispatch_cases[];  // our libdispatch
extern const FaceCase residency_cases[];  // residency sets, resources that encoders are told of
extern const FaceCase event_cases[];     // events, fences, samples, passes, capture
extern const FaceCase io_cases[];        // what is loaded from files
extern const FaceCase log_cases[];       // messages of kernels
extern const FaceCase performance_cases[];  // Metal Performance Shaders
extern const FaceCase graph_cases[];    // Metal Performance Shaders Graph
extern const FaceCase fault_cases[];     // what fails on purpose
// These are run in processes of their own.
extern const FaceCase device_cases[];     // several devices with unequal limits
extern const FaceCase logged_cases[];     // messages that the environment asks for
extern const FaceCase removal_cases[];    // devices that go and come
extern const FaceCase overlap_cases[];    // passes in another order
extern const FaceCase no_device_cases[];  // settings that cannot be
extern const FaceCase unvalidated_cases[];  // what is no misuse without validation
