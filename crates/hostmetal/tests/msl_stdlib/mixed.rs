//! Expressions that mix what the other modules have one by one: vectors with numbers and packed vectors, in every address space, bfloat with other
//! types, functions within functions. Expected values are worked out by hand in the tables, next to the expressions.

use crate::stdlib::*;
use crate::support::Buffer;
use hostmetal::msl::MathMode;

/// An expression (vector or scalar) and its components. Statements before it end with `;`.
type Row = (&'static str, &'static [f64]);

/// Runs each row with `d` (device float4, zero), `p` (packed_float3: 1 2 3, 4 5 6), `c` (constant float4: 11 12 13 14).
fn check_rows(rows: &[Row]) {
    let mut body = String::new();
    for (number, (row, _)) in rows.iter().enumerate() {
        let (statements, expression) = row.rsplit_once("; ").unwrap_or(("", row));
        body += &format!("  {{ {statements}; put(out + {number} * 4, {expression}); }}\n");
    }
    let source = format!(
        "template <class T> void put(device float *o, T s) {{ o[0] = float(s); }}\n\
         template <class T, int N> void put(device float *o, vec<T, N> v) {{ for (int i = 0; i < N; i++) o[i] = float(v[i]); }}\n\
         template <class T, int N> void put(device float *o, packed_vec<T, N> v) {{ put(o, vec<T, N>(v)); }}\n\
         kernel void run(device float *out [[buffer(0)]], device float4 *d [[buffer(1)]], device packed_float3 *p [[buffer(2)]],\n\
                         constant float4 &c [[buffer(3)]]) {{\n  float4 v(1, 2, 3, 4); float2 a(5, 6); float3 b(7, 8, 9);\n{body}}}\n"
    );
    for mode in ALL_MODES {
        let out = Buffer::of(&vec![f32::NAN; rows.len() * 4]);
        let (d, p, c) = (
            Buffer::of(&[0f32; 64]),
            Buffer::of(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]),
            Buffer::of(&[11f32, 12.0, 13.0, 14.0]),
        );
        run(&compile(&source, mode), &[&out, &d, &p, &c], 1, 1);
        for ((row, expected), got) in rows.iter().zip(out.read::<[f32; 4]>()) {
            let size = got.iter().position(|x| x.is_nan()).unwrap_or(4);
            assert_eq!(size, expected.len(), "components of {row}");
            for (g, e) in got.iter().zip(*expected) {
                let near = (f64::from(*g) - e).abs() <= 2.5e-7 * e.abs().max(1.0);
                assert!(f64::from(*g) == *e || near, "{row} in {mode:?}: {:?}, not {expected:?}", &got[..size]);
            }
        }
    }
}

