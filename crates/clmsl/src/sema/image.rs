//! Typing of the functions on images, and of samplers (OpenCL C 3.0 §6.15.15).

use super::{Sema, const_int, convert};
use crate::builtins::{ImageOp, ImageQuery, Resolved, Special};
use crate::hir::{Expr, ExprKind};
use crate::source::Span;
use crate::types::{Image, ImageAccess, ImageDim, Scalar, Type};

impl Sema<'_> {
    pub(super) fn image_call(&mut self, op: ImageOp, name: &str, args: Vec<Expr>, span: Span) -> Expr {
        let Some(image) = args.first().and_then(|a| a.ty.image()) else {
            return self.bad(args.first().map_or(span, |a| a.span), format!("'{name}' needs an image"));
        };
        let typed = self.check_image(&args[0], name).and_then(|()| match op {
            ImageOp::Read(scalar) => self.type_image_read(image, scalar, name, args, span),
            ImageOp::Write(scalar) => self.type_image_write(image, scalar, name, args, span),
            ImageOp::Query(query) => self.type_image_query(image, query, name, args, span),
        });
        match typed {
            Some((args, ty)) => {
                let builtin = Resolved::Special(Special::Image(op));
                Expr::new(ExprKind::Builtin { builtin, args }, ty, span)
            }
            None => Expr::error(span),
        }
    }

    /// An image is a parameter, named where it is used: there are no variables and no values of such a type.
    pub(super) fn check_image(&mut self, image: &Expr, name: &str) -> Option<()> {
        if matches!(image.kind, ExprKind::Local(_)) {
            return Some(());
        }
        self.error(image.span, format!("'{name}' needs the name of an image, not an expression (§6.11.b)"));
        None
    }

    fn type_image_read(
        &mut self,
        image: Image,
        scalar: Scalar,
        name: &str,
        args: Vec<Expr>,
        span: Span,
    ) -> Option<(Vec<Expr>, Type)> {
        let sampled = args.len() == 3;
        if args.len() > 3 {
            self.error(
                span,
                format!("'{name}' with a level of detail or gradients is not supported (cl_khr_mipmap_image)"),
            );
            return None;
        }
        if args.len() < 2 {
            self.error(span, format!("'{name}' takes an image, a sampler if there is one, and a coordinate"));
            return None;
        }
        if image.access == ImageAccess::WriteOnly {
            return self.image_access(name, "cannot read", &args[0]);
        }
        if sampled && image.access == ImageAccess::ReadWrite {
            return self.image_access(name, "with a sampler cannot read", &args[0]);
        }
        if sampled && image.dim == ImageDim::D1Buffer {
            self.error(args[1].span, format!("'{name}' of an 'image1d_buffer_t' takes no sampler"));
            return None;
        }
        self.check_depth(image, scalar, name, args[0].span)?;
        let mut args = args.into_iter();
        let mut out = vec![args.next()?];
        if sampled {
            let sampler = self.assign_convert(args.next()?, &Type::Sampler, &format!("argument 2 of '{name}'"));
            if sampler.ty.is_error() {
                return None;
            }
            out.push(sampler);
        }
        out.push(self.coordinate(args.next()?, image.dim, sampled, name)?);
        Some((out, if image.dim.is_depth() { Type::FLOAT } else { Type::Vector(scalar, 4) }))
    }

    fn type_image_write(
        &mut self,
        image: Image,
        scalar: Scalar,
        name: &str,
        args: Vec<Expr>,
        span: Span,
    ) -> Option<(Vec<Expr>, Type)> {
        if args.len() != 3 {
            let level = if args.len() == 4 { " (a level of detail is not supported)" } else { "" };
            self.error(span, format!("'{name}' takes an image, a coordinate and a colour{level}"));
            return None;
        }
        if image.access == ImageAccess::ReadOnly {
            return self.image_access(name, "cannot write", &args[0]);
        }
        self.check_depth(image, scalar, name, args[0].span)?;
        let mut args = args.into_iter();
        let place = args.next()?;
        let at = self.coordinate(args.next()?, image.dim, false, name)?;
        let ty = if image.dim.is_depth() { Type::FLOAT } else { Type::Vector(scalar, 4) };
        let colour = args.next()?;
        // As an argument a scalar becomes a vector of any element.
        let colour = if colour.ty.scalar().is_some() {
            convert(colour, &ty)
        } else {
            self.assign_convert(colour, &ty, &format!("argument 3 of '{name}'"))
        };
        if colour.ty.is_error() {
            return None;
        }
        Some((vec![place, at, colour], Type::Void))
    }

    fn type_image_query(
        &mut self,
        image: Image,
        query: ImageQuery,
        name: &str,
        args: Vec<Expr>,
        span: Span,
    ) -> Option<(Vec<Expr>, Type)> {
        if args.len() != 1 {
            self.error(span, format!("'{name}' takes an image"));
            return None;
        }
        let (defined, ty) = match query {
            ImageQuery::Width | ImageQuery::ChannelOrder | ImageQuery::ChannelDataType => (true, Type::INT),
            ImageQuery::Height => (image.dim.rank() >= 2, Type::INT),
            ImageQuery::Depth => (image.dim.rank() == 3, Type::INT),
            ImageQuery::Dim if image.dim.rank() == 3 => (true, Type::Vector(Scalar::Int, 4)),
            ImageQuery::Dim => (image.dim.rank() == 2, Type::Vector(Scalar::Int, 2)),
            ImageQuery::ArraySize => (image.dim.is_array(), Type::ULONG),
        };
        if !defined {
            self.error(span, format!("'{name}' is not defined on '{}'", image.dim.opencl_name()));
            return None;
        }
        Some((args, ty))
    }

    fn image_access<T>(&mut self, name: &str, what: &str, image: &Expr) -> Option<T> {
        let ty = self.show(&image.ty);
        self.error(image.span, format!("'{name}' {what} an image that is '{ty}'"));
        None
    }

    /// Depth images hold one `float`.
    fn check_depth(&mut self, image: Image, scalar: Scalar, name: &str, span: Span) -> Option<()> {
        if image.dim.is_depth() && scalar != Scalar::Float {
            self.error(span, format!("'{name}' is not defined on '{}'", image.dim.opencl_name()));
            return None;
        }
        Some(())
    }

    /// Integers, or with a sampler floats too, between which the type decides. Without a sampler a scalar converts.
    fn coordinate(&mut self, at: Expr, dim: ImageDim, sampled: bool, name: &str) -> Option<Expr> {
        let n = dim.coordinates();
        match at.ty.arithmetic() {
            Some((_, 1)) if !sampled => Some(convert(convert(at, &Type::INT), &Type::lanes(Scalar::Int, n))),
            Some((s, 1)) if n == 1 => {
                let ty = if s.is_float() { Type::FLOAT } else { Type::INT };
                Some(convert(at, &ty))
            }
            Some((Scalar::Int, m)) if m == n => Some(at),
            Some((Scalar::Float, m)) if m == n && sampled => Some(at),
            _ => {
                let (ty, int) = (self.show(&at.ty), self.show(&Type::lanes(Scalar::Int, n)));
                let float = self.show(&Type::lanes(Scalar::Float, n));
                let wanted = if sampled { format!("'{int}' or '{float}'") } else { format!("'{int}'") };
                self.error(
                    at.span,
                    format!("'{name}': a coordinate of '{}' is {wanted}, not '{ty}'", dim.opencl_name()),
                );
                None
            }
        }
    }

    /// A constant as a sampler: one addressing mode, one filter mode, normalised or not.
    pub(super) fn sampler_value(&mut self, value: &Expr, what: &str) -> Expr {
        let span = value.span;
        let Some(bits) = const_int(value) else {
            return self.bad(span, format!("{what}: a sampler is made of a constant (OpenCL C 3.0 §6.15.15.1)"));
        };
        let (address, filter) = (bits & 0xe, bits & 0x30);
        if bits & !0x3f != 0 || address > 8 || filter == 0x30 {
            return self.bad(span, format!("{what}: {bits:#x} is no combination of the properties of a sampler"));
        }
        Expr::new(ExprKind::Int { value: bits, hexadecimal: true }, Type::Sampler, span)
    }
}

