// Rows that are normalised: softmax and layer normalisation. Given by the host: DC_T, the elements; DC_IN_LINE, 1 where those of a row follow each other.

typedef DC_T T;

// Rows lie at three axes; strides of the elements of a row, and of the axes.
struct Rows {
  uint n, from_step, to_step;
  uint extents[3], from[3], to[3];
  // Of layer normalisation: what the variance gets; whether there are factors and terms.
  float epsilon;
  uint has_scale, has_shift;
};

#if DC_IN_LINE
#define STEP_OF(step) 1
#else
#define STEP_OF(step) ulong(step)
#endif

// Thread t's elements of a row are number t, t + WIDTH, ...; the last of them is not there for every thread, and stands behind a barrier so that the
// loop before it is the same for all.
#define EACH(...)                                                                                                                          \
  {                                                                                                                                        \
    for (uint j = 0; j < whole; j++) {                                                                                                     \
      __VA_ARGS__                                                                                                                          \
    }                                                                                                                                      \
    threadgroup_barrier(mem_flags::mem_none);                                                                                              \
    const uint j = whole;                                                                                                                  \
    if (j * WIDTH + at.x < rows.n) {                                                                                                       \
      __VA_ARGS__                                                                                                                          \
    }                                                                                                                                      \
  }
#define X float(own_x[ulong(j) * WIDTH * STEP_OF(rows.from_step)])
#define Y own_y[ulong(j) * WIDTH * STEP_OF(rows.to_step)]
#define OF_ROW(pointer) float(pointer[ulong(j) * WIDTH])

#define BEGIN                                                                                                                              \
  threadgroup float part[ROWS_AT_ONCE * ROOM];                                                                                             \
  threadgroup float *own_part = part + at.y * ROOM;                                                                                        \
  /* The last rows of a threadgroup may not be there: they read the last one again, and write nothing. */                                  \
  const bool is_there = group.y * ROWS_AT_ONCE + at.y < rows.extents[2];                                                                   \
  const uint row = min(group.y * ROWS_AT_ONCE + at.y, rows.extents[2] - 1);                                                                \
  const uint outer = group.z / rows.extents[1], inner = group.z % rows.extents[1], whole = rows.n / WIDTH;                                 \
  const device T *own_x = x + ulong(outer) * rows.from[0] + ulong(inner) * rows.from[1] + ulong(row) * rows.from[2] +                      \
                          ulong(at.x) * STEP_OF(rows.from_step);                                                                           \
  device T *own_y = y + ulong(outer) * rows.to[0] + ulong(inner) * rows.to[1] + ulong(row) * rows.to[2] + ulong(at.x) * STEP_OF(rows.to_step);

kernel void softmax(const device T *x [[buffer(0)]], device T *y [[buffer(1)]], constant Rows &rows [[buffer(2)]],
                    uint3 at [[thread_position_in_threadgroup]], uint3 group [[threadgroup_position_in_grid]]) {
  BEGIN
  float largest = -INFINITY;
  EACH(largest = Larger()(largest, X);)
  largest = combined(own_part, largest, at.x, Larger());
  float sum = 0.0f;
  EACH(sum += exponential(X - largest);)
  sum = combined(own_part, sum, at.x, Plus());
  EACH(if (is_there) Y = T(exponential(X - largest) / sum);)
}

kernel void layer_norm(const device T *x [[buffer(0)]], device T *y [[buffer(1)]], const device T *scale [[buffer(2)]], const device T *shift [[buffer(3)]],
                       constant Rows &rows [[buffer(4)]], uint3 at [[thread_position_in_threadgroup]], uint3 group [[threadgroup_position_in_grid]]) {
  BEGIN
  float sum = 0.0f;
  EACH(sum += X;)
  const float mean = combined(own_part, sum, at.x, Plus()) / float(rows.n);
  float squares = 0.0f;
  EACH(const float apart = X - mean; squares = fma(apart, apart, squares);)
  const float variance = combined(own_part, squares, at.x, Plus()) / float(rows.n);
  const float factor = 1.0f / precise::sqrt(variance + rows.epsilon);
  const device T *own_scale = scale + at.x, *own_shift = shift + at.x;
  EACH(if (is_there) {
    const float value = (X - mean) * factor, scaled = rows.has_scale ? value * OF_ROW(own_scale) : value;
    Y = T(rows.has_shift ? scaled + OF_ROW(own_shift) : scaled);
  })
}

// ---------------------------------------------------------------- by channels

// The elements of a tensor, and how far it is from one to the next along each axis; `channel` is 1 for the axis of channels and 0 for others.
struct Channels {
  uint extents[4], from[4], to[4], channel[4];
  float epsilon;
  uint has_scale, has_shift;
};

kernel void batch_norm(const device T *x [[buffer(0)]], device T *y [[buffer(1)]], const device float *mean [[buffer(2)]],
                       const device float *variance [[buffer(3)]], const device T *scale [[buffer(4)]], const device T *shift [[buffer(5)]],
                       constant Channels &of [[buffer(6)]], uint3 at [[thread_position_in_grid]]) {
  const uint outer = at.z / of.extents[1], inner = at.z % of.extents[1];
  const ulong from = ulong(outer) * of.from[0] + ulong(inner) * of.from[1] + ulong(at.y) * of.from[2] + ulong(at.x) * STEP_OF(of.from[3]);
  const ulong to = ulong(outer) * of.to[0] + ulong(inner) * of.to[1] + ulong(at.y) * of.to[2] + ulong(at.x) * STEP_OF(of.to[3]);
  const uint channel = outer * of.channel[0] + inner * of.channel[1] + at.y * of.channel[2] + at.x * DC_CHANNELS_LAST;
  const float value = (float(x[from]) - mean[channel]) / precise::sqrt(variance[channel] + of.epsilon);
  const float scaled = of.has_scale ? value * float(scale[channel]) : value;
  y[to] = T(of.has_shift ? scaled + float(shift[channel]) : scaled);
}

// Three axes for each channel.
struct Statistics {
  uint channels, step;
  uint extents[3], from[3];
};

// A thread for each channel.
kernel void batch_statistics(const device T *x [[buffer(0)]], device float *mean [[buffer(1)]], device float *variance [[buffer(2)]],
                             constant Statistics &of [[buffer(3)]], uint channel [[thread_position_in_grid]]) {
  const device T *own = x + ulong(channel) * STEP_OF(of.step);
  const float count = float(of.extents[0]) * float(of.extents[1]) * float(of.extents[2]);
  float sum = 0.0f;
  for (uint i = 0; i < of.extents[0]; i++)
    for (uint j = 0; j < of.extents[1]; j++) {
      const ulong line = ulong(i) * of.from[0] + ulong(j) * of.from[1];
      float part = 0.0f;
      for (uint k = 0; k < of.extents[2]; k++)
        part += float(own[line + ulong(k) * of.from[2]]);
      sum += part;
    }
  const float middle = sum / count;
  float squares = 0.0f;
  for (uint i = 0; i < of.extents[0]; i++)
    for (uint j = 0; j < of.extents[1]; j++) {
      const ulong line = ulong(i) * of.from[0] + ulong(j) * of.from[1];
      float part = 0.0f;
      for (uint k = 0; k < of.extents[2]; k++) {
        const float apart = float(own[line + ulong(k) * of.from[2]]) - middle;
        part = fma(apart, apart, part);
      }
      squares += part;
    }
  mean[channel] = middle;
  variance[channel] = squares / count;
}
