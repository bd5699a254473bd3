//! Random batches and streams, whose launches may run at the same time where they share no memory, against one command after
//! the other.

mod common;

use std::ops::Range;
use std::time::Duration;

use common::{Random, gpu, msl, overlap};
use dcmetal::{Accelerator, Arg, Batch, Buffer, Grid, Kernel, Stream, StreamLimits, args};

/// Elements of a buffer.
const LEN: usize = 96;

/// Threads in many threadgroups and rounds that differ, so that what is not kept apart overlaps.
const SOURCE: &str = "
    uint stir(uint a, uint b, uint rounds) {
        for (uint r = 0; r < rounds; r++) { a = a * 1664525u + b; b ^= a >> 7; }
        return a;
    }
    kernel void mix(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]], constant uint& n [[buffer(2)]],
                    constant uint& rounds [[buffer(3)]], uint i [[thread_position_in_grid]]) {
        y[i] = stir(y[i], x[(i * 7u) % n], rounds);
    }
    kernel void set(device uint* y [[buffer(0)]], constant uint& seed [[buffer(1)]], constant uint& rounds [[buffer(2)]],
                    uint i [[thread_position_in_grid]]) {
        y[i] = stir(seed, i, rounds);
    }";

fn stir(mut a: u32, mut b: u32, rounds: u32) -> u32 {
    for _ in 0..rounds {
        a = a.wrapping_mul(1_664_525).wrapping_add(b);
        b ^= a >> 7;
    }
    a
}

