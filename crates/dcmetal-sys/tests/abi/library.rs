//! Compile options, libraries, function constants and functions.

use std::ffi::c_void;
use std::ptr;

use dcmetal_sys::*;

use crate::support::*;

/// Runs a kernel `name` that writes one value of T to buffer 0.
fn answer<T: Copy + Default>(gpu: &Gpu, function: &Owned<DCMetalFunction>) -> T {
    let pipeline = gpu.pipeline_of(function, None).expect("a pipeline");
    let out = gpu.buffer_of(&[T::default()]);
    let one = size(1, 1, 1);
    gpu.compute(|encoder| {
        set_pipeline(encoder, &pipeline);
        set_buffer(encoder, &out, 0, 0);
        dispatch_threads(encoder, one, one).expect("a dispatch");
    })
    .expect("it completes");
    contents::<T>(&out)[0]
}

fn options() -> Owned<DCMetalCompileOptions> {
    create(|out, error| dc!(DCMetalCompileOptions_Create(out, error))).expect("options")
}

// ------------------------------------------------------------------ compile options

pub(crate) fn math_mode_safe_keeps_nan() {
    let gpu = Gpu::new();
    let source = "kernel void ask(device float *x [[buffer(0)]]) { float v = x[0] - x[0]; v = v / v; \
                  x[0] = metal::isnan(v) ? 1.0f : 2.0f; }";
    let options = options();
    assert_eq!(dc!(DCMetalCompileOptions_SetMathMode(options.0, DC_METAL_MATH_SAFE)), DC_METAL_OK);
    let source = format!("#include <metal_stdlib>\n{source}");
    let library = gpu.library_with(&source, options.0).expect("it compiles");
    let ask = function(&library, "ask", ptr::null_mut()).expect("the function");
    assert_eq!(answer::<f32>(&gpu, &ask), 1.0, "0 / 0 is not a number");
}

pub(crate) fn math_mode_each_compiles() {
    let gpu = Gpu::new();
    let source = "kernel void half_of(device float *x [[buffer(0)]]) { x[0] = (x[0] + 6.0f) * 0.5f; }";
    for mode in [DC_METAL_MATH_SAFE, DC_METAL_MATH_RELAXED, DC_METAL_MATH_FAST] {
        let options = options();
        assert_eq!(dc!(DCMetalCompileOptions_SetMathMode(options.0, mode)), DC_METAL_OK);
        let library = gpu.library_with(source, options.0).expect("it compiles");
        let half_of = function(&library, "half_of", ptr::null_mut()).expect("the function");
        assert_eq!(answer::<f32>(&gpu, &half_of), 3.0);
    }
    let options = options();
    for mode in [3, u32::MAX] {
        let status = dc!(DCMetalCompileOptions_SetMathMode(options.0, DCMetalMathMode(mode)));
        assert_eq!(status, DC_METAL_INVALID_ARGUMENT);
    }
}

/// `MTLMathMode` and `MTLMathFloatingPointFunctions`, of which 0 is fast and 1 precise.
pub(crate) fn math_mode_safe_has_precise_functions() {
    let options = options();
    // SAFETY: the handle is an MTLCompileOptions, whose properties these are, NSIntegers.
    let option = |name| unsafe { send::<isize>(options.0.cast(), name) };
    let both = || [c"mathMode", c"mathFloatingPointFunctions"].map(option);
    for (mode, wanted) in [(DC_METAL_MATH_SAFE, [0, 1]), (DC_METAL_MATH_FAST, [2, 0]), (DC_METAL_MATH_RELAXED, [1, 0])]
    {
        assert_eq!(dc!(DCMetalCompileOptions_SetMathMode(options.0, mode)), DC_METAL_OK);
        assert_eq!(both(), wanted);
    }
}

