// Lines of a matrix into threadgroup memory as floats, by 16 x DC_GROUP threads. Given by the host: DC_T, the elements; DC_GROUP.

constant constexpr uint LANES = 16;

// Lines of a matrix into threadgroup memory: element i of a line, of which `elements` are there, to i * TO_ELEMENT. From where it ends with fewer than
// sixteen on `copy_rest` copies, and writes zeros for those that are not there: what lies there else may be numbers that processors are slow with (subnormal
// ones). Lines that are not there are those of the last again. No result depends on either.
template <uint LINES, uint ELEMENTS, uint TO_LINE, uint TO_ELEMENT>
static void copy_lines(threadgroup float *to, const device T *from, uint stride, uint lines, uint elements, uint2 at) {
  const uint groups = min(ELEMENTS, elements) / LANES;
  threadgroup float *own_to = to + ulong(at.y) * TO_LINE + ulong(at.x) * TO_ELEMENT;
  const device T *own_from = from + at.x;
  for (uint i = 0; i < LINES / DC_GROUP; i++) {
    const device T *begin = own_from + ulong(min(at.y + i * DC_GROUP, lines - 1)) * stride;
    for (uint j = 0; j < groups; j++)
      own_to[i * DC_GROUP * TO_LINE + j * LANES * TO_ELEMENT] = float(begin[j * LANES]);
  }
}

template <uint LINES, uint ELEMENTS, uint TO_LINE, uint TO_ELEMENT>
static void copy_rest(threadgroup float *to, const device T *from, uint stride, uint lines, uint elements, uint2 at) {
  for (uint element = min(ELEMENTS, elements) / LANES * LANES + at.x; element < ELEMENTS; element += LANES)
    for (uint i = 0; i < LINES / DC_GROUP; i++) {
      const uint line = at.y + i * DC_GROUP;
      to[line * TO_LINE + element * TO_ELEMENT] = element < elements ? float(from[ulong(min(line, lines - 1)) * stride + element]) : 0.0f;
    }
}

// A matrix with no elements beside each other.
template <uint LINES, uint ELEMENTS, uint TO_LINE>
static void copy_strided(threadgroup float *to, const device T *from, uint stride, uint step, uint lines, uint elements, uint2 at) {
  for (uint i = 0; i < LINES / DC_GROUP; i++) {
    const uint line = at.y + i * DC_GROUP;
    for (uint element = at.x; element < ELEMENTS; element += LANES)
      to[line * TO_LINE + element] = element < elements ? float(from[ulong(min(line, lines - 1)) * stride + ulong(element) * step]) : 0.0f;
  }
}
