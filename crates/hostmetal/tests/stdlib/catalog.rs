//! stdlib/coverage.txt, the list of what MSL 3.2 gives a compute kernel: its lines, the types they stand for, and the functions they name.

use std::collections::BTreeSet;

pub(crate) struct Line {
    pub(crate) missing: bool,
    pub(crate) section: &'static str,
    pub(crate) types: Vec<String>,
    pub(crate) result: &'static str,
    pub(crate) parameters: &'static str,
    pub(crate) body: &'static str,
}

pub(crate) fn lines() -> Vec<Line> {
    let text = include_str!("coverage.txt");
    let read = |line: &'static str| {
        let (missing, line) = line.strip_prefix("! ").map_or((false, line), |rest| (true, rest));
        let columns: Vec<&str> = line.splitn(4, " | ").collect();
        let [section, types, result, use_] = columns[..] else { panic!("not four columns: {line}") };
        let (parameters, body) = use_.split_once(" => ").unwrap_or(("", use_));
        Line { missing, section, types: types_of(types), result, parameters, body }
    };
    text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).map(read).collect()
}

/// The types that a set of the second column stands for; an empty name where the use has no type.
pub(crate) fn types_of(set: &str) -> Vec<String> {
    if set == "-" {
        return vec![String::new()];
    }
    let (kind, sizes): (&str, &[&str]) = match set.char_indices().next_back() {
        Some((at, 'V')) if at > 0 => (&set[..at], &["2", "3", "4"]),
        Some((at, '3')) if at > 0 => (&set[..at], &["3"]),
        _ => (set, &["", "2", "3", "4"]),
    };
    let small = ["char", "uchar", "short", "ushort", "int", "uint"];
    let mut scalars: Vec<&str> = match kind {
        "F" => vec!["float", "half"],
        "f" => vec!["float"],
        "h" => vec!["half"],
        "FB" => vec!["float", "half", "bfloat"],
        "I" | "J" | "N" | "M" => small.to_vec(),
        "W" => vec!["int", "uint"],
        "?" => vec!["bool"],
        _ => return set.split(", ").map(str::to_owned).collect(),
    };
    if matches!(kind, "I" | "N") {
        scalars.extend(["long", "ulong"]);
    }
    if matches!(kind, "N" | "M") {
        scalars.extend(["float", "half", "bfloat"]);
    }
    scalars.iter().flat_map(|s| sizes.iter().map(move |n| format!("{s}{n}"))).collect()
}

/// The namespaces that an @ in a use stands for.
pub(crate) fn spaces(body: &str) -> &'static [&'static str] {
    if body.contains('@') { &["", "fast::", "precise::"] } else { &[""] }
}

/// A type's component and its size, "" for a scalar, "2x3" for a matrix.
pub(crate) fn parts(t: &str) -> (&str, &str) {
    t.split_at(t.find(|c: char| c.is_ascii_digit()).unwrap_or(t.len()))
}

/// Text with what stands for a type filled in; `$B` is bool in as many components, and so on (the head of coverage.txt).
pub(crate) fn fill(text: &str, t: &str, space: &str) -> String {
    let (scalar, size) = parts(t);
    let unsigned = if scalar.starts_with('u') { scalar.to_owned() } else { format!("u{scalar}") };
    let small = matches!(scalar, "char" | "uchar" | "short" | "ushort");
    text.replace('@', space)
        .replace("$T", t)
        .replace("$S", scalar)
        .replace("$U", &format!("{unsigned}{size}"))
        .replace("$I", &format!("int{size}"))
        .replace("$B", &format!("bool{size}"))
        .replace("$P", if small && size.is_empty() { "int" } else { t })
        .replace("$N", size)
}

/// The functions that a use calls, with their namespace: each name before a parenthesis that is no
/// type's and no variable's, which have one letter. Template arguments are left out.
pub(crate) fn calls(body: &str) -> BTreeSet<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':' || c == '.';
    let mut all = BTreeSet::new();
    for (at, _) in body.match_indices('(') {
        let (mut name, mut depth) = (String::new(), 0);
        for c in body[..at].chars().rev() {
            match c {
                '>' => depth += 1,
                '<' if depth > 0 => depth -= 1,
                _ if depth > 0 => {}
                _ if word(c) => name.insert(0, c),
                _ => break,
            }
        }
        let last = name.rsplit([':', '.']).next().unwrap_or_default();
        if last.len() > 1 && !TYPES.contains(&parts(last).0) {
            // Of a member, whatever the object's name.
            let member = name.contains('.');
            all.insert(if member { format!(".{last}") } else { name });
        }
    }
    all
}

