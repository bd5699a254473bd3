// The Blocks runtime (https://clang.llvm.org/docs/Block-ABI-Apple.html) for GCC's Objective-C runtime.
//
// The three _NSConcrete*Block symbols are registered Objective-C classes, so a block is an object: it can be copied,
// retained and put in collections, and Block_copy retains what a block captures. (Debian's libBlocksRuntime does neither.)
#import <Foundation/Foundation.h>

#include <Block.h>
#include <cstdlib>
#include <cstring>

namespace {
struct Descriptor {
  unsigned long reserved, size;
  void (*copy)(void *destination, const void *source);  // these two only with hasCopyDispose
  void (*dispose)(const void *block);
};
struct Block {
  void *isa;
  int flags, reserved;
  void (*invoke)(void *, ...);
  Descriptor *descriptor;
};
// A __block variable.
struct Byref {
  void *isa;
  Byref *forwarding;
  int flags;
  unsigned size;
  void (*keep)(Byref *destination, Byref *source);  // these two only with hasCopyDispose
  void (*destroy)(Byref *byref);
};

// The reference count lives in flags, in steps of 2 below countMask: in the bits that compilers leave free, of which Apple's runtime
// uses those up to 0xfffe. As there, a count that has come to its end stays there, and what it counts is never freed.
constexpr int countMask = 0x7ffffe, onHeap = 1 << 24, hasCopyDispose = 1 << 25, isGlobal = 1 << 28;
// What _Block_object_assign is told to copy.
constexpr int fieldIsObject = 3, fieldIsBlock = 7, fieldIsByref = 8, fieldMask = 15, byrefCaller = 128;

// Other threads count in the same word.
bool has(const int *flags, int flag) {
  return __atomic_load_n(flags, __ATOMIC_RELAXED) & flag;
}

void addReference(int *flags) {
  int now = __atomic_load_n(flags, __ATOMIC_RELAXED);
  do {
    if ((now & countMask) == countMask) return;
  } while (!__atomic_compare_exchange_n(flags, &now, now + 2, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

// True when that was the last.
bool dropReference(int *flags) {
  int now = __atomic_load_n(flags, __ATOMIC_RELAXED);
  do {
    if ((now & countMask) == countMask) return false;
  } while (!__atomic_compare_exchange_n(flags, &now, now - 2, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
  return (now & countMask) == 2;
}

void *allocate(size_t size) {
  void *memory = malloc(size);
  if (!memory) abort();  // compiled code cannot be told
  return memory;
}

// Several threads may move the same variable to the heap: a block that has not been copied, such as one given to dispatch_apply,
// is called by them, and copies blocks that use it. The first one's copy counts.
void copyByref(Byref **destination, Byref *source) {
  Byref *original = __atomic_load_n(&source->forwarding, __ATOMIC_ACQUIRE);
  if (has(&original->flags, onHeap)) {
    addReference(&original->flags);
    *destination = original;
    return;
  }
  Byref *copy = (Byref *)allocate(original->size);
  memcpy(copy, original, original->size);
  copy->flags = (original->flags & ~countMask) | onHeap | 4;  // one reference for the frame it came from, one for the block
  copy->forwarding = copy;
  if (copy->flags & hasCopyDispose) copy->keep(copy, original);
  Byref *first = original;
  if (!__atomic_compare_exchange_n(&original->forwarding, &first, copy, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    if (copy->flags & hasCopyDispose) copy->destroy(copy);
    free(copy);
    addReference(&first->flags);
    copy = first;
  }
  *destination = copy;
}

void releaseByref(Byref *byref) {
  byref = __atomic_load_n(&byref->forwarding, __ATOMIC_ACQUIRE);
  if (!has(&byref->flags, onHeap) || !dropReference(&byref->flags)) return;
  if (byref->flags & hasCopyDispose) byref->destroy(byref);
  free(byref);
}
}  // namespace

extern "C" {
extern void *_NSConcreteMallocBlock[];

void *_Block_copy(const void *argument) {
  Block *block = (Block *)argument;
  if (!block || has(&block->flags, isGlobal)) return block;
  if (has(&block->flags, onHeap)) {
    addReference(&block->flags);
    return block;
  }
  Block *copy = (Block *)allocate(block->descriptor->size);
  memcpy(copy, block, block->descriptor->size);
  copy->flags = (copy->flags & ~countMask) | onHeap | 2;
  copy->isa = _NSConcreteMallocBlock;
  if (copy->flags & hasCopyDispose) copy->descriptor->copy(copy, block);
  return copy;
}

void _Block_release(const void *argument) {
  Block *block = (Block *)argument;
  if (!block || !has(&block->flags, onHeap) || !dropReference(&block->flags)) return;
  if (block->flags & hasCopyDispose) block->descriptor->dispose(block);
  free(block);
}

// A __block variable of object type is not retained (the rule under manual retain and release).
void _Block_object_assign(void *destination, const void *object, const int flags) {
  if (flags & byrefCaller) {
    *(const void **)destination = object;
    return;
  }
  switch (flags & fieldMask) {
    case fieldIsByref:
      copyByref((Byref **)destination, (Byref *)object);
      break;
    case fieldIsBlock:
      *(void **)destination = _Block_copy(object);
      break;
    case fieldIsObject:
      *(id *)destination = [(id)object retain];
      break;
  }
}

void _Block_object_dispose(const void *object, const int flags) {
  if (flags & byrefCaller) return;
  switch (flags & fieldMask) {
    case fieldIsByref:
      releaseByref((Byref *)object);
      break;
    case fieldIsBlock:
      _Block_release(object);
      break;
    case fieldIsObject:
      [(id)object release];
      break;
  }
}
}  // extern "C"

@interface HostMTLBlock : NSObject
@end
@interface HostMTLStackBlock : HostMTLBlock
@end
@interface HostMTLGlobalBlock : HostMTLBlock
@end
@interface HostMTLMallocBlock : HostMTLBlock
@end

@implementation HostMTLBlock
- (id)copy {
  return (id)_Block_copy(self);
}
- (id)copyWithZone:(NSZone *)zone {
  (void)zone;
  return (id)_Block_copy(self);
}
- (id)retain {
  return (id)_Block_copy(self);
}
- (oneway void)release {
  _Block_release(self);
}
- (NSUInteger)retainCount {
  return (NSUInteger)((((Block *)self)->flags & countMask) / 2);
}
@end

// A block on the stack cannot be kept by retaining it; only a copy outlives its frame.
@implementation HostMTLStackBlock
- (id)retain {
  return self;
}
- (oneway void)release {
}
- (id)autorelease {
  return self;
}
@end

@implementation HostMTLGlobalBlock
- (id)autorelease {
  return self;
}
@end

@implementation HostMTLMallocBlock
@end

__asm__(
    ".globl _NSConcreteStackBlock\n.set _NSConcreteStackBlock, _OBJC_CLASS_HostMTLStackBlock\n"
    ".globl _NSConcreteGlobalBlock\n.set _NSConcreteGlobalBlock, _OBJC_CLASS_HostMTLGlobalBlock\n"
    ".globl _NSConcreteMallocBlock\n.set _NSConcreteMallocBlock, _OBJC_CLASS_HostMTLMallocBlock\n");
