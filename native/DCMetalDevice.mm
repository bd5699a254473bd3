// DCMetalDevice.mm: the C ABI of DCMetal.h over <Metal/Metal.h>: version, strings, errors, devices and queues.
// Buffers are in DCMetalBuffer.mm, libraries to pipelines in DCMetalLibrary.mm, command buffers and encoders in
// DCMetalCommand.mm. The same source for Apple's Metal and for hostmetal.

#include "DCMetalShim.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// ------------------------------------------------------------------ text

namespace dcmetal {

// How many bytes the character at bytes takes, or 0 when it is not one: Unicode 15, table 3-7.
static size_t character(const unsigned char *bytes, size_t left) {
  unsigned char lead = bytes[0];
  if (lead < 0x80) return 1;
  size_t length = lead >= 0xC2 && lead <= 0xDF ? 2 : lead >= 0xE0 && lead <= 0xEF ? 3 : lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
  if (length == 0 || length > left) return 0;
  unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (bytes[1] < low || bytes[1] > high) return 0;
  for (size_t i = 2; i < length; i++) {
    if ((bytes[i] & 0xC0) != 0x80) return 0;
  }
  return length;
}

NSString *text(const char *utf8, size_t length) {
  const unsigned char *bytes = (const unsigned char *)utf8;
  for (size_t at = 0; at < length;) {
    size_t step = character(bytes + at, length - at);
    if (step == 0) return nil;
    at += step;
  }
  return owned([[NSString alloc] initWithBytes:utf8 length:length encoding:NSUTF8StringEncoding]);
}

NSString *text(const char *utf8) { return text(utf8, strlen(utf8)); }

size_t put(const char *utf8, size_t length, char *buffer, size_t capacity) {
  if (buffer && capacity > 0) {
    size_t fits = length < capacity ? length : capacity - 1;
    if (fits < length) {
      while (fits > 0 && ((unsigned char)utf8[fits] & 0xC0) == 0x80) fits--;
    }
    if (fits > 0) memcpy(buffer, utf8, fits);
    buffer[fits] = '\0';
  }
  return length;
}

size_t put(NSString *string, char *buffer, size_t capacity) {
  NSData *data = [string dataUsingEncoding:NSUTF8StringEncoding allowLossyConversion:YES];
  return put((const char *)[data bytes], [data length], buffer, capacity);
}

// ------------------------------------------------------------------ making errors

static char *copy(NSString *string, size_t *length) {
  *length = 0;
  NSData *data = [string dataUsingEncoding:NSUTF8StringEncoding allowLossyConversion:YES];
  char *bytes = (char *)malloc([data length] + 1);
  if (!bytes) return nullptr;
  *length = [data length];
  if (*length > 0) memcpy(bytes, [data bytes], *length);
  bytes[*length] = '\0';
  return bytes;
}

static DCMetalError create_error(NSString *domain, int64_t code, NSString *message) {
  DCMetalError error = new (std::nothrow) DCMetalError_s;
  if (!error) return nullptr;
  error->domain = copy(domain, &error->domain_length);
  error->message = copy(message, &error->message_length);
  error->code = code;
  return error;
}

DCMetalStatus fail(DCMetalError *error, DCMetalStatus status, const char *format, ...) {
  if (!error) return status;
  va_list arguments;
  va_start(arguments, format);
  char *message = nullptr;
  int length = vasprintf(&message, format, arguments);
  va_end(arguments);
  *error = new (std::nothrow) DCMetalError_s;
  if (*error) {
    (*error)->domain = strdup("DCMetal");
    (*error)->domain_length = (*error)->domain ? strlen("DCMetal") : 0;
    (*error)->code = status;
    (*error)->message = length < 0 ? nullptr : message;
    (*error)->message_length = length < 0 ? 0 : (size_t)length;
  } else if (length >= 0) {
    free(message);
  }
  return status;
}

DCMetalStatus null_argument(DCMetalError *error, const char *name) {
  return fail(error, DC_METAL_INVALID_ARGUMENT, "%s is NULL", name);
}

static void append(NSMutableString *message, NSString *sentence) {
  if ([sentence length] == 0 || [message rangeOfString:sentence].location != NSNotFound) return;
  if ([message length] > 0) [message appendString:@"\n"];
  [message appendString:sentence];
}

// The error's own text, its reason, and those of the errors under it. `depth` ends a chain that loops.
static void describe(NSError *cause, NSMutableString *message, unsigned depth) {
  append(message, [cause localizedDescription]);
  append(message, [cause localizedFailureReason]);
  if (depth == 0) return;
  NSError *underlying = [[cause userInfo] objectForKey:NSUnderlyingErrorKey];
  if ([underlying isKindOfClass:[NSError class]]) {
    append(message, [NSString stringWithFormat:@"caused by %@ %lld:", [underlying domain], (long long)[underlying code]]);
    describe(underlying, message, depth - 1);
  }
}

static NSString *state_name(MTLCommandEncoderErrorState state) {
  switch (state) {
    case MTLCommandEncoderErrorStateCompleted: return @"completed";
    case MTLCommandEncoderErrorStateAffected: return @"affected";
    case MTLCommandEncoderErrorStatePending: return @"pending";
    case MTLCommandEncoderErrorStateFaulted: return @"faulted";
    default: return @"unknown";
  }
}

static void add_encoders(DCMetalError error, NSArray<id<MTLCommandBufferEncoderInfo>> *infos, NSMutableString *message) {
  if (error) error->encoders = (DCMetalError_s::Encoder *)calloc([infos count] + 1, sizeof(DCMetalError_s::Encoder));
  for (id<MTLCommandBufferEncoderInfo> info in infos) {
    if ([info errorState] != MTLCommandEncoderErrorStateCompleted) {
      NSArray<NSString *> *signposts = [info debugSignposts];
      NSString *after = [signposts count] == 0
                            ? @""
                            : [NSString stringWithFormat:@" (signposts: %@)", [signposts componentsJoinedByString:@", "]];
      append(message, [NSString stringWithFormat:@"encoder \"%@\" %@%@", [info label] ? [info label] : @"",
                                                 state_name([info errorState]), after]);
    }
    if (!error || !error->encoders) continue;
    DCMetalError_s::Encoder *encoder = &error->encoders[error->encoder_count++];
    encoder->label = copy([info label], &encoder->length);
    encoder->state = (DCMetalEncoderState)[info errorState];
  }
}

DCMetalStatus fail(DCMetalError *error, NSError *cause) {
  if (!cause) return fail(error, DC_METAL_FAILED, "Metal reported a failure and gave no reason");
  if (!error) return DC_METAL_FAILED;
  NSMutableString *message = [NSMutableString string];
  describe(cause, message, 8);
  DCMetalError made = create_error([cause domain], [cause code], nil);
  NSArray *infos = [[cause userInfo] objectForKey:MTLCommandBufferEncoderInfoErrorKey];
  if ([infos isKindOfClass:[NSArray class]]) add_encoders(made, infos, message);
  if (made) {
    free(made->message);
    made->message = copy(message, &made->message_length);
  }
  *error = made;
  return DC_METAL_FAILED;
}

DCMetalStatus raised(DCMetalError *error, NSException *exception) {
  if ([[exception name] isEqualToString:NSMallocException]) {
    const char *reason = [[exception reason] UTF8String];
    return fail(error, DC_METAL_OUT_OF_MEMORY, "%s", reason ? reason : "Metal made no object");
  }
  if (error) {
    *error = exception ? create_error([exception name], DC_METAL_EXCEPTION, [exception reason])
                       : create_error(@"DCMetal", DC_METAL_EXCEPTION, @"Metal raised something that is not an NSException");
  }
  return DC_METAL_EXCEPTION;
}

}  // namespace dcmetal

