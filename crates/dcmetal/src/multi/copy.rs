//! [`copy`]: from one device's memory to another's, and how fast that is.

use std::time::{Duration, Instant};

use bytemuck::Pod;

use super::Position;
use crate::memory::{Allocation, AllocationRef, BLIT_UNIT};
use crate::raw::host::Hold;
use crate::{Accelerator, Buffer, Error, ReadGuard, Result, StorageMode, Submission, View, ViewMut, WriteGuard};

/// Bytes that are staged at once: as large as keeps both copies of a staged one out of each other's way in a cache of a few megabytes,
/// and far above what a submission costs.
const CHUNK: usize = 4 << 20;

/// The way that a copy takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Route {
    /// Both memories are one device's, which copies.
    Device,
    /// The destination's device copies from the private memory of its peer.
    Peer,
    /// The CPU copies: it sees both.
    Host,
    /// By way of memory that the host shares with each device, in parts: while the host copies one, a device copies the next.
    Staged,
}

impl std::fmt::Display for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Route::Device => "device",
            Route::Peer => "peer",
            Route::Host => "host",
            Route::Staged => "staged",
        })
    }
}

/// A copy that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The way it took.
    pub route: Route,
    /// Of the elements.
    pub bytes: u64,
    /// From the call to its end, with waiting for who used them before. (Into managed memory the host copies to its own side: that gets to a device of
    /// separate memory when that is used.)
    pub time: Duration,
}