/// What takes commands.
trait Commands {
    fn launch(&mut self, kernel: &Kernel, grid: Grid, args: &[Arg<'_>]);
    fn copy(&mut self, from: &Buffer<u32>, to: &mut Buffer<u32>);
}

impl Commands for Batch {
    fn launch(&mut self, kernel: &Kernel, grid: Grid, args: &[Arg<'_>]) {
        Batch::launch(self, kernel, grid, args).unwrap();
    }

    fn copy(&mut self, from: &Buffer<u32>, to: &mut Buffer<u32>) {
        Batch::copy(self, from, to).unwrap();
    }
}

impl Commands for &Stream {
    fn launch(&mut self, kernel: &Kernel, grid: Grid, args: &[Arg<'_>]) {
        Stream::launch(self, kernel, grid, args).unwrap();
    }

    fn copy(&mut self, from: &Buffer<u32>, to: &mut Buffer<u32>) {
        Stream::copy(self, from, to).unwrap();
    }
}

struct Program {
    kernels: [Kernel; 2],
    buffers: Vec<Buffer<u32>>,
    wanted: Vec<Vec<u32>>,
    random: Random,
}

impl Program {
    fn new(gpu: &Accelerator, seed: u64) -> Program {
        let mut random = Random(seed);
        let wanted: Vec<Vec<u32>> = (0..3).map(|_| random.words(LEN)).collect();
        let buffers = wanted.iter().map(|words| gpu.buffer_from(words).unwrap()).collect();
        Program { kernels: [msl(gpu, SOURCE, "mix"), msl(gpu, SOURCE, "set")], buffers, wanted, random }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.random.range(0, limit as i64) as usize
    }

    /// Inside `within`, not empty.
    fn part(&mut self, within: Range<usize>) -> Range<usize> {
        let start = within.start + self.below(within.len());
        start..start + 1 + self.below(within.end - start)
    }

    fn step(&mut self, commands: &mut impl Commands) {
        // Few take long: those behind them overtake them if they may.
        let rounds = if self.below(3) == 0 { 3000 } else { 3 };
        let (to, from) = (self.below(3), self.below(3));
        match self.below(12) {
            0 if to != from => {
                let [source, target] = self.buffers.get_disjoint_mut([from, to]).unwrap();
                commands.copy(source, target);
                self.wanted[to] = self.wanted[from].clone();
            }
            1..4 => {
                let (part, seed) = (self.part(0..LEN), self.random.next() as u32);
                let grid = Grid::linear(part.len()).threadgroup(8u32);
                let view = self.buffers[to].view_mut(part.clone()).unwrap();
                commands.launch(&self.kernels[1], grid, &args![view, seed, rounds]);
                (0..).zip(&mut self.wanted[to][part]).for_each(|(i, y)| *y = stir(seed, i, rounds));
            }
            // A part of a buffer from another part of it, or from any of another one.
            _ => {
                let middle = 1 + self.below(LEN - 1);
                let (read, write) = match from == to {
                    true => (self.part(0..middle), self.part(middle..LEN)),
                    false => (self.part(0..LEN), self.part(0..LEN)),
                };
                let x = self.wanted[from][read.clone()].to_vec();
                let grid = Grid::linear(write.len()).threadgroup(8u32);
                if from == to {
                    let (low, high) = self.buffers[to].split_at_mut(middle).unwrap();
                    let high = high.into_view_mut(write.start - middle..write.end - middle).unwrap();
                    let low = low.as_view().view(read).unwrap();
                    commands.launch(&self.kernels[0], grid, &args![low, high, x.len() as u32, rounds]);
                } else {
                    let [source, target] = self.buffers.get_disjoint_mut([from, to]).unwrap();
                    let (source, target) = (source.view(read).unwrap(), target.view_mut(write.clone()).unwrap());
                    commands.launch(&self.kernels[0], grid, &args![source, target, x.len() as u32, rounds]);
                }
                for (i, y) in self.wanted[to][write].iter_mut().enumerate() {
                    *y = stir(*y, x[(i * 7) % x.len()], rounds);
                }
            }
        }
    }
}

#[test]
fn batches_are_as_if_their_commands_ran_one_after_the_other() {
    let gpu = gpu();
    for seed in 0..40 {
        // Half of them with passes in their turn.
        overlap(seed % 2 * seed);
        let mut program = Program::new(&gpu, seed);
        for _ in 0..3 {
            let mut batch = gpu.batch().unwrap();
            (0..40).for_each(|_| program.step(&mut batch));
            batch.submit().unwrap().wait().unwrap();
            for (buffer, wanted) in program.buffers.iter().zip(&program.wanted) {
                assert_eq!(buffer.to_vec().unwrap(), *wanted, "seed {seed}");
            }
        }
    }
}

/// Each step is given to one of three streams, to a batch of its own, or done by the host.
#[test]
fn streams_are_as_if_their_commands_ran_one_after_the_other() {
    let gpu = gpu();
    let open = StreamLimits { age: Duration::MAX, ..StreamLimits::default() };
    for seed in 100..130 {
        overlap(seed % 2 * seed);
        let mut program = Program::new(&gpu, seed);
        let streams = [
            gpu.stream(StreamLimits { commands: 3, in_flight: 2, ..open }),
            gpu.stream(StreamLimits { bytes: 1000, in_flight_bytes: 2000, ..open }),
            gpu.stream(StreamLimits { age: Duration::from_micros(50), ..open }),
        ];
        for _ in 0..150 {
            match program.below(10) {
                0 => {
                    let mut batch = gpu.batch().unwrap();
                    (0..3).for_each(|_| program.step(&mut batch));
                    drop(batch.submit().unwrap());
                }
                1 => {
                    let at = program.below(3);
                    assert_eq!(program.buffers[at].to_vec().unwrap(), program.wanted[at], "seed {seed}");
                }
                2 => {
                    let (at, i, value) = (program.below(3), program.below(LEN), program.random.next() as u32);
                    program.buffers[at].write().unwrap()[i] = value;
                    program.wanted[at][i] = value;
                }
                at => program.step(&mut &streams[at % 3]),
            }
        }
        for (buffer, wanted) in program.buffers.iter().zip(&program.wanted) {
            assert_eq!(buffer.to_vec().unwrap(), *wanted, "seed {seed}");
        }
        streams.iter().for_each(|stream| stream.wait().unwrap());
    }
}
