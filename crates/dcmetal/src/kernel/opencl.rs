//! Kernels from OpenCL C: the translator's diagnostics and its reflection, joined with Metal's.

use clmsl::{ArgKind, ArgReflection, KernelReflection, Options, Reflection, Severity, Std};

use super::argument::{Access, Argument, ArgumentKind, Scalar};
use crate::raw::Binding;
use crate::{Error, Result};

/// What is remembered of a translated source.
pub(super) struct Program {
    reflection: Reflection,
    std: Std,
}

impl Program {
    pub(super) fn kernel_names(&self) -> Vec<String> {
        self.reflection.kernels.iter().map(|kernel| kernel.name.clone()).collect()
    }

    /// `name` is one of `kernel_names`.
    pub(super) fn kernel(&self, name: &str) -> &KernelReflection {
        let found = self.reflection.kernels.iter().find(|kernel| kernel.name == name);
        found.expect("the library's names are those of the reflection")
    }

    /// OpenCL C 1.2 has no partial work-groups; since 2.0 they are allowed (OpenCL 3.0, clEnqueueNDRangeKernel).
    pub(super) fn has_uniform_groups(&self) -> bool {
        self.std == Std::Cl12
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
    Ok((Program { reflection: translation.reflection, std: options.std }, msl, diagnostics))
}

/// The arguments under the source's names and in its order, each with Metal's word on whether it is used.
pub(super) fn arguments(kernel: &KernelReflection, bindings: &[Binding]) -> Result<Vec<Argument>> {
    if let Some(hidden) = kernel.hidden.first() {
        return Err(Error::Unsupported {
            what: format!("kernel `{}`: the hidden argument {hidden:?}", kernel.name),
            text: "dcmetal binds the arguments of the source only".to_owned(),
        });
    }
    let mut arguments: Vec<Argument> = kernel.args.iter().map(|arg| argument(arg, bindings)).collect();
    arguments.sort_by_key(|argument| argument.position);
    Ok(arguments)
}

fn argument(arg: &ArgReflection, bindings: &[Binding]) -> Argument {
    let kind = match arg.kind {
        ArgKind::Buffer | ArgKind::Constant => ArgumentKind::Buffer,
        ArgKind::Value => ArgumentKind::Value,
        ArgKind::Local => ArgumentKind::Threadgroup,
    };
    let slot = arg.slot as usize;
    let used = bindings.iter().any(|binding| binding.is(kind, slot) && binding.raw.used);
    Argument {
        name: arg.name.clone(),
        position: arg.index as usize,
        slot,
        kind,
        access: match arg.access {
            clmsl::Access::ReadOnly => Access::ReadOnly,
            clmsl::Access::ReadWrite => Access::ReadWrite,
        },
        type_name: arg.type_name.clone(),
        scalar: scalar(arg),
        size: arg.size,
        alignment: arg.align,
        used,
    }
}

fn scalar(_arg: &ArgReflection) -> Option<Scalar> {
    None
}
