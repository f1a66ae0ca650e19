#include <algorithm>
#include <iterator>
#include <mutex>

#include "cudnn_api.h"
#include "runtime/cuda/libraries/core/soname.h"
#include "runtime/cuda/libraries/dnn/descriptors.h"

namespace ptx2cpu::cuda {
#define STATUS(name, number8, number9)      \
  const cudnnStatus_t CUDNN_STATUS_##name = \
      static_cast<cudnnStatus_t>(libraries::kSonameMajor < 9 ? number8 : number9);
#include "runtime/cuda/abi/cudnn_status.def"
}  // namespace ptx2cpu::cuda

namespace ptx2cpu::cudnn {

namespace {

struct StatusRow {
  const char* name;
  int numbers[2];
};
constexpr StatusRow kStatus[] = {
    {"CUDNN_STATUS_SUCCESS", {0, 0}},
#define STATUS(name, number8, number9) {"CUDNN_STATUS_" #name, {number8, number9}},
#include "runtime/cuda/abi/cudnn_status.def"
};

// Numbers that only version 9 has, and those that it names otherwise.
struct NameRow {
  const char* name;
  int number;
};
constexpr NameRow kNamesOf9[] = {
    {"CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", 1002},
    {"CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH", 1003},
    {"CUDNN_STATUS_DEPRECATED", 1004},
    {"CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED", 1008},
    {"CUDNN_STATUS_BAD_PARAM_NULL_POINTER", 2002},
    {"CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER", 2003},
    {"CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED", 2004},
    {"CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND", 2005},
    {"CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT", 2006},
    {"CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH", 2007},
    {"CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH", 2008},
    {"CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES", 2009},
    {"CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE", 2010},
    {"CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN", 3001},
    {"CUDNN_STATUS_NOT_SUPPORTED_SHAPE", 3002},
    {"CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE", 3003},
    {"CUDNN_STATUS_NOT_SUPPORTED_LAYOUT", 3004},
    {"CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH", 3007},
    {"CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED", 4001},
    {"CUDNN_STATUS_INTERNAL_ERROR_UNEXPECTED_VALUE", 4002},
    {"CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED", 4003},
    {"CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", 4004},
    {"CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER", 5001},
    {"CUDNN_STATUS_EXECUTION_FAILED_CUBLAS", 5002},
    {"CUDNN_STATUS_EXECUTION_FAILED_CUDART", 5003},
    {"CUDNN_STATUS_EXECUTION_FAILED_CURAND", 5004},
};

// The last release of each soname.
struct Release {
  int soname, major, minor, patch, cudart;
  size_t version;
};
constexpr Release kReleases[] = {{8, 8, 9, 7, 12020, 8907}, {9, 9, 1, 0, 12040, 90100}};
Release ThisRelease() { return *std::ranges::find(kReleases, libraries::kSonameMajor, &Release::soname); }

}  // namespace

const char* cudnnGetErrorString(cudnnStatus_t status) {
  if (libraries::kSonameMajor >= 9) {
    const auto* row = std::ranges::find(kNamesOf9, static_cast<int>(status), &NameRow::number);
    if (row != std::end(kNamesOf9)) return row->name;
  }
  const size_t column = libraries::kSonameMajor < 9 ? 0 : 1;
  const auto* row = std::ranges::find_if(
      kStatus, [&](const StatusRow& each) { return each.numbers[column] == static_cast<int>(status); });
  return row == std::end(kStatus) ? "CUDNN_UNKNOWN_STATUS" : row->name;
}
void cudnnGetLastErrorString(char* message, size_t size) {
  if (message != nullptr && size != 0) *message = 0;
}

size_t cudnnGetVersion() { return ThisRelease().version; }
size_t cudnnGetMaxDeviceVersion() { return 900; }
size_t cudnnGetCudartVersion() { return static_cast<size_t>(ThisRelease().cudart); }
cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL)
    return libraries::kSonameMajor < 9 ? CUDNN_STATUS_INVALID_VALUE : CUDNN_STATUS_BAD_PARAM;
  const Release release = ThisRelease();
  const int numbers[] = {release.major, release.minor, release.patch};
  *value = numbers[type];
  return CUDNN_STATUS_SUCCESS;
}

namespace {

// What a program asked to receive. It receives nothing: messages of refusals are on standard error.
struct Callback {
  std::mutex mutex;
  unsigned mask = 0;
  void *data = nullptr, *function = nullptr;
};
Callback& TheCallback() {
  static Callback callback;
  return callback;
}

}  // namespace

cudnnStatus_t cudnnSetCallback(unsigned mask, void* data, void* callback) {
  Callback& of = TheCallback();
  const std::scoped_lock lock(of.mutex);
  of.mask = mask, of.data = data, of.function = callback;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetCallback(unsigned* mask, void** data, void** callback) {
  if (!AllGiven(mask, data, callback)) return CUDNN_STATUS_BAD_PARAM;
  Callback& of = TheCallback();
  const std::scoped_lock lock(of.mutex);
  *mask = of.mask, *data = of.data, *callback = of.function;
  return CUDNN_STATUS_SUCCESS;
}
// Faults of queued work are the context's errors, which the runtime reports.
cudnnStatus_t cudnnQueryRuntimeError(cudnnHandle_t handle, cudnnStatus_t* status, cudnnErrQueryMode_t mode,
                                     void*) {
  if (!AllGiven(handle, status) || mode < CUDNN_ERRQUERY_RAWCODE || mode > CUDNN_ERRQUERY_BLOCKING)
    return CUDNN_STATUS_BAD_PARAM;
  if (mode == CUDNN_ERRQUERY_BLOCKING && libraries::Synchronize(handle->stream) != CUDA_SUCCESS)
    *status = CUDNN_STATUS_EXECUTION_FAILED;
  else
    *status = CUDNN_STATUS_SUCCESS;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace ptx2cpu::cudnn
