// DCMetalTexture.mm: the C ABI over MTLTexture and MTLSamplerState.
//
// Metal's validation ends the process for a wrong descriptor or region, and without it nothing checks them; so both are
// checked here, against the rules of MTLTextureDescriptor and Metal's feature set tables.

#include "DCMetalShim.h"

#include <algorithm>
#include <cmath>

using namespace dcmetal;

typedef unsigned long long ull;  // for printf

// ------------------------------------------------------------------ formats

namespace {
struct Format {
  uint32_t value;  // MTLPixelFormat
  uint8_t bytes;   // of a texel
  Components components;
};

// The formats of Metal's feature set tables that every family reads and writes in compute functions.
constexpr Format kFormats[] = {
    {1, 1, Components::real},      {10, 1, Components::real},     {11, 1, Components::real},      {12, 1, Components::real},
    {13, 1, Components::natural},  {14, 1, Components::integer},  {20, 2, Components::real},      {22, 2, Components::real},
    {23, 2, Components::natural},  {24, 2, Components::integer},  {25, 2, Components::real},      {30, 2, Components::real},
    {31, 2, Components::real},     {32, 2, Components::real},     {33, 2, Components::natural},   {34, 2, Components::integer},
    {53, 4, Components::natural},  {54, 4, Components::integer},  {55, 4, Components::real},      {60, 4, Components::real},
    {62, 4, Components::real},     {63, 4, Components::natural},  {64, 4, Components::integer},   {65, 4, Components::real},
    {70, 4, Components::real},     {71, 4, Components::real},     {72, 4, Components::real},      {73, 4, Components::natural},
    {74, 4, Components::integer},  {80, 4, Components::real},     {81, 4, Components::real},      {90, 4, Components::real},
    {103, 8, Components::natural}, {104, 8, Components::integer}, {105, 8, Components::real},     {110, 8, Components::real},
    {112, 8, Components::real},    {113, 8, Components::natural}, {114, 8, Components::integer},  {115, 8, Components::real},
    {123, 16, Components::natural}, {124, 16, Components::integer}, {125, 16, Components::real},
};

const Format *find_format(uint64_t value) {
  for (const Format &format : kFormats)
    if (format.value == value) return &format;
  return nullptr;
}

bool is_array(uint32_t type) { return type == DC_METAL_TEXTURE_1D_ARRAY || type == DC_METAL_TEXTURE_2D_ARRAY; }
bool is_flat(uint32_t type) {
  return type == DC_METAL_TEXTURE_1D || type == DC_METAL_TEXTURE_1D_ARRAY || type == DC_METAL_TEXTURE_BUFFER;
}

constexpr uint64_t kMostTexels = 16384, kMostDepth = 2048, kMostSlices = 2048, kMostInBuffer = 1 << 28;
constexpr uint32_t kUsages = DC_METAL_TEXTURE_SHADER_READ | DC_METAL_TEXTURE_SHADER_WRITE;
}  // namespace

Components dcmetal::components_of(NSUInteger pixel_format) {
  const Format *format = find_format(pixel_format);
  return format ? format->components : Components::real;
}

// ------------------------------------------------------------------ DCMetalTexture

static DCMetalStatus check_size(const DCMetalTextureDescriptor &wanted, DCMetalError *error) {
  DCMetalSize size = wanted.size;
  const char *wrong = nullptr;
  uint64_t longest = std::max({size.width, size.height, size.depth});
  uint64_t most = wanted.type == DC_METAL_TEXTURE_BUFFER ? kMostInBuffer
                  : wanted.type == DC_METAL_TEXTURE_3D   ? kMostDepth
                                                         : kMostTexels;
  if (size.width == 0 || size.height == 0 || size.depth == 0) wrong = "no texels";
  else if (is_flat(wanted.type) && size.height != 1) wrong = "a height in a texture of one dimension";
  else if (wanted.type != DC_METAL_TEXTURE_3D && size.depth != 1) wrong = "a depth in a texture that has none";
  else if (longest > most) wrong = "more texels along a dimension than Metal's limit";
  else if (wanted.array_length == 0 || wanted.array_length > kMostSlices) wrong = "an array of 0 or over 2048 elements";
  else if (wanted.array_length != 1 && !is_array(wanted.type)) wrong = "elements of what is no array";
  else if (wanted.levels == 0 || wanted.levels > 64u - (uint32_t)__builtin_clzll(longest)) wrong = "levels beyond its mipmap chain";
  else if (wanted.levels != 1 && is_flat(wanted.type)) wrong = "levels in a texture of one dimension";
  if (!wrong) return DC_METAL_OK;
  return fail(error, DC_METAL_INVALID_ARGUMENT, "a texture of %llu x %llu x %llu texels, %llu elements, %llu levels: %s",
              (ull)size.width, (ull)size.height, (ull)size.depth, (ull)wanted.array_length, (ull)wanted.levels, wrong);
}

