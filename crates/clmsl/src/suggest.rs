//! The name that was probably meant: the nearest of those that could stand there.

/// Names of built-in functions that are not in the table and are known by the shape of their names alone.
pub(crate) const SHAPED: &[&str] = &[
    "as_float",
    "as_float4",
    "as_int",
    "as_int4",
    "as_uint",
    "as_uint4",
    "async_work_group_copy",
    "atomic_add",
    "atomic_and",
    "atomic_cmpxchg",
    "atomic_dec",
    "atomic_inc",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_sub",
    "atomic_xchg",
    "atomic_xor",
    "barrier",
    "convert_float",
    "convert_float4",
    "convert_int",
    "convert_int4",
    "convert_uchar4",
    "convert_uchar4_sat",
    "convert_uint",
    "convert_uint4",
    "get_global_id",
    "get_global_linear_id",
    "get_global_offset",
    "get_global_size",
    "get_group_id",
    "get_image_height",
    "get_image_width",
    "get_local_id",
    "get_local_linear_id",
    "get_local_size",
    "get_num_groups",
    "get_work_dim",
    "mem_fence",
    "printf",
    "read_imagef",
    "read_imagei",
    "read_imageui",
    "select",
    "shuffle",
    "vload2",
    "vload3",
    "vload4",
    "vload_half",
    "vstore2",
    "vstore3",
    "vstore4",
    "vstore_half",
    "wait_group_events",
    "work_group_barrier",
    "write_imagef",
    "write_imagei",
    "write_imageui",
];

/// The nearest name, of the first in order of the alphabet, if it is near enough to be meant.
pub(crate) fn nearest<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let limit = (wanted.chars().count() / 3).min(4);
    names
        .into_iter()
        .filter(|name| *name != wanted && name.len().abs_diff(wanted.len()) <= limit)
        .map(|name| (distance(wanted, name), name))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, name)| name)
}

/// `; did you mean 'name'?` or nothing.
pub(crate) fn question<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    nearest(wanted, names).map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
}

/// Letters to add, drop, change or swap with a neighbour; letters of another case count nothing.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().map(|c| c.to_ascii_lowercase()).collect();
    let b: Vec<char> = b.chars().map(|c| c.to_ascii_lowercase()).collect();
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1; b.len() + 1];
        for (j, y) in b.iter().enumerate() {
            let change = above[j] + usize::from(x != y);
            row[j + 1] = change.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("ab", "ba"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("get_gloabl_id", "get_global_id"), 1);
        assert_eq!(distance("x", ""), 1);
    }

    #[test]
    fn near_names_only() {
        assert_eq!(nearest("get_gobal_id", SHAPED.iter().copied()), Some("get_global_id"));
        assert_eq!(nearest("Barrier", SHAPED.iter().copied()), Some("barrier"));
        assert_eq!(nearest("launch", SHAPED.iter().copied()), None);
        assert_eq!(nearest("n", ["m", "xy", "N"]), Some("N"));
    }
}
