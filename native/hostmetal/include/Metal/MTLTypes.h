// Sizes and regions. https://developer.apple.com/documentation/metal/mtlsize
#pragma once
#import <Metal/MTLDefines.h>

typedef struct {
  NSUInteger width, height, depth;
} MTLSize;

MTL_INLINE MTLSize MTLSizeMake(NSUInteger width, NSUInteger height, NSUInteger depth) {
  MTLSize size;
  size.width = width;
  size.height = height;
  size.depth = depth;
  return size;
}

typedef struct {
  NSUInteger x, y, z;
} MTLOrigin;

MTL_INLINE MTLOrigin MTLOriginMake(NSUInteger x, NSUInteger y, NSUInteger z) {
  MTLOrigin origin;
  origin.x = x;
  origin.y = y;
  origin.z = z;
  return origin;
}

typedef struct {
  MTLOrigin origin;
  MTLSize size;
} MTLRegion;

MTL_INLINE MTLRegion MTLRegionMake3D(NSUInteger x, NSUInteger y, NSUInteger z, NSUInteger width, NSUInteger height,
                                     NSUInteger depth) {
  MTLRegion region;
  region.origin = MTLOriginMake(x, y, z);
  region.size = MTLSizeMake(width, height, depth);
  return region;
}

MTL_INLINE MTLRegion MTLRegionMake2D(NSUInteger x, NSUInteger y, NSUInteger width, NSUInteger height) {
  return MTLRegionMake3D(x, y, 0, width, height, 1);
}

MTL_INLINE MTLRegion MTLRegionMake1D(NSUInteger x, NSUInteger width) { return MTLRegionMake3D(x, 0, 0, width, 1, 1); }

typedef uint64_t MTLGPUAddress API_AVAILABLE(macos(13.0));

// What stands for a texture, a sampler or a pipeline in memory that kernels read.
typedef struct MTLResourceID {
  uint64_t _impl;
} MTLResourceID API_AVAILABLE(macos(13.0));
