// DCMetalPerformance.mm: the C ABI over Metal Performance Shaders.
//
// Apple's validation of these classes ends the process: it is no exception. So everything that it looks at is checked here first.

#include "DCMetalShim.h"

#import <MetalPerformanceShaders/MetalPerformanceShaders.h>

using namespace dcmetal;

struct DCMetalMultiplication_s {
  DCMetalMultiplication_s(MPSMatrixMultiplication *kernel, const DCMetalMultiplicationDescriptor &of)
      : object(kernel), descriptor(of) {}
  Strong<MPSMatrixMultiplication *> object;
  const DCMetalMultiplicationDescriptor descriptor;
  uint64_t registry_id = 0;
};

struct DCMetalRowKernel_s {
  explicit DCMetalRowKernel_s(MPSMatrixUnaryKernel *kernel) : object(kernel) {}
  Strong<MPSMatrixUnaryKernel *> object;
  bool is_neuron = false;
  uint64_t registry_id = 0;
};

static_assert((MPSDataType)DC_METAL_NUMBER_FLOAT16 == MPSDataTypeFloat16 && (MPSDataType)DC_METAL_NUMBER_FLOAT32 == MPSDataTypeFloat32,
              "numbers have Metal's values");

bool DCMetalDevice_SupportsPerformanceShaders(DCMetalDevice device) {
  if (!device) return false;
  return ask(false, [=] { return (bool)MPSSupportsMTLDevice(in(device)); });
}

DCMetalStatus DCMetalMultiplication_Create(DCMetalDevice device, const DCMetalMultiplicationDescriptor *descriptor,
                                           DCMetalMultiplication *multiplication, DCMetalError *error) {
  if (multiplication) *multiplication = nullptr;
  return entry(error, [=] {
    if (!device) return null_argument(error, "device");
    if (!descriptor) return null_argument(error, "descriptor");
    if (!multiplication) return null_argument(error, "multiplication");
    const DCMetalMultiplicationDescriptor &of = *descriptor;
    if (of.rows == 0 || of.columns == 0 || of.interior == 0) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "rows, columns and interior are to be above 0");
    }
    if (!MPSSupportsMTLDevice(in(device))) {
      return fail(error, DC_METAL_UNSUPPORTED, "the device has no Metal Performance Shaders");
    }
    MPSMatrixMultiplication *object =
        owned([[MPSMatrixMultiplication alloc] initWithDevice:in(device)
                                                transposeLeft:of.transpose_left
                                               transposeRight:of.transpose_right
                                                   resultRows:of.rows
                                                resultColumns:of.columns
                                              interiorColumns:of.interior
                                                        alpha:of.alpha
                                                         beta:of.beta]);
    if (!object) return fail(error, DC_METAL_UNSUPPORTED, "Metal made no kernel for products of matrices");
    *multiplication = new (std::nothrow) DCMetalMultiplication_s(object, of);
    if (!*multiplication) return fail(error, DC_METAL_OUT_OF_MEMORY, "no memory for a kernel's handle");
    (*multiplication)->registry_id = [in(device) registryID];
    return DC_METAL_OK;
  });
}

// ------------------------------------------------------------------ matrices

// Where the last element ends; false where that is beyond 64 bits.
static bool end_of(const DCMetalMatrix &matrix, uint64_t element, uint64_t *end) {
  uint64_t matrices, rows, row;
  return !__builtin_mul_overflow(matrix.matrices - 1, matrix.matrices > 1 ? matrix.matrix_bytes : 0, &matrices) &&
         !__builtin_mul_overflow(matrix.rows - 1, matrix.row_bytes, &rows) &&
         !__builtin_mul_overflow(matrix.columns, element, &row) && !__builtin_add_overflow(matrices, rows, end) &&
         !__builtin_add_overflow(*end, row, end) && !__builtin_add_overflow(*end, matrix.offset, end);
}

