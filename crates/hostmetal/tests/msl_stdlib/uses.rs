//! Uses of the library, many in one kernel: each is written as in stdlib/coverage.txt, of values a, b, c, d of a type T, and
//! gets these from columns of numbers. A vector takes its components from consecutive numbers.

use hostmetal::msl::MathMode;

use crate::number::{Scalar, scalar};
use crate::stdlib::catalog::{features, fill, parts};
use crate::stdlib::{compile, run};
use crate::support::Buffer;

/// A use with its type, and the type of its result.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    pub(crate) call: String,
    pub(crate) operand: String,
    pub(crate) result: String,
}

impl Use {
    pub(crate) fn new(call: &str, operand: &str, result: &str) -> Use {
        Use { call: fill(call, operand, ""), operand: operand.to_owned(), result: fill(result, operand, "") }
    }

    /// What it is a value case of.
    pub(crate) fn covers(&self) -> impl Iterator<Item = (String, String)> + '_ {
        features(&self.call).into_iter().map(|name| (name, self.operand.clone()))
    }

    pub(crate) fn width(&self) -> usize {
        parts(&self.operand).1.parse().unwrap_or(1)
    }

    /// The vectors (or numbers) that it is run with, of columns of `n` numbers.
    fn count(&self, n: usize) -> usize {
        if self.width() == 1 { n } else { n.min(VECTORS) / self.width() }
    }
}

/// The most numbers of a column that vectors are made of.
const VECTORS: usize = 4800;

/// The type in memory: as a number or a packed vector.
fn packed(t: &str) -> String {
    match parts(t) {
        (_, "") => t.to_owned(),
        (scalar, size) => format!("packed_vec<{scalar}, {size}>"),
    }
}

/// Numbers, as the bits that a type has for them.
pub(crate) fn bytes(t: Scalar, numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()[..t.bytes()].to_vec()).collect()
}

pub(crate) fn numbers(t: Scalar, bytes: &[u8]) -> Vec<u64> {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |x, &byte| x << 8 | u64::from(byte));
    bytes.chunks_exact(t.bytes()).map(number).collect()
}

/// The results' bits, of all uses, whose operands are of this scalar type or vectors of it.
pub(crate) fn execute(uses: &[Use], operand: Scalar, columns: &[Vec<u64>], mode: MathMode) -> Vec<Vec<u64>> {
    let n = columns[0].len();
    let size = |one: &Use| {
        let width: usize = parts(&one.result).1.parse().unwrap_or(1);
        (one.count(n) * width * scalar(&one.result).bytes()).next_multiple_of(8)
    };
    let (mut functions, mut body, mut end) = (String::new(), String::new(), 0);
    let mut starts = Vec::new();
    for (k, one) in uses.iter().enumerate() {
        let (t, stored) = (&one.operand, packed(&one.operand));
        let (statements, expression) = one.call.rsplit_once("; ").unwrap_or(("", &one.call));
        let values: String = ["a", "b", "c", "d"][..columns.len()]
            .iter()
            .enumerate()
            .map(|(c, v)| format!("{t} {v} = ((device const {stored} *)in{c})[i]; (void){v}; "))
            .collect();
        let result = packed(&one.result);
        let parameters: String = (0..columns.len()).map(|c| format!("device const uchar *in{c}, ")).collect();
        // Of one number: part of the kernel's loop over its threads. Vectors: compiled by themselves, which is quicker.
        let inline = if one.width() == 1 { "" } else { "__attribute__((noinline)) " };
        functions += &format!(
            "{inline}void use_{k}({parameters}device uchar *out, uint i) {{ {values}{statements}; ((device {result} *)out)[i] = {expression}; }}\n"
        );
        let arguments: String = (0..columns.len()).map(|c| format!("in{c}, ")).collect();
        body += &format!("  if (i < {}) use_{k}({arguments}out + {end}ul, i);\n", one.count(n));
        starts.push(end);
        end += size(one);
    }
    let parameters: String =
        (0..columns.len()).map(|c| format!("device const uchar *in{c} [[buffer({c})]], ")).collect();
    let source = format!(
        "{functions}kernel void run({parameters}device uchar *out [[buffer({})]], uint i [[thread_position_in_grid]]) {{\n{body}}}\n",
        columns.len()
    );
    let out = Buffer::new(end as u64);
    let inputs: Vec<Buffer> = columns.iter().map(|c| Buffer::of(&bytes(operand, c))).collect();
    let buffers: Vec<&Buffer> = inputs.iter().chain([&out]).collect();
    run(&compile(&source, mode), &buffers, n, 64);
    let all = out.read::<u8>();
    let of = |(one, start): (&Use, usize)| {
        let (t, width) = (scalar(&one.result), parts(&one.result).1.parse().unwrap_or(1));
        numbers(t, &all[start..start + one.count(n) * width * t.bytes()])
    };
    uses.iter().zip(starts).map(of).collect()
}
