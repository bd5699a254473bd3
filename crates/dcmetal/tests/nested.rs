//! Nested launches: by a number of threadgroups that a kernel wrote, and by commands that kernels write; on the device and by rounds of the host, which
//! must give the same.

mod common;
#[path = "nested/cooperative.rs"]
mod cooperative;

use bytemuck::Zeroable;
use common::{Random, gpu};
use dcmetal::nested::{COMMAND_RECORD, CommandRecord, CommandTable, Nested, Nesting};
use dcmetal::{
    Accelerator, Buffer, Error, Grid, IndirectGrid, Kernel, Library, Result, StorageMode, StreamLimits, args,
};

const BOTH: [Nesting; 2] = [Nesting::Device, Nesting::Host];

/// How the device can have commands of kernels. Launches over as many threadgroups as a buffer says it has both ways, whatever it is.
fn ways(gpu: &Accelerator) -> &'static [Nesting] {
    if gpu.nesting() == Nesting::Device { &BOTH } else { &[Nesting::Host] }
}

/// In a process whose device has no indirect commands.
const WITHOUT: &str = "DCMETAL_TEST_NESTED_WITHOUT";

/// The tests of this file there: of families below Apple 4 grids are whole threadgroups as well.
#[cfg(target_os = "linux")]
#[test]
fn a_device_without_indirect_commands_takes_rounds_of_the_host() {
    if std::env::var_os(WITHOUT).is_some() {
        return;
    }
    for family in ["apple3", "apple6"] {
        let mut child = std::process::Command::new(std::env::current_exe().expect("a path"));
        child.args(["--skip", "do_what_they_say", "--skip", "in_msl"]);
        child.env(WITHOUT, "1").env("HOSTMETAL_DEVICE_0", format!("family={family}"));
        let output = child.output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout);
        let ran = text.contains("what_commands_name_lives_until_they_have_run ... ok");
        assert!(output.status.success() && ran, "{family}: {text}");
    }
}

