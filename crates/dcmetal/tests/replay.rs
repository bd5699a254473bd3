//! Graphs that run again: by indirect commands or encoded, with the same results; what is recorded, what is in flight, what changes.

mod common;

use common::{Gate, Random, gpu, limits, msl, overlap, poisoned};
use std::ptr::NonNull;
use std::sync::Arc;

use dcmetal::{
    Accelerator, Arg, Buffer, Graph, Grid, Kernel, Node, PageVec, PixelFormat, Replay, ReplayStats, SamplerDescriptor,
    Submission, TextureDescriptor, args,
};

const KERNELS: &str = "
    kernel void mix(device uint* y [[buffer(0)]], device const uint* x [[buffer(1)]], constant uint& k [[buffer(2)]],
                    uint i [[thread_position_in_grid]]) { y[i] = (y[i] * 3u + x[i]) ^ k; }
    kernel void put(device uint* y [[buffer(0)]], device const uint* x [[buffer(1)]], constant uint& k [[buffer(2)]],
                    uint i [[thread_position_in_grid]]) { y[i] = x[i] + k; }
    kernel void reversed(device uint* y [[buffer(0)]], threadgroup uint* t [[threadgroup(0)]], uint i [[thread_position_in_threadgroup]],
                         uint n [[threads_per_threadgroup]]) {
        t[i] = y[i];
        threadgroup_barrier(metal::mem_flags::mem_threadgroup);
        y[i] = t[n - 1u - i];
    }
    kernel void texel(device uint* y [[buffer(0)]], metal::texture2d<uint> t [[texture(0)]], uint i [[thread_position_in_grid]]) {
        y[i] += t.read(metal::uint2(0)).x;
    }
    kernel void sampled(device uint* y [[buffer(0)]], metal::texture2d<uint> t [[texture(0)]], metal::sampler s [[sampler(0)]],
                        uint i [[thread_position_in_grid]]) { y[i] ^= t.sample(s, metal::float2(0.5f)).x; }";

fn kernel(gpu: &Accelerator, name: &str) -> Kernel {
    msl(gpu, &format!("#include <metal_stdlib>\n{KERNELS}"), name)
}

/// Encoded, indirect, recorded.
fn stats(graph: &Graph) -> [u64; 3] {
    let ReplayStats { encoded, indirect, recorded } = graph.replay_stats();
    [encoded, indirect, recorded]
}

fn run(graph: &mut Graph) {
    graph.submit().and_then(|run| run.wait()).expect("it runs");
}

/// y = (y * 3 + x) ^ k, for each of these.
fn mixed(y: [u32; 4], x: [u32; 4], values: &[u32]) -> Vec<u32> {
    let mix = |y: u32, x: u32| values.iter().fold(y, |y, k| y.wrapping_mul(3).wrapping_add(x) ^ k);
    y.into_iter().zip(x).map(|(y, x)| mix(y, x)).collect()
}

#[test]
fn only_commands_that_change_are_recorded_again() {
    let gpu = gpu();
    let put = kernel(&gpu, "put");
    let x = gpu.buffer_from(&[1u32, 2, 3, 4]).expect("a buffer");
    let [mut a, mut b] = [(); 2].map(|()| gpu.buffer_zeroed::<u32>(4).expect("a buffer"));
    let mut y = poisoned::<u32>(&gpu, 4);
    let mut graph = gpu.graph();
    let grid = Grid::linear(4);
    let first = graph.launch(&put, grid, args![&mut a, &x, 10u32]).expect("a node");
    let second = graph.launch(&put, grid, args![&mut b, &a, 100u32]).expect("a node");
    graph.launch(&put, grid, args![&mut y, &b, 1000u32]).expect("a node");
    let mut graph = graph.build().expect("a graph");
    run(&mut graph);
    assert_eq!(stats(&graph), [3, 0, 0], "the first time everything is encoded");
    run(&mut graph);
    assert_eq!(stats(&graph), [3, 3, 3]);
    assert_eq!(y.to_vec().expect("it ran"), [1111, 1112, 1113, 1114]);
    graph.set(first, 2, 20u32).expect("a value");
    run(&mut graph);
    assert_eq!((stats(&graph), y.to_vec().expect("it ran")), ([3, 6, 3], vec![1121, 1122, 1123, 1124]));
    graph.set_grid(second, Grid::linear(2)).expect("a grid");
    b.write_from(&[0; 4]).expect("nobody uses it");
    run(&mut graph);
    assert_eq!((stats(&graph), y.to_vec().expect("it ran")), ([3, 9, 4], vec![1121, 1122, 1000, 1000]));
    graph.set(first, 1, &gpu.buffer_from(&[5u32, 6, 7, 8]).expect("a buffer")).expect("memory");
    run(&mut graph);
    assert_eq!((stats(&graph), y.to_vec().expect("it ran")), ([3, 12, 5], vec![1125, 1126, 1000, 1000]));
    // What is refused changes nothing.
    graph.set(first, 2, 1.5f32).expect_err("a type");
    graph.set(second, 1, &b).expect_err("it writes that");
    run(&mut graph);
    assert_eq!((stats(&graph), y.to_vec().expect("it ran")), ([3, 15, 5], vec![1125, 1126, 1000, 1000]));
    // By hand.
    graph.set_replay(Replay::Encoded);
    graph.set(first, 2, 30u32).expect("a value");
    run(&mut graph);
    assert_eq!((stats(&graph), y.to_vec().expect("it ran")), ([6, 15, 5], vec![1135, 1136, 1000, 1000]));
    graph.set_replay(Replay::Indirect);
    graph.set(first, 2, 40u32).expect("a value");
    run(&mut graph);
    assert_eq!((stats(&graph), y.to_vec().expect("it ran")), ([6, 18, 8], vec![1145, 1146, 1000, 1000]));
}

