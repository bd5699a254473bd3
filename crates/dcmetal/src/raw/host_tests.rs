//! Who may use memory, and when.

use super::*;

fn tracked(storage: StorageMode) -> Tracked {
    let device = Device::system_default().expect("a Metal device");
    Tracked::new(Memory::new(&device, 64, storage).expect("64 bytes"))
}

fn flight() -> Arc<Inflight> {
    Arc::new(Inflight::default())
}

fn begin(tracked: &Tracked, kind: DeviceUse) -> Arc<Inflight> {
    let flight = flight();
    assert!(matches!(tracked.begin_device(kind, &flight), Ok(Begun::Now(_))), "nobody is in the way");
    flight
}

fn readable(tracked: &Tracked) -> bool {
    tracked.read::<u8>(0, 64, Patience::Refuse).expect("nothing is in flight").is_some()
}

#[test]
fn managed_memory_is_read_only_after_its_writes_were_synchronised() {
    let memory = tracked(StorageMode::Managed);
    assert!(readable(&memory) && !memory.is_stale());
    let write = begin(&memory, DeviceUse::Write);
    memory.end_device(DeviceUse::Write, &write, None);
    assert!(memory.is_stale() && !readable(&memory));
    assert!(memory.write::<u8>(0, 64, Patience::Refuse, false).expect("nothing is in flight").is_none());
    // A failed one shows nothing; one that a later write overtook shows what was before that.
    let sync = begin(&memory, DeviceUse::Synchronize);
    memory.end_device(DeviceUse::Synchronize, &sync, Some(&Arc::new(error())));
    assert!(!readable(&memory));
    let (sync, write) = (begin(&memory, DeviceUse::Synchronize), begin(&memory, DeviceUse::Write));
    memory.end_device(DeviceUse::Write, &write, None);
    memory.end_device(DeviceUse::Synchronize, &sync, None);
    assert!(!readable(&memory));
    let sync = begin(&memory, DeviceUse::Synchronize);
    assert!(memory.read::<u8>(0, 64, Patience::Refuse).is_err(), "the copy is being made");
    memory.end_device(DeviceUse::Synchronize, &sync, None);
    assert!(readable(&memory));
    // Of two, in whichever order they end, only what did not fail counts.
    let (one, write) = (begin(&memory, DeviceUse::Synchronize), begin(&memory, DeviceUse::Write));
    memory.end_device(DeviceUse::Write, &write, None);
    let other = begin(&memory, DeviceUse::Synchronize);
    memory.end_device(DeviceUse::Synchronize, &other, Some(&Arc::new(error())));
    memory.end_device(DeviceUse::Synchronize, &one, None);
    assert!(!readable(&memory));
    // Writing everything needs no copy of what was there.
    let write = begin(&memory, DeviceUse::Write);
    memory.end_device(DeviceUse::Write, &write, None);
    assert!(memory.write::<u8>(0, 64, Patience::Refuse, true).expect("nothing is in flight").is_some());
    assert!(readable(&memory));
    // A part of no bytes is told to nobody.
    drop(memory.write::<u8>(64, 0, Patience::Refuse, false).expect("nothing is in flight"));
}

#[test]
fn a_copy_that_failed_is_told_once() {
    let memory = tracked(StorageMode::Managed);
    for failed in [true, false] {
        let write = begin(&memory, DeviceUse::Write);
        memory.end_device(DeviceUse::Write, &write, None);
        assert!(memory.take_failed_copy().is_none());
        let sync = begin(&memory, DeviceUse::Synchronize);
        memory.end_device(DeviceUse::Synchronize, &sync, failed.then(|| Arc::new(error())).as_ref());
        assert_eq!(memory.take_failed_copy().is_some(), failed);
        assert!(memory.take_failed_copy().is_none());
    }
}

#[test]
fn shared_memory_needs_no_copy() {
    let memory = tracked(StorageMode::Shared);
    let write = begin(&memory, DeviceUse::Write);
    memory.end_device(DeviceUse::Write, &write, None);
    assert!(readable(&memory));
}

#[test]
fn a_cancelled_use_leaves_the_one_before_it() {
    let memory = tracked(StorageMode::Shared);
    let first = begin(&memory, DeviceUse::Write);
    let second = flight();
    let Ok(Begun::Now(before)) = memory.begin_device(DeviceUse::Write, &second) else { panic!("writes queue up") };
    assert!(before.as_ref().is_some_and(|before| Arc::ptr_eq(before, &first)));
    memory.cancel_device(DeviceUse::Write, &second, before);
    let third = flight();
    let Ok(Begun::Now(before)) = memory.begin_device(DeviceUse::Read, &third) else { panic!("reads queue up") };
    assert!(before.is_some_and(|before| Arc::ptr_eq(&before, &first)));
    assert!(memory.read::<u8>(0, 1, Patience::Refuse).is_err(), "the first still writes");
    memory.end_device(DeviceUse::Write, &first, None);
    assert!(readable(&memory), "the third only reads");
    assert!(memory.write::<u8>(0, 1, Patience::Refuse, false).is_err());
    memory.end_device(DeviceUse::Read, &third, None);
    assert!(memory.write::<u8>(0, 1, Patience::Refuse, false).is_ok());
}

