//! Memory that the CPU and the device share, and the rule that keeps them apart.
//!
//! [`Memory`] is a Metal buffer with its contents pointer. [`Tracked`] adds who uses it now, under one lock:
//!
//! * a submission *begins* a use (reading or writing) before its command buffer is committed and *ends* it in the
//!   completion handler;
//! * a batch that a stream is making *begins* its uses when its commands are recorded, and they are *pending* until it is handed
//!   over: whoever comes to conflict with a pending use has that batch handed over first, so that nobody waits for or
//!   depends on work that may stay where it is;
//! * a host guard begins by waiting for (or refusing on) the device's conflicting uses and ends when dropped;
//! * a submission that conflicts with a live guard is refused, never delayed: the guard may belong to the same thread.
//!
//! Hence a slice of the contents exists only while no submission in flight may write it (for `&[T]`) or touch it at all
//! (for `&mut [T]`). The lock orders the accesses; Metal orders the device's writes before its completion handler.
//! A guard borrows the buffer or view it came from, which keeps it apart from most others; a graph's host step borrows none of
//! what it was recorded with, so a guard of bytes that another one writes, or for writing bytes of another one, is refused.
//! A guard that is leaked (`mem::forget`) stays in the list, so later submissions and guards of its bytes are refused; its
//! slice can no longer be reached. The same counts for a leaked submission: the completion handler ends the uses, not
//! the `Submission` object.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU32;

use bytemuck::Pod;

use super::pages::PageVec;
use super::texture::Texture;
use super::{Buffer, DCMetalBuffer, Device, Failure, Heap, check, storage_mode};
use crate::command::Inflight;
use crate::memory::TextureDescriptor;
pub(crate) use crate::sync::lock;
use crate::sync::{Arc, AtomicBool, Condvar, Mutex, MutexGuard, Ordering, PoisonError, look};
use crate::sys;
use crate::telemetry::{MEMORY, say};
use crate::{Error, Result, StorageMode, SubmissionError};

/// A Metal buffer and where its contents are, or a Metal texture.
pub(crate) struct Memory {
    object: Object,
    /// `None` for private storage and for textures.
    contents: Option<NonNull<u8>>,
    bytes: usize,
    storage: StorageMode,
    /// Its user gave it a label.
    labelled: AtomicBool,
}

enum Object {
    Buffer(Buffer),
    Texture(Texture),
}

// SAFETY: the handle is Send; the pointer is only followed through the guards of `Tracked`.
unsafe impl Send for Memory {}
// SAFETY: as for Send.
unsafe impl Sync for Memory {}

