//! Indirect commands: what they do, when they may change, what they keep, and what is refused.

use std::ptr;

use dcmetal_sys::*;

use crate::support::*;

const INVALID: DCMetalStatus = DC_METAL_INVALID_ARGUMENT;
const STATE: DCMetalStatus = DC_METAL_INVALID_STATE;

/// `add` adds what it is told to each element, `twice` doubles, `sum` adds up by threadgroup memory.
const KERNELS: &str = "
    #include <metal_stdlib>
    using namespace metal;
    kernel void add(device uint *x [[buffer(0)]], constant uint &by [[buffer(1)]], uint i [[thread_position_in_grid]]) { x[i] += by; }
    kernel void twice(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 2; }
    kernel void sum(device uint *x [[buffer(0)]], threadgroup uint *t [[threadgroup(1)]], uint i [[thread_position_in_threadgroup]],
                    uint n [[threads_per_threadgroup]]) {
        t[i] = x[i];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint all = 0;
        for (uint k = 0; k < n; k++) all += t[k];
        x[i] = all;
    }
    kernel void large(device uint4 *x [[buffer(0)]]) { x[0] = 1; }
    kernel void draw(texture2d<float, access::write> a [[texture(0)]]) { a.write(float4(0), uint2(0)); }";

const PLAIN: DCMetalIndirectDescriptor = DCMetalIndirectDescriptor {
    count: 4,
    types: DC_METAL_INDIRECT_THREADS.0 | DC_METAL_INDIRECT_THREADGROUPS.0,
    buffers: 2,
    memories: 2,
    inherit_pipeline: false,
    inherit_buffers: false,
};

type Commands = Owned<DCMetalIndirectCommands>;

fn made(gpu: &Gpu, descriptor: &DCMetalIndirectDescriptor) -> Result<Commands, Failure> {
    create(|out, error| dc!(DCMetalIndirectCommands_Create(gpu.device.0, descriptor, out, error)))
}

fn commands(gpu: &Gpu) -> Commands {
    made(gpu, &PLAIN).expect("indirect commands")
}

/// A pipeline for commands.
fn pipeline(gpu: &Gpu, name: &str) -> Owned<DCMetalPipeline> {
    let library = gpu.library(KERNELS).expect("it compiles");
    let options = DCMetalPipelineOptions { indirect_commands: true, ..DCMetalPipelineOptions::default() };
    gpu.pipeline_of(&function(&library, name, ptr::null_mut()).expect("the function"), Some(&options))
        .expect("a pipeline")
}

fn set(commands: &Commands, index: u64, pipeline: &Owned<DCMetalPipeline>) -> Result<(), Failure> {
    attempt(|e| dc!(DCMetalIndirectCommands_SetPipeline(commands.0, index, pipeline.0, e)))
}

fn bind(
    commands: &Commands,
    index: u64,
    buffer: &Owned<DCMetalBuffer>,
    offset: u64,
    slot: usize,
) -> Result<(), Failure> {
    attempt(|e| dc!(DCMetalIndirectCommands_SetBuffer(commands.0, index, buffer.0, offset, slot, e)))
}

fn memory(commands: &Commands, index: u64, length: u64, slot: usize) -> Result<(), Failure> {
    attempt(|e| dc!(DCMetalIndirectCommands_SetThreadgroupMemoryLength(commands.0, index, length, slot, e)))
}

fn barrier(commands: &Commands, index: u64) -> Result<(), Failure> {
    attempt(|e| dc!(DCMetalIndirectCommands_SetBarrier(commands.0, index, e)))
}

fn threads(commands: &Commands, index: u64, grid: u64, group: u64) -> Result<(), Failure> {
    let (grid, group) = (size(grid, 1, 1), size(group, 1, 1));
    attempt(|e| dc!(DCMetalIndirectCommands_DispatchThreads(commands.0, index, grid, group, e)))
}

fn threadgroups(commands: &Commands, index: u64, grid: u64, group: u64) -> Result<(), Failure> {
    let (grid, group) = (size(grid, 1, 1), size(group, 1, 1));
    attempt(|e| dc!(DCMetalIndirectCommands_DispatchThreadgroups(commands.0, index, grid, group, e)))
}

fn reset(commands: &Commands, first: u64, count: u64) -> Result<(), Failure> {
    attempt(|e| dc!(DCMetalIndirectCommands_Reset(commands.0, first, count, e)))
}

fn execute(encoder: &Owned<DCMetalComputeEncoder>, commands: &Commands, first: u64, count: u64) -> Result<(), Failure> {
    attempt(|e| dc!(DCMetalComputeEncoder_ExecuteCommands(encoder.0, commands.0, first, count, e)))
}