static DCMetalStatus check_descriptor(const DCMetalTextureDescriptor *wanted, DCMetalTexture *texture,
                                      DCMetalError *error) {
  if (!wanted) return null_argument(error, "descriptor");
  if (!texture) return null_argument(error, "texture");
  bool known = is_flat(wanted->type) || wanted->type == DC_METAL_TEXTURE_2D || is_array(wanted->type) ||
               wanted->type == DC_METAL_TEXTURE_3D;
  if (!known) return fail(error, DC_METAL_UNSUPPORTED, "textures of type %u", (unsigned)wanted->type);
  if (!find_format(wanted->pixel_format)) {
    return fail(error, DC_METAL_UNSUPPORTED, "textures of pixel format %u", (unsigned)wanted->pixel_format);
  }
  if (wanted->usage == 0 || (wanted->usage & ~kUsages) != 0) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "%u is no texture usage", (unsigned)wanted->usage);
  }
  return check_size(*wanted, error);
}

static DCMetalStatus check_storage(DCMetalStorageMode storage, id<MTLDevice> device, DCMetalError *error) {
  if (storage > DC_METAL_STORAGE_PRIVATE) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "%u is no storage mode", (unsigned)storage);
  }
  if (storage == DC_METAL_STORAGE_SHARED && !shares_all(device)) {
    return fail(error, DC_METAL_UNSUPPORTED, "textures of shared storage are of Apple's GPUs with unified memory");
  }
  return DC_METAL_OK;
}

static MTLTextureDescriptor *describe(const DCMetalTextureDescriptor *wanted, MTLResourceOptions options) {
  MTLTextureDescriptor *descriptor = owned([[MTLTextureDescriptor alloc] init]);
  [descriptor setTextureType:(MTLTextureType)wanted->type];
  [descriptor setPixelFormat:(MTLPixelFormat)wanted->pixel_format];
  [descriptor setWidth:wanted->size.width];
  [descriptor setHeight:wanted->size.height];
  [descriptor setDepth:wanted->size.depth];
  [descriptor setArrayLength:wanted->array_length];
  [descriptor setMipmapLevelCount:wanted->levels];
  [descriptor setUsage:(MTLTextureUsage)wanted->usage];
  [descriptor setResourceOptions:options];
  return descriptor;
}

static DCMetalStatus hand_out(id<MTLTexture> object, DCMetalTexture *texture, DCMetalError *error) {
  if (!object) return fail(error, DC_METAL_OUT_OF_MEMORY, "Metal made no texture");
  give(texture, object);
  return DC_METAL_OK;
}

DCMetalStatus DCMetalTexture_Create(DCMetalDevice device, const DCMetalTextureDescriptor *descriptor,
                                    DCMetalTexture *texture, DCMetalError *error) {
  if (texture) *texture = nullptr;
  return entry(error, [=] {
    if (!device) return null_argument(error, "device");
    DCMetalStatus status = check_descriptor(descriptor, texture, error);
    if (status == DC_METAL_OK) status = check_storage(descriptor->storage, in(device), error);
    if (status != DC_METAL_OK) return status;
    if (descriptor->type == DC_METAL_TEXTURE_BUFFER) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "a texture buffer without a buffer");
    }
    auto options = (MTLResourceOptions)((NSUInteger)descriptor->storage << MTLResourceStorageModeShift);
    return hand_out(owned([in(device) newTextureWithDescriptor:describe(descriptor, options)]), texture, error);
  });
}