pub(crate) fn language_version_reaches_the_compiler() {
    let gpu = Gpu::new();
    let source = "kernel void ask(device int *x [[buffer(0)]]) { x[0] = __METAL_VERSION__; }";
    // MSL specification, 1.5.3: __METAL_VERSION__ is major * 100 + minor * 10.
    for (major, minor) in [(2, 0), (2, 1), (2, 2), (2, 3), (2, 4), (3, 0), (3, 1), (3, 2)] {
        let options = options();
        let status = dc!(DCMetalCompileOptions_SetLanguageVersion(options.0, major, minor));
        if cfg!(target_os = "macos") && status == DC_METAL_UNSUPPORTED && (major, minor) > (3, 0) {
            continue; // 3.1 came with macOS 14, 3.2 with macOS 15
        }
        assert_eq!(status, DC_METAL_OK, "{major}.{minor}");
        let library = gpu.library_with(source, options.0).expect("it compiles");
        let ask = function(&library, "ask", ptr::null_mut()).expect("the function");
        assert_eq!(answer::<i32>(&gpu, &ask), (major * 100 + minor * 10) as i32);
    }
}

pub(crate) fn language_version_unknown_is_unsupported() {
    let options = options();
    for (major, minor) in [(0, 0), (1, 2), (2, 5), (3, 9), (9, 0), (2, u32::MAX), (u32::MAX, 0), (0, 0x20000)] {
        let status = dc!(DCMetalCompileOptions_SetLanguageVersion(options.0, major, minor));
        assert_eq!(status, DC_METAL_UNSUPPORTED, "{major}.{minor}");
    }
}

pub(crate) fn macro_is_defined() {
    let gpu = Gpu::new();
    let options = options();
    let set = |name: &str, value: &str| {
        let (name, value) = (c(name), c(value));
        dc!(DCMetalCompileOptions_SetMacro(options.0, name.as_ptr(), value.as_ptr()))
    };
    for (name, value) in [("ANSWER", "1"), ("_empty9", ""), ("PLUS", "(40 + "), ("ANSWER", "PLUS 2)")] {
        assert_eq!(set(name, value), DC_METAL_OK, "{name}");
    }
    let source = "#ifndef _empty9\n#error not defined\n#endif\n\
                  kernel void ask(device int *x [[buffer(0)]]) { x[0] = ANSWER _empty9; }";
    let library = gpu.library_with(source, options.0).expect("it compiles");
    let ask = function(&library, "ask", ptr::null_mut()).expect("the function");
    assert_eq!(answer::<i32>(&gpu, &ask), 42, "the last definition holds");
}

pub(crate) fn macro_wrong_arguments_are_refused() {
    let options = options();
    let set = |name: &[u8], value: &[u8]| {
        let terminated = |text: &[u8]| [text, b"\0"].concat();
        let (name, value) = (terminated(name), terminated(value));
        dc!(DCMetalCompileOptions_SetMacro(options.0, name.as_ptr().cast(), value.as_ptr().cast()))
    };
    for name in [&b""[..], b"9x", b"a b", b"f(x)", b"a-b", b"a=1", b"\xc3\xa9", b"\xff", b"a\nb"] {
        assert_eq!(set(name, b"1"), DC_METAL_INVALID_ARGUMENT, "{name:?}");
    }
    for value in [&b"1\n#error no"[..], b"\r", b"\xff"] {
        assert_eq!(set(b"GOOD", value), DC_METAL_INVALID_ARGUMENT, "{value:?}");
    }
    let (null, text) = (ptr::null(), c("x"));
    assert_eq!(dc!(DCMetalCompileOptions_SetMacro(options.0, null, text.as_ptr())), DC_METAL_INVALID_ARGUMENT);
    assert_eq!(dc!(DCMetalCompileOptions_SetMacro(options.0, text.as_ptr(), null)), DC_METAL_INVALID_ARGUMENT);
}

