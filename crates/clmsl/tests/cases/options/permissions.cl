// options: -cl-mad-enable -cl-no-signed-zeros -cl-finite-math-only -cl-unsafe-math-optimizations -cl-denorms-are-zero -cl-single-precision-constant -cl-fp32-correctly-rounded-divide-sqrt -cl-opt-disable -cl-strict-aliasing -cl-kernel-arg-info -w -g
// run: k grid=1 x=[2,0.5] out=[0;4] -> out=[7,4.8828125e-04,-0.5,1]
// Permissions, of which the translation makes no use: results are those without the options.
__kernel void k(__global const float* x, __global float* out)
{
    out[0] = x[0] * 3.0f + 1.0f;
    out[1] = exp2(-x[0] * 5.5f);
    out[2] = x[1] - 1.0f;
    out[3] = (x[0] - x[0]) / x[1] == 0.0f;
}
// differential: tame: the options promise that there is no NaN and no infinity
