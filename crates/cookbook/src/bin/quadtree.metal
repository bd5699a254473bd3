#include <metal_stdlib>
using namespace metal;

// A square, and the points in it: so many from `first` on.
struct Node { uint x, y, size, first, count, level, unused[2]; };

// Sorts the points of a square into its four quarters, in their order, and writes a command for each quarter that has too many itself.
// A threadgroup is one square.
kernel void split(device const uint2* from [[buffer(0)]], device uint2* to [[buffer(1)]], device const Node* node [[buffer(2)]],
                  device Node* nodes [[buffer(3)]], device atomic_uint* node_count [[buffer(4)]],
                  device dcmetal_command* commands [[buffer(5)]], device atomic_uint* command_count [[buffer(6)]],
                  uint thread_number [[thread_index_in_threadgroup]], uint threads [[threads_per_threadgroup]]) {
    threadgroup uint starts[64][4], totals[4];
    Node n = node[0];
    uint half_size = n.size / 2, part = (n.count + threads - 1) / threads;
    uint begin = min(thread_number * part, n.count), end = min(begin + part, n.count);
    uint counts[4] = {0, 0, 0, 0};
    for (uint i = begin; i < end; i++) {
        uint2 p = from[n.first + i];
        counts[(p.x >= n.x + half_size) + 2 * (p.y >= n.y + half_size)]++;
    }
    for (uint q = 0; q < 4; q++)
        starts[thread_number][q] = counts[q];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (thread_number == 0) {
        uint at = n.first;
        for (uint q = 0; q < 4; q++) {
            uint first = at;
            for (uint t = 0; t < threads; t++) {
                uint count = starts[t][q];
                starts[t][q] = at;
                at += count;
            }
            totals[q] = at - first;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (thread_number < 4) {
        uint q = thread_number, number = atomic_fetch_add_explicit(node_count, 1, memory_order_relaxed);
        nodes[number] = {n.x + q % 2 * half_size, n.y + q / 2 * half_size, half_size, starts[0][q], totals[q], n.level + 1, {0, 0}};
        if (totals[q] > MOST && half_size > 1) {
            uint at = atomic_fetch_add_explicit(command_count, 1, memory_order_relaxed);
            // More commands than there is room for do not run: the submission fails.
            if (at < COMMANDS)
                commands[at] = {0, {1, 1, 1}, {threads, 1, 1}, 0,
                                {{0, 0}, {1, 0}, {2, number * uint(sizeof(Node))}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {0, 0}}};
        }
    }
    // starts[0] is read above.
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = begin; i < end; i++) {
        uint2 p = from[n.first + i];
        to[starts[thread_number][(p.x >= n.x + half_size) + 2 * (p.y >= n.y + half_size)]++] = p;
    }
}
