//! Pipelines and their reflection.

use std::collections::BTreeMap;
use std::ptr;

use dcmetal_sys::*;

use crate::support::*;

fn bindings(pipeline: &Owned<DCMetalPipeline>) -> BTreeMap<String, DCMetalBinding> {
    let count = dc!(DCMetalPipeline_GetBindingCount(pipeline.0));
    let at = |position| {
        let mut binding = DCMetalBinding { kind: 99, index: 99, access: 99, ..Default::default() };
        assert_eq!(dc!(DCMetalPipeline_GetBinding(pipeline.0, position, &mut binding)), DC_METAL_OK);
        let name = string(|text, capacity| dc!(DCMetalPipeline_GetBindingName(pipeline.0, position, text, capacity)));
        (name, binding)
    };
    (0..count).map(at).collect()
}

pub(crate) fn reflection_tells_each_argument() {
    let gpu = Gpu::new();
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        struct Params { float4 scale; uint n; };\n\
        kernel void blend(device const float *in [[buffer(0)]], device half4 *out [[buffer(3)]],\n\
                        constant Params &params [[buffer(7)]], threadgroup uint2 *scratch [[threadgroup(1)]],\n\
                        device int *spare [[buffer(30)]], uint i [[thread_position_in_grid]]) {\n\
          scratch[i] = uint2(i); out[i] = half4(in[i] * params.scale) + half4(half(scratch[0].x)) + half4(half(params.n)); }";
    let pipeline = gpu.pipeline(source, "blend");
    let found = bindings(&pipeline);
    let (buffer, memory) = (DC_METAL_BINDING_BUFFER.0, DC_METAL_BINDING_THREADGROUP_MEMORY.0);
    // Sizes and alignments: MSL specification, tables 2.3 and 2.4. Data types: MTLDataType float 3, half4 19, struct 1, uint2 34.
    let expected = [
        ("in", buffer, 0, 3, 4, 4, true),
        ("out", buffer, 3, 19, 8, 8, true),
        ("params", buffer, 7, 1, 32, 16, true),
        ("scratch", memory, 1, 0, 8, 8, true),
    ];
    for (name, kind, index, data_type, data_size, alignment, used) in expected {
        let binding = found.get(name).unwrap_or_else(|| panic!("{name} in {found:?}"));
        assert_eq!((binding.kind, binding.index, binding.used), (kind, index, used), "{name}");
        assert_eq!((binding.data_size, binding.alignment), (data_size, alignment), "{name}");
        assert_eq!(binding.array_length, 0, "{name}");
        if kind == buffer {
            assert_eq!(binding.data_type, data_type, "{name}");
        }
    }
    assert_eq!(found["in"].access, DC_METAL_ACCESS_READ_ONLY.0);
    assert_eq!(found["params"].access, DC_METAL_ACCESS_READ_ONLY.0);
    assert_ne!(found["out"].access, DC_METAL_ACCESS_READ_ONLY.0);
    // An argument that nothing uses may be left out of the list. Where it is listed it is not called used.
    assert!(found.get("spare").is_none_or(|spare| spare.index == 30 && !spare.used), "{found:?}");
    assert_eq!(found.len() - usize::from(found.contains_key("spare")), 4, "{found:?}");
}

pub(crate) fn reflection_out_of_range_is_refused() {
    let gpu = Gpu::new();
    let pipeline = gpu.pipeline("kernel void one(device int *x [[buffer(0)]]) { x[0] = 1; }", "one");
    assert_eq!(dc!(DCMetalPipeline_GetBindingCount(pipeline.0)), 1);
    for position in [1, usize::MAX] {
        let mut binding = DCMetalBinding { index: 99, ..Default::default() };
        let status = dc!(DCMetalPipeline_GetBinding(pipeline.0, position, &mut binding));
        assert_eq!(status, DC_METAL_INVALID_ARGUMENT);
        assert_eq!(binding, DCMetalBinding::default(), "zeros on failure");
        assert_eq!(string(|t, capacity| dc!(DCMetalPipeline_GetBindingName(pipeline.0, position, t, capacity))), "");
    }
    assert_eq!(dc!(DCMetalPipeline_GetBinding(pipeline.0, 0, ptr::null_mut())), DC_METAL_INVALID_ARGUMENT);
}

