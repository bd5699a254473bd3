typedef struct __attribute__((packed)) { char c; int n; } P;
struct E { int n __attribute__((endian(device))); };
