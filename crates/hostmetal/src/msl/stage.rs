//! `[[stage_in]]` of kernels: the attributes of its structure, and the pipeline's description of where their values lie
//! (`MTLStageInputOutputDescriptor`).
//!
//! The description is compiled into the kernel: for each member of the structure this file writes what reads it
//! (hostmetal_stage.h). Of what type a member is clang knows, and the compiled kernel tells, so whether a format can be read as
//! that type is checked behind it, with the messages that Metal has for vertex functions.

use super::constants::{DataType, Known, evaluate};
use super::diagnose::Finding;
use super::kernels::{Parameter, Substitution, attributes, expression};
use super::members;
use super::scan::Program;
use super::token::Stream;

/// Attributes, and places of the buffers' argument table.
pub const PLACES: usize = 31;

/// What a component is in memory (`hostmetal::attribute_kind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unsigned = 1,
    Signed,
    Unorm,
    Snorm,
    Float,
    Bgra,
    Unorm1010102,
    Snorm1010102,
    Rg11b10,
    Rgb9e5,
}

/// MTLAttributeFormat: number, name, kind, bytes of a component, components.
type Format = (u32, &'static str, Kind, u32, u32);

#[rustfmt::skip]
const FORMATS: [Format; 53] = [
    (1, "UChar2", Kind::Unsigned, 1, 2), (2, "UChar3", Kind::Unsigned, 1, 3), (3, "UChar4", Kind::Unsigned, 1, 4),
    (4, "Char2", Kind::Signed, 1, 2), (5, "Char3", Kind::Signed, 1, 3), (6, "Char4", Kind::Signed, 1, 4),
    (7, "UChar2Normalized", Kind::Unorm, 1, 2), (8, "UChar3Normalized", Kind::Unorm, 1, 3), (9, "UChar4Normalized", Kind::Unorm, 1, 4),
    (10, "Char2Normalized", Kind::Snorm, 1, 2), (11, "Char3Normalized", Kind::Snorm, 1, 3), (12, "Char4Normalized", Kind::Snorm, 1, 4),
    (13, "UShort2", Kind::Unsigned, 2, 2), (14, "UShort3", Kind::Unsigned, 2, 3), (15, "UShort4", Kind::Unsigned, 2, 4),
    (16, "Short2", Kind::Signed, 2, 2), (17, "Short3", Kind::Signed, 2, 3), (18, "Short4", Kind::Signed, 2, 4),
    (19, "UShort2Normalized", Kind::Unorm, 2, 2), (20, "UShort3Normalized", Kind::Unorm, 2, 3), (21, "UShort4Normalized", Kind::Unorm, 2, 4),
    (22, "Short2Normalized", Kind::Snorm, 2, 2), (23, "Short3Normalized", Kind::Snorm, 2, 3), (24, "Short4Normalized", Kind::Snorm, 2, 4),
    (25, "Half2", Kind::Float, 2, 2), (26, "Half3", Kind::Float, 2, 3), (27, "Half4", Kind::Float, 2, 4),
    (28, "Float", Kind::Float, 4, 1), (29, "Float2", Kind::Float, 4, 2), (30, "Float3", Kind::Float, 4, 3), (31, "Float4", Kind::Float, 4, 4),
    (32, "Int", Kind::Signed, 4, 1), (33, "Int2", Kind::Signed, 4, 2), (34, "Int3", Kind::Signed, 4, 3), (35, "Int4", Kind::Signed, 4, 4),
    (36, "UInt", Kind::Unsigned, 4, 1), (37, "UInt2", Kind::Unsigned, 4, 2), (38, "UInt3", Kind::Unsigned, 4, 3), (39, "UInt4", Kind::Unsigned, 4, 4),
    (40, "Int1010102Normalized", Kind::Snorm1010102, 4, 4), (41, "UInt1010102Normalized", Kind::Unorm1010102, 4, 4),
    (42, "UChar4Normalized_BGRA", Kind::Bgra, 1, 4),
    (45, "UChar", Kind::Unsigned, 1, 1), (46, "Char", Kind::Signed, 1, 1),
    (47, "UCharNormalized", Kind::Unorm, 1, 1), (48, "CharNormalized", Kind::Snorm, 1, 1),
    (49, "UShort", Kind::Unsigned, 2, 1), (50, "Short", Kind::Signed, 2, 1),
    (51, "UShortNormalized", Kind::Unorm, 2, 1), (52, "ShortNormalized", Kind::Snorm, 2, 1),
    (53, "Half", Kind::Float, 2, 1),
    (54, "FloatRG11B10", Kind::Rg11b10, 4, 3), (55, "FloatRGB9E5", Kind::Rgb9e5, 4, 3),
];

fn format(number: u32) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.0 == number)
}

