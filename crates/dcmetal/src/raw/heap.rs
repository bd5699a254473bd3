//! [`Heap`]: memory of which buffers are parts ([`Memory::in_heap`](super::host::Memory::in_heap)).

use std::ptr;

use super::{Device, Failure, check, handle};
use crate::sys;

handle!(
    /// `MTLHeap`.
    DCMetalHeap,
    DCMetalHeap_Release
);

pub(crate) type Heap = DCMetalHeap;

// SAFETY: DCMetal.h: "Devices, queues, buffers, heaps, [...] may be used from any thread at once".
unsafe impl Send for DCMetalHeap {}
// SAFETY: as for Send.
unsafe impl Sync for DCMetalHeap {}

impl DCMetalHeap {
    /// Of shared storage, which finds room for its buffers itself. Its hazards are tracked as those of buffers are by default: within an encoder our
    /// own barriers keep launches apart, but between encoders Metal does (`command::hazard`), and of an untracked heap it would not.
    pub(crate) fn new(device: &Device, bytes: u64) -> Result<Heap, Failure> {
        let descriptor = sys::DCMetalHeapDescriptor {
            size: bytes,
            storage: sys::DC_METAL_STORAGE_SHARED,
            cache: sys::DC_METAL_CACHE_DEFAULT,
            type_: sys::DC_METAL_HEAP_AUTOMATIC,
            hazards: sys::DC_METAL_HAZARDS_TRACKED,
        };
        let (mut heap, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live handle; the descriptor and the out-parameters are valid for the call.
        let status = unsafe { sys::DCMetalHeap_Create(device.0, &descriptor, &mut heap, &mut error) };
        check(status, error)?;
        Ok(DCMetalHeap(heap))
    }

    /// As Metal rounded them up.
    pub(crate) fn bytes(&self) -> u64 {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalHeap_GetSize(self.0) }
    }
}
