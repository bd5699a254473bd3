//! The C ABI of native/include/DCMetal.h as one archive: the shim, and on Linux the Metal behind it.
//!
//! The functions are C, so there is nothing to export here; naming the crate makes them part of the archive.
//! `scripts/install` turns it into libdcmetal.a and libdcmetal.so (dylib on macOS) with header, pkg-config and CMake files.

use dcmetal_sys as _;
