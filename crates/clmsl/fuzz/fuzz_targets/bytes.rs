//! Any bytes through the whole translator, with and without an answer to `#include`, in every version of the language.
#![no_main]

use clmsl::{IncludeRequest, Included, Options, Std};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let source = String::from_utf8_lossy(bytes);
    let include = |request: &IncludeRequest<'_>| {
        let text = "#ifndef H\n#define H\ntypedef int h;\n#endif\n".to_owned();
        Some(Included { name: request.path.to_owned(), text })
    };
    let choice = bytes.last().copied().unwrap_or(0);
    let options = Options {
        std: [Std::Cl10, Std::Cl11, Std::Cl12, Std::Cl20, Std::Cl30][usize::from(choice) % 5],
        include: if choice & 64 == 0 { Some(&include) } else { None },
        fast_relaxed_math: choice & 128 != 0,
        ..Options::default()
    };
    let translation = clmsl::translate("fuzz.cl", &source, &options);
    // Rendering looks up every span.
    let rendered = translation.rendered();
    assert_eq!(translation.msl.is_none(), translation.diagnostics.iter().any(clmsl::Diagnostic::is_error), "{rendered}");
});
