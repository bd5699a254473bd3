// Expected values are computed from the definitions (OpenCL C 3.0 §6.15.3), outside of any kernel.
#ifndef cl_khr_extended_bit_ops
#error "it is supported"
#endif

__kernel void narrow(__global const char* c, __global const ushort* s, uint offset, uint count, __global char* a, __global uchar* b,
                     __global ushort* d, __global short* e)
{
    int i = get_global_id(0);
    a[i] = bitfield_insert(c[i], c[i + 4], offset, count);
    b[i] = bitfield_extract_unsigned(c[i], offset, count) ^ as_uchar(bit_reverse(c[i]));
    d[i] = bit_reverse(s[i]) + bitfield_insert((ushort)0, s[i], offset, count);
    e[i] = bitfield_extract_signed(s[i], offset, count);
}

__kernel void vectors(__global const int4* x, uint offset, uint count, __global int4* a, __global uint4* b, __global int4* c,
                      __global uint8* d)
{
    a[0] = bitfield_insert(x[0], x[1], offset, count);
    b[0] = bitfield_extract_unsigned(x[0], offset, count);
    c[0] = bitfield_extract_signed(as_uint4(x[1]), offset, count);
    d[0] = bit_reverse((uint8)(as_uint4(x[0]), as_uint4(x[1])));
}

__kernel void wide(__global const long* x, uint offset, uint count, __global long* a, __global ulong* b, __global long* c, __global long* d)
{
    int i = get_global_id(0);
    a[i] = bitfield_insert(x[i], ~x[i], offset, count);
    b[i] = bitfield_extract_unsigned(x[i], offset, count);
    c[i] = bitfield_extract_signed(x[i], offset, count);
    d[i] = bit_reverse(x[i]);
}
// run: narrow grid=4 c=[-128,90,-1,37,-86,127,0,-3] s=[65535,4660,32768,21845] offset=0 count=8 a=[0;4] b=[0;4] d=[0;4] e=[0;4] -> a=[-86,127,0,-3] b=[129,0,0,129] d=[254,11388,1,43775] e=[-1,52,0,85]
// run: narrow grid=4 c=[-128,90,-1,37,-86,127,0,-3] s=[65535,4660,32768,21845] offset=2 count=3 a=[0;4] b=[0;4] d=[0;4] e=[0;4] -> a=[-120,94,-29,53] b=[1,92,248,165] d=[27,11352,1,43710] e=[-1,-3,0,-3]
// run: narrow grid=4 c=[-128,90,-1,37,-86,127,0,-3] s=[65535,4660,32768,21845] offset=7 count=1 a=[0;4] b=[0;4] d=[0;4] e=[0;4] -> a=[0,-38,127,-91] b=[0,90,254,164] d=[127,11336,1,43818] e=[-1,0,0,0]
// run: narrow grid=4 c=[-128,90,-1,37,-86,127,0,-3] s=[65535,4660,32768,21845] offset=5 count=0 a=[0;4] b=[0;4] d=[0;4] e=[0;4] -> a=[-128,90,-1,37] b=[1,90,255,164] d=[65535,11336,1,43690] e=[0,0,0,0]
// run: vectors grid=1 x=[-2147483648,305419896,-1,715827882,19088743,-559038737,0,2147483647] offset=0 count=32 a=[0;4] b=[0;4] c=[0;4] d=[0;8] -> a=[19088743,-559038737,0,2147483647] b=[2147483648,305419896,4294967295,715827882] c=[19088743,-559038737,0,2147483647] d=[1,510274632,4294967295,1431655764,3869426816,4152210811,0,4294967294]
// run: vectors grid=1 x=[-2147483648,305419896,-1,715827882,19088743,-559038737,0,2147483647] offset=4 count=9 a=[0;4] b=[0;4] c=[0;4] d=[0;8] -> a=[-2147477904,305417976,-8177,715833338] b=[0,359,511,170] c=[86,-18,0,-1] d=[1,510274632,4294967295,1431655764,3869426816,4152210811,0,4294967294]
// run: vectors grid=1 x=[-2147483648,305419896,-1,715827882,19088743,-559038737,0,2147483647] offset=31 count=1 a=[0;4] b=[0;4] c=[0;4] d=[0;8] -> a=[-2147483648,-1842063752,2147483647,-1431655766] b=[1,0,1,0] c=[0,-1,0,0] d=[1,510274632,4294967295,1431655764,3869426816,4152210811,0,4294967294]
// run: vectors grid=1 x=[-2147483648,305419896,-1,715827882,19088743,-559038737,0,2147483647] offset=16 count=0 a=[0;4] b=[0;4] c=[0;4] d=[0;8] -> a=[-2147483648,305419896,-1,715827882] b=[0,0,0,0] c=[0,0,0,0] d=[1,510274632,4294967295,1431655764,3869426816,4152210811,0,4294967294]
// run: wide grid=3 x=[-9223372036854775808,81985529216486895,-1] offset=0 count=64 a=[0;3] b=[0;3] c=[0;3] d=[0;3] -> a=[9223372036854775807,-81985529216486896,0] b=[9223372036854775808,81985529216486895,18446744073709551615] c=[-9223372036854775808,81985529216486895,-1] d=[1,-597899502893742976,-1]
// run: wide grid=3 x=[-9223372036854775808,81985529216486895,-1] offset=20 count=33 a=[0;3] b=[0;3] c=[0;3] d=[0;3] -> a=[-9214364837601083392,83146457121279471,-9007199253692417] b=[0,878082202,8589934591] c=[0,878082202,-1] d=[1,-597899502893742976,-1]
// run: wide grid=3 x=[-9223372036854775808,81985529216486895,-1] offset=63 count=1 a=[0;3] b=[0;3] c=[0;3] d=[0;3] -> a=[-9223372036854775808,81985529216486895,9223372036854775807] b=[1,0,1] c=[-1,0,-1] d=[1,-597899502893742976,-1]
// run: wide grid=3 x=[-9223372036854775808,81985529216486895,-1] offset=1 count=63 a=[0;3] b=[0;3] c=[0;3] d=[0;3] -> a=[-2,-163971058432973791,1] b=[4611686018427387904,40992764608243447,9223372036854775807] c=[-4611686018427387904,40992764608243447,-1] d=[1,-597899502893742976,-1]
// run: wide grid=3 x=[-9223372036854775808,81985529216486895,-1] offset=9 count=0 a=[0;3] b=[0;3] c=[0;3] d=[0;3] -> a=[-9223372036854775808,81985529216486895,-1] b=[0,0,0] c=[0,0,0] d=[1,-597899502893742976,-1]
