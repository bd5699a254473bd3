__kernel void k(__global int* a, __local int* b, __local float* f) {
    event_t e = async_work_group_copy(b, b, 16, 0);
    e = async_work_group_copy(f, a, 16, 0);
    int own[4];
    e = async_work_group_copy(own, a, 4, 0);
    wait_group_events(1, a);
    e = async_work_group_copy_2D2D(b, 0, b, 0, 4, 1, 1, 1, 1, 0);
    e = async_work_group_copy_3D3D(b, 0, 1, 0, 4, 1, 1, 1, 1, 1, 1, 1, 0);
    e = async_work_group_copy_2D2D(b, 0, a, 0, 4, 1, 1, 1, 1, 1, 0);
}
