__kernel void k(__global int* a, __global float4* v, __global char* text, __constant char* format) {
    printf(format, a[0]);
    printf("%d\n");
    printf("%d", 1.0f);
    printf("%f", a[0]);
    printf("%s", a);
    printf("%s", v[0].x);
    printf("%p", a[0]);
    printf("%v4d", v[0]);
    printf("%v2f", v[0].x);
    printf("%v4hhd", (int4)(1));
    printf("%v4lf", v[0]);
    printf("%*d", 5, a[0]);
    printf("%n", a);
    printf("%y", a[0]);
    printf("%5");
    printf("%9999d", a[0]);
    printf("%v5d", a[0]);
    printf("\xff");
    char s[2] = "abc";
    char t[] = { "a", "b" };
}
