//! Visible functions in both engines: kernels that call them from loops, between barriers and on stacks, and what becomes of calls that
//! cannot be. What programs see of them, native/hostmetal/tests/functions.mm tries.

use crate::stdlib::{load, pipeline, refusal};
use crate::support::{Buffer, ERROR, Encoder, Queue, device, ok};
use hostmetal::ffi::*;
use hostmetal::msl::{Built, CompileOptions, Engine, MathMode, check};
use std::ffi::CString;
use std::ptr;

const FUNCTIONS: &str = "#include <metal_stdlib>\nusing namespace metal;\n\
    struct Pair { float x; int n; };\n\
    [[visible]] float half_of(float x, device int *calls, Pair p) { *calls += p.n; return x / 2 + p.x; }\n\
    [[visible]] float steps(float x, device int *calls, Pair p) { for (int i = 0; i < p.n; i++) { x += p.x; *calls += 1; } return x; }\n\
    static float deep(float x, int n) { return n == 0 ? x : deep(x, n - 1) + 1; }\n\
    [[visible]] float far(float x, device int *calls, Pair p) { *calls += 100; return deep(x, p.n); }\n";
const NAMES: [&str; 3] = ["half_of", "steps", "far"];

/// What function `f` gives for x, and what it adds to the count.
fn expected(f: usize, x: f32, pair: (f32, i32)) -> (f32, i32) {
    match f {
        0 => (x / 2.0 + pair.0, pair.1),
        1 => ((0..pair.1).fold(x, |x, _| x + pair.0), pair.1),
        _ => (x + pair.1 as f32, 100),
    }
}

/// A table of the functions, and an empty place behind them.
struct Table(HMFunctionTable);

impl Table {
    fn new() -> Table {
        let source = CString::new(FUNCTIONS).expect("no NUL");
        let mut error = HMError::NONE;
        // SAFETY: the device is valid, and the text as long as said.
        let library = unsafe { hm_library_create(device(), source.as_ptr(), FUNCTIONS.len(), ptr::null(), &mut error) };
        assert!(!library.is_null(), "the library compiles");
        let mut text = ptr::null();
        // SAFETY: the device is valid, and text is a place for the answer.
        let table = unsafe { hm_function_table_create(device(), NAMES.len() as u64 + 1, &mut text) };
        ok(text);
        for (index, name) in NAMES.iter().enumerate() {
            let name = CString::new(*name).expect("no NUL");
            // SAFETY: the library is valid; there are no values.
            let function = unsafe { hm_function_create(library, name.as_ptr(), ptr::null(), 0, &mut error) };
            // SAFETY: the handles are valid.
            let visible = unsafe { hm_visible_create(device(), function, ptr::null(), &mut error) };
            assert!(!visible.is_null(), "{name:?} compiles");
            // SAFETY: the handles are valid.
            ok(unsafe { hm_function_table_set(table, visible, index as u64) });
            // SAFETY: the table keeps the function; the handle is not used again.
            unsafe { hm_visible_release(visible) };
            // SAFETY: as above.
            unsafe { hm_function_release(function) };
        }
        // SAFETY: the handle is not used again.
        unsafe { hm_library_release(library) };
        Table(table)
    }

    fn bind(&self, encoder: &Encoder, index: usize) {
        // SAFETY: the handles are valid.
        ok(unsafe { hm_compute_set_functions(encoder.0, self.0, index) });
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: the handle is this object's.
        unsafe { hm_function_table_release(self.0) };
    }
}

/// The statement that makes `y` of the call's `x`; and whether threads wait.
const BODIES: [(&str, bool); 4] = [
    ("y = table[f](x, count + i, p);", false),
    ("y = x; for (int r = 0; r < 3; r++) if (r == 1) y = table[f](y, count + i, p);", false),
    (
        "threadgroup float all[32]; all[l] = x; threadgroup_barrier(mem_flags::mem_threadgroup); y = table[f](all[l], count + i, p); threadgroup_barrier(mem_flags::mem_threadgroup);",
        true,
    ),
    ("y = simd_shuffle_xor(simd_shuffle_xor(x, 1), 1); if (i % 3 != 7) y = table[f](y, count + i, p);", true),
];

