//! `[[stage_in]]` of kernels in both engines: every format as every type that it can be read as, and which element a thread
//! gets. What the numbers must be is computed here from the formats' names, which Apple's header has.

use crate::stdlib::{HALF, Random, pipeline_with};
use crate::support::{Buffer, Pipeline, Queue, ok};
use hostmetal::ffi::{
    hm_compute_set_attribute_stride, hm_compute_set_stage_in_region, hm_compute_set_stage_in_region_indirect,
};
use hostmetal::msl::{Built, Checked, CompileOptions, Engine, StageAttribute, StageInput, StageLayout, With, check};

/// Compared with Apple's SDK by scripts/apple/check.sh.
const HEADER: &str = include_str!("../../../../native/hostmetal/include/Metal/MTLStageInputOutputDescriptor.h");

/// Name and number of each MTLAttributeFormat but Invalid.
fn formats() -> Vec<(&'static str, u32)> {
    let lines = HEADER.lines().filter_map(|line| line.trim().strip_prefix("MTLAttributeFormat")?.strip_suffix(','));
    let named = lines.filter_map(|line| line.split_once(" = "));
    let all = named.map(|(name, number)| (name, number.parse().expect("a number")));
    all.filter(|(name, _)| *name != "Invalid").collect()
}

/// What a format's bytes stand for, missing components included; integers too, which f64 holds.
fn decode(name: &str, bytes: &[u8]) -> [f64; 4] {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let small = |bits: u32, fraction: u32| {
        // Five bits of exponent, no sign.
        HALF.value((bits << (10 - fraction)) as u16)
    };
    match name {
        "UChar4Normalized_BGRA" => [2, 1, 0, 3].map(|i: usize| f64::from(bytes[i]) / 255.0),
        "UInt1010102Normalized" => [(0, 10), (10, 10), (20, 10), (30, 2)].map(|(at, width)| {
            let most = (1u32 << width) - 1;
            f64::from(word(0) >> at & most) / f64::from(most)
        }),
        "Int1010102Normalized" => [(0, 10), (10, 10), (20, 10), (30, 2)].map(|(at, width)| {
            let value = (word(0) << (32 - at - width)) as i32 >> (32 - width);
            (f64::from(value) / f64::from((1 << (width - 1)) - 1)).max(-1.0)
        }),
        "FloatRG11B10" => [small(word(0) & 2047, 6), small(word(0) >> 11 & 2047, 6), small(word(0) >> 22, 5), 1.0],
        "FloatRGB9E5" => {
            let scale = 2f64.powi((word(0) >> 27) as i32 - 15 - 9);
            [
                f64::from(word(0) & 511) * scale,
                f64::from(word(0) >> 9 & 511) * scale,
                f64::from(word(0) >> 18 & 511) * scale,
                1.0,
            ]
        }
        _ => {
            let normalized = name.ends_with("Normalized");
            let base = name.trim_end_matches("Normalized");
            let kind = base.trim_end_matches(|c: char| c.is_ascii_digit());
            let count: usize = base[kind.len()..].parse().unwrap_or(1);
            let size = match kind.trim_start_matches('U') {
                "Char" => 1,
                "Short" | "Half" => 2,
                _ => 4,
            };
            let mut all = [0.0, 0.0, 0.0, 1.0];
            for (i, value) in all.iter_mut().enumerate().take(count) {
                let own = &bytes[i * size..][..size];
                let unsigned = own.iter().rev().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
                let most = (1u64 << (8 * size)) - 1;
                let signed = if unsigned > most / 2 { unsigned as i64 - most as i64 - 1 } else { unsigned as i64 };
                *value = match kind {
                    "Half" => HALF.value(unsigned as u16),
                    "Float" => f64::from(f32::from_bits(unsigned as u32)),
                    _ if kind.starts_with('U') && normalized => unsigned as f64 / most as f64,
                    _ if kind.starts_with('U') => unsigned as f64,
                    _ if normalized => (signed as f64 / (most / 2) as f64).max(-1.0),
                    _ => signed as f64,
                };
            }
            all
        }
    }
}