impl Memory {
    /// Zero-filled.
    pub(crate) fn new(device: &Device, bytes: usize, storage: StorageMode) -> Result<Memory, Failure> {
        let (mut buffer, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live handle; the out-parameters are valid for the call.
        let status = unsafe {
            sys::DCMetalBuffer_Create(
                device.0,
                bytes as u64,
                storage_mode(storage),
                sys::DC_METAL_CACHE_DEFAULT,
                &mut buffer,
                &mut error,
            )
        };
        check(status, error)?;
        Ok(Memory::of(DCMetalBuffer(buffer), bytes, storage))
    }

    /// A part of a heap, which Metal keeps as long as the part. It holds whatever its room held before.
    pub(crate) fn in_heap(heap: &Heap, bytes: usize) -> Result<Memory, Failure> {
        let (mut buffer, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live handle; the out-parameters are valid for the call.
        let status = unsafe { sys::DCMetalHeap_CreateBuffer(heap.0, bytes as u64, &mut buffer, &mut error) };
        check(status, error)?;
        Ok(Memory::of(DCMetalBuffer(buffer), bytes, StorageMode::Shared))
    }

    /// The same memory, private, for another device of its peer group, which can copy from it.
    pub(crate) fn remote_view(&self, device: &Device) -> Result<Memory, Failure> {
        let (mut view, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: live handles; the out-parameters are valid for the call.
        let status = unsafe { sys::DCMetalBuffer_CreateRemoteView(self.buffer().0, device.0, &mut view, &mut error) };
        check(status, error)?;
        Ok(Memory::of(DCMetalBuffer(view), self.bytes, StorageMode::Private))
    }

    /// Hands the pages to Metal; they are freed when Metal no longer uses them, or here where it takes them in none of the tries of `make`.
    pub(crate) fn no_copy<T: Pod>(
        device: &Device,
        pages: PageVec<T>,
        make: impl FnOnce(&dyn Fn() -> Result<Memory, Failure>) -> Result<Memory, Failure>,
    ) -> Result<Memory, Failure> {
        let (start, bytes) = pages.pages();
        let context = Box::into_raw(Box::new(pages));
        let try_it = || {
            let (mut buffer, mut error) = (ptr::null_mut(), ptr::null_mut());
            // SAFETY: `start` is page-aligned and `bytes` a multiple of the page size (PageVec's invariant); the pages live
            // until `free_pages` runs, which takes the box back; the out-parameters are valid for the call.
            let status = unsafe {
                sys::DCMetalBuffer_CreateNoCopy(
                    device.0,
                    start.as_ptr().cast(),
                    bytes as u64,
                    sys::DC_METAL_STORAGE_SHARED,
                    Some(free_pages::<T>),
                    context.cast(),
                    &mut buffer,
                    &mut error,
                )
            };
            check(status, error)?;
            Ok(Memory::of(DCMetalBuffer(buffer), bytes, StorageMode::Shared))
        };
        make(&try_it).inspect_err(|_| {
            // SAFETY: "On failure the deallocator is not called and the memory stays the caller's" (DCMetal.h).
            drop(unsafe { Box::from_raw(context) });
        })
    }

    /// Names a buffer, as Metal's tools show it.
    pub(crate) fn set_label(&self, label: &str) -> Result<(), Failure> {
        self.labelled.store(true, Ordering::Relaxed);
        self.buffer().set_label(label)
    }

    /// Takes a buffer's name away before another user has it.
    fn clear_label(&mut self) {
        // A label that Metal does not take away is a name for people, and nothing else.
        if mem::take(self.labelled.get_mut()) && self.buffer().set_label("").is_err() {
            *self.labelled.get_mut() = true;
        }
    }

    fn of(buffer: Buffer, bytes: usize, storage: StorageMode) -> Memory {
        // SAFETY: a live handle.
        let contents = NonNull::new(unsafe { sys::DCMetalBuffer_GetContents(buffer.0) }).map(NonNull::cast);
        Memory { object: Object::Buffer(buffer), contents, bytes, storage, labelled: AtomicBool::new(false) }
    }

    /// What it holds is undefined.
    pub(crate) fn texture(
        device: &Device,
        descriptor: &TextureDescriptor,
        storage: StorageMode,
    ) -> Result<Memory, Failure> {
        let texture = Texture::new(device, descriptor, storage)?;
        let labelled = AtomicBool::new(false);
        Ok(Memory { object: Object::Texture(texture), contents: None, bytes: 0, storage, labelled })
    }

    /// The buffer of a `Buffer`.
    pub(crate) fn buffer(&self) -> &Buffer {
        match &self.object {
            Object::Buffer(buffer) => buffer,
            Object::Texture(_) => unreachable!("a texture's memory belongs to no `Buffer`"),
        }
    }

    /// The texture of a `Texture`.
    pub(crate) fn as_texture(&self) -> &Texture {
        match &self.object {
            Object::Texture(texture) => texture,
            Object::Buffer(_) => unreachable!("a buffer's memory belongs to no `Texture`"),
        }
    }

    /// Whether it is a texture's.
    pub(crate) fn is_texture(&self) -> bool {
        matches!(self.object, Object::Texture(_))
    }

    /// The length Metal knows.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn storage(&self) -> StorageMode {
        self.storage
    }

    /// Where kernels see a buffer; 0 where the system does not tell.
    pub(crate) fn address(&self) -> u64 {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalBuffer_GetGPUAddress(self.buffer().0) }
    }

    /// A word of shared memory, whoever uses it now: what a kernel tells the host besides.
    ///
    /// # Panics
    /// Beyond the memory, and of memory that the host does not see.
    pub(crate) fn word(&self, index: usize) -> u32 {
        let contents = self.contents.filter(|_| index < self.bytes / 4).expect("a word of shared memory");
        // SAFETY: within the contents, which the Metal buffer keeps.
        let word = unsafe { contents.cast::<AtomicU32>().add(index) };
        // SAFETY: it is aligned, as contents are to pages or heaps' parts to 256 bytes; kernels write it with atomic functions, or are done.
        let word = unsafe { word.as_ref() };
        word.load(Ordering::Acquire)
    }

    /// Tells Metal which bytes of a managed buffer the host wrote.
    fn did_modify(&self, offset: usize, bytes: usize) -> Result<(), Failure> {
        // SAFETY: a live handle.
        let status = unsafe { sys::DCMetalBuffer_DidModifyRange(self.buffer().0, offset as u64, bytes as u64) };
        check(status, ptr::null_mut())
    }
}

/// Called once, when Metal no longer uses the pages.
unsafe extern "C" fn free_pages<T: Pod>(context: *mut c_void, _bytes: *mut c_void, _length: u64) {
    // SAFETY: `context` is the box of `no_copy`, and Metal calls this exactly once.
    let pages = unsafe { Box::from_raw(context.cast::<PageVec<T>>()) };
    // An owner of somebody else's may panic, and Metal does not know of that.
    if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(pages))).is_err() {
        say(MEMORY, log::Level::Error, format_args!("the owner of a buffer's memory panicked when it was dropped"));
    }
}

