//! Libraries, functions and pipelines: how source becomes something that runs.

use std::ptr;

use super::archive::Archive;
use super::{Device, Failure, MetalError, c_string, check, handle, text};
use crate::sys;

handle!(
    /// `MTLCompileOptions`.
    DCMetalCompileOptions,
    DCMetalCompileOptions_Release
);
handle!(
    /// `MTLLibrary`.
    DCMetalLibrary,
    DCMetalLibrary_Release
);
handle!(
    /// `MTLFunctionConstantValues`.
    DCMetalConstants,
    DCMetalConstants_Release
);
handle!(
    /// `MTLFunction`.
    DCMetalFunction,
    DCMetalFunction_Release
);
handle!(
    /// `MTLComputePipelineState`.
    DCMetalPipeline,
    DCMetalPipeline_Release
);

pub(crate) type CompileOptions = DCMetalCompileOptions;
pub(crate) type Library = DCMetalLibrary;
pub(crate) type Constants = DCMetalConstants;
pub(crate) type Function = DCMetalFunction;
pub(crate) type Pipeline = DCMetalPipeline;

// SAFETY: as for the device; a library is immutable.
unsafe impl Send for DCMetalLibrary {}
// SAFETY: as for Send.
unsafe impl Sync for DCMetalLibrary {}
// SAFETY: DCMetal.h: "libraries, functions, pipelines [...] may be used from any thread at once"; a function is immutable.
unsafe impl Send for DCMetalFunction {}
// SAFETY: as for Send.
unsafe impl Sync for DCMetalFunction {}
// SAFETY: as for the device; a pipeline state is immutable ("compute pipeline state objects can be shared", Apple).
unsafe impl Send for DCMetalPipeline {}
// SAFETY: as for Send.
unsafe impl Sync for DCMetalPipeline {}

impl DCMetalCompileOptions {
    pub(crate) fn new() -> Result<CompileOptions, Failure> {
        let (mut options, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: both out-parameters are valid for the call.
        let status = unsafe { sys::DCMetalCompileOptions_Create(&mut options, &mut error) };
        check(status, error)?;
        Ok(DCMetalCompileOptions(options))
    }

    pub(crate) fn set_math_mode(&mut self, mode: crate::MathMode) -> Result<(), Failure> {
        let mode = match mode {
            crate::MathMode::Safe => sys::DC_METAL_MATH_SAFE,
            crate::MathMode::Relaxed => sys::DC_METAL_MATH_RELAXED,
            crate::MathMode::Fast => sys::DC_METAL_MATH_FAST,
        };
        // SAFETY: a live handle and a value of the enum.
        check(unsafe { sys::DCMetalCompileOptions_SetMathMode(self.0, mode) }, ptr::null_mut())
    }

    pub(crate) fn set_language_version(&mut self, major: u32, minor: u32) -> Result<(), Failure> {
        // SAFETY: a live handle.
        check(unsafe { sys::DCMetalCompileOptions_SetLanguageVersion(self.0, major, minor) }, ptr::null_mut())
    }

    pub(crate) fn set_macro(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        let (name, value) = (c_string(name)?, c_string(value)?);
        // SAFETY: a live handle and two terminated strings.
        check(unsafe { sys::DCMetalCompileOptions_SetMacro(self.0, name.as_ptr(), value.as_ptr()) }, ptr::null_mut())
    }
}

impl DCMetalLibrary {
    /// Compiles; the string holds the compiler's warnings.
    pub(crate) fn compile(
        device: &Device,
        source: &str,
        options: Option<&CompileOptions>,
    ) -> Result<(Library, String), Failure> {
        let (mut library, mut error) = (ptr::null_mut(), ptr::null_mut());
        let options = options.map_or(ptr::null_mut(), |options| options.0);
        // SAFETY: live handles or NULL; `source` is valid for its length; the out-parameters are valid for the call.
        let status = unsafe {
            sys::DCMetalLibrary_CreateWithSource(
                device.0,
                source.as_ptr().cast(),
                source.len(),
                options,
                &mut library,
                &mut error,
            )
        };
        let error = MetalError::owned(error);
        if status != sys::DC_METAL_OK {
            return Err(Failure::new(status, error));
        }
        Ok((DCMetalLibrary(library), error.map(|error| error.message()).unwrap_or_default()))
    }

