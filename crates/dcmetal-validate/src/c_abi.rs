//! A device, a queue and a kernel behind the C ABI, each call checked; failures end the measurement with Metal's words.

use std::ffi::CString;
use std::ptr::null_mut;

use dcmetal_sys::*;

/// Ends the measurement unless `status` is OK.
fn check(status: DCMetalStatus, error: DCMetalError, call: &str) {
    if status == DC_METAL_OK {
        return;
    }
    let mut text = vec![0u8; 4096];
    // SAFETY: error is null or owned by us; the buffer has the length given.
    let length = unsafe { DCMetalError_GetMessage(error, text.as_mut_ptr().cast(), text.len()) };
    text.truncate(length.min(4095));
    panic!("{call}: {}", String::from_utf8_lossy(&text));
}

/// An owned handle, released when dropped.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident($handle:ident), $release:ident) => {
        $(#[$doc])*
        pub struct $name($handle);

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: owned by us, not used again.
                unsafe { $release(self.0) };
            }
        }
    };
}
handle!(
    /// A compute pipeline.
    Pipeline(DCMetalPipeline),
    DCMetalPipeline_Release
);
handle!(
    /// A shared buffer.
    Buffer(DCMetalBuffer),
    DCMetalBuffer_Release
);
handle!(
    /// A command buffer that is not committed.
    CommandBuffer(DCMetalCommandBuffer),
    DCMetalCommandBuffer_Release
);

/// A device with a queue.
pub struct Device {
    device: DCMetalDevice,
    queue: DCMetalQueue,
}

impl Device {
    /// The default device with a queue of its own.
    ///
    /// # Panics
    /// When there is no device.
    pub fn open() -> Device {
        let (mut device, mut queue, mut error) = (null_mut(), null_mut(), null_mut());
        // SAFETY: the out-pointers are valid.
        check(unsafe { DCMetalDevice_CreateSystemDefault(&mut device, &mut error) }, error, "device");
        // SAFETY: device was just created; the out-pointers are valid.
        check(unsafe { DCMetalQueue_Create(device, 0, &mut queue, &mut error) }, error, "queue");
        Device { device, queue }
    }

    /// Compiles `source` and returns its kernel `name` as a pipeline.
    ///
    /// # Panics
    /// When it does not compile.
    pub fn pipeline(&self, source: &str, name: &str) -> Pipeline {
        let (mut library, mut function, mut pipeline, mut error) = (null_mut(), null_mut(), null_mut(), null_mut());
        let name = CString::new(name).expect("a name without NUL");
        // SAFETY: the source is passed with its length; out-pointers are valid.
        let status = unsafe {
            DCMetalLibrary_CreateWithSource(
                self.device,
                source.as_ptr().cast(),
                source.len(),
                null_mut(),
                &mut library,
                &mut error,
            )
        };
        check(status, error, "library");
        // SAFETY: library was just created; name is terminated; out-pointers are valid.
        let status = unsafe { DCMetalFunction_Create(library, name.as_ptr(), null_mut(), &mut function, &mut error) };
        check(status, error, "function");
        // SAFETY: device and function are alive; options may be null; out-pointers are valid.
        let status =
            unsafe { DCMetalPipeline_Create(self.device, function, std::ptr::null(), &mut pipeline, &mut error) };
        check(status, error, "pipeline");
        // SAFETY: owned by us, not used again.
        unsafe { DCMetalFunction_Release(function) };
        // SAFETY: owned by us, not used again.
        unsafe { DCMetalLibrary_Release(library) };
        Pipeline(pipeline)
    }

    /// A zero-filled shared buffer.
    ///
    /// # Panics
    /// When there is no memory.
    pub fn buffer(&self, length: u64) -> Buffer {
        let (mut buffer, mut error) = (null_mut(), null_mut());
        // SAFETY: device is alive; out-pointers are valid.
        let status = unsafe {
            DCMetalBuffer_Create(
                self.device,
                length,
                DC_METAL_STORAGE_SHARED,
                DC_METAL_CACHE_DEFAULT,
                &mut buffer,
                &mut error,
            )
        };
        check(status, error, "buffer");
        Buffer(buffer)
    }

    /// A new command buffer of the queue.
    ///
    /// # Panics
    /// When Metal makes none.
    pub fn command_buffer(&self) -> CommandBuffer {
        let (mut command_buffer, mut error) = (null_mut(), null_mut());
        // SAFETY: queue is alive; options may be null; out-pointers are valid.
        let status =
            unsafe { DCMetalCommandBuffer_Create(self.queue, std::ptr::null(), &mut command_buffer, &mut error) };
        check(status, error, "command buffer");
        CommandBuffer(command_buffer)
    }

    /// Encodes `dispatches` dispatches of one thread each, with `buffer` at index 0, into `command_buffer`.
    ///
    /// # Panics
    /// When Metal refuses.
    pub fn encode(&self, command_buffer: &mut CommandBuffer, pipeline: &Pipeline, buffer: &Buffer, dispatches: u64) {
        let (mut encoder, mut error) = (null_mut(), null_mut());
        let one = DCMetalSize { width: 1, height: 1, depth: 1 };
        // SAFETY: command_buffer is uncommitted and alive; out-pointers are valid.
        let status = unsafe {
            DCMetalComputeEncoder_Create(command_buffer.0, DC_METAL_DISPATCH_SERIAL, &mut encoder, &mut error)
        };
        check(status, error, "encoder");
        // SAFETY: encoder and pipeline are alive.
        check(unsafe { DCMetalComputeEncoder_SetPipeline(encoder, pipeline.0, &mut error) }, error, "set pipeline");
        // SAFETY: encoder and buffer are alive.
        check(unsafe { DCMetalComputeEncoder_SetBuffer(encoder, buffer.0, 0, 0, &mut error) }, error, "set buffer");
        for _ in 0..dispatches {
            // SAFETY: encoder is open.
            check(unsafe { DCMetalComputeEncoder_DispatchThreads(encoder, one, one, &mut error) }, error, "dispatch");
        }
        // SAFETY: encoder is open.
        check(unsafe { DCMetalComputeEncoder_EndEncoding(encoder, &mut error) }, error, "end");
        // SAFETY: owned by us, not used again.
        unsafe { DCMetalComputeEncoder_Release(encoder) };
    }

    /// Commits `command_buffer` and waits for it.
    ///
    /// # Panics
    /// When it fails.
    pub fn finish(&self, command_buffer: CommandBuffer) {
        let mut error = null_mut();
        // SAFETY: command_buffer is alive and uncommitted.
        check(unsafe { DCMetalCommandBuffer_Commit(command_buffer.0, &mut error) }, error, "commit");
        // SAFETY: command_buffer is alive and committed.
        check(unsafe { DCMetalCommandBuffer_WaitUntilCompleted(command_buffer.0, &mut error) }, error, "wait");
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: owned by us, not used again.
        unsafe { DCMetalQueue_Release(self.queue) };
        // SAFETY: owned by us, not used again.
        unsafe { DCMetalDevice_Release(self.device) };
    }
}

impl Buffer {
    /// The first number in it. Every command buffer of this module has completed before anybody can ask.
    pub fn first_u32(&self) -> u32 {
        // SAFETY: the buffer is alive.
        let contents = unsafe { DCMetalBuffer_GetContents(self.0) };
        // SAFETY: a shared buffer of at least four bytes, page aligned; `finish` waits, so the device is idle.
        unsafe { contents.cast::<u32>().read() }
    }
}