/// x[i] += by at this index.
fn add(gpu: &Gpu, commands: &Commands, index: u64, x: &Owned<DCMetalBuffer>, by: u32) {
    set(commands, index, &pipeline(gpu, "add")).expect("a pipeline is set");
    bind(commands, index, x, 0, 0).expect("a buffer is set");
    bind(commands, index, &gpu.buffer_of(&[0, by]), 4, 1).expect("at an offset");
    threads(commands, index, 5, 4).expect("a dispatch");
}

pub(crate) fn commands_run_as_often_as_they_are_executed() {
    let gpu = Gpu::new();
    let (commands, twice) = (commands(&gpu), pipeline(&gpu, "twice"));
    assert_eq!(dc!(DCMetalIndirectCommands_GetCount(commands.0)), 4);
    let x = gpu.buffer_of(&[1u32; 8]);
    add(&gpu, &commands, 0, &x, 10);
    // Behind the first; the rest of it is set, the third is none.
    set(&commands, 1, &twice).expect("a pipeline is set");
    bind(&commands, 1, &x, 0, 0).expect("a buffer is set");
    barrier(&commands, 1).expect("a barrier is set");
    threadgroups(&commands, 1, 2, 3).expect("a dispatch");
    set(&commands, 3, &twice).expect("a pipeline is set");
    bind(&commands, 3, &x, 24, 0).expect("at an offset");
    barrier(&commands, 3).expect("a barrier is set");
    threads(&commands, 3, 2, 32).expect("a dispatch");
    gpu.compute(|encoder| {
        execute(encoder, &commands, 0, 4).expect("all");
        execute(encoder, &commands, 0, 1).expect("the first");
        execute(encoder, &commands, 2, 1).expect("the third, which is none");
    })
    .expect("it completes");
    assert_eq!(contents::<u32>(&x), [32, 32, 32, 32, 32, 2, 2, 2]);
    gpu.compute(|encoder| execute(encoder, &commands, 1, 3).expect("all but the first")).expect("it completes");
    assert_eq!(contents::<u32>(&x), [64, 64, 64, 64, 64, 4, 4, 4]);
}

pub(crate) fn commands_have_threadgroup_memory() {
    let gpu = Gpu::new();
    let commands = commands(&gpu);
    let x = gpu.buffer_of(&[1u32, 2, 3, 4]);
    set(&commands, 0, &pipeline(&gpu, "sum")).expect("a pipeline is set");
    bind(&commands, 0, &x, 0, 0).expect("a buffer is set");
    let message = refused(STATE, threads(&commands, 0, 4, 4));
    assert!(message.contains("\"t\" [[threadgroup(1)]]"), "{message}");
    memory(&commands, 0, 16, 1).expect("threadgroup memory is set");
    threads(&commands, 0, 4, 4).expect("a dispatch");
    gpu.compute(|encoder| execute(encoder, &commands, 0, 4).expect("all")).expect("it completes");
    assert_eq!(contents::<u32>(&x), [10; 4]);
}

