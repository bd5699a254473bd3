// options: -cl-std=CL3.0
// Integers of 8 and 16 bits wrap; of work-items that part, those that are there take part. Expected values are computed in Python.
kernel void k(global const int *x, global const uchar *b, global short *lowest, global uchar *sum, global short *before, global uchar *up) {
    size_t i = get_global_id(0);
    if (x[i] % 3 == 0) {
        lowest[i] = sub_group_non_uniform_reduce_min((short)(x[i] * 100));
        sum[i] = sub_group_non_uniform_reduce_add(b[i]);
        before[i] = sub_group_non_uniform_scan_exclusive_add((short)(x[i] * 300));
    }
    up[i] = sub_group_scan_inclusive_add(b[i]);
}
// run: k grid=40 group=40 x=[-89,-52,-15,22,59,96,-67,-30,7,44,81,-82,-45,-8,29,66,-97,-60,-23,14,51,88,-75,-38,-1,36,73,-90,-53,-16,21,58,95,-68,-31,6,43,80,-83,-46] b=[7,60,113,166,219,16,69,122,175,228,25,78,131,184,237,34,87,140,193,246,43,96,149,202,255,52,105,158,211,8,61,114,167,220,17,70,123,176,229,26] lowest=[0;40] sum=[0;40] before=[0;40] up=[0;40] -> lowest=[0,0,-9000,0,0,-9000,0,-9000,0,0,-9000,0,-9000,0,0,-9000,0,-9000,0,0,-9000,0,-9000,0,0,-9000,0,-9000,0,0,-9000,0,0,0,0,600,0,0,0,0] sum=[0,0,20,0,0,20,0,20,0,0,20,0,20,0,0,20,0,20,0,0,20,0,20,0,0,20,0,20,0,0,20,0,0,0,0,70,0,0,0,0] before=[0,0,0,0,0,-4500,0,24300,0,0,15300,0,-25936,0,0,26100,0,-19636,0,0,27900,0,-22336,0,0,20700,0,31500,0,0,4500,0,0,0,0,0,0,0,0,0] up=[7,67,180,90,53,69,138,4,179,151,176,254,129,57,38,72,159,43,236,226,13,109,2,204,203,255,104,6,217,225,30,144,167,131,148,218,85,5,234,4]
