//! The command as a person runs it: a table of good and bad command lines, each with its exit code and what it says,
//! run in an empty folder in which nothing but the named files may appear.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use npyz::WriterBuilder;

#[path = "cli/analyze.rs"]
mod analyze;
#[allow(dead_code, reason = "dcmetal's tests use all of it")]
#[path = "../../dcmetal/tests/common/trace.rs"]
mod trace;

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels")
}

/// Runs `dcmetal` with the words of `line` in `folder`; `@` stands for the folder of the tests' kernels.
fn dcmetal(folder: &Path, line: &str) -> Output {
    let kernels = kernels().display().to_string() + "/";
    let words = line.split_whitespace().map(|word| word.replace('@', &kernels));
    let mut command = Command::new(env!("CARGO_BIN_EXE_dcmetal"));
    // A limit of memory that a test can go over on any machine.
    command.args(words).current_dir(folder).env("HOSTMETAL_MEMORY", "2147483648");
    command.output().expect("dcmetal starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn write_npy<T: npyz::Serialize + npyz::AutoSerialize + Copy>(path: &Path, values: &[T]) {
    let shape = [values.len() as u64];
    let file = std::fs::File::create(path).unwrap();
    let mut npy = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(file).begin_nd().unwrap();
    npy.extend(values.iter().copied()).unwrap();
    npy.finish().unwrap();
}

fn read_npy<T: npyz::Deserialize>(path: &Path) -> Vec<T> {
    npyz::NpyFile::new(std::fs::File::open(path).unwrap()).unwrap().into_vec().unwrap()
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

const SCALE: &str = "--arg random=f32:8:1 --arg zeros=f32:8,save=y.npy --arg f32=2 --arg u32=8";

/// Command line, exit code, and what standard error says. Nothing is left in the folder.
const REFUSED: &[(&str, i32, &str)] = &[
    // The command line.
    ("", 2, "Usage: dcmetal"),
    ("frobnicate", 2, "unrecognized subcommand"),
    ("run @scale.cl scale", 2, "--global"),
    ("run @scale.cl scale --global 1,2,3,4", 2, "at most three dimensions"),
    ("run @scale.cl scale --global 8 --arg f99=1", 2, "`f99` is not a type"),
    ("run @scale.cl scale --global 8 --timeout 0", 2, "above 0"),
    ("translate @scale.cl --std CL9", 2, "CL1.2"),
    ("translate @doubles.cl --fp64 quad", 2, "reject, float, emulate"),
    // Files.
    ("check none.cl", 1, "none.cl: No such file"),
    ("check @../cli.rs", 1, "ends in .cl (OpenCL C) or .metal"),
    ("check @", 1, "ends in .cl"),
    ("translate @scale.metal", 1, "Metal Shading Language already"),
    ("translate @shapes.cl", 1, "shapes.cl:1:"),
    ("translate @scale.cl -o none/out.metal", 1, "none/out.metal: No such file"),
    ("translate @scale.cl --options -cl-nonsense", 1, "--options: build option '-cl-nonsense': not an option"),
    ("translate @include", 1, "no .cl file in it"),
    ("translate @scale.cl @broken.cl --reflect x.json", 1, "--reflect is for one file"),
    ("translate @scale.cl @project/scale.cl", 1, "would both be written to scale.metal"),
    ("translate @scale.cl --diagnostics x.txt", 1, "x.txt: a file of diagnostics ends in .sarif or .json"),
    ("translate --commands @project/outside.json", 1, "is not a .metal file below the folder of results"),
    ("translate --commands @project/unknown.json", 1, "unknown field `optoins`"),
    ("translate --commands @project/bad_option.json", 1, "scale.cl: build option '-frob'"),
    ("translate", 2, "<FILE|DIR>"),
    ("port @project", 2, "--output"),
    (
        "run @scale.cl scale --global 8 --arg in=none.npy --arg zeros=f32:8 --arg f32=2 --arg u32=8",
        1,
        "none.npy: No such file",
    ),
    (
        "run @scale.cl scale --global 8 --arg random=f32:8:1 --arg zeros=f32:8 --arg f32=2 --arg u32=8 --check none.npy",
        1,
        "none.npy: No such file",
    ),
    (
        "run @scale.cl scale --global 8 --arg random=f32:8:1 --arg zeros=f32:8,save=y.png --arg f32=2 --arg u32=8",
        1,
        "y.png: an image",
    ),
    // Double precision.
    ("translate @doubles.cl", 1, "doubles.cl:1:36: error: 'double' is not supported"),
    ("translate @doubles.cl --options --fp64=float --fp64 reject", 1, "'double' is not supported"),
    (
        "run @doubles.cl third --fp64 float --global 8 --arg zeros=f64:8 --arg zeros=f64:8 --arg f64=2",
        1,
        "argument 2 (`a`): the kernel takes `double as float`, not f64",
    ),
    // Kernels.
    ("check @broken.cl", 1, "broken.cl:3:12: error: "),
    ("check @broken.metal", 1, "broken.metal:4:12: error: "),
    ("check @scale.cl --global eight", 2, "is not a number of threads"),
    ("run @scale.cl nope --global 8", 1, "has no kernel `nope`; it has: `scale`"),
    ("run @scale.metal nope --global 8", 1, "has no kernel `nope`; it has: `scale`"),
    // Arguments.
    (
        "run @scale.cl scale --global 8 --arg f32=1",
        1,
        "takes 4 arguments: x: a buffer (`__global const float*`), y: a buffer (`__global float*`), a: a value (`float`), n: a value (`uint`); 1 given",
    ),
    (
        "run @scale.cl scale --global 8 --arg f32=1 --arg zeros=f32:8 --arg f32=2 --arg u32=8",
        1,
        "argument 0 (`x`): wants a buffer, got a value",
    ),
    (
        "run @scale.cl scale --global 8 --arg zeros=f32:8 --arg zeros=f32:8 --arg zeros=f32:1 --arg u32=8",
        1,
        "argument 2 (`a`): the kernel takes a value (`float`), not a buffer",
    ),
    (
        "run @scale.cl scale --global 8 --arg local=16 --arg zeros=f32:8 --arg f32=1 --arg u32=8",
        1,
        "argument 0 (`x`): the kernel takes a buffer (`__global const float*`), not a local size",
    ),
    (
        "run @scale.cl scale --global 8 --arg zeros=i32:8 --arg zeros=f32:8 --arg f32=1 --arg u32=8",
        1,
        "argument 0 (`x`): the kernel takes `__global const float*`, not i32",
    ),
    (
        "run @scale.cl scale --global 8 --arg zeros=f32:8 --arg zeros=f32:8 --arg i32=1 --arg u32=8",
        1,
        "argument 2 (`a`): the kernel takes `float`, not i32",
    ),
    (
        "run @scale.cl scale --global 8 --arg zeros=f32:8 --arg zeros=f32:8 --arg f32x2=1,2 --arg u32=8",
        1,
        "argument 2 (`a`): the kernel takes `float`, not f32x2",
    ),
    (
        "run @shapes.cl sums -I @include --global 4 --arg zeros=f32:3 --arg zeros=f32:1 --arg local=16 --arg i32x4=0,0,0,0",
        1,
        "one element has 16 bytes, the buffer has 12",
    ),
    (
        "run @scale.cl scale --global 8 --arg zeros=f32:1000000000 --arg zeros=f32:8 --arg f32=1 --arg u32=8",
        1,
        "argument 0 (`x`): a buffer of 4000000000 bytes",
    ),
    (
        "run @scale.cl scale --global 8 --arg zeros=f32:2684354560 --arg zeros=f32:8 --arg f32=1 --arg u32=8",
        1,
        "argument 0 (`x`): a buffer of 10737418240 bytes",
    ),
    // Comparisons with an OpenCL implementation.
    ("compare @scale.metal", 1, "only OpenCL C"),
    ("compare @broken.cl", 1, "broken.cl:3:12: error: "),
    ("compare @scale.cl --kernel nope", 1, "has no kernel `nope`; it has: `scale`"),
    ("compare @scale.cl --arg z=f32=1", 1, "--arg z: no kernel that is compared has an argument of that name"),
    ("compare @scale.cl --arg a=i32=1", 1, "argument 2 (`a`): the kernel takes `float`, not i32"),
    ("compare @scale.cl --arg a", 2, "it has no `=`"),
    ("compare @doubles.cl --fp64 float", 1, "would have buffers of different elements"),
    ("compare @scale.cl --global 0 --local 1", 1, "no dimension may be 0"),
    (
        "compare @images.cl --kernel slices --global 4096,4096,256",
        1,
        "argument 0 (`volume`): left out, it would be 68719476736 bytes",
    ),
    (
        "run @images.cl swap --global 1 --arg random=u8:100000x100000x4:1 --arg zeros=u32:1x1x4",
        1,
        "argument 0 (`from`): a buffer of 40000000000 bytes",
    ),
    (
        "run @images.cl swap --global 1 --arg sampler=linear --arg zeros=u32:1x1x4",
        1,
        "argument 0 (`from`): the kernel takes a texture (`read_only image2d_t`), not a sampler",
    ),
    ("compare @scale.cl --global 1000000000", 1, "argument 0 (`x`): left out, it would be 16000000000 bytes"),
    ("compare @two_faced.cl --kernel differs --rounds 1", 4, "launch 0 (differs): y[5] is "),
    ("compare @two_faced.cl --kernel differs --rounds 1", 4, "59 of 1024 numbers differ"),
    (
        "compare @images.cl --kernel soften --arg from=random=i32:4x4:1",
        1,
        "`from`): the kernel takes `read_only image2d_t`, whose texels cannot be i32",
    ),
    ("compare @images.cl --kernel soften --arg from=random=u8:4:1", 1, "takes the shape HxW, HxWx2 or HxWx4, not 4"),
    ("compare @two_faced.cl --kernel rounds --ulp 2", 4, "on OpenCL (3 ULP); 64 of 1024 numbers differ"),
    ("compare @two_faced.cl --kernel crashes", 3, "the OpenCL implementation crashed in launch 0: signal"),
    ("compare @two_faced.cl --kernel hangs --timeout 15", 3, "the OpenCL implementation did not end in launch 0"),
    // Analyses.
    ("analyze none.cl", 1, "none.cl: No such file"),
    ("analyze @broken.metal", 1, "broken.metal:4:12: error: "),
    ("analyze @scale.cl --family apple8,apple77", 2, "there is no family `apple77`; there are apple1, "),
    ("analyze @scale.cl --device m9", 2, "no source tells the rates of `m9`; there are a14, m1, m1-pro, "),
    ("analyze @scale.cl --kernel nope", 1, "it has no kernel `nope`; it has: `scale`"),
    ("analyze @scale.cl --local 0", 1, "a threadgroup has at least one thread"),
    ("analyze @scale.cl --measure", 2, "--global"),
    ("analyze @scale.cl --arg f32=1", 2, "--measure"),
    ("analyze @scale.cl --measure --global 8 --arg f32=1", 1, "takes 4 arguments: "),
    ("analyze @scale.cl --measure --global 8 --arg zeros=f32:8,save=y.npy", 2, "saves nothing"),
    ("analyze @two_faced.cl --measure --global 8", 1, "--measure runs one kernel: name one of `"),
    ("analyze @scale.cl --html none/x.html", 1, "none/x.html: No such file"),
    // Traces.
    ("trace -o t.json", 2, "<RUN>..."),
    ("trace -o t.json -- @scale.cl scale", 2, "--global"),
    (
        "trace -o none/t.json -- @scale.cl scale --global 8 --arg zeros=f32:8 --arg zeros=f32:8 --arg f32=1 --arg u32=8",
        1,
        "none/t.json: No such file",
    ),
    // Grids.
    (
        "run @scale.cl scale --global 0 --arg zeros=f32:8 --arg zeros=f32:8 --arg f32=1 --arg u32=8",
        1,
        "no dimension may be 0",
    ),
    (
        "run @scale.cl scale --global 8 --local 0 --arg zeros=f32:8 --arg zeros=f32:8 --arg f32=1 --arg u32=8",
        1,
        "no dimension may be 0",
    ),
    (
        "run @scale.cl scale --global 4096 --local 4096 --arg zeros=f32:8 --arg zeros=f32:8 --arg f32=1 --arg u32=8",
        1,
        "a threadgroup of 4096x1x1",
    ),
    (
        "run @scale.cl scale --global 9 --local 8 --arg zeros=f32:8 --arg zeros=f32:8 --arg f32=1 --arg u32=8",
        1,
        "a multiple of the threadgroup",
    ),
    (
        "run @scale.cl scale --global 99999999999 --arg zeros=f32:8 --arg zeros=f32:8 --arg f32=1 --arg u32=8",
        1,
        "a dimension has at most 4294967295",
    ),
    (
        "run @shapes.cl sums -I @include --global 4 --arg zeros=f32:16 --arg zeros=f32:1 --arg local=40000 --arg i32x4=0,0,0,0",
        1,
        "the device has 32768",
    ),
    // The device.
    ("run @forever.metal forever --global 1 --arg zeros=u32:1 --timeout 1", 3, "did not finish within 1s"),
];

#[test]
fn refused_command_lines_say_why_and_leave_nothing() {
    let mut wrong = String::new();
    for (line, code, reason) in REFUSED {
        let folder = tempfile::tempdir().unwrap();
        let output = dcmetal(folder.path(), line);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        let left = files(folder.path());
        if output.status.code() != Some(*code) || !err.contains(reason) || !out.is_empty() || !left.is_empty() {
            wrong += &format!(
                "dcmetal {line}\n  wanted code {code} and `{reason}`\n  got {}, left {left:?}, printed {out:?}\n{err}\n",
                output.status
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A store far outside of every buffer, with the device of this repository, which reports it.
#[cfg(target_os = "linux")]
#[test]
fn a_fault_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let output = dcmetal(
        folder.path(),
        "run @outside.metal outside --global 1 --arg zeros=f32:1,save=y.npy --arg u64=70368744177664",
    );
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("kernel `outside` failed"), "{}", text(&output.stderr));
    assert!(files(folder.path()).is_empty());
}

#[test]
fn translations_are_compared_with_their_originals() {
    let folder = tempfile::tempdir().unwrap();
    for (line, said) in [
        ("compare @scale.cl --rounds 3", "scale: equal in 3 rounds\n"),
        ("compare @scale.cl --grid 7 --arg n=u32=5 --arg x=random=f32:7:1 --wild", "scale: equal in 4 rounds\n"),
        ("compare @scale.cl --global 1031", "scale: equal in 4 rounds\n"),
        ("compare @shapes.cl -I @include --global 64 --local 8", "sums: equal in 4 rounds\n"),
        ("compare @doubles.cl --fp64 emulate --kernel third", "third: equal in 4 rounds\n"),
        ("compare @two_faced.cl --kernel rounds --ulp 3", "rounds: equal in 4 rounds\n"),
        ("compare @images.cl --kernel soften --global 16,9", "soften: equal in 4 rounds\n"),
        (
            "compare @images.cl --kernel soften --arg from=random=u8:16x16x4:3 --global 16,16",
            "soften: equal in 4 rounds\n",
        ),
        ("compare @images.cl --kernel swap --arg to=zeros=u8:16x16x4 --global 16,16", "swap: equal in 4 rounds\n"),
        ("compare @images.cl --kernel slices", "slices: equal in 4 rounds\n"),
        (
            "compare @images.cl --kernel stretch --arg at=sampler=normalized,mirrored_repeat",
            "stretch: equal in 4 rounds\n",
        ),
    ] {
        let output = dcmetal(folder.path(), line);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success() && out == said, "{line}: {out}{err}");
    }
}

#[test]
fn both_languages_give_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let x = [1.5f32, -2.0, 0.0, 1e30, 3.25];
    write_npy(&path("x.npy"), &x);
    write_npy(&path("expected.npy"), &x.map(|x| 2.5 * x));
    for file in ["scale.cl", "scale.metal"] {
        let line = format!(
            "run @{file} scale --global 5 --arg in=x.npy --arg zeros=f32:5,save=y.npy --arg f32=2.5 --arg u32=5 --check expected.npy"
        );
        let output = dcmetal(folder.path(), &line);
        assert!(output.status.success(), "{file}: {}", text(&output.stderr));
        let out = text(&output.stdout);
        assert!(out.contains("y against expected.npy: equal"), "{out}");
        assert_eq!(read_npy::<f32>(&path("y.npy")), x.map(|x| 2.5 * x), "{file}");
    }
}

#[test]
fn a_run_is_traced() {
    let folder = tempfile::tempdir().unwrap();
    let read = || {
        let text = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
        trace::check(&serde_json::from_str(&text).unwrap())
    };
    let output = dcmetal(folder.path(), &format!("trace -o t.json -- @scale.cl scale --global 8 {SCALE}"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("times: "), "{}", text(&output.stdout));
    let traced = read();
    assert_eq!((traced.submissions.len(), traced.errors), (1, 0));
    let on_device = ["encode", "queue", "scale", "settle"].map(str::to_owned);
    let untold = ["encode", "queue and device"].map(str::to_owned);
    assert!(traced.submissions[0] == on_device || (traced.submissions[0] == untold && cfg!(not(target_os = "linux"))));
    assert_eq!(traced.compilations.len(), 2);
    assert!(traced.compilations[0].starts_with("library ") && traced.compilations[0].ends_with("scale.cl"));
    assert_eq!(traced.compilations[1], "kernel scale");
    // What fails is traced too.
    let output = dcmetal(folder.path(), "trace -o t.json -- @broken.metal k --global 1");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let traced = read();
    assert_eq!((traced.submissions.len(), traced.compilations.len(), traced.errors), (0, 1, 1));
}

#[test]
fn a_wrong_result_is_a_mismatch() {
    let folder = tempfile::tempdir().unwrap();
    write_npy(&folder.path().join("expected.npy"), &[0.0; 8]);
    let output = dcmetal(folder.path(), &format!("run @scale.cl scale --global 8 {SCALE} --check y=expected.npy"));
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stderr).contains("differs in 8 of 8 elements"), "{}", text(&output.stderr));
    let generous =
        dcmetal(folder.path(), &format!("run @scale.cl scale --global 8 {SCALE} --check 1=expected.npy --tolerance 2"));
    assert!(generous.status.success(), "{}", text(&generous.stderr));
    // A saved result is there for looking at, right or wrong.
    assert_eq!(files(folder.path()), ["expected.npy", "y.npy"]);
}

/// Vectors, local memory, an include folder; sums of 4 lanes over groups of 2, checked against sums made here.
#[test]
fn local_memory_and_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let x: Vec<f32> = (0..16).map(|i| i as f32).collect();
    write_npy(&folder.path().join("x.npy"), &x);
    let line = "run @shapes.cl sums -I @include --global 4 --local 2 --arg in=x.npy --arg zeros=f32:2,save=y.npy --arg local=16 --arg i32x4=100,1,1,1000";
    let output = dcmetal(folder.path(), line);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let expected: Vec<f32> = x.chunks(8).map(|group| 1100.0 + group.iter().sum::<f32>()).collect();
    assert_eq!(read_npy::<f32>(&folder.path().join("y.npy")), expected);
}

