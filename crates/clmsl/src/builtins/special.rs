//! Built-in functions whose names carry types, or whose typing fits no row.

use super::c11::{self, C11, Order};
use super::group::{self, GroupOp};
use crate::types::{Scalar, Space};

/// A work-item query (OpenCL C 3.0 §6.15.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum WorkItem {
    GlobalId,
    LocalId,
    GroupId,
    GlobalSize,
    LocalSize,
    EnqueuedLocalSize,
    NumGroups,
    GlobalOffset,
    WorkDim,
    GlobalLinearId,
    LocalLinearId,
    SubGroupSize,
    MaxSubGroupSize,
    NumSubGroups,
    EnqueuedNumSubGroups,
    SubGroupId,
    SubGroupLocalId,
}

impl WorkItem {
    /// Whether it takes a dimension.
    pub(crate) fn has_dimension(self) -> bool {
        matches!(
            self,
            WorkItem::GlobalId
                | WorkItem::LocalId
                | WorkItem::GroupId
                | WorkItem::GlobalSize
                | WorkItem::LocalSize
                | WorkItem::EnqueuedLocalSize
                | WorkItem::NumGroups
                | WorkItem::GlobalOffset
        )
    }

    /// Whether it is a `uint` rather than a `size_t`.
    pub(crate) fn is_uint(self) -> bool {
        !self.has_dimension() && !matches!(self, WorkItem::GlobalLinearId | WorkItem::LocalLinearId)
    }
}

/// Rounding of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    Default,
    Nearest,
    Zero,
    Up,
    Down,
}

/// An atomic read-modify-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicOp {
    Add,
    Sub,
    Exchange,
    Min,
    Max,
    And,
    Or,
    Xor,
    Increment,
    Decrement,
    CompareExchange,
}

/// What is asked of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImageQuery {
    Width,
    Height,
    Depth,
    Dim,
    ArraySize,
    ChannelOrder,
    ChannelDataType,
}

/// A function on images (OpenCL C 3.0 §6.15.15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImageOp {
    /// `read_imagef` and its kin, by the components of the colour.
    Read(Scalar),
    Write(Scalar),
    Query(ImageQuery),
}

/// A dot product of four bytes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DotBytes {
    /// It is added to a third argument, saturating.
    pub(crate) accumulates: bool,
    /// What the bytes in two `uint`s are.
    pub(crate) packed: Option<[Scalar; 2]>,
}

/// A built-in function that is not in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    WorkItem(WorkItem),
    /// `barrier` and `work_group_barrier`.
    Barrier,
    /// `dc_grid_barrier`, our own: kernels are cut there (`lower::grid`).
    GridBarrier,
    /// `mem_fence`, `read_mem_fence`, `write_mem_fence`.
    MemFence,
    Convert {
        scalar: Scalar,
        lanes: u8,
        saturate: bool,
        rounding: Rounding,
    },
    AsType {
        scalar: Scalar,
        lanes: u8,
    },
    Select,
    Any,
    All,
    Atomic(AtomicOp),
    /// `vloadn`
    Load(u8),
    /// `vstoren`
    Store(u8),
    /// `vload_half` and `vload_halfn`; the flag is `vloada_halfn`, which is aligned.
    LoadHalf(u8, bool),
    StoreHalf(u8, bool, Rounding),
    /// `shuffle`; the flag is `shuffle2`.
    Shuffle(bool),
    Upsample,
    /// `dot` of bytes (§6.15.3), `dot_acc_sat`, and with them in the bytes of numbers `dot_4x8packed_us_int` and its kin.
    DotBytes(DotBytes),
    /// `nan`
    Nan,
    /// `async_work_group_copy`; the flag is the strided form.
    AsyncCopy(bool),
    /// `async_work_group_copy_2D2D`; the flag is `3D3D`.
    AsyncLines(bool),
    /// `wait_group_events`
    WaitEvents,
    /// `prefetch`, which has no effect.
    Prefetch,
    Image(ImageOp),
    Printf,
    /// `to_global` and its kin: the pointer, or null if it points elsewhere.
    ToSpace(Space),
    /// `get_fence`
    GetFence,
    /// A function of a group of work-items.
    Group(GroupOp),
    /// An atomic function of C11. What it orders is known once its arguments are.
    C11 {
        op: C11,
        order: Order,
        explicit: bool,
    },
}

impl Special {
    /// The same function with `float` for `double`.
    pub(crate) fn demoted(self) -> Special {
        match self {
            Special::Convert { lanes, saturate, rounding, .. } => {
                Special::Convert { scalar: Scalar::Float, lanes, saturate, rounding }
            }
            Special::AsType { lanes, .. } => Special::AsType { scalar: Scalar::Float, lanes },
            other => other,
        }
    }
}

