// Messages sent as compiled code for Apple's runtime sends them: arguments of every kind arrive, results of every kind come
// back, nil answers zero, exceptions pass. What does not hold is told on stderr.
#import <Foundation/Foundation.h>

#include <cstdio>
#include <cstring>
#include <objc/message.h>
#include <objc/runtime.h>
#include <pthread.h>
#include <string>

struct Big {
  double values[5];
  long tag;
};
struct Pair {
  long first, second;
};
struct Floats {
  double first, second;
};

extern "C" {
id objc_retain(id);
void objc_release(id);
id objc_autorelease(id);
id objc_retainAutoreleasedReturnValue(id);
void objc_storeStrong(id *, id);
void *objc_autoreleasePoolPush(void);
void objc_autoreleasePoolPop(void *);
id objc_alloc_init(Class);
}

static int living;

@interface Base : NSObject
@end
@implementation Base
- (instancetype)init {
  if ((self = [super init])) living++;
  return self;
}
- (void)dealloc {
  living--;
  [super dealloc];
}
- (double)sum:(int)a b:(long)b c:(char)c d:(short)d e:(float)e f:(double)f g:(int)g h:(int)h i:(int)i j:(double)j k:(float)k
            l:(double)l m:(double)m n:(double)n o:(double)o p:(double)p q:(double)q r:(double)r s:(Pair)s {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l + 13 * m + 14 * n +
         15 * o + 16 * p + 17 * q + 18 * r + 19 * s.first + 20 * s.second;
}
- (Big)big:(double)x tag:(long)tag a:(int)a b:(int)b c:(int)c d:(int)d {
  return {{x, x + 1, x + 2, x + 3, x + 4}, tag + a + b + c + d};
}
- (Pair)pair:(long)x {
  return {x, x + 1};
}
- (Floats)floats:(double)x {
  return {x, x + 0.5};
}
- (float)half:(float)x {
  return x / 2;
}
- (const char *)who {
  return "base";
}
- (Big)bigger {
  return {{1, 2, 3, 4, 5}, 6};
}
- (void)raise {
  [NSException raise:@"Planned" format:@"by raise"];
}
@end
@interface Derived : Base
@end
@implementation Derived
- (const char *)who {
  return "derived";
}
- (Big)bigger {
  return {{0, 0, 0, 0, 0}, 0};
}
@end
@interface Unready : NSObject
@end
@implementation Unready
+ (void)initialize {
  [NSException raise:@"Planned" format:@"by initialize"];
}
@end

static int failures;
static void check(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "does not hold: %s\n", what);
  failures++;
}
#define CHECK(condition) check(condition, #condition)

static void *leave_without_a_pool(void *) {
  objc_autorelease(objc_alloc_init([Base class]));
  return nullptr;
}

// Counts down when a frame is left.
struct Guard {
  int *count;
  ~Guard() { --*count; }
};

template <typename Result, typename... Arguments>
static Result send(void (*how)(void), Arguments... arguments) {
  return ((Result(*)(Arguments...))how)(arguments...);
}
static NSString *raised(void (^work)(void)) {
  @try {
    work();
  } @catch (NSException *exception) {
    return [exception reason];
  }
  return nil;
}
static void raise_behind_a_guard(id object, int *count) {
  Guard guard{count};
  send<void>(objc_msgSend, object, @selector(raise));
}

