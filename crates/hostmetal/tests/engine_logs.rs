//! Messages of `os_log` (MSL specification 6.19): what they say, on both engines, where they go, and what becomes of those that
//! have no room.
#![allow(clippy::multiple_unsafe_ops_per_block, reason = "kernels and sequences of calls on the same valid handles")]

mod stdlib;
mod support;

use std::ffi::{CStr, c_char, c_void};

use hostmetal::ffi::*;
use hostmetal::msl::{Built, CompileOptions, Engine, LoadedKernel};
use support::*;

struct Log(HMLog);

impl Log {
    fn new(level: u32, size: u64) -> Log {
        let mut out_of_memory = true;
        // SAFETY: a place for the answer.
        let log = unsafe { hm_log_create(level, size, &mut out_of_memory) };
        assert!(!log.is_null() && !out_of_memory);
        Log(log)
    }

    fn attach(&self, command_buffer: &CommandBuffer) {
        // SAFETY: the handles are valid.
        unsafe { hm_command_buffer_set_log(command_buffer.0, self.0) };
    }

    /// Subsystem, category, level and text of each message that has come.
    fn take(&self) -> Vec<Told> {
        let mut told: Vec<Told> = Vec::new();
        // SAFETY: `tell` takes such a list as its context.
        unsafe { hm_log_take(self.0, tell, (&raw mut told).cast()) };
        told
    }

    fn texts(&self) -> Vec<String> {
        self.take().into_iter().map(|(_, _, _, text)| text).collect()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // SAFETY: the handle is this object's.
        unsafe { hm_log_release(self.0) };
    }
}

type Told = (Option<String>, Option<String>, u32, String);

unsafe extern "C" fn tell(
    context: *mut c_void,
    subsystem: *const c_char,
    category: *const c_char,
    level: u32,
    text: *const c_char,
) {
    let owned = |text: *const c_char| {
        if text.is_null() {
            return None;
        }
        // SAFETY: the engine gives text that ends with NUL.
        Some(unsafe { CStr::from_ptr(text) }.to_str().expect("UTF-8").to_owned())
    };
    // SAFETY: the context is such a list.
    let told = unsafe { &mut *context.cast::<Vec<Told>>() };
    told.push((owned(subsystem), owned(category), level, owned(text).expect("a text")));
}

fn logging() -> CompileOptions {
    CompileOptions { logging: true, ..CompileOptions::default() }
}

fn load(source: &str, engine: Engine) -> LoadedKernel {
    stdlib::load_with(source, &logging(), engine)
}

/// A kernel's messages: its body without anything that waits, behind a barrier, and behind a SIMD-group function, on both engines.
fn everywhere(globals: &str, body: &str, threads: u64) -> Vec<(String, Vec<Told>)> {
    let waits = ["", "threadgroup_barrier(mem_flags::mem_threadgroup);", "if (simd_sum(1u) == 77) return;"];
    let mut all = Vec::new();
    for wait in waits {
        for engine in [Engine::Pass, Engine::Stack] {
            let source = format!(
                "{globals}kernel void run(device uint *out [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {{ {wait} {body} }}"
            );
            let loaded = load(&source, engine);
            let built = loaded.built().clone();
            match (wait, engine) {
                ("", _) => assert_eq!(built, Built::Loop),
                (_, Engine::Pass) => assert_eq!(built, Built::Pass, "{wait}"),
                (_, Engine::Stack) => assert!(matches!(built, Built::Stack(_)), "{wait}"),
            }
            let pipeline = stdlib::pipeline(loaded);
            let (log, queue, out) = (Log::new(1, 1 << 20), Queue::new(), Buffer::new(4096));
            let command_buffer = queue.command_buffer();
            log.attach(&command_buffer);
            command_buffer.compute(|encoder| {
                encoder.pipeline(&pipeline);
                encoder.buffer(&out, 0);
                encoder.groups([1, 1, 1], [threads, 1, 1]);
            });
            command_buffer.commit();
            command_buffer.wait();
            command_buffer.assert_completed();
            all.push((format!("{wait:?} on {engine:?}"), log.take()));
        }
    }
    all
}