DCMetalStatus DCMetalTexture_CreateWithBuffer(DCMetalBuffer buffer, uint64_t offset, uint64_t bytes_per_row,
                                              const DCMetalTextureDescriptor *descriptor, DCMetalTexture *texture,
                                              DCMetalError *error) {
  if (texture) *texture = nullptr;
  return entry(error, [=] {
    if (!buffer) return null_argument(error, "buffer");
    DCMetalStatus status = check_descriptor(descriptor, texture, error);
    if (status != DC_METAL_OK) return status;
    bool row_of_texels = descriptor->type == DC_METAL_TEXTURE_BUFFER;
    if ((!row_of_texels && descriptor->type != DC_METAL_TEXTURE_2D) || descriptor->levels != 1) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "a texture of a buffer is 2D or a texture buffer, of one level");
    }
    auto format = (MTLPixelFormat)descriptor->pixel_format;
    id<MTLDevice> device = [in(buffer) device];
    uint64_t unit = row_of_texels ? [device minimumTextureBufferAlignmentForPixelFormat:format]
                                  : [device minimumLinearTextureAlignmentForPixelFormat:format];
    uint64_t least = descriptor->size.width * find_format(descriptor->pixel_format)->bytes;
    if (offset % unit != 0 || bytes_per_row % unit != 0 || bytes_per_row < least) {
      return fail(error, DC_METAL_INVALID_ARGUMENT,
                  "offset %llu and %llu bytes per row: both are multiples of %llu, and a row has %llu", (ull)offset,
                  (ull)bytes_per_row, (ull)unit, (ull)least);
    }
    uint64_t bytes = 0, length = [in(buffer) length];
    if (__builtin_mul_overflow(bytes_per_row, descriptor->size.height, &bytes) || !within(offset, bytes, length)) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "%llu rows of %llu bytes at offset %llu reach over the buffer's %llu",
                  (ull)descriptor->size.height, (ull)bytes_per_row, (ull)offset, (ull)length);
    }
    MTLTextureDescriptor *described = describe(descriptor, [in(buffer) resourceOptions]);
    return hand_out(owned([in(buffer) newTextureWithDescriptor:described offset:offset bytesPerRow:bytes_per_row]),
                    texture, error);
  });
}

DCMetalStatus DCMetalTexture_GetDescriptor(DCMetalTexture texture, DCMetalTextureDescriptor *descriptor) {
  if (descriptor) *descriptor = DCMetalTextureDescriptor{};
  return entry(nullptr, [=] {
    if (!texture || !descriptor) return DC_METAL_INVALID_ARGUMENT;
    id<MTLTexture> from = in(texture);
    descriptor->type = (DCMetalTextureType)[from textureType];
    descriptor->pixel_format = (uint32_t)[from pixelFormat];
    descriptor->size = {[from width], [from height], [from depth]};
    descriptor->array_length = [from arrayLength];
    descriptor->levels = [from mipmapLevelCount];
    descriptor->usage = (uint32_t)[from usage];
    descriptor->storage = (DCMetalStorageMode)[from storageMode];
    return DC_METAL_OK;
  });
}

DCMetalStatus dcmetal::check_place(id<MTLTexture> texture, const DCMetalTexturePlace &place, DCMetalSize size,
                                   DCMetalError *error) {
  const auto extent = [&](uint64_t texels) { return std::max(texels >> place.level, uint64_t(1)); };
  bool inside = place.level < [texture mipmapLevelCount] && place.slice < [texture arrayLength] &&
                within(place.x, size.width, extent([texture width])) &&
                within(place.y, size.height, extent([texture height])) &&
                within(place.z, size.depth, extent([texture depth])) && size.width && size.height && size.depth;
  if (inside) return DC_METAL_OK;
  return fail(error, DC_METAL_INVALID_ARGUMENT,
              "a region of %llu x %llu x %llu texels at (%llu, %llu, %llu) of slice %llu, level %llu: the texture has %llu x "
              "%llu x %llu, %llu slices, %llu levels",
              (ull)size.width, (ull)size.height, (ull)size.depth, (ull)place.x, (ull)place.y, (ull)place.z,
              (ull)place.slice, (ull)place.level, (ull)[texture width], (ull)[texture height], (ull)[texture depth],
              (ull)[texture arrayLength], (ull)[texture mipmapLevelCount]);
}

