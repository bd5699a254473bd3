// options: -cl-fast-relaxed-math
// run: k grid=1 x=[0.5,2.0,3.25,1.5] out=[0;16] -> out=[0.520499878,0.995322265,0.999995697,0.966105146,1.77245385,1,2.54925697,0.886226925,0.793700526,1.25992105,1.48124803,1.14471424,0.0078125,128,3829.86554,17.0859375]
// The functions of the prelude keep their limits: they are built of exact steps, which the option must not reorder.
__kernel void k(__global const float4* x, __global float4* out)
{
    out[0] = erf(x[0]);
    out[1] = tgamma(x[0]);
    out[2] = cbrt(x[0]);
    out[3] = pown(x[0], (int4)(7));
}
