// Structs in a buffer, changed through a pointer by a helper, with a struct of parameters by value.
typedef struct {
    float position[2];
    float velocity[2];
    uint bounces;
} Particle;

typedef struct {
    float gravity;
    float floor_level;
    uint steps;
} World;

void step_one(__global Particle *p, World world) {
    p->velocity[1] -= world.gravity;
    p->position[0] += p->velocity[0];
    p->position[1] += p->velocity[1];
    if (p->position[1] < world.floor_level) {
        p->position[1] = world.floor_level;
        p->velocity[1] = -p->velocity[1];
        p->bounces++;
    }
}

__kernel void particles(__global Particle *all, World world) {
    __global Particle *mine = &all[get_global_id(0)];
    for (uint i = 0; i < world.steps; ++i) step_one(mine, world);
}
