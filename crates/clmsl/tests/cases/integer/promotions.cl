// run: promote grid=1 c=[100,100,-1] u=[200,100,5] s=[-30000] out=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0] -> out=[200,20000,1,-5,-6,-251,900000000,0,44,44,12,32,-1,1,1,0]
__kernel void promote(__global const char* c, __global const uchar* u, __global const short* s, __global int* out)
{
    out[0] = c[0] + c[1];              // 8 bits would overflow
    out[1] = u[0] * u[1];
    out[2] = c[0] < u[0];
    out[3] = -u[2];
    out[4] = ~u[2];
    out[5] = (c[2] << 8) | u[2];
    out[6] = s[0] * s[0];
    uint one = 1;
    out[7] = c[2] < one;               // -1 becomes the largest uint
    out[8] = (uchar)(u[0] + u[1]);
    uchar wrapped = u[0];
    wrapped += u[1];
    out[9] = wrapped;
    out[10] = sizeof(c[0] + c[1]) + sizeof('a') + sizeof(1.0f * c[0]);
    out[11] = 'a' - 'A';
    out[12] = c[2] >> 1;
    long big = 2147483647;
    out[13] = (int)((big + 1) >> 31);
    out[14] = 0xffffffff > 0 ? 1 : -1;
    out[15] = -1 < sizeof(int);
}
