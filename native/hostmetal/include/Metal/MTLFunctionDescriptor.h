// How a function is made. https://developer.apple.com/documentation/metal/mtlfunctiondescriptor
#pragma once
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLBinaryArchive;
@class MTLFunctionConstantValues;

typedef NS_OPTIONS(NSUInteger, MTLFunctionOptions) {
  MTLFunctionOptionNone = 0,
  MTLFunctionOptionCompileToBinary = 1 << 0,
  MTLFunctionOptionStoreFunctionInMetalPipelinesScript = 1 << 1,
  MTLFunctionOptionStoreFunctionInMetalScript = 1 << 1,
  MTLFunctionOptionFailOnBinaryArchiveMiss = 1 << 2,
  MTLFunctionOptionPipelineIndependent = 1 << 3,
} API_AVAILABLE(macos(11.0));

// The archives are looked into when the function's pipeline is made, which is when its code is compiled.
MTL_EXPORT API_AVAILABLE(macos(11.0))
@interface MTLFunctionDescriptor : NSObject <NSCopying> {
  NSString *_name;
  NSString *_specializedName;
  MTLFunctionConstantValues *_constantValues;
  MTLFunctionOptions _options;
  NSArray<id<MTLBinaryArchive>> *_binaryArchives;
}
+ (MTLFunctionDescriptor *)functionDescriptor;
@property(nullable, copy, nonatomic) NSString *name;
@property(nullable, copy, nonatomic) NSString *specializedName;
@property(nullable, copy, nonatomic) MTLFunctionConstantValues *constantValues;
@property(nonatomic) MTLFunctionOptions options;
@property(readwrite, nullable, nonatomic, copy) NSArray<id<MTLBinaryArchive>> *binaryArchives API_AVAILABLE(macos(12.0));
@end

NS_ASSUME_NONNULL_END
