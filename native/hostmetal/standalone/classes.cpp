// object_getClass as a symbol: GCC's header has only an inline function of that name, so the header is not included here.
extern "C" __attribute__((visibility("default"))) void *object_getClass(void *object) {
  return object ? *static_cast<void **>(object) : nullptr;  // the first word of an object is its class
}
