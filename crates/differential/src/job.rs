//! What is run: a program and launches of its kernels. It crosses to the peer's process as JSON.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// An OpenCL C program and how it is built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Its name in messages.
    pub name: String,
    /// OpenCL C.
    pub source: String,
    /// As for `clBuildProgram`.
    pub options: String,
    /// Further options of the peer alone.
    pub peer_options: String,
    /// Folders to look for included files in.
    pub include: Vec<PathBuf>,
}

impl Program {
    /// The source as both sides compile it: without contraction of `a * b + c`.
    pub(crate) fn text(&self) -> String {
        format!("#pragma OPENCL FP_CONTRACT OFF\n#line 1\n{}", self.source)
    }
}

/// One launch of one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The kernel's name in the source.
    pub kernel: String,
    /// Work-items; 1 beyond `dimensions`.
    pub grid: [u64; 3],
    /// How many dimensions the launch has, 1 to 3.
    pub dimensions: u32,
    /// Work-items of a work-group.
    pub group: [u64; 3],
    /// In the kernel's order.
    pub args: Vec<Value>,
}

/// One argument of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Value {
    /// A buffer and what it holds before the launch.
    Buffer(Vec<u8>),
    /// A scalar, vector or structure by value.
    Bytes(Vec<u8>),
    /// Bytes of local memory.
    Local(usize),
    /// An image and what it holds before the launch.
    Image(Image),
    /// A sampler, as the number that OpenCL C makes of it.
    Sampler(u32),
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The texture's kind, in Metal's words: `texture2d`.
    pub kind: String,
    /// Its pixel format, in Metal's words: `rgba8unorm`.
    pub format: String,
    /// Width, height and depth as far as there are any; the number of layers comes last.
    pub size: Vec<u64>,
    /// Its texels, row by row, without gaps.
    pub bytes: Vec<u8>,
}

/// What a launch left in each argument that is a buffer or an image.
pub type Outputs = Vec<Option<Vec<u8>>>;

/// What a launch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// What it left in memory.
    pub outputs: Outputs,
    /// What its work-items printed, as lines in no certain order.
    pub printed: Vec<String>,
}

impl Ran {
    /// With the lines of a text.
    pub(crate) fn new(outputs: Outputs, printed: &[u8]) -> Ran {
        let mut printed: Vec<String> = String::from_utf8_lossy(printed).lines().map(str::to_owned).collect();
        printed.sort();
        Ran { outputs, printed }
    }
}
