//! Which storage mode a buffer should have: a table by how the host uses it and what memory the device has.
//!
//! After Apple's "Choosing a resource storage mode for Apple GPUs" and "... for Intel and AMD GPUs", and for the sizes the "Metal
//! Best Practices Guide" ("Resource Options"): <https://developer.apple.com/documentation/metal/setting-resource-storage-modes>.

use std::fmt;

use super::StorageMode;
use crate::Accelerator;

/// How the host uses a buffer that the device works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostUse {
    /// Not at all: results between launches.
    Never,
    /// It writes the contents before the first launch, and hardly looks at them again.
    WritesOnce,
    /// It reads or changes them now and then, and launches in between use them many times.
    Sometimes,
    /// It reads or changes them around nearly every launch.
    Always,
}

/// A storage mode and why it was chosen; printed, it says both.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let choice = gpu.storage_for(HostUse::Never);
/// println!("{choice}");
/// let scratch = gpu.buffer_with::<f32>(1024, choice.storage)?;
/// # assert_eq!(scratch.storage_mode(), StorageMode::Private);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageChoice {
    /// The mode.
    pub storage: StorageMode,
    /// Why.
    pub reason: &'static str,
}

impl fmt::Display for StorageChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.storage, self.reason)
    }
}

impl Accelerator {
    /// The storage mode that suits a buffer on this device. [`Buffer::write_from`](crate::Buffer::write_from) and
    /// [`Buffer::to_vec`](crate::Buffer::to_vec) serve all modes; where the host does not see the memory, they copy by way of a shared
    /// buffer, on the device.
    pub fn storage_for(&self, host: HostUse) -> StorageChoice {
        choose(self.limits().unified_memory, host)
    }
}

fn choose(unified: bool, host: HostUse) -> StorageChoice {
    let (storage, reason) = match (host, unified) {
        (HostUse::Never, _) => (
            StorageMode::Private,
            "the host never sees it, so Metal may keep it where and as the device is fastest, and no copies agree with each other",
        ),
        (_, true) => (
            StorageMode::Shared,
            "host and device have one memory: any other mode would add a copy, and managed storage does nothing there",
        ),
        (HostUse::WritesOnce, false) => (
            StorageMode::Private,
            "the device has memory of its own: copied there once, the contents are read at its speed and not over the bus",
        ),
        (HostUse::Sometimes, false) => (
            StorageMode::Managed,
            "the device has memory of its own: each side works on its copy, and only changes cross the bus",
        ),
        (HostUse::Always, false) => (
            StorageMode::Shared,
            "the device has memory of its own, but to copy at every change would cost more than to read over the bus",
        ),
    };
    StorageChoice { storage, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_apples_advice() {
        use HostUse::*;
        use StorageMode::*;
        for (host, unified, separate) in [
            (Never, Private, Private),
            (WritesOnce, Shared, Private),
            (Sometimes, Shared, Managed),
            (Always, Shared, Shared),
        ] {
            assert_eq!((choose(true, host).storage, choose(false, host).storage), (unified, separate), "{host:?}");
            let text = choose(false, host).to_string();
            assert!(text.starts_with(&format!("{separate}: ")) && text.len() > 40, "{text}");
        }
    }
}