/// The types that a format is read as here, with how many components they have.
fn types(name: &str) -> Vec<&'static str> {
    let mut types = vec!["float4", "half2", "packed_float3"];
    if name.ends_with("Normalized") || name.contains("Normalized_") || name.contains("Float") || name.contains("Half") {
        return types;
    }
    let sizes: &[&str] = match (name.starts_with('U'), name.trim_start_matches('U')) {
        (true, rest) if rest.starts_with("Char") => &["uchar4", "ushort2", "uint3"],
        (true, rest) if rest.starts_with("Short") => &["ushort4", "uint"],
        (true, _) => &["uint4"],
        (false, rest) if rest.starts_with("Char") => &["char4", "short2", "int3"],
        (false, rest) if rest.starts_with("Short") => &["short4", "int"],
        (false, _) => &["int4"],
    };
    types.extend(sizes);
    types
}

const PRELUDE: &str = "#include <metal_stdlib>\nusing namespace metal;\n";

/// A kernel `run` without and with a barrier before its `body`, which has `in` and `at`.
fn sources(structure: &str, body: &str) -> [String; 2] {
    ["", "threadgroup_barrier(mem_flags::mem_none);"].map(|barrier| {
        format!(
            "{PRELUDE}struct In {{ {structure} }};\nkernel void run(In in [[stage_in]], device float4 *out [[buffer(30)]], uint3 at [[thread_position_in_grid]], uint3 grid [[threads_per_grid]]) {{\n  uint i = (at.z * grid.y + at.y) * grid.x + at.x; (void)i;\n  {barrier}\n{body} }}\n"
        )
    })
}

fn built(checked: &Checked, input: &StageInput, engine: Engine) -> Pipeline {
    let with = With { engine: Some(engine), stage_input: Some(input), ..With::default() };
    let loaded = checked.build_with("run", &[], &with).unwrap_or_else(|failure| panic!("{failure}"));
    if engine == Engine::Stack {
        assert_ne!(*loaded.built(), Built::Pass);
    }
    let buffers = input.buffers(loaded.attributes()).expect("a description that fits");
    pipeline_with(loaded, &buffers)
}

/// Every engine for both of the sources.
fn pipelines(sources: &[String; 2], input: &StageInput) -> Vec<(String, Pipeline)> {
    let mut all = Vec::new();
    for source in sources {
        let checked = check(source, &CompileOptions::default()).unwrap_or_else(|failure| panic!("{failure}"));
        for engine in [Engine::Pass, Engine::Stack] {
            all.push((format!("{engine:?}, {source}"), built(&checked, input, engine)));
        }
    }
    all
}

