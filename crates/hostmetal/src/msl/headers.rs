//! The headers that MSL is compiled with, embedded in this crate from native/hostmetal/msl.

/// A header: its name in the include directory, its text.
type Header = (&'static str, &'static str);

macro_rules! headers {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../native/hostmetal/msl/", $name)))),*]
    };
}

/// Everything in native/hostmetal/msl that a compiler reads; a test compares this list with the directory.
pub(crate) const HEADERS: &[Header] = headers!(
    "hostmetal.h",
    "hostmetal_intrinsics.h",
    "hostmetal_kernel.h",
    "hostmetal_language.h",
    "hostmetal_math.inc",
    "hostmetal_columns.h",
    "hostmetal_rendezvous.h",
    "hostmetal_runtime.h",
    "hostmetal_sampler.h",
    "hostmetal_stage.h",
    "hostmetal_texel.h",
    "hostmetal_types.h",
    "hostmetal_vectorize.h",
    "hostmetal_volatile.h",
    "metal_array",
    "metal_atomic",
    "metal_command_buffer",
    "metal_common",
    "metal_compute",
    "metal_curves",
    "metal_extended_vector",
    "metal_geometric",
    "metal_graphics",
    "metal_imageblocks",
    "metal_integer",
    "metal_limits",
    "metal_logging",
    "metal_macros.h",
    "metal_math",
    "metal_matrix",
    "metal_numeric",
    "metal_pack",
    "metal_packed_vector",
    "metal_pixel",
    "metal_quadgroup",
    "metal_relational",
    "metal_simdgroup",
    "metal_simdgroup_matrix",
    "metal_stdlib",
    "metal_texture",
    "metal_type_traits",
    "metal_types",
    "metal_uniform",
    "metal_visible_function_table",
    "simd/simd.h",
);

/// Headers that sources include by name and that need no text of their own: what they would declare is always there.
pub(crate) const EMPTY: &[&str] = &["metal_tensor", "metal_raytracing"];