// What MPSMatrix and its descriptor ask of one.
static DCMetalStatus check_matrix(const DCMetalMatrix &matrix, uint64_t registry_id, const char *name, DCMetalError *error) {
  DCMetalStatus status = check_buffer(matrix.buffer, registry_id, name, error);
  if (status != DC_METAL_OK) return status;
  const auto wrong = [=](const char *why) { return fail(error, DC_METAL_INVALID_ARGUMENT, "the %s matrix: %s", name, why); };
  if (matrix.number != DC_METAL_NUMBER_FLOAT16 && matrix.number != DC_METAL_NUMBER_FLOAT32) {
    return wrong("numbers are of 16 or 32 bits");
  }
  const uint64_t element = matrix.number == DC_METAL_NUMBER_FLOAT16 ? 2 : 4;
  if (matrix.rows == 0 || matrix.columns == 0 || matrix.matrices == 0) return wrong("it has no elements");
  if (matrix.offset % element || matrix.row_bytes % element) return wrong("offset and row_bytes are multiples of an element");
  if (matrix.columns > matrix.row_bytes / element) return wrong("row_bytes is less than a row");
  if (matrix.matrices > 1 && (matrix.matrix_bytes % matrix.row_bytes || matrix.rows > matrix.matrix_bytes / matrix.row_bytes)) {
    return wrong("matrix_bytes is no multiple of row_bytes, or less than all rows");
  }
  uint64_t end = 0;
  if (!end_of(matrix, element, &end) || end > [in(matrix.buffer) length]) return wrong("it ends behind its buffer");
  return DC_METAL_OK;
}

Place dcmetal::place_of(DCMetalBuffer handle, uint64_t offset) {
  id<MTLBuffer> buffer = in(handle);
  if ([buffer storageMode] != MTLStorageModePrivate) return {nullptr, (uintptr_t)[buffer contents] + offset};
  id<MTLHeap> heap = [buffer heap];
  if ([heap type] == MTLHeapTypePlacement) return {(__bridge const void *)heap, [buffer heapOffset] + offset};
  return {(__bridge const void *)buffer, offset};
}

namespace {
// Goes through the rows of a matrix that has passed check_matrix, in the order of their bytes.
struct Rows {
  Rows(const DCMetalMatrix &matrix, uint64_t from) : of(matrix), start(from) {}
  uint64_t row_at(uint64_t matrix, uint64_t row) const { return start + (of.matrices > 1 ? matrix * of.matrix_bytes : 0) + row * of.row_bytes; }
  uint64_t length() const { return of.columns * (of.number == DC_METAL_NUMBER_FLOAT16 ? 2 : 4); }
  uint64_t begin() const { return row_at(at_matrix, at_row); }
  uint64_t end() const { return begin() + length(); }
  uint64_t end_of_all() const { return row_at(of.matrices - 1, of.rows - 1) + length(); }
  bool advance() {
    if (++at_row < of.rows) return true;
    at_row = 0;
    return ++at_matrix < of.matrices;
  }

  const DCMetalMatrix &of;
  const uint64_t start;
  uint64_t at_matrix = 0, at_row = 0;
};
}  // namespace

// Whether two matrices have a byte in common. Rows of one may lie in the gaps between the other's.
static bool overlap(const DCMetalMatrix &one, const DCMetalMatrix &other) {
  const Place a = place_of(one.buffer, one.offset), b = place_of(other.buffer, other.offset);
  Rows x(one, a.bytes), y(other, b.bytes);
  if (a.from != b.from || x.end_of_all() <= y.begin() || y.end_of_all() <= x.begin()) return false;
  for (;;) {
    const bool x_is_before = x.end() <= y.begin();
    if (!x_is_before && x.begin() < y.end()) return true;
    if (!(x_is_before ? x : y).advance()) return false;
  }
}

static DCMetalStatus check_size(const DCMetalMatrix &matrix, bool transpose, uint64_t rows, uint64_t columns, const char *name,
                                DCMetalError *error) {
  if (matrix.rows == (transpose ? columns : rows) && matrix.columns == (transpose ? rows : columns)) return DC_METAL_OK;
  return fail(error, DC_METAL_INVALID_ARGUMENT, "the %s matrix has not the size that was said", name);
}