DCMetalStatus dcmetal::check_rows(id<MTLTexture> texture, DCMetalSize size, uint64_t length, uint64_t bytes_per_row,
                                  uint64_t bytes_per_image, DCMetalError *error) {
  uint64_t texel = find_format([texture pixelFormat])->bytes, row = size.width * texel;
  uint64_t rows = 0, images = 0, end = 0;
  bool fits = bytes_per_row >= row && bytes_per_row % texel == 0 &&
              !__builtin_mul_overflow(bytes_per_row, size.height, &rows) &&
              (size.depth == 1 || (bytes_per_image >= rows && bytes_per_image % texel == 0)) &&
              !__builtin_mul_overflow(bytes_per_image, size.depth - 1, &images) &&
              !__builtin_add_overflow(images, rows - bytes_per_row + row, &end) && end <= length;
  if (fits) return DC_METAL_OK;
  return fail(error, DC_METAL_INVALID_ARGUMENT,
              "%llu bytes, %llu per row and %llu per image, for %llu x %llu x %llu texels of %llu bytes", (ull)length,
              (ull)bytes_per_row, (ull)bytes_per_image, (ull)size.width, (ull)size.height, (ull)size.depth, (ull)texel);
}

// What reading and writing a region from the CPU asks.
static DCMetalStatus check_access(DCMetalTexture texture, const DCMetalTexturePlace *place, DCMetalSize size,
                                  const void *bytes, uint64_t length, uint64_t bytes_per_row, uint64_t bytes_per_image,
                                  DCMetalError *error) {
  if (!texture) return null_argument(error, "texture");
  if (!place) return null_argument(error, "place");
  if (!bytes) return null_argument(error, "bytes");
  if ([in(texture) storageMode] == MTLStorageModePrivate) {
    return fail(error, DC_METAL_INVALID_STATE, "the CPU has no access to a texture of private storage");
  }
  DCMetalStatus status = check_place(in(texture), *place, size, error);
  return status == DC_METAL_OK ? check_rows(in(texture), size, length, bytes_per_row, bytes_per_image, error) : status;
}

static MTLRegion region(const DCMetalTexturePlace &place, DCMetalSize size) {
  return MTLRegionMake3D(place.x, place.y, place.z, size.width, size.height, size.depth);
}

