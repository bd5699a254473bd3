//! A Metal device with a queue: where everything begins.

use std::fmt;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use bytemuck::Pod;

use crate::command::{Ages, Marks, SharedExecutable, Slots, Urgent};
use crate::kernel::{CompiledSource, KernelFiles, Source, SourceKey};
use crate::memo::Memo;
use crate::pool::{Staging, WeakPool, make_room_for};
use crate::raw::command::Queue;
use crate::raw::graph::Described;
use crate::raw::host::lock;
use crate::raw::pages::PageVec;
use crate::raw::{Device, Failure};
use crate::sync::{Arc, AtomicBool, Mutex, Ordering, QUEUE_CAPACITY};
use crate::sys;
use crate::telemetry::{Figures, Since, Telemetry};
use crate::tensor::{OperationChoices, ProductChoices};
use crate::{
    Batch, Buffer, BufferPool, CacheStats, Compilation, CompileOptions, Error, KernelFileStats, Library, PoolLimits,
    PoolStats, Result, Size, StorageMode, Stream, StreamGroup, StreamLimits, clmsl,
};
use crate::{GraphBuilder, Sampler, SamplerDescriptor, Texture, TextureDescriptor};

/// Compiled sources that an accelerator keeps.
const SOURCES_KEPT: usize = 256;
/// Compiled graphs of Metal Performance Shaders.
const EXECUTABLES_KEPT: usize = 64;

/// A Metal device and a command queue on it. Cloning shares both.
///
/// Everything made from one accelerator belongs together: its kernels run on its buffers, in the order in which their
/// submissions were made.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// let gpu = dcmetal::Accelerator::system_default()?;
/// println!("{}: buffers of up to {} bytes", gpu.name(), gpu.limits().max_buffer_bytes);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Accelerator {
    shared: Arc<Shared>,
}

struct Shared {
    /// First, so that its memory goes before the device.
    staging: Staging,
    queue: Queue,
    device: Device,
    name: String,
    registry_id: u64,
    limits: Limits,
    /// Held from marking the buffers of a submission to its commit, so that both happen in one order.
    submitting: Mutex<()>,
    slots: Arc<Slots>,
    marks: Arc<Marks>,
    /// Batches keep what they record, for the errors of their submissions.
    history: AtomicBool,
    ages: Ages,
    urgent: Urgent,
    sources: Memo<SourceKey, Arc<CompiledSource>>,
    kernel_files: OnceLock<KernelFiles>,
    /// Which kernels are the fastest for products, as far as that was measured.
    products: ProductChoices,
    /// Which implementation is the faster for other operations, as far as that was measured.
    choices: OperationChoices,
    executables: Memo<Described, SharedExecutable>,
    telemetry: OnceLock<Arc<Figures>>,
    made: Since,
    pools: Mutex<Pools>,
}

/// The pools that were made: they tell their figures, and make room.
#[derive(Default)]
struct Pools {
    made: u64,
    /// By number, those that may live.
    list: Vec<(u64, WeakPool)>,
}

/// What a device is and can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Host and device share one memory.
    pub unified_memory: bool,
    /// The integrated GPU of a machine with two.
    pub low_power: bool,
    /// No display can be attached.
    pub headless: bool,
    /// It can be unplugged.
    pub removable: bool,
    /// Bytes that can be in use without slowing down.
    pub recommended_working_set: u64,
    /// Bytes of the largest buffer.
    pub max_buffer_bytes: u64,
    /// Bytes of threadgroup memory.
    pub max_threadgroup_memory: u64,
    /// Threads of a threadgroup in each dimension; a kernel's own limit can be lower.
    pub max_threads_per_threadgroup: Size,
}

/// A GPU family, Metal's `MTLGPUFamily`: a set of features.
/// See <https://developer.apple.com/metal/Metal-Feature-Set-Tables.pdf>.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are Apple's")]
pub enum GpuFamily {
    Apple1 = 1001,
    Apple2 = 1002,
    Apple3 = 1003,
    Apple4 = 1004,
    Apple5 = 1005,
    Apple6 = 1006,
    Apple7 = 1007,
    Apple8 = 1008,
    Apple9 = 1009,
    Mac2 = 2002,
    Common1 = 3001,
    Common2 = 3002,
    Common3 = 3003,
    Metal3 = 5001,
}

