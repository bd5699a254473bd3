//! Kernels from OpenCL C: the translator's diagnostics and its reflection, joined with Metal's.

use std::sync::Arc;

use clmsl::{
    Analysis, ArgKind, ArgReflection, Fp64, HiddenArg, HiddenKind, ImageDimension, KernelReflection, Options,
    PrintFormat,
};
use clmsl::{Reflection, ScalarKind, Severity, Sources, Std};

use super::analysis::Analysed;
use super::argument::{Access, Argument, ArgumentKind, Scalar, TextureKind, TextureSlot};
use crate::print::Printing;
use crate::raw::Binding;
use crate::{Error, Result};

/// What is remembered of a translated source.
pub(super) struct Program {
    reflection: Reflection,
    analysis: Analysis,
    /// Where its text is.
    pub(super) sources: Arc<Sources>,
    formats: Arc<[PrintFormat]>,
    std: Std,
}

impl Program {
    /// What the kernel does.
    pub(super) fn analysed(&self, name: &str) -> Option<Analysed> {
        Some(Analysed::new(self.analysis.kernel(name)?.clone(), Arc::clone(&self.sources)))
    }

    pub(super) fn kernel_names(&self) -> Vec<String> {
        self.reflection.kernels.iter().map(|kernel| kernel.name.clone()).collect()
    }

    /// `name` is one of `kernel_names`.
    pub(super) fn kernel(&self, name: &str) -> &KernelReflection {
        let found = self.reflection.kernels.iter().find(|kernel| kernel.name == name);
        found.expect("the library's names are those of the reflection")
    }

    /// How a kernel prints, if it does.
    pub(super) fn printing(&self, kernel: &KernelReflection) -> Option<Printing> {
        let hidden = hidden(kernel, HiddenKind::Printf)?;
        Some(Printing { slot: hidden.slot as usize, bytes: hidden.size, formats: Arc::clone(&self.formats) })
    }

    /// OpenCL C up to 1.2 has no partial work-groups; since 2.0 they are allowed (OpenCL 3.0, clEnqueueNDRangeKernel).
    pub(super) fn has_uniform_groups(&self) -> bool {
        self.std <= Std::Cl12
    }
}

/// What a translation depends on besides its name, its text, its macros and included files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    std: Std,
    fast_relaxed_math: bool,
    finite_math_only: bool,
    mad_enable: bool,
    denorms_are_zero: bool,
    fp64: Fp64,
    single_precision_constant: bool,
}

impl Settings {
    pub(crate) fn of(options: &Options<'_>) -> Settings {
        // Without `..`, so that a new option cannot be forgotten.
        let &Options {
            std,
            defines: _,
            include: _,
            fast_relaxed_math,
            finite_math_only,
            mad_enable,
            denorms_are_zero,
            fp64,
            single_precision_constant,
        } = options;
        Settings {
            std,
            fast_relaxed_math,
            finite_math_only,
            mad_enable,
            denorms_are_zero,
            fp64,
            single_precision_constant,
        }
    }

    /// Options with these macros and no included files.
    pub(crate) fn options(self, defines: Vec<(String, String)>) -> Options<'static> {
        let Settings {
            std,
            fast_relaxed_math,
            finite_math_only,
            mad_enable,
            denorms_are_zero,
            fp64,
            single_precision_constant,
        } = self;
        Options {
            std,
            defines,
            include: None,
            fast_relaxed_math,
            finite_math_only,
            mad_enable,
            denorms_are_zero,
            fp64,
            single_precision_constant,
        }
    }
}

/// Translates; returns the program, its MSL, and the rendered warnings.
pub(super) fn translate(name: &str, source: &str, options: &Options<'_>) -> Result<(Program, String, String)> {
    let translation = clmsl::translate(name, source, options);
    let diagnostics: Vec<String> =
        translation.diagnostics.iter().map(|diagnostic| translation.sources.render(diagnostic)).collect();
    let diagnostics = diagnostics.join("\n");
    let Some(msl) = translation.msl else {
        let errors = translation.diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
        return Err(Error::OpenCl { name: name.to_owned(), diagnostics, errors });
    };
    let mut reflection = translation.reflection;
    let formats = std::mem::take(&mut reflection.formats).into();
    let sources = Arc::new(translation.sources);
    Ok((Program { reflection, analysis: translation.analysis, sources, formats, std: options.std }, msl, diagnostics))
}

/// The arguments under the source's names and in its order, each with Metal's word on whether it is used.
pub(super) fn arguments(kernel: &KernelReflection, bindings: &[Binding]) -> Vec<Argument> {
    let mut arguments: Vec<Argument> = kernel.args.iter().map(|arg| argument(arg, bindings)).collect();
    arguments.sort_by_key(|argument| argument.position);
    arguments
}

/// The slot in which the kernel finds the number of the launch's dimensions, if it asks (`get_work_dim`).
pub(super) fn work_dim_slot(kernel: &KernelReflection) -> Option<usize> {
    hidden(kernel, HiddenKind::WorkDim).map(|hidden| hidden.slot as usize)
}

