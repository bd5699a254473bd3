//! Graphs: what their nodes do together, what has no order, what changes between runs, what the host does in between.

mod common;
#[path = "graph/pictures.rs"]
mod pictures;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use common::{Random, gpu, msl, overlap, poisoned};
use dcmetal::{
    Accelerator, Arg, Buffer, Error, ErrorKind, Graph, GraphBuilder, Grid, Kernel, Node, PixelFormat, Replay, Result,
    TextureDescriptor, Transient, args,
};
use proptest::prelude::*;

const KERNELS: &str = "
    kernel void mix(device uint* y [[buffer(0)]], device const uint* x [[buffer(1)]], constant uint& k [[buffer(2)]],
                    uint i [[thread_position_in_grid]]) { y[i] = (y[i] * 3u + x[i]) ^ k; }
    kernel void put(device uint* y [[buffer(0)]], device const uint* x [[buffer(1)]], constant uint& k [[buffer(2)]],
                    uint i [[thread_position_in_grid]]) { y[i] = x[i] + k; }
    kernel void quotient(device uint* y [[buffer(0)]], device const uint* x [[buffer(1)]], constant uint& k [[buffer(2)]],
                         uint i [[thread_position_in_grid]]) { y[i] = x[i] / k; }";

/// The kernels of these tests.
struct Kernels {
    mix: Kernel,
    put: Kernel,
    quotient: Kernel,
}

impl Kernels {
    fn new(gpu: &Accelerator) -> Kernels {
        let kernel = |name| msl(gpu, KERNELS, name);
        Kernels { mix: kernel("mix"), put: kernel("put"), quotient: kernel("quotient") }
    }
}

// ------------------------------------------------------------------ random programs

/// Elements of each memory.
const LEN: usize = 48;

/// Part of a memory: 0 and 1 are buffers, 2 to 4 the graph's own.
#[derive(Clone, Copy, Debug)]
struct Part {
    memory: usize,
    start: usize,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// y = (y * 3 + x) ^ k.
    Mix(u32),
    /// y = x + k.
    Put(u32),
    Copy,
    /// On the host: y = y * 3 + x.
    Host,
}

/// What it does with `len` elements of two memories.
#[derive(Clone, Copy, Debug)]
struct Op {
    what: What,
    to: Part,
    from: Part,
    len: usize,
}

fn op() -> impl Strategy<Value = Op> {
    let part = || (0usize..5, 0usize..LEN).prop_map(|(memory, start)| Part { memory, start });
    let what = prop_oneof![
        4 => any::<u32>().prop_map(What::Mix),
        4 => any::<u32>().prop_map(What::Put),
        1 => Just(What::Copy),
        3 => Just(What::Host),
    ];
    // Half of them use all of the memories, so that much of the graph's own is written.
    (what, part(), part(), 1usize..=LEN, any::<bool>()).prop_filter_map("two memories", |(what, to, from, len, all)| {
        let (to, from) = if all { (Part { start: 0, ..to }, Part { start: 0, ..from }) } else { (to, from) };
        let len = if all { LEN } else { len.min(LEN - to.start).min(LEN - from.start) };
        (to.memory != from.memory).then_some(Op { what, to, from, len })
    })
}

/// What the operations do, one after the other.
fn reference(ops: &[Op], memories: &mut [Vec<u32>; 5]) {
    for op in ops {
        let from = memories[op.from.memory][op.from.start..][..op.len].to_vec();
        for (y, x) in memories[op.to.memory][op.to.start..].iter_mut().zip(from) {
            *y = match op.what {
                What::Mix(k) => y.wrapping_mul(3).wrapping_add(x) ^ k,
                What::Put(k) => x.wrapping_add(k),
                What::Copy => x,
                What::Host => y.wrapping_mul(3).wrapping_add(x),
            };
        }
    }
}

/// Records the operations on two buffers and the graph's memory.
fn recorded(
    kernels: &Kernels,
    graph: &mut GraphBuilder,
    ops: &[Op],
    buffers: &mut [Buffer<u32>; 2],
) -> Result<Vec<Node>> {
    let own: Vec<Transient<u32>> =
        ["a", "b", "c"].iter().map(|name| graph.transient(name, LEN)).collect::<Result<_>>()?;
    ops.iter().map(|op| record(kernels, graph, op, buffers, &own)).collect()
}