pub(crate) fn commands_inherit_from_their_encoder() {
    let gpu = Gpu::new();
    let (twice, large) = (pipeline(&gpu, "twice"), pipeline(&gpu, "large"));
    let both = DCMetalIndirectDescriptor { inherit_pipeline: true, inherit_buffers: true, ..PLAIN };
    let commands = made(&gpu, &both).expect("indirect commands");
    let x = gpu.buffer_of(&[1u32, 2, 3]);
    refused(STATE, set(&commands, 0, &twice));
    refused(STATE, bind(&commands, 0, &x, 0, 0));
    refused(INVALID, threads(&commands, 0, 2, 0));
    threads(&commands, 0, 2, 2).expect("a dispatch");
    threads(&commands, 1, 1, 1 << 20).expect("whether a kernel can have so many threads is known later");
    gpu.compute(|encoder| {
        refused(STATE, execute(encoder, &commands, 0, 1));
        set_pipeline(encoder, &twice);
        let message = refused(STATE, execute(encoder, &commands, 0, 1));
        assert!(message.contains("\"x\" [[buffer(0)]]"), "{message}");
        set_buffer(encoder, &x, 2, 0);
        let message = refused(INVALID, execute(encoder, &commands, 0, 1));
        assert!(message.contains("begins at offset 2, which is no multiple of 4"), "{message}");
        set_buffer(encoder, &x, 4, 0);
        refused(INVALID, execute(encoder, &commands, 0, 2));
        execute(encoder, &commands, 0, 1).expect("the first");
        set_pipeline(encoder, &large);
        let message = refused(INVALID, execute(encoder, &commands, 0, 1));
        assert!(message.contains("needs 16 bytes, 8 are bound"), "{message}");
        set_pipeline(encoder, &gpu.pipeline(KERNELS, "twice"));
        let message = refused(INVALID, execute(encoder, &commands, 0, 1));
        assert!(message.contains("made without indirect_commands"), "{message}");
    })
    .expect("it completes");
    assert_eq!(contents::<u32>(&x), [1, 4, 6]);
    // One of the two.
    let only = DCMetalIndirectDescriptor { inherit_buffers: true, ..PLAIN };
    let commands = made(&gpu, &only).expect("indirect commands");
    set(&commands, 0, &twice).expect("a pipeline is set");
    threads(&commands, 0, 3, 3).expect("a dispatch");
    let only = DCMetalIndirectDescriptor { inherit_pipeline: true, ..PLAIN };
    let others = made(&gpu, &only).expect("indirect commands");
    bind(&others, 0, &x, 0, 0).expect("a buffer is set");
    threads(&others, 0, 1, 1).expect("a dispatch");
    threads(&others, 1, 1, 1).expect("without its buffer");
    gpu.compute(|encoder| {
        refused(STATE, execute(encoder, &commands, 0, 1));
        set_buffer(encoder, &x, 0, 0);
        execute(encoder, &commands, 0, 1).expect("the encoder's buffer");
        set_pipeline(encoder, &twice);
        refused(STATE, execute(encoder, &others, 0, 2));
        execute(encoder, &others, 0, 1).expect("the encoder's pipeline");
    })
    .expect("it completes");
    assert_eq!(contents::<u32>(&x), [4, 8, 12]);
}

pub(crate) fn commands_change_only_while_nobody_uses_them() {
    let gpu = Gpu::new();
    let commands = commands(&gpu);
    let (x, twice) = (gpu.buffer_of(&[1u32; 5]), pipeline(&gpu, "twice"));
    add(&gpu, &commands, 0, &x, 1);
    let whole = |commands: &Commands| {
        refused(STATE, set(commands, 0, &twice));
        refused(STATE, bind(commands, 0, &x, 0, 0));
        refused(STATE, memory(commands, 0, 16, 0));
        refused(STATE, barrier(commands, 0));
        refused(STATE, threads(commands, 0, 1, 1));
        refused(STATE, threadgroups(commands, 0, 1, 1))
    };
    assert!(whole(&commands).contains("reset it first"));
    let used = |commands: &Commands| {
        let message = whole(commands);
        assert!(message.contains("has not completed"), "{message}");
        refused(STATE, barrier(commands, 3));
        refused(STATE, reset(commands, 3, 1));
    };
    // From the execution on, whether it was committed or not.
    let command_buffer = gpu.command_buffer();
    let encoder = compute_encoder(&command_buffer);
    execute(&encoder, &commands, 0, 1).expect("it is recorded");
    execute(&encoder, &commands, 0, 1).expect("and again");
    used(&commands);
    end(&encoder);
    let other = gpu.command_buffer();
    let encoder = compute_encoder(&other);
    execute(&encoder, &commands, 0, 1).expect("by two command buffers");
    end(&encoder);
    used(&commands);
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
    used(&commands);
    drop(encoder);
    // Dropped, not committed.
    drop(other);
    assert_eq!(contents::<u32>(&x), [3; 5]);
    assert!(whole(&commands).contains("reset it first"));
    reset(&commands, 0, 1).expect("nobody uses it");
    set(&commands, 0, &twice).expect("a pipeline is set");
    refused(STATE, threads(&commands, 0, 5, 5));
    bind(&commands, 0, &x, 0, 0).expect("a buffer is set");
    threads(&commands, 0, 5, 5).expect("a dispatch");
    gpu.compute(|encoder| execute(encoder, &commands, 0, 1).expect("it is recorded")).expect("it completes");
    assert_eq!(contents::<u32>(&x), [6; 5]);
    // A refused execution is no use.
    let command_buffer = gpu.command_buffer();
    let encoder = compute_encoder(&command_buffer);
    refused(INVALID, execute(&encoder, &commands, 0, 5));
    reset(&commands, 0, 4).expect("nobody uses it");
    end(&encoder);
    // One that fails is over too.
    let source = "kernel void stray(device uint *x [[buffer(0)]]) { x[0x0fff0000000000ul] = 1; }";
    let library = gpu.library(source).expect("it compiles");
    let options = DCMetalPipelineOptions { indirect_commands: true, ..DCMetalPipelineOptions::default() };
    let stray = function(&library, "stray", ptr::null_mut()).expect("the function");
    let stray = gpu.pipeline_of(&stray, Some(&options)).expect("a pipeline");
    set(&commands, 0, &stray).expect("a pipeline is set");
    bind(&commands, 0, &gpu.buffer_of(&[1u32, 0]), 0, 0).expect("a buffer is set");
    threads(&commands, 0, 1, 1).expect("a dispatch");
    gpu.compute(|encoder| execute(encoder, &commands, 0, 1).expect("it is recorded")).expect_err("it writes outside");
    reset(&commands, 0, 4).expect("nobody uses it");
}