pub(crate) fn pipeline_limits_fit_the_device() {
    let gpu = Gpu::new();
    let source = "kernel void sum(device int *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {\n\
        threadgroup int part[100]; part[i] = x[i]; x[i] = part[(i + 1) % 32]; }";
    let pipeline = gpu.pipeline(source, "sum");
    let width = dc!(DCMetalPipeline_GetThreadExecutionWidth(pipeline.0));
    assert!(width.is_power_of_two() && (4..=128).contains(&width), "{width}");
    let threads = dc!(DCMetalPipeline_GetMaxTotalThreadsPerThreadgroup(pipeline.0));
    let most = dc!(DCMetalDevice_GetMaxThreadsPerThreadgroup(gpu.device.0));
    assert!(threads >= width && threads <= most.width, "{threads} {most:?}");
    let memory = dc!(DCMetalPipeline_GetStaticThreadgroupMemoryLength(pipeline.0));
    assert!((400..=1024).contains(&memory), "100 ints: {memory}");
}

pub(crate) fn pipeline_without_threadgroup_memory_has_none() {
    let gpu = Gpu::new();
    let pipeline = gpu.pipeline("kernel void one(device int *x [[buffer(0)]]) { x[0] = 1; }", "one");
    assert_eq!(dc!(DCMetalPipeline_GetStaticThreadgroupMemoryLength(pipeline.0)), 0);
}

fn fill(gpu: &Gpu) -> Owned<DCMetalFunction> {
    let source = "kernel void fill(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = i + 1; }";
    function(&gpu.library(source).expect("it compiles"), "fill", ptr::null_mut()).expect("the function")
}

pub(crate) fn pipeline_thread_limit_is_kept() {
    let gpu = Gpu::new();
    let label = c("small");
    let options = DCMetalPipelineOptions {
        label: label.as_ptr(),
        max_total_threads_per_threadgroup: 64,
        threadgroup_size_is_multiple_of_execution_width: false,
        indirect_commands: false,
    };
    let pipeline = gpu.pipeline_of(&fill(&gpu), Some(&options)).expect("a pipeline");
    assert_eq!(dc!(DCMetalPipeline_GetMaxTotalThreadsPerThreadgroup(pipeline.0)), 64);
    let out = gpu.buffer(4 * 130);
    gpu.compute(|encoder| {
        set_pipeline(encoder, &pipeline);
        set_buffer(encoder, &out, 0, 0);
        refused(DC_METAL_INVALID_ARGUMENT, dispatch_threads(encoder, size(130, 1, 1), size(65, 1, 1)));
        dispatch_threads(encoder, size(130, 1, 1), size(64, 1, 1)).expect("a dispatch");
    })
    .expect("it completes");
    assert_eq!(contents::<u32>(&out), (1..=130).collect::<Vec<_>>());
}

pub(crate) fn pipeline_promise_of_whole_simdgroups_is_checked() {
    let gpu = Gpu::new();
    let options = DCMetalPipelineOptions {
        label: ptr::null(),
        max_total_threads_per_threadgroup: 0,
        threadgroup_size_is_multiple_of_execution_width: true,
        indirect_commands: false,
    };
    let pipeline = gpu.pipeline_of(&fill(&gpu), Some(&options)).expect("a pipeline");
    let width = dc!(DCMetalPipeline_GetThreadExecutionWidth(pipeline.0));
    let out = gpu.buffer(4 * width * 3);
    gpu.compute(|encoder| {
        set_pipeline(encoder, &pipeline);
        set_buffer(encoder, &out, 0, 0);
        let grid = size(width * 3, 1, 1);
        refused(DC_METAL_INVALID_ARGUMENT, dispatch_threads(encoder, grid, size(width + 1, 1, 1)));
        dispatch_threads(encoder, grid, size(width, 1, 1)).expect("a dispatch");
    })
    .expect("it completes");
    assert_eq!(contents::<u32>(&out), (1..=width as u32 * 3).collect::<Vec<_>>());
}

pub(crate) fn pipeline_required_threadgroup_is_checked() {
    let gpu = Gpu::new();
    let source = "[[required_threads_per_threadgroup(4, 2, 1)]] kernel void fill(device uint *x [[buffer(0)]],\n\
        uint2 at [[thread_position_in_grid]]) { x[at.y * 4 + at.x] = at.y * 4 + at.x + 1; }";
    // Metal has the attribute since macOS 26.
    let library = match gpu.library(source) {
        Err(_) if cfg!(target_os = "macos") => return,
        made => made.expect("it compiles"),
    };
    let fill = function(&library, "fill", ptr::null_mut()).expect("the function");
    let pipeline = gpu.pipeline_of(&fill, None).expect("a pipeline");
    let out = gpu.buffer(32);
    gpu.compute(|encoder| {
        set_pipeline(encoder, &pipeline);
        set_buffer(encoder, &out, 0, 0);
        refused(DC_METAL_INVALID_ARGUMENT, dispatch_threads(encoder, size(4, 2, 1), size(2, 4, 1)));
        dispatch_threads(encoder, size(4, 2, 1), size(4, 2, 1)).expect("a dispatch");
    })
    .expect("it completes");
    assert_eq!(contents::<u32>(&out), [1, 2, 3, 4, 5, 6, 7, 8]);
}

