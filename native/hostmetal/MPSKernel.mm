// What kernels of Metal Performance Shaders have in common.
#import "performance.h"

@implementation MPSKernel
@synthesize options = _options, device = _device, label = _label;

// Devices live as long as the process, so nothing retains them.
- (instancetype)initWithDevice:(id<MTLDevice>)device {
  if (!(self = [super init])) return nil;
  if (!MPSSupportsMTLDevice(device)) {
    [self release];
    return nil;
  }
  _device = device;
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  return [self copyWithZone:zone device:nil];
}

- (instancetype)copyWithZone:(NSZone *)zone device:(id<MTLDevice>)device {
  MPSKernel *copy = [[[self class] allocWithZone:zone] initWithDevice:device ? device : _device];
  [copy setLabel:[self label]];
  [copy setOptions:_options];
  return copy;
}

// The pass is this kernel's own, as it is on a Mac: whoever has another open has to end that.
- (void)encodeTo:(id<MTLCommandBuffer>)commandBuffer selector:(SEL)selector by:(const char * (^)(HMEncoder encoder))work {
  if ([(id)commandBuffer isKindOfClass:[MPSCommandBuffer class]]) commandBuffer = [(MPSCommandBuffer *)commandBuffer rootCommandBuffer];
  if (object_getClass(commandBuffer) != [HostMTLCommandBuffer class])
    hostmetal_raise(self, selector, "the command buffer must be one of a device");
  if ([commandBuffer device] != _device) hostmetal_raise(self, selector, "the command buffer is another device's");
  HostMTLComputeCommandEncoder *encoder = (HostMTLComputeCommandEncoder *)[commandBuffer computeCommandEncoder];
  if (!encoder) hostmetal_raise_no_memory(self, selector, "the command buffer made no encoder");
  NSString *label = [self label];
  [encoder setLabel:label ? label : NSStringFromClass([self class])];
  const char *const misuse = work(encoder->_engine);
  [encoder endEncoding];
  if (misuse) hostmetal_raise(self, selector, misuse);
}

- (void)dealloc {
  [_label release];
  [super dealloc];
}
@end

@implementation MPSMatrixUnaryKernel
@synthesize sourceMatrixOrigin = _sourceMatrixOrigin, resultMatrixOrigin = _resultMatrixOrigin, batchStart = _batchStart, batchSize = _batchSize;

- (instancetype)initWithDevice:(id<MTLDevice>)device {
  if ((self = [super initWithDevice:device])) _batchSize = NSUIntegerMax;
  return self;
}

- (instancetype)copyWithZone:(NSZone *)zone device:(id<MTLDevice>)device {
  MPSMatrixUnaryKernel *copy = [super copyWithZone:zone device:device];
  if (!copy) return nil;
  copy->_sourceMatrixOrigin = _sourceMatrixOrigin;
  copy->_resultMatrixOrigin = _resultMatrixOrigin;
  copy->_batchStart = _batchStart;
  copy->_batchSize = _batchSize;
  return copy;
}
@end

@implementation MPSMatrixBinaryKernel
@synthesize primarySourceMatrixOrigin = _primarySourceMatrixOrigin,
            secondarySourceMatrixOrigin = _secondarySourceMatrixOrigin, resultMatrixOrigin = _resultMatrixOrigin,
            batchStart = _batchStart, batchSize = _batchSize;

- (instancetype)initWithDevice:(id<MTLDevice>)device {
  if ((self = [super initWithDevice:device])) _batchSize = NSUIntegerMax;
  return self;
}

- (instancetype)copyWithZone:(NSZone *)zone device:(id<MTLDevice>)device {
  MPSMatrixBinaryKernel *copy = [super copyWithZone:zone device:device];
  if (!copy) return nil;
  copy->_primarySourceMatrixOrigin = _primarySourceMatrixOrigin;
  copy->_secondarySourceMatrixOrigin = _secondarySourceMatrixOrigin;
  copy->_resultMatrixOrigin = _resultMatrixOrigin;
  copy->_batchStart = _batchStart;
  copy->_batchSize = _batchSize;
  return copy;
}
@end
