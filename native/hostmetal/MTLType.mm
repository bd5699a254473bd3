// MTLType and what it is made of: reflection of the structures in a kernel's buffers.
#import "faces.h"

@interface MTLType (Engine)
- (instancetype)initWithDataType:(MTLDataType)dataType;
// The type at *position of the engine's tree, which it moves behind it; autoreleased.
+ (MTLType *)typeOf:(HMArguments)arguments at:(size_t *)position;
@end

@interface MTLStructMember (Engine)
- (instancetype)initWithInfo:(const HMType *)info type:(MTLType *)type;
@end

@interface MTLStructType (Engine)
- (instancetype)initWithMembers:(NSArray *)members;
@end

@interface MTLArrayType (Engine)
- (instancetype)initWithInfo:(const HMType *)info element:(MTLType *)element stride:(NSUInteger)stride;
@end

@interface MTLPointerType (Engine)
- (instancetype)initWithElement:(MTLType *)element info:(const HMType *)info access:(uint32_t)access;
@end

@interface MTLTextureReferenceType (Engine)
- (instancetype)initWithInfo:(const HMType *)info;
@end

namespace {
// Itself when it is of the class, else nil.
id as(Class wanted, MTLType *type) {
  return [type isKindOfClass:wanted] ? type : nil;
}
}  // namespace

@implementation MTLType
@synthesize dataType = _dataType;
@end

@implementation MTLStructMember
@synthesize name = _name, offset = _offset, argumentIndex = _argumentIndex;
- (MTLDataType)dataType {
  return [_type dataType];
}
- (MTLStructType *)structType {
  return as([MTLStructType class], _type);
}
- (MTLArrayType *)arrayType {
  return as([MTLArrayType class], _type);
}
- (MTLTextureReferenceType *)textureReferenceType {
  return as([MTLTextureReferenceType class], _type);
}
- (MTLPointerType *)pointerType {
  return as([MTLPointerType class], _type);
}
- (void)dealloc {
  [_name release];
  [_type release];
  [super dealloc];
}
@end

@implementation MTLStructMember (Engine)
- (instancetype)initWithInfo:(const HMType *)info type:(MTLType *)type {
  if ((self = [super init])) {
    _name = [[NSString alloc] initWithUTF8String:info->name];
    _offset = info->offset;
    _argumentIndex = info->argument_index;
    _type = [type retain];
  }
  return self;
}
@end

@implementation MTLStructType
@synthesize members = _members;
- (MTLStructMember *)memberByName:(NSString *)name {
  for (MTLStructMember *member in _members)
    if ([[member name] isEqualToString:name]) return member;
  return nil;
}
- (void)dealloc {
  [_members release];
  [super dealloc];
}
@end

@implementation MTLStructType (Engine)
- (instancetype)initWithMembers:(NSArray *)members {
  if ((self = [super initWithDataType:MTLDataTypeStruct])) _members = [members copy];
  return self;
}
@end

@implementation MTLArrayType
@synthesize arrayLength = _arrayLength, stride = _stride, argumentIndexStride = _argumentIndexStride;
- (MTLDataType)elementType {
  return [_element dataType];
}
- (MTLStructType *)elementStructType {
  return as([MTLStructType class], _element);
}
- (MTLArrayType *)elementArrayType {
  return as([MTLArrayType class], _element);
}
- (MTLTextureReferenceType *)elementTextureReferenceType {
  return as([MTLTextureReferenceType class], _element);
}
- (MTLPointerType *)elementPointerType {
  return as([MTLPointerType class], _element);
}
- (void)dealloc {
  [_element release];
  [super dealloc];
}
@end

@implementation MTLArrayType (Engine)
- (instancetype)initWithInfo:(const HMType *)info element:(MTLType *)element stride:(NSUInteger)argumentIndexStride {
  if ((self = [super initWithDataType:MTLDataTypeArray])) {
    _arrayLength = info->count;
    _stride = info->count ? info->size / info->count : 0;
    _argumentIndexStride = argumentIndexStride;
    _element = [element retain];
  }
  return self;
}
@end

