#include <metal_stdlib>
using namespace metal;

// For each of these points the nearest of all others, in whole numbers, so that every device finds the same.
kernel void nearest(device const short2* points [[buffer(0)]], constant uint& count [[buffer(1)]], constant uint& first [[buffer(2)]],
                    device uint* found [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    uint own = first + i, best = own, least = ~0u;
    for (uint other = 0; other < count; other++) {
        int2 way = int2(points[other]) - int2(points[own]);
        uint distance = uint(way.x * way.x + way.y * way.y);
        if (other != own && distance < least) {
            least = distance;
            best = other;
        }
    }
    found[i] = best;
}
