#include <algorithm>
#include <iterator>

#include "cudnn_api.h"
#include "runtime/cuda/libraries/core/soname.h"

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

// The last release of each soname.
struct Release {
  int soname, major, minor, patch, cudart;
  size_t version;
};
constexpr Release kReleases[] = {{8, 8, 9, 7, 12020, 8907}, {9, 9, 1, 0, 12040, 90100}};
Release ThisRelease() { return *std::ranges::find(kReleases, libraries::kSonameMajor, &Release::soname); }

}  // namespace

const char* cudnnGetErrorString(cudnnStatus_t status) {
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
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) return CUDNN_STATUS_INVALID_VALUE;
  const Release release = ThisRelease();
  const int numbers[] = {release.major, release.minor, release.patch};
  *value = numbers[type];
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace ptx2cpu::cudnn
