//! [`Split`]: rows of work for several devices at once.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use bytemuck::Pod;

use super::sharing::{Next, Sharing, Undone};
use crate::raw::host::lock;
use crate::sync::{Condvar, Mutex, PoisonError};
use crate::{Accelerator, Buffer, Error, ErrorKind, Result};

/// Devices that share work, and how fast each was at it.
///
/// Work is rows: of a matrix, of an image, or elements. Each device does parts of them, and takes the next when it is through with one; a part's
/// size follows from how fast the device was before, in earlier calls too. The work of a part is a function that makes the part's buffers from
/// memory of the host, launches what is to be launched (as a batch, if it is more than one kernel), and gives back the buffer that holds the
/// part's results. See [`multi`](crate::multi) for an example.
///
/// When a device goes, fails for a reason that may go away three times, or has no room even for the smallest part, the others do its rows. Nothing
/// is lost, since what the rows are made of is in memory of the host.
#[derive(Debug)]
pub struct Split {
    devices: Vec<Accelerator>,
    unit: usize,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    /// Rows a second of each device.
    rates: Vec<Option<f64>>,
    /// They were removed.
    gone: Vec<bool>,
}

/// Rows for one device.
#[derive(Debug)]
pub struct Part<'a> {
    /// The device to work on.
    pub accelerator: &'a Accelerator,
    /// Its number among those that share the work.
    pub device: usize,
    /// The rows; the first is a multiple of the [unit](Split::unit).
    pub rows: Range<usize>,
}

/// A part that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The number of the device.
    pub device: usize,
    /// Its rows.
    pub rows: Range<usize>,
    /// From the call of the work until its results were in the host's memory.
    pub time: Duration,
}

/// Who did what.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In the order in which they ended.
    pub parts: Vec<Done>,
    /// What went wrong, with the number of the device; the rows were done all the same.
    pub failures: Vec<(usize, Error)>,
}

impl Report {
    /// Rows that a device did.
    pub fn rows_of(&self, device: usize) -> usize {
        self.parts.iter().filter(|part| part.device == device).map(|part| part.rows.len()).sum()
    }
}

/// What the threads of a call share.
struct Shared<'a, T> {
    sharing: Sharing,
    /// The results of free rows, by the first.
    results: BTreeMap<usize, &'a mut [T]>,
    report: Report,
    /// Why all ended.
    wrong: Option<Error>,
}

impl Split {
    /// Shares work among these.
    ///
    /// # Panics
    /// When there are none.
    pub fn new(devices: impl IntoIterator<Item = Accelerator>) -> Split {
        let devices: Vec<Accelerator> = devices.into_iter().collect();
        assert!(!devices.is_empty(), "somebody must do the work");
        let known = Known { rates: vec![None; devices.len()], gone: vec![false; devices.len()] };
        Split { devices, unit: 1, known: Mutex::new(known) }
    }

    /// Parts of multiples of so many rows; the last has what remains. 1 unless it is set.
    ///
    /// # Panics
    /// When it is 0.
    #[must_use]
    pub fn unit(mut self, rows: usize) -> Split {
        assert!(rows > 0, "a part has rows");
        self.unit = rows;
        self
    }

    /// The devices, in the order of their numbers.
    pub fn devices(&self) -> &[Accelerator] {
        &self.devices
    }

    /// How fast each device was, in rows a second; `None` before its first part.
    pub fn rates(&self) -> Vec<Option<f64>> {
        lock(&self.known).rates.clone()
    }

