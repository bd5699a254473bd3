//! Metal for programs that were written for Apple's: hostmetal with its Objective-C classes, its libdispatch, and what
//! clients of Apple's Objective-C runtime call and GCC's does not have (native/hostmetal/standalone).
//!
//! All of it is C and Objective-C, so there is nothing to export here; naming the crate makes it part of the archive.
//! `scripts/install-hostmetal` turns that into libMetal.so with headers and a pkg-config file.

use hostmetal as _;
