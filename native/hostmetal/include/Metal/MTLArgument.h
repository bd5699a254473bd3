// Reflection of a kernel's arguments. https://developer.apple.com/documentation/metal/mtlbinding
#pragma once
#import <Metal/MTLDataType.h>
#import <Metal/MTLTexture.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_ENUM(NSInteger, MTLBindingType) {
  MTLBindingTypeBuffer = 0,
  MTLBindingTypeThreadgroupMemory = 1,
  MTLBindingTypeTexture = 2,
  MTLBindingTypeSampler = 3,
  MTLBindingTypeImageblockData = 16,
  MTLBindingTypeImageblock = 17,
  MTLBindingTypeVisibleFunctionTable = 24,
} API_AVAILABLE(macos(13.0));

typedef NS_ENUM(NSUInteger, MTLBindingAccess) {
  MTLBindingAccessReadOnly = 0,
  MTLBindingAccessReadWrite = 1,
  MTLBindingAccessWriteOnly = 2,
  MTLArgumentAccessReadOnly API_DEPRECATED_WITH_REPLACEMENT("MTLBindingAccessReadOnly", macos(10.11, 13.0)) = MTLBindingAccessReadOnly,
  MTLArgumentAccessReadWrite API_DEPRECATED_WITH_REPLACEMENT("MTLBindingAccessReadWrite", macos(10.11, 13.0)) = MTLBindingAccessReadWrite,
  MTLArgumentAccessWriteOnly API_DEPRECATED_WITH_REPLACEMENT("MTLBindingAccessWriteOnly", macos(10.11, 13.0)) = MTLBindingAccessWriteOnly,
} API_AVAILABLE(macos(10.11));
// Its name before macOS 13.
typedef MTLBindingAccess MTLArgumentAccess;

// What MTLBindingType was before macOS 13.
typedef NS_ENUM(NSUInteger, MTLArgumentType) {
  MTLArgumentTypeBuffer = 0,
  MTLArgumentTypeThreadgroupMemory = 1,
  MTLArgumentTypeTexture = 2,
  MTLArgumentTypeSampler = 3,
  MTLArgumentTypeImageblockData API_AVAILABLE(macos(11.0)) = 16,
  MTLArgumentTypeImageblock API_AVAILABLE(macos(11.0)) = 17,
  MTLArgumentTypeVisibleFunctionTable = 24,
} API_DEPRECATED_WITH_REPLACEMENT("MTLBindingType", macos(10.11, 13.0));

@protocol MTLBinding;
@class MTLStructType, MTLArrayType, MTLPointerType, MTLTextureReferenceType;

MTL_EXPORT API_AVAILABLE(macos(10.13))
@interface MTLType : NSObject {
  MTLDataType _dataType;
}
@property(readonly) MTLDataType dataType;
@end

MTL_EXPORT API_AVAILABLE(macos(10.11))
@interface MTLStructMember : NSObject {
  NSString *_name;
  NSUInteger _offset, _argumentIndex;
  MTLType *_type;
}
@property(readonly) NSString *name;
@property(readonly) NSUInteger offset;
@property(readonly) MTLDataType dataType;
- (nullable MTLStructType *)structType;
- (nullable MTLArrayType *)arrayType;
- (nullable MTLTextureReferenceType *)textureReferenceType API_AVAILABLE(macos(10.13));
- (nullable MTLPointerType *)pointerType API_AVAILABLE(macos(10.13));
@property(readonly) NSUInteger argumentIndex API_AVAILABLE(macos(10.13));
@end

MTL_EXPORT API_AVAILABLE(macos(10.11))
@interface MTLStructType : MTLType {
  NSArray<MTLStructMember *> *_members;
}
@property(readonly) NSArray<MTLStructMember *> *members;
- (nullable MTLStructMember *)memberByName:(NSString *)name;
@end

MTL_EXPORT API_AVAILABLE(macos(10.11))
@interface MTLArrayType : MTLType {
  NSUInteger _arrayLength, _stride, _argumentIndexStride;
  MTLType *_element;
}
@property(readonly) MTLDataType elementType;
@property(readonly) NSUInteger arrayLength;
@property(readonly) NSUInteger stride;
@property(readonly) NSUInteger argumentIndexStride API_AVAILABLE(macos(10.13));
- (nullable MTLStructType *)elementStructType;
- (nullable MTLArrayType *)elementArrayType;
- (nullable MTLTextureReferenceType *)elementTextureReferenceType API_AVAILABLE(macos(10.13));
- (nullable MTLPointerType *)elementPointerType API_AVAILABLE(macos(10.13));
@end

