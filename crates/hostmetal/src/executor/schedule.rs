//! Which thread of a threadgroup runs next: the rules of barriers and SIMD-group operations, without stacks or pointers.
//!
//! Threads run one at a time until they block or finish. Threads of one SIMD-group go first, so that its operations meet
//! early. When no lane of a SIMD-group can run, the lanes blocked at the lowest call site meet (all of them, or per quad):
//! code that diverged has its earlier call first, lanes that left a loop wait behind it for those still inside. Lanes that
//! finished or wait at a threadgroup barrier take no part. When no thread of the threadgroup can run, every live thread is
//! at a threadgroup barrier, and all go on: finished threads do not count, and neither do differing call sites, which
//! Metal leaves undefined. So there is always a next thread until all have finished.

use crate::device::{MAX_THREADS_PER_THREADGROUP, SIMD_WIDTH};

const THREADS: usize = MAX_THREADS_PER_THREADGROUP as usize;
const SIMDGROUPS: usize = THREADS / SIMD_WIDTH as usize;

/// Why a thread cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Until all live threads of the threadgroup wait.
    Threadgroup,
    /// Until the lanes of the SIMD-group (width 32) or quad (4) that can have reached this call site.
    Lanes { site: usize, width: u32 },
}

/// Lanes that met at a call site; of one quad when the operation is a quad's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meeting {
    /// Index in the threadgroup of lane 0 of the SIMD-group.
    pub(crate) first: u32,
    /// Bit per lane of the SIMD-group.
    pub(crate) lanes: u32,
}

/// State of the threads of one threadgroup. Invariant: a SIMD-group other than the current thread's that has lanes at a
/// SIMD-group operation has a lane that can run, because `next` never leaves a SIMD-group before that.
pub(crate) struct Schedule {
    current: u32,
    /// Bit per SIMD-group with a lane that can run.
    runnable: u32,
    ready: [u32; SIMDGROUPS],
    at_lanes: [u32; SIMDGROUPS],
    at_threadgroup: [u32; SIMDGROUPS],
    site: [usize; THREADS],
    width: [u8; THREADS],
}

impl Schedule {
    pub(crate) fn new() -> Schedule {
        Schedule {
            current: 0,
            runnable: 0,
            ready: [0; SIMDGROUPS],
            at_lanes: [0; SIMDGROUPS],
            at_threadgroup: [0; SIMDGROUPS],
            site: [0; THREADS],
            width: [0; THREADS],
        }
    }

    /// Begins a threadgroup of 1 to 1024 threads, of which thread 0 is the current one.
    pub(crate) fn start(&mut self, threads: u32) {
        self.current = 0;
        self.runnable = 0;
        for group in 0..SIMDGROUPS {
            let lanes = threads.saturating_sub(group as u32 * SIMD_WIDTH).min(SIMD_WIDTH);
            self.ready[group] = ((1u64 << lanes) - 1) as u32;
            self.at_lanes[group] = 0;
            self.at_threadgroup[group] = 0;
            self.runnable |= u32::from(lanes > 0) << group;
        }
    }

    /// The thread that runs, as an index in the threadgroup.
    pub(crate) fn current(&self) -> u32 {
        self.current
    }

    /// The current thread cannot go on before `wait` is over; `next` follows.
    #[inline]
    pub(crate) fn block(&mut self, wait: Wait) {
        let (group, lane) = self.leave();
        match wait {
            Wait::Threadgroup => self.at_threadgroup[group] |= lane,
            Wait::Lanes { site, width } => {
                self.at_lanes[group] |= lane;
                self.site[self.current as usize % THREADS] = site;
                self.width[self.current as usize % THREADS] = width as u8;
            }
        }
    }

    /// The current thread has returned; `next` follows.
    pub(crate) fn finish(&mut self) {
        self.leave();
    }

    /// The current thread's SIMD-group. The remainder changes nothing, but tells the compiler that the index is in range.
    #[inline]
    fn group(&self) -> usize {
        (self.current / SIMD_WIDTH) as usize % SIMDGROUPS
    }

    #[inline]
    fn leave(&mut self) -> (usize, u32) {
        let group = self.group();
        let lane = 1 << (self.current % SIMD_WIDTH);
        self.ready[group] &= !lane;
        (group, lane)
    }

    /// Chooses the next thread and makes it the current one; None when all have finished. `meet` is called for each set of
    /// lanes whose operation takes place, before any of them goes on.
    #[inline]
    pub(crate) fn next(&mut self, meet: impl FnMut(Meeting)) -> Option<u32> {
        let mut group = self.group();
        if self.ready[group] == 0 {
            if self.at_lanes[group] != 0 {
                self.meet(group, meet);
            } else {
                self.runnable &= !(1 << group);
                if self.runnable == 0 && !self.release() {
                    return None;
                }
                group = self.runnable.trailing_zeros() as usize;
            }
        }
        self.current = group as u32 * SIMD_WIDTH + self.ready[group].trailing_zeros();
        Some(self.current)
    }

    /// Lets the lanes at the lowest call site of a SIMD-group meet.
    #[inline(never)]
    fn meet(&mut self, group: usize, mut meet: impl FnMut(Meeting)) {
        let first = group as u32 * SIMD_WIDTH;
        let key = |lane: u32| {
            let thread = (first + lane) as usize;
            (self.site[thread], self.width[thread])
        };
        let waiting = self.at_lanes[group];
        let Some(lowest) = bits(waiting).map(key).min() else { return };
        let lanes = bits(waiting).filter(|&lane| key(lane) == lowest).fold(0, |lanes, lane| lanes | 1 << lane);
        self.at_lanes[group] &= !lanes;
        self.ready[group] |= lanes;
        if u32::from(lowest.1) == SIMD_WIDTH {
            meet(Meeting { first, lanes });
            return;
        }
        for quad in (0..SIMD_WIDTH).step_by(4) {
            let lanes = lanes & 15 << quad;
            if lanes != 0 {
                meet(Meeting { first, lanes });
            }
        }
    }

    /// Ends the threadgroup barrier of all live threads; false when none is left.
    #[inline(never)]
    fn release(&mut self) -> bool {
        for group in 0..SIMDGROUPS {
            self.ready[group] = std::mem::take(&mut self.at_threadgroup[group]);
            self.runnable |= u32::from(self.ready[group] != 0) << group;
        }
        self.runnable != 0
    }
}

fn bits(mask: u32) -> impl Iterator<Item = u32> {
    (0..SIMD_WIDTH).filter(move |bit| mask >> bit & 1 != 0)
}
