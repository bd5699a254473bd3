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

/// A kernel on the first OpenCL device over inputs and an output, all in words of 32 bits, and a number: its last arguments.
pub struct Work {
    name: String,
    queue: CommandQueue,
    kernel: Kernel,
    inputs: Vec<Buffer<cl_uint>>,
    output: Buffer<cl_uint>,
    words: usize,
    number: cl_uint,
    global: [usize; 3],
    local: [usize; 3],
}

impl Work {
    /// Builds `source` as fast mathematics allows, and copies the inputs; `None` without an OpenCL implementation.
    ///
    /// # Panics
    /// When there is one and it fails.
    pub fn open(
        source: &str,
        kernel: &str,
        inputs: &[&[u32]],
        words: usize,
        number: u32,
        global: [usize; 3],
        local: [usize; 3],
    ) -> Option<Work> {
        let id = *get_all_devices(CL_DEVICE_TYPE_ALL).ok()?.first()?;
        let device = Device::new(id);
        let context = Context::from_device(&device).expect("an OpenCL context");
        let queue = CommandQueue::create_default_with_properties(&context, 0, 0).expect("an OpenCL queue");
        let options = "-cl-fast-relaxed-math -cl-mad-enable";
        let program = Program::create_and_build_from_source(&context, source, options).expect("an OpenCL program");
        let kernel = Kernel::create(&program, kernel).expect("an OpenCL kernel");
        let create = |length: usize| {
            // SAFETY: no host memory is passed.
            unsafe { Buffer::<cl_uint>::create(&context, CL_MEM_READ_WRITE, length, null_mut()) }
                .expect("an OpenCL buffer")
        };
        let copied = inputs.iter().map(|input| {
            let mut buffer = create(input.len());
            // SAFETY: the write is blocking, so the source outlives it.
            unsafe { queue.enqueue_write_buffer(&mut buffer, CL_BLOCKING, 0, input, &[]) }.expect("an OpenCL write");
            buffer
        });
        let inputs = copied.collect();
        let name = device.name().expect("an OpenCL device name").trim().to_owned();
        Some(Work { name, queue, kernel, inputs, output: create(words), words, number, global, local })
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs the kernel and waits for it.
    ///
    /// # Panics
    /// When it fails.
    pub fn run(&self) {
        let mut launch = ExecuteKernel::new(&self.kernel);
        for input in self.inputs.iter().chain([&self.output]) {
            // SAFETY: the kernel's arguments are buffers but for the last one.
            unsafe { launch.set_arg(input) };
        }
        // SAFETY: the kernel's last argument is a number.
        unsafe { launch.set_arg(&self.number) };
        let dimensions = if self.global[1] > 1 { 2 } else { 1 };
        launch.set_global_work_sizes(&self.global[..dimensions]).set_local_work_sizes(&self.local[..dimensions]);
        // SAFETY: the arguments are set, and the caller's kernel stays in its buffers.
        unsafe { launch.enqueue_nd_range(&self.queue) }.expect("an OpenCL launch");
        self.queue.finish().expect("clFinish");
    }

    /// Sets every word of the output.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write_output(&mut self, word: u32) {
        let words = vec![word; self.words];
        // SAFETY: the write is blocking, so the source outlives it.
        unsafe { self.queue.enqueue_write_buffer(&mut self.output, CL_BLOCKING, 0, &words, &[]) }
            .expect("an OpenCL write");
    }

    /// The output.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn read_output(&self) -> Vec<u32> {
        let mut output = vec![0; self.words];
        // SAFETY: the read is blocking, so the destination outlives it.
        unsafe { self.queue.enqueue_read_buffer(&self.output, CL_BLOCKING, 0, &mut output, &[]) }
            .expect("an OpenCL read");
        output
    }
}
