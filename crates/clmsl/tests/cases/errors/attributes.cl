struct E { int n __attribute__((endian(device))); };
