// Types of numbers, options of kernels, and whether a device has them. https://developer.apple.com/documentation/metalperformanceshaders/mpsdatatype
#pragma once
#import <Metal/Metal.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_OPTIONS(NSUInteger, MPSKernelOptions) {
  MPSKernelOptionsNone = 0,
  MPSKernelOptionsSkipAPIValidation = 1 << 0,
  MPSKernelOptionsAllowReducedPrecision = 1 << 1,
  MPSKernelOptionsDisableInternalTiling = 1 << 2,
  MPSKernelOptionsInsertDebugGroups = 1 << 3,
  MPSKernelOptionsVerbose = 1 << 4,
} API_AVAILABLE(macos(10.13));

typedef NS_ENUM(uint32_t, MPSDataType) {
  MPSDataTypeInvalid = 0,
  MPSDataTypeFloatBit = 0x10000000,
  MPSDataTypeFloat32 = MPSDataTypeFloatBit | 32,
  MPSDataTypeFloat16 = MPSDataTypeFloatBit | 16,
  MPSDataTypeSignedBit = 0x20000000,
  MPSDataTypeIntBit = 0x20000000,
  MPSDataTypeInt8 = MPSDataTypeIntBit | 8,
  MPSDataTypeInt16 = MPSDataTypeIntBit | 16,
  MPSDataTypeInt32 = MPSDataTypeIntBit | 32,
  MPSDataTypeInt64 = MPSDataTypeIntBit | 64,
  MPSDataTypeUInt8 = 8,
  MPSDataTypeUInt16 = 16,
  MPSDataTypeUInt32 = 32,
  MPSDataTypeUInt64 = 64,
  MPSDataTypeAlternateEncodingBit = 0x80000000,
  MPSDataTypeBFloat16 = MPSDataTypeAlternateEncodingBit | MPSDataTypeFloat16,
} API_AVAILABLE(macos(10.13));

// Extents, the slowest first.
typedef NSArray<NSNumber *> MPSShape;

MTL_EXTERN BOOL MPSSupportsMTLDevice(id<MTLDevice> _Nullable device) API_AVAILABLE(macos(10.13));

NS_ASSUME_NONNULL_END