/// Whether a kernel's type can be read from a format (Apple, MTLVertexAttributeDescriptor.format): any number of components as
/// any other, anything as `float` and `half`, integers as integers of the same sign that are not smaller.
fn converts((_, _, kind, size, _): &Format, data_type: DataType) -> bool {
    match data_type.0 {
        // float, half
        3..=6 | 16..=19 => true,
        // int, short, char
        29..=32 => *kind == Kind::Signed,
        37..=40 => *kind == Kind::Signed && *size <= 2,
        45..=48 => *kind == Kind::Signed && *size == 1,
        // uint, ushort, uchar
        33..=36 => *kind == Kind::Unsigned,
        41..=44 => *kind == Kind::Unsigned && *size <= 2,
        49..=52 => *kind == Kind::Unsigned && *size == 1,
        _ => false,
    }
}

/// MTLStepFunction.
const CONSTANT: u32 = 0;
const STEPS: std::ops::RangeInclusive<u32> = 5..=8;
const X_INDEXED: u32 = 7;

/// MTLBufferLayoutStrideDynamic: the stride is set with the buffer.
const DYNAMIC: u64 = u64::MAX;

/// MTLAttributeDescriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageAttribute {
    /// MTLAttributeFormat; 0 for none.
    pub format: u32,
    /// In the argument table.
    pub buffer: u32,
    /// In bytes.
    pub offset: u64,
}

/// MTLBufferLayoutDescriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageLayout {
    /// Bytes from one element to the next; MTLBufferLayoutStrideDynamic where they are set with the buffer.
    pub stride: u64,
    /// MTLStepFunction.
    pub step: u32,
    /// Threads per element.
    pub rate: u64,
}

/// MTLStageInputOutputDescriptor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageInput {
    pub attributes: [StageAttribute; PLACES],
    pub layouts: [StageLayout; PLACES],
    /// Indices are 32 bits instead of 16 (MTLIndexType).
    pub wide_indices: bool,
    /// In the argument table.
    pub index_buffer: u32,
}

/// An attribute of a compiled kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeInfo {
    /// The member's name.
    pub name: String,
    /// n of `[[attribute(n)]]`.
    pub index: u32,
    /// Of the member.
    pub data_type: DataType,
    /// Not switched off by a function constant.
    pub active: bool,
}

/// A buffer that attributes are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageBuffer {
    /// In the argument table.
    pub index: u32,
    /// Whether its stride is set with it.
    pub dynamic_stride: bool,
}

