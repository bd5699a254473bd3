//! Spans: what each submission and each compilation did, and when.

use std::collections::VecDeque;
use std::time::Duration;

use crate::ErrorKind;

/// One submission. Times are the host's, in nanoseconds: of `CLOCK_MONOTONIC` on Linux, of mach time on macOS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmissionSpan {
    /// When its batch began.
    pub begun: u64,
    /// When it was handed to Metal.
    pub committed: u64,
    /// When whoever waited was told of its end.
    pub ended: u64,
    /// When the device began and ended its work; `None` where the platform does not tell.
    pub on_device: Option<(u64, u64)>,
    /// The kernels that it launched, and how often each.
    pub kernels: Vec<(String, u64)>,
    /// Copies and fills.
    pub copies: u64,
    /// Passes of Metal Performance Shaders.
    pub passes: u64,
    /// It signaled events or waited for them: what it waited is part of its time on the device.
    pub has_events: bool,
    /// What it failed with, and of which kind that is.
    pub error: Option<(ErrorKind, String)>,
}

impl SubmissionSpan {
    /// When the device began and ended, if that is between commit and end, as it is where host and device have one clock.
    pub fn placed_on_device(&self) -> Option<(u64, u64)> {
        self.on_device.filter(|(start, end)| self.committed <= *start && start <= end && *end <= self.ended)
    }

    /// How long the device worked on it; `None` where the platform does not tell.
    pub fn device_time(&self) -> Option<Duration> {
        self.on_device.map(|(start, end)| Duration::from_nanos(end.saturating_sub(start)))
    }

    /// How long the device worked on all launches of one of the [`kernels`](SubmissionSpan::kernels), by its place among them. Metal tells one time for each command buffer, so
    /// that is known of a kernel whose submission did nothing else; `None` of others.
    pub fn kernel_device_time(&self, kernel: usize) -> Option<Duration> {
        let alone = self.kernels.len() == 1 && kernel == 0 && self.copies == 0 && self.passes == 0 && !self.has_events;
        self.device_time().filter(|_| alone)
    }
}

/// What a compilation made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiled {
    /// A library from a source.
    Library,
    /// A kernel, with its pipeline, from a library, or from a file of [`keep_kernels`](crate::Accelerator::keep_kernels).
    Kernel,
}

/// One compilation, times as of [`SubmissionSpan`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompilationSpan {
    /// What it made.
    pub what: Compiled,
    /// The source's name, or the kernel's.
    pub name: String,
    /// When it began.
    pub begun: u64,
    /// When it ended.
    pub ended: u64,
    /// The thread that made it: its name, if it has one, and its number.
    pub thread: String,
    /// What it failed with.
    pub error: Option<String>,
}

/// Spans that were recorded, in the order in which they ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    /// Of submissions.
    pub submissions: Vec<SubmissionSpan>,
    /// Of compilations.
    pub compilations: Vec<CompilationSpan>,
    /// The earliest, which made room for later ones.
    pub lost: u64,
}

/// The last spans, as many as there is room for.
#[derive(Default)]
pub(super) struct Ring {
    room: usize,
    submissions: VecDeque<SubmissionSpan>,
    compilations: VecDeque<CompilationSpan>,
    lost: u64,
}

impl Ring {
    pub(super) fn set_room(&mut self, room: usize) {
        self.room = room;
        self.make_room(0);
    }

    pub(super) fn push_submission(&mut self, span: SubmissionSpan) {
        self.make_room(1);
        if self.room > 0 {
            self.submissions.push_back(span);
        }
    }

    pub(super) fn push_compilation(&mut self, span: CompilationSpan) {
        self.make_room(1);
        if self.room > 0 {
            self.compilations.push_back(span);
        }
    }

    fn make_room(&mut self, more: usize) {
        while self.submissions.len() + self.compilations.len() + more > self.room {
            // Compilations are few and worth more than one of many submissions.
            if self.submissions.pop_front().is_none() && self.compilations.pop_front().is_none() {
                break;
            }
            self.lost += 1;
        }
    }

    pub(super) fn take(&mut self) -> Spans {
        Spans {
            submissions: std::mem::take(&mut self.submissions).into(),
            compilations: std::mem::take(&mut self.compilations).into(),
            lost: std::mem::take(&mut self.lost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn submission(number: u64) -> SubmissionSpan {
        let (begun, kernels) = (number, Vec::new());
        let (committed, ended, on_device) = (0, 0, None);
        SubmissionSpan {
            begun,
            committed,
            ended,
            on_device,
            kernels,
            copies: 0,
            passes: 0,
            has_events: false,
            error: None,
        }
    }

    fn compilation(number: u64) -> CompilationSpan {
        let (what, name) = (Compiled::Kernel, String::new());
        CompilationSpan { what, name, begun: number, ended: number, thread: String::new(), error: None }
    }

    /// Room, what is pushed (compilations from 100), and what is left and lost.
    #[test]
    fn the_last_spans_are_kept() {
        type Case = (usize, &'static [u64], &'static [u64], &'static [u64], u64);
        const CASES: &[Case] = &[
            (3, &[1, 2, 3], &[1, 2, 3], &[], 0),
            (3, &[1, 2, 3, 4, 5], &[3, 4, 5], &[], 2),
            (3, &[100, 1, 2, 3, 4], &[3, 4], &[100], 2),
            (2, &[100, 101, 102], &[], &[101, 102], 1),
            (0, &[1, 100], &[], &[], 0),
        ];
        for (room, pushed, submissions, compilations, lost) in CASES {
            let mut ring = Ring::default();
            ring.set_room(*room);
            for number in *pushed {
                if *number < 100 {
                    ring.push_submission(submission(*number));
                } else {
                    ring.push_compilation(compilation(*number));
                }
            }
            let spans = ring.take();
            let begun = |numbers: Vec<u64>| numbers;
            assert_eq!(begun(spans.submissions.iter().map(|span| span.begun).collect()), *submissions, "{pushed:?}");
            assert_eq!(begun(spans.compilations.iter().map(|span| span.begun).collect()), *compilations, "{pushed:?}");
            assert_eq!(spans.lost, *lost, "{pushed:?}");
            assert_eq!(ring.take(), Spans::default());
        }
    }

    #[test]
    fn a_kernel_has_a_time_of_its_own_where_it_was_alone() {
        let kernels = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 3)).collect();
        let times = Some((10, 25));
        for (names, [copies, passes], has_events, on_device, wanted) in [
            (&["a"][..], [0, 0], false, times, Some(15)),
            (&["a"], [0, 0], false, None, None),
            (&["a"], [1, 0], false, times, None),
            (&["a"], [0, 1], false, times, None),
            (&["a"], [0, 0], true, times, None),
            (&["a", "b"], [0, 0], false, times, None),
        ] {
            let span =
                SubmissionSpan { kernels: kernels(names), copies, passes, has_events, on_device, ..submission(0) };
            let found = [0, 1].map(|kernel| span.kernel_device_time(kernel));
            assert_eq!(found, [wanted.map(Duration::from_nanos), None], "{span:?}");
        }
    }

    #[test]
    fn times_of_another_clock_have_no_place() {
        for (on_device, placed) in [
            (None, false),
            (Some((10, 20)), true),
            (Some((12, 15)), true),
            (Some((9, 15)), false),
            (Some((15, 21)), false),
            (Some((16, 15)), false),
        ] {
            let span = SubmissionSpan { committed: 10, ended: 20, on_device, ..submission(0) };
            assert_eq!(span.placed_on_device(), on_device.filter(|_| placed), "{on_device:?}");
        }
    }
}
