//! Names, some of which are words of C++ or MSL, or functions of one of them.

use crate::expr::Generator;

/// None is a word or a function of OpenCL C.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "device", "thread", "threadgroup", "metal", "as_type", "template", "class", "new", "this", "operator", "namespace",
    "vertex", "fragment", "visible", "packed_float4", "simdgroup_float8x8", "vec", "matrix", "texture2d", "access",
    "simd_sum", "and", "or", "not", "xor", "bitand", "nullptr", "std", "assert", "array", "atomic", "uniform", "coherent",
    "bfloat", "alignas", "constexpr", "decltype", "mutable", "virtual", "using", "throw", "typename", "try", "catch",
    "main", "saturate", "norm", "divide", "fmax3", "precise", "fast", "object", "mesh", "ray_data", "depth2d", "sampler",
    "static_assert", "thread_local", "explicit", "friend", "delete", "public", "protected", "export", "final", "override",
    "char16_t", "wchar_t", "noexcept", "concept", "requires", "typeid", "dynamic_cast", "int8_t", "uint64_t", "half2x2",
    "bool4", "packed_uchar3", "command_buffer", "atomic_bool", "thread_scope", "mem_flags", "address_space",
    "clmsl_float8", "clmsl_div", "reverse_bits", "discard_fragment", "intersection", "x", "lo", "s0", "_", "__x",
    "Int", "id", "grid", "gid", "tid", "args", "clmsl_sum",
];

/// Functions of OpenCL C that generated programs do not call: variables may hide them.
const FUNCTIONS: &[&str] = &["ctz", "dot", "cross", "length", "sin", "pow", "mix", "normalize", "log2", "exp"];

impl Generator<'_> {
    /// A name that nothing has yet.
    pub(crate) fn name(&mut self, prefix: &str) -> String {
        self.next_name += 1;
        if self.choices.once_in(8) {
            let variable = matches!(prefix, "v" | "a" | "x" | "i" | "r");
            let list = if variable && self.choices.once_in(5) { FUNCTIONS } else { WORDS };
            let word = self.choices.of(list);
            // OpenCL C lets variables only have it.
            if (variable || word != "main") && self.words.insert(word) {
                return word.to_owned();
            }
        }
        format!("{prefix}{}", self.next_name)
    }
}