/// The constants of samplers, by the bits that compilers for OpenCL C give them, and of image formats, which OpenCL
/// numbers (`cl_channel_order`, `cl_channel_type`).
pub(super) fn image_constant(name: &str) -> Option<i128> {
    Some(match name.strip_prefix("CLK_")? {
        "NORMALIZED_COORDS_FALSE" | "ADDRESS_NONE" => 0,
        "NORMALIZED_COORDS_TRUE" => 1,
        "ADDRESS_CLAMP_TO_EDGE" => 2,
        "ADDRESS_CLAMP" => 4,
        "ADDRESS_REPEAT" => 6,
        "ADDRESS_MIRRORED_REPEAT" => 8,
        "FILTER_NEAREST" => 0x10,
        "FILTER_LINEAR" => 0x20,
        "R" => 0x10b0,
        "A" => 0x10b1,
        "RG" => 0x10b2,
        "RA" => 0x10b3,
        "RGB" => 0x10b4,
        "RGBA" => 0x10b5,
        "BGRA" => 0x10b6,
        "ARGB" => 0x10b7,
        "INTENSITY" => 0x10b8,
        "LUMINANCE" => 0x10b9,
        "Rx" => 0x10ba,
        "RGx" => 0x10bb,
        "RGBx" => 0x10bc,
        "DEPTH" => 0x10bd,
        "DEPTH_STENCIL" => 0x10be,
        "sRGB" => 0x10bf,
        "sRGBx" => 0x10c0,
        "sRGBA" => 0x10c1,
        "sBGRA" => 0x10c2,
        "ABGR" => 0x10c3,
        "SNORM_INT8" => 0x10d0,
        "SNORM_INT16" => 0x10d1,
        "UNORM_INT8" => 0x10d2,
        "UNORM_INT16" => 0x10d3,
        "UNORM_SHORT_565" => 0x10d4,
        "UNORM_SHORT_555" => 0x10d5,
        "UNORM_INT_101010" => 0x10d6,
        "SIGNED_INT8" => 0x10d7,
        "SIGNED_INT16" => 0x10d8,
        "SIGNED_INT32" => 0x10d9,
        "UNSIGNED_INT8" => 0x10da,
        "UNSIGNED_INT16" => 0x10db,
        "UNSIGNED_INT32" => 0x10dc,
        "HALF_FLOAT" => 0x10dd,
        "FLOAT" => 0x10de,
        "UNORM_INT24" => 0x10df,
        "UNORM_INT_101010_2" => 0x10e0,
        _ => return None,
    })
}
