//! The problems' kernels on the Metal device, through dcmetal.

use dcmetal::{Accelerator, Buffer, Grid, Kernel, Library, Result, args, bytemuck};

use crate::problems::Problem;

/// A device with kernels.metal compiled.
pub struct Metal {
    gpu: Accelerator,
    library: Library,
}

/// A kernel and its memory.
pub struct MetalRun<'a> {
    kernel: Kernel,
    inputs: Vec<Buffer<u8>>,
    output: Buffer<u8>,
    problem: &'a Problem,
}

impl Metal {
    /// Compiles kernels.metal.
    ///
    /// # Errors
    /// When it does not compile on this device.
    pub fn open(gpu: &Accelerator) -> Result<Metal> {
        let library = gpu.compile_msl(include_str!("kernels.metal"))?;
        Ok(Metal { gpu: gpu.clone(), library })
    }

    /// The kernel's pipeline, and its memory with the inputs in it.
    ///
    /// # Errors
    /// When the kernel does not compile, or there is no memory.
    pub fn side<'a>(&self, name: &str, problem: &'a Problem) -> Result<MetalRun<'a>> {
        let buffer = |words: &Vec<u32>| self.gpu.buffer_from::<u8>(bytemuck::cast_slice(words));
        let inputs = problem.inputs.iter().map(buffer).collect::<Result<_>>()?;
        let output = self.gpu.buffer_zeroed::<u8>(problem.output * 4)?;
        Ok(MetalRun { kernel: self.library.kernel(name)?, inputs, output, problem })
    }
}

impl MetalRun<'_> {
    /// Sets the output's words.
    ///
    /// # Errors
    /// When a launch before failed.
    pub fn fill(&mut self, word: u32) -> Result<()> {
        let bytes = vec![word; self.problem.output];
        self.output.write_from(bytemuck::cast_slice(&bytes))
    }

    /// Launches the kernel and waits for it.
    ///
    /// # Errors
    /// When it fails.
    ///
    /// # Panics
    /// When a problem has more inputs than any has.
    pub fn run(&mut self) -> Result<()> {
        let grid = Grid::threads(self.problem.grid).threadgroup(self.problem.threadgroup);
        let (out, n) = (&mut self.output, self.problem.n);
        let submission = match self.inputs.as_slice() {
            [] => self.kernel.launch(grid, args![out, n]),
            [a] => self.kernel.launch(grid, args![a, out, n]),
            [a, b] => self.kernel.launch(grid, args![a, b, out, n]),
            more => unreachable!("no problem has {} inputs", more.len()),
        };
        submission?.wait()
    }

    /// The output's words.
    ///
    /// # Errors
    /// When the last launch failed.
    pub fn output(&self) -> Result<Vec<u32>> {
        let bytes = self.output.to_vec()?;
        Ok(bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect())
    }
}
