//! The three sides: Metal through dcmetal, an OpenCL implementation, and plain loops on as many threads.

use std::path::{Path, PathBuf};
use std::process::Command;

use dcmetal::{Accelerator, Buffer, Grid, Kernel, Library, args, bytemuck};
use dcmetal_benches::opencl;

use crate::problems::Problem;

/// A side with a kernel and its memory ready.
pub(crate) trait Side {
    /// Sets the output's words.
    fn fill(&mut self, word: u32);
    /// Runs the kernel and waits for it.
    fn run(&mut self);
    fn output(&mut self) -> Vec<u32>;
}

// ---------------------------------------------------------------- Metal

pub(crate) struct Metal {
    gpu: Accelerator,
    library: Library,
}

pub(crate) struct MetalRun<'a> {
    kernel: Kernel,
    inputs: Vec<Buffer<u8>>,
    output: Buffer<u8>,
    problem: &'a Problem,
}

impl Metal {
    pub(crate) fn open() -> Metal {
        let gpu = Accelerator::system_default().expect("a Metal device");
        let library = gpu.compile_msl(include_str!("kernels.metal")).expect("kernels.metal compiles");
        Metal { gpu, library }
    }

    pub(crate) fn name(&self) -> &str {
        self.gpu.name()
    }

    pub(crate) fn side<'a>(&self, name: &str, problem: &'a Problem) -> MetalRun<'a> {
        let buffer = |words: &Vec<u32>| self.gpu.buffer_from::<u8>(bytemuck::cast_slice(words)).expect("a buffer");
        let inputs = problem.inputs.iter().map(buffer).collect();
        let output = self.gpu.buffer_zeroed::<u8>(problem.output * 4).expect("a buffer");
        MetalRun { kernel: self.library.kernel(name).expect("a kernel"), inputs, output, problem }
    }
}

impl Side for MetalRun<'_> {
    fn fill(&mut self, word: u32) {
        let bytes = vec![word; self.problem.output];
        self.output.write_from(bytemuck::cast_slice(&bytes)).expect("the output is written");
    }

    fn run(&mut self) {
        let grid = Grid::threads(self.problem.grid).threadgroup(self.problem.threadgroup);
        let (out, n) = (&mut self.output, self.problem.n);
        let submission = match self.inputs.as_slice() {
            [] => self.kernel.launch(grid, args![out, n]),
            [a] => self.kernel.launch(grid, args![a, out, n]),
            [a, b] => self.kernel.launch(grid, args![a, b, out, n]),
            more => panic!("{} inputs", more.len()),
        };
        submission.expect("a launch").wait().expect("a kernel that completes");
    }

    fn output(&mut self) -> Vec<u32> {
        let bytes = self.output.to_vec().expect("the output");
        bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect()
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
        self.function(name, problem.inputs.clone(), problem.output, problem.n, problem.items)
    }

    /// `multiply_add` writes where its items begin, `read_words` too: the output has a word for each item, and a vector more.
    pub(crate) fn function(
        &self,
        name: &str,
        inputs: Vec<Vec<u32>>,
        output: usize,
        n: u32,
        items: u64,
    ) -> PlainRun<'_> {
        // SAFETY: every function of kernels.cpp has this type.
        let function = *unsafe { self.library.get::<Function>(name.as_bytes()) }.expect("a function of kernels.cpp");
        PlainRun { function, plain: self, inputs, output: vec![0; output], n, items }
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