impl StageInput {
    /// The buffers, by index, that a kernel with these attributes reads, ascending.
    ///
    /// # Errors
    /// A text that names the attribute which the description does not fit.
    pub fn buffers(&self, attributes: &[AttributeInfo]) -> Result<Vec<StageBuffer>, String> {
        let mut buffers = Vec::new();
        for AttributeInfo { name, index, data_type, .. } in attributes.iter().filter(|one| one.active) {
            let place = &self.attributes[*index as usize];
            let Some(format) = format(place.format) else {
                return Err(match place.format {
                    0 => format!("Attribute {name}({index}) is missing from the stage input descriptor"),
                    other => format!("Attribute {name}({index}): {other} is not a valid MTLAttributeFormat"),
                });
            };
            let Some(layout) = self.layouts.get(place.buffer as usize) else {
                return Err(format!("Attribute {name}({index}): bufferIndex ({}) must be < {PLACES}", place.buffer));
            };
            if layout.step != CONSTANT && !STEPS.contains(&layout.step) {
                return Err(format!(
                    "Attribute {name}({index}): the stepFunction of buffer layout[{}] ({}) is not one of compute functions",
                    place.buffer, layout.step
                ));
            }
            if layout.step != CONSTANT && layout.stride == 0 {
                return Err(format!(
                    "Attribute {name}({index}) references a buffer at index {}, but there is no buffer layout set for that index",
                    place.buffer
                ));
            }
            if layout.step != CONSTANT && (layout.rate == 0 || u32::try_from(layout.rate).is_err()) {
                return Err(format!(
                    "Attribute {name}({index}): the stepRate of buffer layout[{}] ({}) must be > 0 and < 2^32",
                    place.buffer, layout.rate
                ));
            }
            if !converts(format, *data_type) {
                let spelled = data_type.spelling().unwrap_or_else(|| format!("MTLDataType {}", data_type.0));
                return Err(format!(
                    "Attribute {name}({index}) of type {spelled} cannot be read using MTLAttributeFormat{}",
                    format.1
                ));
            }
            buffers.push(StageBuffer { index: place.buffer, dynamic_stride: layout.stride == DYNAMIC });
            if layout.step >= X_INDEXED {
                if self.index_buffer as usize >= PLACES {
                    return Err(format!("indexBufferIndex ({}) must be < {PLACES}", self.index_buffer));
                }
                buffers.push(StageBuffer { index: self.index_buffer, dynamic_stride: false });
            }
        }
        // Of two of one index the one with a dynamic stride stays.
        buffers.sort_unstable_by_key(|buffer| (buffer.index, !buffer.dynamic_stride));
        buffers.dedup_by_key(|buffer| buffer.index);
        Ok(buffers)
    }

    /// What an attribute's values are, for `hostmetal::attribute`.
    fn arguments(&self, index: usize) -> Option<String> {
        let place = self.attributes.get(index)?;
        let (_, _, kind, size, count) = format(place.format)?;
        let layout = self.layouts.get(place.buffer as usize)?;
        if layout.step != CONSTANT && (layout.rate == 0 || !STEPS.contains(&layout.step)) {
            return None;
        }
        let StageLayout { stride, step, rate } = layout;
        let (bytes, indices) = (if self.wide_indices { 4 } else { 2 }, self.index_buffer.min(PLACES as u32 - 1));
        let StageAttribute { buffer, offset, .. } = place;
        let rate = if *step == CONSTANT { 1 } else { u32::try_from(*rate).ok()? };
        Some(format!(
            "{}, {size}, {count}, {buffer}, {offset}ul, {stride}ul, {step}, {rate}, {indices}, {bytes}",
            *kind as u32
        ))
    }
}

/// A member of a kernel's `[[stage_in]]`.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The token of its name.
    pub(crate) name: usize,
    /// n of `[[attribute(n)]]`.
    pub(crate) index: u32,
    /// `[[function_constant(x)]]`: the tokens of x.
    condition: Option<(usize, usize)>,
}