/// Images: bytes as fractions, a sampler, and a texture saved as the picture it is.
#[test]
fn images_and_samplers() {
    let folder = tempfile::tempdir().unwrap();
    let (width, height) = (5u32, 3u32);
    let photo = image::RgbaImage::from_fn(width, height, |x, y| {
        image::Rgba([(x * 50) as u8, (y * 100) as u8, (x * y * 25) as u8, 255])
    });
    photo.save(folder.path().join("photo.png")).unwrap();
    let line = "run @images.cl soften --global 5,3 --arg in=photo.png:rgba --arg sampler=clamp_to_edge --arg zeros=u8:3x5x4,save=soft.png";
    let output = dcmetal(folder.path(), line);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let soft = image::open(folder.path().join("soft.png")).unwrap().into_rgba8();
    let expected = image::RgbaImage::from_fn(width, height, |x, y| {
        let (right, below) = ((x + 1).min(width - 1), (y + 1).min(height - 1));
        let near = [photo.get_pixel(x, y), photo.get_pixel(right, y), photo.get_pixel(x, below)];
        image::Rgba([0, 1, 2, 3].map(|c| (near.iter().map(|p| f64::from(p[c])).sum::<f64>() / 3.0).round() as u8))
    });
    assert_eq!(soft, expected);

    // Beside an integer image the same bytes are whole numbers.
    let line = "run @images.cl swap --global 5,3 --arg in=photo.png:rgba --arg zeros=u32:3x5x4,save=swapped.npy";
    let output = dcmetal(folder.path(), line);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let swapped: Vec<u32> = photo.pixels().flat_map(|p| [2, 1, 0, 3].map(|c| u32::from(p[c]))).collect();
    assert_eq!(read_npy::<u32>(&folder.path().join("swapped.npy")), swapped);
}

