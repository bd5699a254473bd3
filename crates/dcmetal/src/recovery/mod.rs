//! [`Recovery`]: work that is tried again where that can help, and elsewhere where it cannot.
//!
//! What an error is worth is its [`ErrorKind`]: only what may go away by itself is tried again, with pauses that double and
//! are lengthened at random, so that many programs do not come back at once (M. Brooker, "Exponential Backoff And Jitter",
//! <https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/>). Out of memory, the device's pools let go of what they keep first. A device
//! that keeps failing is left alone for a while ([`BreakerLimits`]), one that is gone is looked for again. Then the other devices have their turn, and
//! at last a function of the host's. The result says who computed it and what went wrong before.

mod breaker;
mod retries;

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use log::Level;

use crate::raw::host::lock;
use crate::sync::{Arc, Mutex};
use crate::telemetry::{RECOVERY, say};
use crate::{Accelerator, Error, ErrorKind, Result};
pub use breaker::BreakerLimits;
use breaker::{Breaker, Pass};
pub use retries::Retries;

/// Where a result was computed.
#[derive(Clone, Debug)]
pub enum Origin {
    /// On this device.
    Device(Accelerator),
    /// By the host's function.
    Host,
}

/// A result, and how it came about.
#[derive(Clone, Debug)]
pub struct Recovered<T> {
    /// The result.
    pub value: T,
    /// Who computed it.
    pub origin: Origin,
    /// What went wrong before, in order; empty when the first try succeeded.
    pub failures: Vec<Error>,
}

/// Devices to try work on.
///
/// The work is a function of an accelerator that does all of it: it makes its buffers from memory of the host, launches,
/// waits, and reads the result. It may be called several times, with different accelerators.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let recovery = Recovery::new(Accelerator::all()?);
/// let source = "kernel void twice(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 2.0f; }";
/// let input = [1.0f32, 2.0, 3.0];
/// let on_device = |gpu: &Accelerator| {
///     let mut x = gpu.buffer_from(&input)?;
///     let twice = gpu.compile_msl(source)?.kernel("twice")?;
///     twice.launch(Grid::linear(3), args![&mut x])?.wait()?;
///     x.to_vec()
/// };
/// let result = recovery.run_or(on_device, |_why| input.iter().map(|x| x * 2.0).collect())?;
/// assert_eq!(result.value, [2.0, 4.0, 6.0]);
/// assert!(result.failures.is_empty());
/// # Ok(()) }
/// ```
pub struct Recovery {
    devices: Mutex<Vec<Device>>,
    retries: Retries,
    limits: BreakerLimits,
    find: Option<Box<dyn Fn() -> Result<Vec<Accelerator>> + Send + Sync>>,
    /// Sleeps, but in tests, which have no time.
    pause: Box<dyn Fn(Duration) + Send + Sync>,
}

struct Device {
    accelerator: Accelerator,
    breaker: Breaker,
    /// What telemetry tells of the breaker while it is open; it is told no longer when this is gone.
    told: Option<Arc<u64>>,
}

impl Device {
    fn new(accelerator: Accelerator, limits: BreakerLimits) -> Device {
        Device { accelerator, breaker: Breaker::new(limits), told: None }
    }
}

impl Recovery {
    /// Work is tried on these, in this order.
    pub fn new(devices: impl IntoIterator<Item = Accelerator>) -> Recovery {
        let limits = BreakerLimits::default();
        let devices = devices.into_iter().map(|accelerator| Device::new(accelerator, limits));
        Recovery {
            devices: Mutex::new(devices.collect()),
            retries: Retries::default(),
            limits,
            find: None,
            pause: Box::new(thread::sleep),
        }
    }

    /// Other retries than the default.
    #[must_use]
    pub fn retries(mut self, retries: Retries) -> Recovery {
        self.retries = retries;
        self
    }

    /// Other limits than the default for leaving a device alone.
    #[must_use]
    pub fn breaker_limits(mut self, limits: BreakerLimits) -> Recovery {
        self.limits = limits;
        for device in lock(&self.devices).iter_mut() {
            (device.breaker, device.told) = (Breaker::new(limits), None);
        }
        self
    }

    /// Where devices come from when every one is gone, for instance [`Accelerator::all`].
    #[must_use]
    pub fn find(mut self, find: impl Fn() -> Result<Vec<Accelerator>> + Send + Sync + 'static) -> Recovery {
        self.find = Some(Box::new(find));
        self
    }

    /// The devices that are not known to be gone.
    pub fn devices(&self) -> Vec<Accelerator> {
        lock(&self.devices).iter().map(|device| device.accelerator.clone()).collect()
    }

