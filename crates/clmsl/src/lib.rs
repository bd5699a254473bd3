//! Being written.

pub mod diagnostic;
mod lexer;
pub mod options;
pub mod preprocess;
pub mod source;
pub mod token;