/// A format, the arguments, and what C's printf makes of them (C17 7.23.6.1), computed by Python's `%` where it knows the
/// conversion; vectors as in OpenCL C 3.0 6.15.14.
const FORMATS: [(&str, &str, &str); 62] = [
    ("plain %% text", "", "plain % text"),
    ("%d %i", ", -5, 7", "-5 7"),
    ("%u", ", 4000000000u", "4000000000"),
    ("%x %X %#x %o %#o", ", 255, 255, 255, 8, 8", "ff FF 0xff 10 010"),
    ("[%5d|%-5d|%05d|%+d|% d]", ", 42, 42, 42, 42, 42", "[   42|42   |00042|+42| 42]"),
    ("[%.3d|%8.3d|%-8.3d]", ", 7, 7, 7", "[007|     007|007     ]"),
    ("%x", ", -1", "ffffffff"),
    ("%d", ", (short)-3", "-3"),
    ("%d", ", (uchar)200", "200"),
    ("%hhd %hhu %hhx", ", 200, 456, -1", "-56 200 ff"),
    ("%hd %hu", ", 40000, -1", "-25536 65535"),
    (
        "%ld %lu %lx",
        ", -1234567890123l, 12345678901234567890ul, 0xfedcba9876543210ul",
        "-1234567890123 12345678901234567890 fedcba9876543210",
    ),
    ("%lld %jd %zu %td", ", -5l, 6l, 7ul, -8l", "-5 6 7 -8"),
    ("%hld %hlu", ", -9, 10u", "-9 10"),
    ("%d %d", ", true, false", "1 0"),
    ("%d", ", colour_red", "3"),
    ("%c%c%c", ", 'a', 66, (char)67", "aBC"),
    ("[%3c|%-3c]", ", 'x', 'y'", "[  x|y  ]"),
    ("%f", ", 1.5f", "1.500000"),
    ("%f %f", ", 0.1f, -2.0f", "0.100000 -2.000000"),
    ("%.2f %.0f %#.0f", ", 3.14159f, 2.5f, 2.5f", "3.14 2 2."),
    ("[%8.3f|%-8.3f|%08.3f|%+.1f|% .1f]", ", 2.5f, 2.5f, 2.5f, 2.5f, 2.5f", "[   2.500|2.500   |0002.500|+2.5| 2.5]"),
    ("%e %E %.1e", ", 12345.678f, 0.00012f, 5e20f", "1.234568e+04 1.200000E-04 5.0e+20"),
    ("%g %g %g %G", ", 100000.0f, 1000000.0f, 0.0001f, 1e-10f", "100000 1e+06 0.0001 1E-10"),
    ("%g %.3g %#g", ", 0.5f, 3.14159f, 2.0f", "0.5 3.14 2.00000"),
    ("%a %A", ", 1.5f, -0.15625f", "0x1.8p+0 -0X1.4P-3"),
    ("%.2a", ", 1.999f", "0x2.00p+0"),
    ("%f %F %e %g", ", INFINITY, -INFINITY, INFINITY, -INFINITY", "inf -INF inf -inf"),
    ("%lf %hlf", ", 0.25f, 0.5f", "0.250000 0.500000"),
    ("%f", ", 0.333h", "0.333008"),
    ("%f", ", bfloat(1.5f)", "1.500000"),
    ("%f", ", 3.4028234e38f", "340282346638528859811704183484516925440.000000"),
    ("%.60f", ", 0.1f", "0.100000001490116119384765625000000000000000000000000000000000"),
    ("%v4hlf", ", float4(1, 2.5, -3, 4)", "1.000000,2.500000,-3.000000,4.000000"),
    ("%v4f", ", float4(1, 2.5, -3, 4)", "1.000000,2.500000,-3.000000,4.000000"),
    ("%v3hf", ", half3(1, 2, 0.5h)", "1.000000,2.000000,0.500000"),
    ("%v2hlg %.2v2hle", ", float2(0.5, 1e10), float2(1, 1000)", "0.5,1e+10 1.00e+00,1.00e+03"),
    ("%v2hla", ", float2(1, -2)", "0x1p+0,-0x1p+1"),
    ("%v4hld", ", int4(1, -2, 3, -4)", "1,-2,3,-4"),
    ("%v3d", ", int3(1, -2, 3)", "1,-2,3"),
    ("%v3hlu", ", uint3(1, 4000000000u, 3)", "1,4000000000,3"),
    ("%v2hhu", ", uchar2(1, 255)", "1,255"),
    ("%v2hhd", ", char2(1, -1)", "1,-1"),
    ("%v4hd %v4hx", ", short4(1, -2, 3, -4), ushort4(1, 2, 3, 65535)", "1,-2,3,-4 1,2,3,ffff"),
    ("%v2ld %v2lu", ", long2(-1, 2), ulong2(1, 18446744073709551615ul)", "-1,2 1,18446744073709551615"),
    ("[%5v2hld|%-5v2hld|%05v2hlx]", ", int2(1, 2), int2(1, 2), int2(10, 11)", "[    1,    2|1    ,2    |0000a,0000b]"),
    ("%v2hhx", ", bool2(true, false)", "1,0"),
    ("%v3hlf", ", packed_float3(1, 2, 3)", "1.000000,2.000000,3.000000"),
    ("%v2hlf", ", float4(1, 2, 3, 4).wx", "4.000000,1.000000"),
    ("[%*d|%-*d]", ", 5, 42, 5, 42", "[   42|42   ]"),
    ("[%.*f|%*.*f]", ", 2, 3.14159f, 8, 1, 2.25f", "[3.14|     2.2]"),
    ("[%*d]", ", -5, 42", "[42   ]"),
    ("[%.*f]", ", -1, 0.5f", "[0.500000]"),
    ("%p %p", ", (device uint *)0x1234abcd, (device uint *)0", "0x1234abcd 0x0"),
    ("[%12p|%-12p]", ", (device uint *)0x1234, (device uint *)0x1234", "[      0x1234|0x1234      ]"),
    ("tab\\tquote\\\"back\\\\\\x41\\101 %d\\n", ", 1", "tab\tquote\"back\\AA 1\n"),
    ("in \" \"two\" \" pieces %d", ", 2", "in two pieces 2"),
    ("\u{e9}\u{1f600} %d", ", 3", "\u{e9}\u{1f600} 3"),
    (
        "%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d",
        ", 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0",
        "12345678901234567890",
    ),
    ("%u of %u", ", i, out[1]", "0 of 0"),
    ("%.0d|%.0x|%5.0d", ", 0, 0, 0", "||     "),
    ("", "", ""),
];

