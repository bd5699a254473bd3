//! Argument buffers: where an argument's eight bytes, or its value, lie in a structure that a kernel reads.
//!
//! The layout is that of the structure in memory (tier 2), so a program may use an encoder or write the structure itself.
//! An argument's index is its `[[id(n)]]`, else the one behind the member before it; elements of arrays and members of
//! structures inside take consecutive indices (MSL specification 2.13).

use std::ffi::{CStr, CString};

use crate::msl::{DataType, Type};

type Misuse = &'static CStr;

/// MTLDataType.
const STRUCT: u32 = 1;
const ARRAY: u32 = 2;
pub(crate) const TEXTURE: u32 = 58;
pub(crate) const SAMPLER: u32 = 59;
pub(crate) const POINTER: u32 = 60;
/// MTLDataTypeComputePipeline, MTLDataTypeIndirectCommandBuffer.
pub(crate) const PIPELINE: u32 = 79;
pub(crate) const COMMANDS: u32 = 80;
/// MTLDataTypeVisibleFunctionTable.
pub(crate) const FUNCTION_TABLE: u32 = 115;

/// A type with what the tree around it says.
pub(crate) struct Node {
    pub(crate) name: CString,
    pub(crate) kind: Type,
    /// Index of a member's first argument, from its structure's first on.
    pub(crate) index: u32,
    /// Arguments that it takes.
    pub(crate) span: u32,
    /// Whether textures, samplers, pointers and the like are in it.
    pub(crate) resources: bool,
}

/// What a buffer argument points to.
pub(crate) struct Arguments {
    /// The tree in preorder.
    pub(crate) nodes: Vec<Node>,
}

/// An argument that is asked for by MTLArgumentDescriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) data_type: u32,
    pub(crate) index: u32,
    /// 0 for no array.
    pub(crate) count: u32,
    pub(crate) access: u32,
    pub(crate) texture_type: u32,
    /// At least; 0 for what the type asks for.
    pub(crate) alignment: u64,
}

fn is_resource(data_type: u32) -> bool {
    matches!(data_type, TEXTURE | SAMPLER | POINTER | PIPELINE | COMMANDS | FUNCTION_TABLE)
}

impl Arguments {
    /// Of a tree in preorder.
    pub(crate) fn new(types: &[Type]) -> Arguments {
        let mut nodes: Vec<Node> = types
            .iter()
            .map(|kind| Node {
                name: CString::new(kind.name.as_str()).unwrap_or_default(),
                kind: kind.clone(),
                index: 0,
                span: 1,
                resources: is_resource(kind.data_type.0),
            })
            .collect();
        // Children come behind their parents.
        for at in (0..nodes.len()).rev() {
            let mut next = 0u32;
            let mut resources = nodes[at].resources;
            for child in children(&nodes, at) {
                resources |= nodes[child].resources;
                if nodes[at].kind.data_type.0 == STRUCT {
                    nodes[child].index = nodes[child].kind.id.unwrap_or(next);
                    next = nodes[child].index.saturating_add(nodes[child].span);
                    let span = nodes[at].span.max(next);
                    nodes[at].span = span;
                } else if nodes[at].kind.data_type.0 == ARRAY {
                    nodes[at].span = nodes[child].span.saturating_mul(nodes[at].kind.count);
                }
            }
            nodes[at].resources = resources;
        }
        Arguments { nodes }
    }

    /// Of arguments in any order: a structure with members in the order of their indices.
    pub(crate) fn of_list(wanted: &[Wanted]) -> Result<Arguments, Misuse> {
        let mut sorted = wanted.to_vec();
        sorted.sort_by_key(|one| one.index);
        if sorted.is_empty() {
            return Err(c"the array of arguments must not be empty.");
        }
        let kind = |data_type: u32, size: u64, alignment: u64| Type {
            name: String::new(),
            data_type: DataType(data_type),
            id: None,
            access: 0,
            texture_type: 0,
            element: DataType(0),
            count: 0,
            descendants: 0,
            offset: 0,
            size,
            alignment,
        };
        let mut types = vec![kind(STRUCT, 0, 1)];
        let (mut end, mut next) = (0u64, 0u32);
        for one in sorted {
            if one.index < next {
                return Err(c"the indices of two arguments overlap.");
            }
            let (size, own) = if is_resource(one.data_type) {
                (8, 8)
            } else {
                DataType(one.data_type)
                    .layout()
                    .ok_or(c"the dataType of an argument is not one that hostmetal knows.")?
            };
            if one.alignment != 0 && !one.alignment.is_power_of_two() {
                return Err(c"constantBlockAlignment must be a power of two.");
            }
            let alignment = own.max(one.alignment);
            let count = one.count.max(1);
            next = one.index.checked_add(count).ok_or(c"arrayLength is too large.")?;
            let offset = end.next_multiple_of(alignment);
            let element = Type { access: one.access, texture_type: one.texture_type, ..kind(one.data_type, size, own) };
            end = offset + size * u64::from(count);
            let place = |member: Type| Type { id: Some(one.index), offset, alignment, ..member };
            if one.count > 1 {
                let array = kind(ARRAY, size * u64::from(count), alignment);
                types.push(place(Type { count, descendants: 1, ..array }));
                types.push(element);
            } else {
                types.push(place(element));
            }
            types[0].alignment = types[0].alignment.max(alignment);
        }
        types[0].descendants = types.len() as u32 - 1;
        types[0].size = end.next_multiple_of(types[0].alignment);
        Ok(Arguments::new(&types))
    }