/// Words that stand before a parenthesis and are no function.
const TYPES: &[&str] = &[
    "bool",
    "char",
    "uchar",
    "short",
    "ushort",
    "int",
    "uint",
    "long",
    "ulong",
    "float",
    "half",
    "bfloat",
    "size_t",
    "uint64_t",
    "static_assert",
    "sizeof",
    "if",
    "for",
    "while",
    "simd_vote",
    "quad_vote",
    "vote_t",
    "alignof",
    "vec",
];

/// The operators in a use, assignments by an operator included.
pub(crate) fn operators(body: &str) -> BTreeSet<String> {
    let symbol = |c: char| "+-*/%&|^~<>=!".contains(c);
    let all = body.split(|c| !symbol(c)).filter(|op| OPERATORS.contains(op));
    all.map(|op| format!("operator{op}")).collect()
}

const OPERATORS: &[&str] = &[
    "+", "-", "*", "/", "%", "&", "|", "^", "~", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "&&", "||", "!", "++",
    "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=",
];

/// All that a use is a use of: functions, operators, and how it reaches components and elements.
pub(crate) fn features(body: &str) -> BTreeSet<String> {
    let mut all: BTreeSet<String> = calls(body).into_iter().chain(operators(body)).collect();
    let is_swizzle = |word: &str| {
        let letters = word.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
        !letters.is_empty() && letters.chars().all(|c| "xyzwrgba".contains(c))
    };
    let swizzled = body.match_indices('.').any(|(at, _)| is_swizzle(&body[at + 1..]));
    let others = [
        ("swizzle", swizzled),
        ("[]", body.contains('[')),
        ("packed", body.contains("packed_")),
        ("array", body.contains("array<")),
    ];
    all.extend(others.into_iter().filter(|o| o.1).map(|o| o.0.to_owned()));
    all
}

/// Text split at the commas that are in no brackets.
fn arguments(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut all) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' | '<' | '{' => depth += 1,
            ')' | '>' | '}' => depth -= 1,
            ',' if depth == 0 => {
                all.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    all.push(text[start..].trim());
    all.retain(|argument| !argument.is_empty());
    all
}

/// What stands in the parentheses that `text` begins behind.
fn parenthesized(text: &str) -> &str {
    let mut depth = 1;
    let end = text.char_indices().find(|(_, c)| {
        depth += i32::from(*c == '(') - i32::from(*c == ')');
        depth == 0
    });
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// The member functions of textures that a use calls: the type of the texture, the function, how many arguments it is given and which options, as
/// `texture2d.sample/3(bias)`; with the texture's component. And is_null_texture of each type.
pub(crate) fn texture_functions(parameters: &str, body: &str) -> BTreeSet<(String, String)> {
    let mut all = BTreeSet::new();
    for parameter in arguments(parameters) {
        let Some((kind, rest)) = parameter.split_once('<') else { continue };
        let component = rest.split([',', '>']).next().unwrap_or_default();
        let variable = parameter.rsplit(' ').next().unwrap_or_default();
        if body.contains(&format!("is_null_texture({variable})")) {
            all.insert((format!("is_null_texture of {kind}"), component.to_owned()));
        }
        for (at, found) in body.match_indices(&format!("{variable}.")) {
            if body[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.') {
                continue;
            }
            let Some((name, rest)) = body[at + found.len()..].split_once('(') else { continue };
            let given = arguments(parenthesized(rest));
            let is = |word: &str| given.iter().any(|a| a.starts_with(word));
            let options: Vec<&str> =
                ["level(", "bias(", "gradient", "min_lod_clamp(", "component::", "int2(", "int3(", "ushort"]
                    .into_iter()
                    .filter(|word| is(word))
                    .map(|word| word.trim_end_matches(['(', ':']))
                    .collect();
            all.insert((format!("{kind}.{name}/{}({})", given.len(), options.join(" ")), component.to_owned()));
        }
    }
    all
}
