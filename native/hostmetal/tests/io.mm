// Cases of I/O command queues: what is loaded from files, in which order, and what fails.
#import "faces.h"
#import <hostmetal.h>

#include <atomic>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

// Counts how often it is asked.
@interface Scratch : NSObject <MTLIOScratchBufferAllocator> {
 @public
  std::atomic<int> _asked;
}
@end

@implementation Scratch
- (id<MTLIOScratchBuffer>)newScratchBufferWithMinimumSize:(NSUInteger)minimumSize {
  _asked++;
  return nil;
}
@end

namespace {

constexpr uint64_t LONG = 120000;  // milliseconds; no failure to be so slow

// The byte of a file at a position.
uint8_t byteAt(size_t position) {
  return (uint8_t)(position * 7 + position / 251);
}

// A file of a folder, with so many bytes.
id<MTLIOFileHandle> file(const Folder &folder, size_t length, NSString *name = @"bytes") {
  std::vector<uint8_t> bytes(length);
  for (size_t i = 0; i < length; i++) bytes[i] = byteAt(i);
  CHECK([[NSData dataWithBytes:bytes.data() length:length] writeToFile:folder.file(name) atomically:NO]);
  NSError *error = nil;
  id<MTLIOFileHandle> handle = [[device() newIOFileHandleWithURL:folder.url(name) error:&error] autorelease];
  CHECK(handle != nil && error == nil);
  return handle;
}

MTLIOCommandQueueDescriptor *descriptor(MTLIOCommandQueueType type) {
  MTLIOCommandQueueDescriptor *made = [[[MTLIOCommandQueueDescriptor alloc] init] autorelease];
  [made setType:type];
  return made;
}

id<MTLIOCommandQueue> queue(MTLIOCommandQueueDescriptor *of) {
  NSError *error = nil;
  id<MTLIOCommandQueue> made = [[device() newIOCommandQueueWithDescriptor:of error:&error] autorelease];
  CHECK(made != nil && error == nil);
  return made;
}

id<MTLIOCommandQueue> queue(MTLIOCommandQueueType type = MTLIOCommandQueueTypeConcurrent) {
  return queue(descriptor(type));
}

id<MTLBuffer> buffer(NSUInteger length, MTLResourceOptions options = MTLResourceStorageModeShared) {
  return [[device() newBufferWithLength:length options:options] autorelease];
}

id<MTLSharedEvent> sharedEvent() {
  return [[device() newSharedEvent] autorelease];
}

// Whether memory holds the file's bytes from a position on.
bool holds(const void *memory, size_t position, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (((const uint8_t *)memory)[i] != byteAt(position + i)) return false;
  return true;
}

void finish(id<MTLIOCommandBuffer> commands, MTLIOStatus status = MTLIOStatusComplete) {
  [commands commit];
  [commands waitUntilCompleted];
  CHECK_EQUAL([commands status], status);
  CHECK(([commands error] != nil) == (status == MTLIOStatusError));
}

// ------------------------------------------------------------------ what is loaded

void bytes_are_loaded_to_buffers_and_memory() {
  Folder folder;
  id<MTLIOFileHandle> source = file(folder, 100000);
  [source setLabel:@"source"];
  CHECK([[source label] isEqualToString:@"source"]);
  for (int type = 0; type < 2; type++) {
    id<MTLIOCommandQueue> loads = queue((MTLIOCommandQueueType)type);
    id<MTLBuffer> shared = buffer(1000), hidden = buffer(5000, MTLResourceStorageModePrivate), seen = buffer(5000);
    uint8_t memory[300] = {};
    __block int told = 0;
    id<MTLIOCommandBuffer> commands = type ? [loads commandBuffer] : [loads commandBufferWithUnretainedReferences];
    [commands setLabel:@"commands"];
    CHECK([[commands label] isEqualToString:@"commands"]);
    CHECK_EQUAL([commands status], MTLIOStatusPending);
    CHECK([commands error] == nil);
    [commands addCompletedHandler:^(id<MTLIOCommandBuffer> of) {
      if ([of status] == MTLIOStatusComplete) told++;
      [of waitUntilCompleted];  // returns at once
    }];
    [commands pushDebugGroup:@"group"];
    [commands loadBuffer:shared offset:100 size:800 sourceHandle:source sourceHandleOffset:99200];
    [commands loadBuffer:hidden offset:0 size:5000 sourceHandle:source sourceHandleOffset:31];
    [commands loadBytes:memory size:299 sourceHandle:source sourceHandleOffset:500];
    [commands loadBuffer:shared offset:1000 size:0 sourceHandle:source sourceHandleOffset:0];
    [commands popDebugGroup];
    finish(commands);
    CHECK_EQUAL(told, 1);
    const uint8_t *bytes = (const uint8_t *)[shared contents];
    CHECK(holds(bytes + 100, 99200, 800) && bytes[99] == 0 && bytes[900] == 0);
    CHECK(holds(memory, 500, 299) && memory[299] == 0);
    id<MTLCommandBuffer> copies = [[[device() newCommandQueue] autorelease] commandBuffer];
    id<MTLBlitCommandEncoder> encoder = [copies blitCommandEncoder];
    [encoder copyFromBuffer:hidden sourceOffset:0 toBuffer:seen destinationOffset:0 size:5000];
    [encoder endEncoding];
    [copies commit];
    [copies waitUntilCompleted];
    CHECK(holds([seen contents], 31, 5000));
  }
}

// Files are not compressed: nothing is read by way of other memory, so an allocator that has none is no failure.
void scratch_memory_is_not_asked_for() {
  Folder folder;
  id<MTLIOFileHandle> source = file(folder, 100000);
  Scratch *scratch = [[[Scratch alloc] init] autorelease];
  MTLIOCommandQueueDescriptor *with = descriptor(MTLIOCommandQueueTypeSerial);
  [with setScratchBufferAllocator:scratch];
  CHECK([[[with copy] autorelease] scratchBufferAllocator] == scratch);
  id<MTLBuffer> target = buffer(100000);
  id<MTLIOCommandBuffer> commands = [queue(with) commandBuffer];
  [commands loadBuffer:target offset:0 size:100000 sourceHandle:source sourceHandleOffset:0];
  finish(commands);
  CHECK(holds([target contents], 0, 100000));
  CHECK_EQUAL(scratch->_asked.load(), 0);
}

MTLTextureDescriptor *textureDescriptor(MTLTextureType type, MTLPixelFormat format, MTLSize size) {
  MTLTextureDescriptor *made = [[[MTLTextureDescriptor alloc] init] autorelease];
  [made setTextureType:type];
  [made setPixelFormat:format];
  [made setWidth:size.width];
  [made setHeight:size.height];
  [made setDepth:size.depth];
  return made;
}

// Texels of a region that was loaded from rows and images so far apart, from an offset on.
void check_texels(id<MTLTexture> texture, MTLRegion region, NSUInteger slice, NSUInteger level, size_t texel, size_t offset,
                  size_t row, size_t image) {
  const size_t width = region.size.width * texel;
  std::vector<uint8_t> read(width * region.size.height * region.size.depth);
  [texture getBytes:read.data() bytesPerRow:width bytesPerImage:width * region.size.height fromRegion:region mipmapLevel:level slice:slice];
  for (size_t z = 0; z < region.size.depth; z++)
    for (size_t y = 0; y < region.size.height; y++)
      CHECK(holds(&read[(z * region.size.height + y) * width], offset + z * image + y * row, width));
}

void texels_are_loaded_row_by_row() {
  Folder folder;
  id<MTLIOFileHandle> source = file(folder, 5 << 20);
  id<MTLIOCommandBuffer> commands = [queue() commandBuffer];
  // In pieces, since it is of several MiB; rows without and with gaps.
  id<MTLTexture> large = [[device() newTextureWithDescriptor:textureDescriptor(MTLTextureType2D, MTLPixelFormatRGBA8Unorm,
                                                                               MTLSizeMake(1024, 1030, 1))] autorelease];
  [commands loadTexture:large slice:0 level:0 size:MTLSizeMake(1024, 1030, 1) sourceBytesPerRow:4096 sourceBytesPerImage:0
      destinationOrigin:MTLOriginMake(0, 0, 0) sourceHandle:source sourceHandleOffset:12];
  MTLTextureDescriptor *levels = textureDescriptor(MTLTextureType2DArray, MTLPixelFormatR16Uint, MTLSizeMake(64, 64, 1));
  [levels setArrayLength:3];
  [levels setMipmapLevelCount:2];
  id<MTLTexture> small = [[device() newTextureWithDescriptor:levels] autorelease];
  [commands loadTexture:small slice:2 level:1 size:MTLSizeMake(7, 5, 1) sourceBytesPerRow:50 sourceBytesPerImage:0
      destinationOrigin:MTLOriginMake(20, 3, 0) sourceHandle:source sourceHandleOffset:1000];
  id<MTLTexture> deep = [[device() newTextureWithDescriptor:textureDescriptor(MTLTextureType3D, MTLPixelFormatR8Uint,
                                                                              MTLSizeMake(16, 16, 16))] autorelease];
  [commands loadTexture:deep slice:0 level:0 size:MTLSizeMake(16, 2, 3) sourceBytesPerRow:17 sourceBytesPerImage:100
      destinationOrigin:MTLOriginMake(0, 14, 13) sourceHandle:source sourceHandleOffset:5];
  // Rows that are further apart than a piece is long.
  [commands loadTexture:deep slice:0 level:0 size:MTLSizeMake(8, 3, 1) sourceBytesPerRow:2 << 20 sourceBytesPerImage:0
      destinationOrigin:MTLOriginMake(0, 0, 0) sourceHandle:source sourceHandleOffset:9];
  finish(commands);
  check_texels(large, MTLRegionMake2D(0, 0, 1024, 1030), 0, 0, 4, 12, 4096, 0);
  check_texels(small, MTLRegionMake2D(20, 3, 7, 5), 2, 1, 2, 1000, 50, 0);
  check_texels(deep, MTLRegionMake3D(0, 14, 13, 16, 2, 3), 0, 0, 1, 5, 17, 100);
  check_texels(deep, MTLRegionMake3D(0, 0, 0, 8, 3, 1), 0, 0, 1, 9, 2 << 20, 0);
}

void many_loads_go_at_once() {
  Folder folder;
  id<MTLIOFileHandle> source = file(folder, 200000);
  const MTLIOPriority priorities[] = {MTLIOPriorityHigh, MTLIOPriorityNormal, MTLIOPriorityLow};
  for (NSUInteger most = 0; most < 3; most++) {
    MTLIOCommandQueueDescriptor *settings = descriptor(MTLIOCommandQueueTypeConcurrent);
    [settings setMaxCommandsInFlight:most];
    [settings setPriority:priorities[most]];
    id<MTLIOCommandQueue> loads = queue(settings);
    id<MTLBuffer> target = buffer(200000);
    NSMutableArray *all = [NSMutableArray array];
    for (NSUInteger i = 0; i < 20; i++) {
      id<MTLIOCommandBuffer> commands = [loads commandBuffer];
      for (NSUInteger j = 0; j < 10; j++) {
        const NSUInteger at = (i * 10 + j) * 1000;
        [commands loadBuffer:target offset:at size:1000 sourceHandle:source sourceHandleOffset:at];
      }
      [commands commit];
      [all addObject:commands];
    }
    for (id<MTLIOCommandBuffer> commands in all) {
      [commands waitUntilCompleted];
      CHECK_EQUAL([commands status], MTLIOStatusComplete);
    }
    CHECK(holds([target contents], 0, 200000));
  }
}

// ------------------------------------------------------------------ what fails

void what_is_no_file_has_no_handle() {
  Folder folder;
  CHECK(mkfifo([folder.file(@"pipe") fileSystemRepresentation], 0600) == 0);
  const struct {
    NSURL *url;
    NSString *told;
  } wrong[] = {
      {folder.url(@"none"), @"No such file"},
      {[NSURL fileURLWithPath:[NSString stringWithUTF8String:folder.path]], @"no regular file"},
      {folder.url(@"pipe"), @"no regular file"},
      {[NSURL URLWithString:@"http://localhost/bytes"], @"names no file"},
  };
  for (const auto &one : wrong) {
    NSError *error = nil;
    CHECK([device() newIOFileHandleWithURL:one.url error:&error] == nil);
    check_error(error, MTLIOErrorDomain, MTLIOErrorURLInvalid, one.told);
    CHECK([device() newIOHandleWithURL:one.url error:nullptr] == nil);
  }
  CHECK([[[device() newIOHandleWithURL:folder.url(@"none") error:nullptr] autorelease] label] == nil);
  file(folder, 10);
  CHECK([[device() newIOHandleWithURL:folder.url(@"bytes") error:nullptr] autorelease] != nil);
  for (NSInteger method = MTLIOCompressionMethodZlib; method <= MTLIOCompressionMethodLZBitmap; method++) {
    NSError *error = nil;
    CHECK([device() newIOFileHandleWithURL:folder.url(@"bytes") compressionMethod:(MTLIOCompressionMethod)method error:&error] == nil);
    check_error(error, MTLIOErrorDomain, MTLIOErrorInternal, @"compressed files are not supported");
    CHECK([device() newIOHandleWithURL:folder.url(@"bytes") compressionMethod:(MTLIOCompressionMethod)method error:nullptr] == nil);
  }
}

typedef void (^Encode)(id<MTLIOCommandBuffer> commands);

// The load fails with the text; what is behind a barrier is not loaded, what is signaled is signaled once the status is final.
void check_failure(id<MTLIOFileHandle> source, NSString *told, Encode encode) {
  id<MTLBuffer> after = buffer(16), status = buffer(24);
  memset([status contents], 0xff, 24);
  id<MTLSharedEvent> event = sharedEvent();
  id<MTLIOCommandBuffer> commands = [queue() commandBuffer];
  __block NSError *error = nil;
  [commands addCompletedHandler:^(id<MTLIOCommandBuffer> of) {
    error = [[of error] retain];
  }];
  encode(commands);
  [commands addBarrier];
  [commands signalEvent:event value:3];
  [commands loadBuffer:after offset:0 size:16 sourceHandle:source sourceHandleOffset:1];
  [commands copyStatusToBuffer:status offset:8];
  [commands signalEvent:event value:4];
  [commands commit];
  CHECK([event waitUntilSignaledValue:4 timeoutMS:LONG]);
  CHECK_EQUAL([commands status], MTLIOStatusError);
  const int64_t *words = (const int64_t *)[status contents];
  CHECK_EQUAL(words[0], -1);
  CHECK_EQUAL(words[1], MTLIOStatusError);
  CHECK_EQUAL(words[2], -1);
  [commands waitUntilCompleted];
  check_error(error, MTLIOErrorDomain, MTLIOErrorInternal, told);
  [error release];
  CHECK_EQUAL(((const uint8_t *)[after contents])[0], 0);
}

void what_cannot_be_loaded_is_an_error() {
  Folder folder;
  id<MTLIOFileHandle> source = file(folder, 1000);
  id<MTLBuffer> target = buffer(100, MTLResourceStorageModePrivate);
  id<MTLTexture> texture = [[device() newTextureWithDescriptor:textureDescriptor(MTLTextureType2D, MTLPixelFormatR8Uint,
                                                                                 MTLSizeMake(16, 16, 1))] autorelease];
  void *unmapped = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void (^texels)(id<MTLIOCommandBuffer>, MTLSize, NSUInteger, NSUInteger) =
      ^(id<MTLIOCommandBuffer> commands, MTLSize size, NSUInteger row, NSUInteger offset) {
        [commands loadTexture:texture slice:0 level:0 size:size sourceBytesPerRow:row sourceBytesPerImage:0
            destinationOrigin:MTLOriginMake(1, 0, 0) sourceHandle:source sourceHandleOffset:offset];
      };
  check_failure(source, @"the file is too short, it ends at 1000", ^(id<MTLIOCommandBuffer> commands) {
    [commands loadBuffer:target offset:0 size:51 sourceHandle:source sourceHandleOffset:950];
  });
  check_failure(source, @"the file is too short", ^(id<MTLIOCommandBuffer> commands) {
    [commands loadBuffer:target offset:0 size:1 sourceHandle:source sourceHandleOffset:NSUIntegerMax];
  });
  check_failure(source, @"not within the buffer of 100 bytes", ^(id<MTLIOCommandBuffer> commands) {
    [commands loadBuffer:target offset:90 size:11 sourceHandle:source sourceHandleOffset:0];
  });
  check_failure(source, @"not within the buffer of 100 bytes", ^(id<MTLIOCommandBuffer> commands) {
    [commands loadBuffer:target offset:NSUIntegerMax size:2 sourceHandle:source sourceHandleOffset:0];
  });
  check_failure(source, @"Bad address", ^(id<MTLIOCommandBuffer> commands) {
    [commands loadBytes:unmapped size:10 sourceHandle:source sourceHandleOffset:0];
  });
  check_failure(source, @"within the texture's level", ^(id<MTLIOCommandBuffer> commands) {
    texels(commands, MTLSizeMake(16, 1, 1), 16, 0);
  });
  check_failure(source, @"bytesPerRow", ^(id<MTLIOCommandBuffer> commands) {
    texels(commands, MTLSizeMake(4, 2, 1), 3, 0);
  });
  check_failure(source, @"too short", ^(id<MTLIOCommandBuffer> commands) {
    texels(commands, MTLSizeMake(4, 2, 1), 10, 987);
  });
  munmap(unmapped, 4096);
}

void queues_and_command_buffers_fail_on_purpose() {
  id<MTLIOCommandQueue> loads = queue();
  CHECK(hostmetal_set_faults("queue:times=1; command_buffer:times=1", nullptr, 0));
  NSError *error = nil;
  CHECK([device() newIOCommandQueueWithDescriptor:descriptor(MTLIOCommandQueueTypeSerial) error:&error] == nil);
  check_error(error, MTLIOErrorDomain, MTLIOErrorInternal, @"makes no I/O command queue");
  CHECK([loads commandBuffer] == nil);
  finish([loads commandBuffer]);
  CHECK(hostmetal_set_faults("", nullptr, 0));
}

void misuse_of_files_and_queues_raises() {
  Folder folder;
  id<MTLIOFileHandle> source = file(folder, 1000), none = nil;
  id<MTLBuffer> target = buffer(100);
  NSObject *stranger = [[[NSObject alloc] init] autorelease];
  CHECK_RAISES([device() newIOCommandQueueWithDescriptor:(MTLIOCommandQueueDescriptor *)nil error:nullptr], @"newIOCommandQueue", @"nil");
  CHECK_RAISES(queue((MTLIOCommandQueueType)2), @"newIOCommandQueue", @"type");
  MTLIOCommandQueueDescriptor *wrong = descriptor(MTLIOCommandQueueTypeSerial);
  [wrong setPriority:(MTLIOPriority)3];
  CHECK_RAISES(queue(wrong), @"newIOCommandQueue", @"priority");
  [wrong setPriority:MTLIOPriorityLow];
  [wrong setMaxCommandBufferCount:0];
  CHECK_RAISES(queue(wrong), @"newIOCommandQueue", @"maxCommandBufferCount");
  CHECK_RAISES([device() newIOFileHandleWithURL:(NSURL *)nil error:nullptr], @"newIOFileHandleWithURL:", @"nil");

  id<MTLIOCommandBuffer> commands = [queue() commandBuffer];
  CHECK_RAISES([commands waitUntilCompleted], @"waitUntilCompleted", @"not committed");
  CHECK_RAISES([commands loadBuffer:target offset:0 size:1 sourceHandle:none sourceHandleOffset:0], @"loadBuffer:", @"sourceHandle");
  CHECK_RAISES([commands loadBuffer:(id<MTLBuffer>)stranger offset:0 size:1 sourceHandle:source sourceHandleOffset:0],
               @"loadBuffer:", @"buffer");
  CHECK_RAISES([commands loadBytes:(void *)nullptr size:1 sourceHandle:source sourceHandleOffset:0], @"loadBytes:", @"nil");
  CHECK_RAISES([commands copyStatusToBuffer:target offset:93], @"copyStatusToBuffer:", @"within the buffer");
  CHECK_RAISES([commands signalEvent:(id<MTLSharedEvent>)stranger value:1], @"signalEvent:", @"event");
  CHECK_RAISES([commands waitForEvent:(id<MTLSharedEvent>)[[device() newEvent] autorelease] value:1], @"waitForEvent:", @"shared events");
  CHECK_RAISES([commands addCompletedHandler:(MTLIOCommandBufferHandler)nil], @"addCompletedHandler:", @"nil");
  CHECK_RAISES([commands popDebugGroup], @"popDebugGroup", @"no debug group");
  [commands enqueue];
  CHECK_RAISES([commands enqueue], @"enqueue", @"already enqueued");
  finish(commands);
  CHECK_RAISES([commands commit], @"commit", @"already committed");
  CHECK_RAISES([commands enqueue], @"enqueue", @"already committed");
  CHECK_RAISES([commands addBarrier], @"addBarrier", @"already committed");
  CHECK_RAISES([commands addCompletedHandler:^(id<MTLIOCommandBuffer>){}], @"addCompletedHandler:", @"already committed");
  CHECK_RAISES([commands copyStatusToBuffer:target offset:0], @"copyStatusToBuffer:", @"already committed");
  CHECK_RAISES([commands loadBuffer:target offset:0 size:1 sourceHandle:source sourceHandleOffset:0], @"loadBuffer:",
               @"already committed");
}

// ------------------------------------------------------------------ order

void events_order_loads_and_kernels() {
  Folder folder;
  id<MTLIOFileHandle> source = file(folder, 1000);
  id<MTLBuffer> loaded = buffer(64), copied = buffer(64);
  id<MTLSharedEvent> event = sharedEvent();
  id<MTLCommandQueue> computes = [[device() newCommandQueue] autorelease];
  // The first fills, then the file is loaded over that, then the second copies what was loaded. Committed the other way round.
  id<MTLCommandBuffer> second = [computes commandBuffer], first = [[[device() newCommandQueue] autorelease] commandBuffer];
  [second encodeWaitForEvent:event value:2];
  id<MTLBlitCommandEncoder> encoder = [second blitCommandEncoder];
  [encoder copyFromBuffer:loaded sourceOffset:0 toBuffer:copied destinationOffset:0 size:64];
  [encoder endEncoding];
  [second commit];
  id<MTLIOCommandBuffer> commands = [queue() commandBuffer];
  [commands waitForEvent:event value:1];
  [commands loadBuffer:loaded offset:0 size:64 sourceHandle:source sourceHandleOffset:3];
  [commands signalEvent:event value:2];
  [commands commit];
  encoder = [first blitCommandEncoder];
  [encoder fillBuffer:loaded range:NSMakeRange(0, 64) value:1];
  [encoder endEncoding];
  CHECK_EQUAL([commands status], MTLIOStatusPending);
  [first encodeSignalEvent:event value:1];
  [first commit];
  [second waitUntilCompleted];
  CHECK_EQUAL([second status], MTLCommandBufferStatusCompleted);
  CHECK(holds([copied contents], 3, 64));
  CHECK_EQUAL([commands status], MTLIOStatusComplete);
  [commands waitUntilCompleted];
}

void barriers_and_signals_order_loads() {
  Folder folder;
  id<MTLIOFileHandle> source = file(folder, 3 << 20);
  id<MTLBuffer> target = buffer(3 << 20);
  id<MTLSharedEvent> event = sharedEvent();
  id<MTLIOCommandBuffer> commands = [queue() commandBuffer];
  // The small loads are done long before the large one if nothing orders them.
  [commands loadBuffer:target offset:0 size:3 << 20 sourceHandle:source sourceHandleOffset:0];
  [commands addBarrier];
  [commands loadBuffer:target offset:100 size:100 sourceHandle:source sourceHandleOffset:7];
  [commands signalEvent:event value:1];
  [commands waitForEvent:event value:1];
  [commands loadBuffer:target offset:150 size:10 sourceHandle:source sourceHandleOffset:1000];
  finish(commands);
  const uint8_t *bytes = (const uint8_t *)[target contents];
  CHECK(holds(bytes, 0, 100) && holds(bytes + 100, 7, 50) && holds(bytes + 150, 1000, 10) && holds(bytes + 160, 67, 40));
  CHECK(holds(bytes + 200, 200, (3 << 20) - 200));
}

// Loads that each wait for an event of their own, into one place: what is there in the end was loaded last.
void queues_keep_their_order() {
  Folder folder;
  id<MTLIOFileHandle> source = file(folder, 1000);
  enum Order { FREE, SERIAL, BARRIER, ENQUEUED };
  for (Order order : {FREE, SERIAL, BARRIER, ENQUEUED}) {
    id<MTLBuffer> target = buffer(16);
    id<MTLSharedEvent> event = sharedEvent(), done = sharedEvent();
    const bool serial = order == SERIAL || order == ENQUEUED;
    id<MTLIOCommandQueue> loads = queue(serial ? MTLIOCommandQueueTypeSerial : MTLIOCommandQueueTypeConcurrent);
    id<MTLIOCommandBuffer> first = [loads commandBuffer], second = [loads commandBuffer];
    [first waitForEvent:event value:1];
    [first loadBuffer:target offset:0 size:16 sourceHandle:source sourceHandleOffset:1];
    [second loadBuffer:target offset:0 size:16 sourceHandle:source sourceHandleOffset:2];
    [second signalEvent:done value:1];
    if (order == ENQUEUED) {
      [first enqueue];
      [second commit];
    }
    [first commit];
    if (order == BARRIER) {
      [loads enqueueBarrier];
      [loads enqueueBarrier];
    }
    if (order != ENQUEUED) [second commit];
    if (order == FREE) {
      CHECK([done waitUntilSignaledValue:1 timeoutMS:LONG]);
      CHECK_EQUAL([first status], MTLIOStatusPending);
    } else {
      CHECK_EQUAL([done signaledValue], 0);
    }
    [event setSignaledValue:1];
    [first waitUntilCompleted];
    [second waitUntilCompleted];
    CHECK(holds([target contents], order == FREE ? 1 : 2, 16));
  }
}

void a_queue_holds_so_many_command_buffers() {
  Folder folder;
  id<MTLIOFileHandle> source = file(folder, 1000);
  MTLIOCommandQueueDescriptor *settings = descriptor(MTLIOCommandQueueTypeSerial);
  CHECK_EQUAL([settings maxCommandBufferCount], 64);
  CHECK_EQUAL([settings maxCommandsInFlight], 0);
  CHECK_EQUAL([settings priority], MTLIOPriorityNormal);
  [settings setMaxCommandBufferCount:1];
  MTLIOCommandQueueDescriptor *copy = [[settings copy] autorelease];
  CHECK_EQUAL([copy maxCommandBufferCount], 1);
  CHECK_EQUAL([copy type], MTLIOCommandQueueTypeSerial);
  id<MTLIOCommandQueue> loads = queue(copy);
  [loads setLabel:@"loads"];
  CHECK([[loads label] isEqualToString:@"loads"]);
  id<MTLBuffer> target = buffer(100);
  id<MTLSharedEvent> allEnded = sharedEvent();
  std::atomic<uint64_t> count{0}, *const ended = &count;
  for (NSUInteger i = 0; i < 10; i++) {
    // Blocks until the one before has completed, whose handler makes the next one for its own part.
    id<MTLIOCommandBuffer> commands = [loads commandBuffer];
    [commands loadBuffer:target offset:i * 10 size:10 sourceHandle:source sourceHandleOffset:i * 10];
    [commands addCompletedHandler:^(id<MTLIOCommandBuffer>) {
      id<MTLIOCommandBuffer> next = [loads commandBuffer];
      [next addCompletedHandler:^(id<MTLIOCommandBuffer>) {
        [allEnded setSignaledValue:++*ended];
      }];
      [next commit];
      [next waitUntilCompleted];
      [allEnded setSignaledValue:++*ended];
    }];
    [commands commit];
    if (i % 2) [commands waitUntilCompleted];
  }
  // What is never committed makes room again.
  for (int i = 0; i < 2; i++) {
    @autoreleasepool {
      id<MTLIOCommandBuffer> commands = [loads commandBuffer];
      if (i == 1) [commands enqueue];
    }
  }
  finish([loads commandBuffer]);
  CHECK([allEnded waitUntilSignaledValue:20 timeoutMS:LONG]);
  CHECK(holds([target contents], 0, 100));
}

// ------------------------------------------------------------------ ends

void a_command_buffer_is_cancelled_between_its_loads() {
  Folder folder;
  id<MTLIOFileHandle> source = file(folder, 1000);
  enum When { BEFORE, WAITING, AFTER };
  for (When when : {BEFORE, WAITING, AFTER}) {
    id<MTLBuffer> target = buffer(32), status = buffer(8);
    id<MTLSharedEvent> event = sharedEvent(), never = sharedEvent();
    id<MTLIOCommandBuffer> commands = [queue() commandBuffer];
    [commands loadBuffer:target offset:0 size:16 sourceHandle:source sourceHandleOffset:1];
    [commands signalEvent:event value:1];
    if (when != AFTER) [commands waitForEvent:never value:1];
    [commands loadBuffer:target offset:16 size:16 sourceHandle:source sourceHandleOffset:17];
    [commands copyStatusToBuffer:status offset:0];
    [commands signalEvent:event value:2];
    if (when == BEFORE) [commands tryCancel];
    [commands commit];
    if (when == WAITING) CHECK([event waitUntilSignaledValue:1 timeoutMS:LONG]);
    if (when == AFTER) [commands waitUntilCompleted];
    [commands tryCancel];
    CHECK([event waitUntilSignaledValue:2 timeoutMS:LONG]);
    [commands waitUntilCompleted];
    const MTLIOStatus expected = when == AFTER ? MTLIOStatusComplete : MTLIOStatusCancelled;
    CHECK_EQUAL([commands status], expected);
    CHECK_EQUAL(*(const int64_t *)[status contents], expected);
    CHECK([commands error] == nil);
    const uint8_t *bytes = (const uint8_t *)[target contents];
    CHECK(when == BEFORE ? bytes[1] == 0 : holds(bytes, 1, 16));
    CHECK(when == AFTER ? holds(bytes + 16, 17, 16) : bytes[17] == 0);
    [never setSignaledValue:1];  // nobody waits any more
  }
}

void what_is_loaded_to_lives_until_then() {
  Folder folder;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (int finished = 0; finished < 2; finished++) {
    void *memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    id<MTLSharedEvent> event = sharedEvent(), gone = sharedEvent();
    __block std::atomic<bool> *right = new std::atomic<bool>(false);
    @autoreleasepool {
      Probe *deallocated = [[[Probe alloc] init] autorelease], *handled = [[[Probe alloc] init] autorelease];
      id<MTLBuffer> target = [[device() newBufferWithBytesNoCopy:memory length:page options:0
                                                     deallocator:^(void *bytes, NSUInteger length) {
                                                       [deallocated self];
                                                       *right = holds(bytes, 5, 100);
                                                       munmap(bytes, length);
                                                       [gone setSignaledValue:1];
                                                     }] autorelease];
      id<MTLIOCommandBuffer> commands = [queue() commandBufferWithUnretainedReferences];
      [commands waitForEvent:event value:1];
      [commands loadBuffer:target offset:0 size:100 sourceHandle:file(folder, 1000) sourceHandleOffset:5];
      [commands addCompletedHandler:^(id<MTLIOCommandBuffer>) {
        [handled self];
        [commands status];
      }];
      [commands commit];
      if (finished) {
        [event setSignaledValue:1];
        [commands waitUntilCompleted];
      }
    }
    [event setSignaledValue:1];
    CHECK([gone waitUntilSignaledValue:1 timeoutMS:LONG]);
    [Probe awaitNone];
    CHECK(*right);
    delete right;
  }
}

void handlers_may_wait_for_other_loads() {
  Folder folder;
  id<MTLIOFileHandle> source = file(folder, 1000);
  id<MTLIOCommandQueue> loads = queue(MTLIOCommandQueueTypeSerial);
  id<MTLBuffer> target = buffer(40 * 16);
  NSMutableArray *all = [NSMutableArray array];
  for (NSUInteger i = 0; i < 20; i++) {  // more than there are threads
    id<MTLIOCommandBuffer> commands = [loads commandBuffer];
    [commands addCompletedHandler:^(id<MTLIOCommandBuffer>) {
      id<MTLIOCommandBuffer> more = [loads commandBuffer];
      [more loadBuffer:target offset:i * 16 size:16 sourceHandle:source sourceHandleOffset:i];
      finish(more);
    }];
    [commands loadBuffer:target offset:(20 + i) * 16 size:16 sourceHandle:source sourceHandleOffset:i];
    [commands commit];
    [all addObject:commands];
  }
  for (id<MTLIOCommandBuffer> commands in all) [commands waitUntilCompleted];
  for (NSUInteger i = 0; i < 40; i++) CHECK(holds((const uint8_t *)[target contents] + i * 16, i % 20, 16));
}

}  // namespace

#define CASE(name) {#name, name}
const FaceCase io_cases[] = {
    CASE(bytes_are_loaded_to_buffers_and_memory),
    CASE(scratch_memory_is_not_asked_for),
    CASE(texels_are_loaded_row_by_row),
    CASE(many_loads_go_at_once),
    CASE(what_is_no_file_has_no_handle),
    CASE(what_cannot_be_loaded_is_an_error),
    CASE(queues_and_command_buffers_fail_on_purpose),
    CASE(misuse_of_files_and_queues_raises),
    CASE(events_order_loads_and_kernels),
    CASE(barriers_and_signals_order_loads),
    CASE(queues_keep_their_order),
    CASE(a_queue_holds_so_many_command_buffers),
    CASE(a_command_buffer_is_cancelled_between_its_loads),
    CASE(what_is_loaded_to_lives_until_then),
    CASE(handlers_may_wait_for_other_loads),
    {nullptr, nullptr},
};
