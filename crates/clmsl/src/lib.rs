//! Being written.

pub mod diagnostic;
pub mod source;
pub mod token;
