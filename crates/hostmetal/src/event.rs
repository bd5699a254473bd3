//! MTLEvent and MTLSharedEvent: a number that only grows, and who waits until it has reached a value.
//!
//! Command buffers wait without a thread: their queue (of I/O command buffers, they themselves) is parked here, and whoever makes the
//! number large enough has a worker go on with it. Host threads sleep. Notifications are called by whoever makes the number large enough.
//! A parked queue is given up when it has waited as long as a command buffer may run (HOSTMETAL_WATCHDOG), or its device has gone.
//! <https://developer.apple.com/documentation/metal/about-synchronization-events>

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::command::{self, ErrorCode, Failure};
use crate::device::Device;
use crate::executor::event as word;
use crate::executor::guard::{self, watchdog_limit};
use crate::io;
use crate::memory::LetGo;
use crate::queue::Queue;

/// An MTLEvent or MTLSharedEvent.
pub(crate) struct Event {
    pub(crate) device: &'static Device,
    /// Other devices and the host may use it too.
    pub(crate) shared: bool,
    label: Mutex<CString>,
    /// Changed with the lock held.
    value: AtomicU64,
    waiting: Mutex<Waiting>,
    grown: Condvar,
}

#[derive(Default)]
struct Waiting {
    parked: Vec<Parked>,
    notifications: Vec<(u64, Notification)>,
}

/// What waits.
struct Parked {
    /// Of this wait.
    number: u64,
    value: u64,
    waiter: Waiter,
}

/// Who waits without a thread.
pub(crate) enum Waiter {
    Queue(Arc<Queue>),
    /// A command buffer and its ticket.
    Io(Arc<io::CommandBuffer>, u64),
}

impl Waiter {
    fn device(&self) -> &'static Device {
        match self {
            Waiter::Queue(queue) => queue.device,
            Waiter::Io(buffer, _) => buffer.queue.device,
        }
    }

    /// The wait is over, or has failed.
    fn resume(self, failure: Option<Failure>) {
        match self {
            Waiter::Queue(queue) => queue.resume(failure),
            Waiter::Io(buffer, ticket) => buffer.resume(ticket, failure.map(|failure| failure.text)),
        }
    }
}

/// Called once with the event and its value, or dropped with the event; does not block.
pub(crate) type Notification = Box<dyn FnOnce(Arc<Event>, u64) + Send>;