fn record(
    kernels: &Kernels,
    graph: &mut GraphBuilder,
    op: &Op,
    buffers: &mut [Buffer<u32>; 2],
    own: &[Transient<u32>],
) -> Result<Node> {
    let range = |part: Part| part.start..part.start + op.len;
    let [a, b] = buffers;
    let (written, read): (Option<&mut Buffer<u32>>, Option<&Buffer<u32>>) = match (op.to.memory, op.from.memory) {
        (0, 1) => (Some(a), Some(b)),
        (1, 0) => (Some(b), Some(a)),
        (0, _) => (Some(a), None),
        (1, _) => (Some(b), None),
        (_, 0) => (None, Some(a)),
        (_, 1) => (None, Some(b)),
        _ => (None, None),
    };
    let to = match written {
        Some(buffer) if matches!(op.what, What::Put(_)) => Arg::overwrite(buffer.view_mut(range(op.to))?),
        Some(buffer) => buffer.view_mut(range(op.to))?.into(),
        None => {
            let own = own[op.to.memory - 2].view(range(op.to))?;
            if matches!(op.what, What::Put(_) | What::Copy) { own.write() } else { own.update() }
        }
    };
    let from = match read {
        Some(buffer) => buffer.view(range(op.from))?.into(),
        None => own[op.from.memory - 2].view(range(op.from))?.read(),
    };
    let grid = Grid::linear(op.len);
    match op.what {
        What::Mix(k) => graph.launch(&kernels.mix, grid, [to, from, k.into()]),
        What::Put(k) => graph.launch(&kernels.put, grid, [to, from, k.into()]),
        What::Copy => graph.copy(from, to),
        What::Host => graph.host("host", [to, from], |memory| {
            let x = memory.read::<u32>(1)?.to_vec();
            for (y, x) in memory.write::<u32>(0)?.iter_mut().zip(x) {
                *y = y.wrapping_mul(3).wrapping_add(x);
            }
            Ok(())
        }),
    }
}

/// The number at the end of `name (3)`.
fn node_number(title: &str) -> usize {
    let number = title.rsplit_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).expect("a title");
    number.parse().expect("a number")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn a_graph_does_what_its_nodes_do_one_after_the_other(
        mut ops in prop::collection::vec(op(), 1..20), seed in any::<u64>(), patient in any::<bool>(), orders in any::<bool>(),
    ) {
        overlap(if seed % 2 == 0 { 0 } else { seed >> 16 });
        let gpu = gpu();
        let kernels = Kernels::new(&gpu);
        let mut ordered: Vec<[usize; 2]> = Vec::new();
        for replay in [Replay::Indirect, Replay::Encoded] {
            let mut random = Random(seed);
            let start: [Vec<u32>; 5] = std::array::from_fn(|_| random.words(LEN));
            let mut buffers = [0, 1].map(|at| gpu.buffer_from(&start[at]).expect("a buffer"));
            // Operations that make no sense to a graph are ordered, or left out, until it takes the rest.
            let (mut graph, nodes) = loop {
                let mut graph = gpu.graph();
                let nodes = recorded(&kernels, &mut graph, &ops, &mut buffers).expect("it is well formed");
                for pair in &ordered {
                    graph.order(nodes[pair[0]], nodes[pair[1]]).expect("nodes of the graph");
                }
                let culprit = match graph.build() {
                    Ok(graph) => break (graph, nodes),
                    Err(Error::GraphOverwritten { first, second, .. }) if orders => {
                        ordered.push([&first, &second].map(|title| node_number(title)));
                        continue;
                    }
                    Err(Error::GraphOverwritten { second: node, .. } | Error::GraphUnwritten { node, .. }) => node,
                    Err(error) => panic!("{error}"),
                };
                let gone = node_number(&culprit);
                ops.remove(gone);
                ordered.retain(|pair| !pair.contains(&gone));
                ordered.iter_mut().flatten().filter(|node| **node > gone).for_each(|node| *node -= 1);
            };
            graph.set_replay(replay);
            let (mut ops, mut expected) = (ops.clone(), start);
            let rounds = 6;
            for round in 0..rounds {
                reference(&ops, &mut expected);
                // Or several runs are in flight.
                run(&mut graph, &ops, patient);
                if patient || round + 1 == rounds {
                    for (at, buffer) in buffers.iter().enumerate() {
                        let got = buffer.to_vec().expect("it ran");
                        prop_assert_eq!(&got, &expected[at], "{:?}: buffer {} in round {}", replay, at, round);
                    }
                }
                change(&mut graph, &nodes, &mut ops, &buffers, &mut random);
            }
            let launches = ops.iter().filter(|op| matches!(op.what, What::Mix(_) | What::Put(_))).count() as u64;
            let stats = graph.replay_stats();
            prop_assert_eq!(stats.encoded + stats.indirect, launches * rounds);
            if replay == Replay::Encoded || patient {
                let indirect = if replay == Replay::Encoded { 0 } else { launches * (rounds - 1) };
                prop_assert_eq!(stats.indirect, indirect);
            }
        }
    }
}

