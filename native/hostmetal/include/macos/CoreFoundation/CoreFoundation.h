// The name of CoreFoundation that metal-cpp's declarations use. There is no CoreFoundation here.
#ifndef HOSTMETAL_CORE_FOUNDATION_H
#define HOSTMETAL_CORE_FOUNDATION_H
#include <math.h>  // as Apple's does

typedef double CFTimeInterval;
#endif
