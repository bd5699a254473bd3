#include "missing.h"
__kernel void k(__global int* a) {
    a[0] = 1;
}
