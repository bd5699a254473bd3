// An activation of each element. Given by the host: DC_T, the elements; DC_FUNCTION, its name here.

typedef DC_T T;

struct Places {
  uint extents[4], from[4], to[4];
};

// NaN is neither below nor above 0.
static float relu(float x) { return x < 0.0f ? 0.0f : x; }
static float sigmoid(float x) { return logistic(x); }
static float tangent(float x) { return hyperbolic_tangent(x); }
// Minus infinity times a share of 0 is 0.
static float gelu(float x) { return isinf(x) ? relu(x) : x * normal_share(x); }
// 0.5 (1 + tanh(u)) is the logistic function of 2 u; u = sqrt(2 / pi) (x + 0.044715 x^3).
static float gelu_tanh(float x) { return isinf(x) ? relu(x) : x * logistic(1.59576912f * fma(0.044715f * x * x, x, x)); }

kernel void activate(const device T *x [[buffer(0)]], device T *y [[buffer(1)]], uint i [[thread_position_in_grid]]) { y[i] = T(DC_FUNCTION(float(x[i]))); }

kernel void activate_in_place(device T *y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] = T(DC_FUNCTION(float(y[i]))); }

static ulong place_of(uint3 at, constant Places &places, constant uint *strides) {
  const uint outer = at.z / places.extents[1], inner = at.z % places.extents[1];
  return ulong(outer) * strides[0] + ulong(inner) * strides[1] + ulong(at.y) * strides[2] + ulong(at.x) * strides[3];
}

kernel void activate_strided(const device T *x [[buffer(0)]], device T *y [[buffer(1)]], constant Places &places [[buffer(2)]],
                             uint3 at [[thread_position_in_grid]]) {
  y[place_of(at, places, places.to)] = T(DC_FUNCTION(float(x[place_of(at, places, places.from)])));
}

kernel void activate_strided_in_place(device T *y [[buffer(0)]], constant Places &places [[buffer(1)]], uint3 at [[thread_position_in_grid]]) {
  device T *own = y + place_of(at, places, places.to);
  *own = T(DC_FUNCTION(float(*own)));
}
