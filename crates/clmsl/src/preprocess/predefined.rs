//! What is defined before the first line: OpenCL C's macros (3.0 §6.10, §6.13.2.1, §6.13.3.1) and the user's `-D`.
//!
//! They are texts of `#define` lines, so that a diagnostic can show them. Only what is true of the translation is there:
//! `double` as `--fp64` asks, the extensions of `extensions`.

use super::Cx;
use super::expand::{Macro, MacroKind};
use super::extensions;
use super::literal::shorten;
use crate::options::{Fp64, Std};
use crate::source::Span;
use std::fmt::Write as _;

const ALWAYS: &str = "\
#define CL_VERSION_1_0 100
#define CL_VERSION_1_1 110
#define CL_VERSION_1_2 120
#define CL_VERSION_2_0 200
#define CL_VERSION_3_0 300
#define __ENDIAN_LITTLE__ 1
#define __STDC__ 1
#define __STDC_VERSION__ 199901L
#define __kernel_exec(X, typen) __kernel __attribute__((work_group_size_hint(X, 1, 1))) __attribute__((vec_type_hint(typen)))
#define kernel_exec(X, typen) __kernel __attribute__((work_group_size_hint(X, 1, 1))) __attribute__((vec_type_hint(typen)))
#define __IMAGE_SUPPORT__ 1
#define NULL 0
#define CHAR_BIT 8
#define SCHAR_MAX 127
#define SCHAR_MIN (-128)
#define CHAR_MAX SCHAR_MAX
#define CHAR_MIN SCHAR_MIN
#define UCHAR_MAX 255
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-2147483647-1)
#define UINT_MAX 0xffffffffU
#define LONG_MAX 0x7fffffffffffffffL
#define LONG_MIN (-0x7fffffffffffffffL-1)
#define ULONG_MAX 0xffffffffffffffffUL
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MAX_10_EXP +38
#define FLT_MAX_EXP +128
#define FLT_MIN_10_EXP -37
#define FLT_MIN_EXP -125
#define FLT_RADIX 2
#define FLT_MAX 0x1.fffffep127f
#define FLT_MIN 0x1.0p-126f
#define FLT_EPSILON 0x1.0p-23f
#define MAXFLOAT 0x1.fffffep127f
#define HUGE_VALF as_float(0x7f800000)
#define INFINITY as_float(0x7f800000)
#define NAN as_float(0x7fc00000)
#define FP_ILOGB0 INT_MIN
#define FP_ILOGBNAN INT_MAX
#define M_E_F 2.71828182845904523536028747135266250f
#define M_LOG2E_F 1.44269504088896340735992468100189214f
#define M_LOG10E_F 0.434294481903251827651128918916605082f
#define M_LN2_F 0.693147180559945309417232121458176568f
#define M_LN10_F 2.30258509299404568401799145468436421f
#define M_PI_F 3.14159265358979323846264338327950288f
#define M_PI_2_F 1.57079632679489661923132169163975144f
#define M_PI_4_F 0.785398163397448309615660845819875721f
#define M_1_PI_F 0.318309886183790671537767526745028724f
#define M_2_PI_F 0.636619772367581343075535053490057448f
#define M_2_SQRTPI_F 1.12837916709551257389615890312154517f
#define M_SQRT2_F 1.41421356237309504880168872420969808f
#define M_SQRT1_2_F 0.707106781186547524400844362104849039f
#define HALF_DIG 3
#define HALF_MANT_DIG 11
#define HALF_MAX_10_EXP +4
#define HALF_MAX_EXP +16
#define HALF_MIN_10_EXP -4
#define HALF_MIN_EXP -13
#define HALF_RADIX 2
#define HALF_MAX 0x1.ffcp15h
#define HALF_MIN 0x1.0p-14h
#define HALF_EPSILON 0x1.0p-10h
#define M_E_H 2.71828182845904523536028747135266250h
#define M_LOG2E_H 1.44269504088896340735992468100189214h
#define M_LOG10E_H 0.434294481903251827651128918916605082h
#define M_LN2_H 0.693147180559945309417232121458176568h
#define M_LN10_H 2.30258509299404568401799145468436421h
#define M_PI_H 3.14159265358979323846264338327950288h
#define M_PI_2_H 1.57079632679489661923132169163975144h
#define M_PI_4_H 0.785398163397448309615660845819875721h
#define M_1_PI_H 0.318309886183790671537767526745028724h
#define M_2_PI_H 0.636619772367581343075535053490057448h
#define M_2_SQRTPI_H 1.12837916709551257389615890312154517h
#define M_SQRT2_H 1.41421356237309504880168872420969808h
#define M_SQRT1_2_H 0.707106781186547524400844362104849039h
";