/// Who uses a [`Tracked`] memory now.
#[derive(Default)]
struct Uses {
    device_readers: u32,
    device_writers: u32,
    /// The host's guards, and holds.
    host: Vec<HostUse>,
    /// The submission that may use the memory although it is held for writing.
    holder: Option<Arc<Inflight>>,
    /// Threads that wait for a change: telling nobody costs a call of the system as well.
    waiting: u32,
    /// Submissions that began to write it so far, and how many of them the host's copy of managed memory has seen.
    written: u64,
    seen: u64,
    /// `written` at the beginning of each synchronisation in flight.
    synchronizing: Vec<(Arc<Inflight>, u64)>,
    /// Those of the device's uses that belong to a batch in the making.
    pending: Vec<(Arc<Inflight>, DeviceUse)>,
    /// The submission in flight that was the last to begin writing.
    last_writer: Option<Arc<Inflight>>,
    /// Why the contents are not to be trusted.
    fault: Option<Arc<SubmissionError>>,
    /// The fault there was when the replacement in flight began: it is over with that, and a later one is not.
    replaced: Option<Arc<SubmissionError>>,
    /// Why the last copy of managed memory to the host failed, until somebody is told.
    not_copied: Option<Arc<SubmissionError>>,
}

/// The bytes of a guard, or of a hold.
#[derive(Clone, PartialEq)]
struct HostUse {
    bytes: Range<usize>,
    writes: bool,
    /// It is a hold.
    copied: bool,
}

const WRITTEN_BY_HOST: Error = Error::BufferInUse { by: "is being written by the host: drop the WriteGuard first" };
const READ_BY_HOST: Error = Error::BufferInUse { by: "is being read by the host: drop the ReadGuard first" };
const COPIED: Error = Error::BufferInUse { by: "is being copied by `multi::copy`" };

impl HostUse {
    fn error(&self) -> Error {
        match self {
            HostUse { copied: true, .. } => COPIED,
            HostUse { writes: true, .. } => WRITTEN_BY_HOST,
            HostUse { .. } => READ_BY_HOST,
        }
    }
}

