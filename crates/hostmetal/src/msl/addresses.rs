//! Which references to constants are of memory that the program knows by its address.
//!
//! What a reference in `constant` names is copied once for a threadgroup (`held` in hostmetal_kernel.h), so that stores cannot be taken for changes of it. The
//! copy has another address, and nothing behind it. So there is none where a program could tell: where it takes the address, passes memory on to commands
//! that a kernel records, or reads an array of one element at the end of a structure, which may stand for more.

use super::scan::{Function, Program, Stage};
use super::token::{Kind, Stream};

/// Of a whole program.
pub(super) struct Addresses {
    /// Any of its kernels' references may be.
    all: bool,
}

impl Addresses {
    pub(super) fn of(stream: &Stream, program: &Program) -> Addresses {
        let recorded =
            || (1..stream.len()).any(|i| stream.is(i, "set_kernel_buffer") && matches!(stream.at(i - 1), "." | "->"));
        // Where a kernel passes its references on.
        let passed = || {
            program.functions.iter().any(|function| {
                let names = || references(stream, function).filter_map(|(start, end)| name(stream, start, end));
                function.stage != Some(Stage::Kernel) && names().any(|name| is_taken(stream, function, name))
            })
        };
        Addresses { all: recorded() || passed() }
    }

    /// Whether the memory of a kernel's parameter has to be where it is.
    pub(super) fn matters(
        &self,
        stream: &Stream,
        program: &Program,
        function: &Function,
        (start, end): (usize, usize),
    ) -> bool {
        if !is_reference(stream, start, end) {
            return false;
        }
        self.all
            || name(stream, start, end).is_none_or(|name| is_taken(stream, function, name))
            || (start..end).any(|i| stream.is_ident(i) && ends_open(stream, program, i))
    }
}

/// The parameters that are references to constants.
fn references<'a>(stream: &'a Stream, function: &Function) -> impl Iterator<Item = (usize, usize)> + 'a {
    let (open, close) = function.params;
    stream.split(open + 1, close).into_iter().filter(|&(start, end)| is_reference(stream, start, end))
}

fn is_reference(stream: &Stream, start: usize, end: usize) -> bool {
    let has = |word| (start..end).any(|i| stream.is(i, word));
    has("constant") && has("&")
}

/// The declared name: the identifier behind the `&`.
fn name(stream: &Stream, start: usize, end: usize) -> Option<usize> {
    let reference = (start..end).find(|&i| stream.is(i, "&"))?;
    (reference + 1..end).find(|&i| stream.is_ident(i))
}

/// Whether the function's body has `&name`, which behind a parenthesis may be an address or an intersection.
fn is_taken(stream: &Stream, function: &Function, name: usize) -> bool {
    let Some((open, close)) = function.body else { return false };
    let name = stream.at(name);
    (open + 1..close).any(|i| {
        let operand = matches!(stream.kind(i - 1), Some(Kind::Ident | Kind::Number)) && !stream.is(i - 1, "return");
        // `&(x)` too.
        let named = (i + 1..close).find(|&j| !stream.is(j, "(")).is_some_and(|j| stream.is(j, name));
        stream.is(i, "&") && !operand && !stream.is(i - 1, "]") && named
    })
}

/// Whether the identifier names a structure whose last member is an array of one element, or of none.
fn ends_open(stream: &Stream, program: &Program, name: usize) -> bool {
    let class = program.classes.iter().find(|(open, _)| stream.is(open - 1, stream.at(name)));
    class.is_some_and(|&(_, close)| {
        // `values[1]; }`
        let bracket = close.checked_sub(2).filter(|&i| stream.is(close - 1, ";") && stream.is(i, "]"));
        bracket.is_some_and(|i| stream.is(i - 1, "[") || stream.is(i - 2, "[") && matches!(stream.at(i - 1), "0" | "1"))
    })
}