MTL_EXPORT API_AVAILABLE(macos(10.13))
@interface MTLPointerType : MTLType {
  MTLBindingAccess _access;
  NSUInteger _alignment, _dataSize;
  BOOL _elementIsArgumentBuffer;
  MTLType *_element;
}
@property(readonly) MTLDataType elementType;
@property(readonly) MTLBindingAccess access;
@property(readonly) NSUInteger alignment;
@property(readonly) NSUInteger dataSize;
@property(readonly) BOOL elementIsArgumentBuffer API_AVAILABLE(macos(10.13));
- (nullable MTLStructType *)elementStructType API_AVAILABLE(macos(10.13));
- (nullable MTLArrayType *)elementArrayType API_AVAILABLE(macos(10.13));
@end

MTL_EXPORT API_AVAILABLE(macos(10.13))
@interface MTLTextureReferenceType : MTLType {
  MTLDataType _textureDataType;
  MTLTextureType _textureType;
  MTLBindingAccess _access;
  BOOL _isDepthTexture;
}
@property(readonly) MTLDataType textureDataType;
@property(readonly) MTLTextureType textureType;
@property(readonly) MTLBindingAccess access;
@property(readonly) BOOL isDepthTexture;
@end

// What the protocols of bindings were before macOS 13. Of what another type of argument has, 0 or nil.
MTL_EXPORT API_DEPRECATED("Use MTLBinding subtypes instead", macos(10.11, 13.0))
@interface MTLArgument : NSObject {
 @private
  id<MTLBinding> _binding;
}
@property(readonly) NSString *name;
@property(readonly) MTLArgumentType type;
@property(readonly) MTLBindingAccess access;
@property(readonly) NSUInteger index;
@property(readonly, getter=isActive) BOOL active;
@property(readonly) NSUInteger bufferAlignment;
@property(readonly) NSUInteger bufferDataSize;
@property(readonly) MTLDataType bufferDataType;
@property(readonly, nullable) MTLStructType *bufferStructType;
@property(readonly, nullable) MTLPointerType *bufferPointerType API_AVAILABLE(macos(10.13));
@property(readonly) NSUInteger threadgroupMemoryAlignment;
@property(readonly) NSUInteger threadgroupMemoryDataSize;
@property(readonly) MTLTextureType textureType;
@property(readonly) MTLDataType textureDataType;
@property(readonly) BOOL isDepthTexture API_AVAILABLE(macos(10.12));
@property(readonly) NSUInteger arrayLength API_AVAILABLE(macos(10.13));
@end

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
typedef __autoreleasing MTLArgument *_Nullable MTLAutoreleasedArgument;
#pragma clang diagnostic pop

API_AVAILABLE(macos(13.0))
@protocol MTLBinding <NSObject>
@property(readonly) NSString *name;
@property(readonly) MTLBindingType type;
@property(readonly) MTLBindingAccess access;
@property(readonly) NSUInteger index;
@property(readonly, getter=isUsed) BOOL used;
@property(readonly, getter=isArgument) BOOL argument;
@end

API_AVAILABLE(macos(13.0))
@protocol MTLBufferBinding <MTLBinding>
@property(readonly) NSUInteger bufferAlignment;
@property(readonly) NSUInteger bufferDataSize;
@property(readonly) MTLDataType bufferDataType;
@property(readonly, nullable) MTLStructType *bufferStructType;
@property(readonly, nullable) MTLPointerType *bufferPointerType;
@end

API_AVAILABLE(macos(13.0))
@protocol MTLThreadgroupBinding <MTLBinding>
@property(readonly) NSUInteger threadgroupMemoryAlignment;
@property(readonly) NSUInteger threadgroupMemoryDataSize;
@end

API_AVAILABLE(macos(13.0))
@protocol MTLTextureBinding <MTLBinding>
@property(readonly) MTLTextureType textureType;
@property(readonly) MTLDataType textureDataType;
@property(readonly, getter=isDepthTexture) BOOL depthTexture;
@property(readonly) NSUInteger arrayLength;
@end

NS_ASSUME_NONNULL_END
