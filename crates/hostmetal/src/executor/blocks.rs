//! Kernels of Metal Performance Shaders: blocks of their results, which workers take from one counter.
//!
//! A block is no kernel, from which a signal could lead away: workers look before each whether they shall stop.

use std::ops::Range;
use std::sync::Arc;

use super::pool::Worker;
use super::run::timeout;
use super::share::{Share, Work};
use crate::command::Failure;
use crate::device::worker_threads;

/// What is computed in blocks, whose order does not matter.
pub(super) trait Blocks: Sync {
    fn blocks(&self) -> usize;
    /// Operations of all, about.
    fn work(&self) -> usize;
    fn run_block(&self, number: usize);
}

/// Operations below which nobody is woken: some ten microseconds of one core.
const WORTH_SHARING: usize = 1 << 19;

/// Runs all on the worker and whoever helps, as the command at a position.
pub(super) fn run(
    blocks: &(dyn Blocks + 'static),
    worker: &mut Worker,
    task: u64,
    position: usize,
) -> Result<(), Failure> {
    let (count, work) = (blocks.blocks() as u64, blocks.work());
    let part = |worker: &mut Worker, numbers: Range<u64>| run_some(blocks, worker, numbers, position);
    if count == 1 || worker_threads() == 1 || work < WORTH_SHARING {
        return part(worker, 0..count);
    }
    // Of small blocks a worker takes several.
    let chunk = ((count as u128 * WORTH_SHARING as u128 / work as u128) as u64).max(1);
    let workers = (work / WORTH_SHARING).max(2) as u64;
    Share::new(task, Work::Blocks(blocks, position), 0..count, chunk, workers).run(worker, part, |_, _| {})
}

/// Runs a helper's part.
pub(super) fn help(
    blocks: &dyn Blocks,
    worker: &mut Worker,
    share: &Arc<Share>,
    position: usize,
) -> Result<(), Failure> {
    share.take(worker, &mut |worker, numbers| run_some(blocks, worker, numbers, position)).map(drop)
}

fn run_some(blocks: &dyn Blocks, worker: &mut Worker, numbers: Range<u64>, position: usize) -> Result<(), Failure> {
    for number in numbers {
        if worker.record.stopping() {
            return Err(timeout(None, position));
        }
        blocks.run_block(number as usize);
    }
    Ok(())
}
