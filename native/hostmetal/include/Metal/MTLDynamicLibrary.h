// Functions that other libraries call. https://developer.apple.com/documentation/metal/mtldynamiclibrary
#pragma once
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;

MTL_EXTERN NSErrorDomain const MTLDynamicLibraryDomain API_AVAILABLE(macos(11.0));

typedef NS_ENUM(NSUInteger, MTLDynamicLibraryError) {
  MTLDynamicLibraryErrorNone = 0,
  MTLDynamicLibraryErrorInvalidFile = 1,
  MTLDynamicLibraryErrorCompilationFailure = 2,
  MTLDynamicLibraryErrorUnresolvedInstallName = 3,
  MTLDynamicLibraryErrorDependencyLoadFailure = 4,
  MTLDynamicLibraryErrorUnsupported = 5,
} API_AVAILABLE(macos(11.0));

// A file of it is hostmetal's own and holds source. Reading it loads the libraries that it was compiled with, by their install names.
API_AVAILABLE(macos(11.0))
@protocol MTLDynamicLibrary <NSObject>
@property(nullable, copy, atomic) NSString *label;
@property(readonly) id<MTLDevice> device;
@property(readonly) NSString *installName;
- (BOOL)serializeToURL:(NSURL *)url error:(__autoreleasing NSError **)error;
@end

NS_ASSUME_NONNULL_END