/// `--fp64 emulate` takes and gives f64; each number is rounded as the processor here rounds it.
#[test]
fn doubles_are_emulated() {
    let folder = tempfile::tempdir().unwrap();
    let x: Vec<f64> = (1..=8).map(|i| 1.0 / f64::from(i)).collect();
    write_npy(&folder.path().join("x.npy"), &x);
    let line =
        "run @doubles.cl third --fp64 emulate --global 8 --arg in=x.npy --arg zeros=f64:8,save=y.npy --arg f64=0.7";
    let output = dcmetal(folder.path(), line);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let expected: Vec<f64> = x.iter().map(|x| 0.7 * x / 3.0).collect();
    assert_eq!(read_npy::<f64>(&folder.path().join("y.npy")), expected);
}

/// `--fp64 float` takes and gives f32, and says so.
#[test]
fn doubles_are_demoted() {
    let folder = tempfile::tempdir().unwrap();
    let x = [1f32, 2.0, 3.0];
    write_npy(&folder.path().join("x.npy"), &x);
    let line =
        "run @doubles.cl third --fp64 float --global 3 --arg in=x.npy --arg zeros=f32:3,save=y.npy --arg f32=0.75";
    let output = dcmetal(folder.path(), line);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr).matches("its elements are 4 bytes wide").count(), 1, "{}", text(&output.stderr));
    assert_eq!(read_npy::<f32>(&folder.path().join("y.npy")), x.map(|x| 0.75 * x / 3.0));
}

