//! Conformance tests of OpenCL C's built-in functions: translated, executed on the device present, and compared with
//! MPFR (through `rug`) or exact arithmetic.
//!
//! Everything is in `tests/conformance` (the tests) and `examples/accuracy.rs` (the long measurement that
//! docs/ACCURACY.md records); this library is empty, so that only tests need the reference's libraries.
