// options: -cl-std=CL3.0 -cl-uniform-work-group-size -cl-no-subgroup-ifp
// run: k grid=5 group=4 out=[0;5] -> out=[4,4,4,4,1]
// Promises of the host that the translation does not need: what they exclude works as well.
__kernel void k(__global uint* out) { out[get_global_id(0)] = get_local_size(0); }