/// Other values for the next round, and for one node the other buffer to read, where the graph takes it.
fn change(graph: &mut Graph, nodes: &[Node], ops: &mut [Op], buffers: &[Buffer<u32>; 2], random: &mut Random) {
    for (op, node) in ops.iter_mut().zip(nodes) {
        if let What::Mix(k) | What::Put(k) = &mut op.what {
            *k = random.next() as u32;
            graph.set(*node, 2, *k).expect("a value");
        }
    }
    if ops.is_empty() {
        return;
    }
    let at = random.range(0, ops.len() as i64) as usize;
    let op = &mut ops[at];
    if op.from.memory >= 2 || op.to.memory < 2 {
        return;
    }
    let memory = 1 - op.from.memory;
    let view = buffers[memory].view(op.from.start..op.from.start + op.len).expect("as many");
    let position = if matches!(op.what, What::Copy) { 0 } else { 1 };
    if graph.set(nodes[at], position, view).is_ok() {
        op.from.memory = memory;
    }
}

fn run(graph: &mut Graph, ops: &[Op], patient: bool) {
    if ops.iter().any(|op| matches!(op.what, What::Host)) {
        graph.run().expect("it runs");
    } else {
        let submission = graph.submit().expect("it runs");
        if patient {
            submission.wait().expect("it runs");
        }
    }
}

// ------------------------------------------------------------------ what is refused

#[test]
fn what_makes_no_order_or_no_sense_is_refused_with_its_names() {
    let gpu = gpu();
    let kernels = Kernels::new(&gpu);
    let other = gpu.graph().transient::<u32>("foreign", 4).expect("memory");
    let grid = Grid::linear(4);
    let x = gpu.buffer_from(&[1u32, 2, 3, 4]).expect("a buffer");
    type Case<'a> = (&'a str, &'a dyn Fn(&mut GraphBuilder) -> Result<()>, &'a str);
    let cases: &[Case<'_>] = &[
        (
            "an order against the data",
            &|graph| {
                let t = graph.transient::<u32>("t", 4)?;
                let first = graph.launch(&kernels.put, grid, args![t.write(), &x, 1u32])?;
                let mut y = poisoned::<u32>(&gpu, 4);
                let second = graph.launch(&kernels.put, grid, args![&mut y, t.read(), 1u32])?;
                graph.order(second, first)
            },
            "nodes of the graph wait for each other: `put (1)`, `put (0)`, and again",
        ),
        (
            "two writers",
            &|graph| {
                let t = graph.transient::<u32>("t", 4)?;
                graph.fill(t.write(), 1)?;
                graph.launch(&kernels.put, grid, args![t.write(), &x, 1u32]).map(drop)
            },
            "put (1) overwrites what fill (0) writes to `t`, bytes 0 to 16, before anybody reads it; where that is meant, `order` the two",
        ),
        (
            "two writers of a part",
            &|graph| {
                let mut y = poisoned::<u32>(&gpu, 4);
                graph.fill(&mut y, 1)?;
                graph.copy(x.view(1..3)?, y.view_mut(2..)?).map(drop)
            },
            "copy (1) overwrites what fill (0) writes to `buffer 0`, bytes 8 to 16, before anybody reads it; where that is meant, `order` the two",
        ),
        (
            "a launch and a copy of a part",
            &|graph| {
                let mut y = poisoned::<u32>(&gpu, 4);
                graph.launch(&kernels.put, grid, args![&mut y, &x, 1u32])?;
                graph.copy(x.view(..1)?, y.view_mut(..1)?).map(drop)
            },
            "copy (1) overwrites what put (0) writes to `buffer 0`, bytes 0 to 4, before anybody reads it; where that is meant, `order` the two",
        ),
        (
            "two launches that overwrite a buffer",
            &|graph| {
                let mut y = poisoned::<u32>(&gpu, 4);
                y.set_label("results")?;
                graph.launch(&kernels.put, grid, [Arg::overwrite(&mut y), (&x).into(), 1u32.into()])?;
                graph.launch(&kernels.put, grid, [Arg::overwrite(&mut y), (&x).into(), 2u32.into()]).map(drop)
            },
            "put (1) overwrites what put (0) writes to `results`, bytes 0 to 16, before anybody reads it; where that is meant, `order` the two",
        ),
        (
            "a launch that overwrites a part of what one adds to",
            &|graph| {
                let mut y = poisoned::<u32>(&gpu, 4);
                graph.launch(&kernels.mix, grid, args![&mut y, &x, 1u32])?;
                let part = Arg::overwrite(y.view_mut(2..)?);
                graph.launch(&kernels.put, Grid::linear(2), [part, x.view(..2)?.into(), 2u32.into()]).map(drop)
            },
            "put (1) overwrites what mix (0) writes to `buffer 0`, bytes 8 to 16, before anybody reads it; where that is meant, `order` the two",
        ),
        (
            "an update of what nobody wrote",
            &|graph| {
                let t = graph.transient::<u32>("t", 4)?;
                graph.fill(t.update(), 1).map(drop)
            },
            "fill (0) reads `t`, and no node before it writes all of that",
        ),
        (
            "nobody writes it",
            &|graph| {
                let t = graph.transient::<u32>("t", 4)?;
                graph.fill(t.view(..3)?.write(), 1)?;
                graph.launch(&kernels.mix, grid, args![t.update(), &x, 1u32]).map(drop)
            },
            "mix (1) reads `t`, and no node before it writes all of that",
        ),
        (
            "the same memory twice",
            &|graph| {
                let t = graph.transient::<u32>("t", 4)?;
                graph.fill(t.write(), 1)?;
                graph.launch(&kernels.mix, Grid::linear(2), args![t.update(), t.view(1..)?.read(), 1u32]).map(drop)
            },
            "mix (1) is given the same part of `t` twice and writes it",
        ),
        (
            "memory of another graph",
            &|graph| graph.fill(other.write(), 0).map(drop),
            "transient memory belongs to another graph",
        ),
        (
            "a kernel writes what is read",
            &|graph| {
                let t = graph.transient::<u32>("t", 4)?;
                graph.fill(t.write(), 1)?;
                graph.launch(&kernels.put, grid, args![t.read(), &x, 1u32]).map(drop)
            },
            "kernel `put`, argument 0 (`y`): the kernel has read-write access, got a buffer for reading; pass `&mut`",
        ),
        (
            "a copy of other length",
            &|graph| {
                let t = graph.transient::<u32>("t", 3)?;
                graph.copy(&x, t.write()).map(drop)
            },
            "a copy, in bytes: wants 12 elements, got 16",
        ),
        (
            "a copy to what is read",
            &|graph| graph.copy(&x, &x).map(drop),
            "kernel `copy`, argument 1 (`to`): the kernel has write access, got memory for reading; pass `&mut`",
        ),
        (
            "a fill of a number",
            &|graph| graph.fill(3u32, 1).map(drop),
            "kernel `fill`, argument 0 (`to`): wants a buffer, got a value",
        ),
    ];
    for (name, record, expected) in cases {
        let mut graph = gpu.graph();
        let error = record(&mut graph).and_then(|()| graph.build().map(drop)).expect_err(name);
        assert_eq!(error.to_string(), *expected, "{name}");
        assert_eq!(error.kind(), ErrorKind::User, "{name}");
    }
}

