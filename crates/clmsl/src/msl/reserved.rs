//! Names a translated program must not declare: words of C++14 (§2.11) and MSL (§1.4, §2), macros of `metal_stdlib`,
//! and for functions the names of Metal's own, which argument-dependent lookup would find beside the user's.

use std::sync::LazyLock;

use rustc_hash::FxHashSet as HashSet;

/// Whether the name cannot be declared at all.
pub(crate) fn is_reserved(name: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| [CPP, MSL, MACROS].concat().into_iter().collect());
    WORDS.contains(name) || is_metal_type(name)
}

/// `float4`, `packed_half3`, `float4x4` and the like, which may be visible without their namespace.
fn is_metal_type(name: &str) -> bool {
    let name = name.strip_prefix("packed_").or_else(|| name.strip_prefix("simdgroup_")).unwrap_or(name);
    let Some(digits) = name.find(|c: char| c.is_ascii_digit()) else { return false };
    let (element, shape) = name.split_at(digits);
    let scalar = matches!(
        element,
        "bool"
            | "char"
            | "uchar"
            | "short"
            | "ushort"
            | "int"
            | "uint"
            | "long"
            | "ulong"
            | "half"
            | "float"
            | "bfloat"
    );
    scalar && matches!(shape.as_bytes(), [b'2'..=b'4'] | [b'2'..=b'8', b'x', b'2'..=b'8'])
}

/// Whether `metal` has a function of this name.
pub(crate) fn is_metal_function(name: &str) -> bool {
    FUNCTIONS.contains(&name)
}

#[rustfmt::skip]
const CPP: &[&str] = &[
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char16_t", "char32_t", "class", "compl", "concept", "const", "const_cast", "constexpr", "continue", "decltype",
    "default", "delete", "do", "double", "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false",
    "float", "for", "friend", "goto", "if", "inline", "int", "long", "main", "mutable", "namespace", "new", "noexcept",
    "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register",
    "reinterpret_cast", "requires", "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast",
    "std", "struct", "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid",
    "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
];

#[rustfmt::skip]
const MSL: &[&str] = &[
    "kernel", "vertex", "fragment", "visible", "stitchable", "intersection", "mesh", "object", "device", "constant",
    "threadgroup", "threadgroup_imageblock", "thread", "ray_data", "object_data", "coherent", "metal", "as_type",
    "uchar", "ushort", "uint", "ulong", "half", "bfloat", "size_t", "ptrdiff_t", "intptr_t", "uintptr_t",
    "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "access", "sampler",
    "texture", "imageblock", "array", "array_ref", "patch_control_point", "quad", "local", "global", "generic", "pipe",
    "image2d_t", "image3d_t", "event_t", "restrict", "discard_fragment", "vec", "packed_vec", "matrix", "atomic",
    "atomic_int", "atomic_uint", "atomic_bool", "atomic_float", "atomic_ulong", "command_buffer", "render_command",
    "compute_command", "uniform", "simdgroup_matrix", "depth2d", "texture1d", "texture2d", "texture3d", "texturecube",
];

#[rustfmt::skip]
const MACROS: &[&str] = &[
    "assert", "INFINITY", "NAN", "HUGE_VALF", "HUGE_VALH", "MAXFLOAT", "MAXHALF", "CHAR_BIT", "SCHAR_MAX", "SCHAR_MIN",
    "CHAR_MAX", "CHAR_MIN", "UCHAR_MAX", "SHRT_MAX", "SHRT_MIN", "USHRT_MAX", "INT_MAX", "INT_MIN", "UINT_MAX",
    "LONG_MAX", "LONG_MIN", "ULONG_MAX", "FLT_DIG", "FLT_MANT_DIG", "FLT_MAX_10_EXP", "FLT_MAX_EXP", "FLT_MIN_10_EXP",
    "FLT_MIN_EXP", "FLT_RADIX", "FLT_MAX", "FLT_MIN", "FLT_EPSILON", "HALF_DIG", "HALF_MANT_DIG", "HALF_MAX_10_EXP",
    "HALF_MAX_EXP", "HALF_MIN_10_EXP", "HALF_MIN_EXP", "HALF_RADIX", "HALF_MAX", "HALF_MIN", "HALF_EPSILON",
    "FP_ILOGB0", "FP_ILOGBNAN", "M_E_F", "M_LOG2E_F", "M_LOG10E_F", "M_LN2_F", "M_LN10_F", "M_PI_F", "M_PI_2_F",
    "M_PI_4_F", "M_1_PI_F", "M_2_PI_F", "M_2_SQRTPI_F", "M_SQRT2_F", "M_SQRT1_2_F", "M_E_H", "M_PI_H", "M_PI_2_H",
    "M_PI_4_H", "M_1_PI_H", "M_2_PI_H", "M_SQRT2_H", "M_LN2_H", "METAL_FUNC", "METAL_CONST", "METAL_INTERNAL", "NULL",
];

#[rustfmt::skip]
const FUNCTIONS: &[&str] = &[
    "abs", "absdiff", "acos", "acosh", "addsat", "all", "any", "asin", "asinh", "atan", "atan2", "atanh",
    "atomic_compare_exchange_weak_explicit", "atomic_exchange_explicit", "atomic_fetch_add_explicit",
    "atomic_fetch_and_explicit", "atomic_fetch_max_explicit", "atomic_fetch_min_explicit", "atomic_fetch_or_explicit",
    "atomic_fetch_sub_explicit", "atomic_fetch_xor_explicit", "atomic_load_explicit", "atomic_store_explicit",
    "atomic_thread_fence", "ceil", "clamp", "clz", "copysign", "cos", "cosh", "cospi", "cross", "ctz", "determinant",
    "dfdx", "dfdy", "distance", "distance_squared", "divide", "dot", "exp", "exp10", "exp2", "extract_bits", "fabs",
    "faceforward", "fdim", "floor", "fma", "fmax", "fmax3", "fmedian3", "fmin", "fmin3", "fmod", "fract", "frexp",
    "fwidth", "get_null_sampler", "hadd", "ilogb", "insert_bits", "isfinite", "isinf", "isnan", "isnormal",
    "isordered", "isunordered", "ldexp", "length", "length_squared", "log", "log10", "log2", "mad24", "madhi", "madsat",
    "max", "max3", "median3", "min", "min3", "mix", "modf", "mul24", "mulhi", "nan", "nextafter", "norm", "normalize",
    "popcount", "pow", "powr", "quad_all", "quad_any", "quad_ballot", "quad_broadcast", "quad_shuffle", "quad_sum",
    "reflect", "refract", "reverse_bits", "rhadd", "rint", "rotate", "round", "rsqrt", "saturate", "select", "sign",
    "signbit", "simd_all", "simd_and", "simd_any", "simd_ballot", "simd_broadcast", "simd_is_first", "simd_max",
    "simd_min", "simd_or", "simd_prefix_exclusive_sum", "simd_prefix_inclusive_sum", "simd_product", "simd_shuffle",
    "simd_shuffle_down", "simd_shuffle_up", "simd_shuffle_xor", "simd_sum", "simd_xor", "simdgroup_barrier", "sin",
    "sincos", "sinh", "sinpi", "smoothstep", "sqrt", "step", "subsat", "tan", "tanh", "tanpi", "threadgroup_barrier",
    "transpose", "trunc", "unpack_unorm4x8_to_float", "pack_float_to_unorm4x8", "make_uniform", "printf",
];
