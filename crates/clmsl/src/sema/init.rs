//! Initialisers (C99 §6.7.8): braces may be left out, designators may jump, what is missing is zero.
//!
//! The result is a tree of `Aggregate` nodes in the order of elements and members, every leaf converted.

use super::{Sema, const_int, convert};
use crate::ast::{self, Designator, Init, InitList};
use crate::hir::{Expr, ExprKind};
use crate::source::Span;
use crate::types::Type;

/// A designator may leave out this many elements; each takes memory here and text in the output.
const MAX_GAP: u64 = 4096;

/// An initialiser under construction.
#[derive(Clone)]
enum Slot {
    Empty,
    Leaf(Expr),
    /// Members of a structure or elements of an array, as far as they are known.
    List(Vec<Slot>),
    /// The member of a union that is initialised.
    Union(u32, Box<Slot>),
}

/// The items of a list that are still to be placed.
struct Items<'i> {
    list: &'i [(Vec<Designator>, Init)],
    at: usize,
}

impl Sema<'_> {
    /// Converts the initialiser of a variable of type `ty`; also gives the type with the size of an array filled in.
    pub(super) fn initialiser(&mut self, init: &Init, ty: &Type, what: &str) -> (Type, Expr) {
        match init {
            Init::Expr(e) => {
                if let Some(string) = self.string_initialiser(e, ty) {
                    return string;
                }
                let value = self.value(e);
                if matches!(ty, Type::Array(..)) && !value.ty.is_error() {
                    return (
                        ty.clone(),
                        self.bad(
                            e.span,
                            "an array is initialised by a list in braces, or one of characters by a string",
                        ),
                    );
                }
                (ty.clone(), self.assign_convert(value, ty, what))
            }
            Init::List(list) => self.initialiser_list(list, ty),
        }
    }

    /// Converts a list in braces.
    pub(super) fn initialiser_list(&mut self, list: &InitList, ty: &Type) -> (Type, Expr) {
        let span = list.span;
        if ty.is_error() {
            return (Type::Error, Expr::error(span));
        }
        if let Type::Vector(..) = ty {
            return (ty.clone(), self.vector_list(list, ty));
        }
        if let Some(string) = self.braced_string(list, ty) {
            return string;
        }
        if matches!(ty, Type::Scalar(_) | Type::Pointer(_) | Type::Sampler) {
            return (ty.clone(), self.braced_scalar(list, ty));
        }
        let mut slot = Slot::Empty;
        let mut items = Items { list: &list.items, at: 0 };
        self.fill(&mut slot, ty, &mut items, true, span);
        if let Some((designators, init)) = list.items.get(items.at) {
            let at = match (designators.first(), init) {
                (Some(Designator::Field(f)), _) => f.span,
                (Some(Designator::Index(_, s)), _) => *s,
                (None, Init::Expr(e)) => e.span,
                (None, Init::List(l)) => l.span,
            };
            self.warning(at, "more initialisers than there are members or elements; these are left out");
        }
        let ty = sized(ty, &slot);
        let expr = self.finish(slot, &ty, span);
        (ty, expr)
    }

    fn braced_scalar(&mut self, list: &InitList, ty: &Type) -> Expr {
        match list.items.as_slice() {
            [(designators, init)] if designators.is_empty() => self.initialiser(init, ty, "initialisation").1,
            _ => self.bad(list.span, "a scalar needs exactly one initialiser"),
        }
    }

    fn vector_list(&mut self, list: &InitList, ty: &Type) -> Expr {
        let mut values = Vec::new();
        for (designators, init) in &list.items {
            match init {
                Init::Expr(e) if designators.is_empty() => values.push(self.value(e)),
                _ => return self.bad(list.span, "the list of a vector holds values only"),
            }
        }
        if values.iter().any(|v| v.ty.is_error()) {
            return Expr::error(list.span);
        }
        self.vector_of(ty.clone(), values, list.span)
    }

    /// Places items into an aggregate. Without braces of its own (`braced` false) it takes as many as it needs, and
    /// leaves at the first designator, which belongs to an outer list; designators of the item that it begins with led to
    /// this aggregate (C99 §6.7.8 paragraphs 17 and 20).
    fn fill(&mut self, slot: &mut Slot, ty: &Type, items: &mut Items<'_>, braced: bool, span: Span) {
        let count = self.element_count(ty);
        let mut next = 0u64;
        let begin = items.at;
        while let Some((designators, init)) = items.list.get(items.at) {
            if !designators.is_empty() && (braced || items.at != begin) {
                if !braced {
                    return;
                }
                items.at += 1;
                let Some(index) = self.designate(slot, ty, designators, init, items) else { return };
                next = index + 1;
                continue;
            }
            if count.is_some_and(|n| next >= n) {
                return;
            }
            let Some(element) = self.element_type(ty, next) else { return };
            let Some(target) = self.slot_at(slot, ty, next, span) else {
                items.at = items.list.len();
                return;
            };
            self.place(target, &element, init, items);
            next += 1;
        }
    }

    /// Places the item at the cursor into one element.
    fn place(&mut self, target: &mut Slot, ty: &Type, init: &Init, items: &mut Items<'_>) {
        match init {
            Init::List(list) => {
                items.at += 1;
                *target = Slot::Leaf(self.initialiser_list(list, ty).1);
            }
            Init::Expr(e) => self.place_value(target, ty, e, items),
        }
    }

    fn place_value(&mut self, target: &mut Slot, ty: &Type, e: &ast::Expr, items: &mut Items<'_>) {
        if let Some((_, string)) = self.string_initialiser(e, ty) {
            items.at += 1;
            *target = Slot::Leaf(string);
            return;
        }
        if matches!(ty, Type::Array(..) | Type::Struct(_)) {
            // A value of the very type initialises the whole; otherwise the braces were left out.
            let before = (self.diagnostics.len(), self.errors, self.warnings);
            let value = if matches!(ty, Type::Struct(_)) { Some(self.value(e)) } else { None };
            match value {
                Some(value) if value.ty == *ty || value.ty.is_error() => {
                    items.at += 1;
                    *target = Slot::Leaf(value);
                }
                _ => {
                    self.diagnostics.truncate(before.0);
                    (self.errors, self.warnings) = (before.1, before.2);
                    let at = items.at;
                    self.fill(target, ty, items, false, e.span);
                    if items.at == at {
                        // Without members it takes nothing, and the list would be looked at for ever.
                        let ty = self.show(ty);
                        self.error(e.span, format!("'{ty}' has no member for this value"));
                        items.at += 1;
                    }
                }
            }
            return;
        }
        items.at += 1;
        let value = self.value(e);
        *target = Slot::Leaf(self.assign_convert(value, ty, "initialisation"));
    }

    /// Follows designators to the element they name and initialises it. Returns its index at the outermost level.
    fn designate(
        &mut self,
        slot: &mut Slot,
        ty: &Type,
        designators: &[Designator],
        init: &Init,
        items: &mut Items<'_>,
    ) -> Option<u64> {
        let (first, rest) = designators.split_first()?;
        let (index, span) = match first {
            Designator::Field(name) => (self.field_index(ty, name), name.span),
            Designator::Index(e, span) => (self.array_index(ty, e), *span),
        };
        let index = index?;
        let element = self.element_type(ty, index)?;
        let target = self.slot_at(slot, ty, index, span)?;
        if let (Designator::Field(_), Type::Struct(id)) = (first, ty)
            && self.program.structs[id.0 as usize].fields[index as usize].name.is_empty()
        {
            // The member lies in an anonymous one.
            let inner = self.designate(target, &element, designators, init, items)?;
            self.fill_on(target, &element, items, inner + 1, span);
        } else if rest.is_empty() {
            // `place` advances the cursor itself.
            items.at -= 1;
            self.place(target, &element, init, items);
        } else {
            let inner = self.designate(target, &element, rest, init, items)?;
            self.fill_on(target, &element, items, inner + 1, span);
        }
        Some(index)
    }

    /// Goes on behind the element that a designator named, within the aggregate that it led to (C99 §6.7.8 paragraph 17).
    fn fill_on(&mut self, slot: &mut Slot, ty: &Type, items: &mut Items<'_>, mut next: u64, span: Span) {
        let count = self.element_count(ty);
        while let Some((_, init)) = items.list.get(items.at).filter(|(designators, _)| designators.is_empty())
            && count.is_none_or(|n| next < n)
        {
            let Some(element) = self.element_type(ty, next) else { return };
            let Some(target) = self.slot_at(slot, ty, next, span) else { return };
            self.place(target, &element, init, items);
            next += 1;
        }
    }

    fn field_index(&mut self, ty: &Type, name: &ast::Ident) -> Option<u64> {
        let text = self.name(name.name);
        if let Type::Struct(id) = ty
            && let Some(path) = self.member_path(*id, text)
        {
            return Some(u64::from(path[0]));
        }
        let ty = self.show(ty);
        self.error(name.span, format!("'{ty}' has no member '{text}'"));
        None
    }

    fn array_index(&mut self, ty: &Type, e: &ast::Expr) -> Option<u64> {
        let value = self.value(e);
        let index = const_int(&value).and_then(|v| u64::try_from(v).ok());
        match (ty, index) {
            (Type::Array(_, n), Some(i)) if *n == 0 || i < *n => Some(i),
            _ if value.ty.is_error() => None,
            (Type::Array(..), _) => {
                self.error(e.span, "the index of a designator must be a constant inside the array");
                None
            }
            _ => {
                self.error(e.span, "an index designates elements of arrays only");
                None
            }
        }
    }

    /// Number of places an unbraced list can fill; `None` for an array without size.
    fn element_count(&self, ty: &Type) -> Option<u64> {
        match ty {
            Type::Array(_, 0) => None,
            Type::Array(_, n) => Some(*n),
            Type::Struct(id) => {
                let s = &self.program.structs[id.0 as usize];
                Some(if s.is_union { 1 } else { s.fields.len() as u64 })
            }
            _ => Some(1),
        }
    }

    fn element_type(&self, ty: &Type, index: u64) -> Option<Type> {
        match ty {
            Type::Array(e, _) => Some((**e).clone()),
            Type::Struct(id) => self.program.structs[id.0 as usize].fields.get(index as usize).map(|f| f.ty.clone()),
            _ => None,
        }
    }

    /// The slot of an element, made if need be.
    fn slot_at<'s>(&mut self, slot: &'s mut Slot, ty: &Type, index: u64, span: Span) -> Option<&'s mut Slot> {
        if let Type::Struct(id) = ty
            && self.program.structs[id.0 as usize].is_union
        {
            if !matches!(slot, Slot::Union(i, _) if u64::from(*i) == index) {
                *slot = Slot::Union(index as u32, Box::new(Slot::Empty));
            }
            return match slot {
                Slot::Union(_, inner) => Some(inner),
                _ => None,
            };
        }
        if let Slot::Leaf(_) = slot {
            self.error(span, "a designator into an element that was already initialised as a whole is not supported");
            return None;
        }
        if !matches!(slot, Slot::List(_)) {
            *slot = Slot::List(Vec::new());
        }
        let Slot::List(list) = slot else { return None };
        if index > list.len() as u64 + MAX_GAP {
            self.error(span, format!("a designator that leaves out more than {MAX_GAP} elements is not supported"));
            return None;
        }
        if list.len() as u64 <= index {
            list.resize(index as usize + 1, Slot::Empty);
        }
        list.get_mut(index as usize)
    }

    fn finish(&mut self, slot: Slot, ty: &Type, span: Span) -> Expr {
        match slot {
            Slot::Empty if ty.scalar().is_some() => convert(Expr::int(0, Type::INT, span), ty),
            Slot::Empty => Expr::new(ExprKind::Zero, ty.clone(), span),
            Slot::Leaf(expr) => expr,
            Slot::List(list) => {
                let mut parts = Vec::with_capacity(list.len());
                for (i, slot) in list.into_iter().enumerate() {
                    let Some(element) = self.element_type(ty, i as u64) else { continue };
                    parts.push(self.finish(slot, &element, span));
                }
                Expr::new(ExprKind::Aggregate(parts), ty.clone(), span)
            }
            Slot::Union(member, inner) => {
                let Some(element) = self.element_type(ty, u64::from(member)) else { return Expr::error(span) };
                let part = self.finish(*inner, &element, span);
                Expr::new(ExprKind::UnionOf(member, Box::new(part)), ty.clone(), span)
            }
        }
    }
}

/// The type with the size of an array that its initialiser decides.
fn sized(ty: &Type, slot: &Slot) -> Type {
    match (ty, slot) {
        (Type::Array(e, 0), Slot::List(list)) => Type::Array(e.clone(), list.len() as u64),
        _ => ty.clone(),
    }
}
