//! The language: what kernels compute, by every engine.

#[path = "../stdlib/mod.rs"]
mod stdlib;
#[path = "../support/mod.rs"]
mod support;

mod addresses;
mod alignment;
mod conditions;
mod differences;
mod engines;
mod engines_random;
mod engines_simd;
mod functions;
mod globals;
mod imageblocks;
mod joins;
mod kernels;
mod matrices_random;
mod options;
mod pointers;
mod ranges;
mod reach;
mod reconvergence;
mod recursion;
mod spaces;
mod spans;
mod stage_in;
mod streams;
mod tiles;
mod tiles_random;
mod uses;
mod warnings;
