//! Calls of `printf`: the format is taken apart, each argument checked against its conversion and made words of what the
//! device writes.

use super::{Sema, convert};
use crate::builtins::{Resolved, Special};
use crate::hir::{Expr, ExprKind};
use crate::printf::{Conversion, Length, PrintPiece, PrintValue, parse};
use crate::source::Span;
use crate::types::{Scalar, Type};

impl Sema<'_> {
    /// The arguments become: the number of the format, the words of each conversion, and what is evaluated and not
    /// printed, as void. For `%s` it is a pointer and the most characters that it prints.
    pub(super) fn type_printf(&mut self, args: Vec<Expr>, span: Span) -> Option<(Vec<Expr>, Type)> {
        let mut args = args.into_iter();
        let format = args.next()?;
        let text = self.format(&format)?;
        let (mut format, lengths) = match parse(&text) {
            Ok(parsed) => parsed,
            Err(reason) => {
                self.error(format.span, format!("'printf': {reason}"));
                return None;
            }
        };
        let mut words = Vec::new();
        let mut lengths = lengths.into_iter();
        let mut complete = true;
        for piece in &mut format.pieces {
            let PrintPiece::Conversion(conversion) = piece else { continue };
            let Some(arg) = args.next() else {
                let shown = shown(conversion);
                self.error(span, format!("'printf': there is no argument for '{shown}'"));
                return None;
            };
            let length = lengths.next()?;
            if conversion.value == PrintValue::String {
                match self.printed_string(arg, conversion) {
                    Some(string) => words.extend(string),
                    None => complete = false,
                }
                continue;
            }
            match self.printed(arg, conversion, length) {
                Some(word) => words.push(word),
                None => complete = false,
            }
        }
        if !complete {
            return None;
        }
        for arg in args {
            self.warning(arg.span, "'printf': the format has no conversion for this argument");
            words.push(arg.convert(Type::Void));
        }
        let number = Expr::int(self.program.formats.len() as i128, Type::UINT, span);
        self.program.formats.push(format);
        words.insert(0, number);
        Some((words, Type::INT))
    }

    /// The literal behind a pointer, as text.
    fn format(&mut self, pointer: &Expr) -> Option<String> {
        let Some(bytes) = self.literal(pointer) else {
            self.error(pointer.span, "'printf': the format must be a string literal");
            return None;
        };
        match String::from_utf8(bytes) {
            Ok(text) => Some(text),
            Err(_) => {
                self.error(pointer.span, "'printf': the format is not text in UTF-8, which is not supported");
                None
            }
        }
    }

    /// The words of one argument.
    fn printed(&mut self, arg: Expr, conversion: &mut Conversion, length: Length) -> Option<Expr> {
        let lanes = conversion.lanes;
        match conversion.value {
            PrintValue::Pointer if arg.ty.pointee().is_some() => return Some(arg.convert(Type::ULONG)),
            PrintValue::Pointer => return self.mismatch(&arg, conversion, "a pointer"),
            _ => {}
        }
        let is_float = conversion.value == PrintValue::Float;
        let (scalar, count) = match arg.ty.arithmetic() {
            Some((s, n)) if s.is_float() == is_float && n == lanes => (s, n),
            _ => {
                let wanted = match (lanes, is_float) {
                    (1, true) => "a floating-point number".to_owned(),
                    (1, false) => "an integer".to_owned(),
                    (_, true) => format!("a vector of {lanes} floating-point numbers"),
                    (_, false) => format!("a vector of {lanes} integers"),
                };
                return self.mismatch(&arg, conversion, &wanted);
            }
        };
        if count > 1 {
            let bytes = match length {
                Length::None => scalar.size(),
                Length::Char => 1,
                Length::Short => 2,
                Length::Int => 4,
                Length::Long => 8,
            };
            if bytes != scalar.size() {
                return self.mismatch(&arg, conversion, &format!("a vector of {}-bit components", 8 * bytes));
            }
            if !is_float {
                conversion.value = match bytes {
                    1 => PrintValue::Int8,
                    2 => PrintValue::Int16,
                    4 => PrintValue::Int32,
                    _ => PrintValue::Int64,
                };
            }
        } else if !is_float && (conversion.value == PrintValue::Int64) != (scalar.size() == 8) {
            let (shown, ty) = (shown(conversion), self.show(&arg.ty));
            self.warning(arg.span, format!("'printf': '{shown}' and '{ty}' differ in size; the argument is converted"));
        }
        if scalar == Scalar::Double {
            conversion.value = PrintValue::Double;
            let (span, ty) = (arg.span, Type::lanes(Scalar::ULong, lanes));
            let builtin = Resolved::Special(Special::AsType { scalar: Scalar::ULong, lanes });
            return Some(Expr::new(ExprKind::Builtin { builtin, args: vec![arg] }, ty, span));
        }
        if is_float {
            let arg = convert(arg, &Type::lanes(Scalar::Float, lanes));
            let (span, ty) = (arg.span, Type::lanes(Scalar::UInt, lanes));
            let builtin = Resolved::Special(Special::AsType { scalar: Scalar::UInt, lanes });
            return Some(Expr::new(ExprKind::Builtin { builtin, args: vec![arg] }, ty, span));
        }
        let word = if conversion.value == PrintValue::Int64 { Scalar::ULong } else { Scalar::UInt };
        Some(convert(arg, &Type::lanes(word, lanes)))
    }

    /// Characters up to a zero, or as many as the precision says, which then need none (C99 §7.19.6.1).
    fn printed_string(&mut self, arg: Expr, conversion: &Conversion) -> Option<[Expr; 2]> {
        match arg.ty.pointee().map(|p| &p.ty) {
            Some(Type::Scalar(Scalar::Char | Scalar::UChar)) => {
                let limit = conversion.precision.unwrap_or(u32::MAX);
                let limit = Expr::int(limit.into(), Type::UINT, arg.span);
                Some([arg, limit])
            }
            _ => self.mismatch(&arg, conversion, "a pointer to characters"),
        }
    }

    fn mismatch<T>(&mut self, arg: &Expr, conversion: &Conversion, wanted: &str) -> Option<T> {
        let (shown, ty) = (shown(conversion), self.show(&arg.ty));
        self.error(arg.span, format!("'printf': '{shown}' prints {wanted}, not a '{ty}'"));
        None
    }
}

/// A conversion for messages, without flags.
fn shown(conversion: &Conversion) -> String {
    let vector = if conversion.lanes > 1 { format!("v{}", conversion.lanes) } else { String::new() };
    let length = match (conversion.value, conversion.specifier) {
        (PrintValue::Int8, 'c') => "",
        (PrintValue::Int8, _) => "hh",
        (PrintValue::Int16, _) => "h",
        (PrintValue::Int64, _) => "l",
        _ => "",
    };
    format!("%{vector}{length}{}", conversion.specifier)
}