impl Uses {
    /// Nobody and nothing any more. Each field by itself: to replace them all takes a pool's hit 20 ns more, and the lists keep their room so.
    fn clear(&mut self) {
        let Uses {
            device_readers,
            device_writers,
            host,
            holder,
            waiting,
            written,
            seen,
            synchronizing,
            pending,
            last_writer,
            fault,
            replaced,
            not_copied,
        } = self;
        (*device_readers, *device_writers, *waiting, *written, *seen) = (0, 0, 0, 0, 0);
        host.clear();
        synchronizing.clear();
        pending.clear();
        (*holder, *last_writer) = (None, None);
        (*fault, *replaced, *not_copied) = (None, None, None);
    }

    /// Whether the fault, if there is one, is that which the replacement in flight found.
    fn is_being_replaced(&self) -> bool {
        match (&self.fault, &self.replaced) {
            (Some(fault), Some(replaced)) => Arc::ptr_eq(fault, replaced),
            _ => false,
        }
    }

    /// Begins a guard of these bytes.
    fn begin_host(&mut self, bytes: Range<usize>, writes: bool) {
        self.host.push(HostUse { bytes, writes, copied: false });
    }

    fn end_host(&mut self, ended: &HostUse) {
        let at = self.host.iter().rposition(|guard| guard == ended).expect("a guard is in the list while it lives");
        self.host.swap_remove(at);
    }

    /// Why a guard of these bytes cannot be.
    fn refused(&self, bytes: &Range<usize>, writes: bool) -> Result<()> {
        let meets = |guard: &&HostUse| {
            let (from, to) = (guard.bytes.start.max(bytes.start), guard.bytes.end.min(bytes.end));
            (writes || guard.writes) && from < to
        };
        match self.host.iter().find(meets) {
            None => Ok(()),
            Some(guard) => Err(guard.error()),
        }
    }

    /// Why a submission that uses the memory so cannot be.
    fn refused_to_device(&self, kind: DeviceUse, by: &Arc<Inflight>) -> Result<()> {
        // Who holds it for writing is the only one to use it.
        if self.holder.as_ref().is_some_and(|holder| Arc::ptr_eq(holder, by)) {
            return Ok(());
        }
        match self.host.iter().find(|guard| guard.writes || kind != DeviceUse::Read) {
            None => Ok(()),
            Some(guard) => Err(guard.error()),
        }
    }

    /// Whoever may have been the last to begin writing: nobody, when none is in flight.
    fn wrote(&mut self) {
        if self.device_writers == 0 {
            self.last_writer = None;
        }
    }

    /// Ends a synchronisation: what it saw.
    fn synchronized(&mut self, by: &Arc<Inflight>) -> u64 {
        let at = self.synchronizing.iter().rposition(|(flight, _)| Arc::ptr_eq(flight, by));
        self.synchronizing.remove(at.expect("a use that ends has begun")).1
    }
}

/// Memory with its users.
pub(crate) struct Tracked {
    memory: Memory,
    uses: Mutex<Uses>,
    changed: Condvar,
}

/// What a submission does with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceUse {
    Read,
    Write,
    /// Writes all of it: a fault does not matter, and is over when this has ended well.
    Replace,
    /// Makes the host's copy of managed memory current: the host must stay away as from a write.
    Synchronize,
}

/// What became of the beginning of a use.
pub(crate) enum Begun {
    /// It has begun; this submission in flight was the last to write the memory.
    Now(Option<Arc<Inflight>>),
    /// It has not: this batch in the making has to be handed over first.
    After(Arc<Inflight>),
}

/// Whether a host access waits for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    Wait,
    Refuse,
}