DCMetalStatus DCMetalTexture_Write(DCMetalTexture texture, const DCMetalTexturePlace *place, DCMetalSize size,
                                   const void *bytes, uint64_t length, uint64_t bytes_per_row, uint64_t bytes_per_image,
                                   DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = check_access(texture, place, size, bytes, length, bytes_per_row, bytes_per_image, error);
    if (status != DC_METAL_OK) return status;
    [in(texture) replaceRegion:region(*place, size)
                   mipmapLevel:place->level
                         slice:place->slice
                     withBytes:bytes
                   bytesPerRow:bytes_per_row
                 bytesPerImage:size.depth == 1 ? 0 : bytes_per_image];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalTexture_Read(DCMetalTexture texture, const DCMetalTexturePlace *place, DCMetalSize size, void *bytes,
                                  uint64_t length, uint64_t bytes_per_row, uint64_t bytes_per_image, DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = check_access(texture, place, size, bytes, length, bytes_per_row, bytes_per_image, error);
    if (status != DC_METAL_OK) return status;
    [in(texture) getBytes:bytes
              bytesPerRow:bytes_per_row
            bytesPerImage:size.depth == 1 ? 0 : bytes_per_image
               fromRegion:region(*place, size)
              mipmapLevel:place->level
                    slice:place->slice];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalTexture_SetLabel(DCMetalTexture texture, const char *label) {
  return entry(nullptr, [=] {
    NSString *string = label ? text(label) : nil;
    if (!texture || (label && !string)) return DC_METAL_INVALID_ARGUMENT;
    [in(texture) setLabel:string];
    return DC_METAL_OK;
  });
}

void DCMetalTexture_Release(DCMetalTexture texture) {
  drop([=] { take(texture); });
}

// ------------------------------------------------------------------ DCMetalSampler

static const char *wrong_sampler(const DCMetalSamplerDescriptor &wanted) {
  const auto repeats = [](DCMetalAddressMode mode) {
    return mode == DC_METAL_ADDRESS_REPEAT || mode == DC_METAL_ADDRESS_MIRROR_REPEAT;
  };
  const auto known = [](DCMetalAddressMode mode) {
    return mode <= DC_METAL_ADDRESS_CLAMP_TO_BORDER && mode != 1;  // 1: MTLSamplerAddressModeMirrorClampToEdge
  };
  if (!known(wanted.s) || !known(wanted.t) || !known(wanted.r)) return "an unknown address mode";
  if (wanted.min_filter > DC_METAL_FILTER_LINEAR || wanted.mag_filter > DC_METAL_FILTER_LINEAR) return "an unknown filter";
  if (wanted.mip_filter > DC_METAL_MIP_FILTER_LINEAR) return "an unknown mip filter";
  if (wanted.border_color > DC_METAL_BORDER_OPAQUE_WHITE) return "an unknown border color";
  if (!(wanted.lod_min >= 0 && wanted.lod_min <= wanted.lod_max)) return "lod_min and lod_max are no range from 0 on";
  if (!wanted.pixel_coordinates) return nullptr;
  if (repeats(wanted.s) || repeats(wanted.t) || repeats(wanted.r)) return "coordinates in pixels that repeat";
  if (wanted.mip_filter != DC_METAL_MIP_FILTER_NONE) return "coordinates in pixels with mipmaps";
  if (wanted.min_filter != wanted.mag_filter) return "coordinates in pixels with two filters";
  return nullptr;
}

DCMetalStatus DCMetalSampler_Create(DCMetalDevice device, const DCMetalSamplerDescriptor *descriptor,
                                    DCMetalSampler *sampler, DCMetalError *error) {
  if (sampler) *sampler = nullptr;
  return entry(error, [=] {
    if (!device) return null_argument(error, "device");
    if (!descriptor) return null_argument(error, "descriptor");
    if (!sampler) return null_argument(error, "sampler");
    if (const char *wrong = wrong_sampler(*descriptor)) return fail(error, DC_METAL_INVALID_ARGUMENT, "a sampler: %s", wrong);
    MTLSamplerDescriptor *wanted = owned([[MTLSamplerDescriptor alloc] init]);
    [wanted setSAddressMode:(MTLSamplerAddressMode)descriptor->s];
    [wanted setTAddressMode:(MTLSamplerAddressMode)descriptor->t];
    [wanted setRAddressMode:(MTLSamplerAddressMode)descriptor->r];
    [wanted setMinFilter:(MTLSamplerMinMagFilter)descriptor->min_filter];
    [wanted setMagFilter:(MTLSamplerMinMagFilter)descriptor->mag_filter];
    [wanted setMipFilter:(MTLSamplerMipFilter)descriptor->mip_filter];
    [wanted setBorderColor:(MTLSamplerBorderColor)descriptor->border_color];
    [wanted setNormalizedCoordinates:!descriptor->pixel_coordinates];
    [wanted setLodMinClamp:descriptor->lod_min];
    [wanted setLodMaxClamp:descriptor->lod_max];
    id<MTLSamplerState> object = owned([in(device) newSamplerStateWithDescriptor:wanted]);
    if (!object) return fail(error, DC_METAL_OUT_OF_MEMORY, "Metal made no sampler");
    give(sampler, object);
    return DC_METAL_OK;
  });
}

void DCMetalSampler_Release(DCMetalSampler sampler) {
  drop([=] { take(sampler); });
}
