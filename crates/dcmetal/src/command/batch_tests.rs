//! Batches without other users: what is encoded, and in which order.

use super::*;
use crate::{PixelFormat, Size, TextureDescriptor, args};

/// A launch that writes the buffer, as an indirect command.
fn recorded(gpu: &Accelerator, kernel: &Kernel, y: &mut Buffer<u32>) -> (IndirectCommands, Executed) {
    let (one, uses) = (Size { x: 1, y: 1, z: 1 }, vec![(y.allocation().clone(), DeviceUse::Write)]);
    let mut commands = IndirectCommands::new(gpu.device(), 1, 1).expect("a command");
    commands.set_pipeline(0, kernel.for_commands().expect("it can be")).expect("it fits");
    commands.set_buffer(0, y.allocation().memory(), 0, 0).expect("it fits");
    commands.dispatch_threads(0, one, one).expect("it fits");
    let touches = kernel::touches(kernel, &args![y], kernel::Own::default()).collect();
    let kernels = vec![Launched { kernel: kernel.clone(), launches: 1 }];
    (commands, Executed { parts: std::iter::once(0..1).collect(), uses, touches, kernels, kernel_of: vec![0] })
}

/// Metal keeps the lengths of threadgroup memory from launch to launch of an encoder.
#[test]
fn threadgroup_memory_of_one_launch_is_not_left_to_another() {
    let gpu = Accelerator::system_default().expect("a Metal device");
    let source = "
        kernel void with(device uint* y [[buffer(0)]], threadgroup uint* t [[threadgroup(1)]]) { y[0] = t[0] = 1u; }
        kernel void without(device uint* y [[buffer(0)]]) { y[0] += 1u; }";
    let library = gpu.compile_msl(source).unwrap_or_else(|error| panic!("{error}"));
    let kernel = |name| library.kernel(name).unwrap_or_else(|error| panic!("{error}"));
    let (with, without) = (kernel("with"), kernel("without"));
    let mut y = gpu.buffer_zeroed::<u32>(1).expect("a buffer");
    let mut batch = gpu.batch().expect("a batch");
    let grid = Grid::linear(1);
    for _ in 0..2 {
        batch.launch(&without, grid, args![&mut y]).expect("it fits");
        batch.launch(&with, grid, args![&mut y, Arg::threadgroup::<u32>(4)]).expect("it fits");
        batch.launch(&with, grid, args![&mut y, Arg::threadgroup::<u32>(8)]).expect("it fits");
    }
    assert_eq!(batch.encoders, ["without, with"], "the third launch begins an encoder");
    batch.submit().and_then(|submission| submission.wait()).expect("it runs");
    assert_eq!(y.to_vec().expect("it ran"), [1]);
}

