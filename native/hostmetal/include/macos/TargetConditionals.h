// What system this is, in the names of Apple's header, for metal-cpp and for programs that ask: these headers declare the API of macOS.
#ifndef HOSTMETAL_TARGET_CONDITIONALS_H
#define HOSTMETAL_TARGET_CONDITIONALS_H
#define TARGET_OS_LINUX 1
#define TARGET_OS_MAC 1
#define TARGET_OS_OSX 1
#define TARGET_OS_IPHONE 0
#define TARGET_OS_IOS 0
#define TARGET_OS_MACCATALYST 0
#define TARGET_OS_TV 0
#define TARGET_OS_WATCH 0
#define TARGET_OS_VISION 0
#define TARGET_OS_SIMULATOR 0
#endif
