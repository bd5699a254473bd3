//! Libraries and functions: MSL source that has been checked, and the way from one of its kernels to a pipeline.
//!
//! A library is made by checking the whole source; code is only generated for the kernel of a pipeline, once its function
//! constants are known. So a function knows its constants' values, and all that can be wrong with them is said when it is
//! made.

use std::collections::HashSet;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::device::Device;
use crate::executor::counting;
use crate::functions::VisibleFunction;
use crate::msl::{
    Access, Archives, Callee, Checked, CompileFailure, CompileOptions, ConstantInfo, ConstantKey, ConstantValue,
    Dynamic, Failure, Graph, KernelInfo, Linked, Linking, With, check, stitch,
};
use crate::msl::{AttributeInfo, BindingKind, LoadedKernel, StageBuffer, StageInput};
use crate::pipeline::{
    BUFFER, Binding, IMAGEBLOCK, Kernel, Pipeline, SAMPLER, TEXTURE, THREADGROUP_MEMORY, VISIBLE_FUNCTION_TABLE,
};

/// MTLLibraryError.
pub(crate) const UNSUPPORTED: i64 = 1;
pub(crate) const INTERNAL: i64 = 2;
pub(crate) const COMPILE_FAILURE: i64 = 3;
pub(crate) const COMPILE_WARNING: i64 = 4;
pub(crate) const FUNCTION_NOT_FOUND: i64 = 5;

/// MTLDynamicLibraryError.
pub(crate) const INVALID_FILE: i64 = 1;
const DYNAMIC_COMPILATION_FAILURE: i64 = 2;
const UNRESOLVED_INSTALL_NAME: i64 = 3;
const DEPENDENCY_LOAD_FAILURE: i64 = 4;

/// A code in the domain of libraries, and a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LibraryError {
    pub(crate) code: i64,
    pub(crate) text: String,
}

impl LibraryError {
    fn new(code: i64, text: impl Into<String>) -> LibraryError {
        LibraryError { code, text: text.into() }
    }
}

impl From<CompileFailure> for LibraryError {
    fn from(failure: CompileFailure) -> LibraryError {
        let code = match failure.kind {
            Failure::Source => COMPILE_FAILURE,
            Failure::ArchiveMiss => FUNCTION_NOT_FOUND,
            Failure::Unsupported => UNSUPPORTED,
            Failure::Deadline | Failure::Crash | Failure::Toolchain => INTERNAL,
        };
        LibraryError::new(code, failure.log)
    }
}

/// An MTLLibrary.
pub(crate) struct Library {
    device: &'static Device,
    checked: Checked,
    /// The most threads per threadgroup of all kernels; 0 for no limit.
    max_threads: u64,
    /// The threadgroup of all kernels; zeros for any.
    required_threads: [u64; 3],
    /// Sorted by name; none of a dynamic library.
    names: Vec<FunctionNames>,
    /// Those that it was compiled with.
    libraries: Vec<Arc<Dynamic>>,
    dynamic: Option<Arc<Dynamic>>,
    /// Of a stitched one: what the sources of its functions only declare.
    stitched: Option<Vec<String>>,
}

/// What of MTLCompileOptions is about the library rather than about its code.
#[derive(Default)]
pub(crate) struct LibraryOptions {
    /// The most threads per threadgroup of all kernels; 0 for no limit.
    pub(crate) max_threads: u64,
    /// The threadgroup of all kernels; zeros for any.
    pub(crate) required_threads: [u64; 3],
    pub(crate) linking: Linking,
    pub(crate) libraries: Vec<Arc<Dynamic>>,
    /// Of a dynamic library.
    pub(crate) install_name: Option<String>,
}

/// Texts of a kernel for C, which live as long as the library.
struct FunctionNames {
    name: CString,
    constants: Vec<CString>,
}

