//! Bodies that attract each other: ten steps are recorded as a graph, which is run again and again, and then backwards.
//!
//! `particles [KERNELS.metal]`

use std::error::Error;
use std::f64::consts::TAU;
use std::process::ExitCode;

use dcmetal::{Accelerator, Buffer, Graph, Grid, Node, Result, args};

const STEPS: usize = 10;
/// As in the kernel file.
const SOFTENING: f64 = 0.05;

/// Of each body: the position and the mass, and the velocity.
type Bodies = (Vec<[f32; 4]>, Vec<[f32; 4]>);

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    eprintln!("particles: {error}");
    ExitCode::FAILURE
}

fn run() -> std::result::Result<(), Box<dyn Error>> {
    let source = match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => include_str!("particles.metal").to_owned(),
    };
    let gpu = Accelerator::system_default()?;

    // Two bodies on a circle, whose time around it is known. The leapfrog's error is of second order: some squares of the angle of a
    // step, (2 pi / 400)^2.
    let (start, time) = circle();
    let mut pair = World::new(&gpu, &source, &start)?;
    pair.run(40, time / 400.0)?;
    demand(distance(&start.0, &pair.bodies()?.0), 1e-3, "a body on a circle is beside its start after a whole turn")?;

    // A cloud: no solution is known, but what does not change is.
    let start = cloud(128);
    let mut world = World::new(&gpu, &source, &start)?;
    world.run(20, 0.005)?;
    let then = world.bodies()?;
    let (before, after) = (invariants(&start), invariants(&then));
    demand((after[0] / before[0] - 1.0).abs(), 5e-5, "energy has changed, by this share of it")?;
    let momentum = (1..4).map(|i| (after[i] - before[i]).abs()).fold(0.0, f64::max);
    demand(momentum, 1e-6, "momentum has changed")?;
    if distance(&start.0, &then.0) < 0.1 {
        return Err("nothing moves".into());
    }
    world.run(20, -0.005)?;
    demand(distance(&start.0, &world.bodies()?.0), 1e-5, "a body that goes back as it came does not get back")?;

    println!("a graph of {} dispatches for {STEPS} steps, run 80 times: 80 submissions", world.times.len());
    println!("a circle closes, energy and momentum stay, and time runs backwards");
    Ok(())
}

struct World {
    graph: Graph,
    /// What each node has of a step's time, as its argument 2.
    times: Vec<(Node, f32)>,
    position: Buffer<[f32; 4]>,
    velocity: Buffer<[f32; 4]>,
}

impl World {
    fn new(gpu: &Accelerator, source: &str, (position, velocity): &Bodies) -> Result<World> {
        let library = gpu.compile_msl(source)?;
        let (kick, drift) = (library.kernel("kick")?, library.kernel("drift")?);
        let (mut position, mut velocity) = (gpu.buffer_from(position)?, gpu.buffer_from(velocity)?);
        let grid = Grid::linear(position.len());
        let mut graph = gpu.graph();
        let mut times = Vec::new();
        // A step is half a kick, a drift and half a kick (the leapfrog); the halves of two steps make one kick.
        for step in 0..=STEPS {
            let share = if step == 0 || step == STEPS { 0.5 } else { 1.0 };
            times.push((graph.launch(&kick, grid, args![&position, &mut velocity, 0.0f32])?, share));
            if step < STEPS {
                times.push((graph.launch(&drift, grid, args![&mut position, &velocity, 0.0f32])?, 1.0));
            }
        }
        Ok(World { graph: graph.build()?, times, position, velocity })
    }

    fn run(&mut self, times: usize, step: f32) -> Result<()> {
        for &(node, share) in &self.times {
            self.graph.set(node, 2, share * step)?;
        }
        let runs = (0..times).map(|_| self.graph.submit()).collect::<Result<Vec<_>>>()?;
        // They follow each other, and one that follows a failed one has failed.
        runs.last().map_or(Ok(()), |last| last.wait())
    }

    fn bodies(&self) -> Result<Bodies> {
        Ok((self.position.to_vec()?, self.velocity.to_vec()?))
    }
}

/// Two bodies of mass 1/2 at distance 1, and the time of a turn.
fn circle() -> (Bodies, f32) {
    let turns = (1.0 / (1.0 + SOFTENING * SOFTENING).powf(1.5)).sqrt();
    let speed = (turns / 2.0) as f32;
    let bodies =
        (vec![[0.5, 0.0, 0.0, 0.5], [-0.5, 0.0, 0.0, 0.5]], vec![[0.0, speed, 0.0, 0.0], [0.0, -speed, 0.0, 0.0]]);
    (bodies, (TAU / turns) as f32)
}

/// Bodies anywhere in a cube, at rest but for a little.
fn cloud(count: usize) -> Bodies {
    // The generalised golden ratio's sequence (M. Roberts, 2018) fills a cube evenly.
    let at = |i: usize, d: i32| ((i as f64 + 0.5) * 1.220_744_084_605_759_5f64.powi(-d)).fract() as f32 - 0.5;
    let mass = 1.0 / count as f32;
    let position = (0..count).map(|i| [2.0 * at(i, 1), 2.0 * at(i, 2), 2.0 * at(i, 3), mass]).collect();
    let velocity = (0..count).map(|i| [0.3 * at(i, 3), 0.3 * at(i, 1), 0.3 * at(i, 2), 0.0]).collect();
    (position, velocity)
}

/// Energy, and momentum in each direction, in double precision.
fn invariants((position, velocity): &Bodies) -> [f64; 4] {
    let wide = |numbers: &[f32; 4]| numbers.map(f64::from);
    let (position, velocity): (Vec<_>, Vec<_>) =
        (position.iter().map(wide).collect(), velocity.iter().map(wide).collect());
    let mut sums = [0.0; 4];
    for (i, (p, v)) in position.iter().zip(&velocity).enumerate() {
        sums[0] += p[3] * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) / 2.0;
        for other in &position[..i] {
            let square: f64 = (0..3).map(|d| (p[d] - other[d]).powi(2)).sum();
            sums[0] -= p[3] * other[3] / (square + SOFTENING * SOFTENING).sqrt();
        }
        (0..3).for_each(|d| sums[d + 1] += p[3] * v[d]);
    }
    sums
}

/// The largest distance between where a body was and where it is.
fn distance(a: &[[f32; 4]], b: &[[f32; 4]]) -> f64 {
    let one = |(a, b): (&[f32; 4], &[f32; 4])| (0..3).map(|d| f64::from(a[d] - b[d]).powi(2)).sum::<f64>().sqrt();
    // `max` would take a NaN for nothing.
    a.iter().zip(b).map(one).fold(0.0, |most, one| if one <= most { most } else { one })
}

fn demand(is: f64, at_most: f64, what: &str) -> std::result::Result<(), Box<dyn Error>> {
    // So that a NaN is wrong too.
    let right = is <= at_most;
    right.then_some(()).ok_or_else(|| format!("{what}: {is:.1e}, not {at_most:.0e} at most").into())
}
