// The weight of each particle: of particles that are eight numbers each, the fourth of which is the mass; and of masses that lie beside each other.
kernel void weights(global const float* particles, global float* weights) {
    size_t i = get_global_id(0);
    weights[i] = particles[8 * i + 3] * 9.80665f;
}

kernel void weights_of_masses(global const float* masses, global float* weights) {
    size_t i = get_global_id(0);
    weights[i] = masses[i] * 9.80665f;
}