/// An MTLFunction: a kernel of a library with the values of its function constants.
pub(crate) struct Function {
    library: Arc<Library>,
    name: String,
    constants: Vec<ConstantValue>,
    /// Once they were asked for.
    attributes: OnceLock<Vec<(CString, AttributeInfo)>>,
}

/// An MTLComputePipelineDescriptor, but for its function.
#[derive(Clone, Copy, Default)]
pub(crate) struct PipelineDescriptor<'a> {
    /// The most threads per threadgroup; 0 for no limit besides the kernel's.
    pub(crate) max_threads: u64,
    /// The threadgroup of every dispatch; zeros for any that the kernel allows.
    pub(crate) required_threads: [u64; 3],
    pub(crate) whole_simdgroups: bool,
    pub(crate) archives: Archives<'a>,
    pub(crate) preloaded: &'a [Arc<Dynamic>],
    /// That define what a source only declares.
    pub(crate) linked: &'a [Arc<Function>],
    pub(crate) stage_input: Option<&'a StageInput>,
}

impl Library {
    /// Compiles a source text, as far as that is possible without its constants.
    pub(crate) fn new(
        device: &'static Device,
        source: &str,
        compile: &CompileOptions,
        options: LibraryOptions,
    ) -> Result<Library, LibraryError> {
        let LibraryOptions { max_threads, required_threads, linking, libraries, install_name } = options;
        let most = device.max_threads();
        if max_threads > u64::from(most) {
            let text = format!("maxTotalThreadsPerThreadgroup ({max_threads}) must be <= {most}");
            return Err(LibraryError::new(COMPILE_FAILURE, text));
        }
        required(required_threads)?;
        let checked = check(source, compile)?;
        let dynamic = match install_name {
            Some(name) => Some(Arc::new(checked.dynamic(&name, linking, &libraries)?)),
            None if linking.undefined => None,
            None => {
                checked.verify(&libraries)?;
                None
            }
        };
        let kernels = if dynamic.is_some() { &[] } else { checked.kernels() };
        let names = kernels.iter().map(function_names).collect::<Result<_, _>>()?;
        Ok(Library { device, checked, max_threads, required_threads, names, libraries, dynamic, stitched: None })
    }

    /// The functions that graphs make of others, which go by the names that are given with them.
    pub(crate) fn stitched(
        device: &'static Device,
        graphs: &[Graph],
        functions: &[(String, Arc<Function>)],
    ) -> Result<Library, LibraryError> {
        let callees: Vec<Callee> = functions
            .iter()
            .map(|(name, one)| Callee {
                name,
                checked: &one.library.checked,
                function: &one.name,
                constants: &one.constants,
                libraries: &one.library.libraries,
                sealed: one.library.stitched.is_some(),
            })
            .collect();
        let (checked, libraries) = stitch(graphs, &callees)?;
        let made = |kernel: &&KernelInfo| graphs.iter().any(|graph| graph.name == kernel.name);
        let names = checked.kernels().iter().filter(made).map(function_names).collect::<Result<_, _>>()?;
        let external = functions.iter().flat_map(|(_, one)| one.library.external()).map(str::to_owned).collect();
        let (max_threads, required_threads, dynamic) = (0, [0; 3], None);
        Ok(Library {
            device,
            checked,
            max_threads,
            required_threads,
            names,
            libraries,
            dynamic,
            stitched: Some(external),
        })
    }

    fn linked<'a>(&'a self, preloaded: &'a [Arc<Dynamic>]) -> Linked<'a> {
        Linked { preloaded, libraries: &self.libraries, sealed: self.stitched.is_some() }
    }

    /// The visible functions that its sources only declare: those of a pipeline define them.
    fn external(&self) -> Vec<&str> {
        match &self.stitched {
            Some(names) => names.iter().map(String::as_str).collect(),
            None => self.checked.external(),
        }
    }

