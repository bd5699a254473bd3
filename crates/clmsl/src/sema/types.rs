//! From specifiers and declarators to types; structures and enumerations.

use rustc_hash::FxHashSet as HashSet;

use super::{Entity, Qualified, Sema, Tag, const_int};
use crate::ast::{
    Attribute, Declarator, Derived, EnumSpec, FieldDecl, Ident, Param, Specs, StructSpec, TypeName, TypeSpec,
};
use crate::source::Span;
use crate::token::Symbol;
use crate::types::{
    Components, Field, Image, ImageAccess, Quals, Scalar, Space, Struct, StructId, Type, holds_pointers, layout,
    struct_layout,
};

/// Arrays and structures larger than this are refused; nothing on a device holds them.
const MAX_OBJECT: u64 = 1 << 40;
/// Structures may hold structures this deep.
const MAX_STRUCT_DEPTH: u32 = 32;

/// What a declarator declares.
pub(super) struct Declared<'d> {
    pub(super) ty: Qualified,
    /// The parameters, if it is a function; `ty` is then its result.
    pub(super) params: Option<&'d [Param]>,
}

impl Sema<'_> {
    /// The type the specifiers name, without the declarator.
    pub(super) fn base_type(&mut self, specs: &Specs) -> Qualified {
        let mut out = Qualified {
            ty: Type::Error,
            quals: specs.quals,
            space: specs.space.map(|(s, _)| s),
            pointer_sized: None,
            demoted: false,
        };
        match &specs.ty {
            TypeSpec::Void => out.ty = Type::Void,
            TypeSpec::Scalar(s) => out.ty = Type::Scalar(*s),
            TypeSpec::Vector(s, n) => out.ty = Type::Vector(*s, *n),
            TypeSpec::Atomic(s) => out.ty = Type::Atomic(*s),
            TypeSpec::Demoted(n) => {
                out.ty = Type::lanes(Scalar::Float, *n);
                out.demoted = true;
            }
            TypeSpec::PointerSized(s, name) => {
                out.ty = Type::Scalar(*s);
                out.pointer_sized = Some(name);
            }
            TypeSpec::Typedef(ident) => match self.lookup(ident.name) {
                Some(Entity::Typedef(q)) => {
                    let q = q.clone();
                    out.ty = q.ty;
                    out.quals = out.quals.union(q.quals);
                    out.space = out.space.or(q.space);
                    out.pointer_sized = q.pointer_sized;
                    out.demoted = q.demoted;
                }
                Some(Entity::Broken) => {}
                _ => {
                    let name = self.name(ident.name);
                    self.error(ident.span, format!("'{name}' is not a type here"));
                }
            },
            TypeSpec::Struct(spec) => out.ty = self.struct_type(spec),
            TypeSpec::Enum(spec) => out.ty = self.enum_type(spec),
            TypeSpec::Image(dim) => {
                // Without a qualifier an image is only read (OpenCL C 3.0 §6.8).
                out.ty =
                    Type::Image(Image { dim: *dim, access: ImageAccess::ReadOnly, components: Components::default() });
            }
            TypeSpec::Sampler => out.ty = Type::Sampler,
            TypeSpec::Unsupported => {}
        }
        if let Some((access, span)) = specs.access {
            match &mut out.ty {
                Type::Image(image) => image.access = access,
                Type::Error => {}
                _ => self.error(span, "only images have an access qualifier (OpenCL C 3.0 §6.8)"),
            }
        }
        out
    }

    /// Applies a declarator to the type its specifiers name.
    pub(super) fn declared<'d>(&mut self, base: &Qualified, declarator: &'d Declarator) -> Declared<'d> {
        let mut current = base.clone();
        let mut params = None;
        for (depth, derived) in declarator.derived.iter().enumerate().rev() {
            match derived {
                Derived::Pointer { quals, space } => {
                    self.check_object(&mut current, declarator.span, "a pointer to");
                    let ty = Type::pointer(current.ty.clone(), current.space.unwrap_or(Space::Unset), current.quals);
                    if !current.ty.is_error() {
                        current.ty = ty;
                    }
                    current.quals = *quals;
                    current.space = space.map(|(s, _)| s);
                    current.pointer_sized = None;
                }
                Derived::Array { size, span } => self.array(&mut current, size.as_ref(), *span),
                Derived::Function { params: list, span } => {
                    if depth == 0 {
                        params = Some(list.as_slice());
                    } else {
                        self.error(*span, "pointers to functions are not supported (OpenCL C 3.0 §6.11.a)");
                        current.ty = Type::Error;
                    }
                }
            }
        }
        Declared { ty: current, params }
    }

    fn array(&mut self, current: &mut Qualified, size: Option<&crate::ast::Expr>, span: Span) {
        if matches!(current.ty, Type::Void) {
            self.error(span, "array of void");
            current.ty = Type::Error;
        }
        self.check_object(current, span, "an array of");
        // An array without size gets it from its initialiser; until then it has no elements.
        let count = match size {
            None => 0,
            Some(size) => {
                let value = self.value(size);
                match const_int(&value) {
                    _ if value.ty.is_error() => 1,
                    Some(n) if n > 0 && n <= i128::from(u32::MAX) => n as u64,
                    Some(_) => {
                        self.error(size.span, "the size of an array must be positive and below 2^32");
                        1
                    }
                    None => {
                        self.error(
                            size.span,
                            "the size of an array must be a constant expression (OpenCL C 3.0 §6.11.d)",
                        );
                        1
                    }
                }
            }
        };
        if current.ty.is_error() {
            return;
        }
        let ty = Type::Array(std::rc::Rc::new(current.ty.clone()), count);
        match layout(&ty, &self.program.structs) {
            Some((size, _)) if size <= MAX_OBJECT => current.ty = ty,
            Some(_) => {
                self.error(span, "array is too large");
                current.ty = Type::Error;
            }
            None => {
                let element = self.show(&current.ty);
                self.error(span, format!("array of the incomplete or too large type '{element}'"));
                current.ty = Type::Error;
            }
        }
    }

    /// Refuses what is derived from images and samplers.
    fn check_object(&mut self, current: &mut Qualified, span: Span, what: &str) {
        if current.ty.is_opaque() {
            let ty = self.show(&current.ty);
            self.error(span, format!("{what} '{ty}' is not allowed: images and samplers are no objects (§6.11.b)"));
            current.ty = Type::Error;
        }
    }

    /// The type of a cast or `sizeof`.
    pub(super) fn type_of_name(&mut self, name: &TypeName) -> Qualified {
        let base = self.base_type(&name.specs);
        self.refuse_specifiers(&name.specs);
        let declared = self.declared(&base, &name.declarator);
        if declared.params.is_some() {
            self.error(name.span, "function types are not supported here");
            return Qualified { ty: Type::Error, ..declared.ty };
        }
        declared.ty
    }

    fn struct_type(&mut self, spec: &StructSpec) -> Type {
        let known = match spec.tag {
            Some(tag) if spec.fields.is_some() => self.tags.last().and_then(|t| t.get(&tag.name)).copied(),
            Some(tag) => self.tags.iter().rev().find_map(|t| t.get(&tag.name)).copied(),
            None => None,
        };
        let id = match known {
            Some(Tag::Struct(id)) => id,
            Some(Tag::Enum(_)) => {
                self.error(spec.span, "this tag is that of an enumeration");
                return Type::Error;
            }
            None => {
                let id = StructId(self.program.structs.len() as u32);
                self.program.structs.push(Struct {
                    name: spec.tag.map_or(String::new(), |t| self.name(t.name).to_owned()),
                    is_union: spec.is_union,
                    fields: Vec::new(),
                    complete: false,
                    layout: None,
                    depth: 0,
                    holds_pointers: false,
                    min_align: 1,
                    packed: false,
                    max_align: 0,
                    anywhere: false,
                    span: spec.tag.map_or(spec.span, |t| t.span),
                });
                if let (Some(tag), Some(tags)) = (spec.tag, self.tags.last_mut()) {
                    tags.insert(tag.name, Tag::Struct(id));
                }
                id
            }
        };
        let index = id.0 as usize;
        if self.program.structs[index].is_union != spec.is_union {
            self.error(spec.span, "this tag is both that of a structure and of a union");
        }
        let Some(fields) = &spec.fields else { return Type::Struct(id) };
        if self.program.structs[index].complete {
            self.error(spec.span, "this structure is defined twice");
            return Type::Struct(id);
        }
        let list = self.fields(fields);
        let min_align = self.struct_align(&spec.attributes);
        let packed = spec.attributes.iter().any(|a| self.attribute_name(a) == "packed");
        let s = &mut self.program.structs[index];
        s.fields = list;
        s.min_align = min_align;
        s.packed = packed;
        s.max_align = u64::from(spec.max_align);
        s.complete = true;
        let structs = &self.program.structs;
        let layout = struct_layout(&structs[index], structs);
        let depth = 1 + structs[index].fields.iter().map(|f| depth(&f.ty, structs)).max().unwrap_or(0);
        if self.program.structs[index].fields.is_empty() {
            self.error(spec.span, "a structure without members is not supported");
        } else if depth > MAX_STRUCT_DEPTH || layout.as_ref().is_none_or(|l| l.size > MAX_OBJECT) {
            self.error(spec.span, "structure is too large or nests too deep");
            return Type::Error;
        }
        let structs = &self.program.structs;
        let holds_pointers = structs[index].fields.iter().any(|f| holds_pointers(&f.ty, structs));
        let s = &mut self.program.structs[index];
        s.layout = layout;
        s.depth = depth;
        s.holds_pointers = holds_pointers;
        Type::Struct(id)
    }

    fn fields(&mut self, decls: &[crate::ast::FieldDecl]) -> Vec<Field> {
        let mut out: Vec<Field> = Vec::new();
        let mut seen = HashSet::default();
        for decl in decls {
            let base = self.base_type(&decl.specs);
            // What stands before the type is about each member.
            let (min_align, packed) = self.member_attributes(&decl.specs.attributes);
            if decl.declarators.is_empty() {
                self.anonymous_member(decl, &base, &mut out, &mut seen);
            }
            for declarator in &decl.declarators {
                let declared = self.declared(&base, declarator);
                let Some(name) = declarator.name else {
                    self.error(declarator.span, "a member needs a name");
                    continue;
                };
                let own = self.member_attributes(&declarator.attributes);
                let (min_align, packed) = (min_align.max(own.0), packed || own.1);
                if let Some(space) = declared.ty.space
                    && space != Space::Private
                {
                    self.error(name.span, "a member cannot have an address space");
                }
                let mut ty = self.fresh_spaces(&declared.ty.ty);
                let spaces = &mut self.spaces;
                ty = ty.map_spaces(&mut |s| {
                    spaces.share(s);
                    s
                });
                if declared.params.is_some() || matches!(ty, Type::Void) || is_unsized(&ty) {
                    self.error(name.span, "a member cannot be a function, void or an array without size");
                    ty = Type::Error;
                }
                if ty.is_opaque() {
                    self.error(name.span, "a member cannot be an image or a sampler (OpenCL C 3.0 §6.11.b)");
                    ty = Type::Error;
                }
                if !ty.is_error() && layout(&ty, &self.program.structs).is_none() {
                    self.error(name.span, "a member cannot have an incomplete type");
                    ty = Type::Error;
                }
                if ty.is_error() {
                    // Keeps the layout computable after an error.
                    ty = Type::INT;
                }
                let text = self.name(name.name).to_owned();
                if !seen.insert(name.name) {
                    self.error(name.span, format!("member '{text}' is declared twice"));
                    continue;
                }
                let quals = declared.ty.quals;
                out.push(Field { name: text, ty, quals, min_align, packed, span: name.span });
            }
        }
        out
    }

    /// A structure or union without tag and name, whose members count as those of what holds it (C11 §6.7.2.1).
    fn anonymous_member(
        &mut self,
        decl: &crate::ast::FieldDecl,
        base: &Qualified,
        out: &mut Vec<Field>,
        seen: &mut HashSet<Symbol>,
    ) {
        let span = decl.specs.span;
        let (Some(fields), Type::Struct(id)) = (members_without_tag(&decl.specs.ty), &base.ty) else {
            if !base.ty.is_error() {
                self.warning(span, "this declares no member");
            }
            return;
        };
        for name in member_names(fields) {
            if !seen.insert(name.name) {
                let text = self.name(name.name);
                self.error(name.span, format!("member '{text}' is declared twice"));
            }
        }
        if self.program.structs[id.0 as usize].layout.is_some() {
            let (ty, quals) = (base.ty.clone(), base.quals);
            out.push(Field { name: String::new(), ty, quals, min_align: 1, packed: false, span });
        }
    }

    /// The number of `aligned(n)`.
    fn aligned(&mut self, attribute: &Attribute) -> u64 {
        let value = attribute.args.first().map(|e| self.value(e));
        match value.as_ref().map(const_int) {
            None => 16,
            Some(Some(n)) if n > 0 && n <= 4096 && (n & (n - 1)) == 0 => n as u64,
            Some(_) => {
                self.error(attribute.name.span, "alignment must be a power of two up to 4096");
                1
            }
        }
    }

    /// The alignment that the attributes of a member ask for, and whether they pack it.
    fn member_attributes(&mut self, attributes: &[Attribute]) -> (u64, bool) {
        let (mut align, mut packed) = (1, false);
        for attribute in attributes {
            match self.attribute_name(attribute) {
                "aligned" => align = self.aligned(attribute).max(align),
                "packed" => packed = true,
                _ => self.refuse_attributes(std::slice::from_ref(attribute)),
            }
        }
        (align, packed)
    }

    /// The alignment that the attributes of a variable in a function ask for. Clang ignores `packed` there.
    pub(super) fn variable_attributes(&mut self, attributes: &[Attribute]) -> u64 {
        let mut align = 1;
        for attribute in attributes {
            match self.attribute_name(attribute) {
                "aligned" => align = self.aligned(attribute).max(align),
                "packed" => {}
                _ => self.refuse_attributes(std::slice::from_ref(attribute)),
            }
        }
        align
    }

    /// The alignment that the attributes of a structure ask for.
    fn struct_align(&mut self, attributes: &[Attribute]) -> u64 {
        let mut align = 1;
        for attribute in attributes {
            match self.attribute_name(attribute) {
                "aligned" => align = self.aligned(attribute).max(align),
                "packed" | "may_alias" | "unused" | "__unused__" => {}
                other => self.error(attribute.name.span, format!("attribute '{other}' is not supported here")),
            }
        }
        align
    }

    /// The attribute's name without the underscores GCC allows around it.
    pub(super) fn attribute_name<'s>(&'s self, attribute: &Attribute) -> &'s str {
        let name = self.names.name(attribute.name.name);
        name.strip_prefix("__").and_then(|n| n.strip_suffix("__")).unwrap_or(name)
    }

    /// Refuses the attributes that would change the layout or the meaning of what they stand at.
    pub(super) fn refuse_attributes(&mut self, attributes: &[Attribute]) {
        for attribute in attributes {
            let name = self.attribute_name(attribute).to_owned();
            if matches!(
                name.as_str(),
                "aligned"
                    | "packed"
                    | "endian"
                    | "vector_size"
                    | "ext_vector_type"
                    | "address_space"
                    | "mode"
                    | "cleanup"
            ) {
                self.error(attribute.name.span, format!("attribute '{name}' is not supported here"));
            }
        }
    }

    /// As `refuse_attributes`, for those among the specifiers of a declaration or a type's name. Clang ignores `packed` there.
    pub(super) fn refuse_specifiers(&mut self, specs: &Specs) {
        for attribute in &specs.attributes {
            if self.attribute_name(attribute) != "packed" {
                self.refuse_attributes(std::slice::from_ref(attribute));
            }
        }
    }

    /// The type of an enumeration is the integer type that Clang chooses: `uint` or `int`, or 64 bits if it must.
    fn enum_type(&mut self, spec: &EnumSpec) -> Type {
        self.refuse_attributes(&spec.attributes);
        let known = spec.tag.and_then(|tag| match spec.constants {
            Some(_) => self.tags.last()?.get(&tag.name).copied(),
            None => self.tags.iter().rev().find_map(|t| t.get(&tag.name)).copied(),
        });
        match (&spec.constants, spec.tag, known) {
            (None, _, Some(Tag::Enum(scalar))) => return Type::Scalar(scalar),
            (None, Some(tag), _) => {
                let name = self.name(tag.name);
                self.error(tag.span, format!("unknown enumeration '{name}'"));
                return Type::INT;
            }
            (Some(_), Some(tag), Some(_)) => {
                let name = self.name(tag.name);
                self.error(tag.span, format!("the tag '{name}' is defined twice"));
            }
            _ => {}
        }
        let mut next = 0i128;
        let mut values = Vec::new();
        for (name, value) in spec.constants.iter().flatten() {
            if let Some(value) = value {
                let expr = self.value(value);
                match const_int(&expr) {
                    Some(v) => next = v,
                    None if expr.ty.is_error() => {}
                    None => self.error(value.span, "the value of an enumerator must be a constant"),
                }
            }
            if !(i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&next) {
                self.error(name.span, "the value of an enumerator must fit 64 bits");
                next = 0;
            }
            if self.lookup_here(name.name).is_some() {
                let text = self.name(name.name);
                self.error(name.span, format!("'{text}' is declared twice in one scope"));
            }
            self.bind(name.name, Entity::EnumConstant(next, enumerator_type(next, Scalar::Long)));
            values.push((name.name, next));
            next += 1;
        }
        let least = values.iter().map(|&(_, v)| v).min().unwrap_or(0).min(0);
        let most = values.iter().map(|&(_, v)| v).max().unwrap_or(0);
        let scalar = if least < 0 {
            let narrow = i32::try_from(least).is_ok() && i32::try_from(most).is_ok();
            if narrow { Scalar::Int } else { Scalar::Long }
        } else if u32::try_from(most).is_ok() {
            Scalar::UInt
        } else {
            Scalar::ULong
        };
        for (name, value) in values {
            self.bind(name, Entity::EnumConstant(value, enumerator_type(value, scalar)));
        }
        if let Some(tag) = spec.tag
            && let Some(tags) = self.tags.last_mut()
        {
            tags.insert(tag.name, Tag::Enum(scalar));
        }
        Type::Scalar(scalar)
    }

    /// A parameter's type: arrays become pointers.
    pub(super) fn param_type(&mut self, param: &Param) -> (Qualified, Quals) {
        let base = self.base_type(&param.specs);
        self.refuse_specifiers(&param.specs);
        self.refuse_attributes(&param.declarator.attributes);
        let declared = self.declared(&base, &param.declarator);
        let mut q = declared.ty;
        if declared.params.is_some() {
            self.error(param.declarator.span, "pointers to functions are not supported (OpenCL C 3.0 §6.11.a)");
            q.ty = Type::Error;
        }
        if let Type::Array(element, _) = &q.ty {
            q.ty = Type::pointer((**element).clone(), q.space.unwrap_or(Space::Unset), q.quals);
            q.space = None;
            q.quals = Quals::default();
        }
        if matches!(q.ty, Type::Void) {
            self.error(param.declarator.span, "a parameter cannot be void");
            q.ty = Type::Error;
        }
        let quals = q.quals;
        (q, quals)
    }
}

