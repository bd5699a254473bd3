//! MSL through the engine's C interface: source to library, function, pipeline, dispatch, and the errors on the way.
#![allow(clippy::multiple_unsafe_ops_per_block, reason = "kernels and sequences of calls on the same valid handles")]

mod support;

use std::ffi::{CStr, CString};
use std::ptr;

use hostmetal::ffi::*;
use support::*;

struct Library(HMLibrary);

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the handle is this object's.
        unsafe { hm_library_release(self.0) };
    }
}

/// Code and text; frees the text.
fn taken(error: HMError) -> (i64, String) {
    if error.message.is_null() {
        return (error.code, String::new());
    }
    // SAFETY: the engine gave the text.
    let text = unsafe { CStr::from_ptr(error.message) }.to_str().expect("UTF-8").to_owned();
    // SAFETY: as above; it is not used again.
    unsafe { hm_string_release(error.message) };
    (error.code, text)
}

fn library(source: &str) -> Result<Library, (i64, String)> {
    let mut error = HMError::NONE;
    // SAFETY: the source is as long as said.
    let handle = unsafe { hm_library_create(device(), source.as_ptr().cast(), source.len(), ptr::null(), &mut error) };
    let error = taken(error);
    if handle.is_null() { Err(error) } else { Ok(Library(handle)) }
}

fn pipeline(library: &Library, name: &str, values: &[HMConstantValue]) -> Result<Pipeline, (i64, String)> {
    let name = CString::new(name).expect("no NUL");
    let mut error = HMError::NONE;
    // SAFETY: the library is valid, and the values as many as said.
    let function = unsafe { hm_function_create(library.0, name.as_ptr(), values.as_ptr(), values.len(), &mut error) };
    if function.is_null() {
        return Err(taken(error));
    }
    // SAFETY: the function is valid.
    let handle = unsafe { hm_pipeline_create(device(), function, ptr::null(), &mut error) };
    // SAFETY: the pipeline does not need it.
    unsafe { hm_function_release(function) };
    if handle.is_null() { Err(taken(error)) } else { Ok(Pipeline(handle)) }
}

#[test]
fn saxpy() {
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        kernel void saxpy(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],\n\
                          constant float &a [[buffer(2)]], uint i [[thread_position_in_grid]]) { y[i] += a * x[i]; }\n";
    let library = library(source).expect("the source compiles");
    let pipeline = pipeline(&library, "saxpy", &[]).expect("the kernel compiles");
    let n = 10_001u64;
    let xs: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let (x, y) = (Buffer::of(&xs), Buffer::of(&vec![1f32; n as usize]));
    Queue::new()
        .run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&x, 0);
            encoder.buffer(&y, 1);
            encoder.bytes(&3.0f32, 2);
            encoder.threads([n, 1, 1], [256, 1, 1]);
        })
        .assert_completed();
    assert_eq!(y.read::<f32>(), xs.iter().map(|x| 1.0 + 3.0 * x).collect::<Vec<_>>());
}

/// What lanes see of each other where they diverge, against what lanes in lockstep see.
#[test]
fn simd_functions_in_divergent_code() {
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        static uint helper(uint v) { return simd_sum(v); }\n\
        kernel void diverge(device uint *out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]],\n\
                            uint i [[thread_position_in_grid]]) {\n\
          device uint *own = out + i * 8;\n\
          own[0] = simd_sum(1u);\n\
          if (lane < 7) own[1] = simd_sum(lane); else own[1] = 1000 + simd_sum(lane);\n\
          uint rounds = 0;\n\
          for (uint k = 0; k < lane % 5; ++k) rounds = rounds * 32 + simd_sum(1u);\n\
          own[2] = rounds;\n\
          own[3] = simd_sum(1u);\n\
          if (lane % 2 == 0) own[4] = helper(2u);\n\
          own[5] = helper(lane) + simd_shuffle(lane, ushort(3));\n\
          for (uint k = 1; simd_sum(1u) > 10u; ++k) if (lane < k * 9) break;\n\
          own[6] = simd_sum(1u);\n\
          own[7] = quad_sum(lane);\n\
        }\n";
    let library = library(source).expect("the source compiles");
    let pipeline = pipeline(&library, "diverge", &[]).expect("the kernel compiles");
    let out = Buffer::new(64 * 32);
    Queue::new()
        .run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&out, 0);
            encoder.threads([64, 1, 1], [64, 1, 1]);
        })
        .assert_completed();
    for (thread, got) in out.read::<[u32; 8]>().into_iter().enumerate() {
        let lane = thread as u32 % 32;
        let below = 21;
        let all = 32 * 31 / 2;
        let expected = [
            32,
            if lane < 7 { below } else { 1000 + all - below },
            (0..lane % 5).fold(0, |sum, round| sum * 32 + (0..32).filter(|l| l % 5 > round).count() as u32),
            32,
            if lane.is_multiple_of(2) { 32 } else { 0 },
            all + 3,
            32,
            lane / 4 * 16 + 6,
        ];
        assert_eq!(got, expected, "thread {thread}");
    }
}