    /// What it is, when it was compiled as a dynamic library.
    pub(crate) fn dynamic(&self) -> Option<&Arc<Dynamic>> {
        self.dynamic.as_ref()
    }

    /// The compiler's warnings.
    pub(crate) fn warnings(&self) -> Option<&str> {
        self.checked.warnings()
    }

    pub(crate) fn function_count(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn function_name(&self, index: usize) -> Option<&CString> {
        self.names.get(index).map(|names| &names.name)
    }

    fn find(&self, name: &str) -> Option<(&KernelInfo, &FunctionNames)> {
        self.checked.kernels().iter().zip(&self.names).find(|(kernel, _)| kernel.name == name)
    }

    /// Whether a function is one for tables and no kernel.
    pub(crate) fn is_visible(&self, function: &str) -> bool {
        self.find(function).is_some_and(|(kernel, _)| kernel.visible)
    }

    pub(crate) fn constant_count(&self, function: &str) -> usize {
        self.find(function).map_or(0, |(kernel, _)| kernel.constants.len())
    }

    /// A function constant that a kernel may use, with its name.
    pub(crate) fn constant(&self, function: &str, position: usize) -> Option<(&ConstantInfo, &CString)> {
        let (kernel, names) = self.find(function)?;
        Some((kernel.constants.get(position)?, names.constants.get(position)?))
    }
}

/// A requiredThreadsPerThreadgroup; none when there is none.
fn required(size: [u64; 3]) -> Result<Option<[u32; 3]>, LibraryError> {
    if size == [0; 3] {
        return Ok(None);
    }
    let narrow = size.map(|n| u32::try_from(n).unwrap_or_default());
    if narrow.contains(&0) {
        let [x, y, z] = size;
        let text = format!("requiredThreadsPerThreadgroup ({x}, {y}, {z}) is no size of a threadgroup");
        return Err(LibraryError::new(COMPILE_FAILURE, text));
    }
    Ok(Some(narrow))
}

fn function_names(kernel: &KernelInfo) -> Result<FunctionNames, LibraryError> {
    let text = |name: &str| {
        CString::new(name)
            .map_err(|_| LibraryError::new(INTERNAL, format!("the name {name:?} has a NUL character inside")))
    };
    let constants = kernel.constants.iter().map(|constant| text(&constant.name)).collect::<Result<_, _>>()?;
    Ok(FunctionNames { name: text(&kernel.name)?, constants })
}

impl Function {
    /// A kernel by its name; values for constants that it does not use are passed over, as in Metal.
    pub(crate) fn new(library: Arc<Library>, name: &str, values: Vec<ConstantValue>) -> Result<Function, LibraryError> {
        let Some((kernel, _)) = library.find(name) else {
            return Err(LibraryError::new(FUNCTION_NOT_FOUND, format!("Function {name} was not found in the library")));
        };
        let mut constants = Vec::new();
        for constant in &kernel.constants {
            let wanted = |value: &&ConstantValue| match &value.key {
                ConstantKey::Name(name) => *name == constant.name,
                ConstantKey::Index(index) => *index == constant.index,
            };
            // A later value replaces an earlier one.
            let Some(value) = values.iter().rev().find(wanted) else {
                if constant.required && !library.device.validates() {
                    let bytes = vec![0; constant.data_type.value_size().unwrap_or_default()];
                    constants.push(ConstantValue {
                        key: ConstantKey::Index(constant.index),
                        data_type: constant.data_type,
                        bytes,
                    });
                } else if constant.required {
                    let text = format!(
                        "Function {name} has function constant {} at index {} for which no value was given",
                        constant.name, constant.index
                    );
                    return Err(LibraryError::new(COMPILE_FAILURE, text));
                }
                continue;
            };
            if value.data_type != constant.data_type {
                let spelling = |data_type: crate::msl::DataType| {
                    data_type.spelling().unwrap_or_else(|| format!("MTLDataType {}", data_type.0))
                };
                let text = format!(
                    "Function {name}: the value of function constant {} at index {} is a {}, but its type is {}",
                    constant.name,
                    constant.index,
                    spelling(value.data_type),
                    spelling(constant.data_type)
                );
                return Err(LibraryError::new(COMPILE_FAILURE, text));
            }
            constants.push(ConstantValue { key: ConstantKey::Index(constant.index), ..value.clone() });
        }
        Ok(Function { name: name.to_owned(), library, constants, attributes: OnceLock::new() })
    }

