//! Version, errors, devices and queues.

use std::ptr;
use std::sync::mpsc;
use std::thread;

use dcmetal_sys::*;

use crate::support::*;

// ------------------------------------------------------------------ version

pub(crate) fn version_is_the_headers() {
    let line = crate::HEADER.lines().find(|line| line.starts_with("#define DC_METAL_ABI_VERSION ")).expect("a version");
    let number = line.split_whitespace().nth(2).expect("a number").trim_end_matches('u');
    assert_eq!(dc!(DCMetal_AbiVersion()).to_string(), number);
    assert_eq!(DC_METAL_ABI_VERSION.to_string(), number);
}

// ------------------------------------------------------------------ errors

/// An error that quotes `name`.
fn unknown_function(gpu: &Gpu, name: &str) -> DCMetalError {
    let library = gpu.library("kernel void there() {}").expect("it compiles");
    let (name, mut function, mut error) = (c(name), DCMetalFunction::GARBAGE, DCMetalError::GARBAGE);
    let none = DCMetalConstants::NULL;
    let status = dc!(DCMetalFunction_Create(library.0, name.as_ptr(), none, &mut function, &mut error));
    assert_eq!(status, DC_METAL_NOT_FOUND);
    error
}

pub(crate) fn error_of_null_is_empty() {
    let none = DCMetalError::NULL;
    assert_eq!(string(|text, capacity| dc!(DCMetalError_GetDomain(none, text, capacity))), "");
    assert_eq!(string(|text, capacity| dc!(DCMetalError_GetMessage(none, text, capacity))), "");
    assert_eq!(string(|text, capacity| dc!(DCMetalError_GetEncoderLabel(none, 0, text, capacity))), "");
    assert_eq!(dc!(DCMetalError_GetCode(none)), 0);
    assert_eq!(dc!(DCMetalError_GetEncoderCount(none)), 0);
    assert_eq!(dc!(DCMetalError_GetEncoderState(none, 0)), DC_METAL_ENCODER_UNKNOWN);
    dc!(DCMetalError_Release(none));
}

pub(crate) fn error_says_domain_code_and_sentence() {
    let failure = failure(DC_METAL_NOT_FOUND, unknown_function(&Gpu::new(), "absent"));
    assert_eq!(failure.domain, "DCMetal");
    assert_eq!(failure.code, 3);
    assert!(failure.message.contains("absent"), "{failure:?}");
    assert!(failure.encoders.is_empty());
}

pub(crate) fn error_without_encoders_has_none() {
    let error = Owned(unknown_function(&Gpu::new(), "absent"));
    assert_eq!(dc!(DCMetalError_GetEncoderCount(error.0)), 0);
    assert_eq!(dc!(DCMetalError_GetEncoderState(error.0, 0)), DC_METAL_ENCODER_UNKNOWN);
    assert_eq!(dc!(DCMetalError_GetEncoderState(error.0, usize::MAX)), DC_METAL_ENCODER_UNKNOWN);
    assert_eq!(string(|text, capacity| dc!(DCMetalError_GetEncoderLabel(error.0, 0, text, capacity))), "");
}

pub(crate) fn error_text_is_never_cut() {
    let name = "n".repeat(100_000);
    let error = Owned(unknown_function(&Gpu::new(), &name));
    let message = string(|text, capacity| dc!(DCMetalError_GetMessage(error.0, text, capacity)));
    assert!(message.contains(&name), "{} bytes", message.len());
}

pub(crate) fn error_text_is_cut_between_characters() {
    let error = Owned(unknown_function(&Gpu::new(), &"\u{20ac}\u{1f600}".repeat(9)));
    let whole = string(|text, capacity| dc!(DCMetalError_GetMessage(error.0, text, capacity)));
    assert!(whole.contains('\u{1f600}'));
    for capacity in 1..whole.len() + 3 {
        let mut bytes = vec![0x7fu8; capacity];
        let length = dc!(DCMetalError_GetMessage(error.0, bytes.as_mut_ptr().cast(), capacity));
        assert_eq!(length, whole.len());
        let end = bytes.iter().position(|&byte| byte == 0).expect("terminated");
        let text = std::str::from_utf8(&bytes[..end]).expect("whole characters");
        assert!(whole.starts_with(text));
        assert!(end + 4 > (capacity - 1).min(whole.len()), "as much as fits: {end} of {capacity}");
    }
}

pub(crate) fn error_outlives_everything() {
    let error = {
        let gpu = Gpu::new();
        unknown_function(&gpu, "gone")
    };
    assert!(failure(DC_METAL_NOT_FOUND, error).message.contains("gone"));
}