/// Of both ways to have `double`.
const DOUBLE: &str = "\
#define M_E 2.71828182845904523536028747135266250
#define M_LOG2E 1.44269504088896340735992468100189214
#define M_LOG10E 0.434294481903251827651128918916605082
#define M_LN2 0.693147180559945309417232121458176568
#define M_LN10 2.30258509299404568401799145468436421
#define M_PI 3.14159265358979323846264338327950288
#define M_PI_2 1.57079632679489661923132169163975144
#define M_PI_4 0.785398163397448309615660845819875721
#define M_1_PI 0.318309886183790671537767526745028724
#define M_2_PI 0.636619772367581343075535053490057448
#define M_2_SQRTPI 1.12837916709551257389615890312154517
#define M_SQRT2 1.41421356237309504880168872420969808
#define M_SQRT1_2 0.707106781186547524400844362104849039
";

const EMULATED: &str = "\
#define DBL_DIG 15
#define DBL_MANT_DIG 53
#define DBL_MAX_10_EXP +308
#define DBL_MAX_EXP +1024
#define DBL_MIN_10_EXP -307
#define DBL_MIN_EXP -1021
#define DBL_RADIX 2
#define DBL_MAX as_double(0x7fefffffffffffffUL)
#define DBL_MIN as_double(0x0010000000000000UL)
#define DBL_EPSILON as_double(0x3cb0000000000000UL)
#define HUGE_VAL as_double(0x7ff0000000000000UL)
";

/// The numbers of `float`, which is what `double` is.
const DEMOTED: &str = "\
#define DBL_DIG 6
#define DBL_MANT_DIG 24
#define DBL_MAX_10_EXP +38
#define DBL_MAX_EXP +128
#define DBL_MIN_10_EXP -37
#define DBL_MIN_EXP -125
#define DBL_RADIX 2
#define DBL_MAX 0x1.fffffep127f
#define DBL_MIN 0x1.0p-126f
#define DBL_EPSILON 0x1.0p-23f
#define HUGE_VAL as_float(0x7f800000)
";

/// Whether it is one of the macros that stand for a number of `double` where that is kept.
pub(crate) fn is_number_of_double(name: &str) -> bool {
    let defines = DOUBLE.lines().chain(EMULATED.lines());
    defines.filter_map(|line| line.split(' ').nth(1)).any(|defined| defined == name)
}

impl Cx<'_> {
    /// Opens the texts with the definitions above the main file, the first one on top.
    pub(super) fn open_definitions(&mut self) {
        let defines = &self.options.defines;
        for (name, value) in defines.iter().rev() {
            let text = format!("#define {name} {value}\n");
            let file = self.sources.add_virtual("<command line>", &text, None);
            let Some(file) = file else {
                self.error(Span::default(), "a macro definition has 4 GiB or more");
                continue;
            };
            let several = name.contains(['\n', '\r']) || value.contains(['\n', '\r']);
            if several || name.trim().is_empty() {
                let span = Span { file, lo: 8, hi: 8 + name.len() as u32 };
                let message = match several {
                    true => format!("the definition of '{}' has more than one line", shorten(name)),
                    false => "macro name missing".to_owned(),
                };
                self.error(span, message);
                continue;
            }
            self.open(file, text.len());
        }
        let mut text = String::from(ALWAYS);
        let version = match self.options.std {
            Std::Cl10 => 100,
            Std::Cl11 => 110,
            Std::Cl12 => 120,
            Std::Cl20 => 200,
            Std::Cl30 => 300,
        };
        let _ = writeln!(text, "#define __OPENCL_VERSION__ {version}");
        let _ = writeln!(text, "#define __OPENCL_C_VERSION__ {version}");
        for name in extensions::defined(self.options) {
            let _ = writeln!(text, "#define {name} 1");
        }
        match self.options.fp64 {
            Fp64::Reject => {}
            Fp64::Float => text.extend([DOUBLE, DEMOTED]),
            Fp64::Emulate => text.extend([DOUBLE, EMULATED]),
        }
        if self.options.fast_relaxed_math {
            text.push_str("#define __FAST_RELAXED_MATH__ 1\n");
        }
        if let Some(file) = self.sources.add_virtual("<built-in>", &text, None) {
            self.builtin_file = file;
            self.open(file, text.len());
            let computed =
                [("__LINE__", MacroKind::Line), ("__FILE__", MacroKind::File), ("__COUNTER__", MacroKind::Counter)];
            for (name, kind) in computed {
                let name = self.names.intern(name);
                let id = self.macros.len();
                self.macros.push(Macro::computed(name, kind, file));
                self.set_macro(name, Some(id));
            }
        }
    }
}
