//! Functions of OpenCL C that MSL lacks, as MSL text, of which a translation gets the pieces it uses.
//!
//! Each `.metal` file is a row of pieces; a line starts one:
//!
//! ```text
//! //= NAME TYPES[/LANES] [each] [: NEED ...]
//! ```
//!
//! It provides `clmsl_NAME`, if no piece before does, for calls whose first argument has elements of one of the `TYPES` (names with commas between
//! them, or `integers`, `signed`, `unsigned`, `any`) and that many lanes (1 for a scalar; all if nothing is said). `each`:
//! the text is for scalars, forms for vectors call it for each component and are made here. A `NEED` is a piece that must
//! stand before, `NAME[(TYPE)][/*]`: of the same type if none is given, for scalars unless `/*` asks for the same lanes.
//! In the text `$T` is the element type, `$U` its unsigned, `$S` its signed and `$W` its 64-bit counterpart.

mod geometric;
pub(crate) mod wide;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::LazyLock;

use crate::types::{Scalar, Type};

/// A call of a prelude function, as far as it matters which piece it needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Use {
    /// Without `clmsl_`.
    name: String,
    /// Elements of the first argument, if it is a number.
    element: Option<Scalar>,
    lanes: u8,
    /// Elements of the result and of all arguments, for the forms that work by component.
    ret: Option<Scalar>,
    args: Vec<Scalar>,
}

impl Use {
    /// The use that a call of `head` is, if that is a prelude function and not a form of one (`wide`).
    pub(crate) fn of_call(head: &str, args: &[&Type], ret: &Type) -> Option<Use> {
        let name = head.strip_prefix("clmsl_")?.split('<').next()?;
        let wide = |ty: &Type| ty.emulated().is_some() && !matches!(name, "value" | "to_bytes" | "from_bytes");
        if wide(ret) || args.iter().any(|ty| wide(ty)) || wide::Leaf::is_always_form(head) {
            return None;
        }
        let first = args.first().and_then(|t| t.arithmetic());
        Some(Use {
            name: name.to_owned(),
            element: first.map(|(s, _)| s),
            lanes: first.map_or(1, |(_, n)| n),
            ret: ret.arithmetic().map(|(s, _)| s),
            args: args.iter().filter_map(|t| t.arithmetic()).map(|(s, _)| s).collect(),
        })
    }

    /// An operator on `double`.
    pub(crate) fn of_double(op: &str, prefix: bool) -> Use {
        Use::of_piece(match op {
            "-" if prefix => "double_negate",
            "+" => "double_add",
            "-" => "double_subtract",
            "*" => "double_multiply",
            "/" => "double_divide",
            _ => "double_compare",
        })
    }

    /// A piece that is no function called by its name, such as an operator.
    pub(crate) fn of_piece(name: &str) -> Use {
        Use { name: name.to_owned(), element: None, lanes: 1, ret: None, args: Vec::new() }
    }
}

/// Text to print, and where it stands in the prelude.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) file: &'static str,
    /// The line of the file that the text begins with.
    pub(crate) line: u32,
    /// Whole lines.
    pub(crate) text: String,
}

/// A function that a piece calls.
struct Need {
    name: &'static str,
    element: Option<Scalar>,
    same_lanes: bool,
}

/// A function for some types.
struct Piece {
    file: &'static str,
    line: u32,
    name: &'static str,
    /// `None` is any type.
    types: Option<Vec<Scalar>>,
    /// Empty is any number.
    lanes: Vec<u8>,
    each: bool,
    needs: Vec<Need>,
    text: &'static str,
}

macro_rules! files {
    ($($name:literal),* $(,)?) => { [$(($name, include_str!(concat!($name, ".metal")))),*] };
}

/// What is needed stands before what needs it.
static PIECES: LazyLock<Vec<Piece>> = LazyLock::new(|| {
    let files = files![
        "value",
        "bytes",
        "dimension",
        "divide",
        "convert",
        "directed",
        "async",
        "atomic",
        "order",
        "printf",
        "absolute",
        "saturate",
        "multiply",
        "bits",
        "relational",
        "geometric",
        "parts",
        "exponential",
        "logarithm",
        "power",
        "trigonometric",
        "inverse",
        "error",
        "gamma",
        "floats",
        "image",
        "double",
        "double_convert",
        "double_math",
        "group",
    ];
    files.into_iter().flat_map(|(file, text)| split(file, text)).collect()
});

