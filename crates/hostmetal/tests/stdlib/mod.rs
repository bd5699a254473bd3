//! What the tests of our metal_stdlib share: a kernel from source, run over buffers, and small floating-point formats computed
//! here, from f64, without any of the code under test.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub(crate) mod catalog;

use std::ffi::CString;
use std::sync::LazyLock;

use hostmetal::msl::{Access, BindingKind, Built, CompileOptions, Engine, LoadedKernel, MathMode, StageBuffer, check};
use hostmetal::pipeline::{
    BUFFER, Binding, IMAGEBLOCK, Kernel, SAMPLER, TEXTURE, THREADGROUP_MEMORY, VISIBLE_FUNCTION_TABLE,
};

use crate::support::{Buffer, Pipeline, Queue, buffer};

pub(crate) const ALL_MODES: [MathMode; 2] = [MathMode::Safe, MathMode::Fast];

/// The kernel `run` of a source text that starts behind `using namespace metal;`.
pub(crate) fn compile(source: &str, math_mode: MathMode) -> Pipeline {
    pipeline(load(source, math_mode, Engine::from_environment().expect("a known engine")))
}

pub(crate) fn load(source: &str, math_mode: MathMode, engine: Engine) -> LoadedKernel {
    load_with(source, &CompileOptions { math_mode, ..CompileOptions::default() }, engine)
}

pub(crate) fn load_with(source: &str, options: &CompileOptions, engine: Engine) -> LoadedKernel {
    let source = format!("#include <metal_stdlib>\nusing namespace metal;\n{source}");
    let checked = check(&source, options).unwrap_or_else(|failure| panic!("{failure}"));
    checked.build_for("run", &[], engine).unwrap_or_else(|failure| panic!("{failure}"))
}

/// Whether this build of hostmetal has the pass; without llvm-19-dev every kernel takes stacks.
pub(crate) fn has_pass() -> bool {
    let text = "kernel void run(device uint *p [[buffer(0)]]) { threadgroup_barrier(mem_flags::mem_none); p[0] = 1; }";
    match load(text, MathMode::Safe, Engine::Pass).built() {
        Built::Pass => true,
        Built::Stack(why) if why == "hostmetal was built without llvm-19-dev" => false,
        other => panic!("{other}"),
    }
}

/// A kernel whose threads wait for each other, built for the engine that is named: where the pass refused it, stacks would be tested twice.
pub(crate) fn load_on(source: &str, math_mode: MathMode, engine: Engine) -> LoadedKernel {
    static PASS: LazyLock<bool> = LazyLock::new(has_pass);
    let loaded = load(source, math_mode, engine);
    match engine {
        Engine::Pass if *PASS => assert_eq!(*loaded.built(), Built::Pass, "{source}"),
        _ => assert!(matches!(loaded.built(), Built::Stack(_)), "{}: {source}", loaded.built()),
    }
    loaded
}

pub(crate) fn pipeline(loaded: LoadedKernel) -> Pipeline {
    pipeline_with(loaded, &[])
}

/// `buffers`: those that are read for its attributes.
pub(crate) fn pipeline_with(loaded: LoadedKernel, buffers: &[StageBuffer]) -> Pipeline {
    let bindings = loaded
        .bindings()
        .iter()
        .map(|b| Binding {
            name: CString::new(b.name.as_str()).expect("no NUL"),
            kind: match b.kind {
                BindingKind::Buffer => BUFFER,
                BindingKind::ThreadgroupMemory => THREADGROUP_MEMORY,
                BindingKind::Texture => TEXTURE,
                BindingKind::Sampler => SAMPLER,
                BindingKind::Imageblock => IMAGEBLOCK,
                BindingKind::VisibleFunctionTable => VISIBLE_FUNCTION_TABLE,
            },
            index: b.index,
            access: match b.access {
                Access::ReadOnly => 0,
                Access::ReadWrite => 1,
                Access::WriteOnly => 2,
            },
            data_type: b.data_type.0,
            data_size: b.data_size,
            alignment: b.alignment,
            pointer: b.pointer,
            used: b.used,
            argument: true,
            texture_type: b.texture_type,
            count: b.count,
            types: b.types.clone(),
            dynamic_stride: false,
        })
        .chain(buffers.iter().map(|one| Binding { dynamic_stride: one.dynamic_stride, ..buffer(one.index, 1) }))
        .collect();
    Pipeline::new(Kernel {
        name: "run".to_owned(),
        entry: loaded.entry(),
        span: loaded.span(),
        bindings,
        variables: loaded.threadgroup_variables().to_vec(),
        max_total_threads: loaded.max_total_threads(),
        required_threads: loaded.required_threads(),
        formats: loaded.formats().clone(),
        code: Some(Box::new(loaded)),
    })
}

