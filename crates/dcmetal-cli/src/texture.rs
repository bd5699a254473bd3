//! Textures and samplers from the command line: an array as the texels of a texture, its format chosen by what the
//! elements are and what the kernel reads.

use dcmetal::{
    AddressMode, Argument, ArgumentKind, Filter, PixelFormat, SamplerDescriptor, Scalar, TextureDescriptor, TextureKind,
};

use crate::array::{Element, Shape};

/// The texture that holds such an array: extents are those of the kernel's texture, slowest first (elements of an array,
/// depth, height, width), and 1, 2 or 4 components, which may be left out if there is one.
pub(crate) fn descriptor(
    argument: &Argument,
    kind: TextureKind,
    element: Element,
    shape: &Shape,
) -> Result<TextureDescriptor, String> {
    let dimensions = match kind {
        TextureKind::D1 | TextureKind::Buffer => 1,
        TextureKind::D1Array | TextureKind::D2 => 2,
        TextureKind::D2Array | TextureKind::D3 => 3,
    };
    let (extents, components) = match shape.0.split_last() {
        _ if shape.0.len() == dimensions => (shape.0.as_slice(), 1),
        Some((components @ (1 | 2 | 4), extents)) if extents.len() == dimensions => (extents, *components),
        _ => {
            let extents = match kind {
                TextureKind::D1 | TextureKind::Buffer => "W",
                TextureKind::D1Array => "LENGTHxW",
                TextureKind::D2 => "HxW",
                TextureKind::D2Array => "LENGTHxHxW",
                TextureKind::D3 => "DxHxW",
            };
            let name = &argument.type_name;
            return Err(format!("`{name}` takes the shape {extents}, {extents}x2 or {extents}x4, not {shape}"));
        }
    };
    let format = format(argument, element, components)?;
    Ok(match (kind, extents) {
        (TextureKind::D1, &[width]) => TextureDescriptor::d1(format, width),
        (TextureKind::Buffer, &[width]) => TextureDescriptor::buffer(format, width),
        (TextureKind::D1Array, &[length, width]) => TextureDescriptor::d1_array(format, width, length),
        (TextureKind::D2, &[height, width]) => TextureDescriptor::d2(format, width, height),
        (TextureKind::D2Array, &[length, height, width]) => TextureDescriptor::d2_array(format, width, height, length),
        (TextureKind::D3, &[depth, height, width]) => TextureDescriptor::d3(format, width, height, depth),
        _ => unreachable!("there are as many extents as dimensions"),
    })
}

/// The format whose components are such elements, among those that the kernel can take. Where it takes several, fractions
/// go before integers.
fn format(argument: &Argument, element: Element, components: usize) -> Result<PixelFormat, String> {
    let readings: &[&str] = match element {
        Element::U8 => &["8Unorm", "8Uint"],
        Element::I8 => &["8Snorm", "8Sint"],
        Element::U16 => &["16Unorm", "16Uint"],
        Element::I16 => &["16Snorm", "16Sint"],
        Element::F16 => &["16Float"],
        Element::F32 => &["32Float"],
        Element::I32 => &["32Sint"],
        Element::U32 => &["32Uint"],
        Element::I64 | Element::U64 | Element::F64 => &[],
    };
    let channels = ["", "R", "RG", "", "RGBA"][components];
    let takes = |format: &PixelFormat| {
        let fits = |scalar: Option<Scalar>| scalar.is_none_or(|scalar| seen_as(scalar) == format.component());
        argument.textures.is_empty() || argument.textures.iter().any(|texture| fits(texture.scalar))
    };
    let mut formats = readings
        .iter()
        .filter_map(|reading| PixelFormat::all().find(|f| f.to_string() == format!("{channels}{reading}")));
    formats
        .find(takes)
        .ok_or_else(|| format!("the kernel takes `{}`, whose texels cannot be {}", argument.type_name, element.name()))
}

/// The components of formats that a texture of such components reads and writes.
fn seen_as(scalar: Scalar) -> Scalar {
    match scalar {
        Scalar::F16 | Scalar::BF16 => Scalar::F32,
        Scalar::I16 => Scalar::I32,
        Scalar::U16 => Scalar::U32,
        other => other,
    }
}

/// The kind of texture that an argument is, if it is one.
pub(crate) fn kind(argument: &Argument) -> Option<TextureKind> {
    match argument.kind {
        ArgumentKind::Texture { kind } => Some(kind),
        _ => None,
    }
}

/// What the words of a sampler stand for.
const ADDRESS_MODES: [(&str, AddressMode); 4] = [
    ("clamp_to_edge", AddressMode::ClampToEdge),
    ("clamp_to_zero", AddressMode::ClampToZero),
    ("repeat", AddressMode::Repeat),
    ("mirrored_repeat", AddressMode::MirrorRepeat),
];

/// Reads `linear,repeat,normalized`, in any order; each has a default: nearest, clamp_to_edge, pixel.
pub(crate) fn parse_sampler(text: &str) -> Result<SamplerDescriptor, String> {
    let (mut filter, mut address, mut pixel) = (None, None, None);
    for word in text.split(',').map(str::trim) {
        let again = match word {
            "nearest" => filter.replace(Filter::Nearest).is_some(),
            "linear" => filter.replace(Filter::Linear).is_some(),
            "pixel" => pixel.replace(true).is_some(),
            "normalized" => pixel.replace(false).is_some(),
            _ => match ADDRESS_MODES.iter().find(|(name, _)| *name == word) {
                Some((_, mode)) => address.replace(*mode).is_some(),
                None => {
                    let modes = ADDRESS_MODES.map(|(name, _)| name).join(", ");
                    return Err(format!("a sampler is nearest or linear, {modes}, pixel or normalized, not `{word}`"));
                }
            },
        };
        if again {
            return Err(format!("`{word}`: the sampler was told otherwise, or the same, before"));
        }
    }
    let sampler = SamplerDescriptor::new(address.unwrap_or_default(), filter.unwrap_or_default());
    Ok(SamplerDescriptor { pixel_coordinates: pixel.unwrap_or(true), ..sampler })
}
