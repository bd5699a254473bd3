// run: in_place grid=2 data=[1,2] seen=[5,6] out=[0,0] -> data=[8,10] seen=[5,6] out=[13,16]
// run: through_helper grid=2 data=[1,2] out=[0,0] -> data=[11,12] out=[11,12]
// run: by_member grid=1 data=[1] same=[3] -> data=[4] same=[3]
// run: by_member_of_argument grid=1 data=[1] same=[3] -> data=[4] same=[3]
// run: only_read grid=1 data=[1,2,3,4,5,6,7,8] out=[0;4] -> out=[5,6,7,8]
// Arguments declared `const`: those that are written through a cast are no pointers to `const` for Metal.
__kernel void in_place(__global const int* data, __global const int* seen, __global int* out)
{
    size_t i = get_global_id(0);
    __global int* mine = (__global int*)data + i;
    *mine += 7 + (i == 1);
    out[i] = data[i] + seen[i];
}

void add_ten(__global const int* p) { *(__global int*)p += 10; }

__kernel void through_helper(__global const int* data, __global int* out)
{
    add_ten(data + get_global_id(0));
    out[get_global_id(0)] = data[get_global_id(0)];
}

struct ends { __global const int* from; __global int* to; };

__kernel void by_member(__global int* data, __global const int* same)
{
    struct ends e = { same, data };
    *e.to += *e.from;
}

void add(struct ends e) { *e.to += *e.from; }

__kernel void by_member_of_argument(__global int* data, __global const int* same)
{
    struct ends e = { same, data };
    add(e);
}

__kernel void only_read(__global const int* data, __global int* out)
{
    vstore4(*((__global int4*)data + 1), 0, out);
}