/// Two writers of the same bytes: what says which of them is seen at last.
#[test]
fn writers_with_an_order_run_in_it() {
    let gpu = gpu();
    let kernels = Kernels::new(&gpu);
    let x = gpu.buffer_from(&[1u32, 2, 3, 4]).expect("a buffer");
    let (ones, twos) = (0x0101_0101, 0x0202_0202);
    type Case<'a> = (&'a str, &'a dyn Fn(&mut GraphBuilder, &mut Buffer<u32>) -> Result<()>, [u32; 4]);
    let cases: &[Case<'_>] = &[
        (
            "the user says so",
            &|graph, y| {
                let first = graph.fill(&mut *y, 1)?;
                let second = graph.fill(&mut *y, 2)?;
                graph.order(first, second)
            },
            [twos; 4],
        ),
        (
            "for a part",
            &|graph, y| {
                let first = graph.fill(&mut *y, 1)?;
                let second = graph.copy(x.view(1..3)?, y.view_mut(2..)?)?;
                graph.order(first, second)
            },
            [ones, ones, 2, 3],
        ),
        (
            "by way of another",
            &|graph, y| {
                let first = graph.fill(&mut *y, 1)?;
                let between = graph.host("between", args![], |_| Ok(()))?;
                let second = graph.fill(y.view_mut(..2)?, 2)?;
                graph.order(first, between)?;
                graph.order(between, second)
            },
            [twos, twos, ones, ones],
        ),
        (
            "a launch goes on with what is there",
            &|graph, y| {
                graph.fill(&mut *y, 0)?;
                graph.launch(&kernels.mix, Grid::linear(2), args![y.view_mut(2..)?, x.view(..2)?, 0u32]).map(drop)
            },
            [0, 0, 1, 2],
        ),
        (
            "the user says so of launches",
            &|graph, y| {
                let grid = Grid::linear(4);
                let first = graph.launch(&kernels.put, grid, [Arg::overwrite(&mut *y), (&x).into(), 1u32.into()])?;
                let second = graph.launch(&kernels.put, grid, [Arg::overwrite(&mut *y), (&x).into(), 2u32.into()])?;
                graph.order(first, second)
            },
            [3, 4, 5, 6],
        ),
        (
            "launches go on with what is there, unless they say that they do not",
            &|graph, y| {
                let grid = Grid::linear(4);
                graph.launch(&kernels.put, grid, [Arg::overwrite(&mut *y), (&x).into(), 1u32.into()])?;
                graph.launch(&kernels.put, grid, args![&mut *y, &x, 2u32])?;
                graph.launch(&kernels.mix, grid, args![&mut *y, &x, 0u32]).map(drop)
            },
            [10, 14, 18, 22],
        ),
        (
            "and so does a copy to a part of the graph's memory",
            &|graph, y| {
                let t = graph.transient::<u32>("t", 4)?;
                graph.fill(t.write(), 1)?;
                graph.copy(x.view(..2)?, t.view(1..3)?.update())?;
                graph.copy(t.read(), &mut *y).map(drop)
            },
            [ones, 1, 2, ones],
        ),
        (
            "somebody reads in between",
            &|graph, y| {
                let t = graph.transient::<u32>("t", 4)?;
                graph.fill(t.write(), 1)?;
                graph.copy(t.view(..2)?.read(), y.view_mut(..2)?)?;
                graph.fill(t.write(), 2)?;
                graph.copy(t.view(2..)?.read(), y.view_mut(2..)?).map(drop)
            },
            [ones, ones, twos, twos],
        ),
    ];
    for (name, record, expected) in cases {
        let mut y = poisoned::<u32>(&gpu, 4);
        let mut graph = gpu.graph();
        record(&mut graph, &mut y).expect(name);
        let mut graph = graph.build().expect(name);
        for _ in 0..2 {
            graph.run().expect(name);
            assert_eq!(y.to_vec().expect(name), *expected, "{name}");
        }
    }
}

