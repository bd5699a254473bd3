// Structs in a buffer, changed through a reference by a helper, with a struct of parameters.
#include <metal_stdlib>
using namespace metal;

struct Particle {
    float position[2];
    float velocity[2];
    uint bounces;
};

struct World {
    float gravity;
    float floor_level;
    uint steps;
};

static void step_one(device Particle& p, World world) {
    p.velocity[1] -= world.gravity;
    p.position[0] += p.velocity[0];
    p.position[1] += p.velocity[1];
    if (p.position[1] < world.floor_level) {
        p.position[1] = world.floor_level;
        p.velocity[1] = -p.velocity[1];
        p.bounces++;
    }
}

kernel void particles(device Particle* all [[buffer(0)]], constant World& world [[buffer(1)]],
                      uint i [[thread_position_in_grid]]) {
    for (uint step = 0; step < world.steps; ++step) step_one(all[i], world);
}
