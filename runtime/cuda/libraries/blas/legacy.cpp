#include "runtime/cuda/libraries/blas/legacy.h"

#include <algorithm>
#include <atomic>
#include <iterator>
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

template <typename Value>
struct Option {
  char letter;
  Value value;
};
constexpr Option<cublasOperation_t> kOperations[] = {
    {'N', CUBLAS_OP_N}, {'T', CUBLAS_OP_T}, {'C', CUBLAS_OP_C}};
constexpr Option<cublasFillMode_t> kFills[] = {{'L', CUBLAS_FILL_MODE_LOWER}, {'U', CUBLAS_FILL_MODE_UPPER}};
constexpr Option<cublasSideMode_t> kSides[] = {{'L', CUBLAS_SIDE_LEFT}, {'R', CUBLAS_SIDE_RIGHT}};
constexpr Option<cublasDiagType_t> kDiagonals[] = {{'N', CUBLAS_DIAG_NON_UNIT}, {'U', CUBLAS_DIAG_UNIT}};

// The option of a letter in either case, or a value that no function with a handle takes.
template <typename Letter, typename Value, size_t kCount>
Value Named(Letter letter, const Option<Value> (&options)[kCount]) {
  const char upper = static_cast<char>(letter & ~0x20);
  const auto option = std::ranges::find(options, upper, &Option<Value>::letter);
  return option == std::end(options) ? static_cast<Value>(-1) : option->value;
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

cublasOperation_t Modern(cublasLegacyOperation letter) { return Named(letter, kOperations); }
cublasFillMode_t Modern(cublasLegacyFill letter) { return Named(letter, kFills); }
cublasSideMode_t Modern(cublasLegacySide letter) { return Named(letter, kSides); }
cublasDiagType_t Modern(cublasLegacyDiagonal letter) { return Named(letter, kDiagonals); }

}  // namespace ptx2cpu::cublas