pub(crate) fn options_refuse_null() {
    let (none, text) = (DCMetalCompileOptions::NULL, c("x"));
    let invalid = DC_METAL_INVALID_ARGUMENT;
    refused(invalid, attempt(|error| dc!(DCMetalCompileOptions_Create(ptr::null_mut(), error))));
    assert_eq!(dc!(DCMetalCompileOptions_SetMathMode(none, DC_METAL_MATH_SAFE)), invalid);
    assert_eq!(dc!(DCMetalCompileOptions_SetLanguageVersion(none, 3, 0)), invalid);
    assert_eq!(dc!(DCMetalCompileOptions_SetMacro(none, text.as_ptr(), text.as_ptr())), invalid);
    dc!(DCMetalCompileOptions_Release(none));
}

// ------------------------------------------------------------------ libraries

pub(crate) fn library_lists_its_functions_sorted() {
    let gpu = Gpu::new();
    let source = "kernel void zebra() {}\nstatic int helper() { return 1; }\nkernel void Ant() {}\nkernel void mouse() { helper(); }";
    let library = gpu.library(source).expect("it compiles");
    assert_eq!(dc!(DCMetalLibrary_GetFunctionCount(library.0)), 3);
    let name = |index| string(|text, capacity| dc!(DCMetalLibrary_GetFunctionName(library.0, index, text, capacity)));
    assert_eq!([name(0), name(1), name(2)], ["Ant", "mouse", "zebra"]);
    assert_eq!([name(3), name(usize::MAX)], ["", ""], "out of range");
}

pub(crate) fn library_error_names_the_line() {
    let gpu = Gpu::new();
    let wrong = "kernel void bad(device int *x [[buffer(0)]]) {\n\n  x[0] = no_such_name;\n}";
    let Err(failure) = gpu.library(wrong) else { panic!("it compiled") };
    assert_eq!(failure.status, DC_METAL_FAILED);
    assert_eq!(failure.domain, "MTLLibraryErrorDomain");
    assert_eq!(failure.code, 3, "MTLLibraryErrorCompileFailure");
    assert!(failure.message.contains(":3:10: error: "), "line and column: {}", failure.message);
    assert!(failure.message.contains("no_such_name"), "{}", failure.message);
}

pub(crate) fn library_error_text_is_never_cut() {
    let gpu = Gpu::new();
    let name = "u".repeat(20_000);
    let source = format!("kernel void bad(device int *x [[buffer(0)]]) {{ x[0] = {name}; }}");
    let Err(failure) = gpu.library(&source) else { panic!("it compiled") };
    assert!(failure.message.contains(&name), "{} bytes", failure.message.len());
}

pub(crate) fn library_with_warnings_comes_with_them() {
    let gpu = Gpu::new();
    let source = "#warning be careful\nkernel void fine() {}";
    let (mut library, mut error) = (DCMetalLibrary::GARBAGE, DCMetalError::GARBAGE);
    let (text, length, none) = (source.as_ptr().cast(), source.len(), ptr::null_mut());
    let call = |out: *mut DCMetalLibrary, error: *mut DCMetalError| {
        dc!(DCMetalLibrary_CreateWithSource(gpu.device.0, text, length, none, out, error))
    };
    assert_eq!(call(&mut library, &mut error), DC_METAL_OK);
    drop(Owned(library));
    assert!(!error.is_null(), "the warnings");
    let warnings = failure(DC_METAL_OK, error);
    assert_eq!(warnings.domain, "MTLLibraryErrorDomain");
    assert!(warnings.message.contains("be careful"), "{}", warnings.message);
    assert_eq!(call(&mut library, ptr::null_mut()), DC_METAL_OK, "nobody need take them");
    drop(Owned(library));
}

pub(crate) fn library_source_ends_at_its_length() {
    let gpu = Gpu::new();
    let whole = "kernel void one() {}\nkernel void two() {}\n#error beyond the end";
    let end = whole.find("kernel void two").expect("it is there");
    let library = gpu.library(&whole[..end]).expect("it compiles");
    assert_eq!(dc!(DCMetalLibrary_GetFunctionCount(library.0)), 1);
}