/// Barriers of buffers and of textures that each launch needs behind those before it.
#[test]
fn launches_wait_for_what_they_use_and_for_nothing_else() {
    let gpu = Accelerator::system_default().expect("a Metal device");
    let source = "
        #include <metal_stdlib>
        using namespace metal;
        kernel void copy(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]]) { y[0] = x[0]; }
        kernel void draw(texture2d<float, access::read> a [[texture(0)]], texture2d<float, access::write> b [[texture(1)]]) {
            b.write(a.read(uint2(0)), uint2(0));
        }";
    let library = gpu.compile_msl(source).unwrap_or_else(|error| panic!("{error}"));
    let kernel = |name| library.kernel(name).unwrap_or_else(|error| panic!("{error}"));
    let (copy, draw) = (kernel("copy"), kernel("draw"));
    let print = gpu.compile_opencl(r#"__kernel void print(int n) { printf("%d", n); }"#);
    let print = print.and_then(|library| library.kernel("print")).unwrap_or_else(|error| panic!("{error}"));
    let [mut x, mut y, mut z] = [(); 3].map(|()| gpu.buffer_zeroed::<u32>(8).expect("a buffer"));
    let texture = || gpu.texture(&TextureDescriptor::d2(PixelFormat::R32Float, 1, 1)).expect("a texture");
    let [mut a, mut b] = [texture(), texture()];
    let mut batch = gpu.batch().expect("a batch");
    let mut step = |kernel: &Kernel, args: &[Arg<'_>], wanted: [u64; 2], why: &str| {
        batch.launch(kernel, Grid::linear(1), args).expect("it fits");
        let Encoder::Compute(compute) = &batch.encoder else { panic!("launches leave their encoder open") };
        assert_eq!(compute.hazards.barriers(), wanted, "{why}");
    };
    step(&copy, &args![&x, &mut y], [0, 0], "the first");
    step(&copy, &args![&x, &mut z], [0, 0], "both read x");
    step(&copy, &args![&mut x, &mut z], [1, 0], "both write z; x is passed for writing, but the kernel reads it");
    step(&copy, &args![&x, &mut y], [1, 0], "y was written before the barrier");
    step(&copy, &args![&y, &mut x], [2, 0], "reads y, writes x, which was read");
    {
        let (mut low, mut high) = z.split_at_mut(4).expect("it has 8");
        step(&copy, &args![&y, low.reborrow()], [2, 0], "nothing of z since the barrier");
        step(&copy, &args![&y, high.reborrow()], [2, 0], "the other half");
        step(&copy, &args![low.as_view(), high.into_view_mut(3..).expect("it has 4")], [3, 0], "in both halves");
    }
    step(&copy, &args![&y, z.view_mut(1..7).expect("it has 8")], [4, 0], "it reads the first of what was read");
    step(&draw, &args![&a, &mut b], [4, 0], "the first with textures");
    step(&draw, &args![&b, &mut a], [4, 1], "textures have barriers of their own");
    step(&copy, &args![&x, z.view_mut(7..).expect("it has 8")], [4, 1], "beside what was written");
    step(&copy, &args![&x, z.view_mut(6..).expect("it has 8")], [5, 1], "of textures' barriers it knows nothing");
    step(&print, &args![1], [5, 1], "prints");
    step(&print, &args![2], [6, 1], "prints behind the other");
    let printed = batch.submit().and_then(|submission| submission.printed()).expect("it runs");
    assert_eq!(printed.to_string(), "12");
}

/// Launches (`l`; `t` with threadgroup memory, which is not left to an `l`), executed commands (`x`) and fills (`f`), all of memory of their own,
/// with barriers that were asked for: encoders, events before the first, the encoders that
/// the last waits for, and its own barriers.
#[test]
fn a_barrier_that_was_asked_for_holds_in_later_encoders() {
    let gpu = Accelerator::system_default().expect("a Metal device");
    let source = "
        kernel void l(device uint* y [[buffer(0)]]) { y[0] += 0x01010101u; }
        kernel void t(device uint* y [[buffer(0)]], threadgroup uint* t [[threadgroup(1)]]) { y[0] += t[0] = 0x01010101u; }";
    let library = gpu.compile_msl(source).unwrap_or_else(|error| panic!("{error}"));
    let kernel = |name| library.kernel(name).unwrap_or_else(|error| panic!("{error}"));
    let (l, t) = (kernel("l"), kernel("t"));
    let values = gpu.buffer_zeroed::<u8>(1).expect("a buffer");
    for (program, encoders, events, before, barriers) in [
        ("ll", 1, 0, &[][..], 0),
        ("l|l", 1, 0, &[], 1),
        ("l|x", 1, 0, &[], 1),
        ("x|l", 1, 0, &[], 1),
        ("x|x|x", 1, 0, &[], 2),
        ("lfl", 3, 0, &[], 0),
        ("l|f", 2, 0, &[0], 0),
        ("x|f", 2, 0, &[0], 0),
        ("f|l", 2, 0, &[0], 0),
        ("f|x", 2, 0, &[0], 0),
        // In a blit encoder there is no barrier.
        ("f|f", 2, 0, &[0], 0),
        ("lf|l", 3, 0, &[0, 1], 0),
        // A barrier of the second encoder is none for the first.
        ("fl|l", 3, 0, &[0, 1], 0),
        ("fx|x", 3, 0, &[0, 1], 0),
        ("fl|l|l", 3, 0, &[0, 1], 1),
        // The last two encoders are behind the first's barrier.
        ("l|lfl", 3, 0, &[0], 0),
        ("f|fl", 3, 0, &[0], 0),
        ("f|fl|f", 4, 0, &[1, 2], 0),
        ("l|tl", 2, 0, &[0], 0),
        ("lt|l", 2, 0, &[0], 0),
        ("x|f|x", 3, 0, &[1], 0),
        ("l||f", 2, 0, &[0], 0),
        ("f||f", 2, 0, &[0], 0),
        ("l|", 1, 0, &[], 1),
        ("f|", 1, 0, &[], 0),
        // Behind what was submitted before.
        ("|l", 1, 1, &[], 0),
        ("||l", 1, 1, &[], 0),
        ("|f|f", 2, 1, &[0], 0),
    ] {
        let mut batch = Batch::of_graph(&gpu, true, References::Held).expect("a batch");
        let mut ys: Vec<Buffer<u32>> = program.chars().map(|_| gpu.buffer_zeroed(1).expect("a buffer")).collect();
        let mut commands = Vec::new();
        for (step, y) in program.chars().zip(&mut ys) {
            let given = match step {
                'l' => batch.launch(&l, Grid::linear(1), args![y]),
                't' => batch.launch(&t, Grid::linear(1), args![y, Arg::threadgroup::<u32>(4)]),
                'f' => batch.fill(y, 1),
                '|' => batch.barrier(),
                _ => {
                    let (mut recorded, executed) = recorded(&gpu, &l, y);
                    let given = batch.execute(&mut recorded, &executed, values.allocation()).map(drop);
                    commands.push(recorded);
                    given
                }
            };
            given.unwrap_or_else(|error| panic!("{program}: {error}"));
        }
        let found = match &batch.encoder {
            Encoder::Compute(compute) => compute.hazards.barriers(),
            _ => [0; 2],
        };
        assert_eq!(found, [barriers; 2], "{program}");
        batch.end_encoder().unwrap_or_else(|(failure, _)| panic!("{program}: {failure:?}"));
        assert_eq!((batch.encoders.len(), batch.order.figures()), (encoders, (events, before)), "{program}");
        batch.submit().and_then(|submission| submission.wait()).unwrap_or_else(|error| panic!("{program}: {error}"));
        for (step, y) in program.chars().zip(&ys) {
            let wanted = if step == '|' { 0 } else { 0x0101_0101 };
            assert_eq!(y.to_vec().expect("it ran"), [wanted], "{program}");
        }
    }
    // One batch after the other: what the first made the others used.
    assert_eq!(gpu.marks().kept(), [4, 1]);
}

