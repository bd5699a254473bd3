//! `printf`. Lines of several work-items come in no certain order: whoever compares sorts them.

use crate::expr::Generator;
use crate::types::{INTEGERS, Scalar, Type};

/// The bytes of the largest vector that is printed: larger ones PoCL 3.1 hands to its `printf` in registers of AVX-512, and without these it prints
/// other numbers.
const LARGEST: usize = 32;

impl Generator<'_> {
    /// One line of up to three values.
    pub(crate) fn print(&mut self) {
        if self.loops > 0 || !self.prints {
            return self.assignment();
        }
        let (mut format, mut arguments) = (String::new(), String::new());
        for _ in 0..1 + self.choices.below(3) {
            let (conversion, argument) = self.conversion();
            format.push_str(&conversion);
            arguments.push_str(", ");
            arguments.push_str(&argument);
            format.push_str(self.choices.of(&[" ", "; ", " %% ", "\\t", "|"]));
        }
        line!(self, "printf(\"{format}\\n\"{arguments});");
    }

    /// A conversion and what it converts.
    fn conversion(&mut self) -> (String, String) {
        let flags = self.choices.of(&["", "", "-", "0", "+", " ", "#"]);
        let width = self.choices.of(&["", "", "3", "12"]);
        let lanes = self.choices.of(&[1, 1, 1, 2, 3, 4, 8, 16]);
        match self.choices.below(6) {
            0 => {
                let text = self.choices.of(&["word", "", "a longer text"]);
                let flags = if flags == "-" { "-" } else { "" };
                (format!("%{flags}{width}s"), format!("\"{text}\""))
            }
            1 => ("%c".to_owned(), format!("(({} & 63) + 48)", self.expr(Type::scalar(Scalar::UInt), 2))),
            2 | 3 => {
                let float = self.any_float();
                let lanes = lanes.min(LARGEST / float.size());
                let vector = if lanes > 1 { format!("v{lanes}") } else { String::new() };
                let letter = self.choices.of(&["f", "e", "g", "F", "E", "G"]);
                let precision = self.choices.of(&["", ".0", ".3", ".9"]);
                // Eighths: what an implementation rounds to is decided by few digits.
                let value = self.eighths(Type { scalar: float, lanes }, 2);
                let length = match float {
                    Scalar::Double if lanes > 1 => "l",
                    _ if lanes > 1 => "hl",
                    _ => "",
                };
                (format!("%{flags}{width}{precision}{vector}{length}{letter}"), value)
            }
            _ => {
                let scalar = self.choices.of(&INTEGERS);
                let lanes = lanes.min(LARGEST / scalar.size());
                let vector = if lanes > 1 { format!("v{lanes}") } else { String::new() };
                let letter = if scalar.is_signed() {
                    self.choices.of(&["d", "i"])
                } else {
                    self.choices.of(&["u", "x", "X", "o"])
                };
                // `+` and a space are for signs, `#` for what is not decimal.
                let fits = match flags {
                    "+" | " " => scalar.is_signed(),
                    "#" => matches!(letter, "x" | "X" | "o"),
                    _ => true,
                };
                let flags = if fits { flags } else { "" };
                let length = match scalar.size() {
                    1 => "hh",
                    2 => "h",
                    4 if lanes > 1 => "hl",
                    4 => "",
                    _ => "l",
                };
                let precision = if flags == "0" { "" } else { self.choices.of(&["", "", ".5"]) };
                let value = self.expr(Type { scalar, lanes }, 2);
                (format!("%{flags}{width}{precision}{vector}{length}{letter}"), value)
            }
        }
    }
}
