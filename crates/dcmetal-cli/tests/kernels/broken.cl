__kernel void broken(__global float *y)
{
    y[0] = undeclared;
}
