//! What the system tells of itself: its user, its build, and on macOS when memory becomes short or is so no longer.

#[cfg(target_os = "macos")]
pub(crate) use macos::{PressureSource, sysctl_u32};

/// The user that this process acts for.
pub(crate) fn user() -> u32 {
    // SAFETY: no preconditions.
    unsafe { libc::geteuid() }
}

/// The system and its build: code that a device's compiler made under another is not used. What `uname` tells is the kernel's; on macOS the
/// device's compiler is of the system's build, which may change without the kernel.
pub(crate) fn system_build() -> String {
    let kernel = kernel_build();
    #[cfg(target_os = "macos")]
    let kernel = kernel + &macos::sysctl_text(c"kern.osversion").unwrap_or_default();
    kernel
}

fn kernel_build() -> String {
    // SAFETY: all bytes zero are a value of this structure of byte arrays.
    let mut names: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: the out-parameter is valid for the call.
    if unsafe { libc::uname(&mut names) } != 0 {
        return String::new();
    }
    let mut build = String::new();
    for field in [&names.sysname[..], &names.release, &names.version, &names.machine] {
        let bytes = field.iter().map(|&c| c as u8).take_while(|&c| c != 0);
        build.push_str(&String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()));
        build.push('\n');
    }
    build
}

#[cfg(target_os = "macos")]
mod macos {
    use std::ffi::{CStr, c_void};
    use std::ptr::{self, NonNull};
    use std::sync::mpsc::Sender;

    /// A number that the system tells by name.
    pub(crate) fn sysctl_u32(name: &CStr) -> Option<u32> {
        let (bytes, length) = sysctl::<{ size_of::<u32>() }>(name)?;
        (length == bytes.len()).then(|| u32::from_ne_bytes(bytes))
    }

    /// A text that the system tells by name.
    pub(super) fn sysctl_text(name: &CStr) -> Option<String> {
        let (bytes, length) = sysctl::<256>(name)?;
        let text = CStr::from_bytes_until_nul(&bytes[..length]).ok()?;
        Some(text.to_string_lossy().into_owned())
    }

    /// What the system tells by name, if it has not more bytes than this, and how many.
    fn sysctl<const BYTES: usize>(name: &CStr) -> Option<([u8; BYTES], usize)> {
        let (mut value, mut length) = ([0; BYTES], BYTES);
        let (to, room) = (value.as_mut_ptr().cast(), &raw mut length);
        // SAFETY: a terminated name; `value` has room for `length` bytes, and both live through the call; nothing is set.
        let status = unsafe { libc::sysctlbyname(name.as_ptr(), to, room, ptr::null_mut(), 0) };
        (status == 0 && length <= BYTES).then_some((value, length))
    }

    /// `dispatch_source_type_s`, of which only addresses are known.
    #[repr(C)]
    struct SourceType([u8; 0]);

    // <dispatch/object.h>, <dispatch/source.h>. Part of libSystem, which every program has.
    unsafe extern "C" {
        static _dispatch_source_type_memorypressure: SourceType;
        fn dispatch_source_create(of: *const SourceType, handle: usize, mask: usize, queue: *mut c_void)
        -> *mut c_void;
        fn dispatch_set_context(object: *mut c_void, context: *mut c_void);
        fn dispatch_source_set_event_handler_f(source: *mut c_void, handler: Option<extern "C" fn(*mut c_void)>);
        fn dispatch_source_set_cancel_handler_f(source: *mut c_void, handler: Option<extern "C" fn(*mut c_void)>);
        fn dispatch_activate(object: *mut c_void);
        fn dispatch_source_cancel(source: *mut c_void);
        fn dispatch_release(object: *mut c_void);
    }

    /// `DISPATCH_MEMORYPRESSURE_NORMAL`, `..._WARN` and `..._CRITICAL`.
    const ANY_LEVEL: usize = 1 | 2 | 4;

    /// A dispatch source of memory pressure: sends something at each change, from threads of the system's, until it is dropped.
    pub(crate) struct PressureSource(NonNull<c_void>);

    // SAFETY: "dispatch_release ... dispatch objects are reference counted" and its calls may come from any thread (man dispatch, dispatch_object).
    unsafe impl Send for PressureSource {}

    impl PressureSource {
        /// `None` when the system makes none.
        pub(crate) fn new(changes: Sender<()>) -> Option<PressureSource> {
            let of = &raw const _dispatch_source_type_memorypressure;
            // SAFETY: a type of the system's, which uses no handle, and flags of its own; without a queue it is the default one.
            let source = NonNull::new(unsafe { dispatch_source_create(of, 0, ANY_LEVEL, ptr::null_mut()) })?;
            let context = Box::into_raw(Box::new(changes)).cast();
            // SAFETY: a live object.
            unsafe { dispatch_set_context(source.as_ptr(), context) };
            // SAFETY: a live source, whose context is what the handler takes: "the context of the dispatch source current at the time the
            // event handler was set" (source.h).
            unsafe { dispatch_source_set_event_handler_f(source.as_ptr(), Some(send)) };
            // SAFETY: as before.
            unsafe { dispatch_source_set_cancel_handler_f(source.as_ptr(), Some(free)) };
            // SAFETY: a live object that is not active yet.
            unsafe { dispatch_activate(source.as_ptr()) };
            Some(PressureSource(source))
        }
    }

    impl Drop for PressureSource {
        fn drop(&mut self) {
            // SAFETY: a live source.
            unsafe { dispatch_source_cancel(self.0.as_ptr()) };
            // SAFETY: ours, and the last use; the system keeps it until its handlers are done.
            unsafe { dispatch_release(self.0.as_ptr()) };
        }
    }

    extern "C" fn send(context: *mut c_void) {
        // SAFETY: the box of `new`, which `free` takes back later; "dispatch sources are not reentrant" (source.h), so nobody else uses it.
        let changes = unsafe { &*context.cast::<Sender<()>>() };
        // Who listened may be gone.
        let _ = changes.send(());
    }

    extern "C" fn free(context: *mut c_void) {
        // SAFETY: the box of `new`, taken back once: the system calls this "once ... the source's event handler block has returned" (source.h).
        drop(unsafe { Box::from_raw(context.cast::<Sender<()>>()) });
    }
}