pub(crate) fn commands_keep_what_they_use() {
    let gpu = Gpu::new();
    let allocated = || dc!(DCMetalDevice_GetCurrentAllocatedSize(gpu.device.0));
    let x = gpu.buffer_of(&[1u32; 5]);
    let mut expected = 1;
    for released_after_commit in [false, true] {
        for unretained_references in [false, true] {
            let commands = commands(&gpu);
            add(&gpu, &commands, 0, &x, 2);
            let options = DCMetalCommandBufferOptions { unretained_references, encoder_info: false };
            let command_buffer = gpu.command_buffer_with(Some(&options));
            let encoder = compute_encoder(&command_buffer);
            execute(&encoder, &commands, 0, 4).expect("it is recorded");
            end(&encoder);
            let mut commands = Some(commands);
            if !released_after_commit {
                commands = None;
            }
            commit(&command_buffer);
            drop(commands);
            wait(&command_buffer).expect("it completes");
            expected += 2;
            assert_eq!(contents::<u32>(&x), [expected; 5]);
        }
    }
    let commands = commands(&gpu);
    let before = allocated();
    bind(&commands, 1, &gpu.buffer(1 << 20), 0, 0).expect("a buffer is set");
    assert!(allocated() >= before + (1 << 20), "the command has it");
    bind(&commands, 1, &x, 0, 0).expect("another buffer is set");
    assert!(allocated() < before + (1 << 20), "and not any more");
    bind(&commands, 1, &gpu.buffer(1 << 20), 0, 1).expect("a buffer is set");
    reset(&commands, 1, 1).expect("nobody uses it");
    assert!(allocated() < before + (1 << 20), "a reset lets it go");
    add(&gpu, &commands, 1, &gpu.buffer(1 << 20), 1);
    gpu.compute(|encoder| execute(encoder, &commands, 0, 4).expect("it is recorded")).expect("it completes");
    assert!(allocated() >= before + (1 << 20), "the command has it");
    reset(&commands, 1, 1).expect("nobody uses it");
    assert!(allocated() < before + (1 << 20), "a reset behind an execution lets it go");
    bind(&commands, 1, &gpu.buffer(1 << 20), 0, 1).expect("a buffer is set");
    drop(commands);
    assert!(allocated() <= before, "so does the release");
}

pub(crate) fn commands_are_copied_and_reset_by_the_device() {
    let gpu = Gpu::new();
    let (from, to) = (commands(&gpu), made(&gpu, &DCMetalIndirectDescriptor { count: 7, ..PLAIN }).expect("more"));
    let x = gpu.buffer_of(&[1u32; 5]);
    add(&gpu, &from, 1, &x, 3);
    set(&from, 3, &pipeline(&gpu, "twice")).expect("a pipeline is set");
    let copy = |encoder: DCMetalBlitEncoder, source, first, count, destination, index| {
        attempt(|e| dc!(DCMetalBlitEncoder_CopyCommands(encoder, source, first, count, destination, index, e)))
    };
    let narrow = made(&gpu, &DCMetalIndirectDescriptor { buffers: 1, ..PLAIN }).expect("others");
    gpu.blit(|encoder| {
        refused(STATE, copy(encoder.0, from.0, 2, 2, to.0, 0));
        refused(INVALID, copy(encoder.0, from.0, 1, 1, narrow.0, 0));
        for (first, count, index) in [(0, 5, 0), (0, 0, 0), (u64::MAX, 2, 0), (0, 3, 5), (0, 3, u64::MAX - 1)] {
            refused(INVALID, copy(encoder.0, from.0, first, count, to.0, index));
        }
        refused(INVALID, copy(encoder.0, from.0, 1, 2, from.0, 2));
        refused(INVALID, copy(encoder.0, from.0, 1, 1, from.0, 1));
        copy(encoder.0, from.0, 1, 1, from.0, 0).expect("beside it");
        copy(encoder.0, from.0, 1, 2, to.0, 5).expect("a copy");
        refused(STATE, copy(encoder.0, from.0, 1, 1, to.0, 5));
        attempt(|e| dc!(DCMetalBlitEncoder_OptimizeCommands(encoder.0, to.0, 0, 7, e))).expect("all of them");
    })
    .expect("it completes");
    drop(from);
    gpu.compute(|encoder| execute(encoder, &to, 0, 7).expect("all")).expect("it completes");
    assert_eq!(contents::<u32>(&x), [4; 5]);
    refused(STATE, threads(&to, 5, 1, 1));
    barrier(&to, 4).expect("where no command was");
    gpu.blit(|encoder| {
        attempt(|e| dc!(DCMetalBlitEncoder_ResetCommands(encoder.0, to.0, 5, 2, e))).expect("two of them");
        refused(STATE, reset(&to, 0, 7));
    })
    .expect("it completes");
    gpu.compute(|encoder| execute(encoder, &to, 0, 7).expect("all")).expect("it completes");
    assert_eq!(contents::<u32>(&x), [4; 5], "there is none");
    reset(&to, 0, 7).expect("nobody uses it");
    add(&gpu, &to, 5, &x, 1);
    gpu.compute(|encoder| execute(encoder, &to, 0, 7).expect("all")).expect("it completes");
    assert_eq!(contents::<u32>(&x), [5; 5]);
}