pub(crate) fn library_of_nothing_is_empty() {
    let gpu = Gpu::new();
    let library = gpu.library("").expect("it compiles");
    assert_eq!(dc!(DCMetalLibrary_GetFunctionCount(library.0)), 0);
    assert_eq!(string(|text, capacity| dc!(DCMetalLibrary_GetFunctionName(library.0, 0, text, capacity))), "");
}

pub(crate) fn library_wrong_arguments_are_refused() {
    let gpu = Gpu::new();
    let invalid = DC_METAL_INVALID_ARGUMENT;
    let none = ptr::null_mut();
    let make = |device, text: &[u8], error, out: *mut DCMetalLibrary| {
        let start = if text.is_empty() { ptr::null() } else { text.as_ptr().cast() };
        dc!(DCMetalLibrary_CreateWithSource(device, start, text.len(), none, out, error))
    };
    refused(invalid, create(|out, error| make(DCMetalDevice::NULL, b"//", error, out)));
    refused(invalid, create(|out, error| make(gpu.device.0, b"", error, out)));
    refused(invalid, attempt(|error| make(gpu.device.0, b"//", error, ptr::null_mut())));
    let message = refused(invalid, create(|out, error| make(gpu.device.0, b"// caf\xe9", error, out)));
    assert!(message.contains("UTF-8"), "{message}");
}

pub(crate) fn library_label_is_checked() {
    let gpu = Gpu::new();
    let library = gpu.library("kernel void one() {}").expect("it compiles");
    let (good, bad) = (c("sorting"), [0x80u8, 0]);
    assert_eq!(dc!(DCMetalLibrary_SetLabel(library.0, good.as_ptr())), DC_METAL_OK);
    assert_eq!(dc!(DCMetalLibrary_SetLabel(library.0, ptr::null())), DC_METAL_OK);
    assert_eq!(dc!(DCMetalLibrary_SetLabel(library.0, bad.as_ptr().cast())), DC_METAL_INVALID_ARGUMENT);
}

pub(crate) fn library_of_null_has_nothing() {
    let none = DCMetalLibrary::NULL;
    assert_eq!(dc!(DCMetalLibrary_GetFunctionCount(none)), 0);
    assert_eq!(string(|text, capacity| dc!(DCMetalLibrary_GetFunctionName(none, 0, text, capacity))), "");
    assert_eq!(dc!(DCMetalLibrary_SetLabel(none, c("x").as_ptr())), DC_METAL_INVALID_ARGUMENT);
    dc!(DCMetalLibrary_Release(none));
}

// ------------------------------------------------------------------ functions

pub(crate) fn function_outlives_its_library() {
    let gpu = Gpu::new();
    let library = gpu.library("kernel void seven(device int *x [[buffer(0)]]) { x[0] = 7; }").expect("it compiles");
    let seven = function(&library, "seven", ptr::null_mut()).expect("the function");
    drop(library);
    assert_eq!(string(|text, capacity| dc!(DCMetalFunction_GetName(seven.0, text, capacity))), "seven");
    assert_eq!(answer::<i32>(&gpu, &seven), 7);
}

pub(crate) fn function_unknown_is_not_found() {
    let gpu = Gpu::new();
    let library = gpu.library("kernel void there() {}").expect("it compiles");
    for name in ["not_there", "", "There", "there "] {
        let message = refused(DC_METAL_NOT_FOUND, function(&library, name, ptr::null_mut()));
        assert!(message.contains(name), "{message}");
    }
    let constants = create(|out, error| dc!(DCMetalConstants_Create(out, error))).expect("constants");
    refused(DC_METAL_NOT_FOUND, function(&library, "not_there", constants.0));
}