/// The slot of what work-items keep between the parts of a kernel with grid barriers, and its bytes for each.
pub(super) fn state(kernel: &KernelReflection) -> Option<(usize, u64)> {
    hidden(kernel, HiddenKind::GridState).map(|hidden| (hidden.slot as usize, hidden.size))
}

/// The slot in which the parts of such a kernel say which of them is next.
pub(super) fn turns_slot(kernel: &KernelReflection) -> Option<usize> {
    hidden(kernel, HiddenKind::GridTurns).map(|hidden| hidden.slot as usize)
}

/// The slot in which the kernel finds the formats of its images, if it asks (`get_image_channel_order`).
pub(super) fn image_formats_slot(kernel: &KernelReflection) -> Option<usize> {
    hidden(kernel, HiddenKind::ImageFormats).map(|hidden| hidden.slot as usize)
}

fn hidden(kernel: &KernelReflection, kind: HiddenKind) -> Option<&HiddenArg> {
    kernel.hidden.iter().find(|hidden| hidden.kind == kind)
}

fn argument(arg: &ArgReflection, bindings: &[Binding]) -> Argument {
    let (kind, bound) = match arg.kind {
        ArgKind::Buffer | ArgKind::Constant => (ArgumentKind::Buffer, ArgumentKind::Buffer),
        ArgKind::Value => (ArgumentKind::Value, ArgumentKind::Value),
        ArgKind::Local => (ArgumentKind::Threadgroup, ArgumentKind::Threadgroup),
        ArgKind::Image => {
            let image = arg.image.as_ref().expect("an image's reflection says which");
            let kind = ArgumentKind::Texture { kind: texture_kind(image.dimension) };
            (kind, kind)
        }
        // A number, to the kernel.
        ArgKind::Sampler => (ArgumentKind::Sampler, ArgumentKind::Value),
    };
    let slot = arg.slot as usize;
    let textures = arg.image.as_ref().map_or(&[][..], |image| &image.textures);
    let textures: Vec<TextureSlot> = textures
        .iter()
        .map(|texture| TextureSlot { scalar: Some(scalar(texture.component)), slot: texture.slot as usize })
        .collect();
    let slots = match arg.kind {
        ArgKind::Image => textures.iter().map(|texture| texture.slot).collect(),
        _ => vec![slot],
    };
    let is_used = |&slot: &usize| bindings.iter().any(|binding| binding.is(bound, slot) && binding.raw.used);
    let used = slots.iter().any(is_used);
    let element = match &textures[..] {
        [only] => only.scalar.map(|scalar| (scalar, 4)),
        _ => arg.element.map(|element| (scalar(element.scalar), element.lanes)),
    };
    Argument {
        name: arg.name.clone(),
        position: arg.index as usize,
        slot,
        offset: arg.offset as usize,
        kind,
        access: match arg.access {
            clmsl::Access::ReadOnly => Access::ReadOnly,
            clmsl::Access::WriteOnly => Access::WriteOnly,
            clmsl::Access::ReadWrite => Access::ReadWrite,
        },
        type_name: type_name(arg),
        scalar: element.map(|(scalar, _)| scalar),
        lanes: element.map_or(0, |(_, lanes)| lanes),
        size: arg.size,
        alignment: arg.align,
        textures,
        used,
    }
}

fn texture_kind(dimension: ImageDimension) -> TextureKind {
    match dimension {
        ImageDimension::Image1d => TextureKind::D1,
        ImageDimension::Image1dBuffer => TextureKind::Buffer,
        ImageDimension::Image1dArray => TextureKind::D1Array,
        ImageDimension::Image2d => TextureKind::D2,
        ImageDimension::Image2dArray => TextureKind::D2Array,
        ImageDimension::Image3d => TextureKind::D3,
    }
}

/// The type as the source has it; where `--fp64 float` made another of it, that is said.
fn type_name(arg: &ArgReflection) -> String {
    let float = arg.element.is_some_and(|element| element.scalar == ScalarKind::Float);
    match float && arg.type_name.contains("double") {
        true => format!("{} as float", arg.type_name),
        false => arg.type_name.clone(),
    }
}

fn scalar(kind: ScalarKind) -> Scalar {
    match kind {
        ScalarKind::Bool => Scalar::Bool,
        ScalarKind::Char => Scalar::I8,
        ScalarKind::UChar => Scalar::U8,
        ScalarKind::Short => Scalar::I16,
        ScalarKind::UShort => Scalar::U16,
        ScalarKind::Int => Scalar::I32,
        ScalarKind::UInt => Scalar::U32,
        ScalarKind::Long => Scalar::I64,
        ScalarKind::ULong => Scalar::U64,
        ScalarKind::Half => Scalar::F16,
        ScalarKind::Float => Scalar::F32,
        ScalarKind::Double => Scalar::F64,
    }
}
