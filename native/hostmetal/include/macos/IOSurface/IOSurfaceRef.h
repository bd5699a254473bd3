// The name of IOSurface that metal-cpp's declarations use. There is no IOSurface here.
#ifndef HOSTMETAL_IOSURFACE_REF_H
#define HOSTMETAL_IOSURFACE_REF_H
typedef struct __IOSurface *IOSurfaceRef;
#endif
