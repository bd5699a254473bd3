// MTLSamplerDescriptor and MTLSamplerState.
#import "faces.h"

#include <cfloat>

@implementation MTLSamplerDescriptor
@synthesize minFilter = _minFilter, magFilter = _magFilter, mipFilter = _mipFilter, maxAnisotropy = _maxAnisotropy,
            sAddressMode = _sAddressMode, tAddressMode = _tAddressMode, rAddressMode = _rAddressMode,
            borderColor = _borderColor, normalizedCoordinates = _normalizedCoordinates, lodMinClamp = _lodMinClamp,
            lodMaxClamp = _lodMaxClamp, lodAverage = _lodAverage, lodBias = _lodBias, compareFunction = _compareFunction, supportArgumentBuffers = _supportArgumentBuffers, label = _label;

- (instancetype)init {
  if ((self = [super init])) {
    _maxAnisotropy = 1;
    _normalizedCoordinates = YES;
    _lodMaxClamp = FLT_MAX;
  }
  return self;
}

- (MTLSamplerReductionMode)reductionMode {
  return (MTLSamplerReductionMode)_reductionMode;
}

- (void)setReductionMode:(MTLSamplerReductionMode)mode {
  _reductionMode = mode;
}

- (id)copyWithZone:(NSZone *)zone {
  MTLSamplerDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setMinFilter:_minFilter];
  [copy setMagFilter:_magFilter];
  [copy setMipFilter:_mipFilter];
  [copy setMaxAnisotropy:_maxAnisotropy];
  [copy setSAddressMode:_sAddressMode];
  [copy setTAddressMode:_tAddressMode];
  [copy setRAddressMode:_rAddressMode];
  [copy setBorderColor:_borderColor];
  [copy setNormalizedCoordinates:_normalizedCoordinates];
  [copy setLodMinClamp:_lodMinClamp];
  [copy setLodMaxClamp:_lodMaxClamp];
  [copy setLodAverage:_lodAverage];
  [copy setLodBias:_lodBias];
  copy->_reductionMode = _reductionMode;
  [copy setCompareFunction:_compareFunction];
  [copy setSupportArgumentBuffers:_supportArgumentBuffers];
  [copy setLabel:_label];
  return copy;
}

- (void)dealloc {
  [_label release];
  [super dealloc];
}
@end

@implementation HostMTLSamplerState
@synthesize label = _label;

- (instancetype)initWithDevice:(HostMTLDevice *)device
                        engine:(HMSampler)engine
                    descriptor:(MTLSamplerDescriptor *)descriptor {
  if ((self = [super init])) {
    _device = device;
    _engine = engine;
    _inArgumentBuffers = [descriptor supportArgumentBuffers];
    _label = [[descriptor label] copy];
  }
  return self;
}

- (id<MTLDevice>)device {
  return _device;
}

- (MTLResourceID)gpuResourceID {
  HM_REQUIRE(_inArgumentBuffers, "the sampler was made without supportArgumentBuffers");
  return (MTLResourceID){hm_sampler_handle(&_engine)};
}

- (void)dealloc {
  [_label release];
  [super dealloc];
}
@end

namespace {
// hostmetal::address_mode of an MTLSamplerAddressMode (msl/hostmetal_sampler.h); -1 for the one that kernels do not have.
int addressBits(MTLSamplerAddressMode mode) {
  switch (mode) {
    case MTLSamplerAddressModeClampToZero:
      return 0;
    case MTLSamplerAddressModeClampToEdge:
      return 1;
    case MTLSamplerAddressModeRepeat:
      return 2;
    case MTLSamplerAddressModeMirrorRepeat:
      return 3;
    case MTLSamplerAddressModeClampToBorderColor:
      return 4;
    default:
      return -1;
  }
}
}  // namespace

const char *hostmetal_sampler(MTLSamplerDescriptor *descriptor, HMSampler *sampler) {
  const int s = addressBits([descriptor sAddressMode]), t = addressBits([descriptor tAddressMode]),
            r = addressBits([descriptor rAddressMode]);
  if (s < 0 || t < 0 || r < 0) return "an address mode is unknown, or is MTLSamplerAddressModeMirrorClampToEdge";
  if ([descriptor minFilter] > MTLSamplerMinMagFilterLinear || [descriptor magFilter] > MTLSamplerMinMagFilterLinear)
    return "minFilter and magFilter must be nearest or linear";
  if ([descriptor mipFilter] > MTLSamplerMipFilterLinear) return "mipFilter is unknown";
  if ([descriptor borderColor] > MTLSamplerBorderColorOpaqueWhite) return "borderColor is unknown";
  if ([descriptor maxAnisotropy] < 1 || [descriptor maxAnisotropy] > 16) return "maxAnisotropy must be between 1 and 16";
  if ([descriptor compareFunction] > MTLCompareFunctionAlways) return "compareFunction is unknown";
  if (!([descriptor lodMinClamp] <= [descriptor lodMaxClamp])) return "lodMinClamp must be <= lodMaxClamp";
  if ([descriptor reductionMode] > MTLSamplerReductionModeMaximum) return "reductionMode is unknown";
  if (!([descriptor lodBias] >= -16 && [descriptor lodBias] < 16)) return "lodBias must be >= -16 and < 16";
  const auto repeats = [](int mode) { return mode == 2 || mode == 3; };
  if (![descriptor normalizedCoordinates]) {
    if (repeats(s) || repeats(t) || repeats(r)) return "coordinates in pixels need clamping address modes";
    if ([descriptor mipFilter] != MTLSamplerMipFilterNotMipmapped || [descriptor maxAnisotropy] != 1)
      return "coordinates in pixels need mipFilter not mipmapped and maxAnisotropy 1";
    if ([descriptor minFilter] != [descriptor magFilter]) return "coordinates in pixels need minFilter equal to magFilter";
  }
  // Apple's Metal looks at it where all three filters are linear.
  const bool reduces = [descriptor mipFilter] == MTLSamplerMipFilterLinear && [descriptor minFilter] == MTLSamplerMinMagFilterLinear &&
                       [descriptor magFilter] == MTLSamplerMinMagFilterLinear;
  sampler->bits = (uint32_t)(s | t << 3 | r << 6) | (uint32_t)[descriptor magFilter] << 9 |
                  (uint32_t)[descriptor minFilter] << 11 | (uint32_t)[descriptor mipFilter] << 13 |
                  (uint32_t)![descriptor normalizedCoordinates] << 15 | (uint32_t)[descriptor borderColor] << 16 |
                  (uint32_t)[descriptor compareFunction] << 18 | (reduces ? (uint32_t)[descriptor reductionMode] : 0) << 21;
  sampler->lod_min = [descriptor lodMinClamp];
  sampler->lod_max = [descriptor lodMaxClamp];
  sampler->lod_bias = [descriptor lodBias];
  return nullptr;
}