/// The log of a source that must not compile.
pub(crate) fn refusal(source: &str) -> String {
    let source = format!("#include <metal_stdlib>\nusing namespace metal;\n{source}");
    match check(&source, &CompileOptions::default()) {
        Ok(_) => panic!("this was accepted:\n{source}"),
        Err(failure) => failure.log,
    }
}

/// Runs `threads` threads in threadgroups of `size` over the buffers 0, 1, ...
pub(crate) fn run(pipeline: &Pipeline, buffers: &[&Buffer], threads: usize, size: usize) {
    Queue::new()
        .run(|encoder| {
            encoder.pipeline(pipeline);
            for (index, buffer) in buffers.iter().enumerate() {
                encoder.buffer(buffer, index);
            }
            encoder.threads([threads as u64, 1, 1], [size as u64, 1, 1]);
        })
        .assert_completed();
}

/// Pseudo-random numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * ((self.bits() >> 40) as f32 / (1u64 << 24) as f32)
    }
}

/// A small binary format: its explicit significand bits and its exponent bits.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Format {
    pub(crate) fraction: u32,
    pub(crate) exponent: u32,
}

pub(crate) const HALF: Format = Format { fraction: 10, exponent: 5 };
pub(crate) const BFLOAT: Format = Format { fraction: 7, exponent: 8 };

impl Format {
    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// The value of 16 bits.
    pub(crate) fn value(self, bits: u16) -> f64 {
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let exponent = i32::from(bits >> self.fraction) & ((1 << self.exponent) - 1);
        let fraction = f64::from(bits & ((1 << self.fraction) - 1));
        let scale = 2f64.powi(-(self.fraction as i32));
        let magnitude = if exponent == (1 << self.exponent) - 1 {
            if fraction == 0.0 { f64::INFINITY } else { f64::NAN }
        } else if exponent == 0 {
            fraction * scale * 2f64.powi(1 - self.bias())
        } else {
            (1.0 + fraction * scale) * 2f64.powi(exponent - self.bias())
        };
        magnitude.copysign(sign)
    }

    /// The nearest bits, ties to even. For NaN a quiet one.
    pub(crate) fn bits(self, value: f64) -> u16 {
        let sign = u16::from(value.is_sign_negative()) << 15;
        let infinity = ((1u16 << self.exponent) - 1) << self.fraction;
        if value.is_nan() {
            return infinity | 1 << (self.fraction - 1);
        }
        let magnitude = value.abs();
        if magnitude == 0.0 {
            return sign;
        }
        if magnitude.is_infinite() {
            return sign | infinity;
        }
        // Of the binade, or of the subnormal numbers; f64 is normal wherever these formats have values.
        let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(1 - self.bias());
        let quantum = 2f64.powi(exponent - self.fraction as i32);
        let units = (magnitude / quantum).round_ties_even();
        let smallest = f64::from(1u32 << self.fraction);
        let bits = if units < smallest {
            units as u32
        } else {
            // A carry into the next binade is a carry into the exponent's bits.
            (((exponent + self.bias() - 1) as u32) << self.fraction) + units as u32
        };
        sign | bits.min(u32::from(infinity)) as u16
    }
}

/// The distance of an f32 from an exact value, in units of the last place of the f32 nearest to that value; 0 for the same
/// infinity or NaN as expected, infinite where only one is special.
pub(crate) fn ulps(got: f32, exact: f64) -> f64 {
    let nearest = exact as f32;
    if exact.is_nan() || got.is_nan() {
        return if exact.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if nearest.is_infinite() || got.is_infinite() {
        let both_huge = got.abs() >= f32::MAX
            && exact.abs() >= f64::from(f32::MAX)
            && got.is_sign_positive() == exact.is_sign_positive();
        return if got == nearest {
            0.0
        } else if both_huge {
            1.0
        } else {
            f64::INFINITY
        };
    }
    if exact == 0.0 {
        return if got == 0.0 { 0.0 } else { f64::INFINITY };
    }
    let exponent = ((exact.abs().to_bits() >> 52) as i32 - 1023).max(-126);
    (f64::from(got) - exact).abs() / 2f64.powi(exponent - 23)
}