// ------------------------------------------------------------------ devices

fn all_devices() -> Vec<Owned<DCMetalDevice>> {
    let mut count = usize::MAX;
    attempt(|error| dc!(DCMetalDevice_CreateAll(ptr::null_mut(), 0, &mut count, error))).expect("devices are counted");
    let mut devices = vec![DCMetalDevice::GARBAGE; count + 2];
    let mut again = usize::MAX;
    attempt(|error| dc!(DCMetalDevice_CreateAll(devices.as_mut_ptr(), count + 2, &mut again, error))).expect("devices");
    assert_eq!(again, count);
    assert!(devices[count..].iter().all(|device| device.is_null()), "what is not used is NULL");
    devices.truncate(count);
    devices.into_iter().map(Owned).collect()
}

pub(crate) fn devices_are_listed() {
    let devices = all_devices();
    assert!(!devices.is_empty());
    let mut ids: Vec<u64> = devices.iter().map(|device| dc!(DCMetalDevice_GetRegistryID(device.0))).collect();
    assert!(ids.iter().all(|&id| id != 0));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), devices.len(), "ids are unique");
}

pub(crate) fn devices_beyond_the_capacity_are_only_counted() {
    let all = all_devices().len();
    let mut count = usize::MAX;
    let mut one = [DCMetalDevice::GARBAGE; 2];
    attempt(|error| dc!(DCMetalDevice_CreateAll(one.as_mut_ptr(), 1, &mut count, error))).expect("devices");
    assert_eq!(count, all);
    assert!(!one[0].is_null());
    assert_eq!(one[1], DCMetalDevice::GARBAGE, "nothing beyond the capacity");
    drop(Owned(one[0]));
}

pub(crate) fn devices_wrong_arguments_are_refused() {
    let (null, mut count) = (ptr::null_mut(), usize::MAX);
    let invalid = DC_METAL_INVALID_ARGUMENT;
    let message = refused(invalid, attempt(|error| dc!(DCMetalDevice_CreateAll(null, 1, &mut count, error))));
    assert!(message.contains("devices"), "{message}");
    assert_eq!(count, 0);
    refused(invalid, attempt(|error| dc!(DCMetalDevice_CreateAll(null, 0, ptr::null_mut(), error))));
    refused(invalid, attempt(|error| dc!(DCMetalDevice_CreateSystemDefault(ptr::null_mut(), error))));
}

pub(crate) fn default_device_is_one_of_all() {
    let gpu = Gpu::new();
    let id = dc!(DCMetalDevice_GetRegistryID(gpu.device.0));
    assert!(all_devices().iter().any(|device| dc!(DCMetalDevice_GetRegistryID(device.0)) == id));
    let mut error = DCMetalDevice::GARBAGE;
    assert_eq!(dc!(DCMetalDevice_CreateSystemDefault(&mut error, ptr::null_mut())), DC_METAL_OK, "error may be NULL");
    assert_eq!(dc!(DCMetalDevice_GetRegistryID(error)), id, "the id is the same for each handle");
    dc!(DCMetalDevice_Release(error));
}

pub(crate) fn device_has_a_name() {
    let gpu = Gpu::new();
    let name = string(|text, capacity| dc!(DCMetalDevice_GetName(gpu.device.0, text, capacity)));
    assert!(!name.trim().is_empty());
}

/// hostmetal's by a hash; Apple's is of the system.
pub(crate) fn device_names_its_compiler() {
    let gpu = Gpu::new();
    let compiler = string(|text, capacity| dc!(DCMetalDevice_GetCompiler(gpu.device.0, text, capacity)));
    let is_hash = compiler.len() == 64 && compiler.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(if cfg!(target_os = "macos") { compiler.is_empty() } else { is_hash }, "{compiler}");
    assert_eq!(string(|text, capacity| dc!(DCMetalDevice_GetCompiler(gpu.device.0, text, capacity))), compiler);
}

/// Bytes of memory of this machine, from the operating system.
fn physical_memory() -> u64 {
    // SAFETY: sysconf reads nothing of ours.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    // SAFETY: as above.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(pages).expect("known") * u64::try_from(page).expect("known")
}