    /// Runs the work, on the first device on which it succeeds.
    ///
    /// # Errors
    /// What the work failed with in the end: at once for an error that a further try ends with as well
    /// ([`ErrorKind::User`], [`ErrorKind::Unsupported`], [`ErrorKind::Device`], and [`ErrorKind::Timeout`], since the work still runs), and otherwise the first
    /// failure of the last device; [`Error::NoDevice`] when there is none, and [`Error::DevicesPaused`] when each is left alone.
    pub fn run<T>(&self, work: impl FnMut(&Accelerator) -> Result<T>) -> Result<Recovered<T>> {
        self.on_devices(work).map_err(|(error, _)| error)
    }

    /// Runs the work as [`Recovery::run`]; when no device can do it, the host does.
    ///
    /// # Errors
    /// What a further try ends with as well, as for [`Recovery::run`].
    pub fn run_or<T>(
        &self,
        work: impl FnMut(&Accelerator) -> Result<T>,
        host: impl FnOnce(&Error) -> T,
    ) -> Result<Recovered<T>> {
        match self.on_devices(work) {
            Err((error, failures)) if may_go_elsewhere(error.kind()) => {
                Ok(Recovered { value: host(&error), origin: Origin::Host, failures })
            }
            outcome => outcome.map_err(|(error, _)| error),
        }
    }

    /// The error, and everything that went wrong.
    fn on_devices<T>(
        &self,
        mut work: impl FnMut(&Accelerator) -> Result<T>,
    ) -> Result<Recovered<T>, (Error, Vec<Error>)> {
        let (mut failures, mut last) = (Vec::new(), None);
        loop {
            let accelerators = match self.present() {
                Ok(accelerators) => accelerators,
                Err(error) => return Err((error.clone(), vec![error])),
            };
            for accelerator in &accelerators {
                let before = failures.len();
                match self.on_device(accelerator, &mut work, &mut failures) {
                    Some(Ok(value)) => {
                        let origin = Origin::Device(accelerator.clone());
                        return Ok(Recovered { value, origin, failures });
                    }
                    Some(Err(error)) if !may_go_elsewhere(error.kind()) => return Err((error, failures)),
                    Some(Err(_)) | None => {}
                }
                // Every device that was tried has left a failure; the first is nearest to the cause.
                last = failures.get(before).cloned().or(last);
            }
            // Other threads may have lost every one of them before it was tried here: then they are looked for again.
            if last.is_some() || accelerators.iter().any(|accelerator| self.breaker(accelerator, |_| ()).is_some()) {
                break;
            }
        }
        let error = last.unwrap_or(Error::DevicesPaused);
        if failures.is_empty() {
            failures.push(error.clone());
        }
        Err((error, failures))
    }

    /// The devices, looked for again when all were lost.
    fn present(&self) -> Result<Vec<Accelerator>> {
        let known = self.devices();
        if !known.is_empty() {
            return Ok(known);
        }
        let found = self.find.as_ref().map_or(Ok(Vec::new()), |find| find())?;
        if found.is_empty() {
            return Err(Error::NoDevice { text: "every device is gone, and no other was found".to_owned() });
        }
        let mut devices = lock(&self.devices);
        // Somebody else may have looked meanwhile.
        if devices.is_empty() {
            devices.extend(found.into_iter().map(|accelerator| Device::new(accelerator, self.limits)));
        }
        Ok(devices.iter().map(|device| device.accelerator.clone()).collect())
    }

    /// All tries on one device; `None` when it is left alone.
    fn on_device<T>(
        &self,
        accelerator: &Accelerator,
        work: &mut impl FnMut(&Accelerator) -> Result<T>,
        failures: &mut Vec<Error>,
    ) -> Option<Result<T>> {
        let mut pauses = self.retries.pauses();
        let mut outcome = None;
        loop {
            let Some(admitted) = Admitted::begin(self, accelerator) else { return outcome };
            if let (Some(figures), Some(_)) = (accelerator.figures(), &outcome) {
                figures.retried();
            }
            let error = match work(accelerator) {
                Ok(value) => {
                    admitted.end(Breaker::succeeded);
                    return Some(Ok(value));
                }
                Err(error) => error,
            };
            failures.push(error.clone());
            say(RECOVERY, Level::Warn, format_args!("work failed on {}: {error}", accelerator.name()));
            match error.kind() {
                ErrorKind::Transient => admitted.end(|breaker, pass| breaker.failed(pass, Instant::now())),
                ErrorKind::Resource => {
                    // It says nothing of the device, and others need not wait for the pause behind it.
                    drop(admitted);
                    accelerator.release_idle();
                }
                ErrorKind::DeviceLost => {
                    say(RECOVERY, Level::Warn, format_args!("{} is gone", accelerator.name()));
                    lock(&self.devices).retain(|device| !device.accelerator.is(accelerator));
                    return Some(Err(error));
                }
                ErrorKind::User | ErrorKind::Unsupported | ErrorKind::Device | ErrorKind::Timeout => {
                    return Some(Err(error));
                }
            }
            outcome = Some(Err(error));
            let Some(pause) = pauses.next() else { return outcome };
            (self.pause)(pause);
        }
    }

