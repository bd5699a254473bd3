//! Compute pipelines: a kernel's code with what dispatches must know of it.

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use crate::device::Device;
use crate::executor::{Cost, Entry, SAMPLERS, SLOTS, Span, TEXTURES, ThreadgroupVariable};
use crate::memory::LetGo;
use crate::msl::{Counting, Formats, Type};

/// MTLBindingType of a buffer.
pub const BUFFER: u32 = 0;
/// MTLBindingType of threadgroup memory.
pub const THREADGROUP_MEMORY: u32 = 1;
/// MTLBindingType of a texture.
pub const TEXTURE: u32 = 2;
/// MTLBindingType of a sampler.
pub const SAMPLER: u32 = 3;
/// MTLBindingType of an imageblock.
pub const IMAGEBLOCK: u32 = 17;
/// MTLBindingType of a visible function table.
pub const VISIBLE_FUNCTION_TABLE: u32 = 24;

/// An argument of a kernel, as Metal's reflection tells it.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The parameter's name.
    pub name: CString,
    /// BUFFER, THREADGROUP_MEMORY, TEXTURE, SAMPLER, IMAGEBLOCK or VISIBLE_FUNCTION_TABLE.
    pub kind: u32,
    /// In the argument table of its kind; the first one of an array.
    pub index: u32,
    /// MTLBindingAccess.
    pub access: u32,
    /// MTLDataType of the element, or of a texture's components.
    pub data_type: u32,
    /// Bytes of one element, or of a pixel.
    pub data_size: u64,
    /// Bytes that the element's address is a multiple of.
    pub alignment: u64,
    /// Many elements (a pointer) rather than one (a reference). Of a texture: a depth texture.
    pub pointer: bool,
    /// Whether the code, and so a dispatch, needs it.
    pub used: bool,
    /// Whether the kernel names it; else its `[[stage_in]]` is read from it.
    pub argument: bool,
    /// MTLTextureType of a texture.
    pub texture_type: u32,
    /// Places of the argument table: more than 1 for an array of textures or samplers.
    pub count: u32,
    /// Of a buffer: what it points to, a tree in preorder; empty when that is not known.
    pub types: Vec<Type>,
    /// Of a buffer that `[[stage_in]]` is read from: whether its stride is set with it.
    pub dynamic_stride: bool,
}

/// Code that can become a pipeline: of a compiled MSL kernel, or of a native function with the same contract.
pub struct Kernel {
    /// As in the source.
    pub name: String,
    /// The code.
    pub entry: Entry,
    /// What a call of it may be for.
    pub span: Span,
    /// In any order.
    pub bindings: Vec<Binding>,
    /// The variables that it asks the runtime table for.
    pub variables: Vec<ThreadgroupVariable>,
    /// `[[max_total_threads_per_threadgroup(n)]]`.
    pub max_total_threads: Option<u32>,
    /// `[[required_threads_per_threadgroup(x, y, z)]]`, or what its library or the pipeline's descriptor says.
    pub required_threads: Option<[u32; 3]>,
    /// Of its messages.
    pub formats: Formats,
    /// Keeps the code in memory.
    pub code: Option<Box<dyn Any + Send + Sync>>,
}

/// A threadgroup variable with its place in a threadgroup's memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedVariable {
    pub(crate) id: u32,
    pub(crate) size: u64,
    pub(crate) offset: usize,
}

/// An MTLComputePipelineState.
pub(crate) struct Pipeline {
    pub(crate) device: &'static Device,
    pub(crate) name: String,
    pub(crate) entry: Entry,
    pub(crate) span: Span,
    /// Sorted by kind and index.
    pub(crate) bindings: Vec<Binding>,
    /// Whether buffers need a stride that is set with them.
    pub(crate) dynamic_strides: bool,
    pub(crate) variables: Vec<PlacedVariable>,
    /// Bytes of the variables, a multiple of 16.
    pub(crate) static_memory: u64,
    pub(crate) max_threads: u32,
    /// The only size of threadgroups.
    pub(crate) required_threads: Option<[u32; 3]>,
    pub(crate) whole_simdgroups: bool,
    pub(crate) formats: Formats,
    /// Whether it counts what it does.
    pub(crate) counting: Counting,
    /// Decides whether a dispatch is worth waking other workers.
    pub(crate) cost: Cost,
    /// Of the program's reference.
    pub(crate) let_go: LetGo,
    /// Once it was asked for.
    handle: OnceLock<u64>,
    _code: Option<Box<dyn Any + Send + Sync>>,
}