#[test]
fn every_format_is_read_as_every_type() {
    const THREADS: usize = 50;
    const STRIDE: usize = 61;
    let formats = formats();
    assert_eq!(formats.len(), 53);
    let all: Vec<(&str, u32, &str)> =
        formats.iter().flat_map(|(name, number)| types(name).into_iter().map(move |t| (*name, *number, t))).collect();
    let mut random = Random(3);
    // The first elements are the ends of all ranges.
    let data: Vec<u8> = (0..THREADS * STRIDE + 64)
        .map(|i| match i / STRIDE {
            0 => 0,
            1 => 255,
            2 => [0, 128][i % 2],
            _ => random.bits() as u8,
        })
        .collect();
    for chunk in all.chunks(31) {
        let mut input = StageInput::default();
        let (mut structure, mut body) = (String::new(), String::new());
        for (m, (_, number, kind)) in chunk.iter().enumerate() {
            input.attributes[m] = StageAttribute { format: *number, buffer: 2, offset: (m * 3 % 45) as u64 };
            structure.push_str(&format!("{kind} m{m} [[attribute({m})]]; "));
            let count = kind.chars().last().and_then(|c| c.to_digit(10)).unwrap_or(1);
            let base = kind.trim_start_matches("packed_").trim_end_matches(|c: char| c.is_ascii_digit());
            let base = match base {
                "float" | "half" => "float",
                _ if base.starts_with('u') => "uint",
                _ => "int",
            };
            let parts: Vec<String> = (0..4)
                .map(|c| match (c < count, count) {
                    (false, _) => "0".to_owned(),
                    (_, 1) => format!("{base}(in.m{m})"),
                    _ => format!("{base}(in.m{m}[{c}])"),
                })
                .collect();
            body.push_str(&format!("  out[i * 31 + {m}] = as_type<float4>({base}4({}));\n", parts.join(", ")));
        }
        input.layouts[2] = StageLayout { stride: STRIDE as u64, step: 5, rate: 1 };
        let given = Buffer::of(&data);
        for (name, pipeline) in pipelines(&sources(&structure, &body), &input) {
            let out = Buffer::new((THREADS * 31 * 16) as u64);
            Queue::new()
                .run(|encoder| {
                    encoder.pipeline(&pipeline);
                    encoder.buffer(&given, 2);
                    encoder.buffer(&out, 30);
                    encoder.threads([THREADS as u64, 1, 1], [32, 1, 1]);
                })
                .assert_completed();
            let found: Vec<u32> = out.read();
            for (thread, (m, (format, _, kind))) in
                (0..THREADS).flat_map(|thread| chunk.iter().enumerate().map(move |one| (thread, one)))
            {
                let values = decode(format, &data[thread * STRIDE + m * 3 % 45..]);
                let count = kind.chars().last().and_then(|c| c.to_digit(10)).unwrap_or(1) as usize;
                for (c, value) in values.into_iter().enumerate().take(count) {
                    let bits = found[(thread * 31 + m) * 4 + c];
                    let fits = match *kind {
                        "half2" => {
                            let got = f64::from(f32::from_bits(bits));
                            // What a normalised number is first, a float, makes at most a second rounding.
                            let expected = HALF.value(HALF.bits(f64::from(value as f32)));
                            got == expected || got.is_nan() && expected.is_nan()
                        }
                        "float4" | "packed_float3" => {
                            let got = f32::from_bits(bits);
                            got == value as f32 || got.is_nan() && value.is_nan()
                        }
                        _ if kind.starts_with('u') => f64::from(bits) == value,
                        _ => f64::from(bits as i32) == value,
                    };
                    assert!(
                        fits,
                        "{format} as {kind}, thread {thread}, component {c}: {bits:#x} ({}) for {value}\n{name}",
                        f32::from_bits(bits)
                    );
                }
            }
        }
    }
}

/// Grid, threadgroup, region's origin and size.
type Grid = ([u64; 3], [u64; 3], Option<([u64; 3], [u64; 3])>);

