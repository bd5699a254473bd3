//! The three sides: Metal through dcmetal, an OpenCL implementation, and plain loops on as many threads.

use std::path::{Path, PathBuf};
use std::process::Command;

use dcmetal_benches::opencl;
use dcmetal_validate::metal::MetalRun;
use dcmetal_validate::problems::Problem;

/// A side with a kernel and its memory ready.
pub(crate) trait Side {
    /// Sets the output's words.
    fn fill(&mut self, word: u32);
    /// Runs the kernel and waits for it.
    fn run(&mut self);
    fn output(&mut self) -> Vec<u32>;
}

// ---------------------------------------------------------------- Metal

impl Side for MetalRun<'_> {
    fn fill(&mut self, word: u32) {
        MetalRun::fill(self, word).expect("the output is written");
    }

    fn run(&mut self) {
        MetalRun::run(self).expect("a kernel that completes");
    }

    fn output(&mut self) -> Vec<u32> {
        MetalRun::output(self).expect("the output")
    }
}

// ---------------------------------------------------------------- OpenCL

impl Side for opencl::Work {
    fn fill(&mut self, word: u32) {
        self.write_output(word);
    }

    fn run(&mut self) {
        opencl::Work::run(self);
    }

    fn output(&mut self) -> Vec<u32> {
        self.read_output()
    }
}

/// The kernel on the OpenCL implementation there is, if there is one.
pub(crate) fn opencl(name: &str, problem: &Problem) -> Option<opencl::Work> {
    let inputs: Vec<&[u32]> = problem.inputs.iter().map(Vec::as_slice).collect();
    let (grid, group) = (problem.grid.into(), problem.threadgroup.into());
    opencl::Work::open(include_str!("kernels.cl"), name, &inputs, problem.output, problem.n, grid, group)
}

// ---------------------------------------------------------------- plain loops

/// kernels.cpp, compiled, and threads to run it.
pub(crate) struct Plain {
    library: libloading::Library,
    threads: rayon::ThreadPool,
}

/// A function of kernels.cpp.
type Function = unsafe extern "C" fn(*const *const u32, *mut u32, u32, u64, u64);

pub(crate) struct PlainRun<'a> {
    function: Function,
    plain: &'a Plain,
    inputs: Vec<Vec<u32>>,
    output: Vec<u32>,
    n: u32,
    items: u64,
}

impl Plain {
    /// Compiles kernels.cpp, in a folder that is then deleted.
    pub(crate) fn open(threads: usize) -> Plain {
        let folder = std::env::temp_dir().join(format!("kernels-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let (source, shared): (PathBuf, PathBuf) = (folder.join("kernels.cpp"), folder.join("kernels.so"));
        std::fs::write(&source, include_str!("kernels.cpp")).expect("a file");
        let compiler = if cfg!(target_os = "linux") { "clang++-19" } else { "clang++" };
        let options =
            ["-O3", "-march=native", "-ffast-math", "-fno-math-errno", "-shared", "-fPIC", "-Wall", "-Werror"];
        let library_of_vectors: &[&str] = if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            &["-fveclib=libmvec", "-lmvec", "-lm"]
        } else {
            &[]
        };
        let mut command = Command::new(compiler);
        command.args(options).arg(&source).arg("-o").arg(&shared).args(library_of_vectors);
        assert!(command.status().is_ok_and(|status| status.success()), "{compiler} does not compile kernels.cpp");
        let library = load(&shared);
        std::fs::remove_dir_all(&folder).expect("it is ours");
        let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        Plain { library, threads }
    }

    pub(crate) fn side(&self, name: &str, problem: &Problem) -> PlainRun<'_> {
        // SAFETY: every function of kernels.cpp has this type.
        let function = *unsafe { self.library.get::<Function>(name.as_bytes()) }.expect("a function of kernels.cpp");
        let inputs = problem.inputs.clone();
        PlainRun { function, plain: self, inputs, output: vec![0; problem.output], n: problem.n, items: problem.items }
    }
}

fn load(path: &Path) -> libloading::Library {
    // SAFETY: kernels.cpp has no initialisers.
    unsafe { libloading::Library::new(path) }.expect("what clang built")
}

/// Addresses that several threads may use: each writes the part of its own items.
struct Shared<T>(T);
// SAFETY: the functions of kernels.cpp only read the inputs, and threads write different items of the output, but for
// the histogram's atomic additions.
unsafe impl<T> Sync for Shared<T> {}

impl<T: Copy> Shared<T> {
    fn get(&self) -> T {
        self.0
    }
}

impl Side for PlainRun<'_> {
    fn fill(&mut self, word: u32) {
        self.output.fill(word);
    }

    fn run(&mut self) {
        let inputs: Vec<*const u32> = self.inputs.iter().map(|input| input.as_ptr()).collect();
        let shared = Shared((inputs.as_ptr(), self.output.as_mut_ptr()));
        let (function, n, items, threads) =
            (self.function, self.n, self.items, self.plain.threads.current_num_threads());
        let shared = &shared;
        self.plain.threads.broadcast(move |thread| {
            let share = |index: usize| items * index as u64 / threads as u64;
            let (inputs, output) = shared.get();
            // SAFETY: the memory is as long as the function's items need (problems.rs), and lives during the call.
            unsafe { function(inputs, output, n, share(thread.index()), share(thread.index() + 1)) };
        });
    }

    fn output(&mut self) -> Vec<u32> {
        self.output.clone()
    }
}