pub(crate) fn device_limits_are_metals() {
    let device = &Gpu::new().device;
    // Apple, Metal Feature Set Tables: every family has at least 16 KiB, and 256 MiB buffers.
    assert!(dc!(DCMetalDevice_GetMaxThreadgroupMemoryLength(device.0)) >= 16 << 10);
    assert!(dc!(DCMetalDevice_GetMaxBufferLength(device.0)) >= 256 << 20);
    let most = dc!(DCMetalDevice_GetMaxThreadsPerThreadgroup(device.0));
    assert!(most.width >= 512 && most.height >= 512 && most.depth >= 64, "{most:?}");
    let working_set = dc!(DCMetalDevice_GetRecommendedMaxWorkingSetSize(device.0));
    assert!(working_set > 64 << 20, "{working_set}");
    if dc!(DCMetalDevice_HasUnifiedMemory(device.0)) {
        assert!(working_set <= physical_memory(), "{working_set}");
    }
}

pub(crate) fn device_kind_is_consistent() {
    let device = &Gpu::new().device;
    let unified = dc!(DCMetalDevice_HasUnifiedMemory(device.0));
    let (low, removable) = (dc!(DCMetalDevice_IsLowPower(device.0)), dc!(DCMetalDevice_IsRemovable(device.0)));
    // A GPU that can be pulled out does not share its memory with the CPU; only an integrated one is the low-power one.
    assert!(!(unified && removable));
    assert!(!low || unified);
    if cfg!(not(target_os = "macos")) {
        assert!(unified, "the CPU's memory is the device's");
        assert!(dc!(DCMetalDevice_IsHeadless(device.0)), "no display hangs on it");
    } else {
        let _either = dc!(DCMetalDevice_IsHeadless(device.0));
    }
}

pub(crate) fn device_has_a_place() {
    let devices = all_devices();
    for device in &devices {
        let place = dc!(DCMetalDevice_GetLocation(device.0));
        let _any = dc!(DCMetalDevice_GetLocationNumber(device.0));
        assert_ne!(place, DC_METAL_LOCATION_UNSPECIFIED);
        assert!(dc!(DCMetalDevice_IsRemovable(device.0)) || place != DC_METAL_LOCATION_EXTERNAL);
        if place == DC_METAL_LOCATION_BUILT_IN && dc!(DCMetalDevice_HasUnifiedMemory(device.0)) {
            // Apple, maxTransferRate: "0 for built-in GPUs".
            assert_eq!(dc!(DCMetalDevice_GetMaxTransferRate(device.0)), 0);
        }
        let group = dc!(DCMetalDevice_GetPeerGroupID(device.0));
        let peers = devices.iter().filter(|other| dc!(DCMetalDevice_GetPeerGroupID(other.0)) == group);
        let mut indices: Vec<u32> = peers.map(|peer| dc!(DCMetalDevice_GetPeerIndex(peer.0))).collect();
        indices.sort_unstable();
        let count = dc!(DCMetalDevice_GetPeerCount(device.0));
        match group {
            0 => assert_eq!((dc!(DCMetalDevice_GetPeerIndex(device.0)), count), (0, 0)),
            _ => assert!(indices.into_iter().eq(0..count)),
        }
    }
}

pub(crate) fn device_families_are_nested() {
    let device = &Gpu::new().device;
    let supports = |family: i64| dc!(DCMetalDevice_SupportsFamily(device.0, family));
    // Apple, MTLGPUFamily: each family of a line has all features of those before it.
    for line in [1001..=1010, 2001..=2002, 3001..=3003] {
        let has: Vec<bool> = line.map(supports).collect();
        assert!(has.is_sorted_by(|before, after| before >= after), "{has:?}");
    }
    assert!(supports(3001), "every device has Common1");
    for family in [0, -1, 1000, 1 << 40, i64::MIN, i64::MAX] {
        assert!(!supports(family), "{family}");
    }
}

pub(crate) fn device_counts_what_is_allocated() {
    let gpu = Gpu::new();
    let before = dc!(DCMetalDevice_GetCurrentAllocatedSize(gpu.device.0));
    let length = 8 << 20;
    let buffer = gpu.buffer(length);
    let with = dc!(DCMetalDevice_GetCurrentAllocatedSize(gpu.device.0));
    assert!(with >= before + length, "{before} {with}");
    drop(buffer);
    let after = dc!(DCMetalDevice_GetCurrentAllocatedSize(gpu.device.0));
    assert!(after <= with - length, "{with} {after}");
}

