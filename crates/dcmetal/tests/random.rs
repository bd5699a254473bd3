//! Random programs of launches, copies, fills and host accesses, against a sequential model: whatever is in flight, every
//! read gives what the program's order says.

mod common;

use std::collections::VecDeque;

use common::{Random, gpu, leak};
use dcmetal::{
    Accelerator, Batch, Buffer, BufferPool, Grid, Kernel, PageVec, PoolLimits, StorageMode, Submission, args,
};

const SOURCE: &str = "
kernel void add(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]],
                uint i [[thread_position_in_grid]]) { y[i] += x[i]; }
kernel void scale(device uint* y [[buffer(0)]], constant uint& a [[buffer(1)]], constant uint& b [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) { y[i] = y[i] * a + b; }
";

const LEN: usize = 257;
const BUFFERS: usize = 5;

struct Program<'a> {
    gpu: &'a Accelerator,
    pool: &'a BufferPool,
    add: Kernel,
    scale: Kernel,
    random: Random,
    buffers: Vec<Buffer<u32>>,
    model: Vec<Vec<u32>>,
    /// Submissions that are waited for later.
    kept: VecDeque<Submission>,
    trace: Vec<String>,
}

#[test]
fn random_programs_agree_with_the_model() {
    let gpu = gpu();
    let pool = gpu.pool(PoolLimits::default());
    let library = gpu.compile_msl(SOURCE).unwrap_or_else(|error| panic!("{error}"));
    let (add, scale) = (library.kernel("add").unwrap(), library.kernel("scale").unwrap());
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            let (gpu, pool, add, scale) = (&gpu, &pool, &add, &scale);
            scope.spawn(move || {
                for seed in 0..12 {
                    let random = Random(thread * 1000 + seed);
                    Program::new(gpu, pool, add.clone(), scale.clone(), random).run(120);
                }
            });
        }
    });
    assert_eq!(pool.stats().used_buffers, 0);
}

impl<'a> Program<'a> {
    fn new(gpu: &'a Accelerator, pool: &'a BufferPool, add: Kernel, scale: Kernel, random: Random) -> Self {
        let (buffers, model, kept, trace) = (Vec::new(), Vec::new(), VecDeque::new(), Vec::new());
        let mut program = Program { gpu, pool, add, scale, random, buffers, model, kept, trace };
        for _ in 0..BUFFERS {
            let (buffer, values) = program.buffer();
            program.buffers.push(buffer);
            program.model.push(values);
        }
        program
    }

    /// A buffer from any source, and what it holds.
    fn buffer(&mut self) -> (Buffer<u32>, Vec<u32>) {
        let values = self.random.words(LEN);
        let mut buffer = match self.random.range(0, 5) {
            0 => self.gpu.buffer_from(&values).unwrap(),
            1 => self.gpu.buffer_with(LEN, StorageMode::Private).unwrap(),
            2 => self.gpu.buffer_no_copy(PageVec::zeroed(LEN).unwrap()).unwrap(),
            3 if self.gpu.buffer_with::<u32>(1, StorageMode::Managed).is_ok() => {
                self.gpu.buffer_with(LEN, StorageMode::Managed).unwrap()
            }
            _ => self.pool.buffer(LEN).unwrap(),
        };
        buffer.write_from(&values).unwrap();
        (buffer, values)
    }

    fn run(mut self, steps: usize) {
        for _ in 0..steps {
            self.step();
        }
        for index in 0..BUFFERS {
            self.check(index);
        }
        for submission in self.kept {
            submission.wait().unwrap();
        }
    }

    fn index(&mut self) -> usize {
        self.random.range(0, BUFFERS as i64) as usize
    }

    fn step(&mut self) {
        let index = self.index();
        match self.random.range(0, 10) {
            0 => self.check(index),
            1 => {
                let values = self.random.words(LEN);
                self.note(format!("write {index}"));
                self.buffers[index].write_from(&values).unwrap();
                self.model[index] = values;
            }
            2 if self.buffers[index].storage_mode() != StorageMode::Private => {
                let (at, value) = (self.random.range(0, LEN as i64) as usize, self.random.next() as u32);
                self.note(format!("poke {index}[{at}]"));
                self.buffers[index].view_mut(at..).unwrap().write().unwrap()[0] = value;
                self.model[index][at] = value;
            }
            3 => {
                // What is in flight keeps the old one.
                self.note(format!("replace {index}"));
                let (buffer, values) = self.buffer();
                self.buffers[index] = buffer;
                self.model[index] = values;
            }
            4 => {
                if let Some(submission) = self.kept.pop_front() {
                    submission.wait().unwrap();
                }
            }
            _ => {
                let mut batch = self.gpu.batch().unwrap();
                for _ in 0..self.random.range(1, 6) {
                    self.record(&mut batch);
                }
                let submission = batch.submit().unwrap();
                match self.random.range(0, 3) {
                    0 => self.kept.push_back(submission),
                    1 => drop(submission),
                    _ => leak(submission),
                }
            }
        }
    }

    /// Records one command and does the same to the model.
    fn record(&mut self, batch: &mut Batch) {
        let (to, other) = (self.index(), self.index());
        let command = self.random.range(0, 4);
        self.note(format!("command {command} on {to} from {other}"));
        if to == other || command == 0 {
            let (a, b) = (self.random.next() as u32, self.random.next() as u32);
            batch.launch(&self.scale, Grid::linear(LEN), args![&mut self.buffers[to], a, b]).unwrap();
            self.model[to].iter_mut().for_each(|v| *v = v.wrapping_mul(a).wrapping_add(b));
            return;
        }
        let [x, y] = self.buffers.get_disjoint_mut([other, to]).expect("two different buffers");
        let [from, into] = self.model.get_disjoint_mut([other, to]).expect("two different buffers");
        let start = self.random.range(0, LEN as i64) as usize;
        let end = self.random.range(start as i64, LEN as i64 + 1) as usize;
        match command {
            1 => {
                batch.launch(&self.add, Grid::linear(LEN), args![&*x, y]).unwrap();
                into.iter_mut().zip(from).for_each(|(y, x)| *y = y.wrapping_add(*x));
            }
            2 => {
                let shift = self.random.range(0, (LEN - (end - start)) as i64 + 1) as usize;
                let target = shift..shift + end - start;
                batch.copy(x.view(start..end).unwrap(), y.view_mut(target.clone()).unwrap()).unwrap();
                into[target].copy_from_slice(&from[start..end]);
            }
            _ => {
                batch.fill(y.view_mut(start..end).unwrap(), 0x5A).unwrap();
                into[start..end].fill(0x5A5A_5A5A);
            }
        }
    }

    fn check(&mut self, index: usize) {
        self.note(format!("check {index}"));
        let got = self.buffers[index].to_vec().unwrap();
        if let Some(at) = (0..LEN).find(|&at| got[at] != self.model[index][at]) {
            let storage = self.buffers[index].storage_mode();
            panic!("{storage} buffer {index} differs at {at} after:\n{}", self.trace.join("\n"));
        }
    }

    fn note(&mut self, line: String) {
        self.trace.push(line);
    }
}