impl Tracked {
    pub(crate) fn new(memory: Memory) -> Tracked {
        Tracked { memory, uses: Mutex::default(), changed: Condvar::new() }
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// For the next user, when the last one has gone: nobody uses it, and its label and what was wrong with it are forgotten.
    pub(crate) fn renew(&mut self) {
        self.memory.clear_label();
        self.uses.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Begins a submission's use, pending if its batch is a stream's. `end_device` or `cancel_device` must follow, and `hand_over`
    /// before the first of a pending one.
    pub(crate) fn begin_device(&self, kind: DeviceUse, by: &Arc<Inflight>) -> Result<Begun> {
        let mut uses = lock(&self.uses);
        if let Some(cause) = uses.fault.as_ref().filter(|_| kind != DeviceUse::Replace) {
            return Err(Error::Faulted { cause: Arc::clone(cause) });
        }
        uses.refused_to_device(kind, by)?;
        let conflicts = |other: &(Arc<Inflight>, DeviceUse)| {
            !Arc::ptr_eq(&other.0, by) && (kind != DeviceUse::Read || other.1 != DeviceUse::Read)
        };
        if let Some((other, _)) = uses.pending.iter().find(|other| conflicts(other)) {
            return Ok(Begun::After(Arc::clone(other)));
        }
        if by.is_of_stream() {
            uses.pending.push((Arc::clone(by), kind));
        }
        match kind {
            DeviceUse::Read => uses.device_readers += 1,
            DeviceUse::Write | DeviceUse::Replace => {
                uses.device_writers += 1;
                uses.written += 1;
                if kind == DeviceUse::Replace {
                    uses.replaced = uses.fault.clone();
                }
                return Ok(Begun::Now(uses.last_writer.replace(Arc::clone(by))));
            }
            DeviceUse::Synchronize => {
                uses.device_writers += 1;
                let written = uses.written;
                uses.synchronizing.push((Arc::clone(by), written));
            }
        }
        Ok(Begun::Now(uses.last_writer.clone()))
    }

    /// The uses of this batch are not pending any more: it is being committed.
    pub(crate) fn hand_over(&self, by: &Arc<Inflight>) {
        lock(&self.uses).pending.retain(|(pending, _)| !Arc::ptr_eq(pending, by));
    }

    /// Takes back a `begin_device` whose command buffer was not committed.
    pub(crate) fn cancel_device(&self, kind: DeviceUse, by: &Arc<Inflight>, before: Option<Arc<Inflight>>) {
        let mut uses = lock(&self.uses);
        let pending = |other: &(Arc<Inflight>, DeviceUse)| other.1 == kind && Arc::ptr_eq(&other.0, by);
        if let Some(at) = uses.pending.iter().rposition(pending) {
            uses.pending.swap_remove(at);
        }
        match kind {
            DeviceUse::Read => uses.device_readers -= 1,
            DeviceUse::Write | DeviceUse::Replace => {
                uses.device_writers -= 1;
                if uses.last_writer.as_ref().is_some_and(|last| Arc::ptr_eq(last, by)) {
                    uses.last_writer = before.filter(|before| !before.is_settled());
                }
                if kind == DeviceUse::Replace {
                    uses.replaced = None;
                }
            }
            DeviceUse::Synchronize => {
                uses.device_writers -= 1;
                uses.synchronized(by);
            }
        }
        uses.wrote();
        self.tell(uses);
    }

    /// Ends a use; `failure` is why what was written is not to be trusted.
    pub(crate) fn end_device(&self, kind: DeviceUse, by: &Arc<Inflight>, failure: Option<&Arc<SubmissionError>>) {
        let mut uses = lock(&self.uses);
        match kind {
            DeviceUse::Read => uses.device_readers -= 1,
            DeviceUse::Write | DeviceUse::Replace => {
                uses.device_writers -= 1;
                if uses.last_writer.as_ref().is_some_and(|last| Arc::ptr_eq(last, by)) {
                    uses.last_writer = None;
                }
                match failure {
                    Some(failure) if kind == DeviceUse::Write && uses.is_being_replaced() => {
                        uses.fault = Some(Arc::clone(failure));
                    }
                    Some(failure) => {
                        uses.fault.get_or_insert_with(|| Arc::clone(failure));
                    }
                    None if kind == DeviceUse::Replace && uses.is_being_replaced() => uses.fault = None,
                    None => {}
                }
                if kind == DeviceUse::Replace {
                    uses.replaced = None;
                }
            }
            DeviceUse::Synchronize => {
                uses.device_writers -= 1;
                let written = uses.synchronized(by);
                if failure.is_none() {
                    uses.seen = uses.seen.max(written);
                }
                uses.not_copied = failure.cloned();
            }
        }
        uses.wrote();
        self.tell(uses);
    }

    /// Whether a submission that was to write it failed.
    pub(crate) fn has_fault(&self) -> bool {
        lock(&self.uses).fault.is_some()
    }

    /// Tells those who wait that the uses have changed.
    fn tell(&self, uses: MutexGuard<'_, Uses>) {
        let waiting = uses.waiting > 0;
        drop(uses);
        if waiting {
            self.changed.notify_all();
        }
    }

    /// Forgets a fault, once nothing in flight writes the memory.
    pub(crate) fn clear_fault(&self) {
        self.wait_while(|uses| uses.device_writers > 0).fault = None;
    }

    /// Why the last copy of managed memory to the host failed, once.
    pub(crate) fn take_failed_copy(&self) -> Option<Arc<SubmissionError>> {
        lock(&self.uses).not_copied.take()
    }

    /// Waits until nothing in flight writes the memory.
    pub(crate) fn wait_for_writers(&self) {
        drop(self.wait_while(|uses| uses.device_writers > 0));
    }

    /// Waits until `busy` no longer holds.
    fn wait_while(&self, busy: impl Fn(&Uses) -> bool) -> MutexGuard<'_, Uses> {
        let mut looked = false;
        loop {
            let mut uses = self.handed_over(&busy);
            if !busy(&uses) {
                return uses;
            }
            if !mem::replace(&mut looked, true) {
                drop(uses);
                look(|| !busy(&lock(&self.uses)));
                continue;
            }
            // What is busy is in flight, and tells; a batch that began meanwhile, beside a graph's host step, may not.
            uses.waiting += 1;
            uses = self.changed.wait(uses).unwrap_or_else(PoisonError::into_inner);
            uses.waiting -= 1;
        }
    }

    /// The uses, without pending ones if they are busy.
    fn handed_over(&self, busy: impl Fn(&Uses) -> bool) -> MutexGuard<'_, Uses> {
        loop {
            let uses = lock(&self.uses);
            let Some((pending, _)) = uses.pending.first().filter(|_| busy(&uses)) else { return uses };
            let pending = Arc::clone(pending);
            drop(uses);
            pending.hand_over();
        }
    }

