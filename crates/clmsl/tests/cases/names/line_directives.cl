// run: lines grid=1 x=[0,0,0] -> x=[104,109,10]
#line 100 "generated.cl"
__kernel void lines(__global int* x)
{
#define SET(i, v) x[i] = v; x[i] += __LINE__
    SET(0, 1);



    SET(1, 2);
#line 7
    SET(2, 3);
}