// ------------------------------------------------------------------ runs

#[test]
fn arguments_change_between_runs_and_wrong_ones_change_nothing() {
    let gpu = gpu();
    let kernels = Kernels::new(&gpu);
    let x = gpu.buffer_from(&[1u32, 2, 3, 4]).expect("a buffer");
    let (mut y, mut z) = (poisoned::<u32>(&gpu, 4), poisoned::<u32>(&gpu, 4));
    let mut graph = gpu.graph();
    let node = graph.launch(&kernels.put, Grid::linear(4), args![&mut y, &x, 10u32]).expect("a node");
    let fill = graph.fill(&mut z, 0).expect("a node");
    let (from, mut to) = (gpu.buffer_from(&[9u32, 8, 7, 6]).expect("a buffer"), poisoned::<u32>(&gpu, 4));
    let copy = graph.copy(&from, &mut to).expect("a node");
    let mut graph = graph.build().expect("a graph");
    let texture = gpu.texture(&dcmetal::TextureDescriptor::d2(dcmetal::PixelFormat::R32Uint, 2, 2)).expect("a texture");
    let run = |graph: &mut Graph| graph.submit().and_then(|run| run.wait()).expect("it runs");
    run(&mut graph);
    assert_eq!(y.to_vec().expect("it ran"), [11, 12, 13, 14]);
    let refusals = [
        ("a position", graph.set(node, 3, 1u32)),
        ("a type", graph.set(node, 2, 1.5f32)),
        ("a grid", graph.set_grid(node, Grid::linear(0))),
        ("a node without a grid", graph.set_grid(fill, Grid::linear(1))),
        ("memory that another node overwrites", graph.set(fill, 0, y.view_mut(..).expect("all"))),
        ("memory lent for reading, to fill", graph.set(fill, 0, &x)),
        ("memory lent for reading, to copy to", graph.set(copy, 1, &x)),
        ("less to copy from", graph.set(copy, 0, from.view(0..2).expect("a half"))),
        ("less to copy to", graph.set(copy, 1, to.view_mut(1..3).expect("a part"))),
        ("a value to copy from", graph.set(copy, 0, 3u32)),
        ("a texture to fill", graph.set(fill, 0, &texture)),
    ];
    for (name, outcome) in refusals {
        assert!(outcome.is_err(), "{name}");
    }
    y.write_from(&[0; 4]).expect("nobody uses it");
    run(&mut graph);
    assert_eq!(y.to_vec().expect("it ran"), [11, 12, 13, 14], "nothing changed");
    assert_eq!(to.to_vec().expect("it ran"), [9, 8, 7, 6], "nothing changed");
    assert_eq!(x.to_vec().expect("nobody wrote it"), [1, 2, 3, 4]);
    graph.set(node, 2, 20u32).expect("a value");
    graph.set(node, 1, &gpu.buffer_from(&[5u32, 6, 7, 8]).expect("a buffer")).expect("memory");
    graph.set_grid(node, Grid::linear(3)).expect("a grid");
    run(&mut graph);
    assert_eq!(y.to_vec().expect("it ran"), [25, 26, 27, 14]);
    // Now the launch reads what the fill writes later: it must still come first.
    z.write_from(&[1, 1, 1, 1]).expect("nobody uses it");
    graph.set(node, 1, &z).expect("memory");
    run(&mut graph);
    assert_eq!(y.to_vec().expect("it ran"), [21, 21, 21, 14]);
    assert_eq!(z.to_vec().expect("it ran"), [0; 4]);
}

