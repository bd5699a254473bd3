//! Programs of the generator, steered by the fuzzer's bytes: all of them must translate without an error.
#![no_main]

use clmsl::{Fp64, Options};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let program = clgen::generate(&mut clgen::Choices::of_bytes(bytes));
    let fp64 = if program.double { Fp64::Emulate } else { Fp64::Reject };
    let translation = clmsl::translate("fuzz.cl", &program.source, &Options { fp64, ..Options::default() });
    assert!(translation.msl.is_some(), "{}\n{}", program.source, translation.rendered());
});
