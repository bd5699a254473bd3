// DCMetalCommand.mm: the C ABI over MTLCommandBuffer. Its encoders are in DCMetalEncoder.mm.

#include "DCMetalShim.h"

using namespace dcmetal;

// ------------------------------------------------------------------ DCMetalCommandBuffer

static id<MTLCommandBuffer> make(id<MTLCommandQueue> queue, const DCMetalCommandBufferOptions &options) {
  if (options.encoder_info) {
    MTLCommandBufferDescriptor *descriptor = owned([[MTLCommandBufferDescriptor alloc] init]);
    [descriptor setRetainedReferences:!options.unretained_references];
    [descriptor setErrorOptions:MTLCommandBufferErrorOptionEncoderExecutionStatus];
    return [queue commandBufferWithDescriptor:descriptor];
  }
  return options.unretained_references ? [queue commandBufferWithUnretainedReferences] : [queue commandBuffer];
}

static DCMetalStatus hand_out(DCMetalCommandBuffer made, DCMetalCommandBuffer *command_buffer, DCMetalError *error) {
  if (!made) return fail(error, DC_METAL_OUT_OF_MEMORY, "no memory for a command buffer's handle");
  *command_buffer = made;
  return DC_METAL_OK;
}

static DCMetalStatus none_made(DCMetalError *error) {
  return fail(error, DC_METAL_OUT_OF_MEMORY, "Metal made no command buffer");
}

DCMetalStatus DCMetalCommandBuffer_Create(DCMetalQueue queue, const DCMetalCommandBufferOptions *options,
                                          DCMetalCommandBuffer *command_buffer, DCMetalError *error) {
  if (command_buffer) *command_buffer = nullptr;
  const DCMetalCommandBufferOptions wanted = options ? *options : DCMetalCommandBufferOptions{};
#ifndef __APPLE__
  static const Class hosts = NSClassFromString(@"HostMTLCommandQueue");
  if (queue && command_buffer && object_getClass(in(queue)) == hosts) {
    return hot_entry(error, [=] {
      const MTLCommandBufferErrorOption told =
          wanted.encoder_info ? MTLCommandBufferErrorOptionEncoderExecutionStatus : MTLCommandBufferErrorOptionNone;
      id<MTLCommandBuffer> object =
          [(id<HostMTLMaking>)in(queue) newCommandBufferRetaining:!wanted.unretained_references errorOptions:told];
      if (!object) return none_made(error);
      Owned<id<MTLCommandBuffer>> owned = {object};
      DCMetalCommandBuffer made = new (std::nothrow) DCMetalCommandBuffer_s(owned);
      if (!made) [object release];
      return hand_out(made, command_buffer, error);
    });
  }
#endif
  return entry(error, [=] {
    if (!queue) return null_argument(error, "queue");
    if (!command_buffer) return null_argument(error, "command_buffer");
    id<MTLCommandBuffer> object = make(in(queue), wanted);
    if (!object) return none_made(error);
    return hand_out(new (std::nothrow) DCMetalCommandBuffer_s(object), command_buffer, error);
  });
}

DCMetalStatus DCMetalCommandBuffer_SetLabel(DCMetalCommandBuffer command_buffer, const char *label) {
  return entry(nullptr, [=] {
    NSString *string = label ? text(label) : nil;
    if (!command_buffer || (label && !string)) return DC_METAL_INVALID_ARGUMENT;
    [command_buffer->object setLabel:string];
    return DC_METAL_OK;
  });
}

DCMetalStatus dcmetal::check_uncommitted(DCMetalCommandBuffer command_buffer, DCMetalError *error) {
  if (command_buffer->broken) return fail(error, DC_METAL_INVALID_STATE, "a graph was encoded by half into the command buffer");
  if (command_buffer->committed) return fail(error, DC_METAL_INVALID_STATE, "the command buffer was committed before");
  return DC_METAL_OK;
}

