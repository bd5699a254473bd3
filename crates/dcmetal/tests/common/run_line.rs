//! `// run:` lines of the translator's cases as data; `translated.rs` says how they are written.

use dcmetal::{Argument, Scalar, Size};

/// One `// run:` line.
pub(crate) struct RunLine {
    pub(crate) kernel: String,
    pub(crate) grid: Size,
    pub(crate) dimensions: u32,
    pub(crate) group: Option<Size>,
    /// The arguments by name.
    pub(crate) given: Vec<(String, String)>,
    /// The buffers behind the arrow by name.
    pub(crate) expected: Vec<(String, String)>,
    /// What is printed, and whether its lines come in this order.
    pub(crate) prints: Option<(String, bool)>,
}

/// Every run line of a case, without `// run:`.
pub(crate) fn lines(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| line.trim().strip_prefix("// run:")).map(str::trim)
}

/// The build options of a case: what its first line says.
pub(crate) fn options(source: &str) -> &str {
    source.lines().next().and_then(|line| line.strip_prefix("// options:")).unwrap_or("").trim()
}

/// Reads a run line.
pub(crate) fn parse(line: &str) -> Result<RunLine, String> {
    let (before, after) = line.split_once("->").ok_or("no arrow")?;
    let mut words = words(before).into_iter();
    let kernel = words.next().ok_or("no kernel")?;
    let (mut grid, mut group, mut given) = (None, None, Vec::new());
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is no NAME=VALUE"))?;
        match name {
            "grid" => grid = Some(size(value)?),
            "group" => group = Some(size(value)?.0),
            name => given.push((name.to_owned(), value.to_owned())),
        }
    }
    let (grid, dimensions) = grid.ok_or("no grid")?;
    let pair = |word: String| match word.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err(format!("`{word}` is no NAME=VALUE")),
    };
    let mut expected = self::words(after).into_iter().map(pair).collect::<Result<Vec<_>, _>>()?;
    let mut prints = None;
    for (name, value) in expected.extract_if(.., |(name, _)| name == "prints" || name == "prints_lines") {
        prints = Some((unquoted(&value)?, name == "prints"));
    }
    if expected.is_empty() && prints.is_none() {
        return Err("nothing is expected".to_owned());
    }
    Ok(RunLine { kernel, grid, dimensions, group, given, expected, prints })
}

/// The text that stands in quotes; `\_` is a blank.
fn unquoted(value: &str) -> Result<String, String> {
    let inside = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).ok_or("no text in quotes")?;
    let (mut out, mut chars) = (String::new(), inside.chars());
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('_') => ' ',
                Some(c @ ('\\' | '"')) => c,
                other => return Err(format!("no escape {other:?}")),
            },
            c => c,
        });
    }
    Ok(out)
}

/// Words apart by spaces outside brackets and quotes.
pub(crate) fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut depth, mut quoted) = (Vec::new(), String::new(), 0, false);
    for c in text.chars() {
        quoted ^= c == '"';
        match c {
            c if quoted => word.push(c),
            ' ' if depth == 0 => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            ' ' => {}
            '[' | '{' => (depth += 1, word.push(c)).1,
            ']' | '}' => (depth -= 1, word.push(c)).1,
            c => word.push(c),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// `[a,b]`, `[a;n]` or `a` as texts of the argument's scalars, `{type:a,...}` as texts of those types.
pub(crate) fn numbers(argument: &Argument, value: &str) -> Result<Vec<(Scalar, String)>, String> {
    if let Some(inside) = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        let mut list = Vec::new();
        for part in inside.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (kind, number) = part.split_once(':').ok_or_else(|| format!("`{part}` has no type"))?;
            list.push((scalar(kind)?, number.to_owned()));
        }
        return Ok(list);
    }
    let kind =
        argument.scalar.ok_or_else(|| format!("`{}` is a structure: write {{type:value,...}}", argument.name))?;
    list_of(kind, value)
}

/// `[a,b]`, `[a;n]` or `a` as texts of the scalar.
pub(crate) fn list_of(kind: Scalar, value: &str) -> Result<Vec<(Scalar, String)>, String> {
    let mut list = Vec::new();
    let Some(inside) = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        return Ok(vec![(kind, value.to_owned())]);
    };
    for part in inside.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match part.split_once(';') {
            Some((number, times)) => {
                let times = times.trim().parse::<usize>().map_err(|error| format!("`{part}`: {error}"))?;
                list.extend(std::iter::repeat_n((kind, number.trim().to_owned()), times));
            }
            None => list.push((kind, part.to_owned())),
        }
    }
    Ok(list)
}

