// run: k grid=3 a=[0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7] c=[1,2,3,4,1,2,3,4,1,2,3,4] out=[0;9] -> a=[10,1,-98,4,5,5,6,7,0,10,2,-97,5,6,6,7,0,1,10,4,-96,5,7,7] c=[1,7,12,4,1,2,7,12,1,7,12,4] out=[1,5,12,2,6,12,3,5,12]
// A computed component of a selection of neighbours is a component of the vector.
__kernel void k(__global float8* a, __global int4* c, __global int* out)
{
    size_t g = get_global_id(0);
    int i = (int)(g & 3);
    a += g; c += g; out += 3 * g;
    a->lo[i] = 10;
    a->s345[i & 1]++;
    a->hi[i]++;
    a->s2345[i] -= 100;
    c->yz[i++ & 1] = 7;
    c->hi[g & 1] = c->s12[g & 1] + 5;
    long2 l = (long2)(3, 4);
    l.xy[i & 1] = 5;
    out[0] = i;
    out[1] = l.x + l.y - 3;
    out[2] = c->zw[g & 1];
}
