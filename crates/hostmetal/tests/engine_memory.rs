//! Buffers and the device's account. HOSTMETAL_MEMORY makes the device small in this process.

mod support;

use std::sync::{Mutex, MutexGuard, Once};

use hostmetal::ffi::*;
use support::*;

const LIMIT: u64 = 64 << 20;

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

#[test]
fn the_account_follows_buffers() {
    let (device, _one) = small_device();
    assert_eq!(allocated(device), 0);
    let first = create(device, 100).expect("room");
    let page = allocated(device);
    assert!(page >= 4096 && page.is_power_of_two());
    let second = create(device, page + 1).expect("room");
    assert_eq!(allocated(device), 3 * page);
    drop(first);
    assert_eq!(allocated(device), 2 * page);
    drop(second);
    assert_eq!(allocated(device), 0);
}

#[test]
fn allocations_beyond_the_limit_fail() {
    let (device, _one) = small_device();
    let mut info = std::mem::MaybeUninit::<HMDeviceInfo>::zeroed();
    // SAFETY: the device is valid, and the place is one for the information.
    unsafe { hm_device_info(device, info.as_mut_ptr()) };
    // SAFETY: the call has filled it.
    let info = unsafe { info.assume_init() };
    assert_eq!((info.recommended_max_working_set_size, info.max_buffer_length), (LIMIT, LIMIT));
    assert_eq!((info.max_total_threads_per_threadgroup, info.max_threadgroup_memory_length), (1024, 32_768));
    // SAFETY: the name lives as long as the process.
    let name = unsafe { std::ffi::CStr::from_ptr(info.name) }.to_str().expect("UTF-8");
    assert!(name.starts_with("hostmetal (") && name.contains("thread"), "{name}");

    for length in [0, LIMIT + 1, 10 << 30, u64::MAX, u64::MAX - 4095] {
        assert!(create(device, length).is_none(), "a buffer of {length} bytes");
    }
    let half = create(device, LIMIT / 2).expect("room");
    assert!(create(device, LIMIT / 2 + 1).is_none());
    let other = create(device, LIMIT / 2).expect("room");
    assert!(create(device, 1).is_none());
    drop(half);
    assert!(create(device, 1).is_some());
    drop(other);
    assert_eq!(allocated(device), 0);
    assert!(create(device, LIMIT).is_some());
}

#[test]
fn contents_are_page_aligned_zero_and_writable_to_the_end() {
    let (device, _one) = small_device();
    for length in [1u64, 4095, 4096, 4097, 1 << 20, (2 << 20) + 5, 32 << 20] {
        let buffer = create(device, length).expect("room");
        assert_eq!(buffer.contents() as usize % 4096, 0);
        let bytes = buffer.read::<u8>();
        assert_eq!(bytes.len() as u64, length);
        assert!(bytes.iter().all(|&byte| byte == 0), "{length} bytes");
        // SAFETY: the last byte of the buffer.
        unsafe { buffer.contents().wrapping_add(length as usize - 1).write(1) };
    }
}

/// Processors that take them for the same address would have stores into one wait for loads from another (memory.rs, `ALIAS`).
#[test]
fn large_buffers_begin_differently_far_into_a_mebibyte() {
    let (device, _one) = small_device();
    let all: Vec<Buffer> = (0..8).map(|number| create(device, 1 << (20 + number % 3)).expect("room")).collect();
    let mut places: Vec<usize> = all.iter().map(|buffer| buffer.contents() as usize % (1 << 20)).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), all.len(), "{places:x?}");
}

#[test]
fn more_buffers_than_guards_can_be() {
    let (device, _one) = small_device();
    let all: Vec<Buffer> = (0..LIMIT / 4096).map(|_| create(device, 4096).expect("room")).collect();
    assert_eq!(all.len(), 16_384);
    for (number, buffer) in all.iter().enumerate() {
        // SAFETY: the buffer has 4096 bytes.
        unsafe { buffer.contents().cast::<usize>().write(number) };
    }
    for (number, buffer) in all.iter().enumerate() {
        assert_eq!(buffer.read::<usize>()[0], number);
    }
    drop(all);
    assert_eq!(allocated(device), 0);
}
