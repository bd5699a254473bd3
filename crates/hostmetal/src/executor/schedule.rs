//! Which thread of a threadgroup runs next: the rules of barriers and SIMD-group operations, without stacks or pointers.
//!
//! Threads run one at a time until they block or finish. Threads of one SIMD-group go first, so that its operations meet
//! early. When no lane of a SIMD-group can run, the lanes blocked at the lowest call site meet (all of them, or per quad):
//! code that diverged has its earlier call first, lanes that left a loop wait behind it for those still inside. Lanes that
//! finished or wait at a threadgroup barrier take no part. When no thread of the threadgroup can run, every live thread is
//! at a threadgroup barrier, and all go on: finished threads do not count, and neither do differing call sites, which
//! Metal leaves undefined. So there is always a next thread until all have finished.
//!
//! Lockstep hardware lets lanes meet again where branches join and at the end of each iteration. The front sees to both:
//! flags that keep the order of addresses that of the text (msl/source.rs), and a meeting at the end of each iteration of
//! a loop whose lanes may part (msl/reconverge.rs). The order is tested, not guaranteed by the compiler.

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

#[cfg(test)]
mod tests {
    //! Random structured kernels, scheduled as here and executed in lockstep, must see the same lanes at each operation.

    use super::*;

    /// A statement; `site` numbers ascend in the order of the text, as addresses of call sites do.
    enum Statement {
        Barrier,
        Operation {
            site: usize,
            width: u32,
        },
        If {
            condition: u32,
            yes: Vec<Statement>,
            no: Vec<Statement>,
        },
        /// Lane-dependent trip count; the body ends in an operation, at which the lanes that stay meet again.
        Loop {
            trips: u32,
            body: Vec<Statement>,
        },
        Return {
            condition: u32,
        },
    }

    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: u32) -> u32 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) as u32) % limit
        }
    }

    fn holds(condition: u32, thread: u32) -> bool {
        (thread.wrapping_mul(0x9e37_79b9) ^ condition).wrapping_mul(0x85eb_ca6b) >> 28 < 8
    }

    fn block(random: &mut Random, depth: u32, site: &mut usize, top: bool) -> Vec<Statement> {
        let count = random.below(4) + 1;
        (0..count).map(|_| statement(random, depth, site, top)).collect()
    }

    fn statement(random: &mut Random, depth: u32, site: &mut usize, top: bool) -> Statement {
        let operation = |random: &mut Random, site: &mut usize| {
            *site += 1;
            Statement::Operation { site: *site, width: if random.below(3) == 0 { 4 } else { 32 } }
        };
        match random.below(8) {
            0 if top => Statement::Barrier,
            1 if top && random.below(3) == 0 => Statement::Return { condition: random.below(u32::MAX) },
            2 | 3 if depth > 0 => {
                let condition = random.below(u32::MAX);
                let yes = block(random, depth - 1, site, false);
                Statement::If { condition, yes, no: block(random, depth - 1, site, false) }
            }
            4 | 5 if depth > 0 => {
                let trips = random.below(5) + 1;
                let mut body = block(random, depth - 1, site, false);
                *site += 1;
                body.push(Statement::Operation { site: *site, width: 32 });
                Statement::Loop { trips, body }
            }
            _ => operation(random, site),
        }
    }

    /// What a thread meets: at a barrier, or at a site with lanes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Event {
        Barrier,
        Operation { site: usize, width: u32 },
    }

    /// The events of one thread alone; false when it returned.
    fn trace(program: &[Statement], thread: u32, events: &mut Vec<Event>) -> bool {
        program.iter().all(|statement| match statement {
            Statement::Barrier => {
                events.push(Event::Barrier);
                true
            }
            Statement::Operation { site, width } => {
                events.push(Event::Operation { site: *site, width: *width });
                true
            }
            Statement::If { condition, yes, no } => {
                trace(if holds(*condition, thread) { yes } else { no }, thread, events)
            }
            Statement::Loop { trips, body } => (0..thread % (trips + 1)).all(|_| trace(body, thread, events)),
            Statement::Return { condition } => !holds(*condition, thread),
        })
    }

    /// Executes a SIMD-group in lockstep; `seen[lane]` gets the lanes of each operation. Returns the lanes that go on.
    fn lockstep(program: &[Statement], first: u32, mut active: u32, seen: &mut [Vec<u32>]) -> u32 {
        let select = |active: u32, condition: &dyn Fn(u32) -> bool| {
            bits(active).filter(|&lane| condition(first + lane)).fold(0, |lanes, lane| lanes | 1 << lane)
        };
        for statement in program {
            match statement {
                Statement::Barrier => {}
                Statement::Operation { width, .. } => {
                    for lane in bits(active) {
                        let group = if *width == 32 { u32::MAX } else { 15 << (lane / 4 * 4) };
                        seen[lane as usize].push(active & group);
                    }
                }
                Statement::If { condition, yes, no } => {
                    let taken = select(active, &|thread| holds(*condition, thread));
                    lockstep(yes, first, taken, seen);
                    lockstep(no, first, active & !taken, seen);
                }
                Statement::Loop { trips, body } => {
                    for round in 0..=*trips {
                        lockstep(body, first, select(active, &|thread| thread % (trips + 1) > round), seen);
                    }
                }
                Statement::Return { condition } => active &= !select(active, &|thread| holds(*condition, thread)),
            }
        }
        active
    }

    #[test]
    fn lanes_meet_as_in_lockstep() {
        let mut random = Random(7);
        let mut schedule = Schedule::new();
        let cases = if cfg!(miri) { 20 } else { 300 };
        for case in 0..cases {
            let threads = [1, 3, 32, 33, 64, 100, 1 + random.below(1024)][random.below(7) as usize];
            let program = block(&mut random, 3, &mut 0, true);
            let traces: Vec<Vec<Event>> = (0..threads)
                .map(|thread| {
                    let mut events = Vec::new();
                    trace(&program, thread, &mut events);
                    events
                })
                .collect();
            let mut expected = vec![Vec::new(); threads as usize];
            for first in (0..threads).step_by(32) {
                let lanes = (threads - first).min(32);
                let all = ((1u64 << lanes) - 1) as u32;
                let end = (first + lanes) as usize;
                lockstep(&program, first, all, &mut expected[first as usize..end]);
            }

            let mut seen: Vec<Vec<u32>> = vec![Vec::new(); threads as usize];
            let mut position = vec![0; threads as usize];
            let mut barriers = vec![0; threads as usize];
            schedule.start(threads);
            let mut finished = 0;
            loop {
                let thread = schedule.current() as usize;
                match traces[thread].get(position[thread]) {
                    Some(Event::Barrier) => {
                        barriers[thread] += 1;
                        schedule.block(Wait::Threadgroup);
                    }
                    Some(Event::Operation { site, width }) => {
                        schedule.block(Wait::Lanes { site: *site, width: *width });
                    }
                    None => {
                        // Done: whoever still runs has at least as many barriers before it.
                        finished += 1;
                        barriers[thread] = usize::MAX;
                        schedule.finish();
                    }
                }
                position[thread] += 1;
                let next = schedule.next(|Meeting { first, lanes }| {
                    for lane in bits(lanes) {
                        seen[(first + lane) as usize].push(lanes);
                    }
                });
                let Some(next) = next else { break };
                // A thread that goes on behind a barrier must find nobody who has not come to it.
                let passed =
                    traces[next as usize][..position[next as usize]].iter().filter(|e| **e == Event::Barrier).count();
                assert!(barriers.iter().all(|&reached| reached >= passed), "case {case}: a barrier was passed early");
            }
            assert_eq!(finished, threads, "case {case}: every thread finishes once");
            assert_eq!(seen, expected, "case {case}");
        }
    }

    #[test]
    fn barriers_in_divergent_code_end() {
        // Thread t waits at t % 5 barriers, some also at operations that others never reach.
        let mut schedule = Schedule::new();
        let threads = 70;
        let mut left: Vec<u32> = (0..threads).map(|thread| thread % 5).collect();
        schedule.start(threads);
        let mut steps = 0;
        loop {
            let thread = schedule.current();
            let waits = &mut left[thread as usize];
            if *waits == 0 {
                schedule.finish();
            } else {
                *waits -= 1;
                let odd = thread % 2 == 1 && (*waits).is_multiple_of(2);
                schedule.block(if odd { Wait::Lanes { site: thread as usize, width: 32 } } else { Wait::Threadgroup });
            }
            steps += 1;
            assert!(steps < 1000, "the threadgroup hangs");
            if schedule.next(|_| {}).is_none() {
                break;
            }
        }
        assert!(left.iter().all(|&waits| waits == 0));
    }
}
