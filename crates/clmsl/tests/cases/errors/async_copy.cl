__kernel void k(__global int* a, __local int* b) {
    event_t e = async_work_group_copy(b, a, 16, 0);
    wait_group_events(1, &e);
}