const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
kernel void plan(device uint *count [[buffer(0)]], constant uint3 &n [[buffer(1)]]) {
    for (uint axis = 0; axis < 3; axis++) count[axis] = n[axis];
}
// Which grid it was.
kernel void mark(device uint *y [[buffer(0)]], uint3 at [[thread_position_in_grid]], uint3 size [[threads_per_grid]],
                 uint3 groups [[threadgroups_per_grid]]) {
    uint i = (at.z * size.y + at.y) * size.x + at.x;
    y[i] = 1000000 + groups.x * 10000 + groups.y * 100 + groups.z;
}
// As many more threadgroups next time, until there are 6.
kernel void grow(device uint *count [[buffer(0)]]) { count[0] = count[0] < 6 ? count[0] + 1 : 6; }
kernel void append(device uint *y [[buffer(0)]], constant uint &digit [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = y[i] * 10 + digit;
}
kernel void add(device uint *y [[buffer(0)]], device const uint *x [[buffer(1)]], uint i [[thread_position_in_grid]]) { y[i] += x[i]; }
kernel void square(device uint *y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] *= y[i]; }
kernel void turn(device uint *y [[buffer(2)]], uint i [[thread_position_in_grid]], uint lane [[thread_index_in_threadgroup]],
                 uint n [[threads_per_threadgroup]]) {
    threadgroup uint all[64];
    all[lane] = y[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = all[n - 1 - lane];
}
kernel void copy_records(device const dcmetal_command *from [[buffer(0)]], device dcmetal_command *to [[buffer(1)]],
                         device uint *count [[buffer(2)]], constant uint &n [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    if (i < n) to[i] = from[i];
    if (i == 0) count[0] = n;
}
";

fn library(gpu: &Accelerator) -> Library {
    gpu.compile_msl(&format!("{COMMAND_RECORD}{SOURCE}")).unwrap_or_else(|error| panic!("{error}"))
}

fn kernel(library: &Library, name: &str) -> Kernel {
    library.kernel(name).unwrap_or_else(|error| panic!("{error}"))
}

/// The text of a submission's own failure.
fn text_of(result: Result<()>) -> String {
    match result {
        Err(Error::Submission(error)) => {
            assert_eq!(error.domain, "dcmetal", "{error}");
            error.text.clone()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_number_of_threadgroups_is_what_an_earlier_kernel_wrote() {
    let gpu = gpu();
    let library = library(&gpu);
    let (plan, mark) = (kernel(&library, "plan"), kernel(&library, "mark"));
    let cases: [([u32; 3], [u32; 3]); 6] = [
        ([1, 1, 1], [1, 1, 1]),
        ([7, 1, 1], [5, 1, 1]),
        ([3, 2, 4], [2, 3, 1]),
        ([0, 1, 1], [4, 1, 1]),
        ([5, 0, 3], [1, 1, 1]),
        ([1, 1, 9], [1, 2, 3]),
    ];
    for nesting in BOTH {
        for storage in [StorageMode::Shared, StorageMode::Private] {
            for (groups, threads) in cases {
                for most in [None, Some([9u32, 9, 9])] {
                    let mut count = gpu.buffer_with::<u32>(7, storage).expect("a buffer");
                    let mut y = gpu.buffer_from(&[5u32; 200]).expect("a buffer");
                    let mut work = gpu.nested(nesting).expect("work");
                    let place = |count: &Buffer<u32>| {
                        count.view(2..5).and_then(|view| view.reinterpret::<[u32; 3]>()).map(|v| v.len())
                    };
                    assert_eq!(place(&count).expect("a view"), 1);
                    work.launch(&plan, Grid::linear(1), args![count.view_mut(2..5).expect("a view"), groups])
                        .expect("recorded");
                    let view = count.view(2..5).and_then(|view| view.reinterpret()).expect("a view");
                    let mut grid = IndirectGrid::new(view, threads);
                    if let Some(most) = most {
                        grid = grid.at_most(most);
                    }
                    work.launch_indirect(&mark, grid, args![&mut y]).expect("recorded");
                    work.finish().unwrap_or_else(|error| panic!("{error}"));
                    let all: u32 = groups.iter().product::<u32>() * threads.iter().product::<u32>();
                    let value = 1_000_000 + groups[0] * 10_000 + groups[1] * 100 + groups[2];
                    let wanted: Vec<u32> = (0..200).map(|i| if i < all { value } else { 5 }).collect();
                    assert_eq!(
                        y.to_vec().expect("values"),
                        wanted,
                        "{nesting:?} {storage:?} {groups:?} {threads:?} {most:?}"
                    );
                }
            }
        }
    }
}

/// Every launch reads the count that the one before it wrote, which the next must not overwrite before.
#[test]
fn a_count_is_read_behind_those_who_write_it_and_before_the_next() {
    let gpu = gpu();
    let library = library(&gpu);
    let (grow, append) = (kernel(&library, "grow"), kernel(&library, "append"));
    let wanted: Vec<u32> = (0..12u32)
        .map(|i| (1..=8u32).filter(|&round| i < 2 * round.min(6)).fold(0, |all, round| all * 10 + round))
        .collect();
    let fresh =
        || (gpu.buffer_zeroed::<[u32; 3]>(1).expect("a buffer"), gpu.buffer_zeroed::<u32>(12).expect("a buffer"));
    for nesting in BOTH {
        let (mut count, mut y) = fresh();
        count.write_from(&[[0, 1, 1]]).expect("written");
        let mut work = gpu.nested(nesting).expect("work");
        for round in 1..=8u32 {
            work.launch(&grow, Grid::linear(1), args![&mut count]).expect("recorded");
            work.launch_indirect(&append, IndirectGrid::new(&count, 2u32), args![&mut y, round]).expect("recorded");
        }
        assert_eq!(work.rounds(), if nesting == Nesting::Host { 8 } else { 0 });
        work.finish().expect("done");
        assert_eq!(y.to_vec().expect("values"), wanted, "{nesting:?}");
    }
    let (mut count, mut y) = fresh();
    count.write_from(&[[0, 1, 1]]).expect("written");
    let stream = gpu.stream(StreamLimits::default());
    for round in 1..=8u32 {
        stream.launch(&grow, Grid::linear(1), args![&mut count]).expect("recorded");
        let grid = IndirectGrid::new(&count, 2u32).at_most((6u32, 1u32));
        stream.launch_indirect(&append, grid, args![&mut y, round]).expect("recorded");
    }
    stream.wait().expect("done");
    assert_eq!(y.to_vec().expect("values"), wanted);
    drop(append.launch_indirect(IndirectGrid::new(&count, 1u32), args![&mut y, 0u32]).expect("submitted"));
    assert_eq!(y.to_vec().expect("values")[0], wanted[0] * 10);
}

#[test]
fn opencl_work_items_see_the_grid_that_was_read() {
    let gpu = gpu();
    let source = "kernel void sizes(global uint *y) {
        y[get_group_id(0) * get_local_size(0) + get_local_id(0)] =
            get_global_size(0) * 1000 + get_num_groups(0) * 100 + get_work_dim() * 10 + get_local_size(0); }";
    let sizes =
        gpu.compile_opencl(source).and_then(|library| library.kernel("sizes")).unwrap_or_else(|e| panic!("{e}"));
    let count = gpu.buffer_from(&[[3u32, 1, 1]]).expect("a buffer");
    for nesting in BOTH {
        for (most, dimensions) in [(None, 1), (Some((3u32, 2u32)), 2)] {
            let mut y = gpu.buffer_zeroed::<u32>(7).expect("a buffer");
            let grid = IndirectGrid::new(&count, 2u32);
            let grid = most.map_or(grid, |most| grid.at_most(most));
            let mut work = gpu.nested(nesting).expect("work");
            work.launch_indirect(&sizes, grid, args![&mut y]).expect("recorded");
            work.finish().expect("done");
            let value = 6000 + 300 + dimensions * 10 + 2;
            assert_eq!(y.to_vec().expect("values"), [value, value, value, value, value, value, 0], "{nesting:?}");
        }
    }
}

#[test]
fn more_threadgroups_than_were_declared_do_not_run() {
    let gpu = gpu();
    let library = library(&gpu);
    let (plan, append) = (kernel(&library, "plan"), kernel(&library, "append"));
    for (groups, runs) in [([4u32, 1, 1], true), ([5, 1, 1], false), ([1, 2, 1], false), ([u32::MAX, 1, 1], false)] {
        for nesting in BOTH {
            let (mut count, mut y) =
                (gpu.buffer_zeroed::<[u32; 3]>(1).expect("a buffer"), gpu.buffer_zeroed::<u32>(64).expect("a buffer"));
            let mut work = gpu.nested(nesting).expect("work");
            work.launch(&plan, Grid::linear(1), args![&mut count, groups]).expect("recorded");
            let grid = IndirectGrid::new(&count, 16u32).at_most(4u32);
            let recorded = work.launch_indirect(&append, grid, args![&mut y, 1u32]);
            let done = recorded.and_then(|()| work.finish());
            if runs {
                done.unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(y.to_vec().expect("values"), [1; 64]);
                continue;
            }
            let [a, b, c] = groups;
            let wanted = format!("kernel `append`: {a}x{b}x{c} threadgroups, where at most 4x1x1 were declared");
            assert_eq!(text_of(done), wanted, "{nesting:?}");
            if nesting == Nesting::Device {
                assert!(matches!(y.to_vec(), Err(Error::Faulted { .. })));
                y.discard_fault();
            }
            assert_eq!(y.to_vec().expect("values"), [0; 64], "nothing ran");
        }
    }
}

/// The device signals behind the launch, and goes on to wait for the host: nobody has been told yet that the submission failed.
#[test]
fn what_was_signaled_behind_too_many_threadgroups_is_never_seen() {
    let gpu = gpu();
    let library = library(&gpu);
    let append = kernel(&library, "append");
    let count = gpu.buffer_from(&[[5u32, 1, 1]]).expect("a buffer");
    let mut y = gpu.buffer_zeroed::<u32>(64).expect("a buffer");
    let (signaled, held) = (gpu.event().expect("an event"), gpu.event().expect("an event"));
    let mut batch = gpu.batch().expect("a batch");
    let grid = IndirectGrid::new(&count, 16u32).at_most(4u32);
    batch.launch_indirect(&append, grid, args![&mut y, 1u32]).expect("recorded");
    batch.signal(&signaled, 1).expect("recorded");
    batch.wait_for(&held, 1).expect("recorded");
    let submission = batch.submit().expect("submitted");
    match signaled.wait(1) {
        Err(Error::EventFaulted { cause }) => assert!(cause.text.contains("5x1x1 threadgroups"), "{cause}"),
        other => panic!("{other:?}"),
    }
    held.signal(1).expect("signaled");
    assert_eq!(text_of(submission.wait()), "kernel `append`: 5x1x1 threadgroups, where at most 4x1x1 were declared");
}

/// A view may begin where a kernel's vectors may not.
#[test]
fn what_a_command_is_passed_begins_where_its_type_may() {
    let gpu = gpu();
    let source = "kernel void twice(device uint4 *y [[buffer(0)]]) { y[0] *= 2; }";
    let twice = gpu.compile_msl(source).expect("compiled").kernel("twice").expect("a kernel");
    let table = CommandTable::new(&gpu, &[&twice], 1).expect("a table");
    let record = record(0, (1, 1), (0, 0), false);
    let (records, count) = (gpu.buffer_from(&[record]).expect("a buffer"), gpu.buffer_from(&[1u32]).expect("a buffer"));
    for &nesting in ways(&gpu) {
        for (from, wrong) in [(1, true), (4, false)] {
            let mut y = gpu.buffer_from(&[3u32; 8]).expect("a buffer");
            let mut work = gpu.nested(nesting).expect("work");
            let done = work
                .run_commands(&table, (&records).into(), (&count).into(), args![y.view_mut(from..).expect("a view")])
                .and_then(|()| work.finish());
            if wrong {
                assert_eq!(text_of(done), "command 0: argument 0: it does not begin where the kernel's type may");
            } else {
                done.unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(y.to_vec().expect("values"), [3, 3, 3, 3, 6, 6, 6, 6]);
            }
        }
    }
}

/// What nobody declared a maximum of, hostmetal refuses where Apple's Metal does not say what happens.
#[cfg(target_os = "linux")]
#[test]
fn a_grid_that_metal_does_not_have_is_an_error() {
    let gpu = gpu();
    let append = kernel(&library(&gpu), "append");
    let count = gpu.buffer_from(&[[1u32 << 31, 1, 1]]).expect("a buffer");
    for nesting in BOTH {
        let mut y = gpu.buffer_zeroed::<u32>(2).expect("a buffer");
        let mut work = gpu.nested(nesting).expect("work");
        let recorded = work.launch_indirect(&append, IndirectGrid::new(&count, 2u32), args![&mut y, 1u32]);
        let done = recorded.and_then(|()| work.finish());
        match (nesting, &done) {
            (Nesting::Device, Err(Error::Submission(error))) => {
                assert!(error.text.contains("2^32 threads or more"), "{error}")
            }
            (Nesting::Host, Err(Error::GridTooLarge { .. })) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn indirect_launches_are_checked_when_they_are_recorded() {
    let gpu = gpu();
    let (library, other) = (library(&gpu), common::gpu());
    let append = kernel(&library, "append");
    let (count, foreign) =
        (gpu.buffer_zeroed::<[u32; 3]>(1).expect("a buffer"), other.buffer_zeroed::<[u32; 3]>(1).expect("a buffer"));
    for nesting in BOTH {
        let mut y = gpu.buffer_zeroed::<u32>(2).expect("a buffer");
        let mut refused = |grid: IndirectGrid<'_>| {
            let mut work = gpu.nested(nesting).expect("work");
            work.launch_indirect(&append, grid, args![&mut y, 1u32]).expect_err("refused")
        };
        let none = IndirectGrid::new(count.view(0..0).expect("a view"), 1u32);
        assert!(matches!(refused(none), Error::LengthMismatch { wanted: 1, got: 0, .. }));
        assert!(matches!(refused(IndirectGrid::new(&count, 1u32 << 20)), Error::ThreadgroupTooLarge { .. }));
        assert!(matches!(refused(IndirectGrid::new(&count, 0u32)), Error::GridZero { .. }));
        assert!(matches!(refused(IndirectGrid::new(&count, 2u32).at_most(1u32 << 31)), Error::GridTooLarge { .. }));
        assert!(matches!(refused(IndirectGrid::new(&count, 2u32).at_most(0u32)), Error::GridZero { .. }));
        if nesting == Nesting::Device {
            assert!(matches!(refused(IndirectGrid::new(&foreign, 1u32)), Error::Foreign { .. }));
        }
        let mut work = gpu.nested(nesting).expect("work");
        let short = work.launch_indirect(&append, IndirectGrid::new(&count, 1u32), args![&y, 1u32]);
        assert!(matches!(short, Err(Error::ArgumentReadOnly { .. })));
    }
}

/// What the commands' kernels are, and the memory they have.
struct Setup {
    gpu: Accelerator,
    table: CommandTable,
    copy_records: Kernel,
}

const CAPACITY: usize = 40;

/// A kernel that threadgroups of one size can run alone.
const REQUIRES: &str = "
kernel __attribute__((reqd_work_group_size(4, 2, 1))) void eights(global uint *y, global const uint *x) {
    y[get_group_id(0) * 8 + get_local_id(1) * 4 + get_local_id(0)] += 8;
}";

fn setup() -> Setup {
    let gpu = gpu();
    let library = library(&gpu);
    let [add, square, turn] = ["add", "square", "turn"].map(|name| kernel(&library, name));
    let eights = kernel(&gpu.compile_opencl(REQUIRES).unwrap_or_else(|error| panic!("{error}")), "eights");
    let table = CommandTable::new(&gpu, &[&add, &square, &turn, &eights], CAPACITY);
    let table = table.unwrap_or_else(|error| panic!("{error}"));
    Setup { copy_records: kernel(&library, "copy_records"), table, gpu }
}

impl Setup {
    /// Has a kernel write the records, `count` of them as it says, and runs them.
    fn run(
        &self,
        nesting: Nesting,
        records: &[CommandRecord],
        count: u32,
        y: &mut Buffer<u32>,
        x: &Buffer<u32>,
    ) -> Result<()> {
        let gpu = &self.gpu;
        let given = gpu.buffer_from(records)?;
        let (mut written, mut number) =
            (gpu.buffer_zeroed::<CommandRecord>(records.len())?, gpu.buffer_zeroed::<u32>(1)?);
        let mut work: Nested = gpu.nested(nesting)?;
        let n = records.len() as u32;
        work.launch(&self.copy_records, Grid::linear(records.len()), args![&given, &mut written, &mut number, n])?;
        if count != n {
            work.finish()?;
            number.write_from(&[count])?;
            work = gpu.nested(nesting)?;
        }
        work.run_commands(&self.table, (&written).into(), (&number).into(), args![y, x])?;
        work.finish()
    }
}

const PLACES: usize = 512;

/// `threads` of each of so many threadgroups, over `y` from element `at` on and `x` from element `from` on.
fn record(function: u32, (groups, threads): (u32, u32), (at, from): (u32, u32), barrier: bool) -> CommandRecord {
    let mut arguments = [[0; 2]; 8];
    arguments[0] = [0, 4 * at];
    arguments[1] = [1, 4 * from];
    CommandRecord {
        function,
        threadgroups: [groups, 1, 1],
        threads: [threads, 1, 1],
        barrier: barrier.into(),
        arguments,
    }
}

/// What a command does, in Rust.
fn reference(record: &CommandRecord, y: &mut [u32], x: &[u32]) {
    let (groups, threads) = (record.threadgroups[0] as usize, record.threads[0] as usize);
    let (at, from) = (record.arguments[0][1] as usize / 4, record.arguments[1][1] as usize / 4);
    let part = &mut y[at..at + groups * threads];
    match record.function {
        0 => part.iter_mut().zip(&x[from..]).for_each(|(y, x)| *y = y.wrapping_add(*x)),
        1 => part.iter_mut().for_each(|y| *y = y.wrapping_mul(*y)),
        _ => part.chunks_mut(threads).for_each(<[u32]>::reverse),
    }
}

#[test]
fn commands_run_as_kernels_wrote_them() {
    let setup = setup();
    let mut random = Random(11);
    let mut between = |low: u32, high: u32| random.range(low.into(), high.into()) as u32;
    for round in 0..30 {
        // Pieces of y that nothing else touches, then some that wait for all of those.
        let (mut records, mut at) = (Vec::new(), 0);
        let pieces = between(1, CAPACITY as u32 + 1);
        for _ in 0..pieces {
            let (groups, threads) = (between(0, 4), between(1, 65));
            let behind = at + groups * threads > PLACES as u32 || at == PLACES as u32;
            let at_now = if behind { 0 } else { at };
            let groups = if behind { 0 } else { groups };
            records.push(record(between(0, 3), (groups, threads), (at_now, between(0, 300)), false));
            at += groups * threads;
        }
        if records.len() < CAPACITY {
            records.push(record(2, (4, 64), (100, 0), true));
        }
        let start: Vec<u32> = (0..PLACES).map(|_| between(0, u32::MAX)).collect();
        let others: Vec<u32> = (0..PLACES).map(|_| between(0, u32::MAX)).collect();
        let mut wanted = start.clone();
        records.iter().for_each(|record| reference(record, &mut wanted, &others));
        for &nesting in ways(&setup.gpu) {
            let mut y = setup.gpu.buffer_from(&start).expect("a buffer");
            let x = setup.gpu.buffer_from(&others).expect("a buffer");
            let ran = setup.run(nesting, &records, records.len() as u32, &mut y, &x);
            ran.unwrap_or_else(|error| panic!("round {round}, {nesting:?}: {error}"));
            assert_eq!(y.to_vec().expect("values"), wanted, "round {round}, {nesting:?}");
        }
    }
}

#[test]
fn wrong_commands_are_named_and_nothing_of_them_runs() {
    let setup = setup();
    let good = record(0, (2, 8), (0, 0), false);
    let threads = |threads| CommandRecord { threads, ..good };
    let required = |threads| CommandRecord { function: 3, threads, ..good };
    let argument = |at: usize, number, offset| {
        let mut arguments = good.arguments;
        arguments[at] = [number, offset];
        CommandRecord { arguments, ..good }
    };
    let many = setup.table.kernel(0).expect("a kernel").max_threads_per_threadgroup() as u32;
    let far = 4 * PLACES as u32;
    let cases = [
        (CommandRecord { function: 4, ..good }, "the table has no kernel of its number"),
        (CommandRecord { function: u32::MAX, ..good }, "the table has no kernel of its number"),
        (threads([0, 1, 1]), "the threads of its threadgroup are 0, or above the device's limit, along an axis"),
        (threads([1, 1, 1 << 20]), "the threads of its threadgroup are 0, or above the device's limit, along an axis"),
        (threads([many, 2, 1]), "its threadgroup has more threads than its kernel can have"),
        (required([8, 1, 1]), "its threadgroup is not of the size that its kernel requires"),
        (required([4, 2, 2]), "its threadgroup is not of the size that its kernel requires"),
        (required([4, 1, 1]), "its threadgroup is not of the size that its kernel requires"),
        (CommandRecord { threadgroups: [1 << 31, 1, 1], ..good }, "its grid has 2^32 threads or more along an axis"),
        (argument(1, 2, 0), "argument 1: there is no memory of its number"),
        (argument(0, 0, 2), "argument 0: it does not begin where the kernel's type may"),
        (argument(1, 1, far), "argument 1: no element is left behind its offset"),
        (argument(0, 0, u32::MAX - 3), "argument 0: no element is left behind its offset"),
        (argument(0, 1, 0), "argument 0: the kernel may write it, and the memory was passed for reading"),
    ];
    let x = setup.gpu.buffer_from(&[1u32; PLACES]).expect("a buffer");
    for &nesting in ways(&setup.gpu) {
        let check = |records: &[CommandRecord], count: u32, wanted: &str| {
            let mut y = setup.gpu.buffer_zeroed::<u32>(PLACES).expect("a buffer");
            let told = text_of(setup.run(nesting, records, count, &mut y, &x));
            assert_eq!(told, wanted, "{nesting:?}");
            assert_eq!(matches!(y.to_vec(), Err(Error::Faulted { .. })), nesting == Nesting::Device);
        };
        for (wrong, text) in &cases {
            let empty = CommandRecord { threadgroups: [0; 3], ..good };
            check(&[empty, *wrong, good, *wrong], 4, &format!("command 1: {text}"));
        }
        check(&[good; 4], 5, "5 commands, where 4 are possible");
        check(&[good; CAPACITY + 2], CAPACITY as u32 + 1, "41 commands, where 40 are possible");
    }
    // What was refused leaves nothing behind.
    for &nesting in ways(&setup.gpu) {
        let mut y = setup.gpu.buffer_zeroed::<u32>(PLACES).expect("a buffer");
        let records = [good, CommandRecord { barrier: 1, ..required([4, 2, 1]) }];
        setup.run(nesting, &records, 2, &mut y, &x).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(y.to_vec().expect("values")[..17], [[9; 16].as_slice(), &[0]].concat()[..]);
    }
}

#[test]
fn what_commands_cannot_launch_is_no_part_of_a_table() {
    let gpu = gpu();
    let source = "
        kernel void value(global int *y, int a) { y[0] = a; }
        kernel void local_memory(global int *y, local int *t) { t[0] = 1; y[0] = t[0]; }
        kernel void image(global int *y, read_only image2d_t t) { y[0] = get_image_width(t); }
        kernel void prints(global int *y) { printf(\"%d\", y[0]); }
        kernel void dimensions(global int *y) { y[0] = get_work_dim(); }
        kernel void many(global int *a, global int *b, global int *c, global int *d, global int *e, global int *f, global int *g, global int *h,
                         global int *i) { a[0] = i[0]; }
        kernel void fits(global int *y, global const int *x) { y[0] = x[0]; }";
    let library = gpu.compile_opencl(source).unwrap_or_else(|error| panic!("{error}"));
    for (name, why) in [
        ("value", "`a` is"),
        ("local_memory", "`t` is"),
        ("image", "`t` is"),
        ("prints", "prints"),
        ("dimensions", "number of dimensions"),
        ("many", "9 arguments"),
    ] {
        let refused = CommandTable::new(&gpu, &[&kernel(&library, name)], 1).expect_err("refused");
        assert!(
            matches!(&refused, Error::Unsupported { what, text } if what.contains(name) && text.contains(why)),
            "{refused}"
        );
    }
    let fits = kernel(&library, "fits");
    for capacity in [0, 16385] {
        assert!(matches!(CommandTable::new(&gpu, &[&fits], capacity), Err(Error::Unsupported { .. })));
    }
    assert!(matches!(CommandTable::new(&gpu, &[], 1), Err(Error::Unsupported { .. })));
    assert!(matches!(CommandTable::new(&common::gpu(), &[&fits], 1), Err(Error::Foreign { .. })));
    let table = CommandTable::new(&gpu, &[&fits], 1).unwrap_or_else(|error| panic!("{error}"));
    let (records, count) =
        (gpu.buffer_zeroed::<CommandRecord>(1).expect("a buffer"), gpu.buffer_zeroed::<u32>(1).expect("a buffer"));
    for &nesting in ways(&gpu) {
        let mut work = gpu.nested(nesting).expect("work");
        let number = work.run_commands(&table, (&records).into(), (&count).into(), args![7u32]);
        assert!(matches!(number, Err(Error::Unsupported { .. })), "{number:?}");
        let none = count.view(1..1).expect("a view");
        let none = work.run_commands(&table, (&records).into(), none, args![]);
        assert!(matches!(none, Err(Error::LengthMismatch { .. })), "{none:?}");
        // No commands, and no memories.
        work.run_commands(&table, (&records).into(), (&count).into(), args![]).expect("recorded");
        work.finish().expect("done");
    }
}

/// The table, its kernels and all memory may go when the work was handed over.
#[test]
fn what_commands_name_lives_until_they_have_run() {
    let gpu = gpu();
    let mut y = gpu.buffer_zeroed::<u32>(64).expect("a buffer");
    let batch = {
        let library = library(&gpu);
        let add = kernel(&library, "add");
        let table = CommandTable::new(&gpu, &[&add], 8).unwrap_or_else(|error| panic!("{error}"));
        let records = gpu.buffer_from(&[record(0, (8, 8), (0, 0), false)]).expect("a buffer");
        let (count, x) = (gpu.buffer_from(&[1u32]).expect("a buffer"), gpu.buffer_from(&[3u32; 64]).expect("a buffer"));
        let mut batch = gpu.batch().expect("a batch");
        if std::env::var_os(WITHOUT).is_some() {
            assert_eq!(gpu.nesting(), Nesting::Host);
            let refused = batch.run_commands(&table, (&records).into(), (&count).into(), args![&mut y, &x]);
            assert!(
                matches!(&refused, Err(Error::Unsupported { text, .. }) if text.contains("`Nesting::Host`")),
                "{refused:?}"
            );
            return;
        }
        for _ in 0..5 {
            batch.run_commands(&table, (&records).into(), (&count).into(), args![&mut y, &x]).expect("recorded");
        }
        batch
    };
    let submission = batch.submit().expect("submitted");
    submission.wait().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(y.to_vec().expect("values"), [15; 64]);
    assert_eq!(size_of::<CommandRecord>(), 96);
    assert_eq!(CommandRecord::zeroed(), CommandRecord::default());
    assert_eq!(gpu.nesting(), Nesting::Device);
}

// ------------------------------------------------------------------ barriers of the grid

const GRID: &str = "
// The sum of all numbers up to each, by doubling distances.
kernel void scan(global uint *y, global uint *other) {
    int i = get_global_id(0), n = get_global_size(0), odd = 0;
    for (int by = 1; by < n; by *= 2) {
        global uint *from = odd ? other : y;
        global uint *to = odd ? y : other;
        to[i] = from[i] + (i >= by ? from[i - by] : 0);
        odd = !odd;
        dc_grid_barrier();
    }
    if (odd) {
        uint all = other[i];
        dc_grid_barrier();
        y[i] = all;
    }
}
kernel void turn(global uint *y, int n) {
    int i = get_global_id(0);
    if (i >= n)
        return;
    uint own = y[n - 1 - i];
    dc_grid_barrier();
    y[i] = own;
    dc_grid_barrier();
    uint across = y[n - 1 - i];
    dc_grid_barrier();
    y[i] += across * 1000;
}
kernel void print_rounds(int n) {
    for (int k = 0; k < n; k++) {
        printf(\"%d\", k);
        dc_grid_barrier();
    }
}";

#[test]
fn barriers_of_the_grid_in_loops_take_rounds() {
    let gpu = gpu();
    let library = gpu.compile_opencl(GRID).unwrap_or_else(|error| panic!("{error}"));
    let scan = kernel(&library, "scan");
    assert_eq!(library.kernel_names(), ["scan", "turn", "print_rounds"]);
    for (n, group) in [(1u32, 1u32), (2, 1), (6, 3), (64, 16), (1000, 50), (4096, 64)] {
        let values: Vec<u32> = (0..n).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let mut sum = 0u32;
        let wanted: Vec<u32> = values
            .iter()
            .map(|value| {
                sum = sum.wrapping_add(*value);
                sum
            })
            .collect();
        for nesting in BOTH {
            let mut y = gpu.buffer_from(&values).expect("a buffer");
            let mut other = common::poisoned::<u32>(&gpu, n as usize);
            let mut work = gpu.nested(nesting).expect("work");
            let grid = Grid::linear(n as usize).threadgroup(group);
            work.launch(&scan, grid, args![&mut y, &mut other]).unwrap_or_else(|error| panic!("{error}"));
            let rounds = work.rounds();
            work.finish().expect("done");
            assert_eq!(y.to_vec().expect("values"), wanted, "{n} {nesting:?}");
            if n > 64 {
                assert!(
                    if nesting == Nesting::Host { rounds > 10 } else { rounds < 4 },
                    "{rounds} rounds, {nesting:?}"
                );
            }
        }
    }
    let (mut y, mut other) =
        (gpu.buffer_zeroed::<u32>(7).expect("a buffer"), gpu.buffer_zeroed::<u32>(7).expect("a buffer"));
    let whole = Grid::linear(7).threadgroup(2u32);
    let mut work = gpu.nested(Nesting::Device).expect("work");
    let uneven = work.launch(&scan, whole, args![&mut y, &mut other]);
    assert!(matches!(uneven, Err(Error::ThreadgroupUneven { .. })), "{uneven:?}");
    let alone = scan.launch(Grid::linear(7), args![&mut y, &mut other]);
    assert!(matches!(&alone, Err(Error::Unsupported { what, .. }) if what.contains("`scan`")), "{alone:?}");
    let prints = work.launch(&kernel(&library, "print_rounds"), Grid::linear(1), args![2]);
    assert!(matches!(&prints, Err(Error::Unsupported { what, .. }) if what.contains("prints")), "{prints:?}");
}

/// Without loops they are parts of one launch, wherever that is recorded.
#[test]
fn barriers_of_the_grid_one_behind_the_other_are_one_launch() {
    let gpu = gpu();
    let library = gpu.compile_opencl(GRID).unwrap_or_else(|error| panic!("{error}"));
    let turn = kernel(&library, "turn");
    let start: Vec<u32> = (0..100).collect();
    let turned = |y: &[u32], n: usize| -> Vec<u32> {
        (0..100).map(|i| if i < n { y[n - 1 - i].wrapping_add(y[i].wrapping_mul(1000)) } else { y[i] }).collect()
    };
    let grid = Grid::linear(100).threadgroup(10u32);
    let check = |what: &str, y: &Buffer<u32>, times: usize| {
        let mut wanted = start.clone();
        for _ in 0..times {
            wanted = turned(&wanted, 70);
        }
        assert_eq!(y.to_vec().expect("values"), wanted, "{what}");
    };
    let fresh = || gpu.buffer_from(&start).expect("a buffer");
    let mut y = fresh();
    turn.launch(grid, args![&mut y, 70])
        .and_then(|submission| submission.wait())
        .unwrap_or_else(|error| panic!("{error}"));
    check("alone", &y, 1);
    let mut y = fresh();
    let stream = gpu.stream(StreamLimits::default());
    for _ in 0..3 {
        stream.launch(&turn, grid, args![&mut y, 70]).expect("recorded");
    }
    stream.wait().expect("done");
    check("a stream", &y, 3);
    let table = CommandTable::new(&gpu, &[&turn], 1);
    assert!(matches!(&table, Err(Error::Unsupported { .. })));
    let count = gpu.buffer_from(&[[1u32, 1, 1]]).expect("a buffer");
    let indirect = turn.launch_indirect(IndirectGrid::new(&count, 10u32), args![&mut y, 70]);
    assert!(matches!(&indirect, Err(Error::Unsupported { what, .. }) if what.contains("`turn`")), "{indirect:?}");
}