using namespace dcmetal;

// ------------------------------------------------------------------ ABI version

uint32_t DCMetal_AbiVersion(void) { return DC_METAL_ABI_VERSION; }

// ------------------------------------------------------------------ DCMetalError: plain memory, no pool needed

size_t DCMetalError_GetDomain(DCMetalError error, char *buffer, size_t capacity) {
  return put(error ? error->domain : nullptr, error ? error->domain_length : 0, buffer, capacity);
}

int64_t DCMetalError_GetCode(DCMetalError error) { return error ? error->code : 0; }

size_t DCMetalError_GetMessage(DCMetalError error, char *buffer, size_t capacity) {
  return put(error ? error->message : nullptr, error ? error->message_length : 0, buffer, capacity);
}

size_t DCMetalError_GetEncoderCount(DCMetalError error) { return error ? error->encoder_count : 0; }

size_t DCMetalError_GetEncoderLabel(DCMetalError error, size_t index, char *buffer, size_t capacity) {
  if (!error || index >= error->encoder_count) return put(nullptr, 0, buffer, capacity);
  return put(error->encoders[index].label, error->encoders[index].length, buffer, capacity);
}

DCMetalEncoderState DCMetalError_GetEncoderState(DCMetalError error, size_t index) {
  return error && index < error->encoder_count ? error->encoders[index].state : DC_METAL_ENCODER_UNKNOWN;
}

