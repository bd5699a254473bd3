//! Texts of kernels changed as advice asks: token by token, with everything else left as it stands, so that lines stay where they are. What a change
//! means is not understood here; the compiler, a comparison of outputs and a count judge it.

use std::ops::Range;

use crate::highlight::{Class, split};
use crate::source::Language;

/// A kernel's text with an advice followed.
#[derive(Debug, PartialEq)]
pub(super) struct Edit {
    /// What was changed, for people.
    pub(super) what: String,
    pub(super) text: String,
}

/// An integer that a run passes to a parameter.
pub(super) struct Known<'a> {
    pub(super) parameter: &'a str,
    /// Its type, in both languages, and its value.
    pub(super) scalar: &'static str,
    pub(super) value: String,
}

/// Threadgroup barriers at these lines become those of SIMD-groups.
pub(super) fn barriers(text: &str, lines: &[u32], language: Language) -> Result<Edit, String> {
    let (from, to): (&[&str], _) = match language {
        Language::OpenCl => (&["barrier", "work_group_barrier"], "sub_group_barrier"),
        Language::Msl => (&["threadgroup_barrier"], "simdgroup_barrier"),
    };
    let tokens = tokens(text);
    let at = tokens.iter().filter(|token| lines.contains(&token.line) && from.contains(&token.text));
    let changes: Vec<Change> = at.map(|token| (token.range(), to.to_owned())).collect();
    if changes.is_empty() {
        return Err(format!(
            "its lines do not say `{}` themselves: a macro does, or an included file",
            from.join("` or `")
        ));
    }
    Ok(Edit { what: format!("with `{to}`"), text: changed(text, changes) })
}

/// Pointers to device memory among the kernel's parameters become pointers to constant memory.
pub(super) fn constants(text: &str, kernel: &str, parameters: &[&str], language: Language) -> Result<Edit, String> {
    let (from, to): (&[&str], _) = match language {
        Language::OpenCl => (&["__global", "global"], "__constant"),
        Language::Msl => (&["device"], "constant"),
    };
    let tokens = tokens(text);
    let signature = Signature::of(&tokens, kernel)?;
    let mut changes = Vec::new();
    for name in parameters {
        let parameter = signature.parameter(&tokens, name)?;
        let space = tokens[parameter].iter().find(|token| from.contains(&token.text));
        let space = space.ok_or_else(|| format!("`{name}` does not name its address space"))?;
        changes.push((space.range(), to.to_owned()));
    }
    Ok(Edit { what: format!("with `{}` in constant memory", parameters.join("`, `")), text: changed(text, changes) })
}

/// Integers that the kernel is passed become constants of its text: those that stand behind `/` or `%` in one of these lines, or all where none does.
pub(super) fn known(text: &str, kernel: &str, values: &[Known<'_>], lines: &[u32]) -> Result<Edit, String> {
    let tokens = tokens(text);
    let signature = Signature::of(&tokens, kernel)?;
    let divides = |known: &&Known<'_>| {
        let mut behind = false;
        tokens.iter().filter(|token| lines.contains(&token.line)).any(|token| {
            match token.text {
                "/" | "%" => behind = true,
                "," | ";" => behind = false,
                _ => {}
            }
            behind && token.text == known.parameter
        })
    };
    let divisors: Vec<&Known<'_>> = values.iter().filter(divides).collect();
    let values = if divisors.is_empty() { values.iter().collect() } else { divisors };
    let (mut changes, mut told, mut constants) = (Vec::new(), Vec::new(), String::new());
    for Known { parameter: name, scalar, value } in values {
        let parameter = signature.parameter(&tokens, name)?;
        if tokens[parameter.clone()].iter().any(|token| ["*", "["].contains(&token.text) && !token.is_attribute) {
            continue;
        }
        let own = tokens[parameter].iter().rfind(|token| token.text == *name && !token.is_attribute);
        let own = own.unwrap_or_else(|| unreachable!("a parameter is found by its name"));
        changes.push((own.range(), format!("dcmetal_given_{name}")));
        constants += &format!(" const {scalar} {name} = {value};");
        told.push(format!("`{name}` = {}", value.trim_end_matches(char::is_alphabetic)));
    }
    if told.is_empty() {
        return Err("no integer that it is passed by value".to_owned());
    }
    let body = tokens[signature.body].range().end;
    changes.push((body..body, constants));
    Ok(Edit { what: format!("with {} known to the compiler", told.join(", ")), text: changed(text, changes) })
}