/// Rare branches, which a compiler likes to move to the end of the function: their lanes must still go first.
#[test]
fn simd_functions_in_rare_branches() {
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        kernel void rare(device uint *out [[buffer(0)]], device const float *in [[buffer(1)]],\n\
                         uint lane [[thread_index_in_simdgroup]], uint i [[thread_position_in_grid]]) {\n\
          device uint *own = out + i * 8;\n\
          device const float *p = in + i;\n\
          if (lane == 5) own[0] = simd_sum(3u);\n\
          own[1] = simd_sum(1u);\n\
          if (p == in + 7) { own[2] = simd_sum(lane); own[3] = simd_max(lane); }\n\
          own[4] = simd_sum(1u);\n\
          if (__builtin_expect(in[i] < 0.0f, 0)) { own[5] = simd_sum(1u); }\n\
          own[6] = simd_sum(1u);\n\
          if (in[i] == 0.25f) { own[7] = simd_sum(1u); return; }\n\
          own[7] = 100 + simd_sum(1u);\n\
        }\n";
    let library = library(source).expect("the source compiles");
    let pipeline = pipeline(&library, "rare", &[]).expect("the kernel compiles");
    let out = Buffer::new(32 * 32);
    let input: Vec<f32> = (0..32)
        .map(|lane| {
            if lane % 11 == 0 {
                -1.0
            } else if lane == 9 {
                0.25
            } else {
                1.0
            }
        })
        .collect();
    let input = Buffer::of(&input);
    Queue::new()
        .run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&out, 0);
            encoder.buffer(&input, 1);
            encoder.threads([32, 1, 1], [32, 1, 1]);
        })
        .assert_completed();
    for (lane, got) in out.read::<[u32; 8]>().into_iter().enumerate() {
        let when = |condition: bool, value: u32| if condition { value } else { 0 };
        let expected = [
            when(lane == 5, 3),
            32,
            when(lane == 7, 7),
            when(lane == 7, 7),
            32,
            when(lane % 11 == 0, 3),
            32,
            if lane == 9 { 1 } else { 131 },
        ];
        assert_eq!(got, expected, "lane {lane}");
    }
}