static DCMetalStatus check_matrices(DCMetalMultiplication multiplication, const DCMetalMatrix &left, const DCMetalMatrix &right,
                                    const DCMetalMatrix &result, DCMetalError *error) {
  const DCMetalMultiplicationDescriptor &of = multiplication->descriptor;
  DCMetalStatus status = check_matrix(left, multiplication->registry_id, "left", error);
  if (status == DC_METAL_OK) status = check_matrix(right, multiplication->registry_id, "right", error);
  if (status == DC_METAL_OK) status = check_matrix(result, multiplication->registry_id, "result", error);
  if (status == DC_METAL_OK) status = check_size(left, of.transpose_left, of.rows, of.interior, "left", error);
  if (status == DC_METAL_OK) status = check_size(right, of.transpose_right, of.interior, of.columns, "right", error);
  if (status == DC_METAL_OK) status = check_size(result, false, of.rows, of.columns, "result", error);
  if (status != DC_METAL_OK) return status;
  if (left.number != right.number || (result.number != left.number && result.number != DC_METAL_NUMBER_FLOAT32)) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "left and right are of one kind of numbers, the result of that or of FLOAT32");
  }
  if (left.matrices != result.matrices || right.matrices != result.matrices) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "there are not as many left and right matrices as results");
  }
  if (overlap(left, result) || overlap(right, result)) {
    return fail(error, DC_METAL_INVALID_ARGUMENT, "the result overlaps another matrix");
  }
  return DC_METAL_OK;
}

DCMetalStatus dcmetal::check_moment(DCMetalCommandBuffer command_buffer, uint64_t registry_id, DCMetalError *error) {
  if (!command_buffer) return null_argument(error, "command_buffer");
  DCMetalStatus state = check_uncommitted(command_buffer, error);
  if (state != DC_METAL_OK) return state;
  if (command_buffer->encoding) return fail(error, DC_METAL_INVALID_STATE, "an encoder of the command buffer is open");
  if ([[command_buffer->object device] registryID] == registry_id) return DC_METAL_OK;
  return fail(error, DC_METAL_INVALID_ARGUMENT, "the command buffer is another device's");
}

// Of one matrix matrix_bytes may be anything here; Metal checks it all the same.
static MPSMatrix *matrix_of(const DCMetalMatrix &of) {
  MPSMatrixDescriptor *descriptor =
      of.matrices > 1 ? [MPSMatrixDescriptor matrixDescriptorWithRows:of.rows
                                                              columns:of.columns
                                                             matrices:of.matrices
                                                             rowBytes:of.row_bytes
                                                          matrixBytes:of.matrix_bytes
                                                             dataType:(MPSDataType)of.number]
                      : [MPSMatrixDescriptor matrixDescriptorWithRows:of.rows
                                                              columns:of.columns
                                                             rowBytes:of.row_bytes
                                                             dataType:(MPSDataType)of.number];
  return owned([[MPSMatrix alloc] initWithBuffer:in(of.buffer) offset:of.offset descriptor:descriptor]);
}

DCMetalStatus DCMetalMultiplication_Encode(DCMetalMultiplication multiplication, DCMetalCommandBuffer command_buffer,
                                           const DCMetalMatrix *left, const DCMetalMatrix *right, const DCMetalMatrix *result,
                                           DCMetalError *error) {
  return entry(error, [=] {
    if (!multiplication) return null_argument(error, "multiplication");
    if (!left || !right || !result) return null_argument(error, "a matrix");
    DCMetalStatus status = check_moment(command_buffer, multiplication->registry_id, error);
    if (status == DC_METAL_OK) status = check_matrices(multiplication, *left, *right, *result, error);
    if (status != DC_METAL_OK) return status;
    MPSMatrix *from = matrix_of(*left), *with = matrix_of(*right), *to = matrix_of(*result);
    if (!from || !with || !to) return fail(error, DC_METAL_OUT_OF_MEMORY, "Metal made no matrix");
    [multiplication->object encodeToCommandBuffer:command_buffer->object leftMatrix:from rightMatrix:with resultMatrix:to];
    return DC_METAL_OK;
  });
}

void DCMetalMultiplication_Release(DCMetalMultiplication multiplication) {
  drop([=] { delete multiplication; });
}

// ------------------------------------------------------------------ DCMetalRowKernel