pub(crate) fn commands_are_not_copied_to_what_others_use() {
    let gpu = Gpu::new();
    let end_blit = |encoder: &Owned<DCMetalBlitEncoder>| {
        attempt(|error| dc!(DCMetalBlitEncoder_EndEncoding(encoder.0, error))).expect("it ends");
    };
    let (one, two, three) = (commands(&gpu), commands(&gpu), commands(&gpu));
    let x = gpu.buffer_of(&[1u32; 5]);
    add(&gpu, &one, 0, &x, 1);
    let copy = |encoder: &Owned<DCMetalBlitEncoder>, source: &Commands, destination: &Commands| {
        attempt(|e| dc!(DCMetalBlitEncoder_CopyCommands(encoder.0, source.0, 0, 1, destination.0, 0, e)))
    };
    // What the first copies would be another thing if the second, committed before it, could set it; so would what it executes.
    let first = gpu.command_buffer();
    let encoder = blit_encoder(&first);
    copy(&encoder, &two, &three).expect("of a command that is none");
    end_blit(&encoder);
    let encoder = compute_encoder(&first);
    execute(&encoder, &three, 0, 1).expect("nothing, so far");
    end(&encoder);
    let second = gpu.command_buffer();
    let encoder = blit_encoder(&second);
    for destination in [&two, &three] {
        let message = refused(STATE, copy(&encoder, &one, destination));
        assert!(message.contains("has not completed"), "{message}");
    }
    end_blit(&encoder);
    // The command buffer's own use is before it.
    let encoder = blit_encoder(&first);
    copy(&encoder, &one, &three).expect("behind its execution");
    end_blit(&encoder);
    let encoder = compute_encoder(&first);
    execute(&encoder, &three, 0, 1).expect("the copy");
    end(&encoder);
    commit(&first);
    wait(&first).expect("it completes");
    assert_eq!(contents::<u32>(&x), [2; 5]);
    gpu.blit(|encoder| copy(encoder, &one, &two).expect("nobody uses it any more")).expect("it completes");
}

