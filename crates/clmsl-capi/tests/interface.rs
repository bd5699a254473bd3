//! The C interface called as C calls it, wrong calls included. Fit for Miri and the sanitizers.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

use clmsl_capi::*;

const TWICE: &str = "__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2.0f; }";

fn options(text: &CStr) -> *mut COptions {
    let mut options = null_mut();
    // SAFETY: a string and a writable place.
    let status = unsafe { clmsl_options_create(text.as_ptr(), &mut options, null_mut(), 0) };
    assert_eq!(status, Status::Ok);
    options
}

fn translate(source: &str, options: *const COptions) -> *mut CTranslation {
    let mut translation = null_mut();
    let (at, length) = (source.as_ptr().cast(), source.len());
    // SAFETY: a string, a text of this length, living options and a writable place.
    let status = unsafe { clmsl_translate(c"t.cl".as_ptr(), at, length, options, &mut translation) };
    assert_eq!(status, Status::Ok);
    translation
}

fn text<'a>(text: *const c_char) -> &'a str {
    assert!(!text.is_null());
    // SAFETY: the interface returns strings that live as long as their object, which the tests keep.
    unsafe { CStr::from_ptr(text) }.to_str().expect("UTF-8")
}

fn msl<'a>(translation: *const CTranslation) -> Option<&'a str> {
    let mut length = usize::MAX;
    // SAFETY: a living object and a writable place.
    let at = unsafe { clmsl_translation_msl(translation, &mut length) };
    let found = (!at.is_null()).then(|| text(at));
    assert_eq!(length, found.map_or(0, str::len));
    found
}

fn diagnostics<'a>(translation: *const CTranslation) -> Vec<(u32, u32, u32, &'a str, &'a str, &'a str)> {
    // SAFETY: a living object.
    let count = unsafe { clmsl_translation_diagnostic_count(translation) };
    let one = |index| {
        let mut d = CDiagnostic {
            severity: 9,
            line: 0,
            column: 0,
            reserved: 9,
            file: null(),
            message: null(),
            rendered: null(),
        };
        // SAFETY: a living object and a writable place.
        let status = unsafe { clmsl_translation_diagnostic(translation, index, &mut d) };
        assert_eq!((status, d.reserved), (Status::Ok, 0));
        (d.severity, d.line, d.column, text(d.file), text(d.message), text(d.rendered))
    };
    (0..count).map(one).collect()
}

fn release(translation: *mut CTranslation, options: *mut COptions) {
    // SAFETY: released once.
    unsafe { clmsl_translation_release(translation) };
    // SAFETY: released once.
    unsafe { clmsl_options_release(options) };
}

#[test]
fn a_program_gives_text_and_reflection() {
    let translation = translate(TWICE, null());
    assert!(msl(translation).is_some_and(|msl| msl.contains("kernel void twice(device float* x [[buffer(0)]]")));
    // SAFETY: a living object; the length is not wanted.
    let reflection = text(unsafe { clmsl_translation_reflection(translation, null_mut()) });
    let json: serde_json::Value = serde_json::from_str(reflection).expect("JSON");
    assert_eq!(json["kernels"][0]["name"], "twice");
    assert_eq!(json["kernels"][0]["args"][0]["kind"], "buffer");
    assert!(diagnostics(translation).is_empty());
    release(translation, null_mut());
}

#[test]
fn a_rejected_program_says_where_and_why() {
    let translation = translate("__kernel void k(__global int *x) {\n  x[0] = y;\n}\n", null());
    assert_eq!(msl(translation), None);
    let found = diagnostics(translation);
    let [(0, 2, 10, "t.cl", message, rendered)] = found[..] else { panic!("{found:?}") };
    assert!(message.contains("'y'"), "{message}");
    assert!(rendered.starts_with("t.cl:2:10: error: ") && rendered.ends_with("^\n"), "{rendered}");
    release(translation, null_mut());
}

#[test]
fn options_and_macros_count() {
    let made = options(c"-D N=3 -cl-std=CL2.0");
    // SAFETY: a living object and strings.
    assert_eq!(unsafe { clmsl_options_define(made, c"F(x)".as_ptr(), c"((x) + N)".as_ptr()) }, Status::Ok);
    // SAFETY: as above; a null value means 1.
    assert_eq!(unsafe { clmsl_options_define(made, c"ONE".as_ptr(), null()) }, Status::Ok);
    let source = "__kernel void k(__global int *x) { x[0] = F(4) * 0 + 70 + ONE + __OPENCL_C_VERSION__ * 0; }";
    let translation = translate(source, made);
    let msl = msl(translation).expect("it is translated");
    assert!(msl.contains("(4 + 3)") && msl.contains("+ 1") && msl.contains("200"), "{msl}");
    release(translation, made);
}

#[test]
fn a_bad_option_is_named_and_cut_to_the_buffer() {
    let mut made = null_mut();
    let mut message = [b'x' as c_char; 64];
    let (at, room) = (message.as_mut_ptr(), message.len());
    // SAFETY: a string, a writable place and a buffer of this size.
    let status = unsafe { clmsl_options_create(c"-frobnicate".as_ptr(), &mut made, at, room) };
    assert_eq!((status, made.is_null()), (Status::BadOption, true));
    assert_eq!(text(message.as_ptr()), "build option '-frobnicate': not an option of OpenCL");
    let mut short = [b'x' as c_char; 6];
    // SAFETY: as above.
    unsafe { clmsl_options_create(c"-frobnicate".as_ptr(), &mut made, short.as_mut_ptr(), 6) };
    assert_eq!(text(short.as_ptr()), "build");
}

