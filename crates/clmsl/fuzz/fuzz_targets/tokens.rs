//! Soup of OpenCL C's words: every two bytes are one, in a function or outside.
#![no_main]

use clmsl::Options;
use libfuzzer_sys::fuzz_target;

const WORDS: &str = include_str!("../words.txt");

fuzz_target!(|bytes: &[u8]| {
    let words: Vec<&str> = WORDS.lines().collect();
    let mut source = String::from("typedef float4 T; struct S { int x; float3 y[2]; }; enum E { A, B };\n");
    let mut inside = false;
    for pair in bytes.chunks_exact(2) {
        let choice = usize::from(u16::from_le_bytes([pair[0], pair[1]]));
        // The last of the choices open and close a kernel, where most of the language is.
        if choice >= 0xF800 {
            source.push_str(if inside { "}\n" } else { "__kernel void k(__global int* a, __local struct S* s, float4 v) {\n" });
            inside = !inside;
        } else {
            let word = words[choice % words.len()];
            let gap = if word.starts_with('#') || choice & 0x400 != 0 { "\n" } else { " " };
            source.extend([gap, word, gap]);
        }
    }
    let translation = clmsl::translate("fuzz.cl", &source, &Options::default());
    let rendered = translation.rendered();
    assert_eq!(translation.msl.is_none(), translation.diagnostics.iter().any(clmsl::Diagnostic::is_error), "{rendered}");
});