impl GpuFamily {
    /// Every family, in the order of its value.
    pub const ALL: [GpuFamily; 14] = [
        GpuFamily::Apple1,
        GpuFamily::Apple2,
        GpuFamily::Apple3,
        GpuFamily::Apple4,
        GpuFamily::Apple5,
        GpuFamily::Apple6,
        GpuFamily::Apple7,
        GpuFamily::Apple8,
        GpuFamily::Apple9,
        GpuFamily::Mac2,
        GpuFamily::Common1,
        GpuFamily::Common2,
        GpuFamily::Common3,
        GpuFamily::Metal3,
    ];
}

impl fmt::Display for GpuFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Accelerator {
    /// The device that Metal prefers.
    ///
    /// # Errors
    /// [`Error::NoDevice`] on a machine without one.
    pub fn system_default() -> Result<Accelerator> {
        let device = Device::system_default().map_err(|failure| match failure.status {
            sys::DC_METAL_NOT_FOUND => Error::NoDevice { text: failure.text },
            _ => failure.during("find the default device"),
        })?;
        Accelerator::new(device)
    }

    /// Every device of this machine; none is an empty list.
    ///
    /// # Errors
    /// [`Error::Metal`] when Metal cannot list them.
    pub fn all() -> Result<Vec<Accelerator>> {
        let devices = Device::all().map_err(|failure| failure.during("list the devices"))?;
        devices.into_iter().map(Accelerator::new).collect()
    }

    fn new(device: Device) -> Result<Accelerator> {
        let queue =
            Queue::new(&device, QUEUE_CAPACITY).map_err(|failure| failure.of_nothing(&device, "make a queue", None))?;
        let limits = Limits {
            unified_memory: device.has_unified_memory(),
            low_power: device.is_low_power(),
            headless: device.is_headless(),
            removable: device.is_removable(),
            recommended_working_set: device.recommended_working_set(),
            max_buffer_bytes: device.max_buffer_bytes(),
            max_threadgroup_memory: device.max_threadgroup_memory(),
            max_threads_per_threadgroup: device.max_threads_per_threadgroup(),
        };
        let shared = Shared {
            staging: Staging::new(limits.recommended_working_set),
            name: device.name(),
            registry_id: device.registry_id(),
            limits,
            queue,
            device,
            submitting: Mutex::default(),
            slots: Arc::default(),
            marks: Arc::default(),
            history: AtomicBool::new(false),
            ages: Ages::default(),
            urgent: Urgent::default(),
            sources: Memo::new(SOURCES_KEPT),
            kernel_files: OnceLock::new(),
            products: ProductChoices::default(),
            choices: OperationChoices::default(),
            executables: Memo::new(EXECUTABLES_KEPT),
            telemetry: OnceLock::new(),
            made: Since::default(),
            pools: Mutex::default(),
        };
        Ok(Accelerator { shared: Arc::new(shared) })
    }

    pub(crate) fn device(&self) -> &Device {
        &self.shared.device
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.shared.queue
    }

    pub(crate) fn submitting(&self) -> &Mutex<()> {
        &self.shared.submitting
    }

    /// Fences and events of graphs' batches.
    pub(crate) fn marks(&self) -> &Arc<Marks> {
        &self.shared.marks
    }

    pub(crate) fn staging(&self) -> &Staging {
        &self.shared.staging
    }

    pub(crate) fn ages(&self) -> &Ages {
        &self.shared.ages
    }

    pub(crate) fn urgent(&self) -> &Urgent {
        &self.shared.urgent
    }

    pub(crate) fn sources(&self) -> &Memo<SourceKey, Arc<CompiledSource>> {
        &self.shared.sources
    }

