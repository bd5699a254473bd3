// The program that porting.rs was made from: OpenCL 1.2, with the same kernel file.
//
//   cc porting_before.c -lOpenCL -lm -o before && ./before porting.cl
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 90, HEIGHT = 70, STEPS = 100, GROUP = 16 };
static const float RATE = 0.2f;

static void must(cl_int status, const char *what) {
  if (status != CL_SUCCESS) {
    fprintf(stderr, "%s: OpenCL error %d\n", what, status);
    exit(1);
  }
}

int main(int argc, char **argv) {
  FILE *file = fopen(argc > 1 ? argv[1] : "porting.cl", "rb");
  static char source[1 << 16];
  if (!file || fread(source, 1, sizeof source - 1, file) == 0) return 1;
  fclose(file);
  const char *text = source;

  static float plate[WIDTH * HEIGHT];
  const double pi = 3.14159265358979323846;
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++)
      plate[y * WIDTH + x] = (float)(sin(pi * (x + 1) / (WIDTH + 1)) * sin(pi * (y + 1) / (HEIGHT + 1)));

  cl_int status;
  cl_platform_id platform;
  cl_device_id device;
  must(clGetPlatformIDs(1, &platform, NULL), "platform");
  must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  must(status, "context");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
  must(status, "queue");
  cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
  must(status, "program");
  must(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
  cl_kernel heat = clCreateKernel(program, "heat", &status);
  must(status, "kernel");
  cl_mem now = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof plate, plate, &status);
  must(status, "buffer");
  cl_mem next = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof plate, NULL, &status);
  must(status, "buffer");

  const size_t global[2] = {(WIDTH + GROUP - 1) / GROUP * GROUP, (HEIGHT + GROUP - 1) / GROUP * GROUP};
  const size_t local[2] = {GROUP, GROUP};
  const int width = WIDTH, height = HEIGHT;
  for (int step = 0; step < STEPS; step++) {
    must(clSetKernelArg(heat, 0, sizeof now, &now), "argument");
    must(clSetKernelArg(heat, 1, sizeof next, &next), "argument");
    must(clSetKernelArg(heat, 2, (GROUP + 2) * (GROUP + 2) * sizeof(float), NULL), "argument");
    must(clSetKernelArg(heat, 3, sizeof width, &width), "argument");
    must(clSetKernelArg(heat, 4, sizeof height, &height), "argument");
    must(clSetKernelArg(heat, 5, sizeof RATE, &RATE), "argument");
    must(clEnqueueNDRangeKernel(queue, heat, 2, NULL, global, local, 0, NULL, NULL), "launch");
    cl_mem swapped = now;
    now = next;
    next = swapped;
  }
  must(clEnqueueReadBuffer(queue, now, CL_TRUE, 0, sizeof plate, plate, 0, NULL, NULL), "read");

  printf("%d steps, the middle is at %.4f\n", STEPS, plate[HEIGHT / 2 * WIDTH + WIDTH / 2]);
  clReleaseMemObject(now);
  clReleaseMemObject(next);
  clReleaseKernel(heat);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return 0;
}