#[test]
fn conversions_print_as_c_says() {
    let body: String =
        FORMATS.iter().map(|(format, arguments, _)| format!("os_log_default.log(\"{format}\"{arguments}); ")).collect();
    let expected: Vec<&str> = FORMATS.iter().map(|(_, _, text)| *text).collect();
    for (how, told) in everywhere("enum colour { colour_red = 3 };\n", &body, 1) {
        let texts: Vec<&str> = told.iter().map(|(_, _, _, text)| text.as_str()).collect();
        for (number, (text, expected)) in texts.iter().zip(&expected).enumerate() {
            assert_eq!(text, expected, "{how}: {:?}", FORMATS[number].0);
        }
        assert_eq!(texts.len(), expected.len(), "{how}");
    }
}

#[test]
fn messages_have_a_level_and_what_their_log_says() {
    let globals = "constant os_log mine(\"com.example.app\", \"a category\");\nconstexpr constant metal::os_log other(\"\", \"\\u00e9\");\n\
                   void helper(uint i) { mine.log_fault(\"helped %u\", i); }\n";
    let body = "os_log_default.log_debug(\"debug\"); os_log_default.log_info(\"info\"); mine.log(\"default\"); mine.log_error(\"error\"); helper(i);\
                other.log_with_type(log_type_debug, \"with %d\", 1); other.log_with_type(log_type_error, \"type\");";
    let text = |text: &str| Some(text.to_owned());
    let (app, category) = (text("com.example.app"), text("a category"));
    let expected = [
        (None, None, 1, "debug".to_owned()),
        (None, None, 2, "info".to_owned()),
        (app.clone(), category.clone(), 3, "default".to_owned()),
        (app.clone(), category.clone(), 4, "error".to_owned()),
        (app, category, 5, "helped 0".to_owned()),
        (text(""), text("\u{e9}"), 1, "with 1".to_owned()),
        (text(""), text("\u{e9}"), 4, "type".to_owned()),
    ];
    for (how, told) in everywhere(globals, body, 1) {
        assert_eq!(told, expected, "{how}");
    }
}