    /// Does the work of all rows and puts the results together: `out` holds the rows one after the other, of `row` elements each. `work` is called by
    /// several threads at once, one for each device.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] when `out` is no whole number of rows, or a part's results are not those of its rows; what `work` fails with when
    /// no other device would do better ([`ErrorKind`]); the last failure when no device is left; [`Error::NoDevice`] when all were removed before. In `out` is
    /// then what was there, or results, row by row.
    ///
    /// # Panics
    /// When `row` is 0, and when `work` panics.
    pub fn gather<T: Pod + Send>(
        &self,
        out: &mut [T],
        row: usize,
        work: impl Fn(&Part<'_>) -> Result<Buffer<T>> + Sync,
    ) -> Result<Report> {
        assert!(row > 0, "a row has elements");
        let rows = out.len() / row;
        if rows * row != out.len() {
            return Err(Error::LengthMismatch { what: "rows of results", wanted: (rows + 1) * row, got: out.len() });
        }
        let (rates, gone) = {
            let known = lock(&self.known);
            (known.rates.clone(), known.gone.clone())
        };
        let shared = Mutex::new(Shared {
            sharing: Sharing::new(rows, self.unit, &rates),
            results: BTreeMap::from([(0, out)]),
            report: Report::default(),
            wrong: None,
        });
        let changed = Condvar::new();
        for (device, _) in gone.iter().enumerate().filter(|(_, gone)| **gone) {
            lock(&shared).sharing.leave(device);
        }
        std::thread::scope(|scope| {
            for (device, accelerator) in self.devices.iter().enumerate().filter(|(device, _)| !gone[*device]) {
                let one = One { device, accelerator, row, shared: &shared, changed: &changed };
                let work = &work;
                let started = std::thread::Builder::new().spawn_scoped(scope, move || one.run(work));
                if let Err(error) = started {
                    let mut shared = lock(&shared);
                    shared.sharing.leave(device);
                    let error = Error::NoThread { call: "work on a device", text: error.to_string() };
                    shared.report.failures.push((device, error));
                    drop(shared);
                    changed.notify_all();
                }
            }
        });
        let Shared { sharing, report, wrong, .. } = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        {
            let mut known = lock(&self.known);
            // Of calls at the same time the last counts.
            for (known, rate) in known.rates.iter_mut().zip(sharing.rates()) {
                *known = rate.or(*known);
            }
            for (device, error) in &report.failures {
                known.gone[*device] |=
                    error.kind() == ErrorKind::DeviceLost || self.devices[*device].device().is_gone();
            }
        }
        match wrong {
            Some(error) => Err(error),
            None if sharing.left() == 0 => Ok(report),
            None => Err(match report.failures.last() {
                Some((_, error)) => error.clone(),
                None => Error::NoDevice { text: "every device that shares the work was removed".to_owned() },
            }),
        }
    }
}

/// A device's thread.
struct One<'a, 'b, T> {
    device: usize,
    accelerator: &'a Accelerator,
    row: usize,
    shared: &'a Mutex<Shared<'b, T>>,
    changed: &'a Condvar,
}

impl<'b, T: Pod + Send> One<'_, 'b, T> {
    fn run(&self, work: &(impl Fn(&Part<'_>) -> Result<Buffer<T>> + Sync)) {
        while let Some((rows, results)) = self.take() {
            let taken = Taken { one: self, part: Some((rows.clone(), results)) };
            let started = Instant::now();
            let part = Part { accelerator: self.accelerator, device: self.device, rows };
            let outcome = work(&part);
            taken.end(outcome, started);
        }
    }

    /// The next rows and where their results go; `None` when there are no more for this device.
    fn take(&self) -> Option<(Range<usize>, &'b mut [T])> {
        let mut shared = lock(self.shared);
        loop {
            match shared.sharing.take(self.device) {
                Next::Rows(rows) => {
                    let results = shared.results.remove(&rows.start).expect("what is free has its results");
                    let (results, rest) = results.split_at_mut(rows.len() * self.row);
                    if !rest.is_empty() {
                        shared.results.insert(rows.end, rest);
                    }
                    return Some((rows, results));
                }
                Next::Wait => shared = self.changed.wait(shared).unwrap_or_else(PoisonError::into_inner),
                Next::End => return None,
            }
        }
    }
}

/// A part that is being worked on; dropped, it is as if all were to end: the work panicked.
struct Taken<'a, 'b, 'c, T> {
    one: &'a One<'c, 'b, T>,
    part: Option<(Range<usize>, &'b mut [T])>,
}

impl<T: Pod + Send> Taken<'_, '_, '_, T> {
    fn end(mut self, outcome: Result<Buffer<T>>, started: Instant) {
        let (_, results) = self.part.as_mut().expect("only the end takes it");
        let gathered = outcome.and_then(|buffer| {
            if buffer.len() != results.len() {
                let (wanted, got) = (results.len(), buffer.len());
                return Err(Error::LengthMismatch { what: "the results of a part", wanted, got });
            }
            super::copy::read_into(&buffer, results)
        });
        let time = started.elapsed();
        let (rows, results) = self.part.take().expect("only the end takes it");
        let one = self.one;
        let gone = gathered.is_err() && one.accelerator.device().is_gone();
        let mut shared = lock(one.shared);
        match gathered {
            Ok(()) => {
                shared.sharing.done(one.device, &rows, time);
                shared.report.parts.push(Done { device: one.device, rows, time });
            }
            Err(error) => {
                let why = match (&error, error.kind()) {
                    (_, ErrorKind::DeviceLost) => Undone::Gone,
                    // Not every call of Metal's says so.
                    _ if gone => Undone::Gone,
                    (Error::BufferTooLarge { .. }, _) | (_, ErrorKind::Resource) => Undone::TooLarge,
                    (_, ErrorKind::Transient) => Undone::Transient,
                    _ => Undone::Wrong,
                };
                shared.results.insert(rows.start, results);
                shared.sharing.undone(one.device, rows, why);
                match why {
                    Undone::Wrong => drop(shared.wrong.get_or_insert(error)),
                    _ => shared.report.failures.push((one.device, error)),
                }
            }
        }
        drop(shared);
        one.changed.notify_all();
    }
}

impl<T> Drop for Taken<'_, '_, '_, T> {
    fn drop(&mut self) {
        let Some((rows, results)) = self.part.take() else { return };
        let mut shared = lock(self.one.shared);
        shared.results.insert(rows.start, results);
        shared.sharing.undone(self.one.device, rows, Undone::Wrong);
        drop(shared);
        self.one.changed.notify_all();
    }
}
