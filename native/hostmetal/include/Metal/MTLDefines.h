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

#ifdef __APPLE__
#include <mach/mach.h>
#else
typedef double CFTimeInterval;
typedef NSString *NSErrorUserInfoKey;

// There is no Mach; these are names of its headers (include/macos/mach/mach.h).
#ifndef HOSTMETAL_MACH_H
#define HOSTMETAL_MACH_H
typedef int kern_return_t;
typedef unsigned int task_id_token_t;
#endif
#ifndef KERN_SUCCESS
#define KERN_SUCCESS 0
#define KERN_NOT_SUPPORTED 46
#endif

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
