// run: pick grid=1 i=rgba8uint:2x1:[1,2,3,4,5,6,7,8] s=clamp_to_edge|nearest|unnormalized at=7 a0=[0] a1=[0] a2=[0] a3=[0] a4=[0] a5=[0] a6=[0] a7=[0] a8=[0] a9=[0] a10=[0] a11=[0] a12=[0] a13=[0] a14=[0] a15=[0] a16=[0] a17=[0] a18=[0] a19=[0] a20=[0] a21=[0] a22=[0] a23=[0] a24=[0] a25=[0] a26=[0] a27=[0] a28=[0] -> a0=[5] a28=[8]
// A sampler is a value too where values share a buffer.
__kernel void pick(read_only image2d_t i, sampler_t s, int at, __global uint* a0, __global uint* a1, __global uint* a2, __global uint* a3, __global uint* a4, __global uint* a5, __global uint* a6, __global uint* a7, __global uint* a8, __global uint* a9, __global uint* a10, __global uint* a11, __global uint* a12, __global uint* a13, __global uint* a14, __global uint* a15, __global uint* a16, __global uint* a17, __global uint* a18, __global uint* a19, __global uint* a20, __global uint* a21, __global uint* a22, __global uint* a23, __global uint* a24, __global uint* a25, __global uint* a26, __global uint* a27, __global uint* a28)
{
    uint4 texel = read_imageui(i, s, (int2)(at, 0));
    a0[0] = texel.x;
    a28[0] = texel.w;
}
