// run: apply grid=3 out=[0,0,0] p={i32:4,i32:5,f32:0.5,f32:1,f32:2,f32:3,u8:1,u8:7,u8:3,u8:4,i16:-5,i16:9} table={i32:0,i32:0,f32:0,f32:0,f32:0,f32:0,u8:0,u8:0,u8:0,u8:0,i16:100,i16:0,i32:0,i32:0,f32:2,f32:10,f32:20,f32:30,u8:0,u8:200,u8:0,u8:0,i16:0,i16:0} -> out=[137.5,159,180.5]
typedef struct {
    int width, height;
    float scale;
    float bias[3];
    uchar4 tint;
    struct { short low, high; } range;
} Params;

float shade(Params p, int channel) { return p.bias[channel] * p.scale + p.tint.y; }

__kernel void apply(__global float* out, Params p, __constant Params* table)
{
    const int i = get_global_id(0);
    p.scale += 1.0f;
    out[i] = shade(p, i) + shade(table[1], i) + p.range.high - table->range.low;
}