#[test]
fn vectors() {
    check_rows(&[
        ("float4(a, 1, 2)", &[5., 6., 1., 2.]),
        ("float4(1, a, 2)", &[1., 5., 6., 2.]),
        ("float4(1, 2, a)", &[1., 2., 5., 6.]),
        ("float4(a, a.yx)", &[5., 6., 6., 5.]),
        ("float4(b, 1)", &[7., 8., 9., 1.]),
        ("float4(1, b)", &[1., 7., 8., 9.]),
        ("float3(a, 1)", &[5., 6., 1.]),
        ("float3(1, a)", &[1., 5., 6.]),
        ("float4(p[0], 9)", &[1., 2., 3., 9.]),
        ("float4(2.5f)", &[2.5, 2.5, 2.5, 2.5]),
        ("float4 z = 3; z", &[3., 3., 3., 3.]),
        // In braces what is missing is zero, as for any aggregate (C++17 11.6.1), one value included.
        ("uint i = 7; uint4 z = {i, i + 1, i ^ 2}; z", &[7., 8., 5., 0.]),
        ("float4 z = {c.x}; z", &[11., 0., 0., 0.]),
        ("float2 z{c.y}; z", &[12., 0.]),
        ("float4{a, 1, 2}", &[5., 6., 1., 2.]),
        ("constexpr int3 z = {13, 19}; constexpr bool2 y = {true}; int4(z, y.x + 2 * y.y)", &[13., 19., 0., 1.]),
        ("packed_float3 z = {1, 2}; z", &[1., 2., 0.]),
        ("bfloat3 z = {2.0bf, 3.0bf}; z", &[2., 3., 0.]),
        ("struct S { float2 v; int n; }; S s = {{1}, 2}, t = {1, 2}; float4(s.v, t.v)", &[1., 0., 1., 1.]),
        ("volatile device float4 *z = d; z[0] = v; z[1] = 2; float4 w = z[0]; w + float4(z[1])", &[3., 4., 5., 6.]),
        ("float4 z = {1, 2, 3, 4}; z", &[1., 2., 3., 4.]),
        ("float4 z = {}; z", &[0., 0., 0., 0.]),
        ("float4(int4(1, -2, 3, 4))", &[1., -2., 3., 4.]),
        ("int4(float4(1.9f, -1.9f, 3, 4))", &[1., -1., 3., 4.]),
        ("uchar4(uint4(255, 256, 257, 511))", &[255., 0., 1., 255.]),
        ("half4(float4(1, 2049, 65519, 0.1f))", &[1., 2048., 65504., 0.0999755859375]),
        ("bfloat4(float4(1, 257, 3, 0.1f))", &[1., 256., 3., 0.10009765625]),
        ("half2(bfloat2(1, 2))", &[1., 2.]),
        ("int3(bool3(true, false, true))", &[1., 0., 1.]),
        ("uint2(float2(-1, 5e9f))", &[0., 4_294_967_295.]),
        ("v.wzyx", &[4., 3., 2., 1.]),
        ("v.xxyy", &[1., 1., 2., 2.]),
        ("v.bgr", &[3., 2., 1.]),
        ("v.ar", &[4., 1.]),
        ("float4 z = v; z.xz = float2(10, 30); z", &[10., 2., 30., 4.]),
        ("float4 z = v; z.wx = z.xw; z", &[4., 2., 3., 1.]),
        ("float4 z = v; z.rgb = b; z", &[7., 8., 9., 4.]),
        ("float4 z = v; z.a = 42; z", &[1., 2., 3., 42.]),
        ("float4 z = v; z.yz += 1; z", &[1., 3., 4., 4.]),
        ("float4 z = v; z.xy *= z.zw; z", &[3., 8., 3., 4.]),
        ("float4 z = v; z[2] = -1; z", &[1., 2., -1., 4.]),
        ("float4 z = v; z.x++; z", &[2., 2., 3., 4.]),
        ("d[0] = v; d[0].yw = float2(100, 200); d[0]", &[1., 100., 3., 200.]),
        ("d[1] = v; d[1].xyz /= 2; d[1]", &[0.5, 1., 1.5, 4.]),
        ("d[2] = c; d[2].w = c.x; d[2] += v; d[2]", &[12., 14., 16., 15.]),
        ("c.wzyx", &[14., 13., 12., 11.]),
        ("p[1].zyx", &[6., 5., 4.]),
        ("p[0] + p[1]", &[5., 7., 9.]),
        ("2 - p[0]", &[1., 0., -1.]),
        ("packed_float3 z = p[0]; z.xy = p[1].yz; z.z += 1; z *= 2; z", &[10., 12., 8.]),
        ("packed_float3 z = float3(1, 2, 3); -z", &[-1., -2., -3.]),
        ("packed_int3 z(1, 2, 3); packed_int3 y = z++; ++z; z--; z + y", &[3., 5., 7.]),
        (
            "device packed_int3 *z = (device packed_int3 *)(d + 4); z[0] = int3(1, 2, 3); --z[0]; z[0]--; z[0]",
            &[-1., 0., 1.],
        ),
    ]);
}

