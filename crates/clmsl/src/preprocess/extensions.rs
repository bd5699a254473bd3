//! The extensions of OpenCL C and the optional features of OpenCL C 3.0 (§6.2.1): which macros are defined.
//!
//! A macro is defined exactly if all that its extension adds to the language is kept; docs/TRANSLATION.md has the same table,
//! and a test here compares them. What an extension that is not announced offers can still be there (`cl_khr_subgroups`):
//! whether a function is known does not depend on its macro.

use crate::options::{Fp64, Options, Std};

/// When the macro of an extension or feature is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    /// With OpenCL C 3.0.
    Cl30,
    /// With `--fp64 float` and `--fp64 emulate`.
    Fp64,
    /// Never, because of this.
    Never(&'static str),
}

use When::{Always, Cl30, Never};

const NO_DOUBLE: &str = "Metal has no 64-bit floating point; `cl_khr_fp64` is there with --fp64";
const NO_LONG_ATOMICS: &str = "Metal has no atomic functions of 64 bits that return a value";
const NO_ENQUEUE: &str = "Metal has no enqueue on the device";
const NO_CLOCK: &str = "Metal has no clock in kernels";
const NO_LEVELS: &str = "images with several levels of detail are not supported";

/// Sorted by name.
#[rustfmt::skip]
const TABLE: &[(&str, When)] = &[
    ("__opencl_c_3d_image_writes", Cl30),
    ("__opencl_c_atomic_order_acq_rel", Cl30),
    ("__opencl_c_atomic_order_seq_cst", Cl30),
    ("__opencl_c_atomic_scope_all_devices", Never("Metal orders memory within one device")),
    ("__opencl_c_atomic_scope_device", Cl30),
    ("__opencl_c_device_enqueue", Never(NO_ENQUEUE)),
    ("__opencl_c_fp64", When::Fp64),
    ("__opencl_c_generic_address_space", Never("a pointer to memory of several address spaces in turn is refused")),
    ("__opencl_c_images", Cl30),
    ("__opencl_c_int64", Cl30),
    ("__opencl_c_integer_dot_product_input_4x8bit", Cl30),
    ("__opencl_c_integer_dot_product_input_4x8bit_packed", Cl30),
    ("__opencl_c_kernel_clock_scope_device", Never(NO_CLOCK)),
    ("__opencl_c_kernel_clock_scope_sub_group", Never(NO_CLOCK)),
    ("__opencl_c_kernel_clock_scope_work_group", Never(NO_CLOCK)),
    ("__opencl_c_pipes", Never("Metal has no pipes")),
    ("__opencl_c_program_scope_global_variables", Never("Metal has no writable variables at program scope")),
    ("__opencl_c_read_write_images", Cl30),
    ("__opencl_c_subgroups", Cl30),
    ("__opencl_c_work_group_collective_functions", Cl30),
    ("cl_amd_fp64", Never(NO_DOUBLE)),
    ("cl_amd_media_ops", Never("its functions are not there")),
    ("cl_amd_media_ops2", Never("its functions are not there")),
    ("cl_amd_printf", Never("`printf` is there without it")),
    ("cl_dcmetal_grid_barrier", Always),
    ("cl_ext_float_atomics", Never("Metal has no atomic minimum and maximum of floats")),
    ("cl_intel_required_subgroup_size", Never("`intel_reqd_sub_group_size` is kept for 32 only, and programs take the macro for an Intel GPU")),
    ("cl_intel_subgroups", Never("block reads and writes of images are not there")),
    ("cl_khr_3d_image_writes", Always),
    ("cl_khr_async_work_group_copy_fence", Always),
    ("cl_khr_byte_addressable_store", Always),
    ("cl_khr_depth_images", Always),
    ("cl_khr_device_enqueue_local_arg_types", Never(NO_ENQUEUE)),
    ("cl_khr_expect_assume", Never("its functions are not there")),
    ("cl_khr_extended_async_copies", Always),
    ("cl_khr_extended_bit_ops", Always),
    ("cl_khr_fp16", Always),
    ("cl_khr_fp64", When::Fp64),
    ("cl_khr_gl_msaa_sharing", Never("multi-sample images are not supported")),
    ("cl_khr_global_int32_base_atomics", Always),
    ("cl_khr_global_int32_extended_atomics", Always),
    ("cl_khr_initialize_memory", Never("Metal does not initialise local memory")),
    ("cl_khr_int64_base_atomics", Never(NO_LONG_ATOMICS)),
    ("cl_khr_int64_extended_atomics", Never(NO_LONG_ATOMICS)),
    ("cl_khr_integer_dot_product", Always),
    ("cl_khr_kernel_clock", Never(NO_CLOCK)),
    ("cl_khr_local_int32_base_atomics", Always),
    ("cl_khr_local_int32_extended_atomics", Always),
    ("cl_khr_mipmap_image", Never(NO_LEVELS)),
    ("cl_khr_mipmap_image_writes", Never(NO_LEVELS)),
    ("cl_khr_select_fprounding_mode", Never("Metal rounds to nearest")),
    ("cl_khr_srgb_image_writes", Never("what a write to an sRGB texture does is Metal's matter")),
    ("cl_khr_subgroup_ballot", Always),
    ("cl_khr_subgroup_clustered_reduce", Always),
    ("cl_khr_subgroup_extended_types", Always),
    ("cl_khr_subgroup_named_barrier", Never("Metal has no named barriers")),
    ("cl_khr_subgroup_non_uniform_arithmetic", Always),
    ("cl_khr_subgroup_non_uniform_vote", Always),
    ("cl_khr_subgroup_rotate", Always),
    ("cl_khr_subgroup_shuffle", Always),
    ("cl_khr_subgroup_shuffle_relative", Always),
    ("cl_khr_subgroups", Never("it promises that sub-groups make progress independently, which Metal does not; its functions are there, but those on pipes")),
    ("cl_khr_work_group_uniform_arithmetic", Always),
    ("cl_qcom_reqd_sub_group_size", Never("the waves of Adreno GPUs have other widths")),
];

