// GNUstep's GSVersionMacros.h includes this file as soon as the compiler has blocks; Debian ships none. The runtime is blocks.mm.
#include <Block.h>
