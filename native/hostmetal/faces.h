// The classes behind Metal's protocols. Each is a face of one engine handle (engine.h): it translates arguments, raises
// NSInternalInconsistencyException for misuse (where Apple's Metal asserts), and makes NSError from the engine's failures.
//
// Rules of these files (GCC's Objective-C runtime with clang): manual retain and release; instance variables in
// @interface; no C++ try or catch and nothing that throws C++; no subscripts, no @protocol(); no Objective-C work before main.
#pragma once
#import <Metal/Metal.h>

#include "engine.h"
#import "pool.h"

// "-[Class selector] text"
[[noreturn]] void hostmetal_raise(id object, SEL selector, const char *text);
// The same as an NSMallocException: for what Metal makes no object of, where the call has no way to say so.
[[noreturn]] void hostmetal_raise_no_memory(id object, SEL selector, const char *text);

// For the engine calls that answer misuse with a text.
#define HM_CHECK(call)                               \
  do {                                               \
    const char *const misuse_ = (call);              \
    if (misuse_) hostmetal_raise(self, _cmd, misuse_); \
  } while (0)

#define HM_REQUIRE(condition, text)                    \
  do {                                                 \
    if (!(condition)) hostmetal_raise(self, _cmd, text); \
  } while (0)

// Autoreleased; takes error->message.
NSError *hostmetal_error(NSErrorDomain domain, HMError *error, NSDictionary *more);

// Runs and releases a copy of work on another thread, inside an autorelease pool.
void hostmetal_async(void (^work)(void));

// Runs work inside an autorelease pool; an NSException that leaves it ends the process with a message, as it would at the
// bottom of any thread (the caller is a thread of the engine, which no exception may cross).
void hostmetal_call_out(const char *what, void (^work)(void));

