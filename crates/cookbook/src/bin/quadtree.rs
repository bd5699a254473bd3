//! A quad-tree: kernels divide squares with too many points and write the commands that divide the quarters.
//!
//! `quadtree [KERNEL.metal]`

use std::error::Error;
use std::process::ExitCode;

use dcmetal::nested::{COMMAND_RECORD, CommandRecord, CommandTable, Nesting};
use dcmetal::{Accelerator, Buffer, Kernel, args};

const POINTS: usize = 20_000;
/// Points of a leaf.
const MOST: usize = 32;
/// The side of the whole square.
const SIDE: u32 = 1 << 16;
const LEVELS: usize = 16;
const COMMANDS: usize = 4096;
const NODES: usize = 1 + 4 * COMMANDS;

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    eprintln!("quadtree: {error}");
    ExitCode::FAILURE
}

fn run() -> Result<(), Box<dyn Error>> {
    let source = match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => include_str!("quadtree.metal").to_owned(),
    };
    let gpu = Accelerator::system_default()?;
    let source = format!("#define MOST {MOST}\n#define COMMANDS {COMMANDS}\n{COMMAND_RECORD}{source}");
    let split = gpu.compile_msl(&source)?.kernel("split")?;
    let points = points();
    let (tree, _) = tree(&gpu, &split, &points, Nesting::Device)?;
    let mut wanted = Vec::new();
    reference([0, 0, SIDE], &points, &mut wanted);
    wanted.sort();
    if tree != wanted {
        return Err(format!("{} leaves are not the {} of the reference", tree.len(), wanted.len()).into());
    }
    let (other, rounds) = self::tree(&gpu, &split, &points, Nesting::Host)?;
    if other != tree {
        return Err("the host's rounds came to another tree".into());
    }
    println!("{POINTS} points in {} leaves, each with its points in their order", tree.len());
    println!("one submission on the device, or {rounds} rounds of the host: the same tree");
    Ok(())
}

/// A leaf: its least corner and its side, and its points.
type Leaf = ([u32; 3], Vec<[u32; 2]>);

/// The leaves that have points, in the order of their corners.
fn tree(gpu: &Accelerator, split: &Kernel, points: &[[u32; 2]], nesting: Nesting) -> dcmetal::Result<(Vec<Leaf>, u64)> {
    let table = CommandTable::new(gpu, &[split], COMMANDS)?;
    // A level's points, and the next one's.
    let mut places = [gpu.buffer_from(points)?, gpu.buffer_zeroed(points.len())?];
    let mut nodes = gpu.buffer_zeroed::<[u32; 8]>(NODES)?;
    nodes.write()?[0] = [0, 0, SIDE, 0, points.len() as u32, 0, 0, 0];
    let mut node_count = gpu.buffer_from(&[1u32])?;
    let level = |_| Ok((gpu.buffer_zeroed::<CommandRecord>(COMMANDS)?, gpu.buffer_zeroed::<u32>(1)?));
    let mut levels = (0..=LEVELS).map(level).collect::<dcmetal::Result<Vec<_>>>()?;
    levels[0].0.write()?[0] = CommandRecord {
        function: 0,
        threadgroups: [1; 3],
        threads: [64, 1, 1],
        barrier: 0,
        arguments: [[0, 0], [1, 0], [2, 0], [2, 0], [3, 0], [4, 0], [5, 0], [0, 0]],
    };
    levels[0].1.write_from(&[1])?;
    let mut work = gpu.nested(nesting)?;
    for number in 0..LEVELS {
        let (before, after) = levels.split_at_mut(number + 1);
        let ((commands, count), (next, next_count)) = (&before[number], &mut after[0]);
        let [a, b] = &mut places;
        let (from, to): (&mut Buffer<_>, _) = if number.is_multiple_of(2) { (a, b) } else { (b, a) };
        let memories = args![from, to, &mut nodes, &mut node_count, next, next_count];
        work.run_commands(&table, commands.into(), count.into(), memories)?;
    }
    let rounds = work.rounds();
    work.finish()?;
    let nodes = nodes.read()?[..node_count.read()?[0] as usize].to_vec();
    let mut leaves = Vec::new();
    for [x, y, size, first, count, level, ..] in nodes {
        if count > 0 && (count <= MOST as u32 || size == 1) {
            let (first, count) = (first as usize, count as usize);
            leaves.push(([x, y, size], places[level as usize % 2].view(first..first + count)?.to_vec()?));
        }
    }
    leaves.sort();
    Ok((leaves, rounds))
}

/// Some in two clouds, the others everywhere.
fn points() -> Vec<[u32; 2]> {
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 48) as u32
    };
    let cloud = |i: usize, x: u32| match i % 3 {
        0 => 5000 + x % 701,
        1 => 40_000 + x % 97,
        _ => x,
    };
    (0..POINTS).map(|i| [cloud(i, random()), cloud(i, random())]).collect()
}

/// The same on the host.
fn reference([x, y, size]: [u32; 3], points: &[[u32; 2]], leaves: &mut Vec<Leaf>) {
    if points.len() <= MOST || size == 1 {
        if !points.is_empty() {
            leaves.push(([x, y, size], points.to_vec()));
        }
        return;
    }
    let half = size / 2;
    for quarter in 0..4 {
        let corner = [x + quarter % 2 * half, y + quarter / 2 * half, half];
        let inside = |p: &&[u32; 2]| u32::from(p[0] >= x + half) + 2 * u32::from(p[1] >= y + half) == quarter;
        let inside: Vec<[u32; 2]> = points.iter().filter(inside).copied().collect();
        reference(corner, &inside, leaves);
    }
}
