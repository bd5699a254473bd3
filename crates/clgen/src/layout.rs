//! Where the numbers of a type lie in memory (OpenCL C 3.0 §6.3.5: a vector of three is as large as one of four).

use crate::types::{FieldKind, Record, Scalar, Type};

/// The scalars of one element of a buffer in memory order; `None` is a byte of padding.
pub type Layout = Vec<Option<Scalar>>;

impl Type {
    /// Its size, which is also its alignment.
    fn size(self) -> usize {
        self.scalar.size() * self.lanes.next_power_of_two()
    }

    pub(crate) fn layout(self) -> Layout {
        let mut layout = vec![Some(self.scalar); self.lanes];
        if self.lanes == 3 {
            layout.resize(3 + self.scalar.size(), None);
        }
        layout
    }
}

/// Bytes of a layout.
pub(crate) fn size(layout: &Layout) -> usize {
    layout.iter().map(|part| part.map_or(1, Scalar::size)).sum()
}

/// The layout of a structure or union, and its alignment.
pub(crate) fn of_record(records: &[Record], record: usize) -> (Layout, usize) {
    let Record { fields, is_union, .. } = &records[record];
    let (mut layout, mut alignment) = (Layout::new(), 1);
    // The members of a union have one size and no padding.
    for field in fields.iter().take(if *is_union { 1 } else { fields.len() }) {
        let (part, align) = match field.kind {
            FieldKind::Plain(ty) => (ty.layout(), ty.size()),
            FieldKind::Array(ty, len) => (ty.layout().repeat(len), ty.size()),
            FieldKind::Record(inner) => of_record(records, inner),
        };
        pad(&mut layout, align);
        layout.extend(part);
        alignment = alignment.max(align);
    }
    for field in fields {
        // Only those of a union were left out; vectors among them are aligned more strictly than scalars.
        if let FieldKind::Plain(ty) = field.kind {
            alignment = alignment.max(ty.size());
        }
    }
    pad(&mut layout, alignment);
    (layout, alignment)
}

fn pad(layout: &mut Layout, alignment: usize) {
    let missing = size(layout).next_multiple_of(alignment) - size(layout);
    layout.extend(std::iter::repeat_n(None, missing));
}
