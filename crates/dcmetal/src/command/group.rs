//! [`StreamGroup`]: streams that are used together.
//!
//! It adds what streams alone cannot do: to choose one of them, to wait for all and know what failed first, and to signal one event for
//! all. All streams of an accelerator share its queue, so a signal of any of them comes after all that was handed over before; what the
//! signal adds to that order is the others' failures, which are the event's as well. There is nothing to fork or join by events within a
//! group: whatever uses the same memory is in order anyway, and a wait would stop every stream of the accelerator.
//!
//! It has no lock of its own, and takes its streams' one at a time.

use std::fmt;

use super::Submission;
use crate::event::EventUse;
use crate::sync::{AtomicUsize, Ordering};
use crate::{Accelerator, Error, Event, Result, Stream, StreamLimits};

/// Streams of one accelerator with the same limits each, for work whose parts do not depend on each other.
///
/// Each stream has its own batch in the making, its own room for what is in flight, and its own failures: threads that launch to
/// different ones record at the same time, and where one is full others may have room. They share the device's queue, so more
/// streams do not make the device faster. Whatever uses the same memory is in order also when it is given to different
/// streams, but it ends a batch each time: give work that depends on each other to the same one.
///
/// Threads may share a group. Dropping it drops its streams, which hand over what they have recorded.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let add = gpu.compile_msl(
///     "kernel void add(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] += i; }",
/// )?.kernel("add")?;
/// let mut parts = (0..8).map(|_| gpu.buffer_zeroed::<u32>(4)).collect::<Result<Vec<_>>>()?;
/// let group = gpu.stream_group(4, StreamLimits::default());
/// for part in &mut parts {
///     let stream = group.next();
///     stream.fill(&mut *part, 0)?;
///     stream.launch(&add, Grid::linear(4), args![part])?;
/// }
/// group.wait()?;
/// assert_eq!(parts[7].to_vec()?, [0, 1, 2, 3]);
/// # Ok(()) }
/// ```
pub struct StreamGroup {
    /// At least one.
    streams: Vec<Stream>,
    /// Calls of `next`.
    turns: AtomicUsize,
}

impl StreamGroup {
    pub(crate) fn new(accelerator: &Accelerator, streams: usize, limits: StreamLimits) -> StreamGroup {
        assert!(streams > 0, "a group of no streams");
        let streams = (0..streams).map(|_| accelerator.stream(limits)).collect();
        StreamGroup { streams, turns: AtomicUsize::new(0) }
    }

    /// Its streams, at least one, always in the same order.
    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }

    /// The stream that has the least [in flight](Stream::in_flight); among equals each has its turn.
    pub fn next(&self) -> &Stream {
        let turn = self.turns.fetch_add(1, Ordering::Relaxed) % self.streams.len();
        let (before, from) = self.streams.split_at(turn);
        let least = from.iter().chain(before).min_by_key(|stream| stream.in_flight());
        least.expect("a group has a stream")
    }

    /// Hands over what its streams have recorded, as [`Stream::flush`]: a submission of each that had something.
    pub fn flush(&self) -> Vec<Submission> {
        self.streams.iter().filter_map(Stream::flush).collect()
    }

    /// Hands over what its streams have recorded, and waits until everything that they were given so far is done, also where some of it
    /// fails. Not to be called from a waker.
    ///
    /// # Errors
    /// [`Error::Submission`] with the first failure since a wait told one: of several streams that failed, the first that did so by
    /// itself and not because of what it used or waited for. That is told for all of them; what else failed shows in the buffers.
    pub fn wait(&self) -> Result<()> {
        drop(self.flush());
        let ended: Vec<_> = self.streams.iter().map(Stream::wait_handed_over).collect();
        let told = self.streams.iter().zip(&ended).map(|(stream, flights)| stream.tell(flights));
        let mut failures: Vec<Error> = told.filter_map(Result::err).collect();
        let by_itself = |error: &Error| matches!(error, Error::Submission(error) if error.caused_by.is_none());
        let first = failures.iter().position(by_itself).unwrap_or(0);
        if failures.is_empty() { Ok(()) } else { Err(failures.swap_remove(first)) }
    }

    /// Makes the event at least `value` when everything that its streams were given so far is done, and hands that over. When any of
    /// it fails that no wait has told of, the event is poisoned: see [`Event`]. One of the streams signals, and waits for room as
    /// [`Stream::launch`] does. Any accelerator's event will do.
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// # use dcmetal::*;
    /// let gpu = Accelerator::system_default()?;
    /// let (group, event) = (gpu.stream_group(2, StreamLimits::default()), gpu.event()?);
    /// let mut halves = [gpu.buffer_zeroed::<u32>(1)?, gpu.buffer_zeroed::<u32>(1)?];
    /// for (stream, half) in group.streams().iter().zip(&mut halves) {
    ///     stream.fill(half, 1)?;
    /// }
    /// group.signal(&event, 1)?;
    /// event.wait(1)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Stream::signal`].
    pub fn signal(&self, event: &Event, value: u64) -> Result<()> {
        let signals = self.next();
        let mut others = Vec::new();
        for stream in self.streams.iter().filter(|stream| !std::ptr::eq(*stream, signals)) {
            drop(stream.flush());
            others.extend(stream.handed_over());
        }
        signals.record_event(event, EventUse::Signal(value), others)
    }

    /// What its streams are given from now on starts when the event has at least `value`, as by [`Stream::wait_for`] of each.
    ///
    /// # Errors
    /// As [`Stream::signal`], from the first of its streams that refuses; those before it wait all the same.
    pub fn wait_for(&self, event: &Event, value: u64) -> Result<()> {
        self.streams.iter().try_for_each(|stream| stream.wait_for(event, value))
    }
}

impl fmt::Debug for StreamGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamGroup").field("streams", &self.streams).finish()
    }
}
