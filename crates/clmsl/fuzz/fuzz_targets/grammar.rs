//! Programs of the generator, steered by the fuzzer's bytes: all of them must translate without an error.
#![no_main]

use clmsl::Options;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let program = clgen::generate(&mut clgen::Choices::of_bytes(bytes));
    let translation = clmsl::translate("fuzz.cl", &program.source, &Options::default());
    assert!(translation.msl.is_some(), "{}\n{}", program.source, translation.rendered());
});