/// Of several that wait for the same: an indirect command's barrier is for that command alone.
#[test]
fn all_commands_of_a_level_wait() {
    let gpu = gpu();
    let put = kernel(&gpu, "put");
    let x = gpu.buffer_from(&[1u32, 2, 3, 4]).expect("a buffer");
    let [mut a, mut b, mut c, mut d] = [(); 4].map(|()| gpu.buffer_zeroed::<u32>(4).expect("a buffer"));
    let [mut e, mut f] = [(); 2].map(|()| poisoned::<u32>(&gpu, 4));
    let mut graph = gpu.graph();
    let grid = Grid::linear(4);
    let first = graph.launch(&put, grid, args![&mut a, &x, 0u32]).expect("a node");
    graph.launch(&put, grid, args![&mut b, &a, 10u32]).expect("a node");
    graph.launch(&put, grid, args![&mut c, &a, 20u32]).expect("a node");
    graph.launch(&put, grid, args![&mut d, &b, 100u32]).expect("a node");
    graph.launch(&put, grid, args![&mut e, &d, 1000u32]).expect("a node");
    graph.launch(&put, grid, args![&mut f, &d, 2000u32]).expect("a node");
    let mut graph = graph.build().expect("a graph");
    for (times, k) in [10_000u32, 20_000, 30_000, 40_000].into_iter().enumerate() {
        graph.set(first, 2, k).expect("a value");
        run(&mut graph);
        assert_eq!(stats(&graph), [6, 6 * times as u64, if times > 0 { 6 } else { 0 }]);
        for (y, more) in [(&c, 20), (&e, 1110), (&f, 2110)] {
            assert_eq!(y.to_vec().expect("it ran"), [1, 2, 3, 4].map(|x| x + k + more), "{more} {k}");
        }
    }
}

/// A graph of one `mix`, and its node.
fn mix_graph(gpu: &Accelerator, y: &mut Buffer<u32>, x: &Buffer<u32>) -> (Graph, Node) {
    let mut graph = gpu.graph();
    let node = graph.launch(&kernel(gpu, "mix"), Grid::linear(4), args![y, x, 0u32]).expect("a node");
    (graph.build().expect("a graph"), node)
}

