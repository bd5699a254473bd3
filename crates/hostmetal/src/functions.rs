//! Visible functions, and the tables through which kernels call them.
//!
//! A function is a shared object of its own, whatever library it comes from: a table holds addresses, so that any pipeline can
//! call what any table has, and linking a function to a pipeline only compiles it. A table is memory that begins with its handle
//! (native/hostmetal/msl/metal_visible_function_table); its empty places hold an address at which no code can lie, and by
//! which the executor knows the reason of the fault.
//!
//! Of what type a function is, nobody compares with what the table is called as.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::device::Device;
use crate::executor::NOT_A_FUNCTION;
use crate::memory::Buffer;
use crate::msl::LoadedFunction;

type Misuse = &'static CStr;

/// What an MTLFunctionHandle stands for.
pub(crate) struct VisibleFunction {
    pub(crate) device: &'static Device,
    pub(crate) code: LoadedFunction,
}

/// `hm_functions`, but for the functions, which follow.
#[repr(C)]
struct Header {
    handle: u64,
    count: u32,
    unused: u32,
}

/// An MTLVisibleFunctionTable.
pub(crate) struct FunctionTable {
    pub(crate) memory: Arc<Buffer>,
    handle: u64,
    count: usize,
    /// All that were ever set: a command buffer may still run them.
    kept: Mutex<Vec<Arc<VisibleFunction>>>,
}

impl FunctionTable {
    /// None when memory is out.
    pub(crate) fn new(device: &'static Device, count: u64) -> Result<Option<FunctionTable>, Misuse> {
        if count == 0 || count > 1 << 20 {
            return Err(c"functionCount must be between 1 and 2^20.");
        }
        let Some(memory) = Buffer::new(device, size_of::<Header>() as u64 + 8 * count) else { return Ok(None) };
        static MADE: AtomicU64 = AtomicU64::new(0);
        // As of a texture (executor/handle.rs): memory begins at pages.
        let handle = memory.contents() as u64 | (MADE.fetch_add(1, Ordering::Relaxed) % 1023 + 1);
        // SAFETY: the memory is new, longer than a header, and begins at a page.
        unsafe { memory.contents().cast::<Header>().write(Header { handle, count: count as u32, unused: 0 }) };
        let table = FunctionTable { memory: Arc::new(memory), handle, count: count as usize, kept: Mutex::default() };
        table.places().iter().for_each(|place| place.store(NOT_A_FUNCTION as u64, Ordering::Relaxed));
        Ok(Some(table))
    }

    /// What stands for it in argument buffers.
    pub(crate) fn handle(&self) -> u64 {
        self.handle
    }

    fn places(&self) -> &[AtomicU64] {
        let first = self.memory.contents().wrapping_add(size_of::<Header>()).cast::<AtomicU64>();
        // SAFETY: the memory holds a header and `count` numbers of 8 bytes, and begins at a page.
        unsafe { std::slice::from_raw_parts(first, self.count) }
    }

    /// Puts a function, or none, in a place.
    pub(crate) fn set(&self, function: Option<Arc<VisibleFunction>>, index: u64) -> Result<(), Misuse> {
        let place = usize::try_from(index).ok().and_then(|index| self.places().get(index));
        let place = place.ok_or(c"index must be < functionCount.")?;
        let address = function.as_ref().map_or(NOT_A_FUNCTION as u64, |function| function.code.address());
        if let Some(function) = function {
            if !std::ptr::eq(function.device, self.memory.device()) {
                return Err(c"the function handle is of another device than the visible function table.");
            }
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if !kept.iter().any(|known| known.code.address() == address) {
                kept.push(function);
            }
        }
        place.store(address, Ordering::Relaxed);
        Ok(())
    }
}