/// The pieces of a file.
fn split(file: &'static str, text: &'static str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut line = 1;
    for part in text.split("//= ").skip(1) {
        let (head, body) = part.split_once('\n').unwrap_or((part, ""));
        pieces.push(piece(file, line + 1, head, body));
        line += part.matches('\n').count() as u32;
    }
    pieces
}

fn piece(file: &'static str, line: u32, head: &'static str, text: &'static str) -> Piece {
    let (what, needs) = head.split_once(" : ").unwrap_or((head, ""));
    let mut words = what.split(' ');
    let name = words.next().unwrap_or_default();
    let domain = words.next().unwrap_or_default();
    let (types, lanes) = domain.split_once('/').unwrap_or((domain, ""));
    let types = (types != "any").then(|| types.split(',').flat_map(group).collect());
    let lanes = lanes.split(',').filter_map(|n| n.parse().ok()).collect();
    let each = words.next() == Some("each");
    let needs = needs.split(' ').filter(|n| !n.is_empty()).map(need).collect();
    Piece { file, line, name, types, lanes, each, needs, text }
}

fn need(text: &'static str) -> Need {
    let same_lanes = text.ends_with("/*");
    let text = text.trim_end_matches("/*");
    let (name, element) = text.split_once('(').unwrap_or((text, ""));
    Need { name, element: scalar(element.trim_end_matches(')')), same_lanes }
}

const INTEGERS: [Scalar; 8] = [
    Scalar::Char,
    Scalar::UChar,
    Scalar::Short,
    Scalar::UShort,
    Scalar::Int,
    Scalar::UInt,
    Scalar::Long,
    Scalar::ULong,
];

fn scalar(name: &str) -> Option<Scalar> {
    let others = [Scalar::Bool, Scalar::Half, Scalar::Float, Scalar::Double];
    INTEGERS.into_iter().chain(others).find(|s| s.name() == name)
}

fn group(name: &str) -> Vec<Scalar> {
    match name {
        "integers" => INTEGERS.to_vec(),
        "signed" => INTEGERS.into_iter().filter(|s| s.is_signed()).collect(),
        "unsigned" => INTEGERS.into_iter().filter(|s| !s.is_signed()).collect(),
        one => scalar(one).into_iter().collect(),
    }
}

impl Piece {
    fn serves(&self, name: &str, element: Option<Scalar>, lanes: u8) -> bool {
        self.name == name
            && self.types.as_ref().is_none_or(|types| element.is_some_and(|e| types.contains(&e)))
            && (self.each || self.lanes.is_empty() || self.lanes.contains(&lanes))
    }

    /// The text for an element type.
    fn instantiate(&self, element: Option<Scalar>) -> String {
        let Some(e) = element.filter(|_| self.text.contains('$')) else { return self.text.to_owned() };
        let wide = if e.is_signed() { Scalar::Long } else { Scalar::ULong };
        let signed = e.signed_of_width().name();
        self.text
            .replace("$T", e.msl_name())
            .replace("$S", signed)
            .replace("$U", e.unsigned_of_width().name())
            .replace("$W", wide.name())
    }
}

/// Whether there is a form of the function for these arguments.
pub(crate) fn provides(name: &str, element: Scalar, lanes: u8) -> bool {
    PIECES.iter().any(|piece| piece.serves(name, Some(element), lanes))
}

/// Whether there is a function of this name for scalars of this very type.
pub(crate) fn has(name: &str, element: Scalar) -> bool {
    PIECES.iter().any(|p| p.types.is_some() && p.serves(name, Some(element), 1))
}

/// What of the prelude is to be printed.
#[derive(Default)]
struct Selection {
    /// Positions in `PIECES`, with the element type and lanes of the call.
    pieces: BTreeSet<(usize, Option<Scalar>, u8)>,
    /// Vector forms, with the position of the scalar piece.
    forms: BTreeSet<(usize, Use)>,
}

