// run: ids grid=4,2 group=2,1 out=[0,0,0,0,0,0,0,0] sizes=[-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1] -> out=[100,210,1300,1410,5500,5610,6700,6810] sizes=[1,1,0,0,0,422,212,111,111,111,1,10,0,0,0,2,2]
int flat(void) { return get_global_id(1) * get_global_size(0) + get_global_id(0); }

int deeper(int bias) { return flat() + bias; }

int plain(int x) { return x + 1; }

size_t any_id(uint dimension) { return get_global_id(dimension); }

__kernel void ids(__global int* out, __global int* sizes)
{
    int at = deeper(0);
    out[at] = plain(at) * 100 + get_local_id(0) * 10 + get_local_id(1) + get_group_id(0) * 1000 + get_group_id(1) * 5000;
    if (at == 5) {
        for (uint d = 0; d < 5; d++) {
            sizes[d] = any_id(d);
            sizes[5 + d] = get_global_size(d) * 100 + get_local_size(d) * 10 + get_num_groups(d);
            sizes[10 + d] = get_local_id(d) + get_group_id(d) * 10 + get_global_offset(d);
        }
        sizes[15] = get_work_dim();
        sizes[16] = get_global_id(3) + get_global_size(7) + get_local_size(99);
    }
}
