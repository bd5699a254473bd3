// run: names grid=4 group=2 global_id=[0,0,0,0] -> global_id=[0,3,102,105]
float global_size(float local_id) { return local_id * 2 + get_global_id(0); }

__kernel void names(__global float* global_id)
{
    int group_id = get_group_id(0), local_id = get_local_id(0);
    global_id[get_global_id(0)] = global_size(local_id) + group_id * 100;
}
