// Comparisons, which samplers of depth textures make. https://developer.apple.com/documentation/metal/mtlcomparefunction
#pragma once
#import <Metal/MTLDefines.h>

typedef NS_ENUM(NSUInteger, MTLCompareFunction) {
  MTLCompareFunctionNever = 0,
  MTLCompareFunctionLess = 1,
  MTLCompareFunctionEqual = 2,
  MTLCompareFunctionLessEqual = 3,
  MTLCompareFunctionGreater = 4,
  MTLCompareFunctionNotEqual = 5,
  MTLCompareFunctionGreaterEqual = 6,
  MTLCompareFunctionAlways = 7,
} API_AVAILABLE(macos(10.11));