DCMetalStatus DCMetalCommandBuffer_Enqueue(DCMetalCommandBuffer command_buffer, DCMetalError *error) {
  return entry(error, [=] {
    if (!command_buffer) return null_argument(error, "command_buffer");
    DCMetalStatus state = check_uncommitted(command_buffer, error);
    if (state != DC_METAL_OK) return state;
    if (command_buffer->enqueued) return fail(error, DC_METAL_INVALID_STATE, "the command buffer was enqueued before");
    [command_buffer->object enqueue];
    command_buffer->enqueued = true;
    return DC_METAL_OK;
  });
}

// How a command buffer that has finished ended.
static DCMetalStatus outcome(id<MTLCommandBuffer> object, DCMetalError *error) {
  NSError *cause = [object error];
  MTLCommandBufferStatus status = [object status];
  if (status == MTLCommandBufferStatusCompleted && !cause) return DC_METAL_OK;
  if (status == MTLCommandBufferStatusError || cause) return fail(error, cause);
  return fail(error, DC_METAL_FAILED, "Metal left the command buffer in state %u", (unsigned)status);
}

DCMetalStatus DCMetalCommandBuffer_AddCompletedHandler(DCMetalCommandBuffer command_buffer,
                                                       DCMetalCompletedHandler handler, void *context,
                                                       DCMetalError *error) {
  return hot_entry(error, [=] {
    if (!command_buffer) return null_argument(error, "command_buffer");
    if (!handler) return null_argument(error, "handler");
    DCMetalStatus state = check_uncommitted(command_buffer, error);
    if (state != DC_METAL_OK) return state;
    // Its captures are locals of this body: a block must not reach through the body's own captures, which die before it.
    DCMetalCompletedHandler call = handler;
    void *with = context;
    [command_buffer->object addCompletedHandler:^(id<MTLCommandBuffer> finished) {
      DCMetalError failure = nullptr;
      DCMetalError *reason = &failure;
      // In a pool of whoever calls handlers, which gets what a failure is told with.
      DCMetalStatus status = hot_entry(reason, [=] { return outcome(finished, reason); });
      call(with, status, failure);
    }];
    return DC_METAL_OK;
  });
}

static DCMetalStatus check_event(DCMetalCommandBuffer command_buffer, DCMetalEvent event, DCMetalError *error) {
  if (!command_buffer) return null_argument(error, "command_buffer");
  if (!event) return null_argument(error, "event");
  DCMetalStatus state = check_uncommitted(command_buffer, error);
  if (state != DC_METAL_OK) return state;
  if (command_buffer->encoding) return fail(error, DC_METAL_INVALID_STATE, "an encoder of the command buffer is open");
  // What has a signaled value is shared, also between devices.
  uint64_t registry_id = [[in(event) device] registryID];
  if (![in(event) respondsToSelector:@selector(signaledValue)] &&
      registry_id != [[command_buffer->object device] registryID]) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "the event is another device's and not shared");
  }
  return DC_METAL_OK;
}

DCMetalStatus DCMetalCommandBuffer_EncodeSignalEvent(DCMetalCommandBuffer command_buffer, DCMetalEvent event,
                                                     uint64_t value, DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = check_event(command_buffer, event, error);
    if (status == DC_METAL_OK) [command_buffer->object encodeSignalEvent:in(event) value:value];
    return status;
  });
}

DCMetalStatus DCMetalCommandBuffer_EncodeWaitForEvent(DCMetalCommandBuffer command_buffer, DCMetalEvent event,
                                                      uint64_t value, DCMetalError *error) {
  return entry(error, [=] {
    DCMetalStatus status = check_event(command_buffer, event, error);
    if (status == DC_METAL_OK) [command_buffer->object encodeWaitForEvent:in(event) value:value];
    return status;
  });
}