/// The special function of this name.
pub(crate) fn find_special(name: &str) -> Option<Special> {
    Some(match name {
        "get_global_id" => Special::WorkItem(WorkItem::GlobalId),
        "get_local_id" => Special::WorkItem(WorkItem::LocalId),
        "get_group_id" => Special::WorkItem(WorkItem::GroupId),
        "get_global_size" => Special::WorkItem(WorkItem::GlobalSize),
        "get_local_size" => Special::WorkItem(WorkItem::LocalSize),
        "get_enqueued_local_size" => Special::WorkItem(WorkItem::EnqueuedLocalSize),
        "get_num_groups" => Special::WorkItem(WorkItem::NumGroups),
        "get_global_offset" => Special::WorkItem(WorkItem::GlobalOffset),
        "get_work_dim" => Special::WorkItem(WorkItem::WorkDim),
        "get_global_linear_id" => Special::WorkItem(WorkItem::GlobalLinearId),
        "get_local_linear_id" => Special::WorkItem(WorkItem::LocalLinearId),
        "get_sub_group_size" => Special::WorkItem(WorkItem::SubGroupSize),
        "get_max_sub_group_size" => Special::WorkItem(WorkItem::MaxSubGroupSize),
        "get_num_sub_groups" => Special::WorkItem(WorkItem::NumSubGroups),
        "get_enqueued_num_sub_groups" => Special::WorkItem(WorkItem::EnqueuedNumSubGroups),
        "get_sub_group_id" => Special::WorkItem(WorkItem::SubGroupId),
        "get_sub_group_local_id" => Special::WorkItem(WorkItem::SubGroupLocalId),
        // What was copied before is there before what is copied behind it.
        "async_work_group_copy_fence" => Special::Barrier,
        "barrier" | "work_group_barrier" => Special::Barrier,
        "dc_grid_barrier" => Special::GridBarrier,
        "mem_fence" | "read_mem_fence" | "write_mem_fence" => Special::MemFence,
        "select" => Special::Select,
        "any" => Special::Any,
        "all" => Special::All,
        "upsample" => Special::Upsample,
        "nan" => Special::Nan,
        "prefetch" => Special::Prefetch,
        "printf" => Special::Printf,
        "to_global" => Special::ToSpace(Space::Global),
        "to_local" => Special::ToSpace(Space::Local),
        "to_private" => Special::ToSpace(Space::Private),
        "get_fence" => Special::GetFence,
        "async_work_group_copy" => Special::AsyncCopy(false),
        "async_work_group_copy_2D2D" => Special::AsyncLines(false),
        "async_work_group_copy_3D3D" => Special::AsyncLines(true),
        "async_work_group_strided_copy" => Special::AsyncCopy(true),
        "wait_group_events" => Special::WaitEvents,
        "shuffle" => Special::Shuffle(false),
        "shuffle2" => Special::Shuffle(true),
        _ => {
            return atomic(name)
                .or_else(|| dot_bytes(name))
                .or_else(|| typed(name))
                .or_else(|| vector_access(name))
                .or_else(|| image(name));
        }
    })
}

fn dot_bytes(name: &str) -> Option<Special> {
    let rest = name.strip_prefix("dot")?;
    let (accumulates, rest) = match rest.strip_prefix("_acc_sat") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let packed = match rest {
        "" if accumulates => None,
        "_4x8packed_uu_uint" => Some([Scalar::UChar, Scalar::UChar]),
        "_4x8packed_ss_int" => Some([Scalar::Char, Scalar::Char]),
        "_4x8packed_us_int" => Some([Scalar::UChar, Scalar::Char]),
        "_4x8packed_su_int" => Some([Scalar::Char, Scalar::UChar]),
        _ => return None,
    };
    Some(Special::DotBytes(DotBytes { accumulates, packed }))
}

fn atomic(name: &str) -> Option<Special> {
    if let Some(group) = group::find(name) {
        return Some(Special::Group(group));
    }
    if let Some((op, explicit)) = c11::find(name) {
        return Some(Special::C11 { op, order: Order::DEFAULT, explicit });
    }
    let op = name.strip_prefix("atomic_").or_else(|| name.strip_prefix("atom_"))?;
    Some(Special::Atomic(match op {
        "add" => AtomicOp::Add,
        "sub" => AtomicOp::Sub,
        "xchg" => AtomicOp::Exchange,
        "min" => AtomicOp::Min,
        "max" => AtomicOp::Max,
        "and" => AtomicOp::And,
        "or" => AtomicOp::Or,
        "xor" => AtomicOp::Xor,
        "inc" => AtomicOp::Increment,
        "dec" => AtomicOp::Decrement,
        "cmpxchg" => AtomicOp::CompareExchange,
        _ => return None,
    }))
}