/// A wait of a queue: the time at which it is given up, its event, and the queue's device.
type Wait = (u64, Arc<Event>, &'static Device);
/// Waits of queues by number. Locked alone or before an event's own lock.
static DEADLINES: Mutex<BTreeMap<u64, Wait>> = Mutex::new(BTreeMap::new());
/// Numbers of waits, from 1.
static WAITS: AtomicU64 = AtomicU64::new(0);

fn deadlines() -> MutexGuard<'static, BTreeMap<u64, Wait>> {
    DEADLINES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Event {
    pub(crate) fn new(device: &'static Device, shared: bool) -> Event {
        Event {
            device,
            shared,
            label: Mutex::default(),
            value: AtomicU64::new(0),
            waiting: Mutex::default(),
            grown: Condvar::new(),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_label(&self, label: &CStr) {
        *self.label.lock().unwrap_or_else(PoisonError::into_inner) = label.to_owned();
    }

    pub(crate) fn label(&self) -> CString {
        self.label.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn value(&self) -> u64 {
        self.value.load(Ordering::Acquire)
    }

    /// Makes the value at least `value`.
    pub(crate) fn signal(self: &Arc<Event>, value: u64) {
        let mut waiting = self.waiting();
        if value <= self.value() {
            return;
        }
        self.value.store(value, Ordering::Release);
        self.grown.notify_all();
        let queues: Vec<Parked> = waiting.parked.extract_if(.., |parked| parked.value <= value).collect();
        let mut called: Vec<_> = waiting.notifications.extract_if(.., |(at, _)| *at <= value).collect();
        drop(waiting);
        if !queues.is_empty() {
            let mut deadlines = deadlines();
            queues.iter().for_each(|parked| drop(deadlines.remove(&parked.number)));
        }
        queues.into_iter().for_each(|parked| parked.waiter.resume(None));
        called.sort_by_key(|(at, _)| *at);
        called.into_iter().for_each(|(_, notification)| notification(self.clone(), value));
    }

    /// Has who waits go on when the value is reached, or has taken too long, and returns the number of the wait; None, and nothing is
    /// done, when it is reached already.
    pub(crate) fn park(self: &Arc<Event>, value: u64, waiter: Waiter) -> Option<u64> {
        let device = waiter.device();
        let number = WAITS.fetch_add(1, Ordering::Relaxed) + 1;
        let limit = watchdog_limit().map(|limit| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
        // First, so that a signal finds it; the watchdog finds nothing here before the queue is listed.
        let end = limit.map_or(u64::MAX, |limit| word::now().saturating_add(limit));
        deadlines().insert(number, (end, self.clone(), device));
        let mut waiting = self.waiting();
        if self.value() >= value {
            drop(waiting);
            deadlines().remove(&number);
            return None;
        }
        waiting.parked.push(Parked { number, value, waiter });
        drop(waiting);
        if limit.is_some() {
            guard::watch();
        }
        // Whoever removes the device, or the watchdog, may have looked before the queue was listed.
        if device.removed() {
            drop(deadlines().remove(&number));
            self.give_up(number, |_| device.failure());
        } else if !deadlines().contains_key(&number) {
            self.give_up(number, |value| self.timeout(value));
        }
        Some(number)
    }

    /// Drops a wait, if it is not over; nobody goes on.
    pub(crate) fn forget(&self, number: u64) {
        drop(deadlines().remove(&number));
        let mut waiting = self.waiting();
        let position = waiting.parked.iter().position(|parked| parked.number == number);
        let parked = position.map(|position| waiting.parked.swap_remove(position));
        drop(waiting);
        drop(parked);
    }

    /// Ends a wait that is not over, for a value that `why` is told.
    fn give_up(&self, number: u64, why: impl FnOnce(u64) -> Failure) {
        let mut waiting = self.waiting();
        let position = waiting.parked.iter().position(|parked| parked.number == number);
        let parked = position.map(|position| waiting.parked.swap_remove(position));
        drop(waiting);
        let Some(Parked { value, waiter, .. }) = parked else { return };
        waiter.resume(Some(why(value)));
    }

    /// Why a wait for a value is given up that took too long.
    fn timeout(&self, value: u64) -> Failure {
        let limit = watchdog_limit().map_or(0.0, |limit| limit.as_secs_f64());
        let text = format!(
            "Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout): the command buffer waited longer \
             than {limit} s (HOSTMETAL_WATCHDOG) until event {:?}, whose value is {}, would reach {value}",
            self.label(),
            self.value()
        );
        Failure { code: ErrorCode::Timeout, text, place: (0, 0) }
    }

    /// Waits on the calling thread; whether the value was reached in time.
    pub(crate) fn wait(&self, value: u64, timeout: Duration) -> bool {
        let patience = word::PATIENT.min(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX));
        if word::spin(patience, || self.value() >= value) {
            return true;
        }
        command::leave_queue();
        let short = |_: &mut Waiting| self.value() < value;
        let _slept = self.grown.wait_timeout_while(self.waiting(), timeout, short);
        self.value() >= value
    }

    /// Calls the notification once the value is reached, which may be so already.
    pub(crate) fn notify(self: &Arc<Event>, value: u64, notification: Notification) {
        let mut waiting = self.waiting();
        let now = self.value();
        if now < value {
            waiting.notifications.push((value, notification));
            return;
        }
        drop(waiting);
        notification(self.clone(), now);
    }
}

/// Whether a queue waits that the watchdog has to look after.
pub(crate) fn any_deadline() -> bool {
    !deadlines().is_empty()
}

/// Gives up the waits whose time is over.
pub(crate) fn give_up_late(now: u64) {
    let mut deadlines = deadlines();
    let mut late = Vec::new();
    // All waits may last equally long, so their numbers are in the order of their deadlines, or nearly so.
    while let Some(first) = deadlines.first_entry().filter(|first| first.get().0 < now) {
        late.push(first.remove_entry());
    }
    drop(deadlines);
    late.into_iter().for_each(|(number, (_, event, _))| event.give_up(number, |value| event.timeout(value)));
}

/// Gives up the waits of the queues of a device that has gone.
pub(crate) fn give_up_of(device: &'static Device) {
    let mut deadlines = deadlines();
    let (given_up, left) =
        std::mem::take(&mut *deadlines).into_iter().partition(|(_, (_, _, of))| std::ptr::eq(*of, device));
    *deadlines = left;
    drop(deadlines);
    let given_up: BTreeMap<u64, Wait> = given_up;
    given_up.into_iter().for_each(|(number, (_, event, _))| event.give_up(number, |_| device.failure()));
}

/// An MTLFence. Encoders of a queue run one after the other, so there is nothing to wait for, unless passes overtake each other (overlap.rs); that
/// it is used as Metal asks is checked by the encoders.
pub(crate) struct Fence {
    pub(crate) device: &'static Device,
    /// Of the program's reference.
    pub(crate) let_go: LetGo,
}
