// Expected values: C99 §7.19.6.1 and the examples of OpenCL C 3.0 §6.15.14.
__kernel void integers(int i, long l, uchar b) {
    printf("[%d] [%5d] [%-5d] [%05d] [%+d] [% d] [%.3d] [%8.3i]\n", i, i, i, i, i, i, i, i);
    printf("[%u] [%o] [%#o] [%x] [%#X] [%ld] [%#lx] [%lu]\n", i, i, i, i, i, l, l, l);
    printf("[%hhd] [%hhu] [%hd] [%hu] [%c] [%3c] [%%]\n", b, b, -1, -1, 'x', 65);
    printf("[%d] [%ld]\n", i < 0, (long)i);
}

__kernel void floats(float x, half h) {
    printf("[%f] [%.2f] [%9.1f] [%-9.0f] [%+e] [%G] [%a]\n", x, x, x, x, x, x, x);
    printf("[%F] [%g] [%g] [%f]\n", INFINITY, 1e-5f, 100000.0f, h);
}

__kernel void vectors(void) {
    float4 f = (float4)(1.0f, 2.0f, 3.0f, 4.0f);
    uchar4 uc = (uchar4)(0xFA, 0xFB, 0xFC, 0xFD);
    printf("f4 = %2.2v4hlf\n", f);
    printf("uc = %#v4hhx\n", uc);
    printf("[%v2hld] [%v3hd] [%v2lu] [%4v2hld] [%v3hlf] [%v2hf]\n", (int2)(-1, 2), (short3)(1, 2, 3), (ulong2)(1UL << 63, 5),
           (int2)(7, -8), (float3)(0.5f), (half2)(1.5h, 2.5h));
}

__kernel void wide_vectors(__global float8* f, __global char16* c) {
    printf("[%.1v8hlf] [%#v16hhx]\n", f[0] + 1.0f, c[0]);
    printf("[%v8ld] [%3v8hd]\n", convert_long8(f[0]) << 33, convert_short8(c[0].hi));
    printf("[%.2v16hlf] [%v16hld]\n", (float16)(f[0], f[0] - 8.0f), convert_int16(c[0]) * 1000000);
}

__kernel void texts(int i) {
    printf("%s|%8s|%-8s|%.2s\n", "one", "two", "three", "four");
    printf("%s and %s\n", i > 0 ? "positive" : "not", i == 1 ? "a\tb" : i == 2 ? "two" : "\"other\"");
    printf("no conversion, " "joined?\n");
}

__kernel void order(__global int* result) {
    int i = get_global_id(0);
    for (int k = 0; k < 3; k++) {
        result[i] += printf("%d.%d\n", i, k) + 1;
    }
}
// run: integers grid=1 i=-42 l=1234567890123 b=200 -> prints="[-42]\_[\_\_-42]\_[-42\_\_]\_[-0042]\_[-42]\_[-42]\_[-042]\_[\_\_\_\_-042]\n[4294967254]\_[37777777726]\_[037777777726]\_[ffffffd6]\_[0XFFFFFFD6]\_[1234567890123]\_[0x11f71fb04cb]\_[1234567890123]\n[-56]\_[200]\_[-1]\_[65535]\_[x]\_[\_\_A]\_[%]\n[1]\_[-42]\n"
// run: floats grid=1 x=-1234.5678 h=0.5 -> prints="[-1234.567749]\_[-1234.57]\_[\_\_-1234.6]\_[-1235\_\_\_\_]\_[-1.234568e+03]\_[-1234.57]\_[-0x1.34a456p+10]\n[INF]\_[1e-05]\_[100000]\_[0.500000]\n"
// run: vectors grid=1 -> prints="f4\_=\_1.00,2.00,3.00,4.00\nuc\_=\_0xfa,0xfb,0xfc,0xfd\n[-1,2]\_[1,2,3]\_[9223372036854775808,5]\_[\_\_\_7,\_\_-8]\_[0.500000,0.500000,0.500000]\_[1.500000,2.500000]\n"
// run: texts grid=1 i=1 -> prints="one|\_\_\_\_\_two|three\_\_\_|fo\npositive\_and\_a\tb\nno\_conversion,\_joined?\n"
// run: texts grid=1 i=0 -> prints="one|\_\_\_\_\_two|three\_\_\_|fo\nnot\_and\_\"other\"\nno\_conversion,\_joined?\n"
// run: order grid=1 result=[0] -> prints="0.0\n0.1\n0.2\n" result=[3]
// run: order grid=4 group=2 result=[0;4] -> prints_lines="0.0\n0.1\n0.2\n1.0\n1.1\n1.2\n2.0\n2.1\n2.2\n3.0\n3.1\n3.2\n" result=[3;4]
// run: wide_vectors grid=1 f=[0,1,2,3,4,5,6,7.5] c=[0,1,2,3,4,5,6,7,8,9,10,-1,-2,-3,-4,-5] -> prints="[1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.5]\_[0,0x1,0x2,0x3,0x4,0x5,0x6,0x7,0x8,0x9,0xa,0xff,0xfe,0xfd,0xfc,0xfb]\n[0,8589934592,17179869184,25769803776,34359738368,42949672960,51539607552,60129542144]\_[\_\_8,\_\_9,\_10,\_-1,\_-2,\_-3,\_-4,\_-5]\n[0.00,1.00,2.00,3.00,4.00,5.00,6.00,7.50,-8.00,-7.00,-6.00,-5.00,-4.00,-3.00,-2.00,-0.50]\_[0,1000000,2000000,3000000,4000000,5000000,6000000,7000000,8000000,9000000,10000000,-1000000,-2000000,-3000000,-4000000,-5000000]\n"