/// Parts of a graph's own memory: all ends, of elements smaller than what the device copies at once.
#[test]
fn what_is_behind_a_part_of_transient_memory_stays() {
    fn of<T: dcmetal::Pod + From<u8> + PartialEq + std::fmt::Debug>(len: usize) {
        let gpu = gpu();
        let ones = gpu.buffer_from(&vec![T::from(1); len]).expect("a buffer");
        let bytes = len * size_of::<T>();
        for (start, end) in (1..len).map(|end| (0, end)).chain((1..len).map(|start| (start, len))) {
            for copies in [false, true] {
                let mut y = gpu.buffer_from(&vec![T::from(7); len]).expect("a buffer");
                let mut graph = gpu.graph();
                let t = graph.transient::<T>("t", len).expect("memory");
                graph.copy(&ones, t.write()).expect("a node");
                let part = t.view(start..end).expect("a part");
                let zeros = gpu.buffer_from(&vec![T::from(0); end - start]).expect("a buffer");
                if copies {
                    graph.copy(&zeros, part.update()).expect("a node");
                } else {
                    graph.fill(part.update(), 0).expect("a node");
                }
                graph.copy(t.read(), &mut y).expect("a node");
                let what = format!("{start} to {end} of {len} elements, {bytes} bytes, copies: {copies}");
                match graph.build() {
                    Ok(mut graph) => {
                        graph.submit().and_then(|run| run.wait()).expect("it runs");
                        let mut expected = vec![T::from(1); len];
                        expected[start..end].fill(T::from(0));
                        assert_eq!(y.to_vec().expect("it ran"), expected, "{what}");
                    }
                    Err(Error::Alignment { .. }) => {
                        let [from, to] = [start, end].map(|at| at * size_of::<T>());
                        assert!(!from.is_multiple_of(4) || (end < len && !to.is_multiple_of(4)), "{what}");
                    }
                    Err(error) => panic!("{what}: {error}"),
                }
            }
        }
    }
    of::<u8>(12);
    of::<u8>(11);
    of::<u16>(4);
    of::<u16>(5);
    of::<u32>(3);
}

#[test]
fn a_run_that_fails_is_an_error_and_the_next_one_may_succeed() {
    let gpu = gpu();
    let kernels = Kernels::new(&gpu);
    let x = gpu.buffer_from(&[10u32, 20, 30, 40]).expect("a buffer");
    let mut y = poisoned::<u32>(&gpu, 4);
    let mut graph = gpu.graph();
    let t = graph.transient::<u32>("t", 4).expect("memory");
    let divide = graph.launch(&kernels.quotient, Grid::linear(4), args![t.write(), &x, 0u32]).expect("a node");
    graph.launch(&kernels.put, Grid::linear(4), args![&mut y, t.read(), 1u32]).expect("a node");
    let mut graph = graph.build().expect("a graph");
    let error = graph.submit().and_then(|run| run.wait()).expect_err("it divides by zero");
    assert!(
        matches!(&error, Error::Submission(cause) if cause.kernels.iter().any(|name| name == "quotient")),
        "{error}"
    );
    assert!(matches!(y.read(), Err(Error::Faulted { .. })));
    y.discard_fault();
    graph.set(divide, 2, 10u32).expect("a value");
    graph.submit().and_then(|run| run.wait()).expect("it divides by ten");
    assert_eq!(y.to_vec().expect("it ran"), [2, 3, 4, 5]);
}