fn source(body: &str) -> String {
    format!(
        "struct Pair {{ float x; int n; }};\n\
         kernel void run(device float *out [[buffer(0)]], device int *count [[buffer(1)]], visible_function_table<float(float, device int *, Pair)> table [[buffer(2)]],\n\
         \x20 constant uint &most [[buffer(3)]], uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {{\n\
         \x20 uint f = i / 5 % most; float x = float(i) * 0.5f, y; Pair p = {{0.25f, int(i % 4)}}; (void)l;\n  {body}\n  out[i] = y; }}\n"
    )
}

#[test]
fn both_engines_call_functions() {
    const THREADS: usize = 77;
    let table = Table::new();
    for (body, waits) in BODIES {
        for engine in [Engine::Pass, Engine::Stack] {
            let loaded = load(&source(body), MathMode::Safe, engine);
            let on_stacks = matches!(loaded.built(), Built::Stack(_));
            assert_eq!(on_stacks, waits, "{body}, {engine:?}: {}", loaded.built());
            let pipeline = pipeline(loaded);
            for (most, fails) in [(NAMES.len() as u32, false), (NAMES.len() as u32 + 1, true)] {
                let (out, count) = (Buffer::new(THREADS as u64 * 4), Buffer::new(THREADS as u64 * 4));
                let ran = Queue::new().run(|encoder| {
                    encoder.pipeline(&pipeline);
                    encoder.buffer(&out, 0);
                    encoder.buffer(&count, 1);
                    table.bind(encoder, 2);
                    encoder.bytes(&most, 3);
                    encoder.threads([THREADS as u64, 1, 1], [32, 1, 1]);
                });
                if fails {
                    assert_eq!(ran.status(), ERROR, "{body}, {engine:?}");
                    let text = ran.error().expect("an error").1;
                    assert!(text.contains("a call of a function that is not in the visible function table"), "{text}");
                    continue;
                }
                ran.assert_completed();
                let (values, counts): (Vec<f32>, Vec<i32>) = (out.read(), count.read());
                for i in 0..THREADS {
                    let found = (values[i], counts[i]);
                    let pair = (0.25, (i % 4) as i32);
                    assert_eq!(found, expected(i / 5 % NAMES.len(), i as f32 * 0.5, pair), "{i}: {body}, {engine:?}");
                }
            }
        }
    }
}

#[test]
fn what_a_visible_function_cannot_have_is_named() {
    let text = refusal(
        "uint at [[thread_position_in_grid]];\nuint deep() { return at; }\n[[visible]] uint f(uint x) { return x + deep(); }\n",
    );
    assert!(text.contains("5:18: error: visible function 'f' uses built-ins or bindings at program scope"), "{text}");
    let text = refusal(
        "kernel void k(visible_function_table<int(int)> a [[buffer(1)]], device int *b [[buffer(1)]]) { b[0] = a[0](1); }\n",
    );
    assert!(text.contains("cannot reserve 'buffer' resource location at index 1"), "{text}");
    let source = format!("{FUNCTIONS}[[visible]] int waits(int x) {{ return quad_sum(x); }}\n");
    let checked = check(&source, &CompileOptions::default()).unwrap_or_else(|failure| panic!("{failure}"));
    let names: Vec<(&str, bool)> = checked.kernels().iter().map(|one| (one.name.as_str(), one.visible)).collect();
    assert_eq!(names, [("far", true), ("half_of", true), ("steps", true), ("waits", true)]);
    let failure = checked.function("waits", &[], &Default::default()).expect_err("it waits");
    assert_eq!(
        failure.log,
        "visible function 'waits' may reach a barrier or a SIMD-group function: hostmetal has these in kernels only"
    );
    assert!(checked.build("far", &[]).is_err_and(|failure| failure.log == "there is no kernel named 'far'"));
}
