// DCMetalEvent.mm: the C ABI over MTLEvent, MTLSharedEvent and MTLFence. Command buffers signal and wait for events in
// DCMetalCommand.mm, encoders update and wait for fences in DCMetalEncoder.mm.

#include "DCMetalShim.h"

using namespace dcmetal;

// What the three kinds of object share: made by a device, with a label.
template <class Handle>
static DCMetalStatus hand_out(typename ObjectOf<Handle>::Type object, Handle *handle, const char *what, DCMetalError *error) {
  if (!object) return fail(error, DC_METAL_OUT_OF_MEMORY, "Metal made no %s", what);
  give(handle, object);
  return DC_METAL_OK;
}

template <class Handle> static DCMetalStatus label(Handle handle, const char *utf8) {
  return entry(nullptr, [=] {
    NSString *string = utf8 ? text(utf8) : nil;
    if (!handle || (utf8 && !string)) return DC_METAL_INVALID_ARGUMENT;
    [in(handle) setLabel:string];
    return DC_METAL_OK;
  });
}

// ------------------------------------------------------------------ DCMetalEvent

DCMetalStatus DCMetalEvent_Create(DCMetalDevice device, DCMetalEvent *event, DCMetalError *error) {
  if (event) *event = nullptr;
  return entry(error, [=] {
    if (!device) return null_argument(error, "device");
    if (!event) return null_argument(error, "event");
    id<MTLEvent> made = owned([in(device) newEvent]);
    return hand_out(made, event, "event", error);
  });
}

DCMetalStatus DCMetalEvent_SetLabel(DCMetalEvent event, const char *text) { return label(event, text); }

void DCMetalEvent_Release(DCMetalEvent event) {
  drop([=] { take(event); });
}

// ------------------------------------------------------------------ DCMetalSharedEvent

DCMetalStatus DCMetalSharedEvent_Create(DCMetalDevice device, DCMetalSharedEvent *event, DCMetalError *error) {
  if (event) *event = nullptr;
  return entry(error, [=] {
    if (!device) return null_argument(error, "device");
    if (!event) return null_argument(error, "event");
    id<MTLSharedEvent> made = owned([in(device) newSharedEvent]);
    return hand_out(made, event, "shared event", error);
  });
}

DCMetalEvent DCMetalSharedEvent_AsEvent(DCMetalSharedEvent event) { return (DCMetalEvent)(void *)event; }

DCMetalStatus DCMetalSharedEvent_SetLabel(DCMetalSharedEvent event, const char *text) { return label(event, text); }

uint64_t DCMetalSharedEvent_GetSignaledValue(DCMetalSharedEvent event) {
  return ask(uint64_t(0), [=] { return uint64_t([in(event) signaledValue]); });
}

DCMetalStatus DCMetalSharedEvent_SetSignaledValue(DCMetalSharedEvent event, uint64_t value, DCMetalError *error) {
  return entry(error, [=] {
    if (!event) return null_argument(error, "event");
    [in(event) setSignaledValue:value];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalSharedEvent_Wait(DCMetalSharedEvent event, uint64_t value, uint64_t milliseconds, bool *reached,
                                      DCMetalError *error) {
  if (reached) *reached = false;
  return entry(error, [=] {
    if (!event) return null_argument(error, "event");
    if (!reached) return null_argument(error, "reached");
    *reached = [in(event) waitUntilSignaledValue:value timeoutMS:milliseconds];
    return DC_METAL_OK;
  });
}

namespace {
// A handler that is still to be called. Its block holds it; when Metal lets go of a block that it never called, the handler
// learns that from the end of this.
struct Notice {
  Notice(DCMetalEventHandler call, void *with) : handler(call), context(with) {}
  ~Notice() {
    if (armed) tell(DC_METAL_INVALID_STATE, 0);
  }
  void tell(DCMetalStatus status, uint64_t value) {
    if (!told.exchange(true)) handler(context, status, value);
  }
  DCMetalEventHandler handler;
  void *context;
  std::atomic<uint32_t> references{1};
  std::atomic<bool> told{false}, armed{false};
};
}  // namespace

DCMetalStatus DCMetalSharedEvent_Notify(DCMetalSharedEvent event, uint64_t value, DCMetalEventHandler handler,
                                        void *context, DCMetalError *error) {
  return entry(error, [=] {
    if (!event) return null_argument(error, "event");
    if (!handler) return null_argument(error, "handler");
    // The block keeps the listener, whose queue it is called on.
    MTLSharedEventListener *listener = owned([[MTLSharedEventListener alloc] init]);
    Notice *notice = listener ? new (std::nothrow) Notice(handler, context) : nullptr;
    if (!notice) return fail(error, DC_METAL_OUT_OF_MEMORY, "no memory for a notification");
    Kept<Notice *> held(notice);
    [in(event) notifyListener:listener
                      atValue:value
                        block:^(id<MTLSharedEvent> signaled, uint64_t reached) {
                          (void)signaled;
                          (void)listener;
                          held.get()->tell(DC_METAL_OK, reached);
                        }];
    // From here on its end is a call. Metal may have called it already, or let go of it.
    notice->armed = true;
    return DC_METAL_OK;
  });
}

void DCMetalSharedEvent_Release(DCMetalSharedEvent event) {
  drop([=] { take(event); });
}

// ------------------------------------------------------------------ DCMetalFence

DCMetalStatus DCMetalFence_Create(DCMetalDevice device, DCMetalFence *fence, DCMetalError *error) {
  if (fence) *fence = nullptr;
  return entry(error, [=] {
    if (!device) return null_argument(error, "device");
    if (!fence) return null_argument(error, "fence");
    id<MTLFence> made = owned([in(device) newFence]);
    return hand_out(made, fence, "fence", error);
  });
}

DCMetalStatus DCMetalFence_SetLabel(DCMetalFence fence, const char *text) { return label(fence, text); }

void DCMetalFence_Release(DCMetalFence fence) {
  drop([=] { take(fence); });
}