    /// What the kernel does: a text of lines (`msl/analysis.rs`).
    pub(crate) fn analysis(&self) -> Result<String, LibraryError> {
        Ok(self.library.checked.analysis(&self.name, &self.constants)?)
    }

    /// Compiles the kernel's code, and makes a pipeline of it.
    pub(crate) fn pipeline(
        &self,
        device: &'static Device,
        descriptor: &PipelineDescriptor,
    ) -> Result<Pipeline, LibraryError> {
        if !std::ptr::eq(device, self.library.device) {
            return Err(LibraryError::new(
                COMPILE_FAILURE,
                format!("Function {} was created with a different device than the pipeline", self.name),
            ));
        }
        let unfit = |text: String| LibraryError::new(COMPILE_FAILURE, text);
        let has_attributes = self.library.find(&self.name).is_some_and(|(kernel, _)| kernel.stage_input);
        if has_attributes && descriptor.stage_input.is_none() {
            let text = "has input attributes but no stage input descriptor was set.";
            return Err(unfit(format!("Compute function {} {text}", self.name)));
        }
        let loaded = self.load(descriptor)?;
        let input = descriptor.stage_input.filter(|_| has_attributes);
        let buffers = input.map_or(Ok(Vec::new()), |input| input.buffers(loaded.attributes())).map_err(unfit)?;
        let counting = loaded.counting().clone();
        let mut kernel = kernel(&self.name, loaded)?;
        for StageBuffer { index, dynamic_stride } in buffers {
            match kernel.bindings.iter_mut().find(|one| one.kind == BUFFER && one.used && one.index == index) {
                Some(named) => named.dynamic_stride = dynamic_stride,
                None => kernel.bindings.push(Binding { dynamic_stride, ..stage_buffer(index) }),
            }
        }
        if self.library.max_threads > 0 {
            let most = self.library.max_threads as u32;
            kernel.max_total_threads = Some(kernel.max_total_threads.map_or(most, |own| own.min(most)));
        }
        for given in [self.library.required_threads, descriptor.required_threads] {
            let Some(size) = required(given)? else { continue };
            if let Some([x, y, z]) = kernel.required_threads.filter(|own| *own != size) {
                let [a, b, c] = size;
                let text = format!("requires threadgroups of {x} x {y} x {z} threads, and of {a} x {b} x {c}");
                return Err(unfit(format!("Compute function {} {text}", self.name)));
            }
            kernel.required_threads = Some(size);
        }
        let pipeline = Pipeline::new(device, kernel, descriptor.max_threads, descriptor.whole_simdgroups);
        let mut pipeline = pipeline.map_err(|unfit| LibraryError::new(COMPILE_FAILURE, unfit.0))?;
        pipeline.counting = counting;
        Ok(pipeline)
    }

    /// Compiles a visible function's code.
    pub(crate) fn visible(
        &self,
        device: &'static Device,
        descriptor: &PipelineDescriptor,
    ) -> Result<VisibleFunction, LibraryError> {
        if !std::ptr::eq(device, self.library.device) {
            let text = format!("Function {} was created with a different device than the pipeline", self.name);
            return Err(LibraryError::new(COMPILE_FAILURE, text));
        }
        let PipelineDescriptor { archives, .. } = *descriptor;
        let preloaded = self.preloaded(descriptor)?;
        let linked = self.library.linked(&preloaded);
        let with = With { archives, linked, ..With::default() };
        let code = self.library.checked.function(&self.name, &self.constants, &with).map_err(|f| self.named(f))?;
        Ok(VisibleFunction { device, code })
    }