impl Selection {
    fn add(&mut self, name: &str, element: Option<Scalar>, lanes: u8) -> usize {
        let serves = |p: &Piece| p.serves(name, element, lanes);
        let named = PIECES.iter().position(|p| p.types.is_some() && serves(p));
        let Some(at) = named.or_else(|| PIECES.iter().position(serves)) else {
            unreachable!("the prelude has no clmsl_{name} for {element:?} with {lanes} lanes")
        };
        if self.pieces.insert((at, element, lanes)) {
            for need in &PIECES[at].needs {
                self.add(need.name, need.element.or(element), if need.same_lanes { lanes } else { 1 });
            }
        }
        at
    }

    /// The texts of a piece, each once.
    fn texts(&self, at: usize) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        for (_, element, _) in self.pieces.range((at, None, 0)..(at + 1, None, 0)) {
            let text = PIECES[at].instantiate(*element);
            if texts.last() != Some(&text) {
                texts.push(text);
            }
        }
        texts
    }
}

/// The text for all uses, in an order in which everything stands before its use.
pub(crate) fn excerpts(uses: &BTreeSet<Use>) -> Vec<Excerpt> {
    let mut selection = Selection::default();
    for used in uses {
        let at = selection.add(&used.name, used.element, used.lanes);
        if used.lanes > 1 && PIECES[at].each {
            selection.forms.insert((at, used.clone()));
        }
    }
    let mut out = Vec::new();
    for (at, piece) in PIECES.iter().enumerate() {
        let excerpt = |text| Excerpt { file: piece.file, line: piece.line, text };
        out.extend(selection.texts(at).into_iter().map(excerpt));
        let forms = selection.forms.iter().filter(|(i, _)| *i == at);
        out.extend(forms.map(|(_, used)| excerpt(vector_form(used))));
    }
    out
}

