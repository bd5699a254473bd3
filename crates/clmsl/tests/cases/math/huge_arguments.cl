// run: k grid=1 x=[1.0000000150474662e+30,-3.4028234663852886e+38,12345678.0,1.636717316877402e+22] out=[0;12] -> out=[-0.791163439,0.521876523,-0.903541146,-0.978500004,-0.611604785,0.85302104,-0.428501339,0.206246801,1.29358608,0.61179795,2.10860752,-4.74431603]
// Huge angles are reduced with all the bits of pi that they need.
__kernel void k(__global const float4* x, __global float4* out)
{
    out[0] = sin(x[0]);
    out[1] = cos(x[0]);
    out[2] = tan(x[0]);
}
// differential: given: PoCL's sine of a vector is wrong for tiny numbers beside huge ones
