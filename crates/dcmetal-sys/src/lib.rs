//! Raw bindings to DCMetal, a C ABI over Apple's [Metal compute API](https://developer.apple.com/documentation/metal).
//!
//! The functions, types and constants are those of `native/include/DCMetal.h` and what it includes, with the header's own comments; the
//! contract (ownership, status, threads, strings) is the one its first comment states. On macOS the library behind them is
//! Apple's Metal, elsewhere the crate `hostmetal`. Nothing here is safe to call; the crate `dcmetal` is.
//!
//! Enumerations are newtypes over the C integer, so a value this version does not know is not undefined behaviour.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals, reason = "the names are the C header's")]
#![allow(
    clippy::allow_attributes_without_reason,
    clippy::multiple_unsafe_ops_per_block,
    clippy::undocumented_unsafe_blocks,
    reason = "what bindgen generates: layout assertions and zeroed defaults"
)]
#![allow(
    rustdoc::bare_urls,
    rustdoc::broken_intra_doc_links,
    rustdoc::invalid_html_tags,
    reason = "the comments are written for C: [[buffer(n)]] is an attribute, not a link"
)]

// Metal itself, where the system has none; nothing of it is called from Rust, so it must be named to be linked.
#[cfg(not(target_os = "macos"))]
use hostmetal as _;

include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