    /// Whether both are the same object.
    pub(crate) fn is(&self, other: &Accelerator) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// The places of its queue.
    pub(crate) fn slots(&self) -> &Arc<Slots> {
        &self.shared.slots
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Unique per device until the next start of the machine.
    pub fn registry_id(&self) -> u64 {
        self.shared.registry_id
    }

    /// What the device is and can take.
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// Whether the device has the features of a family.
    pub fn supports_family(&self, family: GpuFamily) -> bool {
        self.device().supports_family(family as i64)
    }

    /// Bytes that this process holds on the device now.
    pub fn allocated_bytes(&self) -> u64 {
        self.device().allocated_bytes()
    }

    /// Compiles Metal Shading Language with Metal's default options. A source that was compiled before with the same options
    /// is found again, the last 256 of them; [`Accelerator::source_stats`] tells.
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// let gpu = dcmetal::Accelerator::system_default()?;
    /// let library = gpu.compile_msl("kernel void nothing() {}")?;
    /// assert_eq!(library.kernel_names(), ["nothing"]);
    /// let error = gpu.compile_msl("kernel void wrong( {}").unwrap_err();
    /// assert!(matches!(error, dcmetal::Error::Compile { .. }));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Compile`] with the compiler's log.
    pub fn compile_msl(&self, source: &str) -> Result<Library> {
        self.compile_msl_with(source, &CompileOptions::default())
    }

    /// As [`Accelerator::compile_msl`], with options.
    ///
    /// # Errors
    /// [`Error::Compile`]; [`Error::Unsupported`] for a language version that this system does not know;
    /// [`Error::Metal`] for a macro whose name is no identifier.
    pub fn compile_msl_with(&self, source: &str, options: &CompileOptions) -> Result<Library> {
        Library::from_source(self, Source::Msl { text: source, options })
    }

    /// As [`Accelerator::compile_msl_with`], by a thread of its own, for at most `limit` (see [`Compilation`]).
    pub fn start_msl(&self, source: &str, options: &CompileOptions, limit: Duration) -> Compilation<Library> {
        Library::start(self, Source::Msl { text: source, options }, limit)
    }

    /// Translates OpenCL C 1.2 to MSL and compiles that.
    ///
    /// # Errors
    /// [`Error::OpenCl`] with every diagnostic of the source.
    pub fn compile_opencl(&self, source: &str) -> Result<Library> {
        self.compile_opencl_with("OpenCL source", source, &clmsl::Options::default())
    }

    /// As [`Accelerator::compile_opencl`]; `name` is the file that diagnostics show. Math is precise unless the
    /// options relax it.
    ///
    /// # Errors
    /// As [`Accelerator::compile_opencl`].
    pub fn compile_opencl_with(&self, name: &str, source: &str, options: &clmsl::Options<'_>) -> Result<Library> {
        Library::from_source(self, Source::OpenCl { name, text: source, options })
    }

    /// As [`Accelerator::compile_opencl_with`], by a thread of its own, for at most `limit` (see [`Compilation`]). With
    /// [`clmsl::Options::include`] the translation is done by the caller, who alone may call that.
    pub fn start_opencl(
        &self,
        name: &str,
        source: &str,
        options: &clmsl::Options<'_>,
        limit: Duration,
    ) -> Compilation<Library> {
        Library::start(self, Source::OpenCl { name, text: source, options }, limit)
    }

    /// Keeps compiled kernels in a folder, for later processes: a kernel whose code is there is not compiled by the device's
    /// compiler again. Kernels that were made before are not kept. It is off until it is asked for, because who may write to
    /// the folder decides what runs: it must be this user's, closed to all others, and is made so when it is not there.
    ///
    /// `limit` is of the files' bytes; those not used for longest go. Processes may share the folder, and be killed at any
    /// moment. A library is compiled from its source all the same, which Metal does quickly or finds in a cache of its own.
    /// Kernels of sources that include files, or ask for the time, are not kept. Beside a kernel stands what
    /// [`Kernel::tune`](crate::Kernel::tune) measured of it; what [`tensor::tune_product`](crate::tensor::tune_product) measured is there as well.
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// # let place = tempfile::tempdir().unwrap();
    /// # let folder = place.path().join("kernels");
    /// let gpu = dcmetal::Accelerator::system_default()?;
    /// gpu.keep_kernels(&folder, 64 << 20)?;
    /// gpu.compile_msl("kernel void nothing() {}")?.kernel("nothing")?;
    /// assert_eq!(gpu.kernel_file_stats().unwrap().written, 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::KernelFolder`] when the folder cannot be used, or another was named before.
    pub fn keep_kernels(&self, folder: impl AsRef<Path>, limit: u64) -> Result<()> {
        let folder = folder.as_ref();
        let files = KernelFiles::open(folder, limit, self.device())?;
        let named = || "this accelerator keeps its kernels in a folder already".to_owned();
        let taken = |_| Error::KernelFolder { folder: folder.to_owned(), text: named() };
        self.shared.kernel_files.set(files).map_err(taken)
    }

    pub(crate) fn kernel_files(&self) -> Option<&KernelFiles> {
        self.shared.kernel_files.get()
    }

    pub(crate) fn products(&self) -> &ProductChoices {
        &self.shared.products
    }

    pub(crate) fn choices(&self) -> &OperationChoices {
        &self.shared.choices
    }

    /// Compiled graphs of Metal Performance Shaders.
    pub(crate) fn executables(&self) -> &Memo<Described, SharedExecutable> {
        &self.shared.executables
    }

    /// What became of the kernels that were looked for in the folder of [`Accelerator::keep_kernels`]; `None` without one.
    pub fn kernel_file_stats(&self) -> Option<KernelFileStats> {
        self.kernel_files().map(KernelFiles::stats)
    }

    /// What became of the sources that were to be compiled. Sources that include files (also by a callback of
    /// [`clmsl::Options`]), or ask for the time, are compiled each time and not counted.
    pub fn source_stats(&self) -> CacheStats {
        self.shared.sources.stats()
    }

    /// A shared buffer of `len` elements of zero.
    ///
    /// # Errors
    /// [`Error::EmptyBuffer`], [`Error::BufferTooLarge`], [`Error::OutOfMemory`] when there is none after this accelerator's pools have let go of
    /// what nobody uses; [`Error::NoDevice`] when the device was removed.
    pub fn buffer_zeroed<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        self.buffer_with(len, StorageMode::Shared)
    }

