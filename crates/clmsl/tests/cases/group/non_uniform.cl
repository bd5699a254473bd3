// options: -cl-std=CL3.0
// Sub-groups are of 32 here, of which some lanes take part. Expected values are computed from the definitions (OpenCL C 3.0
// §6.15.19), outside of any kernel.
__kernel void scans(__global const int* x, __global int* a, __global uint* b, __global int* c, __global int* d) {
    size_t i = get_global_id(0);
    if (x[i] % 3 != 0) {
        a[i] = sub_group_non_uniform_scan_inclusive_min(x[i]) + 1000 * sub_group_non_uniform_scan_inclusive_max(x[i]);
        b[i] = sub_group_non_uniform_scan_exclusive_or((uint)x[i]) ^ sub_group_non_uniform_scan_inclusive_xor((uint)x[i])
             ^ (sub_group_non_uniform_scan_exclusive_and((uint)x[i]) << 8);
        c[i] = sub_group_non_uniform_scan_exclusive_min(x[i]) ^ sub_group_non_uniform_scan_exclusive_max(x[i]);
        d[i] = (sub_group_non_uniform_scan_inclusive_logical_and(x[i] < 45) ? 1 : 0)
             + (sub_group_non_uniform_scan_exclusive_logical_or(x[i] > 40) ? 2 : 0)
             + (sub_group_non_uniform_scan_exclusive_logical_xor(x[i] > 0) ? 4 : 0)
             + (sub_group_non_uniform_reduce_logical_xor(x[i] > 0) ? 8 : 0)
             + (sub_group_non_uniform_scan_exclusive_logical_and(x[i] > 20) ? 16 : 0);
    }
}

__kernel void types(__global const int* x, __global long* l, __global ulong* u, __global short* s, __global uchar* c, __global half* h) {
    size_t i = get_global_id(0);
    if (x[i] % 3 != 0) {
        l[i] = sub_group_non_uniform_reduce_add(x[i] * 10000000000L) ^ sub_group_non_uniform_scan_exclusive_min((long)x[i]);
        u[i] = sub_group_non_uniform_reduce_mul((ulong)x[i]) + sub_group_non_uniform_scan_inclusive_max((ulong)x[i] << 20);
        s[i] = sub_group_non_uniform_scan_inclusive_mul((short)x[i]) + sub_group_non_uniform_scan_exclusive_max((short)x[i]);
        c[i] = sub_group_non_uniform_reduce_add((uchar)x[i]) ^ sub_group_non_uniform_scan_exclusive_and((uchar)x[i]);
        h[i] = sub_group_non_uniform_scan_inclusive_add((half)x[i]) + sub_group_non_uniform_reduce_min((half)x[i]);
    }
}

