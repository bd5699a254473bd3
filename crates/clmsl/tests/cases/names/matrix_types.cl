// run: matrices grid=1 float2x2={f32:0,f32:1,f32:2,f32:3,f32:4,f32:5,f32:6,f32:7,f32:8,f32:9,f32:10,f32:11,f32:12,f32:13,f32:14,f32:15,f32:16,f32:17,f32:18,f32:19,f32:20,f32:21,f32:22,f32:23,f32:24,f32:25,f32:26,f32:27,f32:28,f32:29,f32:30,f32:31} -> float2x2={f32:3,f32:1,f32:2,f32:3,f32:4,f32:5,f32:6,f32:7,f32:8,f32:9,f32:10,f32:11,f32:12,f32:13,f32:14,f32:15,f32:0,f32:4,f32:8,f32:12,f32:1,f32:5,f32:9,f32:13,f32:2,f32:6,f32:10,f32:14,f32:3,f32:7,f32:11,f32:15}
typedef struct { float4 row[4]; } float4x4;
struct bool2 { int packed_float3; };

float4x4 transpose(float4x4 m)
{
    float4x4 t;
    for (int i = 0; i < 4; i++)
        t.row[i] = (float4)(m.row[0].x, m.row[1].x, m.row[2].x, m.row[3].x), m.row[0] = m.row[0].yzwx, m.row[1] = m.row[1].yzwx,
        m.row[2] = m.row[2].yzwx, m.row[3] = m.row[3].yzwx;
    return t;
}

__kernel void matrices(__global float4x4* float2x2)
{
    struct bool2 b = { 3 };
    float2x2[1] = transpose(float2x2[0]);
    float2x2[0].row[0].x = b.packed_float3;
}
