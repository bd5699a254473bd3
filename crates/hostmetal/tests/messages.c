// Sends messages through objc_msgSend and its siblings, which are linked with it, with a runtime of its own: a selector is its method, and
// looking it up overwrites every register that a function may. Prints what is wrong; succeeds when nothing is.
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>

typedef struct object {
  int number;
} *id;
typedef const struct selector {
  void *method;
} *SEL;
struct objc_super {
  id receiver;
  void *class;
};

// Functions of any type: as addresses, which compilers let one cast.
extern const char objc_msgSend[], objc_msgSend_fpret[], objc_msgSendSuper[];
#ifdef __x86_64__
// Structures in memory have their place in an argument there.
extern const char objc_msgSend_stret[], objc_msgSendSuper_stret[];
#else
#define objc_msgSend_stret objc_msgSend
#define objc_msgSendSuper_stret objc_msgSendSuper
#endif

static int wrong;
#define CHECK(condition)                                 \
  do {                                                   \
    if (!(condition)) {                                  \
      printf("line %d: %s\n", __LINE__, #condition);     \
      wrong = 1;                                         \
    }                                                    \
  } while (0)

// ---------------------------------------------------------------- the runtime

static int lookups;
static id looked_at;
// The function that sends the message, which must be found on the stack.
static void *sender;

static _Unwind_Reason_Code find_sender(struct _Unwind_Context *frame, void *found) {
  void *address = (void *)(_Unwind_GetIP(frame) - 1);
  *(int *)found |= _Unwind_FindEnclosingFunction(address) == sender;
  return _URC_NO_REASON;
}

static void overwrite(void) {
#ifdef __x86_64__
  __asm__ volatile("movq $-1, %%rax\n movq %%rax, %%rcx\n movq %%rax, %%rdx\n movq %%rax, %%rsi\n movq %%rax, %%rdi\n movq %%rax, %%r8\n"
                   "movq %%rax, %%r9\n movq %%rax, %%r10\n movq %%rax, %%r11\n"
                   "pcmpeqd %%xmm0, %%xmm0\n pcmpeqd %%xmm1, %%xmm1\n pcmpeqd %%xmm2, %%xmm2\n pcmpeqd %%xmm3, %%xmm3\n"
                   "pcmpeqd %%xmm4, %%xmm4\n pcmpeqd %%xmm5, %%xmm5\n pcmpeqd %%xmm6, %%xmm6\n pcmpeqd %%xmm7, %%xmm7\n"
                   "pcmpeqd %%xmm8, %%xmm8\n pcmpeqd %%xmm15, %%xmm15" ::
                       : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
                         "xmm6", "xmm7", "xmm8", "xmm15", "cc", "memory");
#else
  __asm__ volatile("mov x0, #-1\n mov x1, x0\n mov x2, x0\n mov x3, x0\n mov x4, x0\n mov x5, x0\n mov x6, x0\n mov x7, x0\n mov x8, x0\n"
                   "mov x9, x0\n mov x10, x0\n mov x11, x0\n mov x12, x0\n mov x13, x0\n mov x14, x0\n mov x15, x0\n mov x16, x0\n mov x17, x0\n"
                   "movi v0.16b, #255\n movi v1.16b, #255\n movi v2.16b, #255\n movi v3.16b, #255\n movi v4.16b, #255\n"
                   "movi v5.16b, #255\n movi v6.16b, #255\n movi v7.16b, #255\n movi v16.16b, #255\n movi v31.16b, #255" ::
                       : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17",
                         "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v31", "cc", "memory");
#endif
}

static void *look_up(id receiver, SEL selector, void *frame) {
  lookups++;
  looked_at = receiver;
  CHECK((uintptr_t)frame % 16 == 0);
  int found = 0;
  _Unwind_Backtrace(find_sender, &found);
  CHECK(found);
  void *volatile method = selector->method;
  overwrite();
  return method;
}

void *objc_msg_lookup(id receiver, SEL selector) { return look_up(receiver, selector, __builtin_frame_address(0)); }
void *objc_msg_lookup_super(struct objc_super *super, SEL selector) { return look_up(super->receiver, selector, __builtin_frame_address(0)); }

// ---------------------------------------------------------------- the methods

static id self_of_method;
static SEL selector_of_method;
static void enter(id self, SEL selector) {
  self_of_method = self;
  selector_of_method = selector;
}

typedef float vector __attribute__((vector_size(16)));
struct pair {
  long a, b;
};
struct four {
  double a, b, c, d;
};
struct large {
  long v[9];
};

static long integers(id self, SEL _cmd, long a, int b, short c, long d, long e, char f, long g, int h, long i, long j) {
  enter(self, _cmd);
  return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + i * 9 + j * 10;
}
static double doubles(id self, SEL _cmd, double a, float b, double c, double d, double e, double f, double g, double h, double i, float j) {
  enter(self, _cmd);
  return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + i * 9 + j * 10;
}
static float single(id self, SEL _cmd, float a, int b) {
  enter(self, _cmd);
  return a * (float)b;
}
static struct pair structures(id self, SEL _cmd, struct pair p, struct four f, struct large l) {
  enter(self, _cmd);
  return (struct pair){p.a + p.b * 2 + l.v[0] + l.v[8] * 2, (long)(f.a + f.b * 2 + f.c * 3 + f.d * 4)};
}
static struct four reversed(id self, SEL _cmd, struct four f) {
  enter(self, _cmd);
  return (struct four){f.d, f.c, f.b, f.a};
}
// Every register that carries an argument or the place of a result, all of them whole, and the stack.
static struct large every(id self, SEL _cmd, long a, long b, long c, long d, long e, long f, vector g, vector h, vector i, vector j, vector k,
                          vector l, vector m, vector n, long o, vector p) {
  enter(self, _cmd);
  vector vectors[9] = {g, h, i, j, k, l, m, n, p};
  struct large result = {{a, b, c, d, e, f, o, 0, 0}};
  for (int at = 0; at < 36; at++)
    result.v[7] += (long)((float *)vectors)[at] * (at + 1);
  result.v[8] = self->number;
  return result;
}
static double variadic(id self, SEL _cmd, const char *kinds, ...) {
  enter(self, _cmd);
  va_list list;
  va_start(list, kinds);
  double sum = 0;
  for (int at = 1; *kinds; kinds++, at++)
    sum += at * (*kinds == 'i' ? va_arg(list, int) : *kinds == 'l' ? (double)va_arg(list, long) : va_arg(list, double));
  va_end(list);
  return sum;
}

#define SELECTOR(name) static const struct selector name##_ = {name}
SELECTOR(integers);
SELECTOR(doubles);
SELECTOR(single);
SELECTOR(structures);
SELECTOR(reversed);
SELECTOR(every);
SELECTOR(variadic);

// ---------------------------------------------------------------- the messages

static struct object object = {77}, other = {78};

// The message before was sent to `receiver` and looked up once, or by nobody where that is nil.
static void arrived(id receiver, SEL selector) {
  CHECK(lookups == (receiver ? 1 : 0));
  CHECK(looked_at == receiver && self_of_method == receiver && selector_of_method == (receiver ? selector : 0));
  lookups = 0;
  looked_at = self_of_method = 0;
  selector_of_method = 0;
}

static const struct pair p = {11, 12};
static const struct four f = {1.5, 2.5, 3.5, 4.5};
static const struct large l = {{31, 0, 0, 0, 0, 0, 0, 0, 39}};

#define SEND(function, ...) ((__typeof__(&function))objc_msgSend)(__VA_ARGS__)
#define INTEGERS 1, 2, -3, 4, 5, 'f', 7, -8, 9, 10
#define DOUBLES 1.5, 2.5f, -3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5f
#define VECTOR(x) \
  (vector) { x, x + 1, x + 2, x + 3 }
#define EVERY -1, -2, -3, -4, -5, -6, VECTOR(0), VECTOR(4), VECTOR(8), VECTOR(12), VECTOR(16), VECTOR(20), VECTOR(24), VECTOR(28), -7, VECTOR(32)

__attribute__((noinline)) static void to_object(id receiver) {
  sender = to_object;
  CHECK(SEND(integers, receiver, &integers_, INTEGERS) == 1 + 4 - 9 + 16 + 25 + 6 * 'f' + 49 - 64 + 81 + 100);
  arrived(receiver, &integers_);
  CHECK(SEND(doubles, receiver, &doubles_, DOUBLES) == 1.5 + 5 - 10.5 + 18 + 27.5 + 39 + 52.5 + 68 + 85.5 + 105);
  arrived(receiver, &doubles_);
  CHECK(((double (*)(id, SEL, double, float, double, double, double, double, double, double, double, float))objc_msgSend_fpret)(
            receiver, &doubles_, DOUBLES) == 391.5);
  arrived(receiver, &doubles_);
  CHECK(SEND(single, receiver, &single_, 1.25f, -3) == -3.75f);
  arrived(receiver, &single_);
  struct pair pair = SEND(structures, receiver, &structures_, p, f, l);
  CHECK(pair.a == 11 + 24 + 31 + 78 && pair.b == 35);
  arrived(receiver, &structures_);
#ifdef __x86_64__
  struct four four = ((__typeof__(&reversed))objc_msgSend_stret)(receiver, &reversed_, f);
#else
  struct four four = SEND(reversed, receiver, &reversed_, f);
#endif
  CHECK(four.a == 4.5 && four.b == 3.5 && four.c == 2.5 && four.d == 1.5);
  arrived(receiver, &reversed_);
  struct large large = ((__typeof__(&every))objc_msgSend_stret)(receiver, &every_, EVERY);
  for (int at = 0; at < 7; at++)
    CHECK(large.v[at] == -1 - at);
  // The sum of x (x + 1) for x below 36.
  CHECK(large.v[7] == 35 * 36 * 37 / 3 && large.v[8] == receiver->number);
  arrived(receiver, &every_);
  CHECK(SEND(variadic, receiver, &variadic_, "iddlidddddddiiiii", 1, 2.5, 3.5, 1L << 40, 5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5, 13, 14, 15, 16, 17) ==
        1 + 5 + 10.5 + 4.0 * (1L << 40) + 25 + 39 + 52.5 + 68 + 85.5 + 105 + 126.5 + 150 + 169 + 196 + 225 + 256 + 289);
  arrived(receiver, &variadic_);
}

__attribute__((noinline)) static void to_super(id receiver) {
  sender = to_super;
  struct objc_super super = {receiver, 0};
  CHECK(((long (*)(struct objc_super *, SEL, long, int, short, long, long, char, long, int, long, long))objc_msgSendSuper)(
            &super, &integers_, INTEGERS) == 203 + 6 * 'f');
  arrived(receiver, &integers_);
  struct large large = ((struct large(*)(struct objc_super *, SEL, long, long, long, long, long, long, vector, vector, vector, vector, vector,
                                         vector, vector, vector, long, vector))objc_msgSendSuper_stret)(&super, &every_, EVERY);
  CHECK(large.v[0] == -1 && large.v[6] == -7 && large.v[7] == 35 * 36 * 37 / 3 && large.v[8] == receiver->number);
  arrived(receiver, &every_);
  CHECK(super.receiver == receiver);
}

// Nil answers zero in every register of a result, whatever the arguments were.
__attribute__((noinline)) static void to_nil(void) {
  struct objc_super super = {0, 0};
  CHECK(SEND(integers, 0, &integers_, INTEGERS) == 0);
  CHECK(SEND(doubles, 0, &doubles_, DOUBLES) == 0);
  CHECK(((double (*)(id, SEL, double))objc_msgSend_fpret)(0, &doubles_, 1.5) == 0);
  CHECK(SEND(single, 0, &single_, 1.25f, -3) == 0);
  struct pair pair = SEND(structures, 0, &structures_, p, f, l);
  CHECK(pair.a == 0 && pair.b == 0);
  pair = ((struct pair(*)(struct objc_super *, SEL, long, long))objc_msgSendSuper)(&super, &structures_, 3, 4);
  CHECK(pair.a == 0 && pair.b == 0);
#ifndef __x86_64__
  struct four four = SEND(reversed, 0, &reversed_, f);
  CHECK(four.a == 0 && four.b == 0 && four.c == 0 && four.d == 0);
  four = ((struct four(*)(struct objc_super *, SEL, struct four))objc_msgSendSuper)(&super, &reversed_, f);
  CHECK(four.a == 0 && four.b == 0 && four.c == 0 && four.d == 0);
#endif
  // Nothing is written to the place of a structure.
  ((__typeof__(&every))objc_msgSend_stret)(0, &every_, EVERY);
  ((struct large(*)(struct objc_super *, SEL, long))objc_msgSendSuper_stret)(&super, &every_, 1);
  arrived(0, 0);
}

int main(void) {
  to_object(&object);
  to_super(&other);
  to_nil();
  if (!wrong)
    puts("every message arrived");
  return wrong;
}