/// In an expression they stand for their values (C++17 7.1), which vectors, matrices and bfloat, classes here, do not by themselves.
#[test]
fn volatile_objects() {
    check_rows(&[
        (
            "volatile device float4 *z = d + 8; z[0] = v; z[0][1] = 20; z[0].w = z[0][1] + 1; z[0] += v; z[0]",
            &[2., 22., 6., 25.],
        ),
        (
            "volatile device float4 *z = d + 8; z[0] = v; z[0].xy = z[0].wz; z[0].b += 1; z[0].wz *= z[0].xx; z[0].ragb - z[0].wzyx.abgr",
            &[0., 13., -13., 0.],
        ),
        ("const volatile device float4 *z = d + 9; d[9] = v; z[0] + z[0]", &[2., 4., 6., 8.]),
        ("volatile float4 z = v; z *= 2.0f; z[0] += z[3]; z", &[10., 4., 6., 8.]),
        (
            "volatile device int4 *z = (volatile device int4 *)(d + 8); z[0] = int4(1, 2, 3, 4); z[1] = 10; z[0]++; z[1] -= z[0]; z[0] * 2 + z[1] - (-z[0])",
            &[14., 16., 18., 20.],
        ),
        (
            "volatile device int4 *z = (volatile device int4 *)(d + 8); z[0] = int4(1, 2, 3, 4); int4 y = z[0]--; y + --z[0]",
            &[0., 2., 4., 6.],
        ),
        (
            "volatile device int4 *z = (volatile device int4 *)(d + 8); z[0] = v.x; z[0][3] = 4; z[0] < int4(1, 2, 3, 4)",
            &[0., 1., 1., 0.],
        ),
        (
            "volatile device int4 *z = (volatile device int4 *)(d + 8); z[0] = int4(1, -2, 3, 4); float4(z[0])",
            &[1., -2., 3., 4.],
        ),
        (
            "volatile device packed_float3 *z = (volatile device packed_float3 *)(d + 8); z[0] = b; z[1] = p[1]; z[0] *= z[1]; float3 w = z[0]; packed_float3 y = z[1]; w - y + z[0] - 2.0f",
            &[50., 73., 100.],
        ),
        (
            "volatile device float2x2 *z = (volatile device float2x2 *)(d + 8); z[0] = float2x2(1, 2, 3, 4); z[0][1] = a; z[0][0][1] = 7; z[0] *= 2.0f; float2x2 m = z[0]; float4(m[0], z[0][1])",
            &[2., 14., 10., 12.],
        ),
        (
            "volatile device float2x2 *z = (volatile device float2x2 *)(d + 8); z[0] = float2x2(1, 2, 3, 4); (z[0] * z[0] + z[0]) * float2(1, 10)",
            &[188., 272.],
        ),
        (
            "volatile device bfloat *z = (volatile device bfloat *)(d + 8); z[0] = bfloat(1.5f); z[1] = z[0]; z[0] += z[1]; float f = z[0]; float4(f, f + z[1], z[0] * z[1], z[1] < z[0])",
            &[3., 4.5, 4.5, 1.],
        ),
    ]);
}