pub(crate) fn function_wrong_arguments_are_refused() {
    let gpu = Gpu::new();
    let library = gpu.library("kernel void there() {}").expect("it compiles");
    let (invalid, none, name, bad) = (DC_METAL_INVALID_ARGUMENT, ptr::null_mut(), c("there"), [0xe9u8, 0]);
    let make = |library, name, out, error| dc!(DCMetalFunction_Create(library, name, none, out, error));
    refused(invalid, create(|out, error| make(DCMetalLibrary::NULL, name.as_ptr(), out, error)));
    refused(invalid, create(|out, error| make(library.0, ptr::null(), out, error)));
    refused(invalid, create(|out, error| make(library.0, bad.as_ptr().cast(), out, error)));
    refused(invalid, attempt(|error| make(library.0, name.as_ptr(), ptr::null_mut(), error)));
    let nothing = DCMetalFunction::NULL;
    assert_eq!(string(|text, capacity| dc!(DCMetalFunction_GetName(nothing, text, capacity))), "");
    dc!(DCMetalFunction_Release(nothing));
}

pub(crate) fn function_analysis_tells_what_a_function_does() {
    let gpu = Gpu::new();
    let source = "kernel void k(device float *y, uint i [[thread_position_in_grid]]) {\n  y[i] = y[i] * 2; }";
    let library = gpu.library(source).expect("it compiles");
    let k = function(&library, "k", ptr::null_mut()).expect("the function");
    let analyse = |buffer: &mut [u8], length: &mut usize| {
        let (text, capacity) = (buffer.as_mut_ptr().cast(), buffer.len());
        attempt(|error| dc!(DCMetalFunction_Analyse(k.0, text, capacity, length, error)))
    };
    let (mut text, mut length) = (vec![1u8; 1024], 0);
    if cfg!(target_os = "macos") {
        refused(DC_METAL_UNSUPPORTED, analyse(&mut text, &mut length));
        assert_eq!((length, text[0]), (0, 0));
        return;
    }
    analyse(&mut text, &mut length).expect("hostmetal tells it");
    assert_eq!(text[length], 0);
    let told = std::str::from_utf8(&text[..length]).expect("text").to_owned();
    let (registers, others): (Vec<&str>, Vec<&str>) = told.lines().partition(|line| line.starts_with("registers "));
    let expected =
        ["access device y write 4 4 0 2 8", "access device y read 4 4 0 2 10", "work 0 0 0 1 0 0 4 4 always"];
    assert_eq!(others, expected);
    // An estimate: two of the thread's own at least, what it loads and where, and two for the address of `y`; no arrays.
    let [registers] = registers[..] else { panic!("{told}") };
    let words: Vec<u32> = registers.split(' ').skip(1).map(|word| word.parse().expect("a number")).collect();
    assert!(matches!(words[..], [thread, uniform, 0, 2, _] if thread >= 2 && uniform >= 2), "{told}");
    // What does not fit is cut; the length is that of the whole.
    let mut short = [1u8; 7];
    analyse(&mut short, &mut length).expect("hostmetal tells it");
    assert_eq!((&short, length), (b"access\0", told.len()));
    analyse(&mut [], &mut length).expect("hostmetal tells it");
    assert_eq!(length, told.len());
}

pub(crate) fn function_analysis_wrong_arguments_are_refused() {
    let gpu = Gpu::new();
    let library = gpu.library("kernel void there() {}").expect("it compiles");
    let there = function(&library, "there", ptr::null_mut()).expect("the function");
    let (invalid, none, mut length) = (DC_METAL_INVALID_ARGUMENT, ptr::null_mut(), 1);
    refused(invalid, attempt(|error| dc!(DCMetalFunction_Analyse(DCMetalFunction::NULL, none, 0, &mut length, error))));
    assert_eq!(length, 0);
    refused(invalid, attempt(|error| dc!(DCMetalFunction_Analyse(there.0, none, 0, ptr::null_mut(), error))));
}

// ------------------------------------------------------------------ function constants

/// MTLDataType values (Apple, Metal/MTLArgument.h).
const FLOAT: u32 = 3;
const HALF: u32 = 16;
const INT: u32 = 29;
const INT4: u32 = 32;
const UINT: u32 = 33;
const SHORT: u32 = 37;
const USHORT: u32 = 41;
const CHAR: u32 = 45;
const UCHAR: u32 = 49;
const BOOL: u32 = 53;

