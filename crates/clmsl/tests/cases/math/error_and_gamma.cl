// run: k grid=1 x=[0.3,-1.7,2.5,-0.25] y=[0.7,0.5,-1.5,3.0] out=[0;28] n=[0;8] p=local:16 -> out=[0.328626772,-0.983790462,0.999593048,-0.27632639,0.671373228,1.98379046,0.000406952017,1.27632639,2.99156886,2.5139237,1.32934039,-4.90166681,1.09579795,0.921844759,0.28468287,1.58957531,1.09579795,0.921844759,0.28468287,1.58957531,-0.299999893,0,0.5,1,24,1.26551212,-1,-1] n=[1,1,1,-1,9,-68,-33,-2]
// The second results go to global, local and private memory.
__kernel void k(__global const float4* x, __global const float4* y, __global float4* out, __global int4* n, __local int4* p)
{
    out[0] = erf(x[0]);
    out[1] = erfc(x[0]);
    out[2] = tgamma(x[0]);
    out[3] = lgamma(x[0]);
    out[4] = lgamma_r(x[0], n);
    out[5] = remquo(x[0] * 20.0f, y[0], p);
    n[1] = *p;
    int sign, bits;
    out[6] = (float4)(tgamma(5.0f), lgamma_r(-0.5f, &sign), 0.0f, remquo(5.0f, 3.0f, &bits));
    out[6].z = sign + bits - 2;
}
// differential: given: OpenCL C leaves the sign at poles open, and the quotient of what is no number
