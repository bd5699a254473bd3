// run: geometric grid=1 v=[1,2,3,4,5,6,7,8] s=[0;6] out=[0;16] -> s=[70,5,5,300,5,4] out=[0,1,0,0,-4,8,-4,0,0,0,-1,0,0,1,0,0]
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
// The geometric functions on half, also where squares are beyond its range (300 squared is).
__kernel void geometric(__global const half4* v, __global half* s, __global half4* out)
{
    s[0] = dot(v[0], v[1]);
    s[1] = length((half2)(3.0h, 4.0h));
    s[2] = distance((half3)(1.0h, 1.0h, 7.0h), (half3)(4.0h, 5.0h, 7.0h));
    s[3] = length((half2)(180.0h, 240.0h));
    s[4] = fast_length((half2)(3.0h, 4.0h));
    s[5] = fast_distance(v[0].x, v[1].x);
    out[0] = normalize((half4)(0.0h, 2.0h, 0.0h, 0.0h));
    out[1] = cross(v[0], v[1]);
    out[2] = normalize((half4)(0.0h, 0.0h, -400.0h, 0.0h));
    out[3] = fast_normalize((half4)(0.0h, 2.0h, 0.0h, 0.0h));
}
