//! Functions of OpenCL C that MSL lacks, as MSL text; a file is part of the output only if one of its functions is used.

use std::collections::BTreeSet;

/// One file of the prelude.
struct File {
    name: &'static str,
    text: &'static str,
    /// The functions a translation may call.
    provides: &'static [&'static str],
    /// Whether it uses the macros of `lanes`.
    lanes: bool,
}

macro_rules! file {
    ($name:literal, $lanes:literal, [$($function:literal),* $(,)?]) => {
        File {
            name: $name,
            text: include_str!(concat!($name, ".metal")),
            provides: &[$(concat!("clmsl_", $function)),*],
            lanes: $lanes,
        }
    };
}

const FILES: &[File] = &[
    file!("lanes", false, []),
    file!("dimension", false, ["dimension"]),
    file!("divide", false, ["div", "rem"]),
    file!("convert", false, ["convert_sat"]),
    file!("async", false, ["async_copy", "async_gather", "async_scatter"]),
    file!("atomic", false, ["atomic_cmpxchg"]),
    file!("absolute", true, ["abs", "abs_diff"]),
    file!("saturate", true, ["add_sat", "sub_sat", "hadd", "rhadd"]),
    file!("multiply", true, ["mul_hi", "mad_hi", "mad_sat"]),
    file!("bits", true, ["rotate", "bitselect"]),
    file!("relational", true, ["islessgreater"]),
    file!("geometric", false, ["length", "distance", "normalize", "cross"]),
    file!("parts", false, ["fract", "modf", "frexp", "sincos"]),
    file!("turns", false, ["acospi", "asinpi", "atanpi", "atan2pi"]),
    file!("power", true, ["cbrt", "hypot", "pown", "rootn", "expm1", "log1p"]),
    file!("floats", true, ["remainder", "nextafter", "logb", "ilogb", "maxmag", "minmag"]),
];

/// The files that hold the called functions, in the order of the table, which puts dependencies first.
pub(crate) fn files(calls: &BTreeSet<String>) -> Vec<&'static str> {
    let used: Vec<&File> = FILES.iter().filter(|f| f.provides.iter().any(|name| calls.contains(*name))).collect();
    let lanes = used.iter().any(|f| f.lanes);
    FILES
        .iter()
        .filter(|f| (f.name == "lanes" && lanes) || used.iter().any(|u| u.name == f.name))
        .map(|f| f.name)
        .collect()
}

/// The text of a file.
pub(crate) fn text(name: &str) -> &'static str {
    match FILES.iter().find(|f| f.name == name) {
        Some(f) => f.text,
        None => unreachable!("the name came from this table"),
    }
}

#[cfg(test)]
mod tests {
    use super::FILES;
    use crate::builtins::{Lowering, TABLE};

    #[test]
    fn every_prelude_function_of_the_table_exists() {
        let provided = |name: &str| {
            let full = format!("clmsl_{name}");
            FILES.iter().any(|f| f.provides.contains(&full.as_str()) && f.text.contains(&full))
        };
        for row in TABLE {
            if let Lowering::Prelude(name) = row.lowering {
                assert!(provided(name), "{} needs clmsl_{name}", row.name);
            }
        }
    }
}
