//! Libraries and kernels that are made in the background: what they are, how often they are made, and what a stalled compiler does.

mod common;

use std::future::Future;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use common::gpu;
use dcmetal::{Accelerator, CompileOptions, Constants, Grid, Kernel, Library, Result, args, clmsl};

const MSL: &str = "constant uint N [[function_constant(0)]];
kernel void given(device uint* y [[buffer(0)]]) { *y = N; }
kernel void fixed(device uint* y [[buffer(0)]]) { *y = 1; }";
const NEVER: Duration = Duration::MAX;

/// Written by the test that has the process's compiler stall, read by all others.
static STALLED: RwLock<()> = RwLock::new(());

fn not_stalled() -> RwLockReadGuard<'static, ()> {
    STALLED.read().unwrap_or_else(PoisonError::into_inner)
}

/// What the kernel writes.
fn written(gpu: &Accelerator, kernel: &Kernel) -> u32 {
    let mut y = gpu.buffer_zeroed(1).unwrap();
    kernel.launch(Grid::linear(1), args![&mut y]).unwrap().wait().unwrap();
    y.to_vec().unwrap()[0]
}

fn start(gpu: &Accelerator, limit: Duration) -> dcmetal::Compilation<Library> {
    gpu.start_msl(MSL, &CompileOptions::default(), limit)
}

/// Each in the background and at once, by accelerators that share nothing.
#[test]
fn the_background_makes_the_same() {
    let _not_stalled = not_stalled();
    type Ways = (fn(&Accelerator) -> Result<Library>, fn(&Accelerator) -> Result<Library>);
    fn found(request: &clmsl::IncludeRequest<'_>) -> Option<clmsl::Included> {
        Some(clmsl::Included { name: request.path.to_owned(), text: "#define M 4\n".to_owned() })
    }
    fn macros() -> clmsl::Options<'static> {
        clmsl::Options { defines: vec![("M".to_owned(), "3".to_owned())], ..Default::default() }
    }
    const CL: &str = "kernel void fixed(global uint* y) { *y = M; }";
    const WITH_FILE: &str = "#include \"m.h\"\nkernel void fixed(global uint* y) { *y = M; }";
    let cases: [(&str, Ways); 6] = [
        ("MSL", (|gpu| gpu.compile_msl(MSL), |gpu| start(gpu, NEVER).wait())),
        (
            "MSL with an error",
            (
                |gpu| gpu.compile_msl("kernel void fixed( {}"),
                |gpu| gpu.start_msl("kernel void fixed( {}", &CompileOptions::default(), NEVER).wait(),
            ),
        ),
        (
            "MSL that depends on the time",
            (
                |gpu| gpu.compile_msl("// __TIME__\nkernel void fixed(device uint* y [[buffer(0)]]) { *y = 2; }"),
                |gpu| {
                    let source = "// __TIME__\nkernel void fixed(device uint* y [[buffer(0)]]) { *y = 2; }";
                    gpu.start_msl(source, &CompileOptions::default(), NEVER).wait()
                },
            ),
        ),
        (
            "OpenCL C with a macro",
            (
                |gpu| gpu.compile_opencl_with("a.cl", CL, &macros()),
                |gpu| gpu.start_opencl("a.cl", CL, &macros(), NEVER).wait(),
            ),
        ),
        (
            "OpenCL C with an error",
            (
                |gpu| gpu.compile_opencl_with("a.cl", CL, &clmsl::Options::default()),
                |gpu| gpu.start_opencl("a.cl", CL, &clmsl::Options::default(), NEVER).wait(),
            ),
        ),
        (
            "OpenCL C with a file",
            (
                |gpu| gpu.compile_opencl_with("a.cl", WITH_FILE, &clmsl::Options { include: Some(&found), ..macros() }),
                |gpu| {
                    gpu.start_opencl("a.cl", WITH_FILE, &clmsl::Options { include: Some(&found), ..macros() }, NEVER)
                        .wait()
                },
            ),
        ),
    ];
    for (name, (at_once, background)) in cases {
        let (one, other) = (gpu(), gpu());
        match (at_once(&one), background(&other)) {
            (Ok(at_once), Ok(background)) => {
                assert_eq!(at_once.name(), background.name(), "{name}");
                assert_eq!(at_once.msl(), background.msl(), "{name}");
                assert_eq!(at_once.warnings(), background.warnings(), "{name}");
                let kernels =
                    (at_once.kernel("fixed").unwrap(), background.start_kernel("fixed", &Constants::new(), NEVER));
                assert_eq!(written(&one, &kernels.0), written(&other, &kernels.1.wait().unwrap()), "{name}");
            }
            (Err(at_once), Err(background)) => assert_eq!(at_once.to_string(), background.to_string(), "{name}"),
            (at_once, background) => panic!("{name}: {at_once:?} and {background:?}"),
        }
        assert_eq!(one.source_stats(), other.source_stats(), "{name}");
    }
}