/// An image: `FORMAT:SIZE:[components of the texels in memory order]`.
pub(crate) struct Picture {
    /// A pixel format, in Metal's words.
    pub(crate) format: String,
    /// What one component is in memory.
    pub(crate) scalar: Scalar,
    /// Width, height and depth as far as there are any; the number of layers comes last.
    pub(crate) size: Vec<u64>,
    /// The texels, row by row, without gaps.
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn picture(value: &str) -> Result<Picture, String> {
    let mut parts = value.splitn(3, ':');
    let (Some(format), Some(size), Some(numbers)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(format!("`{value}` is no FORMAT:SIZE:NUMBERS"));
    };
    let (components, kind) = ["rgba", "bgra", "rg", "r"]
        .iter()
        .find_map(|order| Some((if order.len() == 4 { 4 } else { order.len() }, format.strip_prefix(order)?)))
        .ok_or_else(|| format!("no pixel format `{format}`"))?;
    let scalar = match kind {
        "8unorm" | "8uint" => Scalar::U8,
        "8snorm" | "8sint" => Scalar::I8,
        "16unorm" | "16uint" => Scalar::U16,
        "16snorm" | "16sint" => Scalar::I16,
        "16float" => Scalar::F16,
        "32uint" => Scalar::U32,
        "32sint" => Scalar::I32,
        "32float" => Scalar::F32,
        _ => return Err(format!("no pixel format `{format}`")),
    };
    let size = size.split('x').map(str::parse).collect::<Result<Vec<u64>, _>>().map_err(|error| error.to_string())?;
    let texels = list_of(scalar, numbers)?;
    let wanted = size.iter().product::<u64>() * components as u64;
    if texels.len() as u64 != wanted {
        return Err(format!("{} numbers for an image of {wanted}", texels.len()));
    }
    let bytes = texels.iter().map(|(scalar, number)| bits(*scalar, number)).collect::<Result<Vec<_>, _>>()?;
    Ok(Picture { format: format.to_owned(), scalar, size, bytes: bytes.concat() })
}

/// A sampler, `ADDRESS|FILTER|COORDINATES`, as the number that OpenCL C makes of it.
pub(crate) fn sampler(value: &str) -> Result<u32, String> {
    value.split('|').try_fold(0, |bits, word| {
        Ok(bits
            | match word {
                "none" | "unnormalized" => 0,
                "normalized" => 1,
                "clamp_to_edge" => 2,
                "clamp" => 4,
                "repeat" => 6,
                "mirrored_repeat" => 8,
                "nearest" => 0x10,
                "linear" => 0x20,
                _ => return Err(format!("`{word}` is no property of a sampler")),
            })
    })
}

pub(crate) fn scalar(name: &str) -> Result<Scalar, String> {
    Ok(match name {
        "f64" => Scalar::F64,
        "f32" => Scalar::F32,
        "f16" => Scalar::F16,
        "i8" => Scalar::I8,
        "u8" => Scalar::U8,
        "i16" => Scalar::I16,
        "u16" => Scalar::U16,
        "i32" => Scalar::I32,
        "u32" => Scalar::U32,
        "i64" => Scalar::I64,
        "u64" => Scalar::U64,
        other => return Err(format!("no type `{other}`")),
    })
}

/// `X[,Y[,Z]]` and how many numbers it has.
pub(crate) fn size(value: &str) -> Result<(Size, u32), String> {
    let parts: Vec<u64> = value
        .split(',')
        .map(|part| part.parse().map_err(|error| format!("size `{value}`: {error}")))
        .collect::<Result<_, _>>()?;
    let at = |index: usize| parts.get(index).copied().unwrap_or(1);
    match parts.len() {
        1..=3 => Ok((Size { x: at(0), y: at(1), z: at(2) }, parts.len() as u32)),
        n => Err(format!("a size of {n} numbers")),
    }
}

/// The bytes of a number.
pub(crate) fn bits(scalar: Scalar, text: &str) -> Result<Vec<u8>, String> {
    let whole = || whole(text).ok_or_else(|| format!("`{text}` is no integer"));
    let fits = |low: i128, high: i128| {
        let value = whole()?;
        if value < low || value > high { Err(format!("{text} is no {scalar}")) } else { Ok(value) }
    };
    // Bit patterns in hexadecimal may be given for signed types.
    Ok(match scalar {
        Scalar::F32 => float(text)?.to_ne_bytes().to_vec(),
        Scalar::F64 => double(text)?.to_ne_bytes().to_vec(),
        Scalar::I8 | Scalar::U8 | Scalar::Bool => (fits(-0x80, 0xFF)? as u8).to_ne_bytes().to_vec(),
        Scalar::I16 | Scalar::U16 => (fits(-0x8000, 0xFFFF)? as u16).to_ne_bytes().to_vec(),
        Scalar::I32 | Scalar::U32 => (fits(-0x8000_0000, 0xFFFF_FFFF)? as u32).to_ne_bytes().to_vec(),
        Scalar::I64 | Scalar::U64 => (fits(i64::MIN.into(), u64::MAX.into())? as u64).to_ne_bytes().to_vec(),
        Scalar::F16 => {
            let value = float(text)?;
            let half = half::f16::from_f32(value);
            if half.to_f32() != value && !value.is_nan() {
                return Err(format!("{text} is no half"));
            }
            half.to_ne_bytes().to_vec()
        }
        Scalar::BF16 => return Err("OpenCL C has no bfloat".to_owned()),
    })
}

pub(crate) fn float(text: &str) -> Result<f32, String> {
    if let Some(bits) = text.strip_prefix("0x") {
        return u32::from_str_radix(bits, 16).map(f32::from_bits).map_err(|error| format!("`{text}`: {error}"));
    }
    text.trim_end_matches('f').parse::<f32>().or_else(|_| text.parse()).map_err(|error| format!("`{text}`: {error}"))
}

fn double(text: &str) -> Result<f64, String> {
    if let Some(bits) = text.strip_prefix("0x") {
        return u64::from_str_radix(bits, 16).map(f64::from_bits).map_err(|error| format!("`{text}`: {error}"));
    }
    text.parse().map_err(|error| format!("`{text}`: {error}"))
}

pub(crate) fn whole(text: &str) -> Option<i128> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let value = match digits.strip_prefix("0x") {
        Some(hexadecimal) => i128::from_str_radix(hexadecimal, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(sign * value)
}