    /// Bytes of the structure, and what its address is a multiple of.
    pub(crate) fn extent(&self) -> (u64, u64) {
        self.nodes.first().map_or((0, 1), |root| (root.kind.size, root.kind.alignment))
    }

    /// Where the argument with an index lies, and its node.
    fn place(&self, index: u32) -> Result<(u64, usize), Misuse> {
        let Some(root) = self.nodes.first() else { return Err(UNKNOWN) };
        if root.kind.data_type.0 == STRUCT && root.kind.descendants == 0 {
            return Err(UNKNOWN);
        }
        self.within(0, 0, index).ok_or(c"there is no argument with this index.")
    }

    fn within(&self, at: usize, offset: u64, index: u32) -> Option<(u64, usize)> {
        let node = &self.nodes[at];
        match node.kind.data_type.0 {
            STRUCT if node.kind.descendants > 0 => children(&self.nodes, at).into_iter().find_map(|child| {
                let Node { index: first, span, kind, .. } = &self.nodes[child];
                let inside = index.checked_sub(*first).filter(|inside| inside < span)?;
                self.within(child, offset + kind.offset, inside)
            }),
            ARRAY => {
                let element = &self.nodes.get(at + 1)?;
                let number = u64::from(index / element.span);
                let stride = node.kind.size / u64::from(node.kind.count.max(1));
                (number < u64::from(node.kind.count))
                    .then(|| self.within(at + 1, offset + number * stride, index % element.span))?
            }
            _ => (index == 0).then_some((offset, at)),
        }
    }

    /// Offset of the argument with an index, which must be of the given type; 0 stands for all types of values.
    pub(crate) fn find(&self, index: u32, data_type: u32) -> Result<u64, Misuse> {
        let (offset, node) = self.place(index)?;
        let own = self.nodes[node].kind.data_type.0;
        if own == data_type || (data_type == 0 && !is_resource(own)) {
            return Ok(offset);
        }
        Err(match own {
            TEXTURE => c"the argument with this index is a texture.",
            SAMPLER => c"the argument with this index is a sampler.",
            POINTER => c"the argument with this index is a buffer.",
            PIPELINE => c"the argument with this index is a compute pipeline state.",
            FUNCTION_TABLE => c"the argument with this index is a visible function table.",
            COMMANDS => c"the argument with this index is an indirect command buffer.",
            _ => c"the argument with this index is a value.",
        })
    }

    /// What the pointer with an index points to.
    pub(crate) fn pointee(&self, index: u32) -> Result<Arguments, Misuse> {
        let (_, node) = self.place(index)?;
        if self.nodes[node].kind.data_type.0 != POINTER {
            return Err(c"the argument with this index is not a buffer.");
        }
        let below = node + 1..node + 1 + self.nodes[node].kind.descendants as usize;
        let types: Vec<Type> = self.nodes[below].iter().map(|node| node.kind.clone()).collect();
        if types.is_empty() || types[0].data_type.0 == STRUCT && types[0].descendants == 0 {
            return Err(UNKNOWN);
        }
        Ok(Arguments::new(&types))
    }
}

const UNKNOWN: Misuse = c"hostmetal cannot tell the members of the structure that the argument points to.";

/// The nodes directly below one.
fn children(nodes: &[Node], at: usize) -> Vec<usize> {
    let end = at + 1 + nodes[at].kind.descendants as usize;
    let mut found = Vec::new();
    let mut child = at + 1;
    while child < end {
        found.push(child);
        child += 1 + nodes[child].kind.descendants as usize;
    }
    found
}
