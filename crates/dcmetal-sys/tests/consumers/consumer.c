/* A C99 program against an installed DCMetal: y = a * x + y on the default device, and an error read on the way. */
#include <DCMetal.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000 };

static const char SOURCE[] =
    "kernel void saxpy(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],\n"
    "                  constant float &a [[buffer(2)]], uint i [[thread_position_in_grid]]) {\n"
    "  y[i] = a * x[i] + y[i];\n"
    "}\n";

/* Ends the program with the error's words unless status is DC_METAL_OK. */
static void demand(DCMetalStatus status, DCMetalError error, const char *what) {
  size_t length;
  char *message;
  if (status == DC_METAL_OK) return;
  length = DCMetalError_GetMessage(error, NULL, 0);
  message = malloc(length + 1);
  if (!message) abort();
  DCMetalError_GetMessage(error, message, length + 1);
  fprintf(stderr, "%s: status %d: %s\n", what, (int)status, message);
  free(message);
  DCMetalError_Release(error);
  exit(1);
}

static void completed(void *context, DCMetalStatus status, DCMetalError failure) {
  *(int *)context = status == DC_METAL_OK && failure == NULL;
}

int main(void) {
  static float x[COUNT], y[COUNT];
  const float a = 3.0f;
  const DCMetalSize threads = {COUNT, 1, 1}, threadgroup = {32, 1, 1};
  DCMetalError error = NULL;
  DCMetalDevice device = NULL;
  DCMetalQueue queue = NULL;
  DCMetalLibrary library = NULL;
  DCMetalFunction function = NULL;
  DCMetalPipeline pipeline = NULL;
  DCMetalBuffer in = NULL, out = NULL;
  DCMetalCommandBuffer command_buffer = NULL;
  DCMetalComputeEncoder encoder = NULL;
  const float *result;
  int i, told = 0;

  if (DCMetal_AbiVersion() != DC_METAL_ABI_VERSION) {
    fprintf(stderr, "the library's ABI version is not the header's\n");
    return 1;
  }
  for (i = 0; i < COUNT; i++) {
    x[i] = (float)(i - 500);
    y[i] = (float)(i % 7);
  }
  demand(DCMetalDevice_CreateSystemDefault(&device, &error), error, "device");
  demand(DCMetalQueue_Create(device, 0, &queue, &error), error, "queue");
  demand(DCMetalLibrary_CreateWithSource(device, SOURCE, strlen(SOURCE), NULL, &library, &error), error, "library");

  if (DCMetalFunction_Create(library, "absent", NULL, &function, &error) != DC_METAL_NOT_FOUND || function || !error) {
    fprintf(stderr, "a function that is not there was not refused\n");
    return 1;
  }
  DCMetalError_Release(error);

  demand(DCMetalFunction_Create(library, "saxpy", NULL, &function, &error), error, "function");
  demand(DCMetalPipeline_Create(device, function, NULL, &pipeline, &error), error, "pipeline");
  demand(DCMetalBuffer_CreateWithBytes(device, x, sizeof x, DC_METAL_STORAGE_SHARED, &in, &error), error, "buffer");
  demand(DCMetalBuffer_CreateWithBytes(device, y, sizeof y, DC_METAL_STORAGE_SHARED, &out, &error), error, "buffer");
  demand(DCMetalCommandBuffer_Create(queue, NULL, &command_buffer, &error), error, "command buffer");
  demand(DCMetalComputeEncoder_Create(command_buffer, DC_METAL_DISPATCH_SERIAL, &encoder, &error), error, "encoder");
  demand(DCMetalComputeEncoder_SetPipeline(encoder, pipeline, &error), error, "set pipeline");
  demand(DCMetalComputeEncoder_SetBuffer(encoder, in, 0, 0, &error), error, "set buffer 0");
  demand(DCMetalComputeEncoder_SetBuffer(encoder, out, 0, 1, &error), error, "set buffer 1");
  demand(DCMetalComputeEncoder_SetBytes(encoder, &a, sizeof a, 2, &error), error, "set bytes");
  demand(DCMetalComputeEncoder_DispatchThreads(encoder, threads, threadgroup, &error), error, "dispatch");
  demand(DCMetalComputeEncoder_EndEncoding(encoder, &error), error, "end encoding");
  demand(DCMetalCommandBuffer_AddCompletedHandler(command_buffer, completed, &told, &error), error, "handler");
  demand(DCMetalCommandBuffer_Commit(command_buffer, &error), error, "commit");
  demand(DCMetalCommandBuffer_WaitUntilCompleted(command_buffer, &error), error, "wait");

  result = DCMetalBuffer_GetContents(out);
  for (i = 0; i < COUNT; i++) {
    if (result[i] != a * x[i] + y[i]) {
      fprintf(stderr, "element %d is %g, not %g\n", i, (double)result[i], (double)(a * x[i] + y[i]));
      return 1;
    }
  }
  if (!told) {
    fprintf(stderr, "the completion handler was not called before the wait ended\n");
    return 1;
  }

  DCMetalComputeEncoder_Release(encoder);
  DCMetalCommandBuffer_Release(command_buffer);
  DCMetalBuffer_Release(out);
  DCMetalBuffer_Release(in);
  DCMetalPipeline_Release(pipeline);
  DCMetalFunction_Release(function);
  DCMetalLibrary_Release(library);
  DCMetalQueue_Release(queue);
  DCMetalDevice_Release(device);
  printf("%d elements are right\n", COUNT);
  return 0;
}