#[test]
fn kernels_in_the_background_have_their_constants_and_errors() {
    let _not_stalled = not_stalled();
    let gpu = gpu();
    let library = start(&gpu, NEVER).wait().unwrap();
    let started = [7u32, 8, 7].map(|n| (n, library.start_kernel("given", &Constants::new().at(0, n), NEVER)));
    for (n, kernel) in started {
        assert_eq!(written(&gpu, &kernel.wait().unwrap()), n);
    }
    for name in ["missing", "given"] {
        let at_once = library.kernel(name).unwrap_err();
        assert_eq!(
            library.start_kernel(name, &Constants::new(), NEVER).wait().unwrap_err().to_string(),
            at_once.to_string()
        );
    }
}

/// Threads that wait and tasks that are polled, all for one.
#[test]
fn whoever_asks_one_compilation_serves_all() {
    let _not_stalled = not_stalled();
    let gpu = gpu();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(written(&gpu, &gpu.compile_msl(MSL).unwrap().kernel("fixed").unwrap()), 1));
        }
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let gpu = gpu.clone();
                runtime.spawn(async move {
                    let library = start(&gpu, NEVER).await.unwrap();
                    library.start_kernel("fixed", &Constants::new(), NEVER).await.unwrap()
                })
            })
            .collect();
        for task in tasks {
            assert_eq!(written(&gpu, &runtime.block_on(task).unwrap()), 1);
        }
    });
    let stats = gpu.source_stats();
    assert_eq!((stats.misses, stats.hits + stats.joined), (1, 11));
    // Dropped at once or after a poll: it goes on all the same.
    let other = common::gpu();
    drop(start(&other, NEVER));
    let mut polled = Box::pin(start(&other, NEVER));
    let first = polled.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(first, Poll::Pending | Poll::Ready(Ok(_))));
    drop(polled);
    pollster::block_on(start(&other, NEVER)).unwrap();
    assert_eq!(other.source_stats().misses, 1);
}

/// hostmetal's compiler stalls, for a source and for a kernel: who has a limit is told, and nobody waits for more than the stall.
#[cfg(target_os = "linux")]
#[test]
fn a_stalled_compiler_harms_nobody() {
    use dcmetal::{Error, ErrorKind};
    use hostmetal::faults;
    // Rules are the process's: no other test compiles meanwhile.
    let _stalled = STALLED.write().unwrap_or_else(PoisonError::into_inner);
    const LIMIT: Duration = Duration::from_millis(20);
    let gpu = gpu();
    let alone = gpu.compile_msl("kernel void fixed(device uint* y [[buffer(0)]]) { *y = 5; }").unwrap();
    for (site, rules) in [("compile", "compile:slow=10s"), ("pipeline", "pipeline:slow=1s")] {
        faults::set(rules).unwrap();
        let (name, late) = match rules.starts_with("compile") {
            true => ("MSL source", start(&gpu, LIMIT).wait().err()),
            false => ("kernel `fixed`", alone.start_kernel("fixed", &Constants::new(), LIMIT).wait().err()),
        };
        // Who waits may be told before the compiler has begun.
        while faults::counts(site).unwrap().injected == 0 {
            std::thread::yield_now();
        }
        faults::set("").unwrap();
        let Some(error @ Error::CompileTimeout { .. }) = late else { panic!("{rules}: {late:?}") };
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert_eq!(error.to_string(), format!("{name} was not compiled within 20ms; its compilation goes on"));
        // It is still on its way, and another with a limit is told so as well; without one it comes.
        match rules.starts_with("compile") {
            true => {
                assert!(matches!(pollster::block_on(start(&gpu, LIMIT)), Err(Error::CompileTimeout { .. })));
                assert_eq!(written(&gpu, &gpu.compile_msl(MSL).unwrap().kernel("fixed").unwrap()), 1);
                assert_eq!((gpu.source_stats().misses, gpu.source_stats().joined), (2, 2), "it was compiled once");
                assert!(start(&gpu, LIMIT).wait().is_ok(), "it is there");
            }
            false => assert_eq!(written(&gpu, &alone.kernel("fixed").unwrap()), 5),
        }
    }
}