#[test]
fn replays_in_flight_have_arguments_of_their_own() {
    let gpu = gpu();
    let mut gate = Gate::new(&gpu);
    let x = gpu.buffer_from(&[1u32, 2, 3, 4]).expect("a buffer");
    let (mut y, mut z) = (gpu.buffer_zeroed::<u32>(4).expect("a buffer"), poisoned::<u32>(&gpu, 4));
    z.write_from(&[7, 8, 9, 10]).expect("nobody uses it");
    let (mut graph, node) = mix_graph(&gpu, &mut y, &x);
    let submit = |graph: &mut Graph, k: u32| -> Submission {
        graph.set(node, 2, k).expect("a value");
        graph.submit().expect("it runs")
    };
    let gated = gate.start(&mut y).expect("it runs");
    let mut runs: Vec<Submission> = (1..=6).map(|k| submit(&mut graph, k * 0x1234_5678)).collect();
    assert_eq!(stats(&graph), [3, 3, 3], "three recordings, and what they do not suffice for is encoded");
    assert!(!gated.is_done() && runs.iter().all(|run| !run.is_done()));
    // Other memory, while the commands with the old are in flight.
    graph.set(node, 0, &mut z).expect("memory");
    runs.push(submit(&mut graph, 99));
    runs.push(graph.submit().expect("it runs"));
    assert_eq!(stats(&graph), [3, 5, 4], "new commands, which two submissions execute");
    gate.open();
    runs.iter().for_each(|run| run.wait().expect("it runs"));
    gated.wait().expect("it runs");
    let values: Vec<u32> = (1..=6u32).map(|k| k.wrapping_mul(0x1234_5678)).collect();
    assert_eq!(y.to_vec().expect("it ran"), mixed([1, 0, 0, 0], [1, 2, 3, 4], &values));
    assert_eq!(z.to_vec().expect("it ran"), mixed([7, 8, 9, 10], [1, 2, 3, 4], &[99, 99]));
    z.write_from(&[7, 8, 9, 10]).expect("nobody uses it");
    submit(&mut graph, 5).wait().expect("it runs");
    assert_eq!((stats(&graph), z.to_vec().expect("it ran")), ([3, 6, 4], mixed([7, 8, 9, 10], [1, 2, 3, 4], &[5])));
}

#[test]
fn a_graph_may_go_while_its_commands_are_in_flight() {
    let gpu = gpu();
    let mut gate = Gate::new(&gpu);
    let pool = gpu.pool(limits());
    let mut x = pool.buffer::<u32>(4).expect("a buffer");
    x.write_from(&[1, 2, 3, 4]).expect("nobody uses it");
    let mut y = gpu.buffer_zeroed::<u32>(4).expect("a buffer");
    let (mut graph, node) = mix_graph(&gpu, &mut y, &x);
    drop(x);
    let gated = gate.start(&mut y).expect("it runs");
    let mut last = None;
    for k in 1..=3u32 {
        graph.set(node, 2, k).expect("a value");
        last = Some(graph.submit().expect("it runs"));
    }
    assert_eq!(stats(&graph), [1, 2, 2]);
    drop(graph);
    // The pool has not got back what the device will read.
    let mut other = pool.buffer::<u32>(4).expect("a buffer");
    other.write_from(&[0xDEAD; 4]).expect("nobody uses it");
    gate.open();
    gated.wait().expect("it runs");
    last.expect("there were three").wait().expect("it runs");
    assert_eq!(y.to_vec().expect("it ran"), mixed([1, 0, 0, 0], [1, 2, 3, 4], &[1, 2, 3]));
    drop(other);
    assert_eq!(pool.stats().used_buffers, 0, "nothing keeps what the graph used");
}