    /// Waits until `busy` no longer holds, or refuses.
    fn idle(&self, patience: Patience, busy: impl Fn(&Uses) -> bool) -> Result<MutexGuard<'_, Uses>> {
        if patience == Patience::Wait {
            return Ok(self.wait_while(busy));
        }
        let uses = self.handed_over(&busy);
        if busy(&uses) {
            return Err(Error::BufferInUse { by: "is in use by a submission in flight" });
        }
        Ok(uses)
    }

    /// Whether the host's copy of managed memory is behind the device's.
    pub(crate) fn is_stale(&self) -> bool {
        let uses = lock(&self.uses);
        self.memory.storage == StorageMode::Managed && uses.seen != uses.written
    }

    /// `len` elements from byte `offset`, for reading. `None` when managed memory must be synchronised first.
    pub(crate) fn read<T: Pod>(
        &self,
        offset: usize,
        len: usize,
        patience: Patience,
    ) -> Result<Option<ReadGuard<'_, T>>> {
        let start = self.place::<T>(offset, len)?;
        let mut uses = self.idle(patience, |uses| uses.device_writers > 0)?;
        if let Some(cause) = &uses.fault {
            return Err(Error::Faulted { cause: Arc::clone(cause) });
        }
        if self.memory.storage == StorageMode::Managed && uses.seen != uses.written {
            return Ok(None);
        }
        let bytes = offset..offset + len * size_of::<T>();
        uses.refused(&bytes, false)?;
        uses.begin_host(bytes, false);
        drop(uses);
        Ok(Some(ReadGuard { tracked: self, start, offset, len, elements: PhantomData }))
    }

    /// Keeps everybody from writing these bytes, once no submission in flight does; or, where the hold is to write, from using them.
    pub(crate) fn hold(&self, bytes: Range<usize>, writes: bool) -> Result<Hold<'_>> {
        let mut uses = self.wait_while(|uses| uses.device_writers > 0 || (writes && uses.device_readers > 0));
        if let Some(cause) = &uses.fault {
            return Err(Error::Faulted { cause: Arc::clone(cause) });
        }
        uses.refused(&bytes, writes)?;
        let held = HostUse { bytes, writes, copied: true };
        uses.host.push(held.clone());
        Ok(Hold { tracked: self, held })
    }

    /// As `read`, for writing. `overwrite`: every element will be assigned before it is read, so that neither a fault
    /// nor a stale host copy matters; the former is forgotten.
    pub(crate) fn write<T: Pod>(
        &self,
        offset: usize,
        len: usize,
        patience: Patience,
        overwrite: bool,
    ) -> Result<Option<WriteGuard<'_, T>>> {
        let start = self.place::<T>(offset, len)?;
        let mut uses = self.idle(patience, |uses| uses.device_writers > 0 || uses.device_readers > 0)?;
        let bytes = offset..offset + len * size_of::<T>();
        uses.refused(&bytes, true)?;
        if overwrite {
            uses.fault = None;
            uses.seen = uses.written;
        }
        if let Some(cause) = &uses.fault {
            return Err(Error::Faulted { cause: Arc::clone(cause) });
        }
        if self.memory.storage == StorageMode::Managed && uses.seen != uses.written {
            return Ok(None);
        }
        uses.begin_host(bytes, true);
        drop(uses);
        Ok(Some(WriteGuard { tracked: self, start, offset, len, elements: PhantomData }))
    }

    /// Copies texels to the host, once no submission writes them. `None` when managed memory must be synchronised first.
    /// The lock is held meanwhile, so that a submission waits for the copy.
    pub(crate) fn read_texels(&self, copy: impl FnOnce(&Texture) -> Result<(), Failure>) -> Result<Option<()>> {
        let uses = self.wait_while(|uses| uses.device_writers > 0);
        if let Some(cause) = &uses.fault {
            return Err(Error::Faulted { cause: Arc::clone(cause) });
        }
        if self.memory.storage == StorageMode::Managed && uses.seen != uses.written {
            return Ok(None);
        }
        copy(self.memory.as_texture()).map_err(|failure| failure.during("read a texture"))?;
        Ok(Some(()))
    }

    /// Replaces all texels, once no submission uses them; a fault is forgotten. The lock is held meanwhile.
    pub(crate) fn overwrite_texels(&self, copy: impl FnOnce(&Texture) -> Result<(), Failure>) -> Result<()> {
        let mut uses = self.wait_while(|uses| uses.device_writers > 0 || uses.device_readers > 0);
        copy(self.memory.as_texture()).map_err(|failure| failure.during("write a texture"))?;
        uses.fault = None;
        uses.seen = uses.written;
        Ok(())
    }

    /// Where elements `offset..offset + len * size` begin, inside the memory and aligned.
    fn place<T: Pod>(&self, offset: usize, len: usize) -> Result<NonNull<T>> {
        let contents = self.memory.contents.ok_or(Error::NotHostVisible { storage: self.memory.storage })?;
        let end = len.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(offset));
        assert!(
            end.is_some_and(|end| end <= self.memory.bytes),
            "views lie in their buffers: byte {offset} and {len} elements in {}",
            self.memory.bytes
        );
        // SAFETY: `offset` is at most `bytes`, the length of the memory at `contents` (asserted).
        let start = unsafe { contents.add(offset) }.cast::<T>();
        if !start.is_aligned() {
            return Err(Error::Alignment { what: "reading this view on the host", wanted: align_of::<T>(), offset });
        }
        Ok(start)
    }
}

