// GCC's header with the functions that clients of Apple's runtime send messages with. Cast them to the method's type first.
#ifndef HOSTMETAL_OBJC_MESSAGE_H
#define HOSTMETAL_OBJC_MESSAGE_H

#include_next <objc/message.h>

#ifdef __cplusplus
extern "C" {
#endif
void objc_msgSend(void);
void objc_msgSend_fpret(void);       // for float and double
void objc_msgSendSuper(void);        // its first argument is a struct objc_super *
#ifdef __x86_64__
void objc_msgSend_stret(void);       // for structures of more than 16 bytes; the first argument is their place
void objc_msgSendSuper_stret(void);
#endif
#ifdef __cplusplus
}
#endif
#endif