    /// A buffer of `len` elements of zero in that storage mode.
    ///
    /// # Errors
    /// As [`Accelerator::buffer_zeroed`].
    pub fn buffer_with<T: Pod>(&self, len: usize, storage: StorageMode) -> Result<Buffer<T>> {
        Buffer::zeroed(self, len, storage)
    }

    /// A shared buffer with a copy of `values`.
    ///
    /// # Errors
    /// As [`Accelerator::buffer_zeroed`].
    pub fn buffer_from<T: Pod>(&self, values: &[T]) -> Result<Buffer<T>> {
        let mut buffer = self.buffer_zeroed(values.len())?;
        buffer.write_from(values)?;
        Ok(buffer)
    }

    /// A shared buffer that uses the host's pages in place. They are freed when neither the buffer nor the device
    /// needs them.
    ///
    /// # Errors
    /// As [`Accelerator::buffer_zeroed`].
    pub fn buffer_no_copy<T: Pod>(&self, memory: PageVec<T>) -> Result<Buffer<T>> {
        Buffer::no_copy(self, memory)
    }

    /// A texture whose texels are zero, in memory that the host sees.
    ///
    /// # Errors
    /// [`Error::Metal`] for sizes that Metal does not have, [`Error::BufferTooLarge`], [`Error::OutOfMemory`]; [`Error::NoDevice`] when the
    /// device was removed.
    pub fn texture(&self, descriptor: &TextureDescriptor) -> Result<Texture> {
        let mut texture = Texture::new(self, descriptor, self.texture_storage())?;
        texture.write_from(&vec![0u8; texture.size_bytes()])?;
        Ok(texture)
    }

