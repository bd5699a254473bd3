// run: elementary grid=1 in=[0.5,-0.75,2,-3.5,0.25,-0.5,0.125,0.9] out=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0] -> out=[0.9588511,-1.3632776,1.8185948,0.70156646,2.0344439,0.92729527,2.6779451,0.27829957,2.1108384,-0.16278243,8.353084,-0.96798074,4.841214,1.3831979,12.722578,8.061868,-1.9941772,-0.8276583,1.9941772,3.6041858,2.1213202,2.020726,2.1213202,2.4053512,1.0908964,1.7172005,5.0905075,15.337886,1010,-11001,22222,-44334,1.75,-2.5,6.125,-3.4,2.806197,-2.242442,4.8404174,0.37203634,5.5,-6.625,19.625,-36.84375,2.4142137,-inf,1.7207766,-0.96695924,1030.1324,0,0,0]
__kernel void elementary(__global const float4* in, __global float4* out)
{
    float4 x = in[0], u = in[1];
    out[0] = sin(x) + cos(x) * tan(x);
    out[1] = asin(u) + acos(u) + atan(x);
    out[2] = sinh(x) + cosh(x) + tanh(x);
    out[3] = exp(x) + exp2(x) + exp10(u);
    out[4] = log(fabs(x)) + log2(fabs(x)) + log10(fabs(x));
    out[5] = sqrt(fabs(x)) + rsqrt(fabs(x));
    out[6] = pow(fabs(x), u) + powr(fabs(x), 2.0f);
    out[7] = floor(x) + ceil(x) * 10 + trunc(x) * 100 + round(x) * 1000 + rint(x) * 10000;
    out[8] = fmod(x, u) + fmin(x, u) + fmax(x, u) * 2 + fdim(x, u) + copysign(u, x);
    out[9] = atan2(x, u) + asinh(x) + acosh(fabs(x) + 1) + atanh(u);
    out[10] = mad(x, u, x) + fma(x, u, u) + ldexp(x, 3) + ldexp(u, (int4)(1, -2, 3, -4));
    out[11] = sinpi(u) + cospi(u) + tanpi(u);
    out[12].x = sqrt(2.0f) + pow(2.0f, 10.0f) + max(1.5f, 2.0f) + exp(1.0f);
}
// differential: given ulp=16: sums of functions cancel; PoCL's sine of a vector is wrong for tiny numbers beside huge ones