/// Two devices of hostmetal's, in one peer group.
#[cfg(target_os = "linux")]
#[test]
fn devices_are_told_with_their_places() {
    let devices = |json: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dcmetal"));
        command.arg("devices").args(json).env("HOSTMETAL_DEVICES", "2");
        command
            .env("HOSTMETAL_DEVICE_0", "location=slot,peer_group=7")
            .env("HOSTMETAL_DEVICE_1", "location=external,peer_group=7");
        let output = command.output().expect("dcmetal starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let json: serde_json::Value = serde_json::from_str(&devices(&["--json"])).expect("JSON");
    for (at, location) in ["slot 0", "external 0"].into_iter().enumerate() {
        let device = &json["devices"][at];
        assert_eq!(device["location"], location);
        assert_eq!(device["peer_group"], serde_json::json!({ "id": 7, "index": at, "count": 2 }));
    }
    let lines = devices(&[]);
    for words in [["0", "slot 0", "7: 2"], ["1", "external 0", "7: 2"]] {
        assert!(
            lines.lines().any(|line| line.trim().starts_with(words[0]) && words.iter().all(|word| line.contains(word))),
            "{lines}"
        );
    }
}

#[test]
fn json_is_json() {
    let folder = tempfile::tempdir().unwrap();
    let json = |line: &str| -> serde_json::Value {
        let output = dcmetal(folder.path(), line);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{line}: {error}"))
    };
    let devices = json("devices --json");
    assert!(devices["devices"][0]["max_buffer_bytes"].as_u64().unwrap() > 0);
    for file in ["scale.cl", "scale.metal"] {
        let check = json(&format!("check @{file} --json"));
        assert_eq!(check["kernels"][0]["name"], "scale");
        let arguments = check["kernels"][0]["arguments"].as_array().unwrap();
        let names: Vec<_> = arguments.iter().map(|argument| argument["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["x", "y", "a", "n"]);
        let accesses: Vec<_> = arguments.iter().map(|argument| argument["access"].as_str().unwrap()).collect();
        assert_eq!(accesses, ["read", "read-write", "read", "read"]);
    }
    // Which textures stand for an image.
    let source = "kernel void k(read_only image2d_t any, read_only image2d_t none, global float* out) {
        *out = get_image_channel_data_type(any) == CLK_FLOAT ? read_imagef(any, (int2)(0)).x : read_imageui(any, (int2)(0)).x; }";
    std::fs::write(folder.path().join("images.cl"), source).unwrap();
    let check = json("check images.cl --json");
    let textures = |at: usize| check["kernels"][0]["arguments"][at]["textures"].clone();
    let both = serde_json::json!([{"component": "float", "index": 0}, {"component": "uint", "index": 1}]);
    assert_eq!([textures(0), textures(1)], [both, serde_json::json!([])]);
    let lines = text(&dcmetal(folder.path(), "check images.cl").stdout);
    for row in [("any", "index 0, 1"), ("none", "index none")] {
        assert!(lines.lines().any(|line| line.contains(row.0) && line.ends_with(row.1)), "{lines}");
    }
    let run = json(&format!("run @scale.cl scale --global 8 {SCALE} --json"));
    assert_eq!(run["outputs"][0]["argument"], "y");
    assert_eq!(run["outputs"][0]["shape"][0], 8);
    assert!(run["times"]["run_ms"].as_f64().unwrap() > 0.0);
}

/// The analysis of a kernel with a function that it calls: a screen for people, all of it as JSON, and what a run says of it.
#[test]
fn what_a_kernel_does_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let out = |line: &str| {
        let output = dcmetal(folder.path(), line);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let json = |line: &str| -> serde_json::Value { serde_json::from_str(&out(line)).unwrap() };
    let lines = out("check @product.cl --global 64,64");
    assert!(lines.lines().count() <= 24, "{lines}");
    for row in [
        "  threadgroup: 32x32x1 of a grid of 64x64x1 threads: the execution width, by what it leaves of the kernel's threads",
        "  has a barrier (lines 16, 19), local memory (line 10), a position or size of work-groups (lines 5, 11): results can depend on",
        "  reads global b 4 bytes contiguous line 5",
        "  writes global c 4 bytes contiguous line 21",
        "  writes local 4 bytes contiguous lines 5, 14",
        "  one thread, branches as taken: 2 integer operations, 4 bytes written",
        "    each round of the loop in line 13: 16 flops, 51 integer operations, 8 bytes read",
        "  arithmetic intensity: 0 to 2 flops per byte of global memory, by the rounds of the loops in line 13, near 2 with many rounds; caches not counted",
    ] {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(lines.lines().any(|line| words(line).starts_with(&words(row))), "{row}\n{lines}");
    }
    // What accesses waste: rows of four floats of which one is used, a column of a tile of 32 x 32, and one of 33 x 32.
    let source = "kernel void waste(global const float *x, global float *y, local float *t) {
        int i = get_global_id(0), l = get_local_id(0);
        t[32 * l] = x[4 * i]; barrier(CLK_LOCAL_MEM_FENCE); y[i] = t[33 * l]; }";
    std::fs::write(folder.path().join("waste.cl"), source).unwrap();
    let waste = out("check waste.cl");
    let row = |start: &str| {
        waste
            .lines()
            .find(|line| line.starts_with(start))
            .map(|line| line.split("  ").map(str::trim).collect::<Vec<_>>())
    };
    assert!(row("  reads   global x").is_some_and(|cells| cells.contains(&"uses 25 % of lines")), "{waste}");
    assert!(
        row("  writes  local t").is_some_and(|cells| cells.contains(&"bank conflicts, 32 times as long")),
        "{waste}"
    );
    assert_eq!(waste.matches("bank conflicts").count() + waste.matches("of lines").count(), 2, "{waste}");
    let accesses = json("check waste.cl --json")["kernels"][0]["analysis"]["accesses"].clone();
    let told: Vec<_> = accesses
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["used_part"].clone(), one["bank_conflicts"].clone()))
        .collect();
    let null = serde_json::Value::Null;
    assert_eq!(
        told,
        [(null.clone(), 32.0.into()), (0.25.into(), null.clone()), (1.0.into(), null.clone()), (null, 1.0.into())]
    );
    let check = json("check @product.cl --global 64,64 --json");
    let kernel = &check["kernels"][0];
    assert_eq!(kernel["threadgroup"]["size"], serde_json::json!([32, 32, 1]));
    assert!(kernel["threadgroup"]["reason"].as_str().unwrap().contains("2 barriers"));
    let analysis = &kernel["analysis"];
    assert_eq!(
        (&analysis["facts"][0]["kind"], &analysis["facts"][0]["at"]["line"]),
        (&"group_position".into(), &5.into())
    );
    assert!(analysis["depends_on_threadgroups"].as_array().unwrap().contains(&"barrier".into()));
    assert_eq!(analysis["work"]["loops"][0]["round"]["counts"]["flops"], 16);
    assert_eq!(analysis["work"]["loops"][0]["at"]["line"], 13);
    let access = analysis["accesses"].as_array().unwrap().iter().find(|access| access["argument"] == "b").unwrap();
    assert_eq!(
        (&access["at"]["line"], &access["bytes"], &access["pattern"], &access["pattern_y"]),
        (&5.into(), &4.into(), &"contiguous".into(), &"even".into())
    );
    let intensity = &analysis["intensity"];
    assert_eq!(
        (&intensity["kind"], &intensity["least"], &intensity["limit"]),
        (&"between".into(), &0.0.into(), &2.0.into())
    );

    // What a choice rests on has its line.
    let whole = out("check @product.cl --global 65,7");
    assert!(
        whole.contains("and the kernel has a position or size of work-groups (") && whole.contains("product.cl:5)")
    );
    let source = "kernel void k(global uint *y, uint n)\n{\n    uint sum = 0;\n    for (uint i = 0; i < n; i++) sum ^= i;\n\
        y[get_global_id(0)] = sum;\n}\n";
    std::fs::write(folder.path().join("loops.cl"), source).unwrap();
    let why = "few, so that all cores have some of 4 threadgroups, as each thread runs a loop whose rounds the text does not tell \
        (loops.cl:4); the last are partial";
    assert!(
        out("check loops.cl --global 203")
            .contains(&format!("  threadgroup: 64x1x1 of a grid of 203x1x1 threads: {why}"))
    );
    let reason = json("check loops.cl --global 203 --json")["kernels"][0]["threadgroup"]["reason"].clone();
    assert!(reason.as_str().unwrap().contains(why), "{reason}");
    assert!(out("run loops.cl k --global 203 --arg zeros=u32:203 --arg u32=9").contains(why));

    // What a kernel cannot have is told of that kernel.
    assert!(
        out("check @scale.cl --global 0").contains("  no threadgroup: kernel `scale`: a grid of 0x1x1: no dimension")
    );
    let refused = json("check @scale.cl --global 0 --json")["kernels"][0]["threadgroup"].clone();
    assert!(refused["size"].is_null() && refused["reason"].as_str().unwrap().contains("no dimension may be 0"));

    // A grid that nobody named has no choice. Apple's Metal tells nothing of MSL.
    assert!(!out("check @product.cl").contains("threadgroup: "));
    assert_eq!(json("check @product.cl --json")["kernels"][0]["threadgroup"], serde_json::Value::Null);
    let of_msl = if cfg!(target_os = "linux") {
        "results do not depend on the size of threadgroups"
    } else {
        "what it does is unknown"
    };
    assert!(out("check @scale.metal").contains(of_msl));
    let analysis = json("check @scale.metal --json")["kernels"][0]["analysis"].clone();
    assert_eq!(analysis.is_null(), cfg!(target_os = "macos"));

    assert!(out("check @scale.cl").contains("\n  results do not depend on the size of threadgroups\n"));

    let run = out(&format!("run @scale.cl scale --global 8 --local 4 {SCALE}"));
    assert!(run.contains("threadgroups of 4x1x1 of a grid of 8x1x1 threads: named by the grid; "), "{run}");
    assert!(
        run.contains("\n  arithmetic intensity: 0.125 flops per byte of global memory, caches not counted\n"),
        "{run}"
    );
    let run = json(&format!("run @scale.cl scale --global 8 {SCALE} --json"));
    assert_eq!(
        (&run["threadgroup"], &run["analysis"]["intensity"]["flops_per_byte"]),
        (&serde_json::json!([8, 1, 1]), &0.125.into())
    );
    assert!(run["threadgroup_reason"].as_str().unwrap().starts_with("8x1x1 of a grid of 8x1x1 threads: all threads"));
}