pub(crate) fn device_of_null_has_nothing() {
    let none = DCMetalDevice::NULL;
    assert_eq!(string(|text, capacity| dc!(DCMetalDevice_GetName(none, text, capacity))), "");
    assert_eq!(string(|text, capacity| dc!(DCMetalDevice_GetCompiler(none, text, capacity))), "");
    let mut text = [1 as std::ffi::c_char; 4];
    assert_eq!((dc!(DCMetalDevice_GetCompiler(none, text.as_mut_ptr(), 4)), text), (0, [0, 1, 1, 1]));
    assert_eq!(dc!(DCMetalDevice_GetRegistryID(none)), 0);
    assert!(!dc!(DCMetalDevice_HasUnifiedMemory(none)));
    assert!(!dc!(DCMetalDevice_IsLowPower(none)));
    assert!(!dc!(DCMetalDevice_IsHeadless(none)));
    assert!(!dc!(DCMetalDevice_IsRemovable(none)));
    assert_eq!(dc!(DCMetalDevice_GetRecommendedMaxWorkingSetSize(none)), 0);
    assert_eq!(dc!(DCMetalDevice_GetCurrentAllocatedSize(none)), 0);
    assert_eq!(dc!(DCMetalDevice_GetMaxBufferLength(none)), 0);
    assert_eq!(dc!(DCMetalDevice_GetMaxThreadgroupMemoryLength(none)), 0);
    assert_eq!(dc!(DCMetalDevice_GetMaxThreadsPerThreadgroup(none)), size(0, 0, 0));
    assert!(!dc!(DCMetalDevice_SupportsFamily(none, 3001)));
    assert_eq!(dc!(DCMetalDevice_GetLocation(none)), DC_METAL_LOCATION_UNSPECIFIED);
    assert_eq!((dc!(DCMetalDevice_GetLocationNumber(none)), dc!(DCMetalDevice_GetMaxTransferRate(none))), (0, 0));
    assert_eq!(dc!(DCMetalDevice_GetPeerGroupID(none)), 0);
    assert_eq!((dc!(DCMetalDevice_GetPeerIndex(none)), dc!(DCMetalDevice_GetPeerCount(none))), (0, 0));
    dc!(DCMetalDevice_Release(none));
}

// ------------------------------------------------------------------ queues

pub(crate) fn queue_runs_after_its_device_handle() {
    let Gpu { device, queue } = Gpu::new();
    drop(device);
    let gpu = Gpu { device: Owned(DCMetalDevice::NULL), queue };
    let command_buffer = gpu.command_buffer();
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
}

pub(crate) fn queue_label_is_checked() {
    let gpu = Gpu::new();
    let (good, bad) = (c("queue \u{e9}"), [0xffu8, 0]);
    assert_eq!(dc!(DCMetalQueue_SetLabel(gpu.queue.0, good.as_ptr())), DC_METAL_OK);
    assert_eq!(dc!(DCMetalQueue_SetLabel(gpu.queue.0, ptr::null())), DC_METAL_OK);
    assert_eq!(dc!(DCMetalQueue_SetLabel(gpu.queue.0, bad.as_ptr().cast())), DC_METAL_INVALID_ARGUMENT);
    assert_eq!(dc!(DCMetalQueue_SetLabel(DCMetalQueue::NULL, good.as_ptr())), DC_METAL_INVALID_ARGUMENT);
}

pub(crate) fn queue_refuses_null() {
    let gpu = Gpu::new();
    let invalid = DC_METAL_INVALID_ARGUMENT;
    let null = DCMetalDevice::NULL;
    let message = refused(invalid, create(|out, error| dc!(DCMetalQueue_Create(null, 0, out, error))));
    assert!(message.contains("device"), "{message}");
    refused(invalid, attempt(|error| dc!(DCMetalQueue_Create(gpu.device.0, 0, ptr::null_mut(), error))));
    dc!(DCMetalQueue_Release(DCMetalQueue::NULL));
}

pub(crate) fn queue_of_one_waits_for_its_command_buffer() {
    let gpu = Gpu::new();
    let queue = create(|out, error| dc!(DCMetalQueue_Create(gpu.device.0, 1, out, error))).expect("a queue");
    let gpu = Gpu { device: gpu.device, queue };
    let (report, reports) = mpsc::channel();
    thread::scope(|scope| {
        let first = gpu.command_buffer();
        let gpu = &gpu;
        scope.spawn(move || {
            let second = gpu.command_buffer();
            report.send("second made").expect("somebody listens");
            commit(&second);
            wait(&second).expect("it completes");
        });
        assert!(reports.try_recv().is_err(), "one uncompleted command buffer is the limit");
        commit(&first);
        wait(&first).expect("it completes");
        assert_eq!(reports.recv(), Ok("second made"));
    });
}
