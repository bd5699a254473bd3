//! Names of types: the built-in ones by their spelling, and the ones that are recognised only to be refused.

use crate::ast::TypeSpec;
use crate::types::{ImageDim, Scalar};

/// What a built-in type name means.
pub(super) enum BuiltinType {
    Spec(TypeSpec),
    /// Not supported; the text says why.
    Refused(String),
}

/// The meaning of `name` if it is a built-in type name that is one word and no C keyword.
pub(super) fn builtin_type(name: &str) -> Option<BuiltinType> {
    let spec = match name {
        "bool" | "_Bool" => TypeSpec::Scalar(Scalar::Bool),
        "uchar" => TypeSpec::Scalar(Scalar::UChar),
        "ushort" => TypeSpec::Scalar(Scalar::UShort),
        "uint" => TypeSpec::Scalar(Scalar::UInt),
        "ulong" => TypeSpec::Scalar(Scalar::ULong),
        "half" => TypeSpec::Scalar(Scalar::Half),
        "size_t" => TypeSpec::PointerSized(Scalar::ULong, "size_t"),
        "uintptr_t" => TypeSpec::PointerSized(Scalar::ULong, "uintptr_t"),
        "ptrdiff_t" => TypeSpec::PointerSized(Scalar::Long, "ptrdiff_t"),
        "intptr_t" => TypeSpec::PointerSized(Scalar::Long, "intptr_t"),
        // An event is a number that nobody looks at (see `lower::async_copy`).
        "event_t" | "cl_mem_fence_flags" => TypeSpec::Scalar(Scalar::UInt),
        "memory_order" | "memory_scope" => TypeSpec::Scalar(Scalar::Int),
        "atomic_int" => TypeSpec::Atomic(Scalar::Int),
        "atomic_uint" | "atomic_flag" => TypeSpec::Atomic(Scalar::UInt),
        "atomic_float" => TypeSpec::Atomic(Scalar::Float),
        "atomic_long" | "atomic_intptr_t" | "atomic_ptrdiff_t" => TypeSpec::Atomic(Scalar::Long),
        "atomic_ulong" | "atomic_uintptr_t" | "atomic_size_t" => TypeSpec::Atomic(Scalar::ULong),
        "sampler_t" => TypeSpec::Sampler,
        _ if ImageDim::of_name(name).is_some() => ImageDim::of_name(name).map(TypeSpec::Image)?,
        _ => return vector_type(name).or_else(|| refused_type(name).map(BuiltinType::Refused)),
    };
    Some(BuiltinType::Spec(spec))
}

fn vector_type(name: &str) -> Option<BuiltinType> {
    let digits = name.find(|c: char| c.is_ascii_digit())?;
    let (element, count) = name.split_at(digits);
    let lanes = match count {
        "2" | "3" | "4" | "8" | "16" => count.parse::<u8>().ok()?,
        _ => return None,
    };
    let scalar = match element {
        "char" => Scalar::Char,
        "uchar" => Scalar::UChar,
        "short" => Scalar::Short,
        "ushort" => Scalar::UShort,
        "int" => Scalar::Int,
        "uint" => Scalar::UInt,
        "long" => Scalar::Long,
        "ulong" => Scalar::ULong,
        "half" => Scalar::Half,
        "float" => Scalar::Float,
        "double" => Scalar::Double,
        _ => return None,
    };
    Some(BuiltinType::Spec(TypeSpec::Vector(scalar, lanes)))
}

fn refused_type(name: &str) -> Option<String> {
    let reason = match name {
        "queue_t" | "clk_event_t" | "ndrange_t" => "device-side enqueue is not supported (Metal has none)",
        "reserve_id_t" => "pipes are not supported (Metal has none)",
        "va_list" => "variadic functions are not supported (OpenCL C 3.0 §6.11.g)",
        "quad" => "128-bit floating point is not supported",
        "atomic_double" => "Metal has no 64-bit floating point",
        "image2d_msaa_t" | "image2d_array_msaa_t" | "image2d_msaa_depth_t" | "image2d_array_msaa_depth_t" => {
            "multi-sample images are not supported"
        }
        _ => return None,
    };
    Some(format!("'{name}': {reason}"))
}