/// Its use has ended, though the submission is not settled yet.
#[test]
fn a_cancelled_use_leaves_none_that_has_ended() {
    let memory = tracked(StorageMode::Shared);
    let first = begin(&memory, DeviceUse::Write);
    let second = flight();
    let Ok(Begun::Now(before)) = memory.begin_device(DeviceUse::Write, &second) else { panic!("writes queue up") };
    memory.end_device(DeviceUse::Write, &first, Some(&Arc::new(error())));
    memory.cancel_device(DeviceUse::Write, &second, before);
    memory.clear_fault();
    assert!(matches!(memory.begin_device(DeviceUse::Read, &flight()), Ok(Begun::Now(None))));
}

/// Bytes of two guards, whether each is for writing, and whether the second is refused.
#[test]
fn guards_of_the_same_bytes_are_kept_apart() {
    let guard = |memory: &Tracked, (from, to): (usize, usize), writes| {
        if writes {
            memory.write::<u8>(from, to - from, Patience::Refuse, true).map(drop)
        } else {
            memory.read::<u8>(from, to - from, Patience::Refuse).map(drop)
        }
    };
    for (first, first_writes, second, second_writes, refused) in [
        ((0, 8), false, (0, 8), false, false),
        ((0, 8), false, (4, 9), true, true),
        ((0, 8), true, (7, 8), false, true),
        ((0, 8), true, (0, 64), true, true),
        ((0, 8), true, (8, 64), true, false),
        ((8, 16), false, (0, 8), true, false),
        ((0, 8), true, (4, 4), true, false),
    ] {
        let memory = tracked(StorageMode::Shared);
        let case = format!("{first:?} {first_writes}, {second:?} {second_writes}");
        let (reads, writes) = if first_writes {
            (None, memory.write::<u8>(first.0, first.1 - first.0, Patience::Refuse, true).expect("nobody is there"))
        } else {
            (memory.read::<u8>(first.0, first.1 - first.0, Patience::Refuse).expect("nobody is there"), None)
        };
        assert_eq!(guard(&memory, second, second_writes).is_err(), refused, "{case}");
        drop((reads, writes));
        assert!(guard(&memory, second, second_writes).is_ok(), "{case}");
    }
}

#[test]
fn the_first_fault_stays_until_it_is_forgotten() {
    let memory = tracked(StorageMode::Shared);
    for text in ["first", "second"] {
        let write = flight();
        // The second was in flight already when the first failed.
        lock(&memory.uses).device_writers += 1;
        memory.end_device(DeviceUse::Write, &write, Some(&Arc::new(SubmissionError { text: text.into(), ..error() })));
    }
    let told = memory.read::<u8>(0, 1, Patience::Wait).err();
    assert!(matches!(&told, Some(Error::Faulted { cause }) if cause.text == "first"), "{told:?}");
    assert!(memory.begin_device(DeviceUse::Read, &flight()).is_err());
    memory.clear_fault();
    assert!(readable(&memory));
}

/// Neither what was to replace everything and was not committed makes memory sound, nor what failed.
#[test]
fn a_fault_is_over_when_all_was_replaced() {
    let memory = tracked(StorageMode::Shared);
    let failure = Some(Arc::new(error()));
    let write = begin(&memory, DeviceUse::Write);
    memory.end_device(DeviceUse::Write, &write, failure.as_ref());
    assert!(memory.begin_device(DeviceUse::Write, &flight()).is_err());
    memory.cancel_device(DeviceUse::Replace, &begin(&memory, DeviceUse::Replace), None);
    assert!(memory.has_fault());
    memory.end_device(DeviceUse::Replace, &begin(&memory, DeviceUse::Replace), failure.as_ref());
    assert!(memory.has_fault());
    memory.end_device(DeviceUse::Replace, &begin(&memory, DeviceUse::Replace), None);
    assert!(readable(&memory));
}

/// What began behind the replacement may be told first that it failed, whether there was a fault before or not.
#[test]
fn a_fault_behind_a_replacement_is_not_over_with_it() {
    for faulted in [false, true] {
        let memory = tracked(StorageMode::Shared);
        if faulted {
            let write = begin(&memory, DeviceUse::Write);
            memory.end_device(DeviceUse::Write, &write, Some(&Arc::new(error())));
        }
        let replace = begin(&memory, DeviceUse::Replace);
        // It was begun before the first failed, as by a graph of another thread.
        lock(&memory.uses).device_writers += 1;
        let failure = Arc::new(SubmissionError { text: "behind".into(), ..error() });
        memory.end_device(DeviceUse::Write, &flight(), Some(&failure));
        memory.end_device(DeviceUse::Replace, &replace, None);
        let told = memory.read::<u8>(0, 1, Patience::Wait).err();
        assert!(matches!(&told, Some(Error::Faulted { cause }) if cause.text == "behind"), "{faulted}: {told:?}");
    }
}

fn error() -> SubmissionError {
    let (domain, text) = (String::new(), String::new());
    SubmissionError {
        kernels: Vec::new(),
        encoders: Vec::new(),
        domain,
        code: 0,
        text,
        commands: Vec::new(),
        caused_by: None,
    }
}
