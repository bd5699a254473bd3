// Forms for vectors of functions that exist for scalars.
#define CLMSL_LANES_1(F, R, T) \
  inline metal::R##2 F(metal::T##2 a) { return metal::R##2(F(a.x), F(a.y)); } \
  inline metal::R##3 F(metal::T##3 a) { return metal::R##3(F(a.x), F(a.y), F(a.z)); } \
  inline metal::R##4 F(metal::T##4 a) { return metal::R##4(F(a.x), F(a.y), F(a.z), F(a.w)); }
#define CLMSL_LANES_2(F, R, T, U) \
  inline metal::R##2 F(metal::T##2 a, metal::U##2 b) { return metal::R##2(F(a.x, b.x), F(a.y, b.y)); } \
  inline metal::R##3 F(metal::T##3 a, metal::U##3 b) { return metal::R##3(F(a.x, b.x), F(a.y, b.y), F(a.z, b.z)); } \
  inline metal::R##4 F(metal::T##4 a, metal::U##4 b) { \
    return metal::R##4(F(a.x, b.x), F(a.y, b.y), F(a.z, b.z), F(a.w, b.w)); \
  }
#define CLMSL_LANES_3(F, T) \
  inline metal::T##2 F(metal::T##2 a, metal::T##2 b, metal::T##2 c) { \
    return metal::T##2(F(a.x, b.x, c.x), F(a.y, b.y, c.y)); \
  } \
  inline metal::T##3 F(metal::T##3 a, metal::T##3 b, metal::T##3 c) { \
    return metal::T##3(F(a.x, b.x, c.x), F(a.y, b.y, c.y), F(a.z, b.z, c.z)); \
  } \
  inline metal::T##4 F(metal::T##4 a, metal::T##4 b, metal::T##4 c) { \
    return metal::T##4(F(a.x, b.x, c.x), F(a.y, b.y, c.y), F(a.z, b.z, c.z), F(a.w, b.w, c.w)); \
  }
