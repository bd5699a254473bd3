// run: k grid=1 n=[5,0] o=[0;40] f=[0;8] c=[0;4] -> o=[-1,-1,-1,-1,0,0,0,0,1,1,1,1,0,0,0,0,1,1,1,1,8,8,8,8,2,2,2,2,7,7,7,7,-1,-1,-1,-1,1,1,1,1] f=[1,1,1,1,3,3,3,3] c=[1,0,1,1]
// A cast to integers makes true -1, a literal and an operator make it 1.
__kernel void k(__global int4* o, __global float4* f, __global int* n, __global char2* c)
{
    bool yes = n[0] > 3, no = n[1] > 3;
    o[0] = (int4)yes;
    o[1] = (int4)no;
    o[2] = (int4)(yes);
    o[3] = (int4)(no);
    o[4] = o[3] + yes;
    o[5] = (int4)(7) + yes;
    o[6] = (int4)(yes, yes, yes, yes) + (int4)(yes);
    o[7] = (int4)(7) * yes;
    o[8] = as_int4((uint4)yes);
    o[9] = (int4)(n[0] > 3);
    f[0] = (float4)(yes);
    f[1] = (float4)(3) * yes;
    c[0] = (char2)(yes, no);
    c[1] = (char2)(yes);
}
