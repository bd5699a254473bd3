//! Sources that are compiled again: what is found, and what must not be.

mod common;

use common::gpu;
use dcmetal::{Accelerator, CompileOptions, Constants, Grid, Kernel, Library, MathMode, Result, args, clmsl};

const MSL: &str = "#ifndef M
#define M 1
#endif
constant uint N [[function_constant(0)]];
kernel void fixed(device uint* y [[buffer(0)]]) { *y = M; }
kernel void given(device uint* y [[buffer(0)]]) { *y = N; }";

const CL: &str = "#ifndef M
#define M 1
#endif
kernel void fixed(global uint* y) { *y = M; }";

/// What the kernel writes.
fn written(gpu: &Accelerator, kernel: &Kernel) -> u32 {
    let mut y = gpu.buffer_zeroed(1).unwrap();
    kernel.launch(Grid::linear(1), args![&mut y]).unwrap().wait().unwrap();
    y.to_vec().unwrap()[0]
}

fn macros(value: &str) -> Vec<(String, String)> {
    vec![("M".to_owned(), value.to_owned())]
}

/// Each is compiled twice; only then are there hits.
#[test]
fn only_the_same_source_with_the_same_options_is_found() {
    type Compile = fn(&Accelerator) -> Result<Library>;
    let cases: [(&str, Compile, u32); 11] = [
        ("MSL", |gpu| gpu.compile_msl(MSL), 1),
        ("another text", |gpu| gpu.compile_msl(&MSL.replace("M 1", "M 2")), 2),
        ("a macro", |gpu| gpu.compile_msl_with(MSL, &CompileOptions { macros: macros("3"), ..Default::default() }), 3),
        (
            "its value",
            |gpu| gpu.compile_msl_with(MSL, &CompileOptions { macros: macros("4"), ..Default::default() }),
            4,
        ),
        ("a name", |gpu| gpu.compile_msl_with(MSL, &CompileOptions { name: "m".into(), ..Default::default() }), 1),
        (
            "math",
            |gpu| gpu.compile_msl_with(MSL, &CompileOptions { math_mode: Some(MathMode::Safe), ..Default::default() }),
            1,
        ),
        (
            "version",
            |gpu| gpu.compile_msl_with(MSL, &CompileOptions { language_version: Some((3, 0)), ..Default::default() }),
            1,
        ),
        ("OpenCL C", |gpu| gpu.compile_opencl(CL), 1),
        (
            "its macros",
            |gpu| {
                gpu.compile_opencl_with(
                    "OpenCL source",
                    CL,
                    &clmsl::Options { defines: macros("5"), ..Default::default() },
                )
            },
            5,
        ),
        (
            "its options",
            |gpu| {
                gpu.compile_opencl_with("OpenCL source", CL, &clmsl::Options { mad_enable: true, ..Default::default() })
            },
            1,
        ),
        ("its name", |gpu| gpu.compile_opencl_with("other", CL, &clmsl::Options::default()), 1),
    ];
    let gpu = gpu();
    for round in 0..2 {
        for (name, compile, wanted) in cases {
            let library = compile(&gpu).unwrap();
            assert_eq!(written(&gpu, &library.kernel("fixed").unwrap()), wanted, "{name}");
        }
        let stats = gpu.source_stats();
        assert_eq!((stats.misses, stats.hits, stats.kept), (11, round * 11, 11));
    }
}

#[test]
fn sources_with_files_are_read_each_time() {
    let gpu = gpu();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.h");
    let opencl = "#include \"m.h\"\n kernel void fixed(global uint* y) { *y = M; }";
    for value in [7, 8] {
        std::fs::write(&file, format!("#define M {value}\n")).unwrap();
        let include = |request: &clmsl::IncludeRequest<'_>| {
            let text = std::fs::read_to_string(folder.path().join(request.path)).ok()?;
            Some(clmsl::Included { name: request.path.to_owned(), text })
        };
        let options = clmsl::Options { include: Some(&include), ..Default::default() };
        let library = gpu.compile_opencl_with("k.cl", opencl, &options).unwrap();
        assert_eq!(written(&gpu, &library.kernel("fixed").unwrap()), value);
        let msl =
            format!("#include \"{}\"\nkernel void fixed(device uint* y [[buffer(0)]]) {{ *y = M; }}", file.display());
        // Whether Metal reads files is its own affair; hostmetal does.
        if let Ok(library) = gpu.compile_msl(&msl) {
            assert_eq!(written(&gpu, &library.kernel("fixed").unwrap()), value);
        }
    }
    assert_eq!(gpu.source_stats(), Default::default());
}

#[test]
fn kernels_are_kept_by_name_and_constants() {
    let gpu = gpu();
    let library = gpu.compile_msl(MSL).unwrap();
    for _ in 0..2 {
        for (constants, wanted) in [
            (Constants::new().at(0, 7u32), 7),
            (Constants::new().at(0, 8u32), 8),
            (Constants::new().named("N", 9u32), 9),
        ] {
            assert_eq!(written(&gpu, &library.kernel_with("given", &constants).unwrap()), wanted);
        }
        assert_eq!(written(&gpu, &library.kernel("fixed").unwrap()), 1);
    }
}

#[test]
fn what_does_not_compile_is_told_each_time() {
    let gpu = gpu();
    for round in 1..3 {
        assert!(gpu.compile_msl("kernel void wrong( {}").is_err());
        assert_eq!((gpu.source_stats().misses, gpu.source_stats().kept), (round, 0));
    }
}

#[test]
fn threads_that_want_the_same_compile_it_once() {
    let gpu = gpu();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let kernel = gpu.compile_msl(MSL).unwrap().kernel("fixed").unwrap();
                assert_eq!(written(&gpu, &kernel), 1);
            });
        }
    });
    let stats = gpu.source_stats();
    assert_eq!((stats.misses, stats.hits + stats.joined), (1, 7));
}
