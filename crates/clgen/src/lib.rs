//! Random OpenCL C programs, the same for the same choices, whose every result the language defines.
//!
//! A program has one kernel. Its work-items write to places of their own, read shared memory only behind barriers, and put
//! what they computed into the output buffers. Nothing that OpenCL C leaves open is generated:
//!
//! * signed sums and products that could overflow are taken of unsigned operands, division is guarded;
//! * every variable is initialised, every index masked, every loop counted;
//! * floats and doubles are only combined by operations that are rounded once, or not at all (contraction must be off), and
//!   are converted to integers with saturation; no bits of a float are looked at, since NaNs have many;
//! * of what is evaluated in no certain order nothing has side effects;
//! * texels are read at coordinates that every step of the formulas keeps exact;
//! * lines of `printf` are whole, but in no certain order.
//!
//! Nor what PoCL gets wrong; comments at the places say what that is.
//!
//! OpenCL C before 2.0 wants pointers' address spaces written, our translator infers them. Helpers with unqualified pointers
//! are therefore macros, expanded once for us, and where `PEER` is defined once per address space, as overloads.

#![forbid(unsafe_code)]

/// Adds a line of source; its parts may take choices.
macro_rules! line {
    ($generator:expr, $($part:tt)*) => {{
        let text = format!($($part)*);
        $generator.line(text)
    }};
}

mod assign;
mod atomic;
mod choices;
mod constant;
mod control;
mod expr;
mod float;
mod function;
mod group;
mod image;
mod integer;
mod jump;
mod layout;
mod memory;
mod names;
mod pointer;
mod print;
mod reach;
mod stmt;
mod types;
mod vector;

pub use choices::Choices;
pub use layout::Layout;
pub use types::Scalar;

/// A generated program and how it is launched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// OpenCL C 1.2; one statement a line.
    pub source: String,
    /// Whether it has `double`, so that the translator is to emulate it.
    pub double: bool,
    /// Dimensions of the launch, 1 to 3.
    pub dimensions: u32,
    /// Work-items; 1 beyond the dimensions.
    pub grid: [u64; 3],
    /// Work-items of a work-group.
    pub group: [u64; 3],
    /// What the kernel `k` takes.
    pub args: Vec<Arg>,
}

/// One argument of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// A buffer of so many elements; any content will do.
    Buffer(Layout, usize),
    /// A value; any will do.
    Value(Layout),
    /// Local memory of so many bytes.
    Local(usize),
    /// An image.
    Image {
        /// Of textures, in Metal's words: `texture2d_array`.
        kind: &'static str,
        /// Of its texels, in Metal's words.
        format: &'static str,
        /// What each component of a texel is in memory; a half counts as `ushort`.
        scalar: Scalar,
        /// Components of a texel.
        components: usize,
        /// Width, height, depth as far as there are any, then layers.
        size: Vec<usize>,
        /// Whether only small whole numbers will do, of which every weighted mean is exact.
        small: bool,
    },
    /// A sampler, as the number that OpenCL C makes of it.
    Sampler(u32),
}

/// Makes a program.
pub fn generate(choices: &mut Choices) -> Program {
    function::program(choices)
}

/// A source of at least `bytes` bytes, of many programs with kernels `k0`, `k1` and so on.
pub fn generate_large(choices: &mut Choices, bytes: usize) -> String {
    function::large(choices, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_follow_from_their_choices() {
        for seed in 0..20 {
            assert_eq!(generate(&mut Choices::of_seed(seed)), generate(&mut Choices::of_seed(seed)));
        }
        assert_ne!(generate(&mut Choices::of_seed(1)), generate(&mut Choices::of_seed(2)));
    }

    #[test]
    fn programs_end_when_the_choices_do() {
        for length in [0, 1, 2, 10, 100] {
            for byte in [0, 1, 77, 255] {
                let program = generate(&mut Choices::of_bytes(&vec![byte; length]));
                assert!(program.source.len() < 200_000);
            }
        }
    }
}
