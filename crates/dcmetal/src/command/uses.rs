//! [`Uses`]: the buffers and textures of a batch, and the beginning of their use.
//!
//! A batch of the user's own lists each once, with the most that it does to it, and begins all of them when it is submitted.
//! A stream's begins each when a command is recorded that uses it; one that is read first and written later is there twice.
//! What has begun and is not given away to a submission is taken back when this is dropped.

use std::mem;
use std::sync::{Arc, Weak};

use rustc_hash::FxHashMap;

use super::{Inflight, stream};
use crate::memory::AllocationRef;
use crate::raw::host::{Begun, DeviceUse, lock};
use crate::{Accelerator, Result};

type Use = (AllocationRef, DeviceUse);

pub(super) struct Uses {
    flight: Arc<Inflight>,
    list: Vec<Use>,
    /// Where the last use of an allocation is in the list, by its address.
    index: FxHashMap<usize, usize>,
    /// Of each of the first in the list, which have begun: the submission in flight that had written it last.
    before: Vec<Option<Arc<Inflight>>>,
}

impl Uses {
    pub(super) fn of_batch() -> Uses {
        Uses::of(Inflight::default())
    }

    pub(super) fn of_stream(stream: Weak<stream::Shared>) -> Uses {
        Uses::of(Inflight::of_stream(stream))
    }

    fn of(flight: Inflight) -> Uses {
        Uses { flight: Arc::new(flight), list: Vec::new(), index: FxHashMap::default(), before: Vec::new() }
    }

