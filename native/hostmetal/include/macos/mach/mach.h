// The names of Mach that metal-cpp's declarations use. There is no Mach here.
#ifndef HOSTMETAL_MACH_H
#define HOSTMETAL_MACH_H
typedef int kern_return_t;
typedef unsigned int task_id_token_t;
#endif
