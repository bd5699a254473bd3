//! [`Order`]: the barriers that a graph's batch is asked for, where an encoder's own do not reach.
//!
//! "The GPU can run multiple commands at the same time, including those from multiple passes" (Apple, "Synchronizing passes with a fence"), and only
//! memory that Metal sees both use keeps two passes apart. So each encoder of an ordered batch updates a fence at its end, and those behind a barrier wait for
//! the fences of those before it. A fence is for the encoders of one command buffer here; what earlier command buffers do, a batch that begins with a barrier
//! waits for by an event, which Metal signals "after all scheduled commands prior to the event have finished" (Apple, "About synchronization events").
//!
//! Fences and events come from a pool of the accelerator's ([`Marks`]), and go back when the device is done.

use std::mem;

use crate::Accelerator;
use crate::raw::command::{BlitEncoder, CommandBuffer, ComputeEncoder};
use crate::raw::event::{DeviceEvent, Fence};
use crate::raw::host::lock;
use crate::raw::{Device, Failure};
use crate::sync::{Arc, Mutex};

/// As many fences, and as many events, stay for later batches.
const KEPT: usize = 64;

/// Fences and events that nobody uses. What a fence's last update was does not matter: every wait comes behind an update of its own batch.
#[derive(Default)]
pub(crate) struct Marks {
    fences: Mutex<Vec<Fence>>,
    /// With the largest value that was encoded; the next is larger, so that what a failed submission did not signal is missed by nobody.
    events: Mutex<Vec<(DeviceEvent, u64)>>,
}

impl Marks {
    /// How many fences and events lie there.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> [usize; 2] {
        [lock(&self.fences).len(), lock(&self.events).len()]
    }
}

/// Fences and events of one batch, until the device is done with them.
pub(crate) struct Marked {
    pool: Arc<Marks>,
    fences: Vec<Fence>,
    events: Vec<(DeviceEvent, u64)>,
}

impl Marked {
    /// Updates a fence at the end of an encoder, whose number this gives.
    fn update(
        &mut self,
        device: &Device,
        encode: impl FnOnce(&Fence) -> Result<(), Failure>,
    ) -> Result<usize, Failure> {
        let known = lock(&self.pool.fences).pop();
        let fence = known.map_or_else(|| Fence::new(device), Ok)?;
        self.fences.push(fence);
        let number = self.fences.len() - 1;
        encode(&self.fences[number])?;
        Ok(number)
    }

    fn barrier(&mut self, device: &Device, command_buffer: &mut CommandBuffer) -> Result<(), Failure> {
        let known = lock(&self.pool.events).pop();
        let (event, value) = known.map_or_else(|| Ok((DeviceEvent::new(device)?, 0)), Ok)?;
        self.events.push((event, value + 1));
        let (event, value) = self.events.last().expect("it was just pushed");
        event.encode_barrier(command_buffer, *value)
    }
}

impl Drop for Marked {
    fn drop(&mut self) {
        keep(&self.pool.fences, &mut self.fences);
        keep(&self.pool.events, &mut self.events);
    }
}

fn keep<T>(pool: &Mutex<Vec<T>>, used: &mut Vec<T>) {
    if used.is_empty() {
        return;
    }
    let mut pool = lock(pool);
    let room = KEPT.saturating_sub(pool.len()).min(used.len());
    pool.extend(used.drain(..room));
}

/// An encoder that is open.
pub(super) trait Pass {
    fn update(&mut self, fence: &Fence) -> Result<(), Failure>;
    fn wait_for(&mut self, fence: &Fence) -> Result<(), Failure>;
}

impl Pass for ComputeEncoder {
    fn update(&mut self, fence: &Fence) -> Result<(), Failure> {
        self.update_fence(fence)
    }

    fn wait_for(&mut self, fence: &Fence) -> Result<(), Failure> {
        self.wait_for_fence(fence)
    }
}

impl Pass for BlitEncoder {
    fn update(&mut self, fence: &Fence) -> Result<(), Failure> {
        self.update_fence(fence)
    }

    fn wait_for(&mut self, fence: &Fence) -> Result<(), Failure> {
        self.wait_for_fence(fence)
    }
}

/// Of a batch.
pub(super) struct Order {
    /// Its encoders update fences; others have no barriers.
    marked: Option<Marked>,
    /// No encoder has ended, and no barrier was asked for.
    fresh: bool,
    /// A barrier was asked for since the last encoder was made.
    due: bool,
    /// Before an encoder is made: everything that was submitted before has to end.
    outside: bool,
    /// The encoders since the last barrier that have ended, by their fences.
    ended: Vec<usize>,
    /// Those before it. Every encoder waits for them: one that did not could overtake them.
    before: Vec<usize>,
}

impl Order {
    /// Of a batch without barriers.
    pub(super) fn none() -> Order {
        Order { marked: None, fresh: true, due: false, outside: false, ended: Vec::new(), before: Vec::new() }
    }

    pub(super) fn of(accelerator: &Accelerator) -> Order {
        let pool = Arc::clone(accelerator.marks());
        Order { marked: Some(Marked { pool, fences: Vec::new(), events: Vec::new() }), ..Order::none() }
    }

    /// Whether a barrier of the open encoder is enough: nothing else is before it.
    pub(super) fn is_first(&self) -> bool {
        self.ended.is_empty()
    }

    /// Whether it may be asked for barriers.
    pub(super) fn is_ordered(&self) -> bool {
        self.marked.is_some()
    }

    /// The encoders that follow wait for what has been recorded; before anything was, for what was submitted before.
    ///
    /// # Panics
    /// For a batch that was not to have barriers: its encoders have no fences.
    pub(super) fn barrier(&mut self) {
        assert!(self.marked.is_some(), "barriers are for ordered batches");
        self.outside |= mem::take(&mut self.fresh);
        self.due = true;
    }

    /// Before an encoder is made.
    pub(super) fn before_encoder(&mut self, device: &Device, buffer: &mut CommandBuffer) -> Result<(), Failure> {
        if self.outside
            && let Some(marked) = &mut self.marked
        {
            marked.barrier(device, buffer)?;
            self.outside = false;
        }
        Ok(())
    }

    /// An encoder was made.
    pub(super) fn began(&mut self, pass: &mut impl Pass) -> Result<(), Failure> {
        let Some(marked) = &self.marked else { return Ok(()) };
        if mem::take(&mut self.due) && !self.ended.is_empty() {
            self.before = mem::take(&mut self.ended);
        }
        self.before.iter().try_for_each(|&number| pass.wait_for(&marked.fences[number]))
    }

    /// An encoder is about to end; those that follow are behind a barrier of its own, or not.
    pub(super) fn ends(&mut self, device: &Device, pass: &mut impl Pass, barrier: bool) -> Result<(), Failure> {
        let Some(marked) = &mut self.marked else { return Ok(()) };
        self.fresh = false;
        self.due |= barrier;
        self.ended.push(marked.update(device, |fence| pass.update(fence))?);
        Ok(())
    }

    /// What has to live until the device is done.
    pub(super) fn into_marked(self) -> Option<Marked> {
        self.marked
    }

    /// How many events there are, and the encoders that the last waits for.
    #[cfg(test)]
    pub(super) fn figures(&self) -> (usize, &[usize]) {
        (self.marked.as_ref().map_or(0, |marked| marked.events.len()), &self.before)
    }
}