DCMetalStatus DCMetalCommandBuffer_Commit(DCMetalCommandBuffer command_buffer, DCMetalError *error) {
  DCMetalStatus status = entry(error, [=] {
    if (!command_buffer) return null_argument(error, "command_buffer");
    if (command_buffer->encoding) return fail(error, DC_METAL_INVALID_STATE, "an encoder of the command buffer is open");
    // Of two threads one commits.
    if (command_buffer->broken || command_buffer->committed.exchange(true)) return check_uncommitted(command_buffer, error);
    if (command_buffer->indirect) {
      // Also where it is not committed after all, and the block goes without having been called.
      Kept<IndirectUses *> uses(share(command_buffer->indirect));
      [command_buffer->object addCompletedHandler:^(id<MTLCommandBuffer>) {
        IndirectUses *kept = uses.get();
        drop([=] { kept->end(); });
      }];
    }
    [command_buffer->object commit];
    return DC_METAL_OK;
  });
  // Raised by the commit itself: nothing was submitted.
  if (status == DC_METAL_EXCEPTION || status == DC_METAL_OUT_OF_MEMORY) command_buffer->committed = false;
  return status;
}

DCMetalStatus DCMetalCommandBuffer_WaitUntilScheduled(DCMetalCommandBuffer command_buffer, DCMetalError *error) {
  return entry(error, [=] {
    if (!command_buffer) return null_argument(error, "command_buffer");
    if (!command_buffer->committed) return fail(error, DC_METAL_INVALID_STATE, "the command buffer is not committed");
    [command_buffer->object waitUntilScheduled];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalCommandBuffer_WaitUntilCompleted(DCMetalCommandBuffer command_buffer, DCMetalError *error) {
  return entry(error, [=] {
    if (!command_buffer) return null_argument(error, "command_buffer");
    if (!command_buffer->committed) return fail(error, DC_METAL_INVALID_STATE, "the command buffer is not committed");
    [command_buffer->object waitUntilCompleted];
    // Its handlers may not have been called yet.
    if (command_buffer->indirect) command_buffer->indirect->end();
    return outcome(command_buffer->object, error);
  });
}

DCMetalCommandBufferStatus DCMetalCommandBuffer_GetStatus(DCMetalCommandBuffer command_buffer) {
  if (!command_buffer) return DC_METAL_COMMAND_BUFFER_ERROR;
  return ask(DC_METAL_COMMAND_BUFFER_ERROR, [=] {
    MTLCommandBufferStatus status = [command_buffer->object status];
    if (status >= MTLCommandBufferStatusCompleted && command_buffer->indirect) command_buffer->indirect->end();
    return (DCMetalCommandBufferStatus)status;
  });
}

DCMetalError DCMetalCommandBuffer_CreateError(DCMetalCommandBuffer command_buffer) {
  if (!command_buffer) return nullptr;
  return ask(DCMetalError(nullptr), [=] {
    DCMetalError error = nullptr;
    if ([command_buffer->object status] == MTLCommandBufferStatusError) (void)fail(&error, [command_buffer->object error]);
    return error;
  });
}

DCMetalStatus DCMetalCommandBuffer_GetGPUTimes(DCMetalCommandBuffer command_buffer, double *start, double *end) {
  if (start) *start = 0;
  if (end) *end = 0;
  return entry(nullptr, [=] {
    if (!command_buffer || !start || !end) return DC_METAL_INVALID_ARGUMENT;
    if ([command_buffer->object status] < MTLCommandBufferStatusCompleted) return DC_METAL_INVALID_STATE;
    double from = [command_buffer->object GPUStartTime], to = [command_buffer->object GPUEndTime];
    // Some systems leave zeros; no time is invented for them.
    if (!(from > 0) || !(to >= from)) return DC_METAL_UNSUPPORTED;
    *start = from;
    *end = to;
    return DC_METAL_OK;
  });
}

DCMetalCommandBuffer_s::~DCMetalCommandBuffer_s() {
  if (indirect && !committed) indirect->end();
  unshare(indirect);
}

void DCMetalCommandBuffer_Release(DCMetalCommandBuffer command_buffer) {
  hot_drop([=] { unshare(command_buffer); });
}
