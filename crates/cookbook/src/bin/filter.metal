// The numbers that pass, in their order: how many each threadgroup has, how many are before it, and each to its place.
// dcmetal::COOPERATIVE stands before this.

using namespace metal;

// Whether a number passes.
static bool passes(uint x) { return x % 3 == 0; }

kernel void count(device const uint* x [[buffer(0)]], device uint* counts [[buffer(1)]], constant uint& n [[buffer(2)]],
                  uint at [[thread_position_in_grid]], uint threadgroup_number [[threadgroup_position_in_grid]],
                  uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],
                  uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup uint parts[32];
    dcmetal::group all(lane, simdgroup, simdgroups);
    uint sum = all.sum(uint(at < n && passes(x[at])), parts);
    if (simdgroup == 0 && lane == 0)
        counts[threadgroup_number] = sum;
}

// One threadgroup: from each number of the counts the sum of those up to it.
kernel void add_up(device uint* counts [[buffer(0)]], constant uint& n [[buffer(1)]], uint at [[thread_position_in_grid]],
                   uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],
                   uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup uint parts[32];
    dcmetal::group all(lane, simdgroup, simdgroups);
    uint sum = all.inclusive_scan<dcmetal::add>(at < n ? counts[at] : 0, parts);
    if (at < n)
        counts[at] = sum;
}

kernel void keep(device const uint* x [[buffer(0)]], device const uint* counts [[buffer(1)]], device uint* y [[buffer(2)]],
                 constant uint& n [[buffer(3)]], uint at [[thread_position_in_grid]],
                 uint threadgroup_number [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]], uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup uint parts[32];
    dcmetal::group all(lane, simdgroup, simdgroups);
    // Threads behind the end take part too: a scan is one of all threads.
    bool is_kept = at < n && passes(x[at]);
    uint number = all.inclusive_scan<dcmetal::add>(uint(is_kept), parts);
    uint before = threadgroup_number > 0 ? counts[threadgroup_number - 1] : 0;
    if (is_kept)
        y[before + number - 1] = x[at];
}
