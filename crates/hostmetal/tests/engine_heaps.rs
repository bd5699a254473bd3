//! Heaps against a model, and what becomes of volatile contents when the device's account is full. HOSTMETAL_MEMORY makes
//! the device small in this process.

mod support;

use std::ptr;
use std::sync::{Mutex, MutexGuard, Once};

use hostmetal::ffi::*;
use support::*;

const LIMIT: u64 = 64 << 20;
/// MTLPurgeableState.
const KEEP_CURRENT: u32 = 1;
const NON_VOLATILE: u32 = 2;
const VOLATILE: u32 = 3;
const EMPTY: u32 = 4;

/// The device, one test at a time, because all look at its account.
fn small_device() -> (HMDevice, MutexGuard<'static, ()>) {
    static ONE: Mutex<()> = Mutex::new(());
    static SET: Once = Once::new();
    let guard = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    SET.call_once(|| {
        // SAFETY: the engine reads the variable at the first call, which comes after this; nothing else reads it.
        unsafe { std::env::set_var("HOSTMETAL_MEMORY", LIMIT.to_string()) };
    });
    (device(), guard)
}

fn allocated(device: HMDevice) -> u64 {
    // SAFETY: the device is valid.
    unsafe { hm_device_current_allocated_size(device) }
}

fn create(device: HMDevice, length: u64) -> Option<Buffer> {
    // SAFETY: the device is valid.
    let handle = unsafe { hm_buffer_create(device, length) };
    (!handle.is_null()).then_some(Buffer(handle))
}

fn purgeable(buffer: &Buffer, state: u32) -> u32 {
    // SAFETY: the handle is valid.
    unsafe { hm_buffer_set_purgeable_state(buffer.0, state) }
}

fn first_byte(buffer: &Buffer) -> u8 {
    // SAFETY: the buffer has a byte.
    unsafe { buffer.contents().read() }
}

fn write_first_byte(buffer: &Buffer, value: u8) {
    // SAFETY: the buffer has a byte.
    unsafe { buffer.contents().write(value) };
}

struct Heap(HMHeap);

impl Heap {
    fn new(device: HMDevice, size: u64, placement: bool) -> Heap {
        // SAFETY: the device is valid.
        let handle = unsafe { hm_heap_create(device, size, placement) };
        assert!(!handle.is_null(), "no heap of {size} bytes");
        Heap(handle)
    }

    fn part(&self, length: u64) -> Option<Buffer> {
        let mut text = ptr::null();
        // SAFETY: the heap is valid and automatic, and text is a place for the answer.
        let handle = unsafe { hm_heap_buffer_create(self.0, length, ptr::null(), &mut text) };
        assert_eq!(misuse(text), None);
        (!handle.is_null()).then_some(Buffer(handle))
    }

    fn info(&self) -> HMHeapInfo {
        let mut info = HMHeapInfo { size: 0, used: 0, allocated: 0 };
        // SAFETY: the heap is valid.
        unsafe { hm_heap_info(self.0, &mut info) };
        info
    }

    fn available(&self) -> u64 {
        // SAFETY: the heap is valid.
        unsafe { hm_heap_max_available_size(self.0, 0) }
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: the handle is this object's.
        unsafe { hm_heap_release(self.0) };
    }
}

/// Numbers that look random, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Parts come and go; each keeps its bytes, the sizes add up, and what is said to be available is.
#[test]
fn parts_of_an_automatic_heap_against_a_model() {
    let (device, _one) = small_device();
    let heap = Heap::new(device, 1 << 20, false);
    let mut parts: Vec<(Buffer, u64, u8)> = Vec::new();
    let mut numbers = Numbers(4);
    for step in 0..4000u32 {
        if numbers.below(5) < 3 {
            let length = 1 + numbers.below(30_000);
            let fits = length.next_multiple_of(256) <= heap.available();
            let part = heap.part(length);
            assert_eq!(part.is_some(), fits, "{length} bytes at step {step}");
            if let Some(part) = part {
                let mark = step as u8;
                // SAFETY: the part is that long, and not in use.
                unsafe { ptr::write_bytes(part.contents(), mark, length as usize) };
                parts.push((part, length, mark));
            }
        } else if !parts.is_empty() {
            let (part, _, mark) = parts.swap_remove(numbers.below(parts.len() as u64) as usize);
            assert!(part.read::<u8>().iter().all(|&byte| byte == mark), "another part wrote here, step {step}");
        }
        let sizes: u64 = parts.iter().map(|(_, length, _)| length.next_multiple_of(256)).sum();
        assert_eq!(heap.info().used, sizes, "step {step}");
    }
    assert!(parts.len() > 10, "the heap was hardly used");
    assert_eq!(allocated(device), 1 << 20);
    drop(heap);
    assert_eq!(allocated(device), 1 << 20, "parts keep the heap's memory");
    drop(parts);
    assert_eq!(allocated(device), 0);
}