fn is_defined(when: When, options: &Options<'_>) -> bool {
    match when {
        Always => true,
        Cl30 => options.std >= Std::Cl30,
        When::Fp64 => options.fp64 != Fp64::Reject,
        Never(_) => false,
    }
}

/// The macros that are defined.
pub(super) fn defined<'o>(options: &'o Options<'_>) -> impl Iterator<Item = &'static str> + use<'o> {
    TABLE.iter().filter(|(_, when)| is_defined(*when, options)).map(|(name, _)| *name)
}

/// Why a program that enables this extension does not get all of it; `None` if it does.
pub(super) fn lacking(name: &str, options: &Options<'_>) -> Option<String> {
    let known = TABLE.iter().find(|(known, _)| *known == name && known.starts_with("cl_"));
    let why = match known {
        Some((_, when)) if is_defined(*when, options) => return None,
        Some((_, Never(why))) => why.replace('`', "'"),
        Some(_) => "Metal has no 64-bit floating point (see --fp64)".to_owned(),
        None => return Some(format!("extension '{name}' is not known")),
    };
    Some(format!("extension '{name}' is not supported as a whole: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows below the heading of the page.
    fn described() -> Vec<(String, String, String)> {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/TRANSLATION.md");
        let page = std::fs::read_to_string(path).expect("the page");
        let (_, section) = page.split_once("\n## Extensions and features\n").expect("the section");
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        rows.map(|row| {
            let (name, rest) = row.split_once("` | ").expect("a macro");
            let (when, why) = rest.split_once(" |").expect("two more cells");
            let why = why.strip_suffix('|').expect("the end of a row").trim();
            (name.to_owned(), when.to_owned(), why.to_owned())
        })
        .collect()
    }

    #[test]
    fn the_page_has_the_table() {
        let written: Vec<(String, String, String)> = TABLE
            .iter()
            .map(|(name, when)| {
                let (when, why) = match when {
                    Always => ("always", ""),
                    Cl30 => ("with OpenCL C 3.0", ""),
                    When::Fp64 => ("with `--fp64`", ""),
                    Never(why) => ("never", *why),
                };
                ((*name).to_owned(), when.to_owned(), why.to_owned())
            })
            .collect();
        assert!(TABLE.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(described(), written);
    }

    #[test]
    fn the_macros_are_those_of_the_page() {
        for std in [Std::Cl10, Std::Cl11, Std::Cl12, Std::Cl20, Std::Cl30] {
            for fp64 in [Fp64::Reject, Fp64::Float, Fp64::Emulate] {
                for (name, when, _) in described() {
                    let wanted = match when.as_str() {
                        "always" => "1",
                        "with OpenCL C 3.0" if std == Std::Cl30 => "1",
                        "with `--fp64`" if fp64 != Fp64::Reject => "1",
                        _ => "undefined",
                    };
                    let source =
                        format!("#ifdef {name}\n#if {name} != 1\n#error two\n#endif\n#else\n#error undefined\n#endif");
                    let options = Options { std, fp64, ..Options::default() };
                    let rendered = crate::translate("k.cl", &source, &options).rendered();
                    let found = if rendered.is_empty() { "1" } else { "undefined" };
                    assert_eq!(found, wanted, "{name} {std:?} {fp64:?}: {rendered}");
                    assert!(rendered.is_empty() || rendered.contains("#error undefined"), "{rendered}");
                }
            }
        }
    }
}
