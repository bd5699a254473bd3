// MTLFunctionConstantValues: a copy of every given value, by index or by name.
#import "faces.h"

#include <cstring>

namespace {
struct Value {
  uint32_t type;
  alignas(16) unsigned char bytes[32];  // the largest is long4; what the value does not fill is 0
};

// Bytes of one value of a type that a function constant can have, without a third component's padding; 0 for other types.
// Scalars and vectors only (Metal Shading Language Specification, "Function Constants").
size_t sizeOf(MTLDataType type) {
  struct Range {
    MTLDataType first;
    size_t scalar;
  };
  static const Range ranges[] = {{MTLDataTypeFloat, 4}, {MTLDataTypeHalf, 2},  {MTLDataTypeInt, 4},    {MTLDataTypeUInt, 4},
                                 {MTLDataTypeShort, 2}, {MTLDataTypeUShort, 2}, {MTLDataTypeChar, 1},   {MTLDataTypeUChar, 1},
                                 {MTLDataTypeBool, 1},  {MTLDataTypeLong, 8},  {MTLDataTypeULong, 8},  {MTLDataTypeBFloat, 2}};
  for (const Range &range : ranges)
    if (type >= range.first && type < range.first + 4) return range.scalar * (type - range.first + 1);
  return 0;
}

// Bytes from one value to the next in an array: a vector of three takes the room of four.
size_t strideOf(MTLDataType type) {
  size_t stride = 1;
  while (stride < sizeOf(type)) stride *= 2;
  return stride;
}
}  // namespace

@implementation MTLFunctionConstantValues

- (instancetype)init {
  if ((self = [super init])) _values = [[NSMutableDictionary alloc] init];
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  MTLFunctionConstantValues *copy = [[[self class] allocWithZone:zone] init];
  [copy->_values setDictionary:_values];
  return copy;
}

- (void)setValue:(const void *)bytes type:(MTLDataType)type key:(id)key selector:(SEL)selector {
  const size_t size = sizeOf(type);
  if (!bytes) hostmetal_raise(self, selector, "the value must not be NULL");
  if (size == 0) hostmetal_raise(self, selector, "the type is not one of a function constant");
  Value value = {};
  value.type = (uint32_t)type;
  memcpy(value.bytes, bytes, size);
  [_values setObject:[NSData dataWithBytes:&value length:sizeof value] forKey:key];
}

- (void)setConstantValue:(const void *)value type:(MTLDataType)type atIndex:(NSUInteger)index {
  HM_REQUIRE(index <= UINT16_MAX, "a function constant's index must be below 65536");
  [self setValue:value type:type key:[NSNumber numberWithUnsignedInteger:index] selector:_cmd];
}

- (void)setConstantValues:(const void *)values type:(MTLDataType)type withRange:(NSRange)range {
  HM_REQUIRE(values != nullptr, "the values must not be NULL");
  HM_REQUIRE(range.location <= UINT16_MAX && range.length <= UINT16_MAX + 1 - range.location,
             "a function constant's index must be below 65536");
  for (NSUInteger i = 0; i < range.length; i++)
    [self setValue:(const char *)values + i * strideOf(type)
              type:type
               key:[NSNumber numberWithUnsignedInteger:range.location + i]
          selector:_cmd];
}

- (void)setConstantValue:(const void *)value type:(MTLDataType)type withName:(NSString *)name {
  HM_REQUIRE(name != nil, "the name must not be nil");
  [self setValue:value type:type key:[[name copy] autorelease] selector:_cmd];
}

- (void)reset {
  [_values removeAllObjects];
}

- (void)dealloc {
  [_values release];
  [super dealloc];
}
@end

@implementation MTLFunctionConstantValues (Engine)
- (void)withEngineValues:(void (^)(const HMConstantValue *, size_t))body {
  NSMutableData *values = [NSMutableData dataWithCapacity:[_values count] * sizeof(HMConstantValue)];
  for (id key in _values) {
    const Value *value = (const Value *)[(NSData *)[_values objectForKey:key] bytes];
    HMConstantValue given = {};
    if ([key isKindOfClass:[NSString class]])
      given.name = [(NSString *)key UTF8String];
    else
      given.index = (uint32_t)[(NSNumber *)key unsignedIntegerValue];
    given.data_type = value->type;
    given.value = value->bytes;
    [values appendBytes:&given length:sizeof given];
  }
  body((const HMConstantValue *)[values bytes], [values length] / sizeof(HMConstantValue));
}
@end
