// The one algorithm that heuristics report, under the numbers of all those that a program may know.
#include <algorithm>
#include <cstring>

#include "runtime/cuda/libraries/lt/matmul.h"

namespace ptx2cpu::cublaslt {

using namespace cuda;

namespace {

constexpr int kAlgorithm = 0;
// The original's are below.
constexpr int kAlgorithmNumbers = 128;

// Sizes and status are those of the original. What a program could choose has no effect, so there is nothing
// to choose from: no tiles, stages or parts of the depth.
struct Capability {
  int number;
  size_t size;
  uint64_t value;
};
constexpr Capability kCapabilities[] = {
    {0, 4, 0},                                              // parts of the depth
    {1, 4, 0},                                              // ways to add these up
    {2, 4, 0},                                              // orders of blocks
    {3, 4, 1},                                              // batches a stride apart
    {4, 4, 1},                                              // D beside C
    {5, 4, 0},                                              // triangles of D
    {6, 0, 0},                                              // tiles
    {7, 4, 0},                                              // the largest custom option
    {10, 4, 0},                                             // orders of memory beyond columns and rows
    {11, 4, 31},                                            // pointer modes
    {12, 4, 1023},     {13, 0, 0},                          // stages
    {14, 4, 0},                                             // negative leading dimensions
    {15, 8, 0x080201},                                      // multiply-adds of f32
    {16, 4, 1},                                             // alignment of A, B, C and D
    {17, 4, 1},        {18, 4, 1}, {19, 4, 1}, {21, 4, 1},  // batches as arrays of pointers
    {22, 4, 0},                                             // emulation
};

cublasLtMatmulHeuristicResult_t ResultOf(int id) {
  cublasLtMatmulHeuristicResult_t result{};
  result.algo.id = id;
  result.state = CUBLAS_STATUS_SUCCESS, result.waves_count = 1;
  return result;
}

// Whatever the other types are: the one algorithm is for all of them.
bool IsCompute(cublasComputeType_t type) {
  return type >= CUBLAS_COMPUTE_16F && type <= CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT;
}

// The bytes of an attribute of a configuration: shapes of parts and of clusters have 16 bits. 0: there is
// none.
size_t ConfigBytes(cublasLtMatmulAlgoConfigAttributes_t attribute) {
  if (attribute < 0 || attribute > 8) return 0;
  return attribute < 7 ? sizeof(uint32_t) : sizeof(uint16_t);
}

}  // namespace

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t descr,
                                              cublasLtMatrixLayout_t layoutA, cublasLtMatrixLayout_t layoutB,
                                              cublasLtMatrixLayout_t layoutC, cublasLtMatrixLayout_t layoutD,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (preference == nullptr || wanted <= 0 || results == nullptr || found == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  *found = 0;
  if (const cublasStatus_t wrong = CheckMatmulCall(handle, descr, layoutA, layoutB, layoutC, layoutD))
    return wrong;
  results[0] = ResultOf(kAlgorithm);
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t handle, cublasComputeType_t compute, cudaDataType_t,
                                        cudaDataType_t, cudaDataType_t, cudaDataType_t, cudaDataType_t,
                                        int wanted, int ids[], int* found) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (wanted <= 0 || ids == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (!IsCompute(compute)) return CUBLAS_STATUS_NOT_SUPPORTED;
  ids[0] = kAlgorithm;
  if (found != nullptr) *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t handle, cublasComputeType_t compute, cudaDataType_t,
                                      cudaDataType_t, cudaDataType_t, cudaDataType_t, cudaDataType_t, int id,
                                      cublasLtMatmulAlgo_t* algo) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!IsCompute(compute)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (id < -1 || id >= kAlgorithmNumbers || algo == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *algo = ResultOf(id).algo;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t descr,
                                       cublasLtMatrixLayout_t layoutA, cublasLtMatrixLayout_t layoutB,
                                       cublasLtMatrixLayout_t layoutC, cublasLtMatrixLayout_t layoutD,
                                       const cublasLtMatmulAlgo_t* algo,
                                       cublasLtMatmulHeuristicResult_t* result) {
  if (const cublasStatus_t wrong = CheckMatmulCall(handle, descr, layoutA, layoutB, layoutC, layoutD))
    return wrong;
  if (algo == nullptr || result == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *result = ResultOf(algo->id);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                 cublasLtMatmulAlgoCapAttributes_t attribute, void* data,
                                                 size_t size, size_t* written) {
  const auto row = std::ranges::find(kCapabilities, static_cast<int>(attribute), &Capability::number);
  if (algo == nullptr || row == std::end(kCapabilities) || (size == 0 && written == nullptr) ||
      (size != 0 && (data == nullptr || size < row->size)))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (size != 0) std::memcpy(data, &row->value, row->size);
  if (written != nullptr) *written = row->size;
  return CUBLAS_STATUS_SUCCESS;
}
// Attributes 0 (the algorithm's number, which only reads) to 8: kept, without an effect.
cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    const void* data, size_t size) {
  if (algo == nullptr || data == nullptr || attribute < 1 || size == 0 || size != ConfigBytes(attribute))
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&algo->config[attribute], data, size);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void* data, size_t size, size_t* written) {
  const size_t bytes = ConfigBytes(attribute);
  if (algo == nullptr || bytes == 0 || (size == 0 && written == nullptr) ||
      (size != 0 && (data == nullptr || size != bytes)))
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(data, attribute == 0 ? static_cast<const void*>(&algo->id) : &algo->config[attribute], size);
  if (written != nullptr) *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace ptx2cpu::cublaslt
