// run: geometry grid=1 in=[1,2,3,4,-2,0.5,4,1] out=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0] -> out=[6.5,-10,4.5,0,6.5,-10,4.5,13,0.18257418,0.36514837,0.5477226,0.73029673,5.477226,3.354102,3,4.5,1.25,3.125,4.75,4.75,1.15625,2.5,1.84375,3,58.26087,119.60029,178.95715,236.20058,5,5,0,0,0.59999996,1,0.8,0,-1,3,5,2]
__kernel void geometry(__global const float4* in, __global float4* out)
{
    float4 a = in[0], b = in[1];
    out[0] = cross(a, b);
    out[1].xyz = cross(a.xyz, b.xyz);
    out[1].w = dot(a, b) + dot(a.x, b.x);
    out[2] = normalize(a);
    out[3] = (float4)(length(a), distance(a.xy, b.xy), length(-3.0f), fast_length(b.xyz));
    out[4] = mix(a, b, 0.25f) + clamp(a, 0.0f, 1.5f);
    out[5] = smoothstep(0.0f, 4.0f, a) + step(2.0f, a) + step(b, a);
    out[6] = sign(b) + degrees(a) + radians(b) + min(a, 2.0f) + max(a, b);
    out[7].x = length((float2)(3e30f, 4e30f)) * 1e-30f;
    out[7].y = length((float2)(3e-30f, 4e-30f)) * 1e30f;
    out[7].zw = normalize((float2)(0.0f));
    out[8] = normalize((float4)(3e30f, 0, 4e30f, 0)) + fast_normalize((float4)(0, 2, 0, 0));
    out[9] = (float4)(normalize(-4.0f), distance(1.0f, 4.0f), clamp(7, 1, 5), mix(1.0f, 3.0f, 0.5f));
}