    pub(crate) fn function_names(&self) -> Vec<String> {
        // SAFETY: a live handle.
        let count = unsafe { sys::DCMetalLibrary_GetFunctionCount(self.0) };
        (0..count)
            .map(|index| {
                // SAFETY: a live handle; the pointer and capacity describe a writable buffer.
                text(|bytes, capacity| unsafe { sys::DCMetalLibrary_GetFunctionName(self.0, index, bytes, capacity) })
            })
            .collect()
    }

    pub(crate) fn set_label(&self, label: &str) -> Result<(), Failure> {
        let label = c_string(label)?;
        // SAFETY: a live handle and a terminated string.
        check(unsafe { sys::DCMetalLibrary_SetLabel(self.0, label.as_ptr()) }, ptr::null_mut())
    }
}

impl DCMetalConstants {
    pub(crate) fn new() -> Result<Constants, Failure> {
        let (mut constants, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: both out-parameters are valid for the call.
        let status = unsafe { sys::DCMetalConstants_Create(&mut constants, &mut error) };
        check(status, error)?;
        Ok(DCMetalConstants(constants))
    }

    pub(crate) fn set_at(&mut self, index: usize, value: &ConstantBytes) -> Result<(), Failure> {
        // SAFETY: a live handle; `bytes` holds a value of `data_type` (ConstantBytes' invariant, 8 bytes suffice for all).
        let status =
            unsafe { sys::DCMetalConstants_SetAtIndex(self.0, value.data_type, value.bytes.as_ptr().cast(), index) };
        check(status, ptr::null_mut())
    }

    pub(crate) fn set_named(&mut self, name: &str, value: &ConstantBytes) -> Result<(), Failure> {
        let name = c_string(name)?;
        // SAFETY: as in `set_at`; `name` is terminated.
        let status = unsafe {
            sys::DCMetalConstants_SetNamed(self.0, value.data_type, value.bytes.as_ptr().cast(), name.as_ptr())
        };
        check(status, ptr::null_mut())
    }
}

/// The value of a function constant: a scalar `MTLDataType` of at most 8 bytes and its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ConstantBytes {
    data_type: u32,
    bytes: [u8; 8],
}

impl ConstantBytes {
    /// The bytes of one value of that type, followed by zeros.
    pub(crate) fn new((scalar, bytes): (crate::Scalar, [u8; 8])) -> ConstantBytes {
        ConstantBytes { data_type: scalar.data_type(), bytes }
    }
}

impl DCMetalFunction {
    pub(crate) fn new(library: &Library, name: &str, constants: Option<&Constants>) -> Result<Function, Failure> {
        let name = c_string(name)?;
        let (mut function, mut error) = (ptr::null_mut(), ptr::null_mut());
        let constants = constants.map_or(ptr::null_mut(), |constants| constants.0);
        // SAFETY: live handles or NULL, a terminated string; the out-parameters are valid for the call.
        let status =
            unsafe { sys::DCMetalFunction_Create(library.0, name.as_ptr(), constants, &mut function, &mut error) };
        check(status, error)?;
        Ok(DCMetalFunction(function))
    }

    /// What it does, in the words of `DCMetalFunction_Analyse`.
    pub(crate) fn analyse(&self) -> Result<String, Failure> {
        let mut bytes = vec![0u8; 4096];
        loop {
            let (mut length, mut error) = (0, ptr::null_mut());
            let (buffer, capacity) = (bytes.as_mut_ptr().cast(), bytes.len());
            // SAFETY: a live handle; buffer and out-parameters are valid for the call.
            let status = unsafe { sys::DCMetalFunction_Analyse(self.0, buffer, capacity, &mut length, &mut error) };
            check(status, error)?;
            if length < bytes.len() {
                bytes.truncate(length);
                return Ok(String::from_utf8_lossy(&bytes).into_owned());
            }
            bytes.resize(length + 1, 0);
        }
    }
}

/// One argument as the pipeline's reflection tells it.
pub(crate) struct Binding {
    pub(crate) name: String,
    pub(crate) raw: sys::DCMetalBinding,
}

impl Binding {
    /// Whether it is the argument of that kind at that index.
    pub(crate) fn is(&self, kind: crate::ArgumentKind, index: usize) -> bool {
        let wanted = match kind {
            crate::ArgumentKind::Buffer | crate::ArgumentKind::Value => sys::DC_METAL_BINDING_BUFFER,
            crate::ArgumentKind::Threadgroup => sys::DC_METAL_BINDING_THREADGROUP_MEMORY,
            crate::ArgumentKind::Texture { .. } => sys::DC_METAL_BINDING_TEXTURE,
            crate::ArgumentKind::Sampler => sys::DC_METAL_BINDING_SAMPLER,
        };
        self.raw.kind == wanted.0 && self.raw.index as usize == index
    }
}

impl DCMetalPipeline {
    pub(crate) fn new(device: &Device, function: &Function, label: &str) -> Result<Pipeline, Failure> {
        Pipeline::from_archives(device, function, label, (&[], false), false)
    }