/// Copies as many elements from a buffer to another, whatever device each belongs to, by the shortest way that there is, and waits until
/// they are there. Who used them before is waited for. Of two accelerators: meanwhile, submissions that write the source, and by way of the host those that use
/// the destination, are refused. Not to be called from a waker or a logger.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let devices = Accelerator::all()?;
/// let x = devices[0].buffer_from(&[1u32, 2, 3])?;
/// let mut y = devices[devices.len() - 1].buffer_with::<u32>(3, StorageMode::Private)?;
/// let copied = multi::copy(&x, &mut y)?;
/// assert_eq!(y.to_vec()?, [1, 2, 3]);
/// println!("{} bytes by way of {}", copied.bytes, copied.route);
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Error::LengthMismatch`]; [`Error::Alignment`] as for [`Batch::copy`](crate::Batch::copy), when a device copies; [`Error::Faulted`] when a
/// submission that was to write one of them failed; [`Error::BufferInUse`]; whatever the copy's submissions can end with. The destination may
/// hold a part of the elements then.
pub fn copy<'a, 'b, T: Pod>(from: impl Into<View<'a, T>>, to: impl Into<ViewMut<'b, T>>) -> Result<Copied> {
    let (from, to) = (from.into(), to.into());
    if from.len() != to.len() {
        return Err(Error::LengthMismatch { what: "a copy", wanted: to.len(), got: from.len() });
    }
    let started = Instant::now();
    let (from, to) = (from.reinterpret::<u8>()?, to.reinterpret::<u8>()?);
    let (route, bytes) = (route(from.allocation, to.allocation), from.len() as u64);
    if !from.is_empty() {
        match route {
            Route::Device => by_device(from, to)?,
            Route::Peer => by_peer(from, to)?,
            Route::Host => to.into_write()?.copy_from_slice(&from.read()?),
            Route::Staged => staged(from, to)?,
        }
    }
    Ok(Copied { route, bytes, time: started.elapsed() })
}

fn route(from: &Allocation, to: &Allocation) -> Route {
    let [source, destination] = [from, to].map(|memory| memory.accelerator());
    let is_private = |memory: &Allocation| memory.memory().storage() == StorageMode::Private;
    if source.registry_id() == destination.registry_id() {
        Route::Device
    } else if is_private(from) && Position::of(source).is_peer_of(&Position::of(destination)) {
        Route::Peer
    } else if is_private(from) || is_private(to) {
        Route::Staged
    } else {
        Route::Host
    }
}

fn by_device(from: View<'_, u8>, to: ViewMut<'_, u8>) -> Result<()> {
    let bytes = from.len();
    let mut batch = to.allocation.accelerator().batch()?;
    if from.allocation.accelerator().is(to.allocation.accelerator()) {
        batch.copy(from, to)?;
        return batch.submit()?.wait();
    }
    let _held = from.allocation.tracked().hold(from.offset..from.offset + bytes, false)?;
    batch.copy_held((from.allocation, from.offset), (to.allocation, to.offset), bytes)?;
    batch.submit()?.wait()
}

fn by_peer(from: View<'_, u8>, to: ViewMut<'_, u8>) -> Result<()> {
    let (bytes, accelerator, source) = (from.len(), to.allocation.accelerator(), from.allocation.accelerator());
    let _held = from.allocation.tracked().hold(from.offset..from.offset + bytes, false)?;
    let view = from.allocation.memory().remote_view(accelerator.device());
    let view = view.map_err(|failure| failure.of_nothing(source.device(), "make a remote view", Some(bytes)))?;
    let mut view = Allocation::new(view, None, accelerator);
    view.lend(from.allocation.data_bytes(), None);
    let view = AllocationRef::new(view);
    let mut batch = accelerator.batch()?;
    batch.copy_range((&view, from.offset), (to.allocation, to.offset), bytes)?;
    batch.submit()?.wait()?;
    // The destination's device may not notice that its peer went, and took its memory along.
    if source.device().is_gone() {
        return Err(Error::NoDevice { text: "the device that was copied from was removed".to_owned() });
    }
    Ok(())
}

/// Two buffers that host and device share, which take turns.
struct Stage {
    accelerator: Accelerator,
    buffers: [Buffer<u8>; 2],
    submissions: [Option<Submission>; 2],
}

impl Stage {
    /// For memory that the host does not see, if it is that.
    fn of(memory: &Allocation, bytes: usize) -> Result<Option<Stage>> {
        if memory.memory().storage() != StorageMode::Private {
            return Ok(None);
        }
        let accelerator = memory.accelerator().clone();
        let buffer = || accelerator.staging().buffer(&accelerator, bytes.min(CHUNK).next_multiple_of(BLIT_UNIT));
        let buffers = [buffer()?, buffer()?];
        Ok(Some(Stage { accelerator, buffers, submissions: [None, None] }))
    }

    /// Has the device fill a buffer.
    fn fetch(&mut self, chunk: usize, from: View<'_, u8>) -> Result<()> {
        let mut batch = self.accelerator.batch()?;
        // Whole units, of which all memory is made.
        let (bytes, buffer) = (from.len().next_multiple_of(BLIT_UNIT), &self.buffers[chunk % 2]);
        batch.copy_range((from.allocation, from.offset), (buffer.allocation(), 0), bytes)?;
        self.submissions[chunk % 2] = Some(batch.submit()?);
        Ok(())
    }

    /// Has the device copy values, by way of a buffer.
    fn send(&mut self, chunk: usize, values: &[u8], to: ViewMut<'_, u8>, held: &Hold<'_>) -> Result<()> {
        self.settle(chunk)?;
        let mut part = self.buffers[chunk % 2].view_mut(..values.len())?;
        part.write()?.copy_from_slice(values);
        let mut batch = self.accelerator.batch()?;
        batch.copy(part.as_view(), to)?;
        held.let_use(batch.flight());
        self.submissions[chunk % 2] = Some(batch.submit()?);
        Ok(())
    }

    /// Waits for what a buffer was used for last.
    fn settle(&mut self, chunk: usize) -> Result<()> {
        self.submissions[chunk % 2].take().map_or(Ok(()), |submission| submission.wait())
    }
}

/// Where the host finds a chunk of the source.
enum Source<'a> {
    Seen(ReadGuard<'a, u8>),
    /// The device brings it.
    Fetched(Stage, View<'a, u8>),
}

/// Where the host puts it.
enum Destination<'a> {
    Seen(WriteGuard<'a, u8>),
    /// The device takes it, and nobody else uses the memory meanwhile.
    Sent(Stage, ViewMut<'a, u8>, Hold<'a>),
}

fn staged(from: View<'_, u8>, to: ViewMut<'_, u8>) -> Result<()> {
    let bytes = from.len();
    let (chunks, range) = (bytes.div_ceil(CHUNK), |chunk: usize| chunk * CHUNK..bytes.min((chunk + 1) * CHUNK));
    let mut destination = match Stage::of(to.allocation, bytes)? {
        None => Destination::Seen(to.into_write()?),
        Some(stage) => {
            let held = to.allocation.tracked().hold(to.offset..to.offset + bytes, true)?;
            Destination::Sent(stage, to, held)
        }
    };
    let (mut source, _held) = match Stage::of(from.allocation, bytes)? {
        None => (Source::Seen(from.read()?), None),
        Some(mut stage) => {
            let held = from.allocation.tracked().hold(from.offset..from.offset + bytes, false)?;
            stage.fetch(0, from.view(range(0))?)?;
            (Source::Fetched(stage, from), Some(held))
        }
    };
    for chunk in 0..chunks {
        let fetched;
        let values = match &mut source {
            Source::Seen(values) => &values[range(chunk)],
            Source::Fetched(stage, from) => {
                if chunk + 1 < chunks {
                    stage.fetch(chunk + 1, from.view(range(chunk + 1))?)?;
                }
                stage.settle(chunk)?;
                fetched = stage.buffers[chunk % 2].view(..range(chunk).len())?.read()?;
                &fetched[..]
            }
        };
        match &mut destination {
            Destination::Seen(all) => all[range(chunk)].copy_from_slice(values),
            Destination::Sent(stage, to, held) => {
                stage.send(chunk, values, to.reborrow().into_view_mut(range(chunk))?, held)?;
            }
        }
    }
    match &mut destination {
        Destination::Seen(_) => Ok(()),
        Destination::Sent(stage, ..) => stage.settle(0).and(stage.settle(1)),
    }
}

/// All elements, to memory of the host.
pub(super) fn read_into<T: Pod>(from: &Buffer<T>, to: &mut [T]) -> Result<()> {
    match from.storage_mode() {
        StorageMode::Private => to.copy_from_slice(&from.to_vec()?),
        StorageMode::Shared | StorageMode::Managed => to.copy_from_slice(&from.read()?),
    }
    Ok(())
}

/// How fast copies were.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bandwidth {
    /// The way they took.
    pub route: Route,
    /// Of each copy.
    pub bytes: u64,
    /// Bytes a second: the slowest copy, the median, and the fastest.
    pub bytes_per_second: [f64; 3],
}

/// Copies that are measured, after one that is not.
const MEASURED: usize = 5;

/// Measures copies of as many bytes, rounded up to a multiple of 4, from buffers of one accelerator to buffers of another, both of that storage.
/// What each copy brought is compared with what it was to bring.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let devices = Accelerator::all()?;
/// let (from, to) = (&devices[0], &devices[devices.len() - 1]);
/// let measured = multi::bandwidth(from, to, StorageMode::Private, 1 << 20)?;
/// println!("{:.1} GB/s by way of {}", measured.bytes_per_second[1] / 1e9, measured.route);
/// # Ok(()) }
/// ```
///
/// # Errors
/// As for making buffers and for [`copy`]; [`Error::Metal`] when a copy brought something else.
pub fn bandwidth(from: &Accelerator, to: &Accelerator, storage: StorageMode, bytes: usize) -> Result<Bandwidth> {
    let words = bytes.div_ceil(4);
    let (mut source, mut destination) =
        (from.buffer_with::<u32>(words, storage)?, to.buffer_with::<u32>(words, storage)?);
    let mut measured = Vec::with_capacity(MEASURED);
    for round in 0..=MEASURED {
        let values: Vec<u32> = (0..words).map(|i| (i as u32).wrapping_mul(0x9e37_79b9) ^ round as u32).collect();
        source.write_from(&values)?;
        destination.write_from(&vec![!0; words])?;
        let copied = copy(&source, &mut destination)?;
        if destination.to_vec()? != values {
            let text = format!("a copy of {words} words by way of {} brought others", copied.route);
            return Err(Error::Metal { call: "measure copies", domain: "DCMetal".to_owned(), code: 0, text });
        }
        if round > 0 {
            measured.push(copied);
        }
    }
    measured.sort_unstable_by_key(|copied| std::cmp::Reverse(copied.time));
    let rate = |at: usize| measured[at].bytes as f64 / measured[at].time.as_secs_f64();
    let Copied { route, bytes, .. } = measured[0];
    Ok(Bandwidth { route, bytes, bytes_per_second: [rate(0), rate(MEASURED / 2), rate(MEASURED - 1)] })
}