__kernel void equal(__global const int* x, __global int* y) {
    size_t i = get_global_id(0);
    if (x[i] % 3 != 0) {
        int three = x[i] % 3 > 0 ? x[i] % 3 : x[i] % 3 + 3;
        long far = (long)(three / 4) << 40;
        y[i] = (sub_group_non_uniform_all_equal(far) ? 1 : 0) + (sub_group_non_uniform_all_equal((long)three << 40) ? 2 : 0)
             + (sub_group_non_uniform_all_equal((uchar)5) ? 4 : 0) + (sub_group_non_uniform_all_equal(three == 1 ? 0.0f : -0.0f) ? 8 : 0)
             + (sub_group_non_uniform_all_equal(NAN) ? 16 : 0) + 32 * (int)(sub_group_broadcast_first((long)x[i] << 33) >> 33);
    }
}
// run: scans grid=40 group=40 x=[-39,-2,35,-29,8,45,-19,18,-46,-9,28,-36,1,38,-26,11,48,-16,21,-43,-6,31,-33,4,41,-23,14,-50,-13,24,-40,-3,34,-30,7,44,-20,17,-47,-10] a=[0;40] b=[0;40] c=[0;40] d=[0;40] -> a=[0,-2002,34998,34971,34971,0,34971,0,34954,0,34954,0,34954,37954,37954,37954,0,37954,0,37954,0,37954,0,37954,40954,40954,40954,40950,40950,0,40950,0,34034,0,34007,44007,43980,43980,43953,43953] b=[0,254,4294966819,4294958529,4294958537,0,36,0,4294967286,0,4294967274,0,4294967275,4294967245,43,32,0,4294967248,0,5,0,26,0,30,55,4294967262,4294967248,30,4294967277,0,53,0,4294967074,0,8711,558,4294967242,27,4294967258,44] c=[0,-1,0,-35,-64,0,-64,0,-64,0,-15,0,-15,-15,-12,-12,0,-12,0,-12,0,-12,0,-12,-12,-5,-5,-5,-25,0,-25,0,-1,0,0,37,43,-64,-64,-3] d=[0,17,1,5,5,0,1,0,1,0,1,0,5,1,5,5,0,1,0,1,0,1,0,5,1,7,7,3,3,0,3,0,17,0,21,1,7,7,3,3]
// run: types grid=40 group=40 x=[-39,-2,35,-29,8,45,-19,18,-46,-9,28,-36,1,38,-26,11,48,-16,21,-43,-6,31,-33,4,41,-23,14,-50,-13,24,-40,-3,34,-30,7,44,-20,17,-47,-10] l=[0;40] u=[0;40] s=[0;40] c=[0;40] h=[0;40] -> l=[0,-9223371076854775809,959999999998,959999999998,959999999971,0,959999999971,0,959999999971,0,959999999954,0,959999999954,959999999954,959999999954,959999999954,0,959999999954,0,959999999954,0,959999999954,0,959999999954,959999999954,959999999954,959999999954,959999999954,959999999950,0,959999999950,0,9223371786854775807,0,250000000034,250000000007,250000000007,-250000000020,-250000000020,-250000000047] u=[0,8276309651462553600,8276309651462553600,8276309651462553600,8276309651462553600,0,8276309651462553600,0,8276309651462553600,0,8276309651462553600,0,8276309651462553600,8276309651462553600,8276309651462553600,8276309651462553600,0,8276309651462553600,0,8276309651462553600,0,8276309651462553600,0,8276309651462553600,8276309651462553600,8276309651462553600,8276309651462553600,8276309651462553600,8276309651462553600,0,8276309651462553600,0,18446744072071777600,0,18446744072071777600,18446744072082263360,18446744072015154496,18446744072015154496,18446744072015154496,18446744072025640256] s=[0,32766,-72,2065,16275,0,19155,0,-27517,0,15011,0,15011,-20701,14886,32294,0,8230,0,-24538,0,24614,0,-32730,-32730,-32727,41,41,41,0,41,0,-32734,0,272,10506,-12788,-21492,29196,-29332] c=[0,95,94,130,130,0,160,0,160,0,160,0,160,160,160,160,0,160,0,160,0,160,0,160,160,160,160,160,160,0,160,0,230,0,59,27,25,25,25,25] h=[0.0,-52.0,-17.0,-46.0,-38.0,0.0,-57.0,0.0,-103.0,0.0,-75.0,0.0,-74.0,-36.0,-62.0,-51.0,0.0,-67.0,0.0,-110.0,0.0,-79.0,0.0,-75.0,-34.0,-57.0,-43.0,-93.0,-106.0,0.0,-146.0,0.0,-13.0,0.0,-6.0,38.0,18.0,35.0,-12.0,-22.0]
// run: equal grid=40 group=40 x=[-39,-2,35,-29,8,45,-19,18,-46,-9,28,-36,1,38,-26,11,48,-16,21,-43,-6,31,-33,4,41,-23,14,-50,-13,24,-40,-3,34,-30,7,44,-20,17,-47,-10] y=[0;40] -> y=[0,-51,-51,-51,-51,0,-51,0,-51,0,-51,0,-51,-51,-51,-51,0,-51,0,-51,0,-51,0,-51,-51,-51,-51,-51,-51,0,-51,0,1101,0,1101,1101,1101,1101,1101,1101]
// run: equal grid=7 group=7 x=[7,9,10,3,13,6,16] y=[0;7] -> y=[239,0,239,0,239,0,239]
