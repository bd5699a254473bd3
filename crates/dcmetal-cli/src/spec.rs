//! The `--arg SPEC` language: one kernel argument each, in the kernel's order.
//!
//! ```text
//! f32=2.5   i32x4=1,2,3,4                scalar, vector
//! local=4096                             bytes of threadgroup memory
//! in=x.npy  in=photo.png:rgba            buffer with a file's content
//! in=data.bin:f32:512x512                ... of a file that does not tell its type
//! zeros=f32:512x512  random=u8:1000:7    buffer of zeros, of random elements (seed 7)
//! BUFFER,save=out.npy                    any buffer, saved after the run
//! sampler=linear,repeat,normalized       sampler
//! ```

use std::path::{Path, PathBuf};

use dcmetal::SamplerDescriptor;

use crate::array::{Array, Element, Shape};
use crate::texture::parse_sampler;

/// One argument as asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Spec {
    /// `lanes` is 1 for a scalar; `bytes` holds lanes elements, and for 3 lanes a fourth of zero (both languages
    /// store three-component vectors in the space of four).
    Value {
        element: Element,
        lanes: usize,
        bytes: Vec<u8>,
    },
    Local {
        bytes: usize,
    },
    /// Of a buffer, or of a texture if the kernel takes one.
    Buffer {
        source: Source,
        save: Option<PathBuf>,
    },
    Sampler(SamplerDescriptor),
}

/// What a buffer holds before the run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    /// `.npy`, or an image, in the channels asked for.
    File {
        path: PathBuf,
        channels: Option<Channels>,
    },
    Raw {
        path: PathBuf,
        element: Element,
        shape: Shape,
    },
    Zeros {
        element: Element,
        shape: Shape,
    },
    /// In memory already; no word of the command line.
    Held(Array),
    Random {
        element: Element,
        shape: Shape,
        seed: u64,
    },
}

/// How an image's pixels are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channels {
    Gray,
    Rgb,
    Rgba,
}

/// What kind of file a name stands for, by its extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Npy,
    Png,
    Pnm,
    Raw,
}

impl FileKind {
    pub(crate) fn of(path: &Path) -> FileKind {
        match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("npy") => FileKind::Npy,
            Some("png") => FileKind::Png,
            Some("pgm" | "ppm" | "pnm") => FileKind::Pnm,
            _ => FileKind::Raw,
        }
    }
}

impl Spec {
    /// Reads one SPEC; the error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Spec, String> {
        let (kind, rest) = text.split_once('=').ok_or("it has no `=`; see `dcmetal run --help`")?;
        match kind {
            "local" => match rest.parse() {
                Ok(0) => Err("a local size of 0 bytes holds nothing".into()),
                Ok(bytes) => Ok(Spec::Local { bytes }),
                Err(_) => Err(format!("`{rest}` is not a number of bytes")),
            },
            "in" | "zeros" | "random" => {
                let (source, save) = match rest.rsplit_once(",save=") {
                    Some((_, "")) => return Err("`save=` names no file".into()),
                    Some((source, save)) => (source, Some(PathBuf::from(save))),
                    None => (rest, None),
                };
                Ok(Spec::Buffer { source: parse_source(kind, source)?, save })
            }
            "sampler" => parse_sampler(rest).map(Spec::Sampler),
            _ => parse_value(kind, rest),
        }
    }
}

fn parse_source(kind: &str, text: &str) -> Result<Source, String> {
    let fields: Vec<&str> = text.split(':').collect();
    match (kind, fields.as_slice()) {
        ("zeros", [element, shape]) => {
            Ok(Source::Zeros { element: Element::parse(element)?, shape: Shape::parse(shape)? })
        }
        ("zeros", _) => Err("zeros takes TYPE:SHAPE, as in zeros=f32:512x512".into()),
        ("random", [element, shape, seed]) => Ok(Source::Random {
            element: Element::parse(element)?,
            shape: Shape::parse(shape)?,
            seed: seed.parse().map_err(|_| format!("`{seed}` is not a seed (0 to 2^64 - 1)"))?,
        }),
        ("random", _) => Err("random takes TYPE:SHAPE:SEED, as in random=u8:1000:7".into()),
        (_, _) => parse_file(text),
    }
}

/// `FILE`, `IMAGE:gray|rgb|rgba` or `FILE:TYPE:SHAPE`; the name itself may hold colons.
fn parse_file(text: &str) -> Result<Source, String> {
    if text.is_empty() {
        return Err("`in=` names no file".into());
    }
    if let Some((head, shape)) = text.rsplit_once(':') {
        if let Some(channels) = match shape {
            "gray" => Some(Channels::Gray),
            "rgb" => Some(Channels::Rgb),
            "rgba" => Some(Channels::Rgba),
            _ => None,
        } {
            let path = PathBuf::from(head);
            return match FileKind::of(&path) {
                FileKind::Png | FileKind::Pnm => Ok(Source::File { path, channels: Some(channels) }),
                FileKind::Npy | FileKind::Raw => Err(format!("`:{shape}` is for images (.png, .pgm, .ppm)")),
            };
        }
        if let Some((path, element)) = head.rsplit_once(':')
            && !path.is_empty()
            && let Ok(element) = Element::parse(element)
        {
            return Ok(Source::Raw { path: path.into(), element, shape: Shape::parse(shape)? });
        }
    }
    let path = PathBuf::from(text);
    match FileKind::of(&path) {
        FileKind::Raw => {
            Err(format!("{text} does not tell its type; write in=FILE:TYPE:SHAPE, as in in=data.bin:f32:512x512"))
        }
        _ => Ok(Source::File { path, channels: None }),
    }
}