#[test]
fn operators() {
    check_rows(&[
        ("v + 1", &[2., 3., 4., 5.]),
        ("10 - v", &[9., 8., 7., 6.]),
        ("float4(8) / float4(1, 2, 4, 8)", &[8., 4., 2., 1.]),
        ("-v", &[-1., -2., -3., -4.]),
        ("int4(7, -7, 8, 9) % int4(3, 3, 5, 2)", &[1., -1., 3., 1.]),
        ("int4(7, -7, 8, 9) / 2", &[3., -3., 4., 4.]),
        ("~int4(0, 1, 2, -1)", &[-1., -2., -3., 0.]),
        ("!int4(0, 1, 2, 0)", &[1., 0., 0., 1.]),
        ("v < float4(2)", &[1., 0., 0., 0.]),
        ("v >= 2", &[0., 1., 1., 1.]),
        ("int3(1, 2, 3) == int3(1, 5, 3)", &[1., 0., 1.]),
        ("int3(1, 2, 3) != 2", &[1., 0., 1.]),
        ("bool3(true, false, true) && bool3(true, true, false)", &[1., 0., 0.]),
        ("bool3(true, false, false) || bool3(false, false, true)", &[1., 0., 1.]),
        ("int2(all(bool2(true, false)), any(bool2(true, false)))", &[0., 1.]),
        ("uchar4(200) + uchar4(100)", &[44., 44., 44., 44.]),
        ("int4 z(1, 2, 3, 4); z <<= 2; z |= 1; z", &[5., 9., 13., 17.]),
        ("int4 z(1, 2, 3, 4); --z; z--; z", &[-1., 0., 1., 2.]),
        ("select(v, float4(5, 6, 7, 8), bool4(true, false, true, false))", &[5., 2., 7., 4.]),
        ("select(int2(1, 2), 9, bool2(false, true))", &[1., 9.]),
        ("select(1.0f, 2.0f, true)", &[2.]),
        ("v.x > 5 ? v : c", &[11., 12., 13., 14.]),
        ("int4(sizeof(float3), alignof(float3), sizeof(packed_float3), alignof(packed_float3))", &[16., 16., 12., 4.]),
        ("int4(sizeof(half3), sizeof(uchar3), sizeof(bool3), sizeof(bfloat4))", &[8., 4., 4., 8.]),
        ("int4(sizeof(float3x3), sizeof(half2x3), sizeof(float4x4), sizeof(long3))", &[48., 16., 64., 32.]),
        (
            "as_type<int>(1.0f) == 0x3f800000 && as_type<uint>(half2(1.0h, 2.0h)) == 0x40003c00u && as_type<ulong>(uint2(1, 2)) == 0x200000001ul",
            &[1.],
        ),
        ("as_type<float2>(as_type<uint2>(float2(3, 4)))", &[3., 4.]),
        ("0.1 * 3 == 0.1f * 3.0f", &[1.]),
    ]);
}

#[test]
fn bfloat_arithmetic_and_conversions() {
    check_rows(&[
        ("bfloat z = 1; z + 0.25f", &[1.25]),
        ("bfloat z = 256; z += 1; z", &[256.]),
        ("bfloat z = bfloat(bfloat(1.0f) + 0.00390625f); z", &[1.]),
        ("bfloat(float(0x1.01p0))", &[1.]),
        ("bfloat(float(0x1.03p0))", &[1.015625]),
        ("bfloat(16842753)", &[16_908_288.]),
        ("bfloat z = 3; z / 2", &[1.5]),
        ("bfloat z = 3; 2 * z", &[6.]),
        ("bfloat z = 3; z > 2.5f && z == 3 && 2 < z && -z < 0", &[1.]),
        ("float z = 1; z += bfloat(2); z *= bfloat(3); z", &[9.]),
        ("bfloat z = v.x > 5 ? bfloat(7) : 0; z", &[0.]),
        ("half(bfloat(2.5f))", &[2.5]),
        ("bfloat4(2) * bfloat4(1, 2, 3, 4) + 1", &[3., 5., 7., 9.]),
        ("max(bfloat(2), bfloat(3))", &[3.]),
        ("max(bfloat(2), 3)", &[3.]),
        ("exp2(bfloat2(3, -1))", &[8., 0.5]),
        ("precise::exp2(bfloat2(3, -1)) + fast::max(bfloat2(1, 2), bfloat2(2, 1))", &[10., 2.5]),
    ]);
}

/// `vec<T, N>` chooses a template whatever integer type N has there.
#[test]
fn the_size_of_a_vector_is_deduced_as_any_integer() {
    for size in ["uint", "int", "size_t", "ushort", "unsigned int"] {
        let source = format!(
            "template <class T> int which(T) {{ return 1; }}\n\
             template <{size} N> int which(vec<bool, N>) {{ return 2 + N; }}\n\
             kernel void run(device int *out [[buffer(0)]]) {{ out[0] = which(bool3(true)); out[1] = which(float3(1)); }}\n"
        );
        let out = Buffer::of(&[0i32; 2]);
        run(&compile(&source, MathMode::Safe), &[&out], 1, 1);
        assert_eq!(out.read::<[i32; 2]>(), [[5, 1]], "{size}");
    }
}