pub(crate) fn command_wrong_settings_are_refused() {
    let gpu = Gpu::new();
    let (commands, twice, x) = (commands(&gpu), pipeline(&gpu, "twice"), gpu.buffer_of(&[1u32, 1]));
    refused(STATE, threads(&commands, 0, 1, 1));
    for index in [4, u64::MAX] {
        refused(INVALID, set(&commands, index, &twice));
        refused(INVALID, bind(&commands, index, &x, 0, 0));
        refused(INVALID, memory(&commands, index, 16, 0));
        refused(INVALID, barrier(&commands, index));
        refused(INVALID, threads(&commands, index, 1, 1));
        refused(INVALID, threadgroups(&commands, index, 1, 1));
    }
    let message = refused(INVALID, set(&commands, 0, &gpu.pipeline(KERNELS, "twice")));
    assert!(message.contains("kernel \"twice\" was made without indirect_commands"), "{message}");
    let message = refused(DC_METAL_UNSUPPORTED, set(&commands, 0, &pipeline(&gpu, "draw")));
    assert!(message.contains("kernel \"draw\""), "{message}");
    set(&commands, 0, &twice).expect("a pipeline is set");
    let message = refused(STATE, threads(&commands, 0, 1, 1));
    assert!(message.contains("\"x\" [[buffer(0)]]"), "{message}");
    for (offset, slot) in [(8, 0), (u64::MAX, 0), (0, 2), (0, 31), (0, usize::MAX)] {
        refused(INVALID, bind(&commands, 0, &x, offset, slot));
    }
    let most = dc!(DCMetalDevice_GetMaxThreadgroupMemoryLength(gpu.device.0));
    for (length, slot) in [(8, 0), (most + 16, 0), (u64::MAX - 15, 0), (16, 2)] {
        refused(INVALID, memory(&commands, 0, length, slot));
    }
    bind(&commands, 0, &x, 2, 0).expect("a buffer is set");
    let message = refused(INVALID, threads(&commands, 0, 1, 1));
    assert!(message.contains("begins at offset 2, which is no multiple of 4"), "{message}");
    bind(&commands, 0, &x, 4, 0).expect("a buffer is set");
    let total = dc!(DCMetalPipeline_GetMaxTotalThreadsPerThreadgroup(twice.0));
    for (grid, group) in [(0, 1), (1, 0), (1, total + 1), (1 << 32, 1), (u64::MAX, u64::MAX)] {
        refused(INVALID, threads(&commands, 0, grid, group));
        refused(INVALID, threadgroups(&commands, 0, grid, group));
    }
    refused(INVALID, threadgroups(&commands, 0, 1 << 30, 4));
    gpu.compute(|encoder| execute(encoder, &commands, 0, 4).expect("there is none yet")).expect("it completes");
    assert_eq!(contents::<u32>(&x), [1, 1]);
    threads(&commands, 0, 1, 1).expect("a dispatch");
    gpu.compute(|encoder| execute(encoder, &commands, 0, 4).expect("one")).expect("it completes");
    assert_eq!(contents::<u32>(&x), [1, 2]);
    // A kernel that needs more than is bound, and one that needs too much memory.
    set(&commands, 1, &pipeline(&gpu, "large")).expect("a pipeline is set");
    bind(&commands, 1, &x, 0, 0).expect("a buffer is set");
    let message = refused(INVALID, threads(&commands, 1, 1, 1));
    assert!(message.contains("needs 16 bytes, 8 are bound"), "{message}");
    let one = DCMetalIndirectDescriptor { types: DC_METAL_INDIRECT_THREADS.0, buffers: 0, memories: 0, ..PLAIN };
    let one = made(&gpu, &one).expect("indirect commands");
    refused(INVALID, bind(&one, 0, &x, 0, 0));
    set(&one, 0, &twice).expect("a pipeline is set");
    refused(STATE, threadgroups(&one, 0, 1, 1));
    refused(STATE, threads(&one, 0, 1, 1));
}

