#include <metal_stdlib>
using namespace metal;

constant constexpr float SOFTENING = 0.05f;

// Position and mass, and velocity, in vectors of four: three would take the room of four anyway.

// Every body pulls at every other for a time.
kernel void kick(device const float4* position [[buffer(0)]], device float4* velocity [[buffer(1)]],
                 constant float& time [[buffer(2)]], uint i [[thread_position_in_grid]], uint count [[threads_per_grid]]) {
    float3 pull = 0;
    for (uint j = 0; j < count; j++) {
        float3 way = position[j].xyz - position[i].xyz;
        float nearness = rsqrt(dot(way, way) + SOFTENING * SOFTENING);
        pull += position[j].w * nearness * nearness * nearness * way;
    }
    velocity[i].xyz += time * pull;
}

// Every body goes on as fast as it does for a time.
kernel void drift(device float4* position [[buffer(0)]], device const float4* velocity [[buffer(1)]],
                  constant float& time [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    position[i].xyz += time * velocity[i].xyz;
}
