//! The peer itself: a program on the first OpenCL device, through the system's OpenCL loader.
//!
//! Runs in a process of its own ([`serve`]): one line of JSON per job in, one per answer out. What kernels print goes to
//! standard output as well, so an answer begins with [`MARK`]; what comes before it was printed.

use std::ffi::c_void;
use std::io::{BufRead, Write};
use std::ptr::null;

use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device, get_all_devices};
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_COPY_HOST_PTR, CL_MEM_READ_WRITE, ClMem, Image, Sampler};
use opencl3::program::Program as ClProgram;
use opencl3::types::CL_BLOCKING;
use serde::{Deserialize, Serialize};

use crate::image::{self, Shape};
use crate::job::{self, Launch, Outputs, Program, Value};

/// ASCII's record separator, which JSON has not and generated programs do not print.
pub(crate) const MARK: u8 = 0x1E;

/// What the peer is asked for.
#[derive(Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) program: Program,
    pub(crate) launches: Vec<Launch>,
}

/// What it answers: one of the first three, and after `Built` one of the last two for each launch.
#[derive(Serialize, Deserialize)]
pub(crate) enum Answer {
    /// There is no OpenCL implementation.
    Missing(String),
    NotBuilt(String),
    Built,
    Ran(Outputs),
    Failed(String),
}

/// Answers jobs from standard input on standard output until the input ends. The whole life of a peer's process.
///
/// # Errors
/// When standard input or output fails, or a line is no job.
pub fn serve() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut device = None;
    for line in std::io::stdin().lock().lines() {
        let job: Job = serde_json::from_str(&line?)?;
        if device.is_none() {
            device = Some(OpenCl::open());
        }
        match device.as_ref().expect("it was opened") {
            Err(text) => answer(&mut out, &Answer::Missing(text.clone()))?,
            Ok(device) => match device.build(&job.program) {
                Err(log) => answer(&mut out, &Answer::NotBuilt(log))?,
                Ok(program) => {
                    answer(&mut out, &Answer::Built)?;
                    for launch in &job.launches {
                        let ran = device.run(&program, launch);
                        answer(&mut out, &ran.map_or_else(Answer::Failed, Answer::Ran))?;
                    }
                }
            },
        }
    }
    Ok(())
}

fn answer(out: &mut impl Write, answer: &Answer) -> std::io::Result<()> {
    out.write_all(&[MARK])?;
    serde_json::to_writer(&mut *out, answer)?;
    out.write_all(b"\n")?;
    out.flush()
}

struct OpenCl {
    device: Device,
    context: Context,
    queue: CommandQueue,
}

/// Memory that an argument refers to.
enum Filled {
    Buffer(Buffer<u8>, usize),
    Image(Image, Shape),
    /// An image made from the buffer.
    BufferImage(Image, Buffer<u8>, usize),
    Sampler(#[expect(dead_code, reason = "it is released when the launch has ended")] Sampler),
}

impl OpenCl {
    /// The first device there is.
    fn open() -> Result<OpenCl, String> {
        let ids = get_all_devices(CL_DEVICE_TYPE_ALL).map_err(|error| format!("no OpenCL device: {error}"))?;
        let device = Device::new(*ids.first().ok_or("no OpenCL device")?);
        let context = Context::from_device(&device).map_err(|error| format!("clCreateContext: {error}"))?;
        let queue = CommandQueue::create_default_with_properties(&context, 0, 0)
            .map_err(|error| format!("clCreateCommandQueue: {error}"))?;
        Ok(OpenCl { device, context, queue })
    }

    fn build(&self, program: &Program) -> Result<ClProgram, String> {
        let mut built = ClProgram::create_from_source(&self.context, &program.text())
            .map_err(|error| format!("clCreateProgramWithSource: {error}"))?;
        let folders = program.include.iter().map(|folder| format!(" -I {}", folder.display()));
        // The peer has `double`.
        let options = program.options.replace("--fp64 emulate", "");
        let options = format!("{options} {}{}", program.peer_options, folders.collect::<String>());
        built.build(&[self.device.id()], &options).map_err(|error| {
            let log = built.get_build_log(self.device.id()).unwrap_or_default();
            format!("{error}\n{log}")
        })?;
        Ok(built)
    }

    fn run(&self, program: &ClProgram, launch: &Launch) -> Result<Outputs, String> {
        let kernel = Kernel::create(program, &launch.kernel).map_err(|error| format!("clCreateKernel: {error}"))?;
        let filled = self.set(&kernel, &launch.args)?;
        let sizes = |sizes: [u64; 3]| sizes.map(|size| usize::try_from(size).unwrap_or(usize::MAX));
        let (grid, group) = (sizes(launch.grid), sizes(launch.group));
        // SAFETY: the sizes have as many numbers as there are dimensions; every argument is set, and its memory lives until
        // the kernel has ended. What the kernel itself does is why this is a process of its own.
        let done = unsafe {
            let (grid, group) = (grid.as_ptr(), group.as_ptr());
            self.queue.enqueue_nd_range_kernel(kernel.get(), launch.dimensions, null(), grid, group, &[])
        };
        done.map_err(|error| format!("clEnqueueNDRangeKernel: {error}"))?;
        self.queue.finish().map_err(|error| format!("clFinish: {error}"))?;
        filled.iter().map(|filled| filled.as_ref().map_or(Ok(None), |filled| self.read(filled))).collect()
    }

