// hostmetal's own, and no part of Metal: devices that go and come while a program runs, calls that fail or are slow, and passes that run in
// another order, to try how it takes that.
//
// Devices have the numbers that HOSTMETAL_DEVICES and HOSTMETAL_DEVICE_0, ... give them. Observers of the list
// (MTLCopyAllDevicesWithObserver) are told, one after the other, on a thread of Metal's. A device that was removed is in no list
// any more: it makes no queues, buffers, textures and heaps, and its command buffers fail with MTLCommandBufferErrorDeviceRemoved,
// those that run or wait at once. What is added has the same limits and another registryID.
#ifndef HOSTMETAL_H
#define HOSTMETAL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOSTMETAL_EXTERN __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif
// Tells observers that the device will be removed (MTLDeviceRemovalRequestedNotification). False when it is not there.
HOSTMETAL_EXTERN bool hostmetal_request_device_removal(size_t number);
// Removes the device. Nothing runs on it any more when this returns. False when it is not there.
HOSTMETAL_EXTERN bool hostmetal_remove_device(size_t number);
// Adds a device in the place of one that was removed. False when none was.
HOSTMETAL_EXTERN bool hostmetal_add_device(size_t number);

// Replaces the rules of what fails (docs/HOSTMETAL.md, "Faults on purpose"), those of the environment included; "" for none. What has begun
// keeps its fate, and counts begin at 0. False when a rule means nothing: `why`, if it is not NULL, then tells which and why, cut to `size`
// bytes with its NUL, and the rules that there were stay.
HOSTMETAL_EXTERN bool hostmetal_set_faults(const char *rules, char *why, size_t size);
// How often a site was come to ("commit", ...) since the rules were set, and how often it failed or was slow for them; zeros while there are
// none. False when there is no such site.
HOSTMETAL_EXTERN bool hostmetal_count_faults(const char *site, size_t *events, size_t *injected);

// Passes that are encoded from now on run before earlier ones of their queue where Metal allows it, by a seed; 0: they do not
// (docs/HOSTMETAL.md, "Passes in another order").
HOSTMETAL_EXTERN void hostmetal_overlap_passes(uint64_t seed);
// How many passes have run before an earlier one.
HOSTMETAL_EXTERN uint64_t hostmetal_count_overtaken(void);
#ifdef __cplusplus
}
#endif
#endif