#[test]
fn matrices() {
    // The matrix m has the columns 1 2 3 and 4 5 6; its transpose t the columns 1 4, 2 5, 3 6.
    check_rows(&[
        // A column has the address space of its matrix.
        (
            "device float2x4 *m = (device float2x4 *)(d + 4); device float4 *q = &m[0][1]; *q = v; d[5]",
            &[1., 2., 3., 4.],
        ),
        ("constant float2x4 *m = (constant float2x4 *)&c; constant float4 *q = &(*m)[0]; *q", &[11., 12., 13., 14.]),
        (
            "device float2x4 *m = (device float2x4 *)(d + 4); device float4 &q = (*m)[0]; q = v * 2; d[4]",
            &[2., 4., 6., 8.],
        ),
        ("threadgroup float2x2 m; threadgroup float2 *q = &m[1]; *q = a; m[1]", &[5., 6.]),
        (
            "device array<float2, 3> *m = (device array<float2, 3> *)(d + 8); device float2 &q = (*m)[1]; q = a; d[8].zw",
            &[5., 6.],
        ),
        ("float2x2(1, 2, 3, 4)[1]", &[3., 4.]),
        ("matrix<bfloat, 3, 2> m(bfloat(2.5f)); float4(m[0][0], m[0][1], m[1][1], m[2][1])", &[2.5, 0., 2.5, 0.]),
        ("float2x3 m(float3(1, 2, 3), float3(4, 5, 6)); transpose(m)[1]", &[2., 5.]),
        ("float2x3 m(float3(1, 2, 3), float3(4, 5, 6)); m * float2(1, 10)", &[41., 52., 63.]),
        ("float2x3 m(float3(1, 2, 3), float3(4, 5, 6)); float3(1, 10, 100) * m", &[321., 654.]),
        ("float2x3 m(float3(1, 2, 3), float3(4, 5, 6)); (transpose(m) * m)[1]", &[32., 77.]),
        ("float2x3 m(float3(1, 2, 3), float3(4, 5, 6)); (m * transpose(m))[0]", &[17., 22., 27.]),
        (
            "float2x3 m(1, 2, 3, 4, 5, 6); m[1][2] = 60; m[0].xy = float2(7, 8); float4(m[0].xyz, m[1].z)",
            &[7., 8., 3., 60.],
        ),
        ("float2x3 m(1, 2, 3, 4, 5, 6); (m + m * 2.0f - m)[0]", &[2., 4., 6.]),
        ("float2x3 m(1, 2, 3, 4, 5, 6); m *= 2; (-m)[1]", &[-8., -10., -12.]),
        ("float4x4 m(2); m *= m; m[2]", &[0., 0., 4., 0.]),
        ("half3x3 m(float3x3(1.5f)); m[1]", &[0., 1.5, 0.]),
        ("float2x2 m(1, 2, 3, 4); float2(m == m, m != m)", &[1., 0.]),
        ("determinant(half2x2(1, 2, 3, 4))", &[-2.]),
        ("determinant(float3x3(2, 0, 1, 1, 3, 2, 1, 1, 4))", &[18.]),
        // Triangular after adding multiples of columns: 1 * 2 * 3 * 4.
        ("determinant(float4x4(1, 2, 3, 4, 2, 6, 7, 9, 3, 6, 12, 12, 1, 2, 3, 8))", &[24.]),
    ]);
}

