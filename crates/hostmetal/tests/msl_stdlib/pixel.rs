//! Pixel data types (MSL specification 2.7): the bits that an assignment stores and the numbers that come back, worked out by hand from 8.7.

use crate::stdlib::*;
use crate::support::Buffer;

/// A type, a value given to it, the bytes it must hold as a number, its size, and what it then reads as.
const CASES: &[(&str, &str, u64, usize, &[f64])] = &[
    ("r8unorm<half>", "0.5h", 0x80, 1, &[128. / 255.]),
    ("r8unorm<float>", "NAN", 0, 1, &[0.]),
    ("r8snorm<float>", "-2", 0x81, 1, &[-1.]),
    // 16383.75 and -16383.5, which goes to the even neighbour.
    ("r16unorm<float>", "0.25f", 0x4000, 2, &[16384. / 65535.]),
    ("r16snorm<float>", "-0.5f", 0xc000, 2, &[-16384. / 32767.]),
    ("rg8unorm<half2>", "half2(0, 1)", 0xff00, 2, &[0., 1.]),
    ("rg8snorm<float2>", "float2(0.5f, -1)", 0x8140, 2, &[64. / 127., -1.]),
    ("rg16unorm<float2>", "float2(1, 0.25f)", 0x4000_ffff, 4, &[1., 16384. / 65535.]),
    ("rg16snorm<float2>", "float2(1, -1)", 0x8001_7fff, 4, &[1., -1.]),
    ("rgba8unorm<half4>", "half4(0, 0.5h, 1, 2)", 0xffff_8000, 4, &[0., 128. / 255., 1., 1.]),
    ("rgba8snorm<float4>", "float4(-1, -2, 0.5f, 1)", 0x7f40_8181, 4, &[-1., -1., 64. / 127., 1.]),
    // 0.5 is 187.5 of 255 in sRGB; alpha is linear.
    ("srgba8unorm<float4>", "float4(0.5f, 0, 1, 0.5f)", 0x80ff_00bc, 4, &[0.502_886_5, 0., 1., 128. / 255.]),
    ("rgba16unorm<float4>", "float4(0, 1, 0.25f, 1)", 0xffff_4000_ffff_0000, 8, &[0., 1., 16384. / 65535., 1.]),
    ("rgba16snorm<float4>", "float4(0, 1, -1, -9)", 0x8001_8001_7fff_0000, 8, &[0., 1., -1., -1.]),
    ("rgb10a2<half4>", "half4(1, 0.5h, 0, 1)", 0xc008_03ff, 4, &[1., 512. / 1023., 0., 1.]),
    ("rg11b10f<float3>", "float3(1, 0.5f, 2)", 0x801c_03c0, 4, &[1., 0.5, 2.]),
    ("rg11b10f<half3>", "half3(-1, 65024, 0x1p-19h)", 0x007d_f800, 4, &[0., 65024., 1.907_348_632_812_5e-6]),
    ("rgb9e5<float3>", "float3(1, 0.5f, 0)", 0x8001_0100, 4, &[1., 0.5, 0.]),
    ("rgb9e5<half3>", "half3(-1, 2, 0.25h)", 0x8882_0000, 4, &[0., 2., 0.25]),
];

#[test]
fn pixels_hold_bits_and_read_as_numbers() {
    let mut body = String::new();
    for (i, (ty, value, ..)) in CASES.iter().enumerate() {
        let number = ty.split(['<', '>']).nth(1).expect("a type");
        body += &format!(
            "  {{ device {ty} *p = (device {ty} *)(bits + {i}); *p = {value}; {ty} copy = *p; p[0] = copy; put(out + {i} * 4, {number}(p[0]));\n\
               same[{i}] = every(*p == copy) && !some(*p != copy) && sizeof({ty}) == {}; }}\n",
            CASES[i].3
        );
    }
    let source = format!(
        "bool every(bool x) {{ return x; }} bool some(bool x) {{ return x; }}\n\
         template <int N> bool every(vec<bool, N> x) {{ return all(x); }} template <int N> bool some(vec<bool, N> x) {{ return any(x); }}\n\
         template <class T> void put(device float *o, T s) {{ o[0] = float(s); }}\n\
         template <class T, int N> void put(device float *o, vec<T, N> v) {{ for (int i = 0; i < N; i++) o[i] = float(v[i]); }}\n\
         kernel void run(device ulong *bits [[buffer(0)]], device float *out [[buffer(1)]], device uint *same [[buffer(2)]]) {{\n{body}}}\n"
    );
    for mode in ALL_MODES {
        let (bits, out, same) = (
            Buffer::of(&vec![0u64; CASES.len()]),
            Buffer::of(&vec![f32::NAN; CASES.len() * 4]),
            Buffer::of(&vec![0u32; CASES.len()]),
        );
        run(&compile(&source, mode), &[&bits, &out, &same], 1, 1);
        let (bits, out) = (bits.read::<u64>(), out.read::<[f32; 4]>());
        assert_eq!(same.read::<u32>(), vec![1; CASES.len()]);
        for (i, (ty, value, expected, _, numbers)) in CASES.iter().enumerate() {
            assert_eq!(bits[i], *expected, "{ty} of {value}: {:#x}, not {expected:#x}", bits[i]);
            for (c, number) in numbers.iter().enumerate() {
                let near = if ty.contains("half") { 5e-4 } else { 1e-6 };
                let off = (f64::from(out[i][c]) - number).abs();
                assert!(off <= near * number.abs(), "{ty} of {value}: {:?}, not {numbers:?}", out[i]);
            }
        }
    }
}

#[test]
fn pixels_have_types_of_their_own() {
    let log = refusal("kernel void run(device r16unorm<half> *p) { p[0] = 1.0h; }");
    assert!(log.contains("T is not one of its types"), "{log}");
}
