//! The peer: an OpenCL implementation for the CPU (PoCL), through the system's OpenCL loader.

use std::ptr::null_mut;

use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device, get_all_devices};
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE};
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_uint};

/// One kernel on the first OpenCL device, with a buffer of one number as its argument.
pub struct Peer {
    name: String,
    queue: CommandQueue,
    kernel: Kernel,
    number: Buffer<cl_uint>,
}

impl Peer {
    /// Builds `source` on the first device there is; `None` without an OpenCL implementation.
    ///
    /// # Panics
    /// When there is one and it fails.
    pub fn open(source: &str, kernel: &str) -> Option<Peer> {
        let id = *get_all_devices(CL_DEVICE_TYPE_ALL).ok()?.first()?;
        let device = Device::new(id);
        let context = Context::from_device(&device).expect("an OpenCL context");
        let queue = CommandQueue::create_default_with_properties(&context, 0, 0).expect("an OpenCL queue");
        let program = Program::create_and_build_from_source(&context, source, "").expect("an OpenCL program");
        let kernel = Kernel::create(&program, kernel).expect("an OpenCL kernel");
        // SAFETY: no host memory is passed.
        let mut number =
            unsafe { Buffer::<cl_uint>::create(&context, CL_MEM_READ_WRITE, 1, null_mut()) }.expect("an OpenCL buffer");
        // SAFETY: the write is blocking, so the source outlives it.
        unsafe { queue.enqueue_write_buffer(&mut number, CL_BLOCKING, 0, &[0], &[]) }.expect("an OpenCL write");
        let name = device.name().expect("an OpenCL device name");
        Some(Peer { name: name.trim().to_owned(), queue, kernel, number })
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs the kernel with one work-item and waits for it: clEnqueueNDRangeKernel and clFinish.
    ///
    /// # Panics
    /// When it fails.
    pub fn run(&self) {
        let mut launch = ExecuteKernel::new(&self.kernel);
        // SAFETY: the kernel's one argument is a buffer of one number.
        unsafe { launch.set_arg(&self.number) };
        launch.set_global_work_size(1).set_local_work_size(1);
        // SAFETY: the argument is set, and the kernel stays in its buffer.
        unsafe { launch.enqueue_nd_range(&self.queue) }.expect("an OpenCL launch");
        self.queue.finish().expect("clFinish");
    }

    /// The number in the buffer.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn number(&self) -> u32 {
        let mut number = [0];
        // SAFETY: the read is blocking, so the destination outlives it.
        unsafe { self.queue.enqueue_read_buffer(&self.number, CL_BLOCKING, 0, &mut number, &[]) }
            .expect("an OpenCL read");
        number[0]
    }
}
