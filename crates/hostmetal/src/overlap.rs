//! Passes that overtake each other, by a seed: what a GPU may do with encoders that nothing orders.
//!
//! "The GPU can run multiple commands at the same time, including those from multiple passes" (Apple, "Synchronizing passes with a fence"). Here the passes
//! of a queue run one after the other, so a program that lacks an order between two never meets the other one. With a seed (HOSTMETAL_OVERLAP, or
//! [`set`]) a pass may run before earlier ones of its queue, of the same command buffer or of those committed before it, and the dispatches of a
//! concurrent encoder between two barriers run in any order. Nothing runs at the same time that did not before: what comes out is
//! what some order gives that Metal allows, and the same seed gives the same order of what is committed at the time.
//!
//! Two passes keep their order where Metal keeps it:
//! * both use one tracked resource, bound to a dispatch, used by a blit command, or named by `useResource:usage:`, and one of them writes it; all
//!   resources of a tracked heap are one ("reads and writes from all resources suballocated on that heap will be delayed", Apple, MTLHeap.h);
//! * the later one waits for a fence whose last update before is the earlier one's;
//! * a barrier behind the queue's stages (`barrierAfterQueueStages:beforeStages:`) lies between them.
//!
//! What is untracked, and what is reached through addresses alone, orders nothing. A signal of an event comes behind all passes before it, and no pass
//! overtakes a wait for one. Command buffers end in their order.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::command::Failure;
use crate::device::number_from_environment;
use crate::encode::Recording;
use crate::event::Fence;
use crate::memory::Buffer;

/// How many passes ran before their turn.
static OVERTAKEN: AtomicU64 = AtomicU64::new(0);

/// 0: passes run in their turn.
fn setting() -> &'static AtomicU64 {
    static SETTING: OnceLock<AtomicU64> = OnceLock::new();
    SETTING.get_or_init(|| AtomicU64::new(number_from_environment("HOSTMETAL_OVERLAP").unwrap_or(0.0) as u64))
}

/// Has passes that are encoded from now on overtake each other, by a seed; 0 for one after the other.
pub fn set(seed: u64) {
    setting().store(seed, Ordering::Relaxed);
}

/// How many passes of this process ran before an earlier one of their queue.
pub fn overtaken() -> u64 {
    OVERTAKEN.load(Ordering::Relaxed)
}

pub(crate) fn overtakes() {
    OVERTAKEN.fetch_add(1, Ordering::Relaxed);
}

/// What a queue has drawn.
#[derive(Default)]
pub(crate) struct Draws {
    encoders: AtomicU64,
    choices: AtomicU64,
}

impl Draws {
    /// For a new encoder, if passes may overtake each other.
    pub(crate) fn pass(&self) -> Option<Box<Pass>> {
        let seed = setting().load(Ordering::Relaxed);
        (seed != 0).then(|| {
            // Apart from the choices.
            let random = random(!seed, self.encoders.fetch_add(1, Ordering::Relaxed));
            Box::new(Pass { random, ..Pass::default() })
        })
    }

    /// A number below `count`.
    pub(crate) fn choose(&self, count: usize) -> usize {
        let seed = setting().load(Ordering::Relaxed);
        (random(seed, self.choices.fetch_add(1, Ordering::Relaxed)) % count as u64) as usize
    }
}

/// SplitMix64, by the number of the draw (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
fn random(seed: u64, number: u64) -> u64 {
    let mut z = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// What keeps the pass of an encoder in its place.
#[derive(Default)]
pub(crate) struct Pass {
    /// Tracked memory that it uses (`Buffer::tracked`), and whether it writes it.
    memory: HashMap<usize, bool>,
    updates: Vec<Arc<Fence>>,
    waits: Vec<Arc<Fence>>,
    /// A barrier behind all before it.
    barrier: bool,
    /// Of the order of its dispatches.
    random: u64,
    /// It ran before its turn.
    ran: Option<Result<(), Failure>>,
}

impl Pass {
    pub(crate) fn uses(&mut self, tracked: Option<usize>, writes: bool) {
        if let Some(memory) = tracked {
            *self.memory.entry(memory).or_insert(false) |= writes;
        }
    }

    pub(crate) fn updates(&mut self, fence: Arc<Fence>) {
        self.updates.push(fence);
    }

    pub(crate) fn waits_for(&mut self, fence: Arc<Fence>) {
        self.waits.push(fence);
    }

    pub(crate) fn follows_all(&mut self) {
        self.barrier = true;
    }

    /// Whether memory or a barrier keeps it behind an earlier one.
    fn follows(&self, earlier: &Pass) -> bool {
        let conflicts = |(memory, writes): (&usize, &bool)| {
            earlier.memory.get(memory).is_some_and(|earlier_writes| *writes || *earlier_writes)
        };
        self.barrier || earlier.barrier || self.memory.iter().any(conflicts)
    }

    pub(crate) fn has_run(&self) -> bool {
        self.ran.is_some()
    }

    /// It ran before its turn.
    pub(crate) fn ran(&mut self, outcome: Result<(), Failure>) {
        self.ran = Some(outcome);
    }

    /// What came of it before its turn, if it had not to wait for that.
    pub(crate) fn outcome(&self) -> Option<Result<(), Failure>> {
        self.ran.clone()
    }

    /// That of commands which the encoder executes.
    pub(crate) fn of_commands(&self) -> Box<Pass> {
        Box::new(Pass { random: random(self.random, 0), ..Pass::default() })
    }
}

/// Passes in the order in which they were encoded.
#[derive(Default)]
pub(crate) struct Before<'a> {
    /// Those that have not run.
    waiting: Vec<&'a Pass>,
    /// Fences that were updated, and whether the pass has run.
    updates: Vec<(&'a Arc<Fence>, bool)>,
}

impl<'a> Before<'a> {
    /// How many have not run.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Adds the next; whether it may run now.
    pub(crate) fn add(&mut self, pass: &'a Pass, has_run: bool) -> bool {
        let last = |fence: &Arc<Fence>| self.updates.iter().rev().find(|(updated, _)| Arc::ptr_eq(updated, fence));
        let fences = pass.waits.iter().all(|fence| last(fence).is_none_or(|(_, has_run)| *has_run));
        let free = !has_run && fences && !self.waiting.iter().any(|earlier| pass.follows(earlier));
        if !has_run {
            self.waiting.push(pass);
        }
        self.updates.extend(pass.updates.iter().map(|fence| (fence, has_run)));
        free
    }
}

impl Recording {
    /// Notes what keeps its pass in its place, if that matters.
    pub(crate) fn note(&mut self, buffer: &Buffer, writes: bool) {
        if let Some(pass) = &mut self.pass {
            pass.uses(buffer.tracked(), writes);
        }
    }

    /// Dispatches that may overlap get another order.
    pub(crate) fn shuffle(&mut self, dispatches: Range<usize>) {
        let Some(pass) = &self.pass else { return };
        let mut number = dispatches.start as u64;
        for at in (dispatches.start + 1..dispatches.end).rev() {
            number += 1;
            let other = dispatches.start + (random(pass.random, number) % (at - dispatches.start + 1) as u64) as usize;
            self.commands.swap(at, other);
        }
    }
}
