// run: four_times grid=3 data=[1,2,3] -> data=[4,8,12]
// run: twice grid=3 data=[1,2,3] -> data=[2,4,6]
__kernel void twice(__global int* data)
{
    data[get_global_id(0)] *= 2;
}

__kernel void four_times(__global int* data)
{
    twice(data);
    twice(data);
}
