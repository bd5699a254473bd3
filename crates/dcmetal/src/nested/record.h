/* A launch that a kernel writes for dcmetal (dcmetal::nested); MSL and OpenCL C. */
struct dcmetal_command {
  unsigned int function;        /* its number in the table */
  unsigned int threadgroups[3]; /* a 0: nothing runs */
  unsigned int threads[3];      /* of a threadgroup */
  unsigned int barrier;         /* not 0: it waits for all commands before it; one without waits for none */
  unsigned int arguments[8][2]; /* of each argument: the number of its memory, and the byte there at which it begins */
};
