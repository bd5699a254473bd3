//! The `dcmetal` command: one module per subcommand, the command line itself in `cli`.
#![forbid(unsafe_code)]

mod array;
mod failure;
mod files;
mod spec;

fn main() {}
