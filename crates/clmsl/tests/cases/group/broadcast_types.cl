// options: -cl-std=CL3.0
// Every lane has numbers of its own, so that one from another lane shows.
__kernel void vectors(__global int8* a, __global char16* b, __global long3* c, __global ulong4* d, __global half2* e, __global long8* f) {
    size_t i = get_global_id(0);
    int n = i;
    a[i] = sub_group_broadcast((int8)(n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7), 3);
    b[i] = sub_group_broadcast((char16)(n), 2);
    c[i] = sub_group_broadcast((long3)(n, (long)n << 40, -n), 1);
    d[i] = sub_group_broadcast((ulong4)(n, 10 + n, 20 + n, 30 + n), 4);
    e[i] = sub_group_broadcast((half2)(n, n * 0.5h), 3);
    f[i] = sub_group_broadcast((long8)(n, -n, 2, 3, 4, 5, 6, n * 7), 2);
}

__kernel void some(__global short* a, __global uchar4* b, __global long2* c) {
    int n = get_global_id(0);
    if (n != 1) {
        a[n] = sub_group_non_uniform_broadcast((short)(n * 100), 3) + sub_group_shuffle_xor((short)n, 0);
        b[n] = sub_group_non_uniform_broadcast((uchar4)(n, 1, 2, n), 2);
        c[n] = sub_group_non_uniform_broadcast((long2)(n, (long)n << 50), 4);
    }
}
// run: vectors grid=6 group=6 a=[0;48] b=[0;96] c=[0;24] d=[0;24] e=[0;12] f=[0;48] -> a=[3,4,5,6,7,8,9,10,3,4,5,6,7,8,9,10,3,4,5,6,7,8,9,10,3,4,5,6,7,8,9,10,3,4,5,6,7,8,9,10,3,4,5,6,7,8,9,10] b=[2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2] c=[1,1099511627776,-1,0,1,1099511627776,-1,0,1,1099511627776,-1,0,1,1099511627776,-1,0,1,1099511627776,-1,0,1,1099511627776,-1,0] d=[4,14,24,34,4,14,24,34,4,14,24,34,4,14,24,34,4,14,24,34,4,14,24,34] e=[3.0,1.5,3.0,1.5,3.0,1.5,3.0,1.5,3.0,1.5,3.0,1.5] f=[2,-2,2,3,4,5,6,14,2,-2,2,3,4,5,6,14,2,-2,2,3,4,5,6,14,2,-2,2,3,4,5,6,14,2,-2,2,3,4,5,6,14,2,-2,2,3,4,5,6,14]
// run: some grid=6 group=6 a=[0;6] b=[0;24] c=[0;12] -> a=[300,0,302,303,304,305] b=[2,1,2,2,0,0,0,0,2,1,2,2,2,1,2,2,2,1,2,2,2,1,2,2] c=[4,4503599627370496,0,0,4,4503599627370496,4,4503599627370496,4,4503599627370496,4,4503599627370496]