    /// One for indirect commands, which Metal may refuse.
    pub(crate) fn for_commands(device: &Device, function: &Function, label: &str) -> Result<Pipeline, Failure> {
        Pipeline::from_archives(device, function, label, (&[], false), true)
    }

    /// With the archive's code; `only` fails instead of compiling what it lacks.
    pub(crate) fn with_archive(
        device: &Device,
        function: &Function,
        label: &str,
        archive: &Archive,
        only: bool,
    ) -> Result<Pipeline, Failure> {
        Pipeline::from_archives(device, function, label, (&[archive.0], only), false)
    }

    fn from_archives(
        device: &Device,
        function: &Function,
        label: &str,
        (archives, only): (&[sys::DCMetalArchive], bool),
        indirect_commands: bool,
    ) -> Result<Pipeline, Failure> {
        let label = c_string(label)?;
        let options = sys::DCMetalPipelineOptions {
            label: label.as_ptr(),
            max_total_threads_per_threadgroup: 0,
            threadgroup_size_is_multiple_of_execution_width: false,
            indirect_commands,
        };
        let (mut pipeline, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: live handles, `archives` among them; `options` and the out-parameters are valid for the call.
        let status = unsafe {
            sys::DCMetalPipeline_CreateWithArchives(
                device.0,
                function.0,
                &options,
                archives.as_ptr(),
                archives.len(),
                only,
                &mut pipeline,
                &mut error,
            )
        };
        check(status, error)?;
        Ok(DCMetalPipeline(pipeline))
    }

    /// What a `compute_pipeline_state` in memory holds, of one for indirect commands; 0 where the system does not tell.
    pub(crate) fn resource_id(&self) -> u64 {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalPipeline_GetResourceID(self.0) }
    }

    pub(crate) fn max_threads(&self) -> u64 {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalPipeline_GetMaxTotalThreadsPerThreadgroup(self.0) }
    }

    pub(crate) fn execution_width(&self) -> u64 {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalPipeline_GetThreadExecutionWidth(self.0) }
    }

    pub(crate) fn static_threadgroup_memory(&self) -> u64 {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalPipeline_GetStaticThreadgroupMemoryLength(self.0) }
    }

    pub(crate) fn bindings(&self) -> Result<Vec<Binding>, Failure> {
        // SAFETY: a live handle.
        let count = unsafe { sys::DCMetalPipeline_GetBindingCount(self.0) };
        (0..count).map(|position| self.binding(position)).collect()
    }

    fn binding(&self, position: usize) -> Result<Binding, Failure> {
        let mut raw = sys::DCMetalBinding {
            kind: 0,
            index: 0,
            access: 0,
            data_type: 0,
            data_size: 0,
            alignment: 0,
            array_length: 0,
            used: false,
            texture_type: 0,
        };
        // SAFETY: a live handle and a valid out-parameter.
        check(unsafe { sys::DCMetalPipeline_GetBinding(self.0, position, &mut raw) }, ptr::null_mut())?;
        // SAFETY: a live handle; the pointer and capacity describe a writable buffer.
        let name =
            text(|bytes, capacity| unsafe { sys::DCMetalPipeline_GetBindingName(self.0, position, bytes, capacity) });
        Ok(Binding { name, raw })
    }
}
