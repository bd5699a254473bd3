//! Differential runs: an OpenCL C program on an OpenCL implementation (the peer: PoCL on Linux, Apple's on macOS) and its
//! translation on Metal (the device), from the same bytes, and what both computed compared number by number.
//!
//! ```text
//! Program ---- device: clmsl, then Metal through dcmetal ----> Outputs --.
//!         \                                                              differences: exact, or in units in the last place
//!          '-- peer: clBuildProgram in a process of its own -> Outputs --'
//! ```
//!
//! The peer runs in a child process, since it may crash on what the program does; how that process is started is the
//! caller's word ([`Peer::new`]), and it must call [`serve`]. Both sides compile with `FP_CONTRACT OFF`: whether `a * b + c`
//! is rounded once or twice is each compiler's choice, and no difference worth reporting.
//!
//! What this cannot see: what both sides get wrong alike, races that come out alike, and undefined behaviour, which shows up
//! as a difference that is nobody's fault.

#![warn(missing_docs)]

mod campaign;
mod device;
mod differ;
mod image;
mod job;
mod opencl;
mod peer;
mod random;
mod run;
mod vary;

pub use campaign::{Campaign, Finding, Kind};
pub use device::Translated;
pub use differ::{Difference, differences};
pub use job::{Image, Launch, Outputs, Program, Ran, Value};
pub use opencl::serve;
pub use peer::{Peer, PeerError};
pub use random::Random;
pub use run::{Mismatch, Run, What, compare};
pub use vary::{Shape, vary};