#[test]
fn geometry_and_common_functions() {
    check_rows(&[
        ("dot(float3(1, 2, 3), float3(4, -5, 6))", &[12.]),
        ("dot(p[0], p[1])", &[32.]),
        ("length(float2(3, 4))", &[5.]),
        ("length(half2(300, 400))", &[500.]),
        ("length_squared(float3(1, 2, 3))", &[14.]),
        ("distance(float3(1, 2, 3), float3(4, 6, 3))", &[5.]),
        ("distance_squared(float2(1, 2), float2(4, 6))", &[25.]),
        ("cross(float3(1, 2, 3), float3(4, 5, 6))", &[-3., 6., -3.]),
        ("normalize(float2(3, 4))", &[0.6, 0.8]),
        ("reflect(float2(1, -1), float2(0, 1))", &[1., 1.]),
        ("refract(float2(0.6f, -0.8f), float2(0, 1), 0.5f)", &[0.3, -0.953_939_201]),
        ("refract(float2(0.8f, -0.6f), float2(0, 1), 2.0f)", &[0., 0.]),
        ("refract(packed_float2(0.6f, -0.8f), packed_float2(0, 1), 0.5f)", &[0.3, -0.953_939_201]),
        ("refract(float2(0.6f, -0.8f), packed_float2(0, 1), 0.5f)", &[0.3, -0.953_939_201]),
        ("float2 w; float2 f = modf(packed_float2(2.5f, -3.25f), w); float4(f, w)", &[0.5, -0.25, 2., -3.]),
        ("int2 e; float2 f = precise::frexp(packed_float2(8, 0.75f), e); float4(f, float2(e))", &[0.5, 0.75, 4., 0.]),
        ("float2 z; float2 s = fast::sincos(packed_float2(0), z); float4(s, z)", &[0., 0., 1., 1.]),
        ("float4(ldexp(packed_float2(1, 3), packed_int2(3, -1)), ldexp(packed_float2(1, 3), 2))", &[8., 1.5, 4., 12.]),
        ("ilogb(packed_float2(8, 0.5f))", &[3., -1.]),
        ("extract_bits(packed_int3(0x12, -1, 6), 1, 3)", &[1., -1., 3.]),
        ("insert_bits(packed_uint2(0xf0, 0), uint2(5, 6), 0, 4)", &[245., 6.]),
        ("float2(all(packed_bool2(true, false)), any(packed_bool2(true, false)))", &[0., 1.]),
        ("faceforward(float3(0, 1, 0), float3(0, 1, 0), float3(0, 1, 0))", &[0., -1., 0.]),
        ("fast::length(float2(3, 4)) + precise::distance(float2(0), float2(3, 4))", &[10.]),
        ("float4 z; float4 s = precise::sincos(float4(0), z); float2(s.x, z.x)", &[0., 1.]),
        ("precise::normalize(float2(3, 4)) + fast::refract(float2(0.8f, -0.6f), float2(0, 1), 2.0f)", &[0.6, 0.8]),
        ("float2 w; float2 f = precise::modf(float2(2.5f, -3.25f), w); float4(f, w)", &[0.5, -0.25, 2., -3.]),
        ("int2 e; float2 f = fast::frexp(float2(8, 0.75f), e); float4(f, float2(e))", &[0.5, 0.75, 4., 0.]),
        ("precise::ldexp(float2(1, 3), int2(3, -1)) + float2(fast::ilogb(float2(8, 2)))", &[11., 2.5]),
        ("precise::smoothstep(float2(0), float2(2), float2(0.5f))", &[0.15625, 0.15625]),
        (
            "precise::faceforward(float3(0, 1, 0), float3(0, -1, 0), float3(0, 1, 0)) + fast::reflect(float3(1, 0, 0), float3(0, 1, 0))",
            &[1., 1., 0.],
        ),
        ("mix(float2(0, 10), float2(10, 20), 0.5f)", &[5., 15.]),
        ("smoothstep(0.0f, 2.0f, 0.5f)", &[0.15625]),
        ("clamp(float3(-1, 0.5f, 9), 0, 1)", &[0., 0.5, 1.]),
        ("max(float3(-1, 0.5f, 9), 0)", &[0., 0.5, 9.]),
        ("min(0, float3(-1, 0.5f, 9))", &[-1., 0., 0.]),
        ("max(packed_float3(1, 5, 2), p[0])", &[1., 5., 3.]),
        ("step(0.5f, float2(0.25f, 0.75f))", &[0., 1.]),
        ("pow(float2(2, 3), 2)", &[4., 9.]),
        ("sign(half3(-2, 0, 3))", &[-1., 0., 1.]),
        ("median3(float2(1, 5), float2(3, 2), float2(2, 9))", &[2., 5.]),
        ("fma(half2(2), half2(3), half2(1))", &[7., 7.]),
        ("float4 z; float4 s = sincos(float4(0), z); float2(s.x, z.x)", &[0., 1.]),
        ("int2 e; float2 f = frexp(float2(8, 0.75f), e); float4(f, float2(e))", &[0.5, 0.75, 4., 0.]),
        ("int e; float f = frexp(-0x1p-149f, e); float2(f, e)", &[-0.5, -148.]),
        ("float2 w; float2 f = modf(float2(2.5f, -3.25f), w); float4(f, w)", &[0.5, -0.25, 2., -3.]),
        ("ldexp(float2(1, 3), int2(3, -1))", &[8., 1.5]),
        ("ilogb(float4(8, 0.5f, 0x1p-149f, 3))", &[3., -1., -149., 1.]),
        ("nextafter(1.0h, 2.0h)", &[1.0009765625]),
        ("fract(half(-0x1p-24))", &[0.99951171875]),
        ("isnan(float4(0, NAN, INFINITY, 1))", &[0., 1., 0., 0.]),
        ("isinf(float4(0, NAN, -INFINITY, 1))", &[0., 0., 1., 0.]),
        ("isnormal(float4(0, NAN, 0x1p-149f, 1))", &[0., 0., 0., 1.]),
        ("signbit(float3(-0.0f, 0.0f, -INFINITY))", &[1., 0., 1.]),
        ("isunordered(float2(1, NAN), float2(1))", &[0., 1.]),
    ]);
}