/// The pipelines that have handles.
struct Handles {
    last: u64,
    living: BTreeMap<u64, Weak<Pipeline>>,
}

static HANDLES: Mutex<Handles> = Mutex::new(Handles { last: 0, living: BTreeMap::new() });

fn handles() -> MutexGuard<'static, Handles> {
    HANDLES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.get() {
            handles().living.remove(handle);
        }
    }
}

/// Why a kernel cannot become a pipeline.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unfit(pub(crate) String);

impl Pipeline {
    /// A pipeline whose threadgroups have at most `max_threads` threads (0: the device's or the kernel's own limit).
    pub(crate) fn new(
        device: &'static Device,
        kernel: Kernel,
        max_threads: u64,
        whole_simdgroups: bool,
    ) -> Result<Pipeline, Unfit> {
        let Kernel { name, entry, span, mut bindings, variables, max_total_threads, required_threads, formats, code } =
            kernel;
        let limit = u64::from(device.max_threads());
        if max_threads > limit {
            return Err(Unfit(format!("maxTotalThreadsPerThreadgroup ({max_threads}) of {name} must be <= {limit}")));
        }
        let own = max_total_threads.map_or(limit, u64::from).clamp(1, limit);
        let max_threads = if max_threads == 0 { own } else { max_threads.min(own) };
        if let Some([x, y, z]) = required_threads {
            let total = u64::from(x).saturating_mul(y.into()).saturating_mul(z.into());
            if total == 0 || total > max_threads {
                return Err(Unfit(format!(
                    "the required threadgroup of {name}, {x} x {y} x {z} threads, must have 1 to {max_threads}"
                )));
            }
        }
        for binding in &bindings {
            let places = match binding.kind {
                BUFFER | THREADGROUP_MEMORY | VISIBLE_FUNCTION_TABLE => SLOTS,
                TEXTURE => TEXTURES,
                IMAGEBLOCK => 1,
                _ => SAMPLERS,
            };
            if u64::from(binding.index) + u64::from(binding.count.max(1)) > places as u64 {
                let (argument, index) = (binding.name.to_string_lossy(), binding.index);
                return Err(Unfit(format!("{name}: the index of {argument}, {index}, must be < {places}")));
            }
        }
        bindings.sort_by_key(|binding| (binding.kind, binding.index));
        let mut offset = 0u64;
        let mut placed = Vec::with_capacity(variables.len());
        for ThreadgroupVariable { id, size, alignment } in variables {
            let start = offset.checked_next_multiple_of(alignment.clamp(16, MEMORY_ALIGNMENT));
            let end = start.and_then(|start| start.checked_add(size));
            let (Some(start), Some(end)) = (start, end) else {
                return Err(Unfit(format!("{name}: a threadgroup variable has an impossible size, {size}")));
            };
            placed.push(PlacedVariable { id, size, offset: start as usize });
            offset = end;
            let most = device.threadgroup_memory();
            if end > most {
                return Err(Unfit(format!(
                    "Threadgroup memory size ({end}) exceeds the maximum threadgroup memory allowed ({most})"
                )));
            }
        }
        Ok(Pipeline {
            let_go: LetGo::default(),
            device,
            name,
            entry,
            span,
            dynamic_strides: bindings.iter().any(|binding| binding.dynamic_stride),
            bindings,
            variables: placed,
            static_memory: offset.next_multiple_of(16),
            max_threads: max_threads as u32,
            required_threads,
            whole_simdgroups,
            formats,
            counting: Counting::No,
            cost: Cost::unknown(),
            handle: OnceLock::new(),
            _code: code,
        })
    }

    /// Of its imageblock, where a dispatch needs one.
    pub(crate) fn imageblock(&self) -> Option<&Binding> {
        self.bindings.iter().find(|binding| binding.kind == IMAGEBLOCK && binding.used)
    }

    /// What stands for it in memory; no other pipeline ever has the same.
    pub(crate) fn handle(self: &Arc<Pipeline>) -> u64 {
        *self.handle.get_or_init(|| {
            let mut handles = handles();
            handles.last += 1;
            // No address, and not 0.
            let handle = handles.last | 0x5000_0000_0000_0000;
            handles.living.insert(handle, Arc::downgrade(self));
            handle
        })
    }

    /// The living pipeline with a handle, which may be any number.
    pub(crate) fn of_handle(handle: u64) -> Option<Arc<Pipeline>> {
        handles().living.get(&handle).and_then(Weak::upgrade)
    }
}

/// The address of a threadgroup's memory is a multiple of this, and so can be that of a variable.
pub(crate) const MEMORY_ALIGNMENT: u64 = 128;