/// `f32=2.5` or `i32x4=1,2,3,4`.
fn parse_value(kind: &str, text: &str) -> Result<Spec, String> {
    let (name, lanes) = match kind.split_once('x') {
        None => (kind, 1),
        Some((name, lanes @ ("2" | "3" | "4" | "8" | "16"))) => (name, lanes.parse().expect("a number")),
        Some((_, lanes)) => return Err(format!("vectors have 2, 3, 4, 8 or 16 components, not {lanes}")),
    };
    let element = Element::parse(name)?;
    let values: Vec<&str> = text.split(',').map(str::trim).collect();
    if values.len() != lanes {
        return Err(format!("{kind} takes {lanes} value{}, not {}", if lanes == 1 { "" } else { "s" }, values.len()));
    }
    let mut bytes = Vec::with_capacity(4 * element.size());
    for value in values {
        bytes.extend(element.encode(value)?);
    }
    if lanes == 3 {
        bytes.resize(4 * element.size(), 0);
    }
    Ok(Spec::Value { element, lanes, bytes })
}

#[cfg(test)]
mod tests {
    use dcmetal::AddressMode::Repeat;
    use dcmetal::Filter;

    use super::*;

    fn shape(extents: &[usize]) -> Shape {
        Shape(extents.to_vec())
    }

    #[test]
    fn reads_every_form() {
        let buffer = |source, save: Option<&str>| Spec::Buffer { source, save: save.map(PathBuf::from) };
        let file = |path: &str, channels| Source::File { path: path.into(), channels };
        let raw =
            |path: &str, element, extents: &[usize]| Source::Raw { path: path.into(), element, shape: shape(extents) };
        let cases = [
            ("f64=0.1", Spec::Value { element: Element::F64, lanes: 1, bytes: 0.1f64.to_ne_bytes().to_vec() }),
            ("f32=2.5", Spec::Value { element: Element::F32, lanes: 1, bytes: 2.5f32.to_ne_bytes().to_vec() }),
            ("u8x2=1, 2", Spec::Value { element: Element::U8, lanes: 2, bytes: vec![1, 2] }),
            ("u8x3=1,2,3", Spec::Value { element: Element::U8, lanes: 3, bytes: vec![1, 2, 3, 0] }),
            ("u8x8=1,2,3,4,5,6,7,8", Spec::Value { element: Element::U8, lanes: 8, bytes: (1..=8).collect() }),
            ("local=4096", Spec::Local { bytes: 4096 }),
            ("in=a.npy", buffer(file("a.npy", None), None)),
            ("in=a.PNG:gray,save=b.png", buffer(file("a.PNG", Some(Channels::Gray)), Some("b.png"))),
            ("in=odd:name.pgm", buffer(file("odd:name.pgm", None), None)),
            ("in=a.bin:f32:2x3", buffer(raw("a.bin", Element::F32, &[2, 3]), None)),
            ("in=odd:a,b:u8:4,save=c,d", buffer(raw("odd:a,b", Element::U8, &[4]), Some("c,d"))),
            (
                "zeros=f32:512x512,save=o.npy",
                buffer(Source::Zeros { element: Element::F32, shape: shape(&[512, 512]) }, Some("o.npy")),
            ),
            ("sampler=repeat, linear,normalized", Spec::Sampler(SamplerDescriptor::new(Repeat, Filter::Linear))),
            ("sampler=nearest", Spec::Sampler(SamplerDescriptor::default().in_pixels())),
            ("random=u8:1000:7", buffer(Source::Random { element: Element::U8, shape: shape(&[1000]), seed: 7 }, None)),
        ];
        for (text, want) in cases {
            assert_eq!(Spec::parse(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn refuses_with_the_reason() {
        for (text, reason) in [
            ("", "no `=`"),
            ("2.5", "no `=`"),
            ("f80=1", "`f80` is not a type"),
            ("float=1", "`float` is not a type"),
            ("f32=1,2", "takes 1 value, not 2"),
            ("f32x4=1,2,3", "takes 4 values, not 3"),
            ("f32x5=1", "2, 3, 4, 8 or 16 components"),
            ("u8x16=1,2", "takes 16 values, not 2"),
            ("u8=300", "not a value of type u8"),
            ("local=0", "0 bytes"),
            ("local=big", "not a number of bytes"),
            ("in=", "names no file"),
            ("in=data.bin", "does not tell its type"),
            ("in=a.npy:rgba", "is for images"),
            ("zeros=f32", "TYPE:SHAPE"),
            ("zeros=f32:0", "extent of 0"),
            ("random=f32:4", "TYPE:SHAPE:SEED"),
            ("random=f32:4:x", "not a seed"),
            ("zeros=f32:4,save=", "names no file"),
            ("sampler=", "nearest or linear, clamp_to_edge,"),
            ("sampler=linear,clamp", "not `clamp`"),
            ("sampler=linear,repeat,nearest", "`nearest`: the sampler was told otherwise"),
        ] {
            let error = Spec::parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