int main() {
  void *pool = objc_autoreleasePoolPush();
  id derived = objc_alloc_init([Derived class]);
  CHECK(object_getClass(derived) == [Derived class]);

  // Registers and stack.
  const double sum = send<double>(
      objc_msgSend, derived, @selector(sum:b:c:d:e:f:g:h:i:j:k:l:m:n:o:p:q:r:s:), 1, 2L, (char)3, (short)4, 5.0f, 6.0, 7, 8, 9,
      10.0, 11.0f, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, Pair{19, 20});
  double expected = 0;
  for (int i = 1; i <= 20; i++) expected += i * i;
  CHECK(sum == expected);
  // A variable number of arguments, doubles among them.
  NSString *text = ((id(*)(id, SEL, id, ...))objc_msgSend)([NSString class], @selector(stringWithFormat:), @"%d %.2f %s %.1f", 1,
                                                           2.25, "three", 4.5);
  CHECK([text isEqualToString:@"1 2.25 three 4.5"]);

  // Results.
  const Pair pair = send<Pair>(objc_msgSend, derived, @selector(pair:), 7L);
  CHECK(pair.first == 7 && pair.second == 8);
  const Floats floats = send<Floats>(objc_msgSend, derived, @selector(floats:), 1.5);
  CHECK(floats.first == 1.5 && floats.second == 2);
  CHECK(send<float>(objc_msgSend_fpret, derived, @selector(half:), 3.0f) == 1.5f);
#ifdef __x86_64__
  Big big;
  send<Big *>(objc_msgSend_stret, &big, derived, @selector(big:tag:a:b:c:d:), 2.0, 100L, 1, 2, 3, 4);
#else
  Big big = send<Big>(objc_msgSend, derived, @selector(big:tag:a:b:c:d:), 2.0, 100L, 1, 2, 3, 4);
#endif
  CHECK(big.values[0] == 2 && big.values[4] == 6 && big.tag == 110);

  // nil.
  id nothing = nil;
  CHECK(send<long>(objc_msgSend, nothing, @selector(pair:), 7L) == 0);
  const Pair no_pair = send<Pair>(objc_msgSend, nothing, @selector(pair:), 7L);
  CHECK(no_pair.first == 0 && no_pair.second == 0);
  const Floats no_floats = send<Floats>(objc_msgSend, nothing, @selector(floats:), 1.5);
  CHECK(no_floats.first == 0 && no_floats.second == 0);
  CHECK(send<float>(objc_msgSend_fpret, nothing, @selector(half:), 3.0f) == 0);
#ifdef __x86_64__
  Big untouched = {{1, 1, 1, 1, 1}, 1};
  CHECK(send<Big *>(objc_msgSend_stret, &untouched, nothing, @selector(bigger)) == &untouched && untouched.tag == 1);
#endif

  // The superclass's method.
  struct objc_super super = {};
  super.self = derived;
  super.super_class = [Base class];
  CHECK(strcmp(send<const char *>(objc_msgSend, derived, @selector(who)), "derived") == 0);
  CHECK(strcmp(send<const char *>(objc_msgSendSuper, &super, @selector(who)), "base") == 0);
#ifdef __x86_64__
  send<Big *>(objc_msgSendSuper_stret, &big, &super, @selector(bigger));
  CHECK(big.tag == 6 && big.values[4] == 5);
#endif
  super.self = nil;
  CHECK(send<const char *>(objc_msgSendSuper, &super, @selector(who)) == nullptr);

  // Exceptions: out of a method, of no method at all.
  int guards = 1;
  int *count = &guards;
  CHECK([raised(^{ raise_behind_a_guard(derived, count); }) isEqualToString:@"by raise"]);
  CHECK(guards == 0);
  CHECK([raised(^{ send<id>(objc_msgSend, derived, sel_registerName("noSuchMethod:"), 1); }) rangeOfString:@"noSuchMethod:"].location !=
        NSNotFound);

  // Counting.
  CHECK(living == 1);
  id place = nil;
  objc_storeStrong(&place, derived);
  objc_storeStrong(&place, place);
  CHECK([derived retainCount] == 2);
  objc_storeStrong(&place, nil);
  objc_autorelease(objc_retain(derived));
  CHECK(objc_retain(nil) == nil && objc_retainAutoreleasedReturnValue(nil) == nil);
  void *inner = objc_autoreleasePoolPush();
  objc_autorelease(objc_alloc_init([Base class]));
  CHECK(living == 2);
  objc_autoreleasePoolPop(inner);
  CHECK(living == 1);

  // A thread without a pool has one for its time; nothing is written to stderr.
  pthread_t thread;
  pthread_create(&thread, nullptr, leave_without_a_pool, nullptr);
  pthread_join(thread, nullptr);
  CHECK(living == 1);

  // Strings that clang lays out for CoreFoundation.
  NSString *ascii = (NSString *)__builtin___CFStringMakeConstantString("plain text");
  NSString *wide = (NSString *)__builtin___CFStringMakeConstantString("\xc3\xa4\xe2\x82\xac");
  CHECK([ascii isEqualToString:@"plain text"] && strcmp([ascii UTF8String], "plain text") == 0);
  CHECK([wide length] == 2 && [wide isEqualToString:[NSString stringWithUTF8String:"\xc3\xa4\xe2\x82\xac"]]);
  CHECK([[NSSet setWithObject:@"plain text"] containsObject:ascii]);
  CHECK([[ascii copy] retain] == ascii && raised(^{ [ascii characterAtIndex:10]; }) != nil);

  objc_release(derived);
  objc_autoreleasePoolPop(pool);
  CHECK(living == 0);
  // Out of a lookup. It is the last: GCC's runtime keeps its lock when +initialize raises, so no other thread may follow.
  CHECK([raised(^{ send<id>(objc_msgSend, (id)objc_lookUpClass("Unready"), @selector(class)); }) isEqualToString:@"by initialize"]);
  if (failures == 0) printf("messages arrive\n");
  return failures == 0 ? 0 : 1;
}