// The modes that are parts of the object's _resourceOptions: PART is what Metal calls the bits.
#define HM_MODE(TYPE, NAME, PART)                                                                     \
  -(TYPE)NAME {                                                                                       \
    return (TYPE)((_resourceOptions & MTLResource##PART##Mask) >> MTLResource##PART##Shift);          \
  }
#define HM_MODE_TO_SET(TYPE, NAME, SET, PART)                                                         \
  HM_MODE(TYPE, NAME, PART)                                                                           \
  -(void)SET : (TYPE)mode {                                                                           \
    _resourceOptions = (_resourceOptions & ~MTLResource##PART##Mask) | mode << MTLResource##PART##Shift; \
  }
#define HM_MODES_TO_SET                                                                               \
  HM_MODE_TO_SET(MTLCPUCacheMode, cpuCacheMode, setCpuCacheMode, CPUCacheMode)                        \
  HM_MODE_TO_SET(MTLStorageMode, storageMode, setStorageMode, StorageMode)                            \
  HM_MODE_TO_SET(MTLHazardTrackingMode, hazardTrackingMode, setHazardTrackingMode, HazardTrackingMode)

// The methods of an array of 31 descriptors, made when they are asked for: attributes, and buffers of the argument table. Setting nil
// sets a new descriptor.
#define HM_DESCRIPTORS(TYPE)                                                  \
  -(TYPE *)objectAtIndexedSubscript : (NSUInteger)index {                     \
    HM_REQUIRE(index < 31, "the index must be < 31");                         \
    if (!_descriptors[index]) _descriptors[index] = [[TYPE alloc] init];      \
    return _descriptors[index];                                               \
  }                                                                           \
  -(void)setObject : (TYPE *)one atIndexedSubscript : (NSUInteger)index {     \
    HM_REQUIRE(index < 31, "the index must be < 31");                         \
    TYPE *copy = [one copy];                                                  \
    [_descriptors[index] release];                                            \
    _descriptors[index] = copy;                                               \
  }                                                                           \
  -(void)dealloc {                                                            \
    for (TYPE * one : _descriptors) [one release];                            \
    [super dealloc];                                                          \
  }

@class HostMTLCommandBuffer, HostMTLCommandQueue, HostMTLHeap, HostMTLLibrary;

@interface MTLArchitecture (Engine)
- (instancetype)initWithName:(NSString *)name;
@end

@interface HostMTLDevice : NSObject <MTLDevice> {
 @public
  HMDevice _engine;
 @private
  HMDeviceInfo _info;
  NSString *_name;
  MTLArchitecture *_architecture;
  BOOL _shouldMaximizeConcurrentCompilation;
}
- (instancetype)initWithEngine:(HMDevice)engine;
- (void)requireResourceOptions:(MTLResourceOptions)options selector:(SEL)selector;
- (void)requireFunction:(id<MTLFunction>)function selector:(SEL)selector;
// HMFunction of those that may define what a kernel's source only declares.
- (NSData *)definitionsOf:(MTLLinkedFunctions *)linked selector:(SEL)selector;
// Raises for an archive of another device.
- (void)appendArchives:(NSArray<id<MTLBinaryArchive>> *)archives to:(NSMutableData *)engines selector:(SEL)selector;
@end

// Devices live as long as the process, so nothing retains them.
@interface HostMTLHeap : NSObject <MTLHeap> {
 @public
  HMHeap _engine;
 @private
  HostMTLDevice *_device;
  NSString *_label;
  MTLHeapType _type;
  MTLResourceOptions _resourceOptions;
}
// Takes engine. Checks options first.
- (instancetype)initWithDevice:(HostMTLDevice *)device
                        engine:(HMHeap)engine
                          type:(MTLHeapType)type
                       options:(MTLResourceOptions)options;
@end

// A resource keeps its heap's object; the engine keeps the heap's memory itself.
@interface HostMTLResource : NSObject <MTLResource> {
 @protected
  HostMTLDevice *_device;
  HMBuffer _memory;  // a subclass's; no reference
  HostMTLHeap *_heap;
  NSString *_label;
  MTLResourceOptions _resourceOptions;
}
- (instancetype)initWithDevice:(HostMTLDevice *)device
                        memory:(HMBuffer)memory
                          heap:(HostMTLHeap *)heap
                       options:(MTLResourceOptions)options;
- (HMBuffer)engineMemory;  // no reference
@end

@interface HostMTLBuffer : HostMTLResource <MTLBuffer> {
 @public
  HMBuffer _engine;
}
// Takes engine. Checks options first. heap may be nil.
- (instancetype)initWithDevice:(HostMTLDevice *)device
                        engine:(HMBuffer)engine
                          heap:(HostMTLHeap *)heap
                       options:(MTLResourceOptions)options;
@end

// Another device's buffer, which is kept. A class of its own, so that all but the source of a copy refuses it; so is a texture's.
@interface HostMTLRemoteBuffer : HostMTLBuffer {
 @public
  HostMTLBuffer *_storageBuffer;
}
@end

@interface HostMTLResidencySet : NSObject <MTLResidencySet> {
  HostMTLDevice *_device;
  NSString *_label;
  NSMutableSet *_members;  // with those that are pending
  NSMutableSet *_leaving;  // at the next commit
  NSArray *_committed;     // never changed, replaced at a commit
  uint64_t _allocatedSize;
}
- (instancetype)initWithDevice:(HostMTLDevice *)device descriptor:(MTLResidencySetDescriptor *)descriptor;
- (NSArray *)committedAllocations;
@end

// The residency sets of a queue or a command buffer.
@interface HostMTLResidencySets : NSObject {
  NSArray *_sets;
  NSUInteger _count;  // read without a lock by every commit
}
- (NSArray *)committedAllocations;  // an array for each set; nil without sets
// The text of misuse, or NULL.
- (const char *)add:(const id<MTLResidencySet> [])sets count:(NSUInteger)count device:(id<MTLDevice>)device;
- (const char *)remove:(const id<MTLResidencySet> [])sets count:(NSUInteger)count;
@end

@interface MTLTextureDescriptor (Engine)
- (HMTextureDescriptor)engineDescriptor;
@end

// A view keeps its parent's object, a linear texture its buffer's; the engine keeps the memory of both itself.
@interface HostMTLTexture : HostMTLResource <MTLTexture> {
 @public
  HMTexture _engine;
 @private
  HMTextureDescriptor _info;
  id<MTLTexture> _parentTexture;
  NSUInteger _parentRelativeLevel, _parentRelativeSlice;
  id<MTLBuffer> _buffer;
  NSUInteger _bufferOffset, _bufferBytesPerRow;
  BOOL _shareable, _allowGPUOptimizedContents;
}
// Takes engine. Checks options first. heap may be nil.
- (instancetype)initWithDevice:(HostMTLDevice *)device
                        engine:(HMTexture)engine
                          heap:(HostMTLHeap *)heap
                    descriptor:(const HMTextureDescriptor *)descriptor
                     optimized:(BOOL)optimized
                       options:(MTLResourceOptions)options;
- (void)setBuffer:(HostMTLBuffer *)buffer offset:(NSUInteger)offset bytesPerRow:(NSUInteger)bytesPerRow;
- (void)setShareable;
- (HostMTLTexture *)newShared;  // another texture of the same memory
@end

@interface HostMTLRemoteTexture : HostMTLTexture {
 @public
  HostMTLTexture *_storageTexture;
}
@end

@interface MTLSharedTextureHandle (Engine)
- (instancetype)initWithTexture:(HostMTLTexture *)texture;
- (HostMTLTexture *)texture;
@end

@interface HostMTLSamplerState : NSObject <MTLSamplerState> {
 @public
  HMSampler _engine;
 @private
  HostMTLDevice *_device;
  BOOL _inArgumentBuffers;
  NSString *_label;
}
- (instancetype)initWithDevice:(HostMTLDevice *)device
                        engine:(HMSampler)engine
                    descriptor:(MTLSamplerDescriptor *)descriptor;
@end

// Checks a descriptor and packs it; the text of misuse, or NULL.
// Slices of one element of a texture: 6 of a cube, else 1.
NSUInteger hostmetal_faces(uint32_t textureType);
NSUInteger hostmetal_slices(id<MTLTexture> texture);
const char *hostmetal_sampler(MTLSamplerDescriptor *descriptor, HMSampler *sampler);

@interface HostMTLIndirectCommandBuffer : HostMTLResource <MTLIndirectCommandBuffer> {
 @public
  HMCommands _engine;
}
// Takes engine.
- (instancetype)initWithDevice:(HostMTLDevice *)device engine:(HMCommands)engine options:(MTLResourceOptions)options;
@end

// The types in what a buffer argument points to; autoreleased, nil for what is none of these.
MTLStructType *hostmetal_struct_type(HMArguments arguments);
MTLPointerType *hostmetal_pointer_type(HMArguments arguments, const HMBinding *binding);

@interface HostMTLArgumentEncoder : NSObject <MTLArgumentEncoder> {
  HMArguments _engine;
  HostMTLDevice *_device;
  NSString *_label;
  HostMTLBuffer *_buffer;
  NSUInteger _offset;
}
// Takes engine.
- (instancetype)initWithDevice:(HostMTLDevice *)device engine:(HMArguments)engine;
@end

// What a pipeline's reflection gives for a buffer.
@interface HostMTLBinding : NSObject <MTLBinding> {
  NSString *_name;
 @protected
  HMBinding _info;
}
- (instancetype)initWithInfo:(const HMBinding *)info;
@end

@interface HostMTLBufferBinding : HostMTLBinding <MTLBufferBinding> {
 @public
  HMArguments _arguments;
}
@end

@interface HostMTLLibrary : NSObject <MTLLibrary> {
 @public
  HMLibrary _engine;
 @private
  HostMTLDevice *_device;
  NSString *_label;
  NSString *_installName;
}
// The install name is that of a dynamic library, else nil.
- (instancetype)initWithDevice:(HostMTLDevice *)device engine:(HMLibrary)engine installName:(NSString *)installName;
@end

// A function whose required constants were not given has no engine handle, and the error that a pipeline made of it
// meets; it serves functionConstantsDictionary.
@interface HostMTLFunction : NSObject <MTLFunction> {
 @public
  HMFunction _engine;
  NSError *_missing;
  MTLFunctionOptions _options;
  NSArray<id<MTLBinaryArchive>> *_binaryArchives;
 @private
  HostMTLLibrary *_library;
  NSString *_name;
  NSString *_specializedName;
  NSString *_label;
}
- (instancetype)initWithLibrary:(HostMTLLibrary *)library
                           name:(NSString *)name
                         engine:(HMFunction)engine
                        missing:(NSError *)missing;
- (void)takeDescriptor:(MTLFunctionDescriptor *)descriptor;
@end

// A visible function of a pipeline; the function itself is kept.
@interface HostMTLFunctionHandle : NSObject <MTLFunctionHandle> {
 @public
  HMVisible _engine;
  HostMTLFunction *_function;
}
// Takes engine.
- (instancetype)initWithFunction:(HostMTLFunction *)function engine:(HMVisible)engine;
@end

@interface HostMTLVisibleFunctionTable : HostMTLResource <MTLVisibleFunctionTable> {
 @public
  HMFunctionTable _engine;
}
// Takes engine.
- (instancetype)initWithDevice:(HostMTLDevice *)device engine:(HMFunctionTable)engine;
@end

@interface HostMTLDevice (VisibleFunctions)
// Compiles functions, and adds a handle for each to `handles`, which may be nil. Raises for what is no function of this device.
- (BOOL)compileFunctions:(NSArray<id<MTLFunction>> *)functions
                 options:(const HMPipelineOptions *)options
                      to:(NSMutableArray *)handles
                   error:(NSError **)error
                selector:(SEL)selector;
@end

// A stitched library's descriptor, as it was: what the program changes later changes nothing.
@interface HostMTLStitching : NSObject {
  HostMTLDevice *_device;
  struct HostStitchedGraphs *_graphs;
  NSArray<id<MTLFunction>> *_functions;
  NSArray<id<MTLBinaryArchive>> *_archives;
  NSMutableData *_engines;  // of the archives
  MTLStitchedLibraryOptions _options;
}
// Raises for what is no graph, node, or function of this device.
- (instancetype)initWithDevice:(HostMTLDevice *)device descriptor:(MTLStitchedLibraryDescriptor *)descriptor selector:(SEL)selector;
- (HostMTLLibrary *)newLibraryWithError:(NSError **)error;
- (HostMTLLibrary *)newWholeLibraryWithError:(NSError **)error;  // whatever the archives have
@end

@interface HostMTLDynamicLibrary : NSObject <MTLDynamicLibrary> {
 @public
  HMDynamic _engine;
 @private
  HostMTLDevice *_device;
  NSString *_label;
  NSString *_installName;
}
- (instancetype)initWithDevice:(HostMTLDevice *)device engine:(HMDynamic)engine;
@end

@interface HostMTLDevice (DynamicLibraries)
// The path of an URL, or nil with an error when it names no file.
- (NSString *)pathOf:(NSURL *)url domain:(NSErrorDomain)domain code:(NSInteger)code error:(NSError **)error;
// Raises for a library of another device.
- (void)appendLibraries:(NSArray<id<MTLDynamicLibrary>> *)libraries to:(NSMutableData *)engines selector:(SEL)selector;
@end

@interface HostMTLBinaryArchive : NSObject <MTLBinaryArchive> {
 @public
  HMArchive _engine;
 @private
  HostMTLDevice *_device;
  NSString *_label;
}
// nil with the error when the descriptor's file is none.
- (instancetype)initWithDevice:(HostMTLDevice *)device
                    descriptor:(MTLBinaryArchiveDescriptor *)descriptor
                         error:(NSError **)error;
@end

@interface MTLCompileOptions (Engine)
// Calls body with the options in the engine's form, valid during the call, for a library of the device.
- (void)withEngineOptionsOf:(HostMTLDevice *)device call:(void (^)(const HMCompileOptions *options))body;
@end

@interface MTLStageInputOutputDescriptor (Engine)
- (HMStageInput)engineInput;
@end

@interface MTLAttribute (Engine)
- (instancetype)initWithInfo:(const HMAttribute *)info;
@end

@interface MTLFunctionConstant (Engine)
- (instancetype)initWithInfo:(const HMConstantInfo *)info;
@end

@interface MTLFunctionConstantValues (Engine)
// Calls body with the values in the engine's form, valid during the call.
- (void)withEngineValues:(void (^)(const HMConstantValue *values, size_t count))body;
@end

@interface HostMTLComputePipelineState : NSObject <MTLComputePipelineState> {
 @public
  HMPipeline _engine;
 @private
  HostMTLDevice *_device;
  NSString *_label;
  BOOL _supportIndirectCommandBuffers, _supportAddingBinaryFunctions;
  HMPipelineInfo _info;
  NSArray *_handles;  // of the linked functions
}
- (instancetype)initWithDevice:(HostMTLDevice *)device
                        engine:(HMPipeline)engine
                       handles:(NSArray *)handles
                    descriptor:(MTLComputePipelineDescriptor *)descriptor;  // nil for the defaults
@end

// Two of one engine event (one made of a handle, one given to a notification) are equal.
@interface HostMTLEvent : NSObject <MTLEvent> {
 @public
  HMEvent _engine;
 @private
  HostMTLDevice *_device;
}
// Takes engine.
- (instancetype)initWithDevice:(HostMTLDevice *)device engine:(HMEvent)engine;
@end

@interface HostMTLSharedEvent : HostMTLEvent <MTLSharedEvent>
@end

@interface MTLSharedEventHandle (Engine)
- (instancetype)initWithEvent:(HMEvent)event;  // takes event
- (HMEvent)engineEvent;
@end

@interface HostMTLFence : NSObject <MTLFence> {
 @public
  HMFence _engine;
 @private
  HostMTLDevice *_device;
  NSString *_label;
}
- (instancetype)initWithDevice:(HostMTLDevice *)device engine:(HMFence)engine;
@end

// An open file. nil with the error.
@interface HostMTLIOFileHandle : NSObject <MTLIOFileHandle> {
 @public
  HMIOFile _engine;
 @private
  NSString *_label;
}
- (instancetype)initWithPath:(NSString *)path error:(NSError **)error;
@end

// nil with the error. The descriptor has been checked.
@interface HostMTLIOCommandQueue : NSObject <MTLIOCommandQueue> {
  HMIOQueue _engine;
  id<MTLIOScratchBufferAllocator> _scratchBufferAllocator;
  NSString *_label;
}
- (instancetype)initWithDevice:(HMDevice)device descriptor:(MTLIOCommandQueueDescriptor *)descriptor error:(NSError **)error;
@end

// Its samples are a buffer of the engine, 8 bytes each.
@interface HostMTLCounterSampleBuffer : NSObject <MTLCounterSampleBuffer> {
 @public
  HMBuffer _engine;
 @private
  HostMTLDevice *_device;
  NSString *_label;
  NSUInteger _sampleCount;
  MTLStorageMode _storageMode;
}
// Takes engine.
- (instancetype)initWithDevice:(HostMTLDevice *)device
                        engine:(HMBuffer)engine
                    descriptor:(MTLCounterSampleBufferDescriptor *)descriptor;
@end

// Sample buffers of a pass, as many as Apple's.
constexpr NSUInteger HM_PASS_ATTACHMENTS = 4;

// The engine's buffer of a sample buffer that has the index; raises otherwise.
HMBuffer hostmetal_samples(id<MTLCounterSampleBuffer> samples, NSUInteger index, id object, SEL selector);

// The one set that there is: times.
id<MTLCounterSet> hostmetal_timestamps(void);

@interface HostMTLLogState : NSObject <MTLLogState> {
 @public
  HMLog _engine;
 @private
  HostMTLDevice *_device;
  NSArray *_handlers;  // never changed, replaced when one is added
}
// nil with the error when the descriptor's level or size cannot be. device: nil for all.
- (instancetype)initWithDevice:(HostMTLDevice *)device descriptor:(MTLLogStateDescriptor *)descriptor error:(NSError **)error;
- (HostMTLDevice *)owner;
- (void)tell;  // calls the handlers with the messages of command buffers that have completed
@end
// What MTL_LOG_LEVEL and MTL_LOG_BUFFER_SIZE ask for, nil when neither is set.
HostMTLLogState *hostmetal_environment_log(void);
// The text of misuse, or NULL.
const char *hostmetal_check_log(id<MTLLogState> logState, HostMTLDevice *device);

// Without elements: shader validation, which hostmetal has none of, makes them.
@interface HostMTLLogContainer : NSObject <MTLLogContainer>
@end

@interface HostMTLCommandQueue : NSObject <MTLCommandQueue, HostMTLMaking> {
 @public
  HMQueue _engine;
  HostMTLDevice *_device;
  HostMTLResidencySets *_residencySets;
  HostMTLLogState *_logState;  // of its command buffers that have none of their own, or nil
 @private
  NSString *_label;
}
- (instancetype)initWithDevice:(HostMTLDevice *)device engine:(HMQueue)engine;
@end

// Handlers of a command buffer, copied, in order: most have one. Only touched before the commit and by the engine's two calls.
struct HostHandlers {
  MTLCommandBufferHandler first;
  NSMutableArray *more;  // nil without
};

@interface HostMTLCommandBuffer : NSObject <MTLCommandBuffer, HostMTLMaking> {
 @public
  HMCommandBuffer _engine;
  HostMTLCommandQueue *_queue;
  MTLCommandBufferErrorOption _errorOptions;
  BOOL _retainedReferences;
 @private
  uint32_t _debugGroups;
  NSString *_label;
  HostHandlers _scheduledHandlers;
  HostHandlers _completedHandlers;
  HostMTLResidencySets *_residencySets;  // nil while there are none, as is the next
  NSMutableArray *_kept;                 // given to the engine at the commit
  HostMTLLogState *_logState;
}
- (void)setLogState:(HostMTLLogState *)logState;  // before anybody else has the command buffer
// Keeps an object until the command buffer has completed or is gone.
- (void)keep:(id)object;
- (void)leaveUnretained;  // before anything is encoded
@end

@interface HostMTLCommandEncoder : NSObject <MTLCommandEncoder> {
 @public
  HMEncoder _engine;
 @private
  HostMTLCommandBuffer *_commandBuffer;
  NSString *_label;
  BOOL _labelLocked;
}
- (instancetype)initWithCommandBuffer:(HostMTLCommandBuffer *)commandBuffer engine:(HMEncoder)engine;
// For calls that the engine takes without an answer.
- (void)requireOpen:(SEL)selector;
- (void)keep:(id)object;  // as its command buffer does
// What compute and blit encoders have alike.
- (void)updateFence:(id<MTLFence>)fence;
- (void)waitForFence:(id<MTLFence>)fence;
- (void)sampleCountersInBuffer:(id<MTLCounterSampleBuffer>)samples
                 atSampleIndex:(NSUInteger)index
                   withBarrier:(BOOL)barrier;
// The two samples of a pass's attachment, either of which may be MTLCounterDontSample.
- (void)sampleInBuffer:(id<MTLCounterSampleBuffer>)samples start:(NSUInteger)start end:(NSUInteger)end;
@end

@interface HostMTLComputeCommandEncoder : HostMTLCommandEncoder <MTLComputeCommandEncoder> {
 @public
  MTLDispatchType _dispatchType;
}
@end

@interface HostMTLBlitCommandEncoder : HostMTLCommandEncoder <MTLBlitCommandEncoder>
@end