#[test]
fn what_a_kernel_prints_comes_first_and_what_is_lost_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let output = dcmetal(folder.path(), "run @prints.cl count --global 1 --arg i32=2");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("line 0\nline 1\ncount on "), "{}", text(&output.stdout));
    assert_eq!(text(&output.stderr), "");
    let output = dcmetal(folder.path(), "run @prints.cl count --global 1 --arg i32=2 --json");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("nothing but JSON");
    assert_eq!((&document["printed"], &document["printed_lost"]), (&"line 0\nline 1\n".into(), &0.into()));
    // Each line takes two of the 2^18 - 3 words that the buffer has.
    let output = dcmetal(folder.path(), "run @prints.cl count --global 1 --arg i32=200000");
    assert!(text(&output.stderr).contains("warning: the output of 68930 calls of printf is lost"));
}

#[test]
fn translation_is_deterministic_and_runs() {
    let folder = tempfile::tempdir().unwrap();
    let printed = dcmetal(folder.path(), "translate @scale.cl");
    assert!(printed.status.success(), "{}", text(&printed.stderr));
    let line = "translate @scale.cl -o out.metal --reflect out.json";
    assert!(dcmetal(folder.path(), line).status.success());
    assert_eq!(std::fs::read(folder.path().join("out.metal")).unwrap(), printed.stdout);
    let reflection: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("out.json")).unwrap()).unwrap();
    assert_eq!(reflection["kernels"][0]["name"], "scale");
    let check = dcmetal(folder.path(), "check out.metal");
    assert!(check.status.success(), "{}", text(&check.stderr));
    assert!(text(&check.stdout).contains("kernel scale"));
}