/// A guard of memory that the host need not see.
pub(crate) struct Hold<'a> {
    tracked: &'a Tracked,
    held: HostUse,
}

impl Hold<'_> {
    /// This submission is the holder's own; the one before it no longer needs to be.
    pub(crate) fn let_use(&self, flight: &Arc<Inflight>) {
        lock(&self.tracked.uses).holder = Some(Arc::clone(flight));
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let mut uses = lock(&self.tracked.uses);
        uses.end_host(&self.held);
        if self.held.writes {
            uses.holder = None;
        }
    }
}

/// The elements of a buffer, readable while no submission can write them.
///
/// It borrows the buffer or view it came from. A submission that writes the buffer is refused with
/// [`Error::BufferInUse`] until the guard is dropped.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// let gpu = dcmetal::Accelerator::system_default()?;
/// let x = gpu.buffer_from(&[1.0f32, 2.0, 3.0])?;
/// assert_eq!(x.read()?.iter().sum::<f32>(), 6.0);
/// # Ok(()) }
/// ```
pub struct ReadGuard<'a, T: Pod> {
    tracked: &'a Tracked,
    // A pointer rather than a reference: the promise ends with the guard, not with `'a` (as in std's `cell::Ref`).
    start: NonNull<T>,
    offset: usize,
    len: usize,
    elements: PhantomData<&'a [T]>,
}

