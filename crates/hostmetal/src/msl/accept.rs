//! Whether clang accepts a rewritten program, and the repairs of what it cannot do.

use super::components;
use super::diagnose::{Finding, Severity, print};
use super::discover::{ConstantInfo, Named};
use super::invoke::{source_failure, syntax};
use super::kernels::wrapper;
use super::rewrite::{Constant, Edits, hide_constant, strip_address_space, undeduce, wrap_conditional, wrap_offset};
use super::scan::Program;
use super::source::{abandoned, with_foot};
use super::spaces;
use super::token::Stream;
use super::toolchain::Toolchain;
use super::{CompileFailure, CompileOptions, Failure};
use std::collections::HashSet;

/// Lets clang check the program with a wrapper for every kernel. Five things it cannot do
/// with address spaces are repaired where it says so, and it is asked again (see the functions at the end of
/// rewrite.rs). `apart`: beside that, it is asked about address spaces (spaces.rs).
#[allow(
    clippy::too_many_arguments,
    reason = "the pieces of one analysis, taken apart because the result is made of them"
)]
pub(super) fn accept(
    toolchain: &Toolchain,
    options: &CompileOptions,
    stream: &Stream,
    source: &str,
    program: &Program,
    mut edits: Edits,
    constants: &[(Constant, ConstantInfo)],
    kernels: &[Named],
    apart: bool,
    findings: &mut Vec<Finding>,
) -> Result<Edits, CompileFailure> {
    let mut repaired_at: HashSet<usize> = HashSet::new();
    let tail: Vec<(usize, String)> = kernels
        .iter()
        .filter(|(_, kernel, _)| !kernel.visible)
        .enumerate()
        .map(|(number, (_, kernel, _))| {
            (
                kernel.token,
                wrapper(stream, &kernel.signature, &kernel.instance, &program.scopes[kernel.scope], None, None, number),
            )
        })
        .collect();
    loop {
        let mut checking = edits.clone();
        for (constant, _) in constants {
            hide_constant(stream, &mut checking, constant);
        }
        components::ask(stream, program, &mut checking);
        let tail = with_foot(stream, &tail);
        let (found, mistaken) = std::thread::scope(|scope| {
            let check = || spaces::check(toolchain, options, stream, &spaces::apart(stream, program, &checking), &tail);
            let beside = apart.then(|| std::thread::Builder::new().spawn_scoped(scope, check));
            let found = syntax(toolchain, options, stream, &checking, &tail);
            let mistaken = match beside {
                None => Ok(Vec::new()),
                Some(Ok(thread)) => thread.join().unwrap_or_else(|_| Err(abandoned())),
                // No thread can be made.
                Some(Err(_)) => check(),
            };
            (found, mistaken)
        });
        let found = found?;
        if !found.iter().any(|f| f.severity == Severity::Error) {
            let mistaken = match mistaken {
                // Clang fails with this way of asking, and would again; it has accepted the program.
                Err(failure) if failure.kind == Failure::Crash => Vec::new(),
                mistaken => mistaken?,
            };
            findings.extend(found);
            if mistaken.is_empty() {
                return Ok(edits);
            }
            findings.extend(mistaken);
            return Err(source_failure(print(stream, source, findings)));
        }
        let mut repaired = false;
        for finding in &found {
            let Some(token) = finding.token.filter(|t| !repaired_at.contains(t)) else { continue };
            let conditional = finding.text.starts_with("incompatible operand types")
                || finding.text.contains("conditional operator with the second and third operands");
            let done = if conditional && stream.is(token, "?") {
                wrap_conditional(stream, &mut edits, token)
            } else if finding.text.starts_with("automatic variable qualified with") {
                strip_address_space(stream, &mut edits, token)
            } else if finding.text.starts_with("invalid operands to binary expression")
                && matches!(stream.at(token), "+=" | "-=")
            {
                wrap_offset(stream, &mut edits, token)
            } else if finding.text.starts_with("const_cast from '") && stream.is(token, "const_cast") {
                edits.replace(token, "hostmetal::without_const");
                true
            } else if let Some(rest) = finding.text.split("deduced conflicting types for parameter '").nth(1) {
                undeduce(stream, program, &mut edits, token, rest.split('\'').next().unwrap_or(""))
            } else {
                false
            };
            if done {
                repaired = true;
                repaired_at.insert(token);
            }
        }
        if !repaired {
            findings.extend(found);
            return Err(source_failure(print(stream, source, findings)));
        }
    }
}
