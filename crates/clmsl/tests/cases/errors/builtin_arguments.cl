__kernel void k(__global int* a, float4 v, int4 n, float2 w) {
    v = sin(n);
    v = max(v, w);
    v = clamp(v, 1.0f);
    a[0] = popcount(1.5f);
    v = cross(w, w);
    n = select(n, n, (char4)(1));
    get_global_id();
    get_global_id(1.5f);
    barrier(a[0]);
    barrier(CLK_LOCAL_MEM_FENCE, 1);
    n = any(v);
    v = as_float4(w);
    v = convert_float4_rtz(n);
    v = convert_float4(w);
    vstore4(v, 0, a);
    v = vload4(0, v);
    a[0] = shuffle(n, n).x;
    int stored;
    v.x = frexp(1.0f, v);
    fract(1.0f, &stored);
}