#[test]
fn limits_and_constants() {
    check_rows(&[
        (
            "numeric_limits<float>::max() == FLT_MAX && FLT_MAX == MAXFLOAT && as_type<uint>(FLT_MAX) == 0x7f7fffffu",
            &[1.],
        ),
        (
            "numeric_limits<bool>::has_denorm == denorm_absent && numeric_limits<bool>::round_style == round_toward_zero && numeric_limits<bool>::min_exponent10 == 0 && numeric_limits<bool>::max_exponent == 0 && !numeric_limits<bool>::traps && !numeric_limits<bool>::tinyness_before && !numeric_limits<bool>::has_denorm_loss && !numeric_limits<bool>::round_error() && !numeric_limits<bool>::signaling_NaN()",
            &[1.],
        ),
        ("numeric_limits<float>::min() == FLT_MIN && as_type<uint>(FLT_MIN) == 0x00800000u", &[1.]),
        ("numeric_limits<float>::infinity() == INFINITY && isnan(numeric_limits<float>::quiet_NaN())", &[1.]),
        ("float2(numeric_limits<half>::max(), numeric_limits<half>::lowest())", &[65504., -65504.]),
        ("numeric_limits<float2>::max() + float2(numeric_limits<float2>::is_specialized)", &[0., 0.]),
        ("float3(HALF_MAX, HALF_MIN * 16384, HALF_EPSILON * 1024)", &[65504., 1., 1.]),
        (
            "float2(float(numeric_limits<bfloat>::max()) == 0x1.fep127f, numeric_limits<bfloat>::epsilon() * 128)",
            &[1., 1.],
        ),
        ("int2(numeric_limits<int>::max() == INT_MAX, numeric_limits<int>::min() == INT_MIN)", &[1., 1.]),
        (
            "int3(numeric_limits<char>::min(), numeric_limits<short>::max(), numeric_limits<ushort>::max())",
            &[-128., 32767., 65535.],
        ),
        (
            "numeric_limits<ulong>::max() == ~0ul && numeric_limits<long>::min() == LONG_MIN && numeric_limits<const uchar>::max() == 255",
            &[1.],
        ),
        (
            "float4(M_PI_F, M_E_F, M_SQRT2_F, M_LN2_F)",
            &[std::f64::consts::PI, std::f64::consts::E, std::f64::consts::SQRT_2, std::f64::consts::LN_2],
        ),
        ("float2(M_PI_H, M_PI_BF)", &[3.140625, 3.140625]),
        (
            "array<float, 4> z = {1, 2, 3, 4}; z[1] + z.size() + is_same_v<int, int32_t> + is_same_v<uint2, vec<uint, 2>>",
            &[8.],
        ),
    ]);
}
