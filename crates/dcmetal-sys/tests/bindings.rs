//! The bindings that docs.rs builds use are those that bindgen makes of the header. `UPDATE_EXPECT=1` rewrites them.

use std::fs;

#[test]
fn docs_bindings_are_current() {
    let Some(made) = option_env!("DCMETAL_SYS_BINDINGS") else {
        panic!("built with DOCS_RS set: there is nothing to compare with");
    };
    let made = fs::read_to_string(made).expect("the build wrote them");
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bindings_docs.rs");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(kept, &made).expect("the file can be written");
    }
    let text = fs::read_to_string(kept).expect("it is part of the package");
    assert!(text == made, "src/bindings_docs.rs is not what the header gives; UPDATE_EXPECT=1 rewrites it");
}