/// A folder with files that translate, in two variants by their options, and files that do not.
#[test]
fn projects_are_translated_whole() {
    let folder = tempfile::tempdir().unwrap();
    let output = dcmetal(
        folder.path(),
        "translate @project --commands @project/commands.json -I @include -o out --diagnostics found.sarif -j 3",
    );
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.ends_with("error: 2 of 6 files not translated\n"), "{err}");
    let lines: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    let [translated, rejected, first, second] = &lines[..] else { panic!("{out}") };
    assert_eq!(translated[..], ["translated", "4", "files", "4", "kernels"]);
    assert_eq!(rejected[..], ["rejected", "2", "files"]);
    for reason in [first, second] {
        assert_eq!(reason[..2], ["1", "file"], "{out}");
    }
    assert!(out.contains("use of undeclared identifier '…'") && out.contains("bit-fields are not supported"), "{out}");
    assert_eq!(files(folder.path()), ["found.sarif", "out"]);
    assert_eq!(
        files(&folder.path().join("out")),
        ["by4.json", "by4.metal", "by8.json", "by8.metal", "deep", "scale.json", "scale.metal"]
    );
    assert_eq!(files(&folder.path().join("out/deep")), ["sums.json", "sums.metal"]);
    let read = |name: &str| std::fs::read_to_string(folder.path().join("out").join(name)).unwrap();
    assert!(read("by4.metal").contains("*= 4.0f") && read("by8.metal").contains("*= 8.0f"));

    // The same file alone gives the same text.
    let alone = dcmetal(folder.path(), "translate @project/scale.cl");
    assert_eq!(text(&alone.stdout), read("scale.metal"));

    let sarif: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("found.sarif")).unwrap()).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let wrong = &results.iter().find(|r| r["message"]["text"].as_str().unwrap().contains("'wrong'")).unwrap();
    assert_eq!((wrong["level"].as_str(), wrong["ruleId"].as_str()), (Some("error"), Some("rejected")));
    let place = &wrong["locations"][0]["physicalLocation"];
    assert!(place["artifactLocation"]["uri"].as_str().unwrap().ends_with("/project/deep/undeclared.cl"));
    // `wrong` stands behind two characters of two bytes in its line.
    assert_eq!(place["region"], serde_json::json!({ "startLine": 3, "startColumn": 16, "endColumn": 21 }));
}

