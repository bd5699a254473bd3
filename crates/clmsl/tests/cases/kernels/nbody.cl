// run: advance grid=2 old={f32:0,f32:0,f32:0,f32:1,f32:0.5,f32:0,f32:0,f32:0,f32:1,f32:2,f32:2,f32:8,f32:0,f32:-0.25,f32:0,f32:0} new={f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0} settings={f32:0.5,f32:0,i32:2} -> new={f32:0.3240741,f32:0.14814816,f32:0.14814816,f32:1,f32:0.6481482,f32:0.29629633,f32:0.29629633,f32:0,f32:0.9907407,f32:1.8564814,f32:1.9814814,f32:8,f32:-0.01851852,f32:-0.28703704,f32:-0.03703704,f32:0}
typedef struct {
    float4 position; // w is the mass
    float4 velocity;
} Body;

typedef struct Settings {
    float dt;
    float softening;
    int count;
} Settings;

float3 attraction(float4 from, float4 to, float softening)
{
    float3 d = to.xyz - from.xyz;
    float inverse = rsqrt(dot(d, d) + softening);
    return d * (to.w * inverse * inverse * inverse);
}

__kernel void advance(__global const Body* old, __global Body* new, const Settings settings)
{
    const int i = get_global_id(0);
    Body self = old[i];
    float3 force = (float3)(0.0f, 0.0f, 0.0f);
    for (int j = 0; j < settings.count; j++)
        if (j != i)
            force += attraction(self.position, old[j].position, settings.softening);
    self.velocity.xyz += settings.dt * force;
    self.position.xyz += settings.dt * self.velocity.xyz;
    new[i] = self;
}
