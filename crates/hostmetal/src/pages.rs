//! Pages of a device: a mapping that is charged to the device's account, and whose contents may be given up.
//!
//! MTLPurgeableState says when. The contents of empty pages are gone at once; those of volatile pages are kept until an
//! allocation finds the account full, and then go, the longest volatile first. Pages whose contents are gone are given back
//! to the system, read as zero, and are not charged until they are made nonvolatile again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::device::Device;
use crate::memory::Mapping;

/// MTLPurgeableState, without the value that asks only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purgeable {
    NonVolatile,
    Volatile,
    Empty,
}

/// Zero-filled at first; unmapped when dropped.
pub(crate) struct Pages {
    device: &'static Device,
    mapping: Mapping,
    state: Mutex<State>,
}

struct State {
    purgeable: Purgeable,
    /// Bytes of the device's account.
    charged: u64,
}

impl Pages {
    /// None when the device's account is full or memory is out.
    pub(crate) fn new(device: &'static Device, length: u64) -> Option<Arc<Pages>> {
        let charged = charge(device, length)?;
        let Some(mapping) = usize::try_from(length).ok().and_then(Mapping::new) else {
            device.discharge(charged);
            return None;
        };
        let state = Mutex::new(State { purgeable: Purgeable::NonVolatile, charged });
        Some(Arc::new(Pages { device, mapping, state }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn device(&self) -> &'static Device {
        self.device
    }

    pub(crate) fn data(&self) -> *mut u8 {
        self.mapping.data()
    }

    /// A multiple of the page size.
    pub(crate) fn length(&self) -> u64 {
        self.mapping.length() as u64
    }

    /// Bytes of the device's account: none while the contents are gone.
    pub(crate) fn charged(&self) -> u64 {
        self.state().charged
    }

    /// Changes the state, if a new one is given; returns the one before.
    pub(crate) fn set_purgeable(self: &Arc<Pages>, new: Option<Purgeable>) -> Purgeable {
        let mut state = self.state();
        let prior = state.purgeable;
        match new {
            Some(Purgeable::Empty) => self.discard(&mut state),
            // What is gone does not come back, and there is nothing to give up.
            Some(Purgeable::Volatile) if prior == Purgeable::NonVolatile => {
                state.purgeable = Purgeable::Volatile;
                drop(state);
                add(&mut self.device.volatile(), self);
                return prior;
            }
            Some(Purgeable::NonVolatile) => {
                if state.charged == 0 {
                    // The call cannot fail, so the account may exceed its limit by it.
                    state.charged = self.device.charge_anyway(self.length());
                }
                state.purgeable = Purgeable::NonVolatile;
            }
            Some(Purgeable::Volatile) | None => {}
        }
        drop(state);
        if prior == Purgeable::Volatile && new.is_some_and(|new| new != Purgeable::Volatile) {
            let own = Arc::as_ptr(self);
            self.device.volatile().retain(|pages| !std::ptr::eq(pages.as_ptr(), own));
        }
        prior
    }

    fn discard(&self, state: &mut State) {
        self.mapping.discard();
        self.device.discharge(std::mem::take(&mut state.charged));
        state.purgeable = Purgeable::Empty;
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.device.discharge(self.state().charged);
    }
}

/// Pages of a device that may be discarded, the longest volatile first; some of them may be so no more.
pub(crate) type VolatilePages = Vec<Weak<Pages>>;

/// Adds pages to the volatile ones. Those that were released while they were volatile are swept when there is no room: never more of them
/// stay than the most that were alive at a time.
fn add(volatile: &mut VolatilePages, pages: &Arc<Pages>) {
    if volatile.len() == volatile.capacity() {
        volatile.retain(|pages| pages.strong_count() > 0);
        volatile.reserve(volatile.len() + 1);
    }
    volatile.push(Arc::downgrade(pages));
}

/// Takes `length`, rounded up to pages, from a device's account, discarding volatile pages while it does not fit; returns
/// what was taken, None when the limit would be passed or the device has gone.
pub(crate) fn charge(device: &Device, length: u64) -> Option<u64> {
    if device.removed() {
        return None;
    }
    loop {
        if let Some(charged) = device.charge(length) {
            return Some(charged);
        }
        if length > device.memory_limit() {
            return None;
        }
        // Room is made with the lock held: whoever finds nothing to discard finds the room that others have made.
        let mut volatile = device.volatile();
        if let Some(charged) = device.charge(length) {
            return Some(charged);
        }
        if volatile.is_empty() {
            return None;
        }
        if let Some(pages) = volatile.remove(0).upgrade() {
            let mut state = pages.state();
            if state.purgeable == Purgeable::Volatile {
                pages.discard(&mut state);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_were_released_while_volatile_are_swept() {
        let device = *crate::device::devices().first().expect("a device");
        let new = || Pages::new(device, 1).expect("a page");
        let kept: Vec<Arc<Pages>> = (0..5).map(|_| new()).collect();
        let mut volatile = VolatilePages::new();
        for number in 0..1000 {
            add(&mut volatile, &new());
            if number % 200 == 7 {
                add(&mut volatile, &kept[number / 200]);
            }
        }
        assert!(volatile.len() <= 16, "{} entries for 6 pages", volatile.len());
        let found: Vec<*const Pages> =
            volatile.iter().filter_map(Weak::upgrade).map(|pages| Arc::as_ptr(&pages)).collect();
        assert_eq!(found, kept.iter().map(Arc::as_ptr).collect::<Vec<_>>(), "in their order");
    }
}