/// Rows of the kernel's arrays in threadgroup memory, of two dimensions or more, become one element longer.
pub(super) fn longer_rows(text: &str, kernel: &str, language: Language) -> Result<Edit, String> {
    let spaces: &[&str] = match language {
        Language::OpenCl => &["__local", "local"],
        Language::Msl => &["threadgroup"],
    };
    let tokens = tokens(text);
    let (mut changes, mut told) = (Vec::new(), Vec::new());
    let mut at = Signature::of(&tokens, kernel)?.body;
    let end = closing(&tokens, at).ok_or("its text has no end")?;
    while let Some(space) = (at..end).find(|at| spaces.contains(&tokens[*at].text)) {
        at = space + 1;
        // A declaration of arrays; pointers and references have values, which are not to change.
        while at < end && ![";", "{", "}", ")", "=", "*", "&"].contains(&tokens[at].text) {
            let name = at;
            let mut extents = Vec::new();
            at += 1;
            while tokens.get(at).is_some_and(|token| token.text == "[" && !token.is_attribute) {
                let Some(close) = closing(&tokens, at) else { break };
                extents.push(at..close);
                at = close + 1;
            }
            if let ([_, .., last], true) = (&extents[..], tokens[name].is_word()) {
                let inner = tokens[last.start].range().end..tokens[last.end].at;
                let extent = text[inner.clone()].trim();
                let longer = extent.parse::<u64>().map_or_else(|_| format!("({extent}) + 1"), |n| (n + 1).to_string());
                let before = &text[tokens[name].at..tokens[last.start].range().end];
                told.push(format!("`{before}{longer}]`"));
                changes.push((inner, longer));
            }
        }
    }
    if told.is_empty() {
        return Err("it declares no array of rows in threadgroup memory".to_owned());
    }
    Ok(Edit { what: format!("with {}", told.join(", ")), text: changed(text, changes) })
}

/// Bytes of the text, and what stands there instead.
type Change = (Range<usize>, String);

fn changed(text: &str, mut changes: Vec<Change>) -> String {
    changes.sort_by_key(|(range, _)| range.start);
    let mut result = text.to_owned();
    for (range, to) in changes.into_iter().rev() {
        result.replace_range(range, &to);
    }
    result
}

/// A word, a number, or any other character of code.
struct Token<'a> {
    at: usize,
    line: u32,
    text: &'a str,
    /// Within `[[ ]]`.
    is_attribute: bool,
}

impl Token<'_> {
    fn range(&self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }

    fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

/// The code of a text, without comments, strings, and lines of the preprocessor.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let (mut at, mut in_comment) = (0, false);
    for (line, whole) in (1..).zip(text.split_inclusive('\n')) {
        for (class, piece) in split(whole, &mut in_comment) {
            let start = at;
            at += piece.len();
            if !matches!(class, Class::Plain | Class::Word | Class::Number) {
                continue;
            }
            let mut rest = piece;
            while let Some(first) = rest.chars().next() {
                let is_word = |c: char| c.is_alphanumeric() || c == '_';
                let length = match is_word(first) {
                    true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
                    false => first.len_utf8(),
                };
                let (text, behind) = rest.split_at(length);
                if !first.is_whitespace() {
                    tokens.push(Token { at: start + piece.len() - rest.len(), line, text, is_attribute: false });
                }
                rest = behind;
            }
        }
    }
    let mut depth = 0;
    for at in 0..tokens.len() {
        let next = tokens.get(at + 1).is_some_and(|next| next.text == "[" && next.at == tokens[at].at + 1);
        let begins = depth == 0 && tokens[at].text == "[" && next;
        if begins || depth > 0 {
            depth += match tokens[at].text {
                "[" => 1,
                "]" => -1,
                _ => 0,
            };
            tokens[at].is_attribute = true;
        }
    }
    tokens
}