#[test]
fn ports_have_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let output = dcmetal(folder.path(), "port @project -I @include -o ported --diagnostics all.json");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(out.ends_with("report      ported/report/index.html\n"), "{out}");
    let ported = folder.path().join("ported");
    assert_eq!(files(&ported), ["deep", "report", "scale.json", "scale.metal"]);
    let page = |name: &str| std::fs::read_to_string(ported.join("report").join(name)).unwrap();
    let overview = page("index.html");
    for (file, link, state) in [
        ("scale.cl", "files/scale.html", "translated, compiles"),
        ("deep/sums.cl", "files/deep/sums.html", "translated, compiles"),
        ("deep/undeclared.cl", "files/deep/undeclared.html", "rejected"),
    ] {
        let row = overview.split("<tr>").find(|row| row.contains(&format!("href=\"{link}\""))).expect("a row");
        assert!(row.contains(file) && row.contains(state), "{row}");
    }
    let rejected = page("files/deep/undeclared.html");
    assert!(rejected.contains("<span class=\"mark\">wrong</span>") && rejected.contains("href=\"../../index.html\""));
    assert!(rejected.contains("<b>error: </b>use of undeclared identifier 'wrong'"), "{rejected}");
    let pair = page("files/scale.html");
    assert!(pair.contains("__kernel") && pair.contains(">kernel<") && pair.contains("[[buffer("), "{pair}");
    let all: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("all.json")).unwrap()).unwrap();
    let list = all["files"].as_array().unwrap();
    assert_eq!(list.iter().map(|f| f["translated"] == true).collect::<Vec<_>>(), [false, true, false, true]);
    assert_eq!(list[2]["diagnostics"][0]["at"]["line"], 3);
}

#[test]
fn help_has_examples_and_exit_codes() {
    let folder = tempfile::tempdir().unwrap();
    let help = text(&dcmetal(folder.path(), "--help").stdout);
    assert!(help.contains("Exit codes:") && help.contains("the deadline"), "{help}");
    for (command, example) in [
        ("translate", "dcmetal translate blur.cl"),
        ("port", "dcmetal port kernels/ -o ported/"),
        ("check", "dcmetal check blur.cl"),
        ("analyze", "dcmetal analyze transpose.metal"),
        ("run", "dcmetal run saxpy.cl saxpy --global 1000"),
    ] {
        let help = text(&dcmetal(folder.path(), &format!("{command} --help")).stdout);
        assert!(help.contains(example), "{help}");
    }
}
