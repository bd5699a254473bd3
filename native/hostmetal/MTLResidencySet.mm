// MTLResidencySetDescriptor and MTLResidencySet. All memory here is resident, so what a set does is to keep its allocations:
// while they are in it, and in the command buffers that it applies to until they have completed.
#import "faces.h"

@implementation MTLResidencySetDescriptor
@synthesize label = _label, initialCapacity = _initialCapacity;

- (id)copyWithZone:(NSZone *)zone {
  MTLResidencySetDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setLabel:_label];
  [copy setInitialCapacity:_initialCapacity];
  return copy;
}

- (void)dealloc {
  [_label release];
  [super dealloc];
}
@end

// Objects are compared by identity. (NSMutableSet asks them for hash and isEqual:, which are NSObject's: the same.)
@implementation HostMTLResidencySet
@synthesize label = _label;

- (instancetype)initWithDevice:(HostMTLDevice *)device descriptor:(MTLResidencySetDescriptor *)descriptor {
  if ((self = [super init])) {
    _device = device;
    _label = [[descriptor label] copy];
    _members = [[NSMutableSet alloc] initWithCapacity:[descriptor initialCapacity]];
    _leaving = [[NSMutableSet alloc] init];
    _committed = [[NSArray array] retain];
  }
  return self;
}

- (id<MTLDevice>)device {
  return _device;
}

- (uint64_t)allocatedSize {
  @synchronized(self) {
    return _allocatedSize;
  }
}

- (NSArray<id<MTLAllocation>> *)allAllocations {
  @synchronized(self) {
    return [_members allObjects];
  }
}

- (NSUInteger)allocationCount {
  @synchronized(self) {
    return [_members count];
  }
}

- (BOOL)containsAllocation:(id<MTLAllocation>)allocation {
  HM_REQUIRE(allocation != nil, "the allocation must not be nil");
  @synchronized(self) {
    return [_members containsObject:allocation];
  }
}

- (NSArray *)committedAllocations {
  @synchronized(self) {
    return [[_committed retain] autorelease];
  }
}

// ------------------------------------------------------------------ changes

- (void)addAllocations:(const id<MTLAllocation> [])allocations count:(NSUInteger)count {
  HM_REQUIRE(allocations != nullptr || count == 0, "the array must not be NULL");
  for (NSUInteger i = 0; i < count; i++) {
    HM_REQUIRE(allocations[i] != nil, "an allocation must not be nil");
    HM_REQUIRE([(id)allocations[i] respondsToSelector:@selector(device)], "an allocation must be a resource or a heap");
    HM_REQUIRE([(id<MTLResource>)allocations[i] device] == _device, "an allocation was created with a different device than the set");
  }
  @synchronized(self) {
    for (NSUInteger i = 0; i < count; i++) {
      [_members addObject:allocations[i]];
      [_leaving removeObject:allocations[i]];
    }
  }
}

- (void)addAllocation:(id<MTLAllocation>)allocation {
  [self addAllocations:&allocation count:1];
}

- (void)removeAllocations:(const id<MTLAllocation> [])allocations count:(NSUInteger)count {
  HM_REQUIRE(allocations != nullptr || count == 0, "the array must not be NULL");
  for (NSUInteger i = 0; i < count; i++) HM_REQUIRE(allocations[i] != nil, "an allocation must not be nil");
  @synchronized(self) {
    for (NSUInteger i = 0; i < count; i++)
      if ([_members containsObject:allocations[i]]) [_leaving addObject:allocations[i]];
  }
}

- (void)removeAllocation:(id<MTLAllocation>)allocation {
  [self removeAllocations:&allocation count:1];
}

- (void)removeAllAllocations {
  @synchronized(self) {
    [_leaving unionSet:_members];
  }
}

- (void)commit {
  NSArray *before = nil;  // released outside of the lock, since a deallocator may run
  NSSet *left = nil;
  @synchronized(self) {
    left = [_leaving copy];
    [_members minusSet:_leaving];
    [_leaving removeAllObjects];
    before = _committed;
    _committed = [[_members allObjects] retain];
    _allocatedSize = 0;
    for (id<MTLAllocation> allocation in _committed) _allocatedSize += [allocation allocatedSize];
  }
  [before release];
  [left release];
}

- (void)requestResidency {
}

- (void)endResidency {
}

- (void)dealloc {
  [_label release];
  [_members release];
  [_leaving release];
  [_committed release];
  [super dealloc];
}
@end

@implementation HostMTLResidencySets

- (NSArray *)committedAllocations {
  if (__atomic_load_n(&_count, __ATOMIC_ACQUIRE) == 0) return nil;
  NSArray *sets = nil;
  @synchronized(self) {
    sets = [[_sets retain] autorelease];
  }
  NSMutableArray *all = [NSMutableArray arrayWithCapacity:[sets count]];
  for (HostMTLResidencySet *set in sets) [all addObject:[set committedAllocations]];
  return all;
}

- (const char *)add:(const id<MTLResidencySet> [])sets count:(NSUInteger)count device:(id<MTLDevice>)device {
  static const Class setClass = [HostMTLResidencySet class];
  if (!sets && count > 0) return "the array must not be NULL";
  for (NSUInteger i = 0; i < count; i++) {
    if (object_getClass(sets[i]) != setClass) return "a residency set must be one of this device";
    if ([sets[i] device] != device) return "a residency set was created with a different device";
  }
  @synchronized(self) {
    NSMutableArray *changed = [NSMutableArray arrayWithArray:_sets];
    for (NSUInteger i = 0; i < count; i++)
      if ([changed indexOfObjectIdenticalTo:sets[i]] == NSNotFound) [changed addObject:sets[i]];
    if ([changed count] > 32) return "there can be at most 32 residency sets";
    [self replaceBy:changed];
  }
  return nullptr;
}

- (const char *)remove:(const id<MTLResidencySet> [])sets count:(NSUInteger)count {
  if (!sets && count > 0) return "the array must not be NULL";
  @synchronized(self) {
    NSMutableArray *changed = [NSMutableArray arrayWithArray:_sets];
    for (NSUInteger i = 0; i < count; i++) [changed removeObjectIdenticalTo:sets[i]];
    [self replaceBy:changed];
  }
  return nullptr;
}

// Arrays are never changed, since another thread may be going through one.
- (void)replaceBy:(NSArray *)sets {
  [_sets autorelease];
  _sets = [sets retain];
  __atomic_store_n(&_count, [sets count], __ATOMIC_RELEASE);
}

- (void)dealloc {
  [_sets release];
  [super dealloc];
}
@end
