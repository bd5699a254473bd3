//! Events: shared ones are signaled by the host and by command buffers, the others by command buffers alone. Fences: between the encoders of a queue.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use super::command::CommandBuffer;
use super::{Device, Failure, check, handle};
use crate::sys;

handle!(
    /// `MTLSharedEvent`.
    DCMetalSharedEvent,
    DCMetalSharedEvent_Release
);

handle!(
    /// `MTLEvent`.
    DCMetalEvent,
    DCMetalEvent_Release
);

handle!(
    /// `MTLFence`.
    DCMetalFence,
    DCMetalFence_Release
);

pub(crate) type SharedEvent = DCMetalSharedEvent;
pub(crate) type DeviceEvent = DCMetalEvent;
pub(crate) type Fence = DCMetalFence;

// SAFETY: DCMetal.h: events "may be used from any thread at once"; Apple documents shared events for use between threads,
// devices and processes.
unsafe impl Send for DCMetalSharedEvent {}
// SAFETY: as for Send.
unsafe impl Sync for DCMetalSharedEvent {}
// SAFETY: DCMetal.h: events "may be used from any thread at once".
unsafe impl Send for DCMetalEvent {}
// SAFETY: as for Send.
unsafe impl Sync for DCMetalEvent {}

// SAFETY: DCMetal.h: fences "may be used from any thread at once".
unsafe impl Send for DCMetalFence {}
// SAFETY: as for Send.
unsafe impl Sync for DCMetalFence {}

/// Runs with the event's value when that is large enough, or with `None` when the event has gone.
pub(crate) type Reached = Box<dyn FnOnce(Option<u64>) + Send>;

impl DCMetalSharedEvent {
    pub(crate) fn new(device: &Device) -> Result<SharedEvent, Failure> {
        let (mut event, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live handle; the out-parameters are valid for the call.
        let status = unsafe { sys::DCMetalSharedEvent_Create(device.0, &mut event, &mut error) };
        check(status, error)?;
        Ok(DCMetalSharedEvent(event))
    }

    pub(crate) fn value(&self) -> u64 {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalSharedEvent_GetSignaledValue(self.0) }
    }

    /// Makes the value at least `value`.
    pub(crate) fn signal(&self, value: u64) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: a live handle; the out-parameter is valid for the call.
        let status = unsafe { sys::DCMetalSharedEvent_SetSignaledValue(self.0, value, &mut error) };
        check(status, error)
    }

    /// Sleeps until it has the value, for at most so many milliseconds; whether it has.
    pub(crate) fn wait(&self, value: u64, milliseconds: u64) -> Result<bool, Failure> {
        let (mut reached, mut error) = (false, ptr::null_mut());
        // SAFETY: a live handle; the out-parameters are valid for the call.
        let status = unsafe { sys::DCMetalSharedEvent_Wait(self.0, value, milliseconds, &mut reached, &mut error) };
        check(status, error)?;
        Ok(reached)
    }

    /// `reached` runs exactly once, on a thread of Metal's or on the one that lets the event go.
    pub(crate) fn notify(&self, value: u64, reached: Reached) -> Result<(), Failure> {
        let context = Box::into_raw(Box::new(reached));
        let mut error = ptr::null_mut();
        // SAFETY: a live handle; `told` takes the box back, and DCMetal.h promises one call.
        let status = unsafe { sys::DCMetalSharedEvent_Notify(self.0, value, Some(told), context.cast(), &mut error) };
        check(status, error).inspect_err(|_| {
            // SAFETY: "When this fails the handler is not called" (DCMetal.h), so the box is still ours.
            drop(unsafe { Box::from_raw(context) });
        })
    }

    /// Encodes that it gets the value when what was encoded before has finished. No encoder is open.
    pub(crate) fn encode_signal(&self, command_buffer: &mut CommandBuffer, value: u64) -> Result<(), Failure> {
        // SAFETY: a live handle; the result is the same object, borrowed from it.
        let event = unsafe { sys::DCMetalSharedEvent_AsEvent(self.0) };
        encode_signal(event, command_buffer, value)
    }

    /// Encodes that what comes later starts when it has the value. No encoder is open.
    pub(crate) fn encode_wait(&self, command_buffer: &mut CommandBuffer, value: u64) -> Result<(), Failure> {
        // SAFETY: a live handle; the result is the same object, borrowed from it.
        let event = unsafe { sys::DCMetalSharedEvent_AsEvent(self.0) };
        encode_wait(event, command_buffer, value)
    }
}

impl DCMetalEvent {
    pub(crate) fn new(device: &Device) -> Result<DeviceEvent, Failure> {
        let (mut event, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live handle; the out-parameters are valid for the call.
        let status = unsafe { sys::DCMetalEvent_Create(device.0, &mut event, &mut error) };
        check(status, error)?;
        Ok(DCMetalEvent(event))
    }

    /// Encodes that what comes later starts when what was encoded before, in this command buffer and in those committed before it, has
    /// finished. No encoder is open; no value is given twice.
    pub(crate) fn encode_barrier(&self, command_buffer: &mut CommandBuffer, value: u64) -> Result<(), Failure> {
        encode_signal(self.0, command_buffer, value)?;
        encode_wait(self.0, command_buffer, value)
    }
}

impl DCMetalFence {
    pub(crate) fn new(device: &Device) -> Result<Fence, Failure> {
        let (mut fence, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live handle; the out-parameters are valid for the call.
        let status = unsafe { sys::DCMetalFence_Create(device.0, &mut fence, &mut error) };
        check(status, error)?;
        Ok(DCMetalFence(fence))
    }
}

fn encode_signal(event: sys::DCMetalEvent, command_buffer: &mut CommandBuffer, value: u64) -> Result<(), Failure> {
    let mut error = ptr::null_mut();
    // SAFETY: live handles; the out-parameter is valid for the call. The caller keeps the event until completion.
    let status = unsafe { sys::DCMetalCommandBuffer_EncodeSignalEvent(command_buffer.0, event, value, &mut error) };
    check(status, error)
}

fn encode_wait(event: sys::DCMetalEvent, command_buffer: &mut CommandBuffer, value: u64) -> Result<(), Failure> {
    let mut error = ptr::null_mut();
    // SAFETY: live handles; the out-parameter is valid for the call. The caller keeps the event until completion.
    let status = unsafe { sys::DCMetalCommandBuffer_EncodeWaitForEvent(command_buffer.0, event, value, &mut error) };
    check(status, error)
}

/// The one function Metal calls. A panic must not leave it: it would abort the process.
unsafe extern "C" fn told(context: *mut c_void, status: sys::DCMetalStatus, value: u64) {
    // SAFETY: `context` is the box of `notify`, and this is the one call that gets it.
    let reached = unsafe { Box::from_raw(context.cast::<Reached>()) };
    let value = (status == sys::DC_METAL_OK).then_some(value);
    // The user's code; the panic hook has reported it, and there is no caller to tell.
    let _ = catch_unwind(AssertUnwindSafe(|| reached(value)));
}
