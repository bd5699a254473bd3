#define VECTOR float4