    /// A texture with a copy of `values`, in the order of [`Texture::to_vec`].
    ///
    /// # Errors
    /// As [`Accelerator::texture`]; [`Error::TexelSize`] and [`Error::LengthMismatch`] when the values are not those of
    /// the texture.
    pub fn texture_from<T: Pod>(&self, descriptor: &TextureDescriptor, values: &[T]) -> Result<Texture> {
        let mut texture = Texture::new(self, descriptor, self.texture_storage())?;
        texture.write_from(values)?;
        Ok(texture)
    }

    fn texture_storage(&self) -> StorageMode {
        if self.shares_all() { StorageMode::Shared } else { StorageMode::Managed }
    }

    /// Whether textures and heaps can be of shared storage, as buffers can. "On non-Apple family GPUs, the shared storage mode isn't available
    /// for MTLTexture" (Apple, `storageModeShared`), on those with unified memory either; "you can only create heaps with private storage on
    /// macOS devices without Apple silicon" (Apple, `MTLHeapDescriptor.storageMode`).
    pub(crate) fn shares_all(&self) -> bool {
        self.limits().unified_memory && self.supports_family(GpuFamily::Apple1)
    }

    /// A sampler.
    ///
    /// # Errors
    /// [`Error::Metal`] for what a sampler cannot be: coordinates in pixels that repeat; and when Metal makes none.
    /// [`Error::NoDevice`] when the device was removed.
    pub fn sampler(&self, descriptor: &SamplerDescriptor) -> Result<Sampler> {
        Sampler::new(self, descriptor)
    }

    /// A pool of buffers.
    pub fn pool(&self, limits: PoolLimits) -> BufferPool {
        let pool = BufferPool::new(self, limits);
        let mut pools = lock(&self.shared.pools);
        pools.list.retain(|(_, pool)| pool.lives());
        let number = pools.made;
        pools.made += 1;
        pools.list.push((number, pool.downgrade()));
        pool
    }

    /// All that keep memory of this accelerator which nobody uses.
    fn keepers(&self) -> Vec<WeakPool> {
        let mut pools: Vec<WeakPool> = lock(&self.shared.pools).list.iter().map(|(_, pool)| pool.clone()).collect();
        pools.push(self.shared.staging.downgrade());
        pools
    }

    /// Memory that `make` makes. Before there is none, what this accelerator's pools keep and nobody uses is released.
    pub(crate) fn make<T>(&self, make: impl Fn() -> Result<T, Failure>) -> Result<T, Failure> {
        make_room_for(self.keepers().into_iter(), make)
    }

    /// Releases what this accelerator's pools keep and nobody uses.
    pub(crate) fn release_idle(&self) {
        self.keepers().iter().for_each(WeakPool::release_idle);
    }

    /// What became of the shared memory that this accelerator uses by itself: to copy to and from private buffers, and for what kernels print. It is
    /// kept for ten seconds after its last use, less where the device or the machine is short of memory, and holds at most a quarter of
    /// [`Limits::recommended_working_set`] idle.
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// # use dcmetal::*;
    /// let gpu = Accelerator::system_default()?;
    /// let mut x = gpu.buffer_with::<u32>(1000, StorageMode::Private)?;
    /// for value in 0..100 {
    ///     x.write_from(&[value; 1000])?;
    ///     assert_eq!(x.to_vec()?[999], value);
    /// }
    /// let stats = gpu.staging_stats();
    /// assert_eq!((stats.misses, stats.hits), (1, 199));
    /// # Ok(()) }
    /// ```
    pub fn staging_stats(&self) -> PoolStats {
        self.shared.staging.stats()
    }

    /// Releases idle memory of [`staging_stats`](Accelerator::staging_stats), the largest first, until at most `idle_bytes` are kept. Returns the bytes released.
    pub fn trim_staging(&self, idle_bytes: u64) -> u64 {
        self.shared.staging.trim(idle_bytes)
    }

    /// Of the pools that live, each with its number.
    pub(crate) fn pool_stats(&self) -> Vec<(u64, PoolStats)> {
        lock(&self.shared.pools).list.iter().filter_map(|(number, pool)| Some((*number, pool.stats()?))).collect()
    }

