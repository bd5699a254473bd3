// run: sizes grid=2 out=[0,0] -> out=[15014438327699812352,11582132461690073088]
__kernel void sizes(__global ulong* out)
{
    size_t i = get_global_id(0);
    out[i] = (i + 1) << 40;
    out[i] += sizeof(size_t) + sizeof(long) + sizeof(float3) + sizeof(int*);
    int narrow = (int)((i + 1) << 40);
    out[i] += narrow;
    out[i] *= 3000000000u;
}