/// Launches (`A`, `B`) and executed commands (`a`, `b`) that write one of two buffers, and the barriers between them.
#[test]
fn executed_commands_wait_as_launches_do() {
    let gpu = Accelerator::system_default().expect("a Metal device");
    let source = "
        kernel void three(device uint* y [[buffer(0)]]) { y[0] = y[0] * 3u + 1u; }
        kernel void five(device uint* y [[buffer(0)]]) { y[0] = y[0] * 5u + 2u; }";
    let library = gpu.compile_msl(source).unwrap_or_else(|error| panic!("{error}"));
    let kernel = |name| library.kernel(name).unwrap_or_else(|error| panic!("{error}"));
    let (three, five) = (kernel("three"), kernel("five"));
    let values = gpu.buffer_zeroed::<u8>(1).expect("a buffer");
    for (program, barriers) in [
        ("Aa", 1),
        ("aA", 1),
        ("aa", 1),
        ("aB", 0),
        ("Ab", 0),
        ("ab", 0),
        ("ABab", 1),
        ("abAB", 1),
        ("AaBb", 2),
        ("aABabA", 3),
    ] {
        let mut batch = gpu.batch().expect("a batch");
        let mut ys = [(); 2].map(|()| gpu.buffer_zeroed::<u32>(1).expect("a buffer"));
        let (mut wanted, mut commands) = ([0u32; 2], Vec::new());
        for step in program.chars() {
            let at = usize::from(step.eq_ignore_ascii_case(&'b'));
            let given = if step.is_ascii_uppercase() {
                wanted[at] = wanted[at] * 3 + 1;
                batch.launch(&three, Grid::linear(1), args![&mut ys[at]])
            } else {
                wanted[at] = wanted[at] * 5 + 2;
                let (mut recorded, executed) = recorded(&gpu, &five, &mut ys[at]);
                let given = batch.execute(&mut recorded, &executed, values.allocation()).map(drop);
                commands.push(recorded);
                given
            };
            given.unwrap_or_else(|error| panic!("{program}: {error}"));
        }
        let Encoder::Compute(compute) = &batch.encoder else { panic!("launches leave their encoder open") };
        assert_eq!(compute.hazards.barriers(), [barriers, 0], "{program}");
        batch.submit().and_then(|submission| submission.wait()).unwrap_or_else(|error| panic!("{program}: {error}"));
        assert_eq!(ys.map(|y| y.to_vec().expect("it ran")[0]), wanted, "{program}");
    }
}