pub(crate) fn command_wrong_arguments_are_refused() {
    let gpu = Gpu::new();
    for wrong in [
        DCMetalIndirectDescriptor { count: 0, ..PLAIN },
        DCMetalIndirectDescriptor { count: 16385, ..PLAIN },
        DCMetalIndirectDescriptor { count: u64::MAX, ..PLAIN },
        DCMetalIndirectDescriptor { types: 0, ..PLAIN },
        DCMetalIndirectDescriptor { types: 1, ..PLAIN },
        DCMetalIndirectDescriptor { types: 96 | 128, ..PLAIN },
        DCMetalIndirectDescriptor { buffers: 32, ..PLAIN },
        DCMetalIndirectDescriptor { memories: 32, ..PLAIN },
    ] {
        refused(INVALID, made(&gpu, &wrong));
    }
    let most = DCMetalIndirectDescriptor { count: 16384, buffers: 31, memories: 31, ..PLAIN };
    assert_eq!(dc!(DCMetalIndirectCommands_GetCount(made(&gpu, &most).expect("that many").0)), 16384);
    refused(INVALID, create(|out, e| dc!(DCMetalIndirectCommands_Create(ptr::null_mut(), &PLAIN, out, e))));
    refused(INVALID, create(|out, e| dc!(DCMetalIndirectCommands_Create(gpu.device.0, ptr::null(), out, e))));
    refused(INVALID, attempt(|e| dc!(DCMetalIndirectCommands_Create(gpu.device.0, &PLAIN, ptr::null_mut(), e))));
    let (commands, null) = (commands(&gpu), Owned(DCMetalIndirectCommands::NULL));
    let (x, twice) = (gpu.buffer(16), pipeline(&gpu, "twice"));
    assert_eq!(dc!(DCMetalIndirectCommands_GetCount(null.0)), 0);
    refused(INVALID, set(&null, 0, &twice));
    refused(INVALID, set(&commands, 0, &Owned(ptr::null_mut())));
    refused(INVALID, bind(&null, 0, &x, 0, 0));
    refused(INVALID, bind(&commands, 0, &Owned(ptr::null_mut()), 0, 0));
    refused(INVALID, memory(&null, 0, 16, 0));
    refused(INVALID, barrier(&null, 0));
    refused(INVALID, threads(&null, 0, 1, 1));
    refused(INVALID, threadgroups(&null, 0, 1, 1));
    refused(INVALID, reset(&null, 0, 1));
    for (first, count) in [(0, 0), (0, 5), (4, 1), (1, u64::MAX), (u64::MAX, 1)] {
        refused(INVALID, reset(&commands, first, count));
    }
    let (text, bad) = (c("commands"), [0xffu8, 0]);
    for (commands, label, status) in [
        (commands.0, text.as_ptr(), DC_METAL_OK),
        (commands.0, ptr::null(), DC_METAL_OK),
        (commands.0, bad.as_ptr().cast(), INVALID),
        (null.0, text.as_ptr(), INVALID),
    ] {
        assert_eq!(dc!(DCMetalIndirectCommands_SetLabel(commands, label)), status);
    }
    let reset_by =
        |encoder, commands, count| attempt(|e| dc!(DCMetalBlitEncoder_ResetCommands(encoder, commands, 0, count, e)));
    let optimize = |encoder, commands, count| {
        attempt(|e| dc!(DCMetalBlitEncoder_OptimizeCommands(encoder, commands, 0, count, e)))
    };
    let copy = |encoder, from, to| attempt(|e| dc!(DCMetalBlitEncoder_CopyCommands(encoder, from, 0, 1, to, 1, e)));
    let command_buffer = gpu.command_buffer();
    let encoder = compute_encoder(&command_buffer);
    refused(INVALID, execute(&Owned(ptr::null_mut()), &commands, 0, 1));
    refused(INVALID, execute(&encoder, &null, 0, 1));
    for (first, count) in [(0, 0), (0, 5), (4, 1), (1, u64::MAX)] {
        refused(INVALID, execute(&encoder, &commands, first, count));
    }
    end(&encoder);
    refused(STATE, execute(&encoder, &commands, 0, 1));
    let encoder = blit_encoder(&command_buffer);
    for (encoder, commands, count) in
        [(ptr::null_mut(), commands.0, 1), (encoder.0, null.0, 1), (encoder.0, commands.0, 5)]
    {
        refused(INVALID, reset_by(encoder, commands, count));
        refused(INVALID, optimize(encoder, commands, count));
    }
    for (encoder, from, to) in
        [(ptr::null_mut(), commands.0, commands.0), (encoder.0, null.0, commands.0), (encoder.0, commands.0, null.0)]
    {
        refused(INVALID, copy(encoder, from, to));
    }
    attempt(|e| dc!(DCMetalBlitEncoder_EndEncoding(encoder.0, e))).expect("it ends");
    refused(STATE, reset_by(encoder.0, commands.0, 1));
    refused(STATE, optimize(encoder.0, commands.0, 1));
    refused(STATE, copy(encoder.0, commands.0, commands.0));
    dc!(DCMetalIndirectCommands_Release(null.0));
}

// ------------------------------------------------------------------ commands of kernels

/// What `write` is told: places of commands, a pipeline, and memory, by their names on the device.
#[repr(C)]
#[derive(Clone, Copy)]
struct Job {
    commands: u64,
    pipeline: u64,
    x: u64,
    by: u64,
}

const WRITER: &str = "
    #include <metal_stdlib>
    using namespace metal;
    struct Job { command_buffer commands; compute_pipeline_state pipeline; device uint *x; device uint *by; };
    kernel void write(constant Job &job [[buffer(0)]], device uint *range [[buffer(1)]], uint i [[thread_position_in_grid]]) {
        compute_command command(job.commands, i);
        command.reset();
        command.set_compute_pipeline_state(job.pipeline);
        command.set_kernel_buffer(job.x + 2 * i, 0);
        command.set_kernel_buffer(job.by + i, 1);
        command.concurrent_dispatch_threads(uint3(2, 1, 1), uint3(2, 1, 1));
        range[0] = 1;
        range[1] = 2;
    }";

fn execute_indirect(
    encoder: DCMetalComputeEncoder,
    commands: DCMetalIndirectCommands,
    range: DCMetalBuffer,
    offset: u64,
) -> Result<(), Failure> {
    attempt(|e| dc!(DCMetalComputeEncoder_ExecuteCommandsIndirect(encoder, commands, range, offset, e)))
}