fn image(name: &str) -> Option<Special> {
    let colour = |suffix| match suffix {
        "f" => Some(Scalar::Float),
        "h" => Some(Scalar::Half),
        "i" => Some(Scalar::Int),
        "ui" => Some(Scalar::UInt),
        _ => None,
    };
    if let Some(suffix) = name.strip_prefix("read_image") {
        return colour(suffix).map(|s| Special::Image(ImageOp::Read(s)));
    }
    if let Some(suffix) = name.strip_prefix("write_image") {
        return colour(suffix).map(|s| Special::Image(ImageOp::Write(s)));
    }
    let query = match name.strip_prefix("get_image_")? {
        "width" => ImageQuery::Width,
        "height" => ImageQuery::Height,
        "depth" => ImageQuery::Depth,
        "dim" => ImageQuery::Dim,
        "array_size" => ImageQuery::ArraySize,
        "channel_order" => ImageQuery::ChannelOrder,
        "channel_data_type" => ImageQuery::ChannelDataType,
        _ => return None,
    };
    Some(Special::Image(ImageOp::Query(query)))
}

/// `convert_T...` and `as_T`.
fn typed(name: &str) -> Option<Special> {
    if let Some(rest) = name.strip_prefix("as_") {
        let (scalar, lanes) = arithmetic_type(rest)?;
        return Some(Special::AsType { scalar, lanes });
    }
    let mut parts = name.strip_prefix("convert_")?.split('_');
    let (scalar, lanes) = arithmetic_type(parts.next()?)?;
    let mut next = parts.next();
    let saturate = next == Some("sat");
    if saturate {
        next = parts.next();
    }
    let rounding = match next {
        None => Rounding::Default,
        Some(mode) => rounding(mode)?,
    };
    if parts.next().is_some() {
        return None;
    }
    Some(Special::Convert { scalar, lanes, saturate, rounding })
}

fn rounding(mode: &str) -> Option<Rounding> {
    Some(match mode {
        "rte" => Rounding::Nearest,
        "rtz" => Rounding::Zero,
        "rtp" => Rounding::Up,
        "rtn" => Rounding::Down,
        _ => return None,
    })
}

/// `vload4`, `vstore3`, `vload_half2`, `vloada_half4`, `vstore_half2_rte`.
fn vector_access(name: &str) -> Option<Special> {
    if let Some(rest) = name.strip_prefix("vstore_half").or_else(|| name.strip_prefix("vstorea_half")) {
        let (n, mode) = rest.split_once('_').map_or((rest, None), |(n, mode)| (n, Some(mode)));
        let mode = mode.map_or(Some(Rounding::Default), rounding)?;
        return half_lanes(n).map(|n| Special::StoreHalf(n, name.starts_with("vstorea"), mode));
    }
    if let Some(n) = name.strip_prefix("vload_half") {
        return half_lanes(n).map(|n| Special::LoadHalf(n, false));
    }
    if let Some(n) = name.strip_prefix("vloada_half") {
        return half_lanes(n).map(|n| Special::LoadHalf(n, true));
    }
    if let Some(n) = name.strip_prefix("vload") {
        return lanes(n).map(Special::Load);
    }
    lanes(name.strip_prefix("vstore")?).map(Special::Store)
}

fn lanes(text: &str) -> Option<u8> {
    matches!(text, "2" | "3" | "4" | "8" | "16").then(|| text.parse().ok()).flatten()
}

/// `vload_half` and its kin have a form for scalars.
fn half_lanes(text: &str) -> Option<u8> {
    if text.is_empty() { Some(1) } else { lanes(text) }
}

fn arithmetic_type(text: &str) -> Option<(Scalar, u8)> {
    let end = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    let (element, count) = text.split_at(end);
    let scalar = match element {
        "char" => Scalar::Char,
        "uchar" => Scalar::UChar,
        "short" => Scalar::Short,
        "ushort" => Scalar::UShort,
        "int" => Scalar::Int,
        "uint" => Scalar::UInt,
        "long" => Scalar::Long,
        "ulong" => Scalar::ULong,
        "half" => Scalar::Half,
        "float" => Scalar::Float,
        "double" => Scalar::Double,
        _ => return None,
    };
    let lanes = if count.is_empty() { 1 } else { lanes(count)? };
    Some((scalar, lanes))
}