#[test]
fn function_constants() {
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        constant uint factor [[function_constant(4)]];\n\
        kernel void scale(device uint *v [[buffer(0)]], uint i [[thread_position_in_grid]]) { v[i] *= factor; }\n";
    let library = library(source).expect("the source compiles");
    // SAFETY: the library is valid.
    assert_eq!(unsafe { hm_library_constant_count(library.0, c"scale".as_ptr()) }, 1);
    let mut info = HMConstantInfo { name: ptr::null(), index: 0, data_type: 0, required: false };
    // SAFETY: as above.
    assert!(unsafe { hm_library_constant(library.0, c"scale".as_ptr(), 0, &mut info) });
    // SAFETY: the library lives.
    assert_eq!(unsafe { CStr::from_ptr(info.name) }, c"factor");
    assert_eq!((info.index, info.data_type, info.required), (4, 33, true));

    let value = 7u32;
    let given = HMConstantValue { name: ptr::null(), index: 4, data_type: 33, value: ptr::from_ref(&value).cast() };
    let by_name = HMConstantValue { name: c"factor".as_ptr(), index: 99, ..given };
    for given in [given, by_name] {
        let pipeline = pipeline(&library, "scale", &[given]).expect("the kernel compiles");
        let values = Buffer::of(&[1u32, 2, 3]);
        Queue::new()
            .run(|encoder| {
                encoder.pipeline(&pipeline);
                encoder.buffer(&values, 0);
                encoder.threads([3, 1, 1], [32, 1, 1]);
            })
            .assert_completed();
        assert_eq!(values.read::<u32>(), [7, 14, 21]);
    }
    let (code, text) = pipeline(&library, "scale", &[]).err().expect("a value is missing");
    assert_eq!(code, 3);
    assert!(text.contains("factor"), "{text}");
    let (code, text) =
        pipeline(&library, "scale", &[HMConstantValue { data_type: 3, ..given }]).err().expect("a float");
    assert_eq!(code, 3);
    assert!(text.contains("float") && text.contains("uint"), "{text}");
    let (code, text) = pipeline(&library, "nothing", &[]).err().expect("no such kernel");
    assert_eq!(code, 5);
    assert!(text.contains("nothing"), "{text}");
}

#[test]
fn a_source_that_does_not_compile_says_where() {
    let (code, text) = library("kernel void broken(device int *p) { p[0] = nonsense; }\n").err().expect("an error");
    assert_eq!(code, 3);
    assert!(text.contains("nonsense") && text.contains("1:"), "{text}");
}

#[test]
fn reflection() {
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        struct Item { float4 a; int b; };\n\
        kernel void reflected(device Item *items [[buffer(3)]], constant uint &n [[buffer(1)]],\n\
                              threadgroup float *scratch [[threadgroup(2)]], uint i [[thread_position_in_grid]]) {\n\
          threadgroup float local[100];\n\
          device Item *threadgroup ends[2];\n\
          ends[i % 2] = items + i;\n\
          local[i % 100] = scratch[0] = 1;\n\
          threadgroup_barrier(mem_flags::mem_threadgroup);\n\
          if (i < n) ends[i % 2]->b = int(local[i % 100]);\n\
        }\n";
    let library = library(source).expect("the source compiles");
    let pipeline = pipeline(&library, "reflected", &[]).expect("the kernel compiles");
    let mut info = HMPipelineInfo {
        max_total_threads_per_threadgroup: 0,
        thread_execution_width: 0,
        static_threadgroup_memory_length: 0,
        imageblock_pixel_length: 0,
        binding_count: 0,
        required_threads_per_threadgroup: [0; 3],
    };
    // SAFETY: the pipeline is valid.
    unsafe { hm_pipeline_info(pipeline.0, &mut info) };
    assert_eq!((info.max_total_threads_per_threadgroup, info.thread_execution_width), (1024, 32));
    assert_eq!((info.static_threadgroup_memory_length, info.binding_count), (416, 3));
    let bindings = [0, 1, 2].map(|position| {
        let mut binding = std::mem::MaybeUninit::<HMBinding>::zeroed();
        // SAFETY: the pipeline is valid, and the place is one for a binding.
        assert!(unsafe { hm_pipeline_binding(pipeline.0, position, binding.as_mut_ptr()) });
        // SAFETY: the call has filled it.
        let b = unsafe { binding.assume_init() };
        // SAFETY: the pipeline lives.
        let name = unsafe { CStr::from_ptr(b.name) }.to_str().expect("UTF-8").to_owned();
        (name, b.kind, b.index, b.data_size, b.pointer)
    });
    let expected = [("n", 0, 1, 4, false), ("items", 0, 3, 32, true), ("scratch", 1, 2, 4, true)];
    assert_eq!(
        bindings,
        expected.map(|(name, kind, index, size, pointer)| (name.to_owned(), kind, index, size, pointer))
    );
}