#[test]
fn steps_of_the_host_run_between_the_device_s() {
    let gpu = gpu();
    let kernels = Kernels::new(&gpu);
    let mut x = gpu.buffer_from(&[1u32, 2, 3, 4]).expect("a buffer");
    let mut graph = gpu.graph();
    let t = graph.transient::<u32>("t", 4).expect("memory");
    graph
        .host("begin", args![&mut x], |memory| {
            memory.write::<u32>(0)?[0] = 100;
            Ok(())
        })
        .expect("a node");
    graph.launch(&kernels.put, Grid::linear(4), args![t.write(), &x, 5u32]).expect("a node");
    let mut calls = 0;
    let reverse = graph.host("reverse", args![t.update(), 7u32], move |memory| {
        calls += 1;
        assert!(matches!(memory.read::<f32>(0), Err(Error::ArgumentType { .. })));
        assert!(matches!(memory.read::<u32>(1), Err(Error::ArgumentKind { .. })));
        assert!(matches!(memory.read::<u32>(2), Err(Error::ArgumentKind { .. })));
        if calls == 2 {
            return Err("the second time".into());
        }
        memory.write::<u32>(0)?.reverse();
        Ok(())
    });
    reverse.expect("a node");
    graph.launch(&kernels.put, Grid::linear(4), args![&mut x, t.read(), 0u32]).expect("a node");
    let mut graph = graph.build().expect("a graph");
    assert!(matches!(graph.submit(), Err(Error::Unsupported { .. })));
    assert_eq!(graph.run().expect("it runs").len(), 3);
    assert_eq!(x.to_vec().expect("it ran"), [9, 8, 7, 105]);
    let error = graph.run().expect_err("the step fails");
    assert_eq!(error.to_string(), "the step `reverse` failed: the second time");
    graph.run().expect("the step is there again");
    assert_eq!(x.to_vec().expect("it ran"), [110, 12, 13, 105]);
}

/// Steps that wait for each other, in vain if they run one after the other; a third that needs both; and one that needs nothing and fails.
#[test]
fn steps_that_need_nothing_of_each_other_run_at_once() {
    let gpu = gpu();
    let kernels = Kernels::new(&gpu);
    let (mut x, mut y) = (poisoned::<u32>(&gpu, 8), poisoned::<u32>(&gpu, 8));
    let meeting = Arc::new((Mutex::new(0), Condvar::new()));
    let fails = Arc::new(AtomicBool::new(false));
    let mut graph = gpu.graph();
    for half in 0..2usize {
        let (meeting, fails) = (Arc::clone(&meeting), Arc::clone(&fails));
        let name = ["first", "second"][half];
        let step = graph.host(name, args![x.view_mut(4 * half..4 * half + 4).expect("a half")], move |memory| {
            let mut own = memory.write::<u32>(0)?;
            let mut come = meeting.0.lock().expect("nobody panics");
            *come += 1;
            let all = (*come + 1) / 2 * 2;
            meeting.1.notify_all();
            let (come, waited) =
                meeting.1.wait_timeout_while(come, Duration::from_secs(60), |come| *come < all).expect("nobody panics");
            drop(come);
            if waited.timed_out() {
                return Err("the other never came".into());
            }
            own.fill(1 + half as u32);
            match (fails.load(Ordering::SeqCst), half) {
                (true, 0) => Err("on purpose".into()),
                (true, _) => Err("on purpose as well".into()),
                (false, _) => Ok(()),
            }
        });
        step.expect("a node");
    }
    graph
        .host("reverse", args![&mut x], |memory| {
            memory.write::<u32>(0)?.reverse();
            Ok(())
        })
        .expect("a node");
    graph.launch(&kernels.put, Grid::linear(8), args![&mut y, &x, 10u32]).expect("a node");
    let mut graph = graph.build().expect("a graph");
    for _ in 0..3 {
        graph.run().expect("they meet");
        assert_eq!(y.to_vec().expect("it ran"), [12, 12, 12, 12, 11, 11, 11, 11]);
    }
    y.write_from(&[0; 8]).expect("nobody uses it");
    fails.store(true, Ordering::SeqCst);
    for _ in 0..10 {
        let error = graph.run().expect_err("both fail").to_string();
        assert_eq!(error, "the step `first` failed: on purpose");
    }
    assert_eq!(x.to_vec().expect("nothing behind them ran"), [1, 1, 1, 1, 2, 2, 2, 2]);
    assert_eq!(y.to_vec().expect("nothing behind them ran"), [0; 8]);
}

/// What they are given says nothing of each other.
#[test]
fn a_step_waits_for_what_it_was_ordered_behind() {
    let gpu = gpu();
    let kernels = Kernels::new(&gpu);
    let x = gpu.buffer_from(&[1u32]).expect("a buffer");
    let mut y = poisoned::<u32>(&gpu, 1);
    let ran = Arc::new(AtomicBool::new(false));
    let mut graph = gpu.graph();
    let divide = graph.launch(&kernels.quotient, Grid::linear(1), args![&mut y, &x, 0u32]).expect("a node");
    let tell = Arc::clone(&ran);
    let step = graph.host("tell", args![], move |_| {
        tell.store(true, Ordering::SeqCst);
        Ok(())
    });
    graph.order(divide, step.expect("a node")).expect("nodes of the graph");
    let mut graph = graph.build().expect("a graph");
    assert!(matches!(graph.run(), Err(Error::Submission(_))));
    assert!(!ran.load(Ordering::SeqCst), "nothing runs behind what failed");
    y.discard_fault();
    graph.set(divide, 2, 1u32).expect("a value");
    graph.run().expect("it divides by one");
    assert!(ran.load(Ordering::SeqCst));
}

