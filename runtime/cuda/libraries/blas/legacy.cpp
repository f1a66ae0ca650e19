#include "runtime/cuda/libraries/blas/legacy.h"

#include <atomic>
#include <optional>

namespace ptx2cpu::cublas {

namespace {

// As documented, for programs of one device: calls of several host threads are the program's to order.
struct LegacyState {
  std::optional<cublasContext> handle;
  std::atomic<cublasStatus_t> status{CUBLAS_STATUS_SUCCESS};
};
LegacyState& State() {
  static LegacyState state;
  return state;
}

}  // namespace

cublasHandle_t LegacyHandle() { return State().handle ? &*State().handle : nullptr; }
void MakeLegacyHandle() {
  if (!State().handle) State().handle.emplace();
}
void DropLegacyHandle() { State().handle.reset(); }
void NoteLegacyStatus(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) State().status = status;
}
cublasStatus_t TakeLegacyStatus() { return State().status.exchange(CUBLAS_STATUS_SUCCESS); }

cublasOperation_t Modern(cublasLegacyOperation letter) {
  const char upper = static_cast<char>(letter & ~0x20);
  return upper == 'N'   ? CUBLAS_OP_N
         : upper == 'T' ? CUBLAS_OP_T
         : upper == 'C' ? CUBLAS_OP_C
                        : static_cast<cublasOperation_t>(-1);
}
cublasFillMode_t Modern(cublasLegacyFill letter) {
  const char upper = static_cast<char>(letter & ~0x20);
  return upper == 'L'   ? CUBLAS_FILL_MODE_LOWER
         : upper == 'U' ? CUBLAS_FILL_MODE_UPPER
                        : static_cast<cublasFillMode_t>(-1);
}
cublasSideMode_t Modern(cublasLegacySide letter) {
  const char upper = static_cast<char>(letter & ~0x20);
  return upper == 'L'   ? CUBLAS_SIDE_LEFT
         : upper == 'R' ? CUBLAS_SIDE_RIGHT
                        : static_cast<cublasSideMode_t>(-1);
}
cublasDiagType_t Modern(cublasLegacyDiagonal letter) {
  const char upper = static_cast<char>(letter & ~0x20);
  return upper == 'N'   ? CUBLAS_DIAG_NON_UNIT
         : upper == 'U' ? CUBLAS_DIAG_UNIT
                        : static_cast<cublasDiagType_t>(-1);
}

}  // namespace ptx2cpu::cublas