/// Threads that take and give back parts of one heap get parts of their own.
#[test]
fn threads_share_a_heap() {
    let (device, _one) = small_device();
    let heap = Heap::new(device, 1 << 20, false);
    struct Shared(Heap);
    // SAFETY: the engine's calls may be made on any thread.
    unsafe impl Sync for Shared {}
    let shared = Shared(heap);
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let shared = &shared;
            scope.spawn(move || {
                let mut numbers = Numbers(u64::from(thread));
                let mut parts: Vec<Buffer> = Vec::new();
                for _ in 0..500 {
                    let length = 1 + numbers.below(20_000);
                    if let Some(part) = shared.0.part(length) {
                        // SAFETY: the part is that long, and this thread's.
                        unsafe { ptr::write_bytes(part.contents(), thread, length as usize) };
                        parts.push(part);
                    }
                    if parts.len() > 8 {
                        let part = parts.swap_remove(numbers.below(8) as usize);
                        assert!(part.read::<u8>().iter().all(|&byte| byte == thread), "another thread's part");
                    }
                }
            });
        }
    });
    assert_eq!(shared.0.info().used, 0);
    assert_eq!(shared.0.available(), 1 << 20);
}

#[test]
fn heaps_count_against_the_devices_memory() {
    let (device, _one) = small_device();
    let heap = Heap::new(device, LIMIT, true);
    assert_eq!(heap.info().size, LIMIT);
    assert!(create(device, 1).is_none());
    // SAFETY: the device is valid.
    assert!(unsafe { hm_heap_create(device, 1, false) }.is_null());
    drop(heap);
    for size in [0, LIMIT + 1, u64::MAX] {
        // SAFETY: the device is valid.
        assert!(unsafe { hm_heap_create(device, size, false) }.is_null(), "a heap of {size} bytes");
    }
    assert_eq!(allocated(device), 0);
}

/// The longest volatile goes first, and no more goes than has to.
#[test]
fn volatile_contents_go_when_room_is_needed() {
    let (device, _one) = small_device();
    let third = LIMIT / 4;
    let buffers: Vec<Buffer> = (1..=3).map(|_| create(device, third).expect("room")).collect();
    for (buffer, value) in buffers.iter().zip(1..) {
        write_first_byte(buffer, value);
    }
    for number in [1, 0, 2] {
        assert_eq!(purgeable(&buffers[number], VOLATILE), NON_VOLATILE);
    }
    assert_eq!(purgeable(&buffers[1], NON_VOLATILE), VOLATILE);
    assert_eq!(purgeable(&buffers[1], VOLATILE), NON_VOLATILE); // now the youngest
    let one = create(device, third).expect("room");
    assert_eq!(allocated(device), LIMIT);
    assert!(buffers.iter().all(|buffer| purgeable(buffer, KEEP_CURRENT) == VOLATILE), "there was room");
    let two = create(device, third).expect("volatile memory makes room");
    assert_eq!(allocated(device), LIMIT);
    assert_eq!(purgeable(&buffers[0], NON_VOLATILE), EMPTY, "the longest volatile");
    assert_eq!(first_byte(&buffers[0]), 0);
    // That memory is needed again, and nothing is discarded for a call that cannot fail.
    assert_eq!(allocated(device), LIMIT + third);
    assert_eq!(purgeable(&buffers[2], NON_VOLATILE), VOLATILE);
    assert_eq!(purgeable(&buffers[1], NON_VOLATILE), VOLATILE);
    assert_eq!((first_byte(&buffers[1]), first_byte(&buffers[2])), (2, 3));
    assert!(create(device, 1).is_none(), "nothing is volatile");
    drop((buffers, one, two));
    assert_eq!(allocated(device), 0);
}

#[test]
fn a_request_that_can_never_fit_discards_nothing() {
    let (device, _one) = small_device();
    let buffer = create(device, 4096).expect("room");
    write_first_byte(&buffer, 7);
    purgeable(&buffer, VOLATILE);
    assert!(create(device, LIMIT + 1).is_none());
    // SAFETY: the device is valid.
    assert!(unsafe { hm_heap_create(device, LIMIT + 4096, false) }.is_null());
    assert_eq!(purgeable(&buffer, NON_VOLATILE), VOLATILE);
    assert_eq!(first_byte(&buffer), 7);
}

/// Changing states from several threads while others allocate leaves the account exact.
#[test]
fn threads_change_states_while_room_is_needed() {
    let (device, _one) = small_device();
    struct Shared(Vec<Buffer>);
    // SAFETY: the engine's calls may be made on any thread.
    unsafe impl Sync for Shared {}
    let shared = Shared((0..8).map(|_| create(device, LIMIT / 16).expect("room")).collect());
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let shared = &shared;
            scope.spawn(move || {
                let mut numbers = Numbers(thread);
                for _ in 0..400 {
                    let buffer = &shared.0[numbers.below(8) as usize];
                    let prior = purgeable(buffer, [VOLATILE, NON_VOLATILE, EMPTY][numbers.below(3) as usize]);
                    assert!([VOLATILE, NON_VOLATILE, EMPTY].contains(&prior));
                    drop(create(self::device(), LIMIT / 4));
                }
            });
        }
    });
    for buffer in &shared.0 {
        purgeable(buffer, NON_VOLATILE);
    }
    assert_eq!(allocated(device), LIMIT / 2);
    drop(shared);
    assert_eq!(allocated(device), 0);
}