    /// Whether it is no kernel.
    pub(crate) fn is_visible(&self) -> bool {
        self.library.is_visible(&self.name)
    }

    fn named(&self, failure: CompileFailure) -> CompileFailure {
        let log = match failure.kind {
            Failure::ArchiveMiss => format!("Function {}: {}", self.name, failure.log),
            _ => failure.log,
        };
        CompileFailure { log, ..failure }
    }

    /// The pipeline's libraries, and those of its functions that any of their sources only declares.
    fn preloaded(&self, descriptor: &PipelineDescriptor) -> Result<Vec<Arc<Dynamic>>, LibraryError> {
        let mut preloaded = descriptor.preloaded.to_vec();
        let sources = || std::iter::once(&self.library).chain(descriptor.linked.iter().map(|one| &one.library));
        let wanted: HashSet<&str> = sources().flat_map(|library| library.external()).collect();
        for one in descriptor.linked.iter().filter(|one| !wanted.is_empty() && one.is_visible()) {
            let Library { checked, libraries, stitched, .. } = &*one.library;
            let function = (one.name.as_str(), one.constants.as_slice());
            let linked = checked.linked(function, |name| wanted.contains(name), libraries, stitched.is_some())?;
            preloaded.extend(linked.map(Arc::new));
        }
        Ok(preloaded)
    }

    fn load(&self, descriptor: &PipelineDescriptor) -> Result<LoadedKernel, LibraryError> {
        let PipelineDescriptor { archives, stage_input, .. } = *descriptor;
        let preloaded = self.preloaded(descriptor)?;
        let linked = self.library.linked(&preloaded);
        let with = With { engine: None, archives, linked, stage_input, counts: counting::file().is_some() };
        let loaded = self.library.checked.build_with(&self.name, &self.constants, &with);
        Ok(loaded.map_err(|failure| self.named(failure))?)
    }

    /// The kernel's arguments.
    pub(crate) fn bindings(&self) -> Result<Vec<Binding>, LibraryError> {
        Ok(kernel(&self.name, self.load(&PipelineDescriptor::default())?)?.bindings)
    }