fn use_commands(encoder: DCMetalComputeEncoder, commands: DCMetalIndirectCommands) -> Result<(), Failure> {
    attempt(|e| dc!(DCMetalComputeEncoder_UseCommands(encoder, commands, e)))
}

pub(crate) fn kernels_write_commands_and_how_many_run() {
    let gpu = Gpu::new();
    let (commands, add, writer) = (commands(&gpu), pipeline(&gpu, "add"), gpu.pipeline(WRITER, "write"));
    let (x, by) = (gpu.buffer_of(&[1u32; 8]), gpu.buffer_of(&[10u32, 20, 30, 40]));
    let range = gpu.buffer_of(&[0u32; 3]);
    let job = gpu.buffer_of(&[Job {
        commands: dc!(DCMetalIndirectCommands_GetResourceID(commands.0)),
        pipeline: dc!(DCMetalPipeline_GetResourceID(add.0)),
        x: dc!(DCMetalBuffer_GetGPUAddress(x.0)),
        by: dc!(DCMetalBuffer_GetGPUAddress(by.0)),
    }]);
    let both = DC_METAL_USAGE_READ.0 | DC_METAL_USAGE_WRITE.0;
    for round in 1..=2 {
        let command_buffer = gpu.command_buffer();
        let encoder = compute_encoder(&command_buffer);
        set_pipeline(&encoder, &writer);
        set_buffer(&encoder, &job, 0, 0);
        set_buffer(&encoder, &range, 4, 1);
        use_commands(encoder.0, commands.0).expect("the encoder is told");
        dispatch_threads(&encoder, size(4, 1, 1), size(4, 1, 1)).expect("a dispatch");
        end(&encoder);
        let encoder = compute_encoder(&command_buffer);
        for (buffer, usage) in [(&x, both), (&by, DC_METAL_USAGE_READ.0)] {
            attempt(|e| dc!(DCMetalComputeEncoder_UseBuffer(encoder.0, buffer.0, usage, e)))
                .expect("the encoder is told");
        }
        execute_indirect(encoder.0, commands.0, range.0, 4).expect("commands are executed");
        end(&encoder);
        // The commands are the device's until it has completed.
        refused(STATE, reset(&commands, 0, 4));
        commit(&command_buffer);
        wait(&command_buffer).expect("it completes");
        let (a, b) = (1 + 20 * round, 1 + 30 * round);
        assert_eq!(contents::<u32>(&x), [1, 1, a, a, b, b, 1, 1], "the second and the third command");
    }
}

pub(crate) fn commands_of_kernels_are_checked_where_they_are_recorded() {
    let gpu = Gpu::new();
    let (commands, range) = (commands(&gpu), gpu.buffer_of(&[0u32, 4]));
    let plain = gpu.pipeline(WRITER, "write");
    assert_eq!(dc!(DCMetalBuffer_GetGPUAddress(ptr::null_mut())), 0);
    assert_eq!(dc!(DCMetalIndirectCommands_GetResourceID(ptr::null_mut())), 0);
    for pipeline in [ptr::null_mut(), plain.0] {
        assert_eq!(dc!(DCMetalPipeline_GetResourceID(pipeline)), 0, "it was not made for commands");
    }
    let command_buffer = gpu.command_buffer();
    let encoder = compute_encoder(&command_buffer);
    let (null_encoder, null_commands) = (ptr::null_mut(), ptr::null_mut());
    refused(INVALID, use_commands(null_encoder, commands.0));
    refused(INVALID, use_commands(encoder.0, null_commands));
    refused(INVALID, execute_indirect(null_encoder, commands.0, range.0, 0));
    refused(INVALID, execute_indirect(encoder.0, null_commands, range.0, 0));
    refused(INVALID, execute_indirect(encoder.0, commands.0, ptr::null_mut(), 0));
    for offset in [2, 4, 8, u64::MAX - 3] {
        let message = refused(INVALID, execute_indirect(encoder.0, commands.0, range.0, offset));
        assert!(message.contains("a range is 8 bytes"), "{message}");
    }
    let inherits =
        made(&gpu, &DCMetalIndirectDescriptor { inherit_pipeline: true, ..PLAIN }).expect("indirect commands");
    refused(STATE, execute_indirect(encoder.0, inherits.0, range.0, 0));
    end(&encoder);
    refused(STATE, use_commands(encoder.0, commands.0));
    refused(STATE, execute_indirect(encoder.0, commands.0, range.0, 0));
}
