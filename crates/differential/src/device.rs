//! Our side: the program translated and run on Metal.

use std::fs;
use std::path::Path;

use dcmetal::{
    Accelerator, Arg, Buffer, Error, Grid, Kernel, Library, PixelFormat, Size, Texture, TextureDescriptor, clmsl,
};

use crate::job::{Image, Launch, Outputs, Program, Ran, Value};

/// A program translated and compiled for a device.
pub struct Translated {
    gpu: Accelerator,
    library: Library,
}

impl Translated {
    /// Translates and compiles; the error is every diagnostic.
    pub fn compile(gpu: &Accelerator, program: &Program) -> Result<Translated, String> {
        let build = clmsl::Options::parse_build_options(&program.options).map_err(|error| error.to_string())?;
        let folders: Vec<_> = build.include_dirs.iter().map(Path::new).collect();
        let include = |request: &clmsl::IncludeRequest<'_>| {
            let folders = program.include.iter().map(std::path::PathBuf::as_path).chain(folders.iter().copied());
            folders.into_iter().find_map(|folder| {
                let path = folder.join(request.path);
                let text = fs::read_to_string(&path).ok()?;
                Some(clmsl::Included { name: path.display().to_string(), text })
            })
        };
        let options = clmsl::Options { include: Some(&include), ..build.options };
        let library = gpu.compile_opencl_with(&program.name, &program.text(), &options);
        Ok(Translated { gpu: gpu.clone(), library: library.map_err(|error| error.to_string())? })
    }

    /// The kernels' names in the source's order.
    pub fn kernel_names(&self) -> &[String] {
        self.library.kernel_names()
    }

    /// One of them.
    pub fn kernel(&self, name: &str) -> Result<Kernel, String> {
        self.library.kernel(name).map_err(|error| error.to_string())
    }

    /// The work-group of a launch of `grid`: the wanted one if it can be, the device's choice if none is, made smaller where OpenCL C 1.2 wants
    /// whole ones of who names a size.
    pub fn group_for(
        &self,
        kernel: &Kernel,
        grid: [u64; 3],
        dimensions: u32,
        wanted: Option<[u64; 3]>,
    ) -> Result<[u64; 3], String> {
        let grid = Grid::threads(grid).work_dim(dimensions);
        let grid = wanted.map_or(grid, |group| grid.threadgroup(group));
        let size = kernel.threadgroup_for(&grid).map_err(|error| error.to_string())?;
        match kernel.threadgroup_for(&grid.threadgroup(size)) {
            Err(Error::ThreadgroupUneven { threads, .. }) => {
                let divisor =
                    |(n, side): (u64, u64)| (1..=side).rev().find(|side| n.is_multiple_of(*side)).unwrap_or(1);
                let [n, sides] = [threads, size].map(Size::to_array);
                Ok([0, 1, 2].map(|at| divisor((n[at], sides[at]))))
            }
            _ => Ok(size.to_array()),
        }
    }

    /// Runs one launch.
    pub fn run(&self, launch: &Launch) -> Result<Ran, String> {
        let kernel = self.kernel(&launch.kernel)?;
        let grid = Grid::threads(launch.grid).work_dim(launch.dimensions).threadgroup(launch.group);
        let mut passed = launch.args.iter().map(|value| self.pass(value)).collect::<Result<Vec<_>, _>>()?;
        let args: Vec<Arg<'_>> = passed
            .iter_mut()
            .map(|passed| match passed {
                Passed::Buffer(buffer) => Arg::from(buffer),
                Passed::Bytes(bytes) => Arg::bytes(bytes),
                Passed::Local(bytes) => Arg::threadgroup_bytes(*bytes),
                Passed::Texture(texture) => Arg::from(texture),
                Passed::Number(number) => Arg::from(*number),
            })
            .collect();
        let done = kernel.launch(grid, args).and_then(|submission| submission.printed());
        let printed = done.map_err(|error| error.to_string())?;
        if printed.lost > 0 {
            return Err(format!("{} calls of printf were lost", printed.lost));
        }
        let outputs: Result<Outputs, String> = passed
            .iter()
            .map(|passed| match passed {
                Passed::Buffer(buffer) => buffer.to_vec().map(Some).map_err(|error| error.to_string()),
                Passed::Texture(texture) => texture.to_vec().map(Some).map_err(|error| error.to_string()),
                _ => Ok(None),
            })
            .collect();
        Ok(Ran::new(outputs?, &printed.bytes))
    }

    fn pass<'v>(&self, value: &'v Value) -> Result<Passed<'v>, String> {
        Ok(match value {
            Value::Buffer(bytes) => Passed::Buffer(self.gpu.buffer_from(bytes).map_err(|error| error.to_string())?),
            Value::Bytes(bytes) => Passed::Bytes(bytes),
            Value::Local(bytes) => Passed::Local(*bytes),
            Value::Image(image) => {
                let texture = self.gpu.texture_from(&descriptor(image)?, &image.bytes);
                Passed::Texture(texture.map_err(|error| error.to_string())?)
            }
            Value::Sampler(number) => Passed::Number(*number),
        })
    }
}

enum Passed<'v> {
    Buffer(Buffer<u8>),
    Bytes(&'v [u8]),
    Local(usize),
    Texture(Texture),
    /// A sampler.
    Number(u32),
}

fn descriptor(image: &Image) -> Result<TextureDescriptor, String> {
    let known = PixelFormat::all().find(|format| format!("{format:?}").to_lowercase() == image.format);
    let format = known.ok_or_else(|| format!("no pixel format {}", image.format))?;
    let size: Vec<usize> = image.size.iter().map(|&n| usize::try_from(n).unwrap_or(usize::MAX)).collect();
    Ok(match (image.kind.as_str(), size.as_slice()) {
        ("texture1d", &[width]) => TextureDescriptor::d1(format, width),
        ("texture1d_array", &[width, length]) => TextureDescriptor::d1_array(format, width, length),
        ("texture2d", &[width, height]) => TextureDescriptor::d2(format, width, height),
        ("texture2d_array", &[width, height, length]) => TextureDescriptor::d2_array(format, width, height, length),
        ("texture3d", &[width, height, depth]) => TextureDescriptor::d3(format, width, height, depth),
        ("texture_buffer", &[width]) => TextureDescriptor::buffer(format, width),
        (kind, size) => return Err(format!("no {kind} of the size {size:?}")),
    })
}