    /// The attributes of the kernel's `[[stage_in]]`, which is compiled to know their types; none where that fails, as its
    /// pipeline will tell.
    pub(crate) fn attributes(&self) -> &[(CString, AttributeInfo)] {
        self.attributes.get_or_init(|| {
            if !self.library.find(&self.name).is_some_and(|(kernel, _)| kernel.stage_input) {
                return Vec::new();
            }
            let Ok(loaded) = self.load(&PipelineDescriptor::default()) else { return Vec::new() };
            let named = |one: &AttributeInfo| (CString::new(one.name.as_str()).unwrap_or_default(), one.clone());
            loaded.attributes().iter().map(named).collect()
        })
    }
}

/// A buffer that only attributes are read from: of one byte at least, since which elements are read only the dispatch tells.
fn stage_buffer(index: u32) -> Binding {
    Binding {
        name: CString::new(format!("stageInBuffer.{index}")).unwrap_or_default(),
        kind: BUFFER,
        index,
        access: 0,
        data_type: 0,
        data_size: 1,
        alignment: 1,
        pointer: true,
        used: true,
        argument: false,
        texture_type: 0,
        count: 1,
        types: Vec::new(),
        dynamic_stride: false,
    }
}

fn kernel(name: &str, loaded: LoadedKernel) -> Result<Kernel, LibraryError> {
    let bindings = loaded.bindings().iter().map(|binding| {
        let text = CString::new(binding.name.as_str());
        Ok(Binding {
            name: text
                .map_err(|_| LibraryError::new(INTERNAL, format!("an argument of {name} has a NUL in its name")))?,
            kind: match binding.kind {
                BindingKind::Buffer => BUFFER,
                BindingKind::ThreadgroupMemory => THREADGROUP_MEMORY,
                BindingKind::Texture => TEXTURE,
                BindingKind::Sampler => SAMPLER,
                BindingKind::Imageblock => IMAGEBLOCK,
                BindingKind::VisibleFunctionTable => VISIBLE_FUNCTION_TABLE,
            },
            index: binding.index,
            access: match binding.access {
                Access::ReadOnly => 0,
                Access::ReadWrite => 1,
                Access::WriteOnly => 2,
            },
            data_type: binding.data_type.0,
            data_size: binding.data_size,
            alignment: binding.alignment,
            pointer: binding.pointer,
            used: binding.used,
            argument: true,
            texture_type: binding.texture_type,
            count: binding.count,
            types: binding.types.clone(),
            dynamic_stride: false,
        })
    });
    Ok(Kernel {
        name: name.to_owned(),
        entry: loaded.entry(),
        span: loaded.span(),
        bindings: bindings.collect::<Result<_, LibraryError>>()?,
        variables: loaded.threadgroup_variables().to_vec(),
        max_total_threads: loaded.max_total_threads(),
        required_threads: loaded.required_threads(),
        formats: loaded.formats().clone(),
        code: Some(Box::new(loaded)),
    })
}

/// A code of MTLDynamicLibraryError, and a text.
pub(crate) struct DynamicError {
    pub(crate) code: i64,
    pub(crate) text: String,
}

impl From<CompileFailure> for DynamicError {
    fn from(failure: CompileFailure) -> DynamicError {
        DynamicError { code: DYNAMIC_COMPILATION_FAILURE, text: failure.log }
    }
}

/// The dynamic library of a file, with those that it names.
pub(crate) fn read_dynamic(path: &Path) -> Result<Dynamic, DynamicError> {
    read_linked(path, &mut Vec::new())
}

/// `around`: the files that are being read, each of which needs the next.
fn read_linked(path: &Path, around: &mut Vec<PathBuf>) -> Result<Dynamic, DynamicError> {
    let invalid = |why: &str| DynamicError {
        code: INVALID_FILE,
        text: format!("'{}' cannot be used as a dynamic library: {why}", path.display()),
    };
    let bytes = std::fs::read(path).map_err(|why| invalid(&why.to_string()))?;
    around.push(path.to_owned());
    let load = |name: &str| -> Result<Arc<Dynamic>, DynamicError> {
        let failed = |code, why: &str| DynamicError {
            code,
            text: format!("'{}' needs the dynamic library '{name}': {why}", path.display()),
        };
        let place = place(name, path).filter(|place| place.exists());
        let place = place.ok_or_else(|| failed(UNRESOLVED_INSTALL_NAME, "there is no such file"))?;
        if around.contains(&place) {
            return Err(failed(DEPENDENCY_LOAD_FAILURE, "which needs this one"));
        }
        read_linked(&place, around).map(Arc::new).map_err(|failure| match failure.code {
            UNRESOLVED_INSTALL_NAME => failure,
            _ => failed(DEPENDENCY_LOAD_FAILURE, &failure.text),
        })
    };
    let read = Dynamic::decode(&bytes, load)?;
    around.pop();
    read.ok_or_else(|| invalid("it is damaged, or was not written by this version of hostmetal"))
}

/// The file that an install name means to the library in the file `loader`; none for a name that is no path.
fn place(name: &str, loader: &Path) -> Option<PathBuf> {
    if let Some(rest) = name.strip_prefix("@loader_path/") {
        return Some(loader.parent()?.join(rest));
    }
    if let Some(rest) = name.strip_prefix("@executable_path/") {
        return Some(std::env::current_exe().ok()?.parent()?.join(rest));
    }
    Path::new(name).is_absolute().then(|| PathBuf::from(name))
}
