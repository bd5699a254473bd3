//! The names of sub-group and work-group functions (OpenCL C 3.0 §6.15.17, §6.15.19; cl_khr_subgroup_*).

use crate::types::Scalar;

/// What a reduction or scan does with two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    Add,
    Min,
    Max,
    Mul,
    And,
    Or,
    Xor,
}

/// Which values a work-item gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoldSpan {
    /// All of the group.
    Reduce,
    /// Those up to its own.
    Inclusive,
    /// Those before its own.
    Exclusive,
}

/// A function that the work-items of a group call together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collective {
    All,
    Any,
    Broadcast,
    Fold(Fold, FoldSpan),
    /// The same of truth values: `And`, `Or` or `Xor`.
    Logical(Fold, FoldSpan),
}

/// A function of sub-groups that moves values by lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lanes {
    BroadcastFirst,
    Shuffle,
    ShuffleXor,
    ShuffleUp,
    ShuffleDown,
    Rotate,
    /// Within clusters.
    ClusteredRotate,
    Elect,
    AllEqual,
    Ballot,
    InverseBallot,
    BitExtract,
    BitCount,
    BitInclusiveScan,
    BitExclusiveScan,
    FindLsb,
    FindMsb,
    /// `get_sub_group_eq_mask` and its kin, by the comparison of a lane with one's own.
    Mask(&'static str),
}

/// A function of a group of work-items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupOp {
    WorkGroup(Collective),
    SubGroup(Collective),
    /// The same for the work-items that happen to be there.
    NonUniform(Collective),
    /// The same for clusters of neighbours.
    Clustered(Collective),
    Lanes(Lanes),
    /// `sub_group_barrier`
    SubGroupBarrier,
    /// `intel_sub_group_block_read` and `intel_sub_group_block_write` of so many elements for each work-item
    /// (cl_intel_subgroups and its kin for other types): work-item i of the sub-group has those at i, i + size, ...
    Block {
        write: bool,
        element: Scalar,
        lanes: u8,
    },
}

/// The function of this name.
pub(crate) fn find(name: &str) -> Option<GroupOp> {
    if let Some(rest) = name.strip_prefix("work_group_") {
        return collective(rest).map(GroupOp::WorkGroup);
    }
    if let Some(rest) = name.strip_prefix("intel_sub_group_block_") {
        return block(rest);
    }
    let lanes = match name {
        "get_sub_group_eq_mask" => Lanes::Mask("=="),
        "get_sub_group_ge_mask" => Lanes::Mask(">="),
        "get_sub_group_gt_mask" => Lanes::Mask(">"),
        "get_sub_group_le_mask" => Lanes::Mask("<="),
        "get_sub_group_lt_mask" => Lanes::Mask("<"),
        "intel_sub_group_shuffle" => Lanes::Shuffle,
        "intel_sub_group_shuffle_xor" => Lanes::ShuffleXor,
        _ => {
            let rest = name.strip_prefix("sub_group_")?;
            return sub_group(rest);
        }
    };
    Some(GroupOp::Lanes(lanes))
}

fn block(name: &str) -> Option<GroupOp> {
    let (write, rest) = match name.strip_prefix("read") {
        Some(rest) => (false, rest),
        None => (true, name.strip_prefix("write")?),
    };
    let digits = rest.trim_start_matches(|c: char| !c.is_ascii_digit());
    let element = match &rest[..rest.len() - digits.len()] {
        "" | "_ui" => Scalar::UInt,
        "_uc" => Scalar::UChar,
        "_us" => Scalar::UShort,
        "_ul" => Scalar::ULong,
        _ => return None,
    };
    let lanes = match digits {
        "" => 1,
        "2" => 2,
        "4" => 4,
        "8" => 8,
        "16" if element.size() < 4 => 16,
        _ => return None,
    };
    Some(GroupOp::Block { write, element, lanes })
}

fn sub_group(name: &str) -> Option<GroupOp> {
    if let Some(rest) = name.strip_prefix("non_uniform_") {
        return match rest {
            "all_equal" => Some(GroupOp::Lanes(Lanes::AllEqual)),
            _ => collective(rest).map(GroupOp::NonUniform),
        };
    }
    if let Some(rest) = name.strip_prefix("clustered_") {
        if rest == "rotate" {
            return Some(GroupOp::Lanes(Lanes::ClusteredRotate));
        }
        let reduces = |c: &Collective| {
            matches!(c, Collective::Fold(_, FoldSpan::Reduce) | Collective::Logical(_, FoldSpan::Reduce))
        };
        return collective(rest).filter(reduces).map(GroupOp::Clustered);
    }
    Some(GroupOp::Lanes(match name {
        "barrier" => return Some(GroupOp::SubGroupBarrier),
        "broadcast_first" => Lanes::BroadcastFirst,
        "shuffle" => Lanes::Shuffle,
        "shuffle_xor" => Lanes::ShuffleXor,
        "shuffle_up" => Lanes::ShuffleUp,
        "shuffle_down" => Lanes::ShuffleDown,
        "rotate" => Lanes::Rotate,
        "elect" => Lanes::Elect,
        "ballot" => Lanes::Ballot,
        "inverse_ballot" => Lanes::InverseBallot,
        "ballot_bit_extract" => Lanes::BitExtract,
        "ballot_bit_count" => Lanes::BitCount,
        "ballot_inclusive_scan" => Lanes::BitInclusiveScan,
        "ballot_exclusive_scan" => Lanes::BitExclusiveScan,
        "ballot_find_lsb" => Lanes::FindLsb,
        "ballot_find_msb" => Lanes::FindMsb,
        _ => return collective(name).filter(|c| basic(*c)).map(GroupOp::SubGroup),
    }))
}

/// Whether it is a function of whole sub-groups: those have sums, minima and maxima.
fn basic(collective: Collective) -> bool {
    match collective {
        Collective::Fold(fold, _) => matches!(fold, Fold::Add | Fold::Min | Fold::Max),
        Collective::Logical(..) => false,
        Collective::All | Collective::Any | Collective::Broadcast => true,
    }
}

fn collective(name: &str) -> Option<Collective> {
    let (span, fold) = match name {
        "all" => return Some(Collective::All),
        "any" => return Some(Collective::Any),
        "broadcast" => return Some(Collective::Broadcast),
        _ => {
            if let Some(fold) = name.strip_prefix("reduce_") {
                (FoldSpan::Reduce, fold)
            } else if let Some(fold) = name.strip_prefix("scan_inclusive_") {
                (FoldSpan::Inclusive, fold)
            } else {
                (FoldSpan::Exclusive, name.strip_prefix("scan_exclusive_")?)
            }
        }
    };
    let fold = match fold {
        "add" => Fold::Add,
        "min" => Fold::Min,
        "max" => Fold::Max,
        "mul" => Fold::Mul,
        "and" => Fold::And,
        "or" => Fold::Or,
        "xor" => Fold::Xor,
        "logical_and" => return Some(Collective::Logical(Fold::And, span)),
        "logical_or" => return Some(Collective::Logical(Fold::Or, span)),
        "logical_xor" => return Some(Collective::Logical(Fold::Xor, span)),
        _ => return None,
    };
    Some(Collective::Fold(fold, span))
}