/// What the callback of the test below saw, and the text it hands out.
struct Asked {
    seen: Vec<String>,
    text: String,
}

unsafe extern "C" fn include(
    user: *mut c_void,
    path: *const c_char,
    angled: c_int,
    from: *const c_char,
    found: *mut CIncluded,
) -> c_int {
    // SAFETY: the test passes its own `Asked`, which nothing else uses during the call.
    let asked = unsafe { &mut *user.cast::<Asked>() };
    asked.seen.push(format!("{} {angled} {}", text(path), text(from)));
    if text(path) != "n.h" {
        return 0;
    }
    asked.text = "#define N 5\n".to_owned();
    let answer = CIncluded { name: null(), text: asked.text.as_ptr().cast(), length: asked.text.len() };
    // SAFETY: the interface passes a writable place.
    unsafe { found.write(answer) };
    1
}

#[test]
fn includes_come_from_the_callback() {
    let made = options(c"");
    let mut asked = Asked { seen: Vec::new(), text: String::new() };
    let user = (&raw mut asked).cast();
    // SAFETY: a living object; the function fits its user data, which outlives the translations.
    assert_eq!(unsafe { clmsl_options_set_include(made, Some(include), user) }, Status::Ok);
    let good = translate("#include \"n.h\"\n__kernel void k(__global int *x) { x[0] = N; }", made);
    assert!(msl(good).is_some_and(|msl| msl.contains("x[0] = 5;")));
    let bad = translate("#include <m.h>\n__kernel void k(__global int *x) { x[0] = N; }", made);
    assert_eq!(msl(bad), None);
    assert_eq!(asked.seen, ["n.h 0 t.cl", "m.h 1 t.cl"]);
    release(good, null_mut());
    release(bad, made);
}

#[test]
fn includes_come_from_the_file_system_only_when_asked() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("clmsl include");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("n.h"), "#define N 6\n").expect("a file");
    let text = std::ffi::CString::new(format!("-I \"{}\"", folder.display())).expect("no NUL");
    let made = options(&text);
    let source = "#include \"n.h\"\n__kernel void k(__global int *x) { x[0] = N; }";
    let without = translate(source, made);
    assert_eq!(msl(without), None);
    // SAFETY: a living object.
    assert_eq!(unsafe { clmsl_options_read_files(made) }, Status::Ok);
    let with = translate(source, made);
    assert!(msl(with).is_some_and(|msl| msl.contains("x[0] = 6;")));
    release(without, null_mut());
    release(with, made);

    // A file in an earlier folder that is no text is not passed over for a later one.
    let earlier = folder.join("earlier");
    std::fs::create_dir_all(&earlier).expect("a folder");
    std::fs::write(earlier.join("n.h"), b"#define N \xff\n").expect("a file");
    let both = format!("-I \"{}\" -I \"{}\"", earlier.display(), folder.display());
    let made = options(&std::ffi::CString::new(both).expect("no NUL"));
    // SAFETY: a living object.
    assert_eq!(unsafe { clmsl_options_read_files(made) }, Status::Ok);
    let broken = translate(source, made);
    assert_eq!(msl(broken), None);
    release(broken, made);
}

#[test]
fn wrong_calls_are_answered() {
    let mut translation = null_mut();
    let bad = c"\xff";
    let null_options: *mut COptions = null_mut();
    let name = c"t".as_ptr();
    let answers = [
        // SAFETY: null is answered.
        unsafe { clmsl_options_create(null(), null_mut(), null_mut(), 0) },
        // SAFETY: null is answered.
        unsafe { clmsl_options_define(null_options, name, null()) },
        // SAFETY: null is answered.
        unsafe { clmsl_options_set_include(null_options, Some(include), null_mut()) },
        // SAFETY: null is answered.
        unsafe { clmsl_options_read_files(null_options) },
        // SAFETY: null is answered.
        unsafe { clmsl_translate(null(), name, 1, null(), &mut translation) },
        // SAFETY: null is answered.
        unsafe { clmsl_translate(name, null(), 0, null(), &mut translation) },
        // SAFETY: null is answered.
        unsafe { clmsl_translate(name, name, 1, null(), null_mut()) },
        // SAFETY: null is answered.
        unsafe { clmsl_translation_diagnostic(null(), 0, null_mut()) },
    ];
    assert_eq!(answers, [Status::InvalidArgument; 8]);
    // SAFETY: a string that is not UTF-8 and a writable place.
    assert_eq!(unsafe { clmsl_translate(name, bad.as_ptr(), 1, null(), &mut translation) }, Status::NotUtf8);
    assert!(translation.is_null());
    assert_eq!(msl(null()), None);
    // SAFETY: null is answered.
    assert_eq!(unsafe { clmsl_translation_diagnostic_count(null()) }, 0);
    release(null_mut(), null_mut());
    assert_eq!(clmsl_abi_version(), 1);
}
