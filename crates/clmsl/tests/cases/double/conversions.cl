// options: --fp64 emulate
// run: to_integers grid=10 x=[2.5,-2.5,3.5,-0.75,1e+19,-1e+19,nan,inf,255.5,-128.5] i=[0;40] u=[0;10] l=[0;10] c=[0;10] -> i=[2,3,2,2,-2,-2,-3,-2,4,4,3,3,-1,0,-1,0,2147483647,2147483647,2147483647,2147483647,-2147483648,-2147483648,-2147483648,-2147483648,0,0,0,0,2147483647,2147483647,2147483647,2147483647,256,256,255,255,-128,-128,-129,-128] u=[2,0,3,0,10000000000000000000,0,0,18446744073709551615,255,0] l=[2,-2,3,0,9223372036854775807,-9223372036854775808,0,9223372036854775807,255,-128] c=[2,-2,4,-1,127,-128,0,127,127,-128]
// run: to_float grid=8 x=[0.1,-0.1,1e+39,-1e+39,1e-46,1.0000000596046448,1.0000001788139343,16777217.0] f=[0;32] -> f=[0x3dcccccd,0x3dcccccc,0x3dcccccd,0x3dcccccc,0xbdcccccd,0xbdcccccc,0xbdcccccc,0xbdcccccd,0x7f800000,0x7f7fffff,0x7f800000,0x7f7fffff,0xff800000,0xff7fffff,0xff7fffff,0xff800000,0x0,0x0,0x1,0x0,0x3f800000,0x3f800000,0x3f800001,0x3f800000,0x3f800002,0x3f800001,0x3f800002,0x3f800001,0x4b800000,0x4b800000,0x4b800001,0x4b800000]
// run: of_long grid=6 l=[9007199254740993,-9007199254740993,9223372036854775807,-9223372036854775808,9007199254740995,0] x=[0;24] -> x=[9007199254740992.0,9007199254740992.0,9007199254740994.0,9007199254740992.0,-9007199254740992.0,-9007199254740992.0,-9007199254740992.0,-9007199254740994.0,9.223372036854776e+18,9.223372036854775e+18,9.223372036854776e+18,9.223372036854775e+18,-9.223372036854776e+18,-9.223372036854776e+18,-9.223372036854776e+18,-9.223372036854776e+18,9007199254740996.0,9007199254740994.0,9007199254740996.0,9007199254740994.0,0.0,0.0,0.0,0.0]
// run: to_half grid=8 x=[65504.0,65520.0,65519.999999999,5.960464477539063e-08,2.9802322387695312e-08,2.98023223876954e-08,1.00048828125,-0.1] h=[0;8] -> h=[65504.0,inf,65504.0,5.960464477539063e-08,0.0,5.960464477539063e-08,1.0,-0.0999755859375]
// run: of_others grid=1 f=[0x00000001] h=[5.9604645e-08] x=[0;9] -> x=[1.401298464324817e-45,5.960464477539063e-08,-1.0,255.0,-32768.0,4294967295.0,1.0,0.10000000149011612,1.0]
// Conversions between double and the other types: rounded once, in each mode; beyond the range the nearest value.
__kernel void to_integers(__global const double* x, __global int* i, __global ulong* u, __global long* l,
                          __global char* c) {
  size_t at = get_global_id(0);
  i[4 * at] = convert_int_sat_rte(x[at]);
  i[4 * at + 1] = convert_int_sat_rtp(x[at]);
  i[4 * at + 2] = convert_int_sat_rtn(x[at]);
  i[4 * at + 3] = convert_int_sat(x[at]);
  u[at] = convert_ulong_sat_rtz(x[at]);
  l[at] = convert_long_sat(x[at]);
  c[at] = convert_char_sat_rte(x[at]);
}

__kernel void to_float(__global const double* x, __global uint* f) {
  size_t at = get_global_id(0);
  f[4 * at] = as_uint(convert_float(x[at]));
  f[4 * at + 1] = as_uint(convert_float_rtz(x[at]));
  f[4 * at + 2] = as_uint(convert_float_rtp(x[at]));
  f[4 * at + 3] = as_uint(convert_float_rtn(x[at]));
}

__kernel void of_long(__global const long* l, __global double* x) {
  size_t at = get_global_id(0);
  x[4 * at] = l[at];
  x[4 * at + 1] = convert_double_rtz(l[at]);
  x[4 * at + 2] = convert_double_rtp(l[at]);
  x[4 * at + 3] = convert_double_rtn(l[at]);
}

__kernel void to_half(__global const double* x, __global half* h) {
  size_t at = get_global_id(0);
  vstore_half(x[at], at, h);
}

__kernel void of_others(__global const float* f, __global const half* h, __global double* x) {
  x[0] = f[0];
  x[1] = vload_half(0, h);
  x[2] = (char)-1;
  x[3] = (uchar)255;
  x[4] = convert_double((short)-32768);
  x[5] = 0xffffffffu;
  x[6] = (bool)f[0];
  x[7] = 0.1f;
  x[8] = x[5] == x[5];
}