/// `metal::R4 f(metal::A4 a, ...) { return metal::R4(f(a.x, ...), ...); }`
fn vector_form(used: &Use) -> String {
    let Use { name, lanes, ret, args, .. } = used;
    let ret = ret.map_or("void", Scalar::name);
    let names: Vec<char> = ('a'..='z').take(args.len()).collect();
    let params: Vec<String> =
        args.iter().zip(&names).map(|(s, name)| format!("metal::{}{lanes} {name}", s.name())).collect();
    let calls: Vec<String> = ['x', 'y', 'z', 'w']
        .iter()
        .take(usize::from(*lanes))
        .map(|lane| {
            let args: Vec<String> = names.iter().map(|name| format!("{name}.{lane}")).collect();
            format!("clmsl_{name}({})", args.join(", "))
        })
        .collect();
    let mut out = String::new();
    let _ = writeln!(out, "inline metal::{ret}{lanes} clmsl_{name}({}) {{", params.join(", "));
    let _ = writeln!(out, "  return metal::{ret}{lanes}({});", calls.join(", "));
    out.push_str("}\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::{Class, Lowering, TABLE};

    #[test]
    fn every_prelude_function_of_the_table_exists() {
        for row in TABLE {
            let (Lowering::Prelude(name) | Lowering::Polyfill(name)) = row.lowering else { continue };
            // Floats reach `bitselect` as integers; `half` reaches what has no form for it as `float`.
            let (types, lanes) = match row.class {
                Class::Int | Class::Any => (INTEGERS.to_vec(), vec![1, 2, 3, 4]),
                Class::Geometric if name == "cross" => (vec![Scalar::Float], vec![3, 4]),
                Class::Float | Class::Geometric => (vec![Scalar::Float], vec![1, 2, 3, 4]),
            };
            for element in types {
                for &n in &lanes {
                    let mut selection = Selection::default();
                    selection.add(name, Some(element), n);
                    assert!(!selection.pieces.is_empty(), "{name}");
                }
            }
        }
    }

    /// What passes call without the table.
    #[test]
    fn every_prelude_function_of_the_passes_exists() {
        for lanes in 1..=4 {
            for element in INTEGERS {
                for name in ["div", "rem", "convert_sat", "dimension", "bitselect"] {
                    Selection::default().add(name, Some(element), lanes);
                }
            }
            Selection::default().add("convert_sat", Some(Scalar::Bool), lanes);
            Selection::default().add("convert_sat", Some(Scalar::Float), lanes);
            Selection::default().add("islessgreater", Some(Scalar::Float), lanes);
            Selection::default().add("islessgreater", Some(Scalar::Half), lanes);
        }
        for name in [
            "async_copy",
            "async_gather",
            "async_scatter",
            "async_lines",
            "atomic_cmpxchg",
            "printf",
            "print_text",
            "fence",
            "fenced",
            "atomic_compare_exchange",
            "atomic_compare_exchange_total",
            "atomic_local_add",
            "ballot",
            "ballot_bits",
            "lanes_below",
            "lanes_as_ballot",
        ] {
            Selection::default().add(name, None, 1);
        }
        use Scalar::{Double, Float, Half, Int, Long, UInt, ULong};
        for element in [Int, UInt, Long, ULong, Half, Float, Double] {
            for name in [
                "sub_group_scan",
                "sub_group_scan_exclusive",
                "sub_group_reduce",
                "fold_lanes",
                "work_group_reduce",
                "work_group_broadcast",
                "work_group_scan",
                "work_group_scan_exclusive",
                "all_equal",
            ] {
                Selection::default().add(name, Some(element), 1);
            }
        }
    }

    /// A text that is the same for two types may need different ones.
    #[test]
    fn each_type_gets_what_it_needs() {
        let used = |scalar| {
            let (from, to) = (Type::Vector(scalar, 4), Type::Vector(Scalar::UChar, 4));
            Use::of_call("clmsl_convert_sat<uchar>", &[&from], &to).expect("it is a prelude function")
        };
        let texts = excerpts(&BTreeSet::from([used(Scalar::Int), used(Scalar::Short), used(Scalar::Float)]));
        let heads =
            ["clmsl_convert_sat(float x)", "clmsl_convert_sat(From x)", "clmsl_convert_sat(metal::vec<From, 4> v)"];
        assert_eq!(texts.len(), heads.len());
        for (excerpt, head) in texts.iter().zip(heads) {
            assert!(excerpt.text.contains(head), "{}", excerpt.text);
        }
    }

    #[test]
    fn pieces_are_whole_and_stand_behind_what_they_need() {
        for (at, piece) in PIECES.iter().enumerate() {
            let (file, name, text) = (piece.file, piece.name, piece.text);
            // `double` and what begins with its name are types and operators too.
            let is_type = text.contains(&format!("struct clmsl_{name} "));
            let provided = text.contains(&format!("clmsl_{name}(")) || is_type || name.starts_with("double");
            let is_whole = match text.starts_with("constexpr ") {
                true => text.ends_with(");\n"),
                false => text.ends_with("}\n") || text.ends_with("};\n"),
            };
            assert!(provided && is_whole, "{file}: {name}");
            assert!(piece.types.as_ref().is_none_or(|t| !t.is_empty()), "{file}: types of {name}");
            assert!(!text.contains('$') || piece.types.is_some(), "{file}: {name} depends on a type it does not name");
            // The functions it calls are those it needs.
            for (start, _) in text.match_indices("clmsl_") {
                let called = &text[start + 6..];
                let called = &called[..called.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(0)];
                assert!(
                    called == name || piece.needs.iter().any(|n| n.name == called),
                    "{file}: {name} calls {called}"
                );
            }
            let types = piece.types.as_ref().map_or_else(|| vec![Scalar::Float], Clone::clone);
            for need in &piece.needs {
                for &element in &types {
                    let mut selection = Selection::default();
                    let lanes = if need.same_lanes { 2 } else { 1 };
                    let needed = selection.add(need.name, need.element.or(Some(element)), lanes);
                    assert!(needed < at, "{file}: {name} stands before {}", need.name);
                }
            }
        }
    }

    #[test]
    fn lines_are_those_of_the_files() {
        for piece in PIECES.iter() {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/prelude").join(piece.file);
            let file = std::fs::read_to_string(path.with_extension("metal")).expect("the prelude can be read");
            assert_eq!(piece.text.lines().next(), file.lines().nth(piece.line as usize - 1), "{}", piece.name);
        }
    }
}