@implementation MTLPointerType
@synthesize access = _access, alignment = _alignment, dataSize = _dataSize,
            elementIsArgumentBuffer = _elementIsArgumentBuffer;
- (MTLDataType)elementType {
  return [_element dataType];
}
- (MTLStructType *)elementStructType {
  return as([MTLStructType class], _element);
}
- (MTLArrayType *)elementArrayType {
  return as([MTLArrayType class], _element);
}
- (void)dealloc {
  [_element release];
  [super dealloc];
}
@end

@implementation MTLPointerType (Engine)
- (instancetype)initWithElement:(MTLType *)element info:(const HMType *)info access:(uint32_t)access {
  if ((self = [super initWithDataType:MTLDataTypePointer])) {
    _access = (MTLBindingAccess)access;
    _alignment = info->alignment;
    _dataSize = info->size;
    _elementIsArgumentBuffer = info->resources;
    _element = [element retain];
  }
  return self;
}
@end

@implementation MTLTextureReferenceType
@synthesize textureDataType = _textureDataType, textureType = _textureType, access = _access,
            isDepthTexture = _isDepthTexture;
@end

@implementation MTLTextureReferenceType (Engine)
- (instancetype)initWithInfo:(const HMType *)info {
  if ((self = [super initWithDataType:MTLDataTypeTexture])) {
    _textureDataType = (MTLDataType)info->texture_data_type;
    _textureType = (MTLTextureType)info->texture_type;
    _access = (MTLBindingAccess)info->access;
    _isDepthTexture = info->count != 0;
  }
  return self;
}
@end

@implementation MTLType (Engine)
- (instancetype)initWithDataType:(MTLDataType)dataType {
  if ((self = [super init])) _dataType = dataType;
  return self;
}
+ (MTLType *)typeOf:(HMArguments)arguments at:(size_t *)position {
  HMType info;
  if (!hm_arguments_type(arguments, *position, &info)) return nil;
  const size_t end = *position + 1 + info.descendants;
  *position += 1;
  switch (info.data_type) {
    case MTLDataTypeStruct: {
      NSMutableArray *members = [NSMutableArray array];
      while (*position < end) {
        HMType member;
        if (!hm_arguments_type(arguments, *position, &member)) break;
        MTLType *type = [MTLType typeOf:arguments at:position];
        [members addObject:[[[MTLStructMember alloc] initWithInfo:&member type:type] autorelease]];
      }
      return [[[MTLStructType alloc] initWithMembers:members] autorelease];
    }
    case MTLDataTypeArray:
    case MTLDataTypePointer: {
      HMType below = {};
      hm_arguments_type(arguments, *position, &below);
      MTLType *element = [MTLType typeOf:arguments at:position];
      if (info.data_type == MTLDataTypeArray)
        return [[[MTLArrayType alloc] initWithInfo:&info element:element stride:below.argument_count] autorelease];
      return [[[MTLPointerType alloc] initWithElement:element info:&below access:info.access] autorelease];
    }
    case MTLDataTypeTexture:
      return [[[MTLTextureReferenceType alloc] initWithInfo:&info] autorelease];
    default:
      return [[[MTLType alloc] initWithDataType:(MTLDataType)info.data_type] autorelease];
  }
}
@end

MTLStructType *hostmetal_struct_type(HMArguments arguments) {
  size_t position = 0;
  return as([MTLStructType class], [MTLType typeOf:arguments at:&position]);
}

MTLPointerType *hostmetal_pointer_type(HMArguments arguments, const HMBinding *binding) {
  if (!binding->pointer) return nil;
  size_t position = 0;
  HMType info;
  if (!hm_arguments_type(arguments, 0, &info)) return nil;
  MTLType *element = [MTLType typeOf:arguments at:&position];
  return [[[MTLPointerType alloc] initWithElement:element info:&info access:binding->access] autorelease];
}