/// The token that closes the bracket at `open`.
fn closing(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Where a kernel's parameters and its body are.
struct Signature {
    parameters: Vec<Range<usize>>,
    /// The token that opens it.
    body: usize,
}

impl Signature {
    /// Of the function of that name that has a body.
    fn of(tokens: &[Token<'_>], kernel: &str) -> Result<Signature, String> {
        let name = kernel.rsplit("::").next().unwrap_or(kernel);
        let found = tokens.windows(2).enumerate().find_map(|(at, pair)| {
            if pair[0].text != name || pair[1].text != "(" {
                return None;
            }
            let end = closing(tokens, at + 1)?;
            let body = (end + 1..tokens.len()).find(|at| !tokens[*at].is_attribute)?;
            (tokens[body].text == "{").then_some((at + 2..end, body))
        });
        let (all, body) = found.ok_or_else(|| format!("no function `{name}` with a body is found in its text"))?;
        let (mut parameters, mut start, mut depth) = (Vec::new(), all.start, 0i32);
        for at in all.clone().filter(|at| !tokens[*at].is_attribute) {
            match tokens[at].text {
                "(" | "[" | "{" | "<" => depth += 1,
                ")" | "]" | "}" | ">" => depth -= 1,
                "," if depth == 0 => {
                    parameters.push(start..at);
                    start = at + 1;
                }
                _ => {}
            }
        }
        parameters.push(start..all.end);
        Ok(Signature { parameters, body })
    }

    fn parameter(&self, tokens: &[Token<'_>], name: &str) -> Result<Range<usize>, String> {
        // The last word in front of extents and attributes.
        let named = |range: &&Range<usize>| {
            let own = tokens[(*range).clone()].iter();
            let own = own.take_while(|token| !["[", "__attribute__"].contains(&token.text));
            own.filter(|token| token.is_word()).last().is_some_and(|own| own.text == name)
        };
        self.parameters.iter().find(named).cloned().ok_or_else(|| format!("no parameter `{name}` is found in its text"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
#include <metal_stdlib>
// threadgroup float not_this[4][4];
kernel void other(device float *x [[buffer(0)]]);
template <typename T> kernel void f(device const float *x [[buffer(0)]], device float *y,
    constant uint &n [[buffer(2)]], uint2 at [[thread_position_in_grid]])
{
    threadgroup float a[16][ 16 ], b[8], c[2][W * 2];
    a[at.y][at.x] = x[at.x]; threadgroup_barrier(mem_flags::mem_threadgroup);
    y[at.x] = a[at.x][at.y] / n; // threadgroup_barrier
    threadgroup_barrier(mem_flags::mem_none);
}
";

    /// What the change put in place of which lines.
    fn lines(edit: Result<Edit, String>) -> (String, Vec<(usize, String)>) {
        let Edit { what, text } = edit.unwrap();
        assert_eq!(text.lines().count(), TEXT.lines().count());
        let other = text.lines().zip(TEXT.lines()).enumerate().filter(|(_, (new, old))| new != old);
        (what, other.map(|(at, (new, _))| (at + 1, new.trim().to_owned())).collect())
    }

    #[test]
    fn barriers_of_the_lines_named() {
        let (what, lines) = lines(barriers(TEXT, &[8, 9], Language::Msl));
        assert_eq!(what, "with `simdgroup_barrier`");
        let expected = "a[at.y][at.x] = x[at.x]; simdgroup_barrier(mem_flags::mem_threadgroup);";
        assert_eq!(lines, [(8, expected.to_owned())]);
        assert!(
            barriers(TEXT, &[9], Language::Msl).unwrap_err().contains("do not say `threadgroup_barrier` themselves")
        );
        let text = "void f() { barrier(CLK_LOCAL_MEM_FENCE); }";
        let edit = barriers(text, &[1], Language::OpenCl).unwrap();
        assert_eq!(edit.text, "void f() { sub_group_barrier(CLK_LOCAL_MEM_FENCE); }");
    }

    #[test]
    fn parameters_change_their_memory() {
        let (what, lines) = lines(constants(TEXT, "ns::f", &["x"], Language::Msl));
        assert_eq!(what, "with `x` in constant memory");
        let expected = "template <typename T> kernel void f(constant const float *x [[buffer(0)]], device float *y,";
        assert_eq!(lines, [(4, expected.to_owned())]);
        for (kernel, name, why) in
            [("f", "z", "no parameter `z`"), ("g", "x", "no function `g`"), ("f", "at", "`at` does not name")]
        {
            let refused = constants(TEXT, kernel, &[name], Language::Msl).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        let text = "__kernel void f(__global const float* restrict x, global int * y) {}";
        let edit = constants(text, "f", &["x", "y"], Language::OpenCl).unwrap();
        assert_eq!(edit.text, "__kernel void f(__constant const float* restrict x, __constant int * y) {}");
    }

    #[test]
    fn integers_become_constants() {
        let of = |parameter| Known { parameter, scalar: "uint", value: "7".to_owned() };
        let (what, lines) = lines(known(TEXT, "f", &[of("n"), of("y")], &[9]));
        assert_eq!(what, "with `n` = 7 known to the compiler");
        let expected = [
            (5, "constant uint &dcmetal_given_n [[buffer(2)]], uint2 at [[thread_position_in_grid]])".to_owned()),
            (6, "{ const uint n = 7;".to_owned()),
        ];
        assert_eq!(lines, expected);
        assert!(known(TEXT, "f", &[of("x")], &[9]).is_err());
        let text = "void f(int a, __attribute__((unused)) int b[4], int c __attribute__((unused)), int d [[buffer(1 << 0)]]) { g(a / c % 2, d); }";
        let of = |lines: &[u32]| known(text, "f", &["a", "c", "d"].map(of), lines).unwrap().what;
        assert_eq!(of(&[1]), "with `c` = 7 known to the compiler");
        assert_eq!(of(&[2]), "with `a` = 7, `c` = 7, `d` = 7 known to the compiler");
    }

    #[test]
    fn rows_become_longer() {
        let (what, lines) = lines(longer_rows(TEXT, "f", Language::Msl));
        assert_eq!(what, "with `a[16][17]`, `c[2][(W * 2) + 1]`");
        assert_eq!(lines, [(7, "threadgroup float a[16][17], b[8], c[2][(W * 2) + 1];".to_owned())]);
        let text = "void f(__local float *x) { __local int t[8]; t[0] = x[0]; }";
        assert!(longer_rows(text, "f", Language::OpenCl).unwrap_err().contains("no array of rows"));
        let text = "void f() { local struct S t[8][4]; }";
        assert_eq!(longer_rows(text, "f", Language::OpenCl).unwrap().text, "void f() { local struct S t[8][5]; }");
        // What is no array of the kernel's own stays: places in one, and other functions'.
        let text = "void g() { local int t[2][2]; } void f() { local int t[8][4]; local int *p = &t[1][2]; local int q = t[1][2]; }";
        let edit = longer_rows(text, "f", Language::OpenCl).unwrap();
        assert_eq!((edit.text, edit.what.as_str()), (text.replace("t[8][4]", "t[8][5]"), "with `t[8][5]`"));
    }
}