    /// The submission that the batch will be.
    pub(super) fn flight(&self) -> &Arc<Inflight> {
        &self.flight
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    fn covers(&self, allocation: &AllocationRef, kind: DeviceUse) -> bool {
        let known = self.index.get(&allocation.address()).map(|at| self.list[*at].1);
        known.is_some_and(|known| kind != DeviceUse::Write || known == kind)
    }

    /// In a stream: begins what a command is about to use. When it has to wait for another batch in the making, or is
    /// refused, nothing has begun.
    pub(super) fn claim<'a>(
        &mut self,
        accelerator: &Accelerator,
        uses: impl Iterator<Item = (&'a AllocationRef, DeviceUse)>,
    ) -> Result<Option<Arc<Inflight>>> {
        if !self.flight.is_of_stream() {
            return Ok(None);
        }
        let start = self.list.len();
        for (allocation, kind) in uses {
            if !self.covers(allocation, kind) {
                self.push(allocation, kind);
            }
        }
        if self.list.len() == start {
            return Ok(None);
        }
        // With those that are submitting, so that none of them depends on what another takes back.
        let submitting = lock(accelerator.submitting());
        let begun = self.begin();
        drop(submitting);
        if !matches!(begun, Ok(None)) {
            self.take_back(start);
        }
        begun
    }

    /// Otherwise: lists what a command uses.
    pub(super) fn note<'a>(&mut self, uses: impl Iterator<Item = (&'a AllocationRef, DeviceUse)>) {
        if self.flight.is_of_stream() {
            return;
        }
        for (allocation, kind) in uses {
            match self.index.get(&allocation.address()) {
                Some(&at) if kind == DeviceUse::Write => self.list[at].1 = kind,
                Some(_) => {}
                None => self.push(allocation, kind),
            }
        }
    }

    fn push(&mut self, allocation: &AllocationRef, kind: DeviceUse) {
        self.index.insert(allocation.address(), self.list.len());
        self.list.push((allocation.clone(), kind));
    }

    /// Begins what has not begun, under the lock of submitting. When one has to wait for another batch in the making, or is refused,
    /// none has.
    pub(super) fn begin(&mut self) -> Result<Option<Arc<Inflight>>> {
        let start = self.before.len();
        for (allocation, kind) in &self.list[start..] {
            let begun = allocation.tracked().begin_device(*kind, &self.flight);
            match begun {
                Ok(Begun::Now(before)) => self.before.push(before),
                Ok(Begun::After(other)) => {
                    self.cancel_from(start);
                    return Ok(Some(other));
                }
                Err(error) => {
                    self.cancel_from(start);
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    /// Takes all back, and keeps the list: under the lock of submitting nothing may be let go of.
    pub(super) fn cancel(&mut self) {
        self.before.truncate(self.list.len());
        self.cancel_from(0);
    }

    /// In reverse, so that each finds what its beginning left.
    fn cancel_from(&mut self, start: usize) {
        while self.before.len() > start {
            let before = self.before.pop().expect("there are more");
            let (allocation, kind) = &self.list[self.before.len()];
            allocation.tracked().cancel_device(*kind, &self.flight, before);
        }
    }

    /// Takes back all but the first `len`.
    pub(super) fn take_back(&mut self, len: usize) {
        self.cancel_from(len);
        while self.list.len() > len {
            let (allocation, _) = self.list.pop().expect("there are more");
            match self.list.iter().rposition(|(other, _)| other.is(&allocation)) {
                Some(at) => self.index.insert(allocation.address(), at),
                None => self.index.remove(&allocation.address()),
            };
        }
    }

    /// What a submission needs of this: the uses, which it has to end, and the submissions in flight that come before it.
    pub(super) fn give_away(&mut self) -> (Vec<Use>, Vec<Arc<Inflight>>) {
        assert_eq!(self.before.len(), self.list.len(), "every use has begun");
        let earlier = self.before.iter().flatten().filter(|earlier| !Arc::ptr_eq(earlier, &self.flight));
        let after = earlier.cloned().collect();
        (mem::take(&mut self.list), after)
    }

    /// There was no submission after all.
    pub(super) fn get_back(&mut self, uses: Vec<Use>) {
        self.list = uses;
    }
}

impl Drop for Uses {
    fn drop(&mut self) {
        // What was given away is no longer ours.
        self.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Buffer;

    /// What a submission that writes these would find.
    fn pending(buffers: [&Buffer<u32>; 2]) -> [bool; 2] {
        buffers.map(|buffer| {
            let mut other = Uses::of_batch();
            other.note([(buffer.allocation(), DeviceUse::Write)].into_iter());
            other.begin().expect("no host guards").is_some()
        })
    }

    /// A command that could not be encoded takes back what it claimed, and no more.
    #[test]
    fn what_is_taken_back_never_was() {
        let gpu = Accelerator::system_default().expect("a Metal device");
        let [x, y] = [(); 2].map(|()| gpu.buffer_zeroed::<u32>(1).expect("a buffer"));
        let (read, write) = (DeviceUse::Read, DeviceUse::Write);
        let mut uses = Uses::of_stream(Weak::new());
        let mut claim = |used: &[(&Buffer<u32>, DeviceUse)]| {
            let used = used.iter().map(|(buffer, kind)| (buffer.allocation(), *kind));
            assert!(uses.claim(&gpu, used).expect("no host guards").is_none());
            uses.len()
        };
        assert_eq!(claim(&[(&x, read)]), 1);
        assert_eq!(claim(&[(&x, read)]), 1, "it was claimed");
        assert_eq!(claim(&[(&x, write), (&y, write)]), 3);
        assert_eq!(claim(&[(&x, read), (&y, write)]), 3, "they were claimed");
        assert_eq!(pending([&x, &y]), [true, true]);
        uses.take_back(1);
        assert_eq!(pending([&x, &y]), [true, false]);
        // Reading beside it is still no conflict, writing was forgotten.
        let mut reader = Uses::of_batch();
        reader.note([(x.allocation(), read)].into_iter());
        assert!(reader.begin().expect("no host guards").is_none());
        drop(reader);
        let used = [(x.allocation(), write)];
        assert!(uses.claim(&gpu, used.into_iter()).is_ok_and(|other| other.is_none()));
        assert_eq!(uses.len(), 2);
        drop(uses);
        assert_eq!(pending([&x, &y]), [false, false]);
    }
}