void DCMetalError_Release(DCMetalError error) {
  if (!error) return;
  for (size_t i = 0; i < error->encoder_count; i++) free(error->encoders[i].label);
  free(error->encoders);
  free(error->message);
  free(error->domain);
  delete error;
}

// ------------------------------------------------------------------ DCMetalDevice

DCMetalStatus DCMetalDevice_CreateAll(DCMetalDevice *devices, size_t capacity, size_t *count, DCMetalError *error) {
  if (count) *count = 0;
  if (devices) memset(devices, 0, capacity * sizeof *devices);
  return entry(error, [=] {
    if (!count) return null_argument(error, "count");
    if (!devices && capacity > 0) return null_argument(error, "devices");
    NSArray<id<MTLDevice>> *all = owned(MTLCopyAllDevices());
    *count = [all count];
    for (size_t i = 0; i < capacity && i < *count; i++) give(&devices[i], [all objectAtIndex:i]);
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalDevice_CreateSystemDefault(DCMetalDevice *device, DCMetalError *error) {
  if (device) *device = nullptr;
  return entry(error, [=] {
    if (!device) return null_argument(error, "device");
    id<MTLDevice> object = owned(MTLCreateSystemDefaultDevice());
    if (!object) return fail(error, DC_METAL_NOT_FOUND, "this machine has no Metal device");
    give(device, object);
    return DC_METAL_OK;
  });
}

size_t DCMetalDevice_GetName(DCMetalDevice device, char *buffer, size_t capacity) {
  return ask(put(nullptr, 0, buffer, capacity), [=] { return put([in(device) name], buffer, capacity); });
}

// hostmetal's, and no part of Metal.
@protocol HostMetalCompiler
- (NSString *)hostmetalCompiler;
@end

size_t DCMetalDevice_GetCompiler(DCMetalDevice device, char *buffer, size_t capacity) {
  return ask(put(nullptr, 0, buffer, capacity), [=]() -> size_t {
    if (![in(device) respondsToSelector:@selector(hostmetalCompiler)]) return put(nullptr, 0, buffer, capacity);
    return put([(id<HostMetalCompiler>)in(device) hostmetalCompiler], buffer, capacity);
  });
}

// A message to nil answers 0, which is what the header asks for a NULL device.
uint64_t DCMetalDevice_GetRegistryID(DCMetalDevice device) {
  return ask(uint64_t(0), [=] { return uint64_t([in(device) registryID]); });
}

bool DCMetalDevice_HasUnifiedMemory(DCMetalDevice device) {
  return ask(false, [=] { return bool([in(device) hasUnifiedMemory]); });
}

bool DCMetalDevice_IsLowPower(DCMetalDevice device) {
  return ask(false, [=] { return bool([in(device) isLowPower]); });
}

bool DCMetalDevice_IsHeadless(DCMetalDevice device) {
  return ask(false, [=] { return bool([in(device) isHeadless]); });
}

bool DCMetalDevice_IsRemovable(DCMetalDevice device) {
  return ask(false, [=] { return bool([in(device) isRemovable]); });
}

uint64_t DCMetalDevice_GetRecommendedMaxWorkingSetSize(DCMetalDevice device) {
  return ask(uint64_t(0), [=] { return uint64_t([in(device) recommendedMaxWorkingSetSize]); });
}

uint64_t DCMetalDevice_GetCurrentAllocatedSize(DCMetalDevice device) {
  return ask(uint64_t(0), [=] { return uint64_t([in(device) currentAllocatedSize]); });
}

uint64_t DCMetalDevice_GetMaxBufferLength(DCMetalDevice device) {
  return ask(uint64_t(0), [=] { return uint64_t([in(device) maxBufferLength]); });
}

uint64_t DCMetalDevice_GetMaxThreadgroupMemoryLength(DCMetalDevice device) {
  return ask(uint64_t(0), [=] { return uint64_t([in(device) maxThreadgroupMemoryLength]); });
}

DCMetalSize DCMetalDevice_GetMaxThreadsPerThreadgroup(DCMetalDevice device) {
  DCMetalSize none = {0, 0, 0};
  if (!device) return none;
  return ask(none, [=] {
    MTLSize most = [in(device) maxThreadsPerThreadgroup];
    return DCMetalSize{most.width, most.height, most.depth};
  });
}

bool DCMetalDevice_SupportsFamily(DCMetalDevice device, int64_t family) {
  return ask(false, [=] { return bool([in(device) supportsFamily:(MTLGPUFamily)family]); });
}

DCMetalDeviceLocation DCMetalDevice_GetLocation(DCMetalDevice device) {
  if (!device) return DC_METAL_LOCATION_UNSPECIFIED;
  return ask(DC_METAL_LOCATION_UNSPECIFIED, [=] {
    switch ([in(device) location]) {
      case MTLDeviceLocationBuiltIn: return DC_METAL_LOCATION_BUILT_IN;
      case MTLDeviceLocationSlot: return DC_METAL_LOCATION_SLOT;
      case MTLDeviceLocationExternal: return DC_METAL_LOCATION_EXTERNAL;
      default: return DC_METAL_LOCATION_UNSPECIFIED;
    }
  });
}

uint64_t DCMetalDevice_GetLocationNumber(DCMetalDevice device) {
  return ask(uint64_t(0), [=] { return uint64_t([in(device) locationNumber]); });
}

uint64_t DCMetalDevice_GetMaxTransferRate(DCMetalDevice device) {
  return ask(uint64_t(0), [=] { return uint64_t([in(device) maxTransferRate]); });
}

uint64_t DCMetalDevice_GetPeerGroupID(DCMetalDevice device) {
  return ask(uint64_t(0), [=] { return uint64_t([in(device) peerGroupID]); });
}

uint32_t DCMetalDevice_GetPeerIndex(DCMetalDevice device) {
  return ask(uint32_t(0), [=] { return uint32_t([in(device) peerIndex]); });
}

uint32_t DCMetalDevice_GetPeerCount(DCMetalDevice device) {
  return ask(uint32_t(0), [=] { return uint32_t([in(device) peerCount]); });
}

void DCMetalDevice_Release(DCMetalDevice device) {
  drop([=] { take(device); });
}

// ------------------------------------------------------------------ DCMetalQueue

DCMetalStatus DCMetalQueue_Create(DCMetalDevice device, size_t max_command_buffers, DCMetalQueue *queue,
                                  DCMetalError *error) {
  if (queue) *queue = nullptr;
  return entry(error, [=] {
    if (!device) return null_argument(error, "device");
    if (!queue) return null_argument(error, "queue");
    id<MTLCommandQueue> object =
        owned(max_command_buffers == 0 ? [in(device) newCommandQueue]
                                       : [in(device) newCommandQueueWithMaxCommandBufferCount:max_command_buffers]);
    if (!object) return fail(error, DC_METAL_OUT_OF_MEMORY, "Metal made no command queue");
    give(queue, object);
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalQueue_SetLabel(DCMetalQueue queue, const char *label) {
  return entry(nullptr, [=] {
    NSString *string = label ? text(label) : nil;
    if (!queue || (label && !string)) return DC_METAL_INVALID_ARGUMENT;
    [in(queue) setLabel:string];
    return DC_METAL_OK;
  });
}

void DCMetalQueue_Release(DCMetalQueue queue) {
  drop([=] { take(queue); });
}