    /// Sets the arguments; returns what was made for them.
    fn set(&self, kernel: &Kernel, args: &[Value]) -> Result<Vec<Option<Filled>>, String> {
        let mut filled = Vec::new();
        for (index, value) in (0..).zip(args) {
            let error = |error: &dyn std::fmt::Display| format!("argument {index}: {error}");
            match value {
                Value::Buffer(bytes) => {
                    let buffer = self.buffer(bytes).map_err(|e| error(&e))?;
                    // SAFETY: a memory object is passed by its handle, which the argument's size is checked against.
                    unsafe { kernel.set_arg(index, &buffer.get()) }.map_err(|e| error(&e))?;
                    filled.push(Some(Filled::Buffer(buffer, bytes.len())));
                }
                Value::Bytes(bytes) => {
                    // SAFETY: the bytes are read before the call returns, which checks their number against the argument's.
                    let set = unsafe {
                        cl3::kernel::set_kernel_arg(kernel.get(), index, bytes.len(), bytes.as_ptr().cast::<c_void>())
                    };
                    set.map_err(|e| error(&format!("clSetKernelArg: error {e}")))?;
                    filled.push(None);
                }
                Value::Local(size) => {
                    // SAFETY: no memory is passed.
                    unsafe { kernel.set_arg_local_buffer(index, *size) }.map_err(|e| error(&e))?;
                    filled.push(None);
                }
                Value::Image(given) => {
                    let made = self.image(given).map_err(|e| error(&e))?;
                    let (Filled::Image(image, _) | Filled::BufferImage(image, ..)) = &made else {
                        unreachable!("an image was made")
                    };
                    // SAFETY: as for a buffer.
                    unsafe { kernel.set_arg(index, &image.get()) }.map_err(|e| error(&e))?;
                    filled.push(Some(made));
                }
                Value::Sampler(bits) => {
                    let (normalized, address, filter) = image::sampler(*bits);
                    let sampler = Sampler::create(&self.context, normalized, address, filter).map_err(|e| error(&e))?;
                    // SAFETY: as for a buffer.
                    unsafe { kernel.set_arg(index, &sampler.get()) }.map_err(|e| error(&e))?;
                    filled.push(Some(Filled::Sampler(sampler)));
                }
            }
        }
        Ok(filled)
    }

    fn buffer(&self, bytes: &[u8]) -> Result<Buffer<u8>, String> {
        let flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
        let from = bytes.as_ptr().cast_mut().cast::<c_void>();
        // SAFETY: `bytes` is read, at its length, before the call returns.
        let buffer = unsafe { Buffer::<u8>::create(&self.context, flags, bytes.len(), from) };
        buffer.map_err(|error| error.to_string())
    }

    fn image(&self, given: &job::Image) -> Result<Filled, String> {
        let shape = Shape::of(given)?;
        if shape.texels() * shape.texel != given.bytes.len() {
            return Err(format!("{} bytes for {given:?}", given.bytes.len()));
        }
        let mut desc = shape.desc();
        if shape.is_buffer() {
            let buffer = self.buffer(&given.bytes)?;
            desc.buffer = buffer.get();
            // SAFETY: the description is whole, and the buffer it names lives as long as the image.
            let image = unsafe {
                Image::create(&self.context, CL_MEM_READ_WRITE, &shape.format, &desc, null::<c_void>().cast_mut())
            };
            let image = image.map_err(|error| format!("clCreateImage: {error}"))?;
            return Ok(Filled::BufferImage(image, buffer, given.bytes.len()));
        }
        let flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
        let from = given.bytes.as_ptr().cast_mut().cast::<c_void>();
        // SAFETY: the texels are read before the call returns, and their number was checked.
        let image = unsafe { Image::create(&self.context, flags, &shape.format, &desc, from) };
        Ok(Filled::Image(image.map_err(|error| format!("clCreateImage: {error}"))?, shape))
    }

    /// What is in it after the launch, if it has anything in it.
    fn read(&self, filled: &Filled) -> Result<Option<Vec<u8>>, String> {
        match filled {
            Filled::Sampler(_) => Ok(None),
            Filled::Buffer(buffer, size) | Filled::BufferImage(_, buffer, size) => {
                let mut bytes = vec![0; *size];
                // SAFETY: the read is blocking, so `bytes` outlives it; the buffer has its size.
                let read = unsafe { self.queue.enqueue_read_buffer(buffer, CL_BLOCKING, 0, &mut bytes, &[]) };
                read.map_err(|error| format!("clEnqueueReadBuffer: {error}"))?;
                Ok(Some(bytes))
            }
            Filled::Image(image, shape) => {
                let mut bytes = vec![0u8; shape.texels() * shape.texel];
                let (origin, region) = ([0usize; 3], shape.region());
                let into = bytes.as_mut_ptr().cast::<c_void>();
                // SAFETY: the read is blocking; `bytes` has room for the region's texels without gaps.
                let read = unsafe {
                    self.queue.enqueue_read_image(image, CL_BLOCKING, origin.as_ptr(), region.as_ptr(), 0, 0, into, &[])
                };
                read.map_err(|error| format!("clEnqueueReadImage: {error}"))?;
                Ok(Some(bytes))
            }
        }
    }
}
