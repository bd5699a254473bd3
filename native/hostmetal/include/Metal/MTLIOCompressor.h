// Names of the ways in which files are compressed. Such files have a format of Apple's, so that none can be made or read here.
// https://developer.apple.com/documentation/metal/mtliocompressionmethod
#pragma once
#import <Metal/MTLDefines.h>

typedef NS_ENUM(NSInteger, MTLIOCompressionMethod) {
  MTLIOCompressionMethodZlib = 0,
  MTLIOCompressionMethodLZFSE = 1,
  MTLIOCompressionMethodLZ4 = 2,
  MTLIOCompressionMethodLZMA = 3,
  MTLIOCompressionMethodLZBitmap = 4,
} API_AVAILABLE(macos(13.0));
