// run: wide grid=1 a=[4611686018427400249,-1152921505594501297,-12345] u=[9223372036854775813,1099511627779] out=[0,0,0,0,0,0,0] ou=[0,0,0,0,0] -> out=[-288230376398626096,-9223372036854775808,9223372036854775807,-252839505937,4683743612588784975,48,93391778499015] ou=[549755813889,18446744073709551615,0,6917529029616402843,30064771081]
__kernel void wide(__global const long* a, __global const ulong* u, __global long* out, __global ulong* ou)
{
    out[0] = mul_hi(a[0], a[1]);
    out[1] = mad_sat(a[0], a[1], 7L);
    out[2] = add_sat(a[0], a[0]);
    out[3] = rotate(a[1], 8L);
    out[4] = mad_hi(a[1], a[1], a[0]);
    out[5] = clz(a[0]) + popcount(a[1]);
    out[6] = a[1] / a[2] + a[1] % a[2];
    ou[0] = mul_hi(u[0], u[1]);
    ou[1] = mad_sat(u[0], u[1], 1UL);
    ou[2] = sub_sat(u[1], u[0]);
    ou[3] = abs(a[1]) + abs_diff(a[0], a[1]);
    ou[4] = upsample((uint)7, (uint)9);
}