pub(crate) fn pipeline_over_the_devices_limits_is_refused() {
    let gpu = Gpu::new();
    let most = dc!(DCMetalDevice_GetMaxThreadsPerThreadgroup(gpu.device.0));
    for threads in [most.width + 1, u64::MAX] {
        let options = DCMetalPipelineOptions {
            label: ptr::null(),
            max_total_threads_per_threadgroup: threads,
            threadgroup_size_is_multiple_of_execution_width: false,
            indirect_commands: false,
        };
        refused(DC_METAL_INVALID_ARGUMENT, gpu.pipeline_of(&fill(&gpu), Some(&options)));
    }
    let memory = dc!(DCMetalDevice_GetMaxThreadgroupMemoryLength(gpu.device.0));
    let source = format!(
        "kernel void big(device int *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {{\n\
         threadgroup int part[{}]; part[i] = x[i]; x[i] = part[(i + 1) % 32]; }}",
        memory / 4 + 1
    );
    let outcome = gpu.library(&source).and_then(|library| {
        let big = function(&library, "big", ptr::null_mut())?;
        gpu.pipeline_of(&big, None)
    });
    let Err(failure) = outcome else { panic!("more threadgroup memory than the device has") };
    assert_eq!(failure.status, DC_METAL_FAILED, "{failure:?}");
    assert!(failure.message.contains("threadgroup memory") || failure.message.contains("memory"), "{failure:?}");
}

pub(crate) fn pipeline_wrong_arguments_are_refused() {
    let gpu = Gpu::new();
    let (invalid, none, fill) = (DC_METAL_INVALID_ARGUMENT, ptr::null(), fill(&gpu));
    let make = |device, function, out, error| dc!(DCMetalPipeline_Create(device, function, none, out, error));
    refused(invalid, create(|out, error| make(DCMetalDevice::NULL, fill.0, out, error)));
    refused(invalid, create(|out, error| make(gpu.device.0, DCMetalFunction::NULL, out, error)));
    refused(invalid, attempt(|error| make(gpu.device.0, fill.0, ptr::null_mut(), error)));
    let bad = [0xa9u8, 0];
    let options = DCMetalPipelineOptions {
        label: bad.as_ptr().cast(),
        max_total_threads_per_threadgroup: 0,
        threadgroup_size_is_multiple_of_execution_width: false,
        indirect_commands: false,
    };
    refused(invalid, gpu.pipeline_of(&fill, Some(&options)));
}

pub(crate) fn pipeline_outlives_what_made_it() {
    let gpu = Gpu::new();
    let fill = fill(&gpu);
    let pipeline = gpu.pipeline_of(&fill, None).expect("a pipeline");
    let out = gpu.buffer(16);
    let Gpu { device, queue } = gpu;
    drop((device, fill));
    let gpu = Gpu { device: Owned(DCMetalDevice::NULL), queue };
    gpu.compute(|encoder| {
        set_pipeline(encoder, &pipeline);
        set_buffer(encoder, &out, 0, 0);
        dispatch_threads(encoder, size(4, 1, 1), size(4, 1, 1)).expect("a dispatch");
    })
    .expect("it completes");
    assert_eq!(contents::<u32>(&out), [1, 2, 3, 4]);
}

pub(crate) fn pipeline_of_null_has_nothing() {
    let none = DCMetalPipeline::NULL;
    let mut binding = DCMetalBinding::default();
    assert_eq!(dc!(DCMetalPipeline_GetMaxTotalThreadsPerThreadgroup(none)), 0);
    assert_eq!(dc!(DCMetalPipeline_GetThreadExecutionWidth(none)), 0);
    assert_eq!(dc!(DCMetalPipeline_GetStaticThreadgroupMemoryLength(none)), 0);
    assert_eq!(dc!(DCMetalPipeline_GetBindingCount(none)), 0);
    assert_eq!(dc!(DCMetalPipeline_GetBinding(none, 0, &mut binding)), DC_METAL_INVALID_ARGUMENT);
    assert_eq!(string(|text, capacity| dc!(DCMetalPipeline_GetBindingName(none, 0, text, capacity))), "");
    dc!(DCMetalPipeline_Release(none));
}
