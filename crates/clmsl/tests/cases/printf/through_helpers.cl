__constant char format[] = "%d%s\n";

int report(int value) { return printf(format, value, value & 1 ? " odd" : " even"); }

int twice(int value) { return report(value) + report(value + 1); }

// A dimension asked for and printing: two hidden buffers.
__kernel void k(__global int* result) {
    result[0] = twice(10) + (int)get_work_dim();
    printf("excess is evaluated\n", result[1]++);
}

__kernel void silent(__global int* result) { result[0] = 1; }
// run: k grid=1 result=[0,5] -> prints="10\_even\n11\_odd\nexcess\_is\_evaluated\n" result=[1,6]
// run: silent grid=1 result=[0] -> result=[1]