// SAFETY: the guard gives `&[T]`, which may be sent where T is Sync; its counters are behind a lock.
unsafe impl<T: Pod + Sync> Send for ReadGuard<'_, T> {}
// SAFETY: as for Send.
unsafe impl<T: Pod + Sync> Sync for ReadGuard<'_, T> {}

impl<T: Pod> Deref for ReadGuard<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `place` checked bounds and alignment; any bytes are a T (Pod); the guard's place in `Uses::host` keeps submissions
        // and the host's other guards from writing, while it lives. The memory outlives the guard because `tracked` is borrowed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Pod> Drop for ReadGuard<'_, T> {
    fn drop(&mut self) {
        let bytes = self.offset..self.offset + self.len * size_of::<T>();
        lock(&self.tracked.uses).end_host(&HostUse { bytes, writes: false, copied: false });
    }
}

impl<T: Pod + std::fmt::Debug> std::fmt::Debug for ReadGuard<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.deref().fmt(f)
    }
}

/// The elements of a buffer, writable while no submission can touch them.
///
/// It borrows the buffer or view mutably. A submission that uses the buffer is refused with [`Error::BufferInUse`]
/// until the guard is dropped.
pub struct WriteGuard<'a, T: Pod> {
    tracked: &'a Tracked,
    start: NonNull<T>,
    offset: usize,
    len: usize,
    elements: PhantomData<&'a mut [T]>,
}

// SAFETY: the guard gives `&mut [T]`, which may be sent where T is Send; its counters are behind a lock.
unsafe impl<T: Pod + Send> Send for WriteGuard<'_, T> {}
// SAFETY: a shared guard gives `&[T]`, as for ReadGuard.
unsafe impl<T: Pod + Sync> Sync for WriteGuard<'_, T> {}

impl<T: Pod> Deref for WriteGuard<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: as in `ReadGuard::deref`; it keeps every submission away.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Pod> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; no other guard covers these elements.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Pod> Drop for WriteGuard<'_, T> {
    fn drop(&mut self) {
        if self.tracked.memory.storage == StorageMode::Managed && self.len > 0 {
            let bytes = self.len * size_of::<T>();
            let told = self.tracked.memory.did_modify(self.offset, bytes);
            assert!(told.is_ok(), "a range of a live managed buffer is always accepted: {told:?}");
        }
        let bytes = self.offset..self.offset + self.len * size_of::<T>();
        lock(&self.tracked.uses).end_host(&HostUse { bytes, writes: true, copied: false });
    }
}

impl<T: Pod + std::fmt::Debug> std::fmt::Debug for WriteGuard<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.deref().fmt(f)
    }
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