#[test]
fn a_step_that_only_reads_may_not_write() {
    let gpu = gpu();
    let x = gpu.buffer_from(&[1u32]).expect("a buffer");
    let mut graph = gpu.graph();
    graph.host("write", args![&x], |memory| memory.write::<u32>(0).map(drop).map_err(Into::into)).expect("a node");
    let error = graph.build().expect("a graph").run().expect_err("it writes");
    assert!(matches!(error, Error::ArgumentReadOnly { .. }), "{error}");
}

/// A step borrows nothing of what it was recorded with: what it asks for is refused while the host holds it elsewhere, or it itself.
#[test]
fn steps_and_guards_of_the_host_are_kept_apart() {
    let gpu = gpu();
    let mut x = gpu.buffer_from(&[1u32, 2]).expect("a buffer");
    let mut graph = gpu.graph();
    graph
        .host("write", args![&mut x], |memory| {
            let mut first = memory.write::<u32>(0)?;
            assert!(matches!(memory.write::<u32>(0), Err(Error::BufferInUse { .. })));
            assert!(matches!(memory.read::<u32>(0), Err(Error::BufferInUse { .. })));
            first[0] += 10;
            drop(first);
            let (one, two) = (memory.read::<u32>(0)?, memory.read::<u32>(0)?);
            assert_eq!(one[..], two[..]);
            Ok(())
        })
        .expect("a node");
    let mut graph = graph.build().expect("a graph");
    let seen = x.read().expect("nobody uses it");
    let error = graph.run().expect_err("it is being read").to_string();
    assert!(error.contains("is being read by the host"), "{error}");
    assert_eq!(seen[..], [1, 2]);
    drop(seen);
    let seen = x.write().expect("nobody uses it");
    let error = graph.run().expect_err("it is being written").to_string();
    assert!(error.contains("is being written by the host"), "{error}");
    drop(seen);
    graph.run().expect("nobody else uses it");
    assert_eq!(x.to_vec().expect("it ran"), [11, 2]);
}

#[test]
fn memory_of_a_long_chain_is_that_of_two_links() {
    let gpu = gpu();
    let kernels = Kernels::new(&gpu);
    let x = gpu.buffer_from(&vec![1u32; 1024]).expect("a buffer");
    let mut y = poisoned::<u32>(&gpu, 1024);
    let mut graph = gpu.graph();
    let links: Vec<Transient<u32>> = (0..20).map(|_| graph.transient("link", 1024).expect("memory")).collect();
    let grid = Grid::linear(1024);
    graph.launch(&kernels.put, grid, args![links[0].write(), &x, 1u32]).expect("a node");
    for pair in links.windows(2) {
        graph.launch(&kernels.put, grid, args![pair[1].write(), pair[0].read(), 1u32]).expect("a node");
    }
    graph.launch(&kernels.put, grid, args![&mut y, links[19].read(), 1u32]).expect("a node");
    let mut graph = graph.build().expect("a graph");
    assert_eq!((graph.transient_bytes(), graph.submissions()), (8192, 1));
    graph.submit().and_then(|run| run.wait()).expect("it runs");
    assert_eq!(y.to_vec().expect("it ran"), [22; 1024]);
}

#[test]
fn textures_and_what_is_printed_are_a_graph_s_too() {
    let gpu = gpu();
    let source = "
        __kernel void brighten(read_only image2d_t from, write_only image2d_t to) {
            int2 at = (int2)(get_global_id(0), 0);
            write_imageui(to, at, read_imageui(from, at) + 1u);
            if (at.x == 0) printf(\"%d\\n\", 7);
        }";
    let brighten = gpu.compile_opencl(source).and_then(|library| library.kernel("brighten")).expect("it compiles");
    let wanted = TextureDescriptor::d2(PixelFormat::RGBA8Uint, 2, 1);
    let mut textures = [0, 1, 2].map(|_| gpu.texture(&wanted).expect("a texture"));
    textures[0].write_from(&[[1u8, 2, 3, 4], [5, 6, 7, 8]]).expect("nobody uses it");
    let [first, second, third] = &mut textures;
    let mut graph = gpu.graph();
    graph.launch(&brighten, Grid::threads((2u32, 1u32)), args![&*first, &mut *second]).expect("a node");
    graph.launch(&brighten, Grid::threads((2u32, 1u32)), args![&*second, &mut *third]).expect("a node");
    let mut graph = graph.build().expect("a graph");
    let printed = graph.submit().and_then(|run| run.printed()).expect("it runs");
    assert_eq!(printed.to_string(), "7\n7\n");
    assert_eq!(third.to_vec::<[u8; 4]>().expect("it ran"), [[3, 4, 5, 6], [7, 8, 9, 10]]);
}