    /// `None` when the device is gone.
    fn breaker<R>(&self, accelerator: &Accelerator, change: impl FnOnce(&mut Breaker) -> R) -> Option<R> {
        let mut devices = lock(&self.devices);
        let Device { breaker, told, .. } = devices.iter_mut().find(|device| device.accelerator.is(accelerator))?;
        let (before, was_closed) = (breaker.open_until(), breaker.is_closed());
        let changed = change(breaker);
        let open = breaker.open_until();
        if let Some(figures) = accelerator.figures() {
            if open != before {
                *told = open.map(|until| figures.leave_alone(until));
            }
            // A probe that is on its way says nothing yet.
            if breaker.is_closed() && !was_closed {
                figures.is_back();
            }
        }
        // The logger is the user's code.
        drop(devices);
        match (before, open) {
            (None, Some(_)) => {
                say(RECOVERY, Level::Warn, format_args!("{} is left alone for a while", accelerator.name()))
            }
            (Some(_), None) => say(RECOVERY, Level::Info, format_args!("{} is tried again", accelerator.name())),
            _ => {}
        }
        Some(changed)
    }
}

/// Whether another device, or the host, may succeed.
fn may_go_elsewhere(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Transient | ErrorKind::Resource | ErrorKind::DeviceLost)
}

/// Work that a breaker let through. Unless it ends otherwise it says nothing of the device: an error of another kind, or a panic.
struct Admitted<'a> {
    recovery: &'a Recovery,
    accelerator: &'a Accelerator,
    /// `None` once it has ended.
    pass: Option<Pass>,
}

impl<'a> Admitted<'a> {
    /// `None` when the device is left alone, or gone.
    fn begin(recovery: &'a Recovery, accelerator: &'a Accelerator) -> Option<Admitted<'a>> {
        let pass = recovery.breaker(accelerator, |breaker| breaker.admit(Instant::now()))??;
        Some(Admitted { recovery, accelerator, pass: Some(pass) })
    }

    fn end(mut self, how: impl FnOnce(&mut Breaker, Pass)) {
        if let Some(pass) = self.pass.take() {
            self.recovery.breaker(self.accelerator, |breaker| how(breaker, pass));
        }
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        if let Some(pass) = self.pass.take() {
            self.recovery.breaker(self.accelerator, |breaker| breaker.undecided(pass, Instant::now()));
        }
    }
}

impl fmt::Debug for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recovery")
            .field("devices", &self.devices())
            .field("retries", &self.retries)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a device's failures make it wait, told instead of waited for.
    #[test]
    fn every_further_try_comes_after_its_pause() {
        let gpu = Accelerator::system_default().expect("a Metal device");
        let memory = || Error::OutOfMemory { bytes: 1, text: String::new() };
        let ms = Duration::from_millis;
        for (count, first, longest, tries, wanted) in [
            (6, ms(1), ms(8), 7, vec![1, 2, 4, 8, 8, 8]),
            (6, ms(1), ms(8), 3, vec![1, 2]),
            (6, ms(1), ms(8), 1, vec![]),
            (2, ms(5), ms(3), 3, vec![3, 3]),
            (0, ms(1), ms(8), 1, vec![]),
        ] {
            let paused = Arc::new(Mutex::new(Vec::new()));
            let told = Arc::clone(&paused);
            let retries = Retries { count, first_pause: first, longest_pause: longest };
            let mut recovery = Recovery::new([gpu.clone()]).retries(retries);
            recovery.pause = Box::new(move |pause| lock(&told).push(pause));
            let mut tried = 0;
            let outcome = recovery.run(|_| {
                tried += 1;
                if tried == tries && tries <= count { Ok(()) } else { Err(memory()) }
            });
            assert_eq!((outcome.is_ok(), tried), (tries <= count, tries), "{retries:?}");
            let paused = lock(&paused);
            let within =
                paused.iter().zip(&wanted).all(|(paused, least)| (ms(*least)..=ms(*least) * 2).contains(paused));
            assert!(paused.len() == wanted.len() && within, "{retries:?}: {paused:?}, at least {wanted:?} ms");
        }
    }
}