/// The members of a parameter's structure.
pub(crate) fn members(
    stream: &Stream,
    program: &Program,
    parameter: &Parameter,
    known: &Known,
    findings: &mut Vec<Finding>,
) -> Vec<Member> {
    let (start, end) = (parameter.range.0, parameter.name.unwrap_or(parameter.range.1));
    let is_type = |i: &usize| stream.is_ident(*i) && !matches!(stream.at(*i), "const" | "struct" | "metal");
    let written = (start..end).rev().find(is_type);
    let classes: Vec<(usize, usize)> =
        written.map(|token| members::structures(stream, program, stream.at(token))).unwrap_or_default();
    let at = written.unwrap_or(start);
    let &[(open, close)] = classes.as_slice() else {
        let text = "'stage_in' needs the name of a structure that the source defines once, and that is no template";
        findings.push(Finding::error(at, text));
        return Vec::new();
    };
    let Some(found) = members::members(stream, open, close) else {
        let text = format!("hostmetal cannot tell the members of '{}' for 'stage_in'", stream.at(at));
        findings.push(Finding::error(at, text));
        return Vec::new();
    };
    let mut members: Vec<Member> = Vec::new();
    for members::Member { token, range: (from, to), .. } in found {
        let opened = (from..to).filter(|&i| stream.attribute(i).is_some());
        let all: Vec<_> = opened.flat_map(|i| attributes(stream, i)).collect();
        let find = |word: &str| all.iter().find(|one| stream.is(one.name, word));
        let Some((first, last)) = find("attribute").and_then(|one| one.arguments).filter(|(a, b)| a < b) else {
            let text = format!("member '{}' of a 'stage_in' structure needs [[attribute(n)]]", stream.at(token));
            findings.push(Finding::error(token, text));
            continue;
        };
        let value = evaluate(stream, first, last, known);
        let Some(index) = value.and_then(|value| u32::try_from(value).ok()).filter(|value| *value < PLACES as u32)
        else {
            let text = format!("'attribute' index must be an integer constant between 0 and {}", PLACES - 1);
            findings.push(Finding::error(first, text));
            continue;
        };
        let condition = find("function_constant").and_then(|one| one.arguments);
        let shared = |one: &&Member| one.index == index && (one.condition.is_none() || condition.is_none());
        if let Some(other) = members.iter().find(shared) {
            let text = format!(
                "members '{}' and '{}' have the same 'attribute' index {index}",
                stream.at(other.name),
                stream.at(token)
            );
            findings.push(Finding::error(token, text));
        }
        members.push(Member { name: token, index, condition });
    }
    members
}

/// The class `name`, of which `hostmetal::stage_in` makes an argument. `known`: the function constants are; else every member is there.
pub(crate) fn class(
    stream: &Stream,
    members: &[Member],
    values: &Substitution,
    input: Option<&StageInput>,
    name: &str,
    known: bool,
) -> String {
    let (mut fields, mut made, mut filled, mut described) = <(String, String, String, String)>::default();
    for (number, Member { name, index, condition }) in members.iter().enumerate() {
        let present = condition
            .filter(|_| known)
            .map_or("true".to_owned(), |(from, to)| format!("(bool)({})", expression(stream, from, to, values)));
        let described_as = input.and_then(|input| input.arguments(*index as usize));
        let described_as = described_as.unwrap_or_else(|| "0, 0, 0, 0, 0, 0, 0, 1, 0, 2".to_owned());
        let member = stream.at(*name);
        fields.push_str(&format!(
            " typedef hostmetal::attribute<{index}, {present}, {described_as}> hm_type_{number}; hm_type_{number} hm_{number};"
        ));
        made.push_str(&format!(", hm_{number}(group)"));
        filled.push_str(&format!(" hm_{number}.fill(object.{member}, where);"));
        described.push_str(&format!(
            " table.attribute[table.count++] = hm_type_{number}::template described<decltype(T::{member})>();"
        ));
    }
    format!(
        "struct {name} {{ hostmetal::stage stage;{fields} {name}(const hm_group *group) : stage(group){made} {{}} \
         template <class T> inline __attribute__((always_inline)) void fill(T &object, uint x, uint y) const {{ hostmetal::stage_thread where = stage.at(x, y); (void)where;{filled} }} \
         template <class T> static constexpr void describe(hm_attributes &table) {{ (void)table;{described} }} }}; "
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_as_what_holds_them() {
        // The types that each format can be read as, of float, half, int, uint, short, ushort, char, uchar.
        let types = [3, 16, 29, 33, 37, 41, 45, 49].map(DataType);
        for (name, expected) in [
            ("UChar4", "11010101"),
            ("UShort", "11010100"),
            ("UInt2", "11010000"),
            ("Char", "11101010"),
            ("Short4", "11101000"),
            ("Int3", "11100000"),
            ("UChar4Normalized_BGRA", "11000000"),
            ("Half3", "11000000"),
            ("Float", "11000000"),
            ("Int1010102Normalized", "11000000"),
            ("FloatRG11B10", "11000000"),
            ("ShortNormalized", "11000000"),
        ] {
            let format = FORMATS.iter().find(|format| format.1 == name).expect("a format");
            let found: String = types.iter().map(|t| if converts(format, *t) { '1' } else { '0' }).collect();
            assert_eq!(found, expected, "{name}");
        }
        assert!(!converts(&FORMATS[0], DataType(53)), "bool");
    }
}
