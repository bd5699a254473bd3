//! Structures whose members lie where MSL would not put them: packed, under `#pragma pack`, aligned member by member.
//!
//! MSL has no packed structures and its accesses are aligned, so a number that may lie at an odd address is kept as its
//! bytes, and members of padding bring the others to their offsets. What is done with such members is `bytes`' matter.
//!
//! A structure is bytes for the whole program: one that lies unaligned in another one, or is reached through pointers to
//! less aligned memory, is so everywhere. Unaligned pointers and atomic objects are refused.

use std::rc::Rc;

use super::Instance;
use super::bytes::{self, is_bytes};
use crate::diagnostic::Diagnostic;
use crate::hir::Constant;
use crate::source::Span;
use crate::types::{Field, Quals, Scalar, Struct, StructId, Type, layout};

/// Rewrites the structures that need it, and all that is done with their members.
pub(super) fn lower(
    structs: &mut [Struct],
    constants: &mut [Constant],
    instances: &mut [Instance],
    diagnostics: &mut Vec<Diagnostic>,
) {
    if let Some(places) = rebuild(structs, diagnostics) {
        bytes::lower(structs, &places, constants, instances, diagnostics);
    }
}

/// The structure that a member holds by value.
fn held(ty: &Type) -> Option<StructId> {
    match ty {
        Type::Array(element, _) => held(element),
        Type::Struct(id) => Some(*id),
        _ => None,
    }
}

/// The greatest alignment of something at this offset of what is aligned to `align`.
fn alignment_at(offset: u64, align: u64) -> u64 {
    if offset == 0 { align } else { align.min(1 << offset.trailing_zeros()) }
}

/// Brings every structure to the layout of OpenCL C. Returns where each member is now, or nothing if all were there.
fn rebuild(structs: &mut [Struct], diagnostics: &mut Vec<Diagnostic>) -> Option<Vec<Vec<u32>>> {
    for s in structs.iter_mut().filter(|s| s.anywhere) {
        if let Some(layout) = &mut s.layout {
            layout.align = layout.least_align;
        }
    }
    // What lies in another structure is aligned no better than that lets it.
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for i in 0..structs.len() {
            let Some(outer) = structs[i].layout.clone() else { continue };
            for f in 0..structs[i].fields.len() {
                let there = alignment_at(outer.offsets[f], outer.align);
                if let Some(id) = held(&structs[i].fields[f].ty)
                    && let Some(inner) = &mut structs[id.0 as usize].layout
                    && inner.align > there
                {
                    inner.align = there;
                    changed = true;
                }
            }
        }
    }
    let rebuilt: Vec<Rebuilt> = structs.iter().map(|s| Rebuilt::of(s, structs, diagnostics)).collect();
    let mut places = Vec::with_capacity(structs.len());
    let mut any = false;
    for (s, new) in structs.iter_mut().zip(rebuilt) {
        any |= new.fields.len() != s.fields.len() || new.fields.iter().any(|f| is_bytes(&f.ty));
        s.fields = new.fields;
        s.min_align = new.min_align;
        places.push(new.places);
    }
    any.then_some(places)
}

/// The members that give a structure its layout.
struct Rebuilt {
    fields: Vec<Field>,
    min_align: u64,
    /// Where each of the members before is.
    places: Vec<u32>,
}

impl Rebuilt {
    fn of(s: &Struct, structs: &[Struct], diagnostics: &mut Vec<Diagnostic>) -> Rebuilt {
        let mut out = Rebuilt { fields: Vec::new(), min_align: s.min_align, places: Vec::new() };
        let Some(wanted) = &s.layout else { return Rebuilt { fields: s.fields.clone(), ..out } };
        let (mut end, mut align) = (0u64, 1u64);
        for (field, &offset) in s.fields.iter().zip(&wanted.offsets) {
            let mut field = field.clone();
            field.ty = in_memory(&field.ty, alignment_at(offset, wanted.align), (&field, s), structs, diagnostics);
            field.quals.is_volatile &= !is_bytes(&field.ty);
            let (size, own) = layout(&field.ty, structs).unwrap_or((0, 1));
            align = align.max(own);
            if s.is_union {
                end = end.max(size);
            } else {
                if end.next_multiple_of(own) != offset {
                    out.pad(offset - end, s.span);
                }
                end = offset + size;
            }
            out.places.push(out.fields.len() as u32);
            out.fields.push(field);
        }
        // What the members do not align, the structure asks for.
        out.min_align = if align < wanted.align { wanted.align } else { 1 };
        if end.next_multiple_of(align.max(out.min_align)) != wanted.size {
            out.pad(if s.is_union { wanted.size } else { wanted.size - end }, s.span);
        }
        out
    }

    fn pad(&mut self, bytes: u64, span: Span) {
        let ty = Type::Array(Rc::new(Type::Scalar(Scalar::UChar)), bytes);
        let (name, quals) = ("padding".to_owned(), Quals::default());
        self.fields.push(Field { name, ty, quals, min_align: 1, packed: false, span });
    }
}

/// The type of a member of a structure that has only the alignment `there`.
fn in_memory(
    ty: &Type,
    there: u64,
    (field, s): (&Field, &Struct),
    structs: &[Struct],
    diagnostics: &mut Vec<Diagnostic>,
) -> Type {
    let refused = match ty {
        Type::Array(element, count) => {
            return Type::Array(Rc::new(in_memory(element, there, (field, s), structs, diagnostics)), *count);
        }
        _ if layout(ty, structs).is_none_or(|(_, align)| align <= there) => return ty.clone(),
        Type::Scalar(scalar) => return Type::Bytes(*scalar, 1),
        Type::Vector(scalar, lanes) => return Type::Bytes(*scalar, *lanes),
        Type::Pointer(_) => "a pointer",
        _ => "an atomic object",
    };
    let (name, outer) = (&field.name, &s.name);
    let message = format!("'{name}': {refused} at an unaligned place, as in the packed '{outer}', is not supported");
    diagnostics.push(Diagnostic::error(field.span, message));
    ty.clone()
}
