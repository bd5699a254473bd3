//! hostmetal: Metal's compute API on Linux. This crate is the engine: it compiles MSL kernels with clang (`msl`) and runs
//! them on the CPU's cores (`executor`). The Objective-C classes in native/hostmetal are faces of it, through the C
//! interface in native/hostmetal/engine.h, which `ffi` implements.
//!
//! ```text
//! ffi -> library -> msl            source to loaded kernels
//!     -> queue -> command -> encode   what programs record and commit
//!     -> event                      what they wait for
//!     -> io                         what is read from files
//!     -> performance                what Metal Performance Shaders compute
//!     -> executor                   pool of workers, barriers, faults
//!     -> device, memory, heap, pipeline
//!     -> faults                     what shall fail on purpose
//! ```
//!
//! What is settled by environment variables, read once per process:
//!
//! | variable | meaning | default |
//! | --- | --- | --- |
//! | HOSTMETAL_THREADS | threads that compute at the same time | one per core |
//! | HOSTMETAL_DEVICES | number of devices, 1 to 16 | 1 |
//! | HOSTMETAL_MEMORY | bytes of each device's memory | half of this machine's, shared by all |
//! | HOSTMETAL_DEVICE_0, _1, ... | how a device differs (simulate.rs) | not at all |
//! | HOSTMETAL_COUNTS | file for counts of what kernels do (executor/counting.rs) | nothing is counted |
//! | HOSTMETAL_FAULTS | what fails on purpose (faults.rs) | nothing |
//! | HOSTMETAL_GRAPH_COMMITS | 1: graphs commit behind each operation (MPSGraphExecutable.mm) | they do not |
//! | HOSTMETAL_OVERLAP | seed by which passes overtake each other (overlap.rs) | 0: they do not |
//! | HOSTMETAL_STREAM_SIZE | bytes; what writes more goes around the caches (executor/streams.rs) | what the last cache holds |
//! | HOSTMETAL_WATCHDOG | seconds that a command buffer may run, and may wait for an event; 0 for no limit | 120 |

mod arguments;
mod command;
mod commands;
mod device;
mod encode;
mod event;
pub mod executor;
pub mod faults;
pub mod ffi;
mod functions;
mod graph;
mod heap;
mod io;
mod library;
mod memory;
mod mipmap;
pub mod msl;
pub mod overlap;
mod pages;
mod performance;
pub mod pipeline;
mod queue;
mod simulate;
mod texture;
