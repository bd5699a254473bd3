//! How many allocations live in this process. hostmetal's objects are such, and so is whatever keeps one: an object too many is seen here, also one without memory
//! of a device.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;
static LIVE: AtomicI64 = AtomicI64::new(0);

// SAFETY: it is the system's allocator, and counts beside.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are the system allocator's.
        let memory = unsafe { System.alloc(layout) };
        LIVE.fetch_add(i64::from(!memory.is_null()), Ordering::SeqCst);
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) };
        LIVE.fetch_sub(1, Ordering::SeqCst);
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}

pub(crate) fn allocations() -> i64 {
    LIVE.load(Ordering::SeqCst)
}
