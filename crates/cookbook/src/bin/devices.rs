//! Several devices: the nearest neighbour of every point, which all devices of the machine find together, and what happens when one of them goes.
//!
//! `devices [KERNEL.metal]`

use std::error::Error;
use std::process::ExitCode;

use dcmetal::multi::{Report, Split, Topology};
use dcmetal::{Accelerator, Buffer, Grid, Kernel, args};

const POINTS: usize = 20_000;

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    eprintln!("devices: {error}");
    ExitCode::FAILURE
}

fn run() -> Result<(), Box<dyn Error>> {
    let source = match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => include_str!("devices.metal").to_owned(),
    };
    let devices = Accelerator::all()?;
    for (number, device) in Topology::of(&devices).devices.iter().enumerate() {
        println!(
            "device {number}: {}, {}",
            device.location,
            if device.unified_memory { "the host's memory" } else { "its own memory" }
        );
    }
    let points = points();
    let mut found = vec![0; POINTS];
    let report = nearest(&devices, &source, &points, &mut found)?;
    for (number, error) in &report.failures {
        println!("device {number} has gone: {:?}", error.kind());
    }
    let done: usize = (0..devices.len()).map(|device| report.rows_of(device)).sum();
    println!("{done} of {POINTS} neighbours were found");
    check(&points, &found)?;
    println!("each is the nearest");
    Ok(())
}

fn nearest(devices: &[Accelerator], source: &str, points: &[[i16; 2]], found: &mut [u32]) -> dcmetal::Result<Report> {
    // What each device needs for every part is made once.
    let ready = |gpu: &Accelerator| Ok((gpu.compile_msl(source)?.kernel("nearest")?, gpu.buffer_from(points)?));
    let ready: Vec<(Kernel, Buffer<[i16; 2]>)> = devices.iter().map(ready).collect::<dcmetal::Result<_>>()?;
    Split::new(devices.iter().cloned()).unit(32).gather(found, 1, |part| {
        let (kernel, points) = &ready[part.device];
        let mut found = part.accelerator.buffer_zeroed::<u32>(part.rows.len())?;
        let (count, first) = (points.len() as u32, part.rows.start as u32);
        kernel.launch(Grid::linear(found.len()), args![points, count, first, &mut found])?.wait()?;
        Ok(found)
    })
}

/// Points in a square, none twice.
fn points() -> Vec<[i16; 2]> {
    (0..POINTS as i64)
        .map(|i| [(i % 110) * 9 + (i * i) % 7, (i / 110) * 9 + (i * 31) % 8].map(|at| at as i16))
        .collect()
}

/// Finds the nearest by cells of a grid instead: a neighbour is at most as far as the one that was found, and all points so near are looked at.
fn check(points: &[[i16; 2]], found: &[u32]) -> Result<(), Box<dyn Error>> {
    const CELL: i64 = 16;
    let cell = |point: &[i16; 2]| (i64::from(point[0]) / CELL, i64::from(point[1]) / CELL);
    let mut cells = std::collections::HashMap::<(i64, i64), Vec<usize>>::new();
    points.iter().enumerate().for_each(|(number, point)| cells.entry(cell(point)).or_default().push(number));
    let distance = |one: usize, other: usize| -> i64 {
        (0..2).map(|axis| (i64::from(points[one][axis]) - i64::from(points[other][axis])).pow(2)).sum()
    };
    for (own, &best) in found.iter().enumerate() {
        let best = best as usize;
        if best >= points.len() || best == own {
            return Err(format!("point {own}: its neighbour is said to be {best}").into());
        }
        let (x, y) = cell(&points[own]);
        let around = distance(own, best).isqrt() / CELL + 1;
        for column in x - around..=x + around {
            for other in (y - around..=y + around).filter_map(|row| cells.get(&(column, row))).flatten().copied() {
                // Of two as near the first is meant.
                if other != own && (distance(own, other), other) < (distance(own, best), best) {
                    return Err(format!("point {own}: {best} was found, but {other} is nearer").into());
                }
            }
        }
    }
    Ok(())
}