const SUM: &str = "\
    constant int a [[function_constant(0)]];\n\
    constant float b [[function_constant(1)]];\n\
    constant bool c [[function_constant(2)]];\n\
    constant uint d [[function_constant(3)]];\n\
    kernel void sum(device float *x [[buffer(0)]]) { x[0] = float(a) + b + (c ? 1000.0f : 2000.0f) + float(d); }\n\
    kernel void plain(device float *x [[buffer(0)]]) { x[0] = 5.0f; }";

fn constants() -> Owned<DCMetalConstants> {
    create(|out, error| dc!(DCMetalConstants_Create(out, error))).expect("constants")
}

fn at<T>(constants: &Owned<DCMetalConstants>, data_type: u32, value: T, index: usize) -> DCMetalStatus {
    let value = ptr::from_ref(&value).cast::<c_void>();
    dc!(DCMetalConstants_SetAtIndex(constants.0, data_type, value, index))
}

fn named<T>(constants: &Owned<DCMetalConstants>, data_type: u32, value: T, name: &str) -> DCMetalStatus {
    let (value, name) = (ptr::from_ref(&value).cast::<c_void>(), c(name));
    dc!(DCMetalConstants_SetNamed(constants.0, data_type, value, name.as_ptr()))
}

pub(crate) fn constants_specialize_a_function() {
    let gpu = Gpu::new();
    let library = gpu.library(SUM).expect("it compiles");
    // Two specialisations of one function, which do not disturb each other.
    let by_index = constants();
    assert_eq!(at(&by_index, INT, -7i32, 0), DC_METAL_OK);
    assert_eq!(at(&by_index, FLOAT, 0.5f32, 1), DC_METAL_OK);
    assert_eq!(at(&by_index, BOOL, true, 2), DC_METAL_OK);
    assert_eq!(at(&by_index, UINT, 100u32, 3), DC_METAL_OK);
    let first = function(&library, "sum", by_index.0).expect("the function");
    let by_name = constants();
    assert_eq!(named(&by_name, INT, 1i32, "a"), DC_METAL_OK);
    assert_eq!(named(&by_name, FLOAT, 0.25f32, "b"), DC_METAL_OK);
    assert_eq!(named(&by_name, BOOL, false, "c"), DC_METAL_OK);
    assert_eq!(named(&by_name, UINT, 40000u32, "d"), DC_METAL_OK);
    let second = function(&library, "sum", by_name.0).expect("the function");
    drop((by_index, by_name, library));
    assert_eq!(answer::<f32>(&gpu, &first), -7.0 + 0.5 + 1000.0 + 100.0);
    assert_eq!(answer::<f32>(&gpu, &second), 1.0 + 0.25 + 2000.0 + 40000.0);
}

pub(crate) fn constants_of_small_and_vector_types() {
    let gpu = Gpu::new();
    let source = "using namespace metal;\n\
        constant half h [[function_constant(0)]];\n\
        constant short s [[function_constant(1)]];\n\
        constant ushort us [[function_constant(2)]];\n\
        constant char ch [[function_constant(3)]];\n\
        constant uchar uc [[function_constant(4)]];\n\
        constant int4 v [[function_constant(5)]];\n\
        kernel void sum(device float *x [[buffer(0)]]) {\n\
          x[0] = float(h) + float(s) + float(us) + float(ch) + float(uc) + float(v.x + 10 * v.y + 100 * v.z + 1000 * v.w); }";
    let library = gpu.library(&format!("#include <metal_stdlib>\n{source}")).expect("it compiles");
    let values = constants();
    assert_eq!(at(&values, HALF, 0x3800u16, 0), DC_METAL_OK, "0.5 as binary16");
    assert_eq!(at(&values, SHORT, -300i16, 1), DC_METAL_OK);
    assert_eq!(at(&values, USHORT, 60000u16, 2), DC_METAL_OK);
    assert_eq!(at(&values, CHAR, -5i8, 3), DC_METAL_OK);
    assert_eq!(at(&values, UCHAR, 200u8, 4), DC_METAL_OK);
    assert_eq!(at(&values, INT4, [1i32, 2, 3, 4], 5), DC_METAL_OK);
    let sum = function(&library, "sum", values.0).expect("the function");
    assert_eq!(answer::<f32>(&gpu, &sum), 0.5 - 300.0 + 60000.0 - 5.0 + 200.0 + 4321.0);
}

