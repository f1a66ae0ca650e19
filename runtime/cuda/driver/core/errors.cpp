#include "runtime/cuda/driver/core/errors.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "runtime/abi/abi.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

struct Row {
  CUresult result;
  const char* name;
  const char* text;
};

constexpr auto kRows = std::to_array<Row>({
#define RESULT(name, text) {name, #name, text},
#include "runtime/cuda/driver/core/errors.def"
#undef RESULT
});

const Row* Find(CUresult result) {
  const auto row = std::lower_bound(kRows.begin(), kRows.end(), result,
                                    [](const Row& a, CUresult b) { return a.result < b; });
  return row != kRows.end() && row->result == result ? &*row : nullptr;
}
static_assert(std::is_sorted(kRows.begin(), kRows.end(),
                             [](const Row& a, const Row& b) { return a.result < b.result; }));

CUresult ResultOfFault(uint32_t fault) {
  switch (static_cast<ptx2cpu_fault_kind>(fault)) {
    case PTX2CPU_FAULT_ASSERT:
      return CUDA_ERROR_ASSERT;
    case PTX2CPU_FAULT_BAD_ADDRESS:
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    case PTX2CPU_FAULT_MISALIGNED:
      return CUDA_ERROR_MISALIGNED_ADDRESS;
    case PTX2CPU_FAULT_STACK:
      return CUDA_ERROR_HARDWARE_STACK_ERROR;
    case PTX2CPU_FAULT_BAD_BARRIER:
    case PTX2CPU_FAULT_NOT_A_MEMBER:
    case PTX2CPU_FAULT_BAD_DESCRIPTOR:
      return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case PTX2CPU_FAULT_DEADLOCK:
      return CUDA_ERROR_LAUNCH_TIMEOUT;
    case PTX2CPU_FAULT_TRAP:
    case PTX2CPU_FAULT_DIVERGENT_BRANCH:  // from here on: what a GPU would not notice
    case PTX2CPU_FAULT_DIVERGENT_BARRIER:
    case PTX2CPU_FAULT_MISSING_MEMBERS:
    case PTX2CPU_FAULT_UNREACHABLE:
    case PTX2CPU_FAULT_BAD_FUNCTION:
      break;
  }
  return CUDA_ERROR_LAUNCH_FAILED;
}

}  // namespace

const char* NameOf(CUresult result) {
  const Row* row = Find(result);
  return row == nullptr ? nullptr : row->name;
}

const char* TextOf(CUresult result) {
  const Row* row = Find(result);
  return row == nullptr ? nullptr : row->text;
}

CUresult ResultOf(const Error& error) {
  switch (error.code) {
    case ErrorCode::kFile:
      return CUDA_ERROR_FILE_NOT_FOUND;
    case ErrorCode::kContainer:
      return CUDA_ERROR_INVALID_IMAGE;
    case ErrorCode::kUsage:
      return CUDA_ERROR_INVALID_IMAGE;
    case ErrorCode::kNoPtx:
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    case ErrorCode::kSyntax:
      return CUDA_ERROR_INVALID_PTX;
    case ErrorCode::kUnsupported:
      return CUDA_ERROR_NOT_SUPPORTED;
    case ErrorCode::kNotFound:
      return CUDA_ERROR_NOT_FOUND;
    case ErrorCode::kFault:
      return CUDA_ERROR_LAUNCH_FAILED;
    case ErrorCode::kLaunch:  // of compiling and loading: no memory, no thread
      return CUDA_ERROR_OUT_OF_MEMORY;
    case ErrorCode::kLink:
    case ErrorCode::kInternal:
      break;
  }
  return CUDA_ERROR_UNKNOWN;
}

CUresult ResultOf(const rt::LaunchError& error) {
  switch (error.kind) {
    case rt::LaunchError::Kind::kShape:
      return CUDA_ERROR_INVALID_VALUE;
    case rt::LaunchError::Kind::kResources:
      return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    case rt::LaunchError::Kind::kInternal:
      return CUDA_ERROR_UNKNOWN;
    case rt::LaunchError::Kind::kFault:
      break;
  }
  return ResultOfFault(error.fault);
}

void Warn(std::string_view message) {
  const std::string line =
      "ptx2cpu: " + std::string(message) + "\n";  // one write: lines of threads do not mix
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace ptx2cpu::driver
