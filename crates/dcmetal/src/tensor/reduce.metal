// One number of many: along an axis, for each place of the others. Given by the host: DC_T, the elements; DC_U, the results; DC_OPERATION, one of those below.

typedef DC_T T;
typedef DC_U U;

#define SUM 0
#define MEAN 1
#define MAX 2
#define MIN 3
#define ARGMAX 4

// `n` elements, `step` apart, for each of up to three further axes; the rows of one long row may be shorter at its end, which `total` tells.
struct Axes {
  uint n, step, total;
  uint extents[3], from[3], to[3];
};

// What is known of some elements: their sum, or the one that is wanted and its number.
struct Found {
  float value;
  uint number;
};

static bool is_better(float value, uint number, Found than) {
  const bool is_nan = isnan(value), was_nan = isnan(than.value);
  if (is_nan != was_nan)
    return is_nan;
  if (is_nan || value == than.value)
    return number < than.number;
  return DC_OPERATION == MIN ? value < than.value : value > than.value;
}

static Found nothing() {
  if (DC_OPERATION == SUM || DC_OPERATION == MEAN)
    return {0.0f, 0};
  return {DC_OPERATION == MIN ? INFINITY : -INFINITY, 0xffffffffu};
}

static Found with(Found found, float value, uint number) {
  if (DC_OPERATION == SUM || DC_OPERATION == MEAN)
    return {found.value + value, 0};
  if (is_better(value, number, found))
    return {value, number};
  return found;
}

struct Joined {
  Found operator()(Found a, Found b) const { return with(a, b.value, b.number); }
};

static U result_of(Found found, uint n) {
  if (DC_OPERATION == ARGMAX)
    return U(found.number);
  return U(DC_OPERATION == MEAN ? found.value / float(n) : found.value);
}

static ulong place_of(uint3 at, constant uint *strides) {
  return ulong(at.x) * strides[2] + ulong(at.y) * strides[1] + ulong(at.z) * strides[0];
}

// A thread for each result: where those beside each other read what lies beside each other.
kernel void reduce_columns(const device T *x [[buffer(0)]], device U *y [[buffer(1)]], constant Axes &axes [[buffer(2)]],
                           uint3 at [[thread_position_in_grid]]) {
  const device T *own = x + ulong(at.y) * axes.from[1] + ulong(at.z) * axes.from[0] + at.x;
  Found found = nothing();
  for (uint i = 0; i < axes.n; i++)
    found = with(found, float(own[ulong(i) * axes.step]), i);
  y[place_of(at, axes.to)] = result_of(found, axes.n);
}

// The same of elements that lie anyhow.
kernel void reduce_each(const device T *x [[buffer(0)]], device U *y [[buffer(1)]], constant Axes &axes [[buffer(2)]],
                        uint3 at [[thread_position_in_grid]]) {
  const device T *own = x + place_of(at, axes.from);
  Found found = nothing();
  for (uint i = 0; i < axes.n; i++)
    found = with(found, float(own[ulong(i) * axes.step]), i);
  y[place_of(at, axes.to)] = result_of(found, axes.n);
}

// A row of threads for each result, of elements beside each other.
kernel void reduce_rows(const device T *x [[buffer(0)]], device U *y [[buffer(1)]], constant Axes &axes [[buffer(2)]],
                        uint3 at [[thread_position_in_threadgroup]], uint3 group [[threadgroup_position_in_grid]]) {
  threadgroup Found part[ROWS_AT_ONCE * ROOM];
  // The last rows of a threadgroup may not be there: they are the last one again.
  const uint row = group.y * ROWS_AT_ONCE + at.y, last = min(row, axes.extents[2] - 1);
  const uint3 place = uint3(last, group.z % axes.extents[1], group.z / axes.extents[1]);
  const device T *own = x + place_of(place, axes.from) + at.x;
  const uint first = axes.total == 0 ? 0 : last * axes.n;
  const uint n = axes.total == 0 ? axes.n : min(axes.n, axes.total - first), whole = n / WIDTH;
  Found found = nothing();
  for (uint i = 0; i < whole; i++)
    found = with(found, float(own[ulong(i) * WIDTH]), first + i * WIDTH + at.x);
  threadgroup_barrier(mem_flags::mem_none);
  if (whole * WIDTH + at.x < n)
    found = with(found, float(own[ulong(whole) * WIDTH]), first + whole * WIDTH + at.x);
  found = combined(part + at.y * ROOM, found, at.x, Joined());
  if (at.x == 0 && row < axes.extents[2])
    y[place_of(place, axes.to)] = result_of(found, axes.total == 0 ? n : axes.total);
}

// Which of some elements, by their numbers, is the largest.
kernel void reduce_numbers(const device T *x [[buffer(0)]], const device uint *numbers [[buffer(1)]], device U *y [[buffer(2)]], constant uint &n [[buffer(3)]],
                           uint3 at [[thread_position_in_threadgroup]]) {
  threadgroup Found part[ROWS_AT_ONCE * ROOM];
  Found found = nothing();
  for (uint i = at.x; i < n; i += WIDTH)
    found = with(found, float(x[numbers[i]]), numbers[i]);
  found = combined(part + at.y * ROOM, found, at.x, Joined());
  if (at.x == 0 && at.y == 0)
    *y = result_of(found, n);
}