#[test]
fn what_a_thread_logs_is_in_its_order() {
    let body = "os_log_default.log(\"%u first\", i); out[i] = i; threadgroup_barrier(mem_flags::mem_device); if (i % 2 == 0) os_log_default.log(\"%u second %u\", i, out[63 - i]);";
    for engine in [Engine::Pass, Engine::Stack] {
        let source = format!(
            "kernel void run(device uint *out [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {{ {body} }}"
        );
        let pipeline = stdlib::pipeline(load(&source, engine));
        let (log, queue, out) = (Log::new(1, 1 << 16), Queue::new(), Buffer::new(256));
        let command_buffer = queue.command_buffer();
        log.attach(&command_buffer);
        command_buffer.compute(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&out, 0);
            encoder.groups([1, 1, 1], [64, 1, 1]);
        });
        command_buffer.commit();
        command_buffer.wait();
        let mut texts = log.texts();
        assert_eq!(texts.len(), 96);
        let place = |texts: &[String], text: &str| {
            texts.iter().position(|one| one == text).unwrap_or_else(|| panic!("{engine:?}: no {text:?}"))
        };
        for thread in (0..64).step_by(2) {
            let (first, second) =
                (place(&texts, &format!("{thread} first")), place(&texts, &format!("{thread} second {}", 63 - thread)));
            assert!(first < second, "{engine:?}");
        }
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), 96, "each once");
    }
}

#[test]
fn a_level_and_a_full_log_drop_messages() {
    // 1024 bytes are 128 words; a message takes two, and one per argument.
    let source = "kernel void run(constant uint &count [[buffer(0)]]) {\n\
                  os_log_default.log_debug(\"dropped\"); os_log_default.log_info(\"dropped %d\", 1);\n\
                  for (uint i = 0; i < count; i++) os_log_default.log(\"%u\", i);\n\
                  os_log_default.log_error(\"%u %u\", count, count); os_log_default.log_fault(\"end\"); }";
    let pipeline = stdlib::pipeline(load(source, Engine::Pass));
    let (log, queue) = (Log::new(3, 1024), Queue::new());
    // 42 messages of 3 words leave 2: the one behind does not fit, and drops the one that would. Afterwards there is room again.
    for (count, expected) in [(3u32, 5), (42, 42), (40, 42), (1000, 42), (0, 2)] {
        let command_buffer = queue.command_buffer();
        log.attach(&command_buffer);
        command_buffer.compute(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.bytes(&count, 0);
            encoder.groups([1, 1, 1], [1, 1, 1]);
        });
        command_buffer.commit();
        command_buffer.wait();
        let texts = log.texts();
        assert_eq!(texts.len(), expected, "{count}: {texts:?}");
        for (number, text) in texts.iter().enumerate().take(count.min(42) as usize) {
            assert_eq!(*text, number.to_string());
        }
    }
}

