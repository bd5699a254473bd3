//! The C interface: heaps, and what resources have of them: parts of memory, and states of its contents.

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use super::texture::{made, unless_refused};
use super::{
    HMBuffer, HMDevice, HMHeap, HMTexture, HMTextureDescriptor, answer, borrow, device_of, give, put, release, share,
};
use crate::encode::Misuse;
use crate::faults::{Site, refuses};
use crate::heap::{Heap, piece_size};
use crate::memory::Buffer;
use crate::pages::Purgeable;
use crate::texture::Texture;

/// HMHeapInfo.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMHeapInfo {
    /// In bytes, as rounded up.
    pub size: u64,
    /// Bytes that resources use.
    pub used: u64,
    /// Bytes of the device's account.
    pub allocated: u64,
}

/// A heap; NULL when the size is 0, the device's account is full, or memory is out.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_heap_create(device: HMDevice, size: u64, placement: bool) -> HMHeap {
    // SAFETY: as the module above says.
    let device = unsafe { device_of(device) };
    if refuses(device, Site::Heap) {
        return HMHeap::NULL;
    }
    Heap::new(device, size, placement).map_or(HMHeap::NULL, |heap| give(Arc::new(heap)))
}

/// A heap's sizes.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_heap_info(heap: HMHeap, info: *mut HMHeapInfo) {
    // SAFETY: as the module above says.
    let heap = unsafe { borrow(heap) };
    let value = HMHeapInfo { size: heap.size(), used: heap.used(), allocated: heap.pages().charged() };
    // SAFETY: as the module above says.
    unsafe { put(info, value) };
}

/// Bytes of the largest resource that the heap has room for.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_heap_max_available_size(heap: HMHeap, alignment: u64) -> u64 {
    // SAFETY: as the module above says.
    unsafe { borrow(heap) }.max_available(alignment)
}

/// Bytes that a buffer takes in a heap; 0 when there can be no such buffer.
#[unsafe(no_mangle)]
pub extern "C" fn hm_heap_buffer_size(length: u64) -> u64 {
    piece_size(length).unwrap_or(0)
}

/// Bytes that a texture takes in a heap; 0 with *misuse set for a wrong descriptor.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_heap_texture_size(
    descriptor: *const HMTextureDescriptor,
    misuse: *mut *const c_char,
) -> u64 {
    // SAFETY: as the module above says.
    let length = unsafe { &*descriptor }.read().length();
    let text = length.map_or_else(|text| text.as_ptr(), |_| ptr::null());
    // SAFETY: as the module above says.
    unsafe { put(misuse, text) };
    length.ok().and_then(piece_size).unwrap_or(0)
}

/// # Safety
/// `offset` is NULL or valid.
unsafe fn heap_and_offset(heap: HMHeap, offset: *const u64) -> Result<(Arc<Heap>, Option<u64>), Misuse> {
    // SAFETY: as the caller promises.
    let offset = unsafe { offset.as_ref() }.copied();
    // SAFETY: as the module above says.
    let heap = unsafe { share(heap) }.ok_or(c"a resource of no heap")?;
    Ok((heap, offset))
}

/// A buffer in a heap.
///
/// # Safety
/// As the module above says; `offset` is NULL for an automatic heap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_heap_buffer_create(
    heap: HMHeap,
    length: u64,
    offset: *const u64,
    misuse: *mut *const c_char,
) -> HMBuffer {
    // SAFETY: as the module above says.
    let heap = unsafe { heap_and_offset(heap, offset) };
    let result = heap.and_then(|(heap, offset)| {
        let refused = refuses(heap.pages().device(), Site::Buffer);
        if refused { Ok(None) } else { Buffer::in_heap(&heap, length, offset) }
    });
    let (handle, text) = match result {
        Ok(buffer) => (buffer.map_or(HMBuffer::NULL, |buffer| give(Arc::new(buffer))), ptr::null()),
        Err(text) => (HMBuffer::NULL, text.as_ptr()),
    };
    // SAFETY: as the module above says.
    unsafe { put(misuse, text) };
    handle
}

/// A texture in a heap.
///
/// # Safety
/// As the module above says; `offset` is NULL for an automatic heap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_heap_texture_create(
    heap: HMHeap,
    descriptor: *const HMTextureDescriptor,
    offset: *const u64,
    misuse: *mut *const c_char,
) -> HMTexture {
    // SAFETY: as the module above says.
    let descriptor = unsafe { &*descriptor }.read();
    // SAFETY: as the module above says.
    let heap = unsafe { heap_and_offset(heap, offset) };
    let result = heap.and_then(|(heap, offset)| {
        unless_refused(heap.pages().device(), || Texture::in_heap(&heap, descriptor, offset))
    });
    // SAFETY: as the module above says.
    unsafe { made(result, misuse) }
}

/// Gives up the caller's reference.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_heap_release(heap: HMHeap) {
    // SAFETY: as the module above says.
    unsafe { release(heap) };
}

/// MTLPurgeableState as a change of state; KeepCurrent is none.
fn change(state: u32) -> Option<Purgeable> {
    match state {
        2 => Some(Purgeable::NonVolatile),
        3 => Some(Purgeable::Volatile),
        4 => Some(Purgeable::Empty),
        _ => None,
    }
}

fn number(state: Purgeable) -> u32 {
    match state {
        Purgeable::NonVolatile => 2,
        Purgeable::Volatile => 3,
        Purgeable::Empty => 4,
    }
}

/// Changes what may become of the heap's contents; returns the state before.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_heap_set_purgeable_state(heap: HMHeap, state: u32) -> u32 {
    // SAFETY: as the module above says.
    number(unsafe { borrow(heap) }.pages().set_purgeable(change(state)))
}

/// Changes what may become of the buffer's contents; returns the state before.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_buffer_set_purgeable_state(buffer: HMBuffer, state: u32) -> u32 {
    // SAFETY: as the module above says.
    number(unsafe { borrow(buffer) }.set_purgeable(change(state)))
}

/// Bytes of memory that the buffer takes.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_buffer_allocated_size(buffer: HMBuffer) -> u64 {
    // SAFETY: as the module above says.
    unsafe { borrow(buffer) }.allocated()
}

/// Where the buffer lies in a placement heap; 0 elsewhere.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_buffer_heap_offset(buffer: HMBuffer) -> u64 {
    // SAFETY: as the module above says.
    unsafe { borrow(buffer) }.piece().map_or(0, |piece| piece.offset())
}

/// Lets later resources of the heap use the buffer's memory.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_buffer_make_aliasable(buffer: HMBuffer) -> *const c_char {
    // SAFETY: as the module above says.
    let piece = unsafe { borrow(buffer) }.piece();
    answer(piece.ok_or(c"the resource must be one of a heap.").and_then(|piece| piece.make_aliasable()))
}

/// Whether later resources of the heap may use the buffer's memory.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_buffer_is_aliasable(buffer: HMBuffer) -> bool {
    // SAFETY: as the module above says.
    unsafe { borrow(buffer) }.piece().is_some_and(|piece| piece.aliasable())
}

/// The buffer whose bytes are the texture's texels: no reference, valid while the texture lives.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_texture_memory(texture: HMTexture) -> HMBuffer {
    // SAFETY: as the module above says.
    let texture = unsafe { borrow(texture) };
    <HMBuffer as super::Handle>::from_raw(Arc::as_ptr(texture.memory()).cast())
}