/// An array whose size the declaration leaves open.
pub(super) fn is_unsized(ty: &Type) -> bool {
    match ty {
        Type::Array(element, n) => *n == 0 || is_unsized(element),
        _ => false,
    }
}

/// The type of an enumerator: `int` if that holds it.
fn enumerator_type(value: i128, wide: Scalar) -> Scalar {
    if i32::try_from(value).is_ok() { Scalar::Int } else { wide }
}

/// The members of a structure that is defined without a tag.
fn members_without_tag(ty: &TypeSpec) -> Option<&[FieldDecl]> {
    match ty {
        TypeSpec::Struct(spec) if spec.tag.is_none() => spec.fields.as_deref(),
        _ => None,
    }
}

/// The names that members declare, also inside anonymous ones.
fn member_names(fields: &[crate::ast::FieldDecl]) -> Vec<Ident> {
    let mut names = Vec::new();
    for field in fields {
        names.extend(field.declarators.iter().filter_map(|d| d.name));
        if field.declarators.is_empty()
            && let Some(inner) = members_without_tag(&field.specs.ty)
        {
            names.extend(member_names(inner));
        }
    }
    names
}

/// Structures with more members than this have an index of their names.
const INDEXED: usize = 16;

impl Sema<'_> {
    /// Where a structure has a member: positions from the outermost structure inwards, through anonymous ones.
    pub(super) fn member_path(&mut self, id: StructId, name: &str) -> Option<Vec<u32>> {
        let structs = &self.program.structs;
        let fields = &structs[id.0 as usize].fields;
        if fields.len() <= INDEXED {
            return member_path(structs, id, name);
        }
        let index = self.member_index.entry(id).or_insert_with(|| {
            fields.iter().enumerate().rev().map(|(at, field)| (field.name.clone(), at as u32)).collect()
        });
        match index.get(name) {
            Some(&at) => Some(vec![at]),
            None => index.get("").and_then(|_| member_path(structs, id, name)),
        }
    }
}

/// The same, by looking at each member.
fn member_path(structs: &[Struct], id: StructId, name: &str) -> Option<Vec<u32>> {
    let fields = &structs[id.0 as usize].fields;
    if let Some(at) = fields.iter().position(|f| f.name == name) {
        return Some(vec![at as u32]);
    }
    fields.iter().enumerate().find_map(|(at, field)| match field.ty {
        Type::Struct(inner) if field.name.is_empty() => {
            let mut path = member_path(structs, inner, name)?;
            path.insert(0, at as u32);
            Some(path)
        }
        _ => None,
    })
}

/// How many structures nest in a type.
fn depth(ty: &Type, structs: &[Struct]) -> u32 {
    match ty {
        Type::Array(e, _) => depth(e, structs),
        Type::Struct(id) => structs[id.0 as usize].depth,
        _ => 0,
    }
}