#[test]
fn what_commands_cannot_do_is_encoded_between_them() {
    let gpu = gpu();
    let [mix, reversed, texel, sampled] = ["mix", "reversed", "texel", "sampled"].map(|name| kernel(&gpu, name));
    let source = r#"__kernel void shout(__global uint* y, uint k) { y[get_global_id(0)] += k; if (get_global_id(0) == 0) printf("%u;", k); }
                    __kernel void dims(__global uint* y, __local uint* t, uchar a, uint3 b) {
                        t[0] = a; y[get_global_id(0)] += t[0] + b.z * get_work_dim();
                    }
                    __kernel void plain(__global uint* y, uchar a, uint3 b) { y[get_global_id(0)] += a + b.z * get_work_dim(); }"#;
    let opencl = gpu.compile_opencl(source).unwrap_or_else(|error| panic!("{error}"));
    let [shout, dims, plain] = ["shout", "dims", "plain"].map(|name| opencl.kernel(name).expect(name));
    let mut texture = gpu.texture(&TextureDescriptor::d2(PixelFormat::R32Uint, 1, 1)).expect("a texture");
    texture.write_from(&[50u32]).expect("nobody uses it");
    let sampler = gpu.sampler(&SamplerDescriptor::default()).expect("a sampler");
    let grid = Grid::linear(4);
    let outcome = |replay: Replay| {
        let x = gpu.buffer_from(&[1u32, 2, 3, 4]).expect("a buffer");
        let mut y = gpu.buffer_from(&[10u32, 20, 30, 40]).expect("a buffer");
        let mut copy = poisoned::<u32>(&gpu, 4);
        let mut graph = gpu.graph();
        let mut add = |kernel: &Kernel, arguments: &[Arg<'_>]| graph.launch(kernel, grid, arguments).expect("a node");
        let changed = add(&mix, &args![&mut y, &x, 3u32]);
        add(&mix, &args![&mut y, &x, 4u32]);
        add(&reversed, &args![&mut y, Arg::threadgroup::<u32>(4)]);
        add(&plain, &args![&mut y, 5u8, [6u32, 7, 8]]);
        add(&texel, &args![&mut y, &texture]);
        add(&shout, &args![&mut y, 9u32]);
        add(&mix, &args![&mut y, &x, 10u32]);
        add(&dims, &args![&mut y, Arg::threadgroup::<u32>(1), 11u8, [12u32, 13, 14]]);
        add(&sampled, &args![&mut y, &texture, &sampler]);
        graph.copy(&y, &mut copy).expect("a node");
        graph.launch(&mix, grid, args![&mut y, &x, 15u32]).expect("a node");
        let mut graph = graph.build().expect("a graph");
        graph.set_replay(replay);
        let mut seen = Vec::new();
        for k in 0..4u32 {
            graph.set(changed, 2, k).expect("a value");
            let printed = graph.submit().and_then(|run| run.printed()).expect("it runs").to_string();
            seen.push((printed, y.to_vec().expect("it ran"), copy.to_vec().expect("it ran")));
        }
        (seen, stats(&graph))
    };
    let mut y = [10u32, 20, 30, 40];
    let mix = |y: &mut [u32; 4], k: u32| {
        for (y, x) in y.iter_mut().zip(1..) {
            *y = y.wrapping_mul(3).wrapping_add(x) ^ k;
        }
    };
    let mut expected = Vec::new();
    for k in 0..4u32 {
        mix(&mut y, k);
        mix(&mut y, 4);
        y.reverse();
        y = y.map(|y| y.wrapping_add(5 + 8 + 50 + 9));
        mix(&mut y, 10);
        y = y.map(|y| y.wrapping_add(11 + 14) ^ 50);
        let copy = y;
        mix(&mut y, 15);
        expected.push(("9;".to_owned(), y.to_vec(), copy.to_vec()));
    }
    // Without a seed first.
    for seed in 0..6 {
        overlap(seed);
        let (encoded, indirect) = (outcome(Replay::Encoded), outcome(Replay::Indirect));
        assert_eq!((&encoded.0, &indirect.0), (&expected, &expected), "seed {seed}");
        assert_eq!(encoded.1, [40, 0, 0]);
        // mix mix | plain | mix | mix
        assert_eq!(indirect.1, [10 + 3 * 5, 3 * 5, 5]);
    }
    overlap(0);
}

/// The first kernel writes beyond its view, where the second reads: nobody can see that, so the user says it. Encoded, then executed.
#[test]
fn an_order_that_was_asked_for_holds_each_time() {
    let gpu = gpu();
    let source = "
        kernel void late(device uint* y [[buffer(0)]], constant uint& rounds [[buffer(1)]], uint i [[thread_position_in_grid]]) {
            uint x = i;
            for (uint r = 0; i == 0 && r < rounds; r++) x = x * 5u + (x >> 3) + r;
            if (i == 0) y[4] = x | 1u;
        }
        kernel void copy(device uint* y [[buffer(0)]], device const uint* x [[buffer(1)]]) { y[0] = x[0]; }";
    let (late, copy) = (msl(&gpu, source, "late"), msl(&gpu, source, "copy"));
    let mut x = gpu.buffer_zeroed::<u32>(8).expect("a buffer");
    let mut y = poisoned::<u32>(&gpu, 1);
    let mut graph = gpu.graph();
    let (mut low, high) = x.split_at_mut(4).expect("it has 8");
    let first =
        graph.launch(&late, Grid::linear(64).threadgroup(1u32), args![low.reborrow(), 2_000_000u32]).expect("a node");
    let second = graph.launch(&copy, Grid::linear(1), args![&mut y, high.as_view()]).expect("a node");
    graph.order(first, second).expect("nodes of the graph");
    let mut graph = graph.build().expect("a graph");
    for round in 0..3 {
        x.write_from(&[0; 8]).expect("nobody uses it");
        run(&mut graph);
        let written = x.to_vec().expect("it ran")[4];
        assert_eq!((written & 1, y.to_vec().expect("it ran")), (1, vec![written]), "round {round}");
    }
    assert_eq!(stats(&graph), [2, 4, 2]);
}

/// What a node does to the word.
#[derive(Clone, Copy, Debug)]
enum Step {
    Launch(u32),
    /// With threadgroup memory, which begins an encoder where a launch without is behind it, and is no indirect command.
    Threadgroup(u32),
    Fill(u8),
    Copy(u32),
}

/// Nodes that use one word, each as a buffer of its own, of which Metal cannot know that it is the same memory. Only the order that was asked for is between them:
/// encoded and replayed, in one encoder and in several, where passes overtake each other as far as they may.
#[test]
fn an_order_that_was_asked_for_holds_where_passes_overtake_each_other() {
    let gpu = gpu();
    let source = "
        kernel void l(device uint* y [[buffer(0)]], constant uint& k [[buffer(1)]]) { y[0] = y[0] * 5u + k; }
        kernel void t(device uint* y [[buffer(0)]], constant uint& k [[buffer(1)]], threadgroup uint* t [[threadgroup(0)]]) {
            t[0] = k;
            y[0] = y[0] * 3u + t[0];
        }";
    let [launch, with_threadgroup] = ["l", "t"].map(|name| msl(&gpu, source, name));
    for seed in 1..=60 {
        overlap(seed);
        let mut random = Random(seed);
        let mut below = |limit: i64| random.range(0, limit) as u32;
        let step = |_| match below(4) {
            0 => Step::Fill(below(256) as u8),
            1 => Step::Threadgroup(below(1000)),
            2 => Step::Copy(below(1000)),
            _ => Step::Launch(below(1000)),
        };
        let steps: Vec<Step> = (0..7).map(step).collect();
        let word = Arc::new(PageVec::from_slice(&[0u32; 4096]).expect("memory"));
        let mut views: Vec<Buffer<u32>> = (0..=steps.len())
            .map(|_| {
                let start = NonNull::new(word.as_ptr().cast_mut()).expect("memory");
                // SAFETY: whole pages, which live in `word`, hold values, and of which nobody makes references but the buffers; of these one is used at a time,
                // because the graph has that order.
                let view = unsafe { PageVec::from_raw(start, word.len(), Arc::clone(&word)) }.expect("whole pages");
                gpu.buffer_no_copy(view).expect("a buffer")
            })
            .collect();
        let (seen, nodes) = views.split_last_mut().expect("one more");
        let sources: Vec<Buffer<u32>> = steps
            .iter()
            .map(|step| gpu.buffer_from(&[if let Step::Copy(k) = step { *k } else { 0 }]).expect("a buffer"))
            .collect();
        let (mut graph, mut before, mut wanted) = (gpu.graph(), None, 0u32);
        for ((step, y), x) in steps.iter().zip(nodes.iter_mut()).zip(&sources) {
            let grid = Grid::linear(1);
            let node = match *step {
                Step::Launch(k) => graph.launch(&launch, grid, args![y, k]),
                Step::Threadgroup(k) => graph.launch(&with_threadgroup, grid, args![y, k, Arg::threadgroup::<u32>(4)]),
                Step::Fill(value) => graph.fill(y.view_mut(..1).expect("it has one"), value),
                Step::Copy(_) => graph.copy(x, y.view_mut(..1).expect("it has one")),
            };
            let node = node.expect("a node");
            if let Some(before) = before {
                graph.order(before, node).expect("nodes of the graph");
            }
            before = Some(node);
        }
        let mut graph = graph.build().expect("a graph");
        for round in 0..3 {
            run(&mut graph);
            wanted = steps.iter().fold(wanted, |y, step| match *step {
                Step::Launch(k) => y.wrapping_mul(5).wrapping_add(k),
                Step::Threadgroup(k) => y.wrapping_mul(3).wrapping_add(k),
                Step::Fill(value) => u32::from_ne_bytes([value; 4]),
                Step::Copy(k) => k,
            });
            let found = seen.read().expect("nobody uses it")[0];
            assert_eq!(found, wanted, "seed {seed}, round {round}: {steps:?}");
        }
    }
    overlap(0);
}
