// Sizes. https://developer.apple.com/documentation/metal/mtlsize
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