#[test]
fn each_thread_gets_its_element() {
    // MTLStepFunction and stepRate; the element for a position.
    const STEPS: [(u32, u64); 8] = [(5, 1), (5, 3), (6, 1), (6, 2), (7, 1), (8, 1), (7, 2), (0, 0)];
    const GRIDS: [Grid; 5] = [
        ([70, 1, 1], [32, 1, 1], None),
        ([9, 7, 2], [4, 4, 1], None),
        ([9, 7, 2], [4, 4, 1], Some(([5, 11, 3], [9, 7, 1]))),
        ([40, 6, 1], [8, 2, 1], Some(([0, 0, 0], [33, 4, 1]))),
        ([16, 3, 1], [16, 1, 1], Some(([100, 2, 0], [0, 3, 0]))),
    ];
    let mut random = Random(5);
    let narrow: Vec<u16> = (0..256).map(|_| (random.bits() % 200) as u16).collect();
    let wide: Vec<u32> = (0..256).map(|_| (random.bits() % 200) as u32).collect();
    // Numbers, so that an element tells its place.
    let data: Vec<u32> = (0..4096).map(|i| i * 7 + 1).collect();
    for (wide_indices, dynamic) in [(false, false), (true, false), (true, true)] {
        let mut input = StageInput { wide_indices, index_buffer: 20, ..StageInput::default() };
        let (mut structure, mut body) = (String::new(), String::new());
        for (m, (step, rate)) in STEPS.into_iter().enumerate() {
            input.attributes[m] = StageAttribute { format: 36, buffer: m as u32, offset: 4 * m as u64 };
            let stride = if step == 0 { 0 } else { 12 };
            input.layouts[m] = StageLayout { stride: if dynamic { u64::MAX } else { stride }, step, rate };
            structure.push_str(&format!("uint m{m} [[attribute({m})]]; "));
            body.push_str(&format!("  out[i * 8 + {m}] = as_type<float4>(uint4(in.m{m}));\n"));
        }
        let given = Buffer::of(&data);
        let indices = if wide_indices { Buffer::of(&wide) } else { Buffer::of(&narrow) };
        for (name, pipeline) in pipelines(&sources(&structure, &body), &input) {
            for (number, (grid, group, region)) in GRIDS.into_iter().enumerate() {
                // Another for each dispatch of the pipeline.
                let stride = if dynamic { 4 * (number as u64 + 1) } else { 12 };
                let threads = grid.iter().product::<u64>();
                let out = Buffer::new(threads * 8 * 16);
                let words: Vec<u32> =
                    region.iter().flat_map(|(origin, size)| origin.iter().chain(size)).map(|n| *n as u32).collect();
                let told = Buffer::of(if words.is_empty() { &[0] } else { words.as_slice() });
                Queue::new()
                    .run(|encoder| {
                        encoder.pipeline(&pipeline);
                        for m in 0..8 {
                            encoder.buffer(&given, m);
                            if dynamic {
                                // SAFETY: the handle is valid.
                                ok(unsafe { hm_compute_set_attribute_stride(encoder.0, stride, m) });
                            }
                        }
                        encoder.buffer(&indices, 20);
                        encoder.buffer(&out, 30);
                        if let Some((origin, size)) = region {
                            // Either way to tell it.
                            if wide_indices {
                                // SAFETY: the handles are valid.
                                ok(unsafe { hm_compute_set_stage_in_region_indirect(encoder.0, told.0, 0) });
                            } else {
                                // SAFETY: the handle is valid, and so are the arrays.
                                ok(unsafe { hm_compute_set_stage_in_region(encoder.0, &origin, &size) });
                            }
                        }
                        encoder.threads(grid, group);
                    })
                    .assert_completed();
                let found: Vec<u32> = out.read();
                let (origin, size) = region.unwrap_or(([0; 3], grid));
                for thread in 0..threads {
                    let at = [thread % grid[0], thread / grid[0] % grid[1]];
                    for (m, (step, rate)) in STEPS.into_iter().enumerate() {
                        let axis = usize::from(matches!(step, 6 | 8));
                        let place = at[axis] / rate.max(1);
                        let element = match step {
                            0 => 0,
                            5 | 6 => origin[axis] + place,
                            _ if wide_indices => origin[axis] + u64::from(wide[place as usize]),
                            _ => origin[axis] + u64::from(narrow[place as usize]),
                        };
                        let inside = step == 0 || at[axis] < size[axis];
                        let expected = if inside { data[(element * stride / 4) as usize + m] } else { 0 };
                        let got = found[(thread as usize * 8 + m) * 4];
                        assert_eq!(
                            got, expected,
                            "step {step}, rate {rate}, thread {at:?} of {grid:?}, region {region:?}, stride {stride}\n{name}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn attributes_are_told_by_the_compiler() {
    let source = format!(
        "{PRELUDE}constant bool on [[function_constant(0)]];\nconstant bool off [[function_constant(1)]];\ntypedef half3 Normal;\nenum {{ at = 7 }};\nnamespace n {{ struct In {{ float4 position [[attribute(2)]]; Normal normal [[attribute(at)]]; uchar one [[attribute(0), function_constant(on)]]; ushort2 other [[attribute(0), function_constant(off)]]; }}; \
         template <class T> kernel void f(device T *out [[buffer(0)]], n::In in [[stage_in]]) {{ out[0] = T(in.position.x + float(in.normal.y)); }} }}\n\
         template [[host_name(\"run\")]] kernel decltype(n::f<float>) n::f<float>;\n"
    );
    let checked = check(&source, &CompileOptions::default()).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(checked.kernels()[0].stage_input);
    let value = |index, byte| hostmetal::msl::ConstantValue {
        key: hostmetal::msl::ConstantKey::Index(index),
        data_type: hostmetal::msl::DataType(53),
        bytes: vec![byte],
    };
    let loaded = checked.build("run", &[value(0, 0), value(1, 1)]).unwrap_or_else(|failure| panic!("{failure}"));
    let told: Vec<String> = loaded
        .attributes()
        .iter()
        .map(|one| format!("{} {} {} {}", one.name, one.index, one.data_type.0, one.active))
        .collect();
    assert_eq!(told, ["position 2 6 true", "normal 7 18 true", "one 0 49 false", "other 0 42 true"]);
}