static DCMetalStatus make_row_kernel(DCMetalDevice device, DCMetalRowKernel *kernel, Class of, DCMetalError *error) {
  if (!device) return null_argument(error, "device");
  if (!kernel) return null_argument(error, "kernel");
  if (!MPSSupportsMTLDevice(in(device))) {
    return fail(error, DC_METAL_UNSUPPORTED, "the device has no Metal Performance Shaders");
  }
  MPSMatrixUnaryKernel *object = owned([(MPSMatrixUnaryKernel *)[of alloc] initWithDevice:in(device)]);
  if (!object) return fail(error, DC_METAL_UNSUPPORTED, "Metal made no kernel for rows of matrices");
  *kernel = new (std::nothrow) DCMetalRowKernel_s(object);
  if (!*kernel) return fail(error, DC_METAL_OUT_OF_MEMORY, "no memory for a kernel's handle");
  (*kernel)->registry_id = [in(device) registryID];
  return DC_METAL_OK;
}

DCMetalStatus DCMetalRowKernel_CreateSoftMax(DCMetalDevice device, DCMetalRowKernel *kernel, DCMetalError *error) {
  if (kernel) *kernel = nullptr;
  return entry(error, [=] { return make_row_kernel(device, kernel, [MPSMatrixSoftMax class], error); });
}

DCMetalStatus DCMetalRowKernel_CreateNeuron(DCMetalDevice device, DCMetalNeuron neuron, float a, float b,
                                            DCMetalRowKernel *kernel, DCMetalError *error) {
  if (kernel) *kernel = nullptr;
  return entry(error, [=] {
    if (neuron != DC_METAL_NEURON_RELU && neuron != DC_METAL_NEURON_SIGMOID && neuron != DC_METAL_NEURON_TANH &&
        neuron != DC_METAL_NEURON_GELU) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "%u is no neuron", (unsigned)neuron);
    }
    DCMetalStatus status = make_row_kernel(device, kernel, [MPSMatrixNeuron class], error);
    if (status != DC_METAL_OK) return status;
    (*kernel)->is_neuron = true;
    MPSMatrixNeuron *object = (MPSMatrixNeuron *)(MPSMatrixUnaryKernel *)(*kernel)->object;
    [object setNeuronType:(MPSCNNNeuronType)neuron parameterA:a parameterB:b parameterC:0];
    return DC_METAL_OK;
  });
}

DCMetalStatus DCMetalRowKernel_Encode(DCMetalRowKernel kernel, DCMetalCommandBuffer command_buffer, const DCMetalMatrix *source,
                                      const DCMetalMatrix *result, DCMetalError *error) {
  return entry(error, [=] {
    if (!kernel) return null_argument(error, "kernel");
    if (!source || !result) return null_argument(error, "a matrix");
    DCMetalStatus status = check_moment(command_buffer, kernel->registry_id, error);
    if (status == DC_METAL_OK) status = check_matrix(*source, kernel->registry_id, "source", error);
    if (status == DC_METAL_OK) status = check_matrix(*result, kernel->registry_id, "result", error);
    if (status == DC_METAL_OK) status = check_size(*result, false, source->rows, source->columns, "result", error);
    if (status != DC_METAL_OK) return status;
    if (source->number != result->number || source->matrices != result->matrices) {
      return fail(error, DC_METAL_INVALID_ARGUMENT, "source and result are as many matrices, of one kind of numbers");
    }
    if (overlap(*source, *result)) return fail(error, DC_METAL_INVALID_ARGUMENT, "source and result overlap");
    MPSMatrix *from = matrix_of(*source), *to = matrix_of(*result);
    if (!from || !to) return fail(error, DC_METAL_OUT_OF_MEMORY, "Metal made no matrix");
    if (kernel->is_neuron) {
      MPSMatrixNeuron *object = (MPSMatrixNeuron *)(MPSMatrixUnaryKernel *)kernel->object;
      [object encodeToCommandBuffer:command_buffer->object inputMatrix:from biasVector:nil resultMatrix:to];
    } else {
      MPSMatrixSoftMax *object = (MPSMatrixSoftMax *)(MPSMatrixUnaryKernel *)kernel->object;
      [object encodeToCommandBuffer:command_buffer->object inputMatrix:from resultMatrix:to];
    }
    return DC_METAL_OK;
  });
}

void DCMetalRowKernel_Release(DCMetalRowKernel kernel) {
  drop([=] { delete kernel; });
}