#[test]
fn messages_of_all_threads_and_dispatches_come() {
    let source = "kernel void run(constant uint &part [[buffer(0)]], uint i [[thread_position_in_grid]]) { os_log_default.log(\"%u %u\", part, i); }";
    let pipeline = stdlib::pipeline(load(source, Engine::Pass));
    let (log, queue) = (Log::new(1, 1 << 22), Queue::new());
    let command_buffers: Vec<CommandBuffer> = (0..4).map(|_| queue.command_buffer()).collect();
    for (part, command_buffer) in command_buffers.iter().enumerate() {
        log.attach(command_buffer);
        for half in 0..2u32 {
            command_buffer.compute(|encoder| {
                encoder.pipeline(&pipeline);
                encoder.bytes(&(part as u32 * 2 + half), 0);
                encoder.threads([4000, 1, 1], [64, 1, 1]);
            });
        }
        command_buffer.commit();
    }
    command_buffers.iter().for_each(CommandBuffer::wait);
    let mut texts = log.texts();
    let mut expected: Vec<String> = (0..8).flat_map(|part| (0..4000).map(move |i| format!("{part} {i}"))).collect();
    texts.sort();
    expected.sort();
    assert_eq!(texts, expected);
}

#[test]
fn without_a_log_or_logging_nothing_is_kept() {
    let source = "kernel void run(device uint *out [[buffer(0)]]) { os_log_default.log(\"%d\", 1); out[0] += 1; }";
    let silent = stdlib::pipeline(stdlib::load_with(source, &CompileOptions::default(), Engine::Pass));
    let loud = stdlib::pipeline(load(source, Engine::Pass));
    let (log, queue, out) = (Log::new(1, 1024), Queue::new(), Buffer::of(&[0u32]));
    for (pipeline, attached, expected) in [(&silent, true, 0), (&loud, false, 0), (&loud, true, 1)] {
        let command_buffer = queue.command_buffer();
        if attached {
            log.attach(&command_buffer);
        }
        command_buffer.compute(|encoder| {
            encoder.pipeline(pipeline);
            encoder.buffer(&out, 0);
            encoder.groups([1, 1, 1], [1, 1, 1]);
        });
        command_buffer.commit();
        command_buffer.wait();
        command_buffer.assert_completed();
        assert_eq!(log.take().len(), expected);
    }
    assert_eq!(out.read::<u32>(), [3]);
}

#[test]
fn messages_before_a_fault_come_and_the_log_goes_on() {
    let source = "constant os_log mine(\"a\", \"b\");\nkernel void run(device uint *out [[buffer(0)]], constant ulong &at [[buffer(1)]]) {\n\
                  mine.log(\"before %d\", 1); out[at] = 1; mine.log(\"after\"); }";
    let pipeline = stdlib::pipeline(load(source, Engine::Pass));
    let (log, queue, out) = (Log::new(1, 1024), Queue::new(), Buffer::of(&[0u32]));
    for (at, expected) in [(1u64 << 44, vec!["before 1"]), (0, vec!["before 1", "after"])] {
        let command_buffer = queue.command_buffer();
        log.attach(&command_buffer);
        command_buffer.compute(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&out, 0);
            encoder.bytes(&at, 1);
            encoder.groups([1, 1, 1], [1, 1, 1]);
        });
        command_buffer.commit();
        command_buffer.wait();
        assert_eq!(command_buffer.status(), if at == 0 { COMPLETED } else { ERROR });
        assert_eq!(log.texts(), expected);
    }
}

#[test]
fn a_log_has_a_size_and_a_level() {
    for (level, size, fits) in [
        (1, 1024, true),
        (5, 1 << 30, true),
        (0, 1024, false),
        (6, 1024, false),
        (1, 1023, false),
        (1, (1 << 30) + 1, false),
    ] {
        let mut out_of_memory = true;
        // SAFETY: a place for the answer.
        let log = unsafe { hm_log_create(level, size, &mut out_of_memory) };
        assert_eq!((!log.is_null(), out_of_memory), (fits, false), "{level} {size}");
        if fits {
            drop(Log(log));
        }
    }
}
