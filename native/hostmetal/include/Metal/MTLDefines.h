// What Apple's Foundation, CoreFoundation and availability headers give Metal's headers and GNUstep does not.
#pragma once
#import <Foundation/Foundation.h>

#ifdef __cplusplus
#define MTL_EXTERN extern "C" __attribute__((visibility("default")))
#else
#define MTL_EXTERN extern __attribute__((visibility("default")))
#endif
#define MTL_EXPORT __attribute__((visibility("default")))
#define MTL_INLINE static inline __attribute__((always_inline))

#ifndef __APPLE__
typedef double CFTimeInterval;
typedef NSString *NSErrorUserInfoKey;

#ifndef API_AVAILABLE
#define API_AVAILABLE(...)
#define API_UNAVAILABLE(...)
#define API_DEPRECATED(...)
#define API_DEPRECATED_WITH_REPLACEMENT(...)
#endif
#ifndef NS_RETURNS_INNER_POINTER
#define NS_RETURNS_INNER_POINTER __attribute__((objc_returns_inner_pointer))
#endif
#ifndef NS_NOESCAPE
#define NS_NOESCAPE __attribute__((noescape))
#endif
#ifndef NS_SWIFT_NAME
#define NS_SWIFT_NAME(_name)
#endif
#endif
