// The Blocks runtime's public interface (https://clang.llvm.org/docs/Block-ABI-Apple.html), implemented by blocks.mm.
#ifndef HOSTMETAL_BLOCK_H
#define HOSTMETAL_BLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

// libMetal.so exports them: GNUstep has functions of these names too, which know nothing of our blocks' classes.
#pragma GCC visibility push(default)
void *_Block_copy(const void *block);
void _Block_release(const void *block);
// Called by compiler-generated code only.
void _Block_object_assign(void *destination, const void *object, const int flags);
void _Block_object_dispose(const void *object, const int flags);
extern void *_NSConcreteGlobalBlock[];
extern void *_NSConcreteStackBlock[];
#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#define Block_copy(...) ((__typeof(__VA_ARGS__))_Block_copy((const void *)(__VA_ARGS__)))
#define Block_release(...) _Block_release((const void *)(__VA_ARGS__))

#endif