pub(crate) fn constants_missing_are_named() {
    let gpu = Gpu::new();
    let library = gpu.library(SUM).expect("it compiles");
    let values = constants();
    assert_eq!(at(&values, INT, 1i32, 0), DC_METAL_OK);
    for given in [values.0, DCMetalConstants::NULL] {
        let Err(failure) = function(&library, "sum", given) else { panic!("made without its constants") };
        assert_eq!(failure.status, DC_METAL_FAILED, "{failure:?}");
        assert!(failure.domain.starts_with("MTL"), "{failure:?}");
    }
    // A function of the same library that uses none needs none.
    let plain = function(&library, "plain", ptr::null_mut()).expect("the function");
    assert_eq!(answer::<f32>(&gpu, &plain), 5.0);
}

pub(crate) fn constants_unused_do_not_disturb() {
    let gpu = Gpu::new();
    let library = gpu.library("kernel void four(device int *x [[buffer(0)]]) { x[0] = 4; }").expect("it compiles");
    let values = constants();
    assert_eq!(at(&values, FLOAT, 9.0f32, 17), DC_METAL_OK);
    let four = function(&library, "four", values.0).expect("the function");
    assert_eq!(answer::<i32>(&gpu, &four), 4);
}

pub(crate) fn constants_wrong_arguments_are_refused() {
    let values = constants();
    let invalid = DC_METAL_INVALID_ARGUMENT;
    // None, struct, array, 2x2 matrix, texture, sampler, pointer, beyond: no function constants.
    for data_type in [0, 1, 2, 7, 58, 59, 60, 1000, u32::MAX] {
        assert_eq!(at(&values, data_type, [0u64; 8], 0), invalid, "{data_type}");
        assert_eq!(named(&values, data_type, [0u64; 8], "x"), invalid, "{data_type}");
    }
    assert_eq!(at(&values, INT, 1i32, 65535), DC_METAL_OK);
    assert_eq!(at(&values, INT, 1i32, 65536), invalid);
    assert_eq!(at(&values, INT, 1i32, usize::MAX), invalid);
    assert_eq!(named(&values, INT, 1i32, ""), invalid);
    let (one, null, name, bad) = (1i32, ptr::null(), c("x"), [0xc3u8, 0]);
    let value = ptr::from_ref(&one).cast::<c_void>();
    assert_eq!(dc!(DCMetalConstants_SetAtIndex(values.0, INT, null, 0)), invalid);
    assert_eq!(dc!(DCMetalConstants_SetNamed(values.0, INT, null, name.as_ptr())), invalid);
    assert_eq!(dc!(DCMetalConstants_SetNamed(values.0, INT, value, ptr::null())), invalid);
    assert_eq!(dc!(DCMetalConstants_SetNamed(values.0, INT, value, bad.as_ptr().cast())), invalid);
}

pub(crate) fn constants_refuse_null() {
    let (none, one, name) = (DCMetalConstants::NULL, 1i32, c("x"));
    let (invalid, value) = (DC_METAL_INVALID_ARGUMENT, ptr::from_ref(&one).cast::<c_void>());
    refused(invalid, attempt(|error| dc!(DCMetalConstants_Create(ptr::null_mut(), error))));
    assert_eq!(dc!(DCMetalConstants_SetAtIndex(none, INT, value, 0)), invalid);
    assert_eq!(dc!(DCMetalConstants_SetNamed(none, INT, value, name.as_ptr())), invalid);
    dc!(DCMetalConstants_Release(none));
}