    /// Has batches and streams that begin from now on keep what they record, with all arguments, for
    /// [`SubmissionError::commands`](crate::SubmissionError::commands): to find what made a submission fail. Off at first, because
    /// the texts take longer than the recording.
    ///
    /// ```
    /// # #[cfg(target_os = "linux")]
    /// # fn main() -> dcmetal::Result<()> {
    /// # use dcmetal::*;
    /// let gpu = Accelerator::system_default()?;
    /// let source = "kernel void over(device int* y [[buffer(0)]], constant int& by [[buffer(1)]]) { y[0] = 7 / by; }";
    /// let over = gpu.compile_msl(source)?.kernel("over")?;
    /// let mut y = gpu.buffer_zeroed::<i32>(1)?;
    /// gpu.set_history(true);
    /// let failed = over.launch(Grid::linear(1), args![&mut y, 0])?.wait();
    /// let Err(Error::Submission(error)) = failed else { panic!("hostmetal refuses to divide by zero") };
    /// let line = "0: over, 1x1x1 threads in threadgroups of 1x1x1: y = bytes 0 to 4 of a buffer of 4, by = i32 0";
    /// assert_eq!(error.commands, [line]);
    /// eprintln!("{error:#}");
    /// # Ok(()) }
    /// # #[cfg(not(target_os = "linux"))]
    /// # fn main() {}
    /// ```
    pub fn set_history(&self, keep: bool) {
        self.shared.history.store(keep, Ordering::Relaxed);
    }

    pub(crate) fn keeps_history(&self) -> bool {
        self.shared.history.load(Ordering::Relaxed)
    }

    /// Begins to count and measure, at the first call, and gives what was counted: see [`telemetry`](crate::telemetry).
    pub fn telemetry(&self) -> Telemetry {
        Telemetry::new(self, self.shared.telemetry.get_or_init(Arc::default))
    }

    /// When it was made.
    pub(crate) fn made(&self) -> SystemTime {
        self.shared.made.0
    }

    /// Where to count, if telemetry was asked for.
    pub(crate) fn figures(&self) -> Option<&Arc<Figures>> {
        self.shared.telemetry.get()
    }

    /// A batch to record launches, copies and fills in.
    ///
    /// Waits while the queue is full of submissions in flight.
    ///
    /// # Errors
    /// [`Error::TooManyBatches`] when too many are open; [`Error::QueueFull`] when the queue is full and waits for an event that nothing submitted signals.
    pub fn batch(&self) -> Result<Batch> {
        Batch::new(self)
    }

    /// Begins a graph: launches, copies, fills and steps of the host's that are ordered by what they read and write, and run again and again.
    pub fn graph(&self) -> GraphBuilder {
        GraphBuilder::new(self)
    }

    /// A stream of launches, copies and fills, which makes batches of them by itself.
    pub fn stream(&self, limits: StreamLimits) -> Stream {
        Stream::new(self, limits)
    }

    /// As many streams with the same limits each, to be used together.
    ///
    /// # Panics
    /// When that is none.
    pub fn stream_group(&self, streams: usize, limits: StreamLimits) -> StreamGroup {
        StreamGroup::new(self, streams, limits)
    }
}

impl fmt::Debug for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accelerator").field("name", &self.name()).field("registry_id", &self.registry_id()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_keeps_of_sources_does_not_keep_it() {
        let gpu = Accelerator::system_default().expect("a Metal device");
        let shared = Arc::downgrade(&gpu.shared);
        // Its image may be one of several textures, so that the kernel has some of its own.
        let source = "kernel void k(read_only image2d_t a, global uint* y) { y[0] = read_imageui(a, (int2)(0)).x + read_imagei(a, (int2)(0)).x; }";
        let library = gpu.compile_opencl(source).unwrap_or_else(|error| panic!("{error}"));
        let kernel = library.kernel("k").unwrap_or_else(|error| panic!("{error}"));
        drop((gpu, library));
        assert!(shared.upgrade().is_some(), "a kernel keeps its accelerator");
        drop(kernel);
        assert!(shared.upgrade().is_none(), "nothing else does");
    }
}
