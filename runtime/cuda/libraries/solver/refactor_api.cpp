// cusolverRf. It has no stream: the functions wait for the null stream, and for their own work.
#include <cstdlib>
#include <cstring>

#include "runtime/cuda/libraries/core/device_memory.h"
#include "runtime/cuda/libraries/core/handle.h"
#include "runtime/cuda/libraries/solver/refactor.h"

namespace ptx2cpu::cusolver {

namespace {

// Memory of the device with a copy of an array; programs keep its address.
class DeviceCopy {
 public:
  DeviceCopy() = default;
  ~DeviceCopy() { libraries::Free(memory_); }
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;

  template <typename T>
  cusolverStatus_t Fill(const std::vector<T>& values) {
    const size_t bytes = values.size() * sizeof(T);
    if (bytes > bytes_) {
      libraries::Free(memory_);
      memory_ = nullptr, bytes_ = 0;
      if (const CUresult error = libraries::Allocate(&memory_, bytes)) return FromDriver(error);
      bytes_ = bytes;
    }
    std::memcpy(memory_, values.data(), bytes);
    return CUSOLVER_STATUS_SUCCESS;
  }
  template <typename T>
  T* As() const {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace

}  // namespace ptx2cpu::cusolver

// What a cusolverRfHandle_t points to. Used by one host thread at a time.
struct ptx2cpu::cuda::cusolverRfCommon {
  cusolverRfMatrixFormat_t format = CUSOLVERRF_MATRIX_FORMAT_CSR;
  cusolverRfUnitDiagonal_t unit = CUSOLVERRF_UNIT_DIAGONAL_STORED_L;
  cusolverRfFactorization_t factorization = CUSOLVERRF_FACTORIZATION_ALG0;
  cusolverRfTriangularSolve_t solution = CUSOLVERRF_TRIANGULAR_SOLVE_ALG1;
  cusolverRfResetValuesFastMode_t fast_mode = CUSOLVERRF_RESET_VALUES_FAST_MODE_OFF;
  cusolverRfNumericBoostReport_t report = CUSOLVERRF_NUMERIC_BOOST_NOT_USED;
  double zero = 0, boost = 0;

  enum class Stage { kEmpty, kSetUp, kAnalysed, kFactored } stage = Stage::kEmpty;
  cusolver::Refactorization refactorization = {};
  std::vector<int> of_element = {};  // the number in the program's array of each value by rows
  std::vector<std::vector<double>> values = {}, factors = {};  // of each matrix
  std::vector<int> zero_pivots = {};
  cusolver::DeviceCopy begins = {}, columns = {}, bundled = {};

  bool ByColumns() const { return format == CUSOLVERRF_MATRIX_FORMAT_CSC; }
  cusolver::UnitFactor Unit() const {
    const bool upper =
        unit == CUSOLVERRF_UNIT_DIAGONAL_STORED_U || unit == CUSOLVERRF_UNIT_DIAGONAL_ASSUMED_U;
    return upper ? cusolver::UnitFactor::kUpper : cusolver::UnitFactor::kLower;
  }
};

namespace ptx2cpu::cusolver {

namespace {

using Stage = cusolverRfCommon::Stage;

template <typename Run>
cusolverStatus_t DoNow(const char* name, Run&& run) {
  const CUresult queued = libraries::Submit(nullptr, name, std::forward<Run>(run));
  return FromDriver(queued != CUDA_SUCCESS ? queued : libraries::Synchronize(nullptr));
}

struct Arrays {
  int nnz;
  const int *begins, *indices;
  bool AreGiven() const { return nnz >= 0 && begins != nullptr && (nnz == 0 || indices != nullptr); }
};

void ReadValues(cusolverRfCommon& rf, const double* const* values, int batch) {
  rf.values.assign(static_cast<size_t>(batch), {});
  for (size_t k = 0; k < rf.values.size(); ++k) {
    for (const int at : rf.of_element) rf.values[k].push_back(values[k][at]);
  }
}

cusolverStatus_t ReadSystem(cusolverRfCommon& rf, int batch, int n, const Arrays& a,
                            const double* const* values, const Arrays& lower, const Arrays& upper,
                            const int* p, const int* q) {
  auto of_a = PlacesOf(n, a.nnz, a.begins, a.indices);
  auto of_lower = PlacesOf(n, lower.nnz, lower.begins, lower.indices);
  auto of_upper = PlacesOf(n, upper.nnz, upper.begins, upper.indices);
  if (!of_a || !of_lower || !of_upper || !IsOrder(n, p) || !IsOrder(n, q))
    return CUSOLVER_STATUS_INVALID_VALUE;
  rf.of_element.resize(static_cast<size_t>(a.nnz));
  for (size_t i = 0; i < rf.of_element.size(); ++i) rf.of_element[i] = static_cast<int>(i);
  if (rf.ByColumns()) {
    of_a = Transposed(*of_a, &rf.of_element);
    of_lower = Transposed(*of_lower), of_upper = Transposed(*of_upper);
  }
  rf.refactorization.SetPlaces(std::move(*of_a), *of_lower, *of_upper);
  rf.refactorization.SetOrders(p, q);
  ReadValues(rf, values, batch);
  rf.factors.assign(static_cast<size_t>(batch), std::vector<double>(rf.refactorization.count()));
  rf.zero_pivots.assign(static_cast<size_t>(batch), -1);
  rf.stage = Stage::kSetUp;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t SetUp(const char* name, cusolverRfHandle_t handle, int batch, int n, const Arrays& a,
                       const double* const* values, const Arrays& lower, const Arrays& upper, const int* p,
                       const int* q) {
  if (const auto wrong = Check(handle, batch > 0, n > 0, a.nnz > 0, a.AreGiven(), values != nullptr,
                               lower.AreGiven(), upper.AreGiven(), p != nullptr, q != nullptr))
    return wrong;
  if (std::any_of(values, values + batch, [](const double* of) { return of == nullptr; }))
    return CUSOLVER_STATUS_INVALID_VALUE;
  cusolverStatus_t status = CUSOLVER_STATUS_SUCCESS;
  const auto done =
      DoNow(name, [&] { status = ReadSystem(*handle, batch, n, a, values, lower, upper, p, q); });
  return done != CUSOLVER_STATUS_SUCCESS ? done : status;
}

cusolverStatus_t Reset(const char* name, cusolverRfHandle_t handle, int batch, int n, const Arrays& a,
                       const double* const* values, const int* p, const int* q) {
  if (const auto wrong = Check(handle, values != nullptr, a.AreGiven(), p != nullptr, q != nullptr))
    return wrong;
  if (handle->stage == Stage::kEmpty || n != handle->refactorization.size() ||
      a.nnz != static_cast<int>(handle->of_element.size()) ||
      batch != static_cast<int>(handle->values.size()))
    return CUSOLVER_STATUS_INVALID_VALUE;
  cusolverStatus_t status = CUSOLVER_STATUS_INVALID_VALUE;
  const auto done = DoNow(name, [&] {
    if (!IsOrder(n, p) || !IsOrder(n, q)) return;
    handle->refactorization.SetOrders(p, q);
    ReadValues(*handle, values, batch);
    status = CUSOLVER_STATUS_SUCCESS;
  });
  return done != CUSOLVER_STATUS_SUCCESS ? done : status;
}

cusolverStatus_t Analyse(cusolverRfHandle_t handle) {
  if (const auto wrong = Check(handle, handle == nullptr || handle->stage != Stage::kEmpty)) return wrong;
  handle->stage = std::max(handle->stage, Stage::kAnalysed);
  return CUSOLVER_STATUS_SUCCESS;
}

PlacedValues InFormat(const cusolverRfCommon& rf, PlacedValues part) {
  return rf.ByColumns() ? Transposed(part) : part;
}
PlacedValues BundledOf(const cusolverRfCommon& rf) {
  return InFormat(rf, rf.refactorization.Bundled(rf.factors[0].data(), rf.Unit()));
}

cusolverStatus_t Factor(const char* name, cusolverRfHandle_t handle) {
  if (const auto wrong = Check(handle, handle == nullptr || handle->stage >= Stage::kAnalysed)) return wrong;
  cusolverRfCommon& rf = *handle;
  std::vector<char> boosted(rf.values.size());
  const auto done = DoNow(name, [&] {
    libraries::ForEach(static_cast<int64_t>(rf.values.size()), [&](int64_t number) {
      const auto k = static_cast<size_t>(number);
      bool is_boosted = false;
      rf.zero_pivots[k] =
          rf.refactorization.Factor(rf.values[k].data(), rf.zero, rf.boost, is_boosted, rf.factors[k].data());
      boosted[k] = is_boosted;
    });
  });
  if (done != CUSOLVER_STATUS_SUCCESS) return done;
  rf.report = std::ranges::find(boosted, 1) != boosted.end() ? CUSOLVERRF_NUMERIC_BOOST_USED
                                                             : CUSOLVERRF_NUMERIC_BOOST_NOT_USED;
  rf.stage = Stage::kFactored;
  if (rf.bundled.As<double>() != nullptr) return rf.bundled.Fill(BundledOf(rf).values);
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t Solve(const char* name, cusolverRfHandle_t handle, const int* p, const int* q, int count,
                       const double* work, int ldt, double* const* x, int ldx) {
  if (const auto wrong = Check(handle, p != nullptr, q != nullptr, count == 1, work != nullptr, x != nullptr))
    return wrong;
  const cusolverRfCommon& rf = *handle;
  const int n = rf.refactorization.size();
  if (rf.stage != Stage::kFactored || ldt < n || ldx < n) return CUSOLVER_STATUS_INVALID_VALUE;
  return DoNow(name, [&] {
    libraries::ForEach(static_cast<int64_t>(rf.factors.size()), [&](int64_t k) {
      rf.refactorization.Solve(rf.factors[static_cast<size_t>(k)].data(), p, q, x[k]);
    });
  });
}

// Memory that the program frees.
template <typename T>
T* MadeForProgram(const std::vector<T>& values) {
  const size_t bytes = std::max<size_t>(values.size(), 1) * sizeof(T);
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  std::memcpy(memory, values.data(), values.size() * sizeof(T));
  return static_cast<T*>(memory);
}
void Give(const PlacedValues& part, int* count, int** begins, int** indices, double** values) {
  *count = static_cast<int>(part.values.size());
  *begins = MadeForProgram(part.places.begins), *indices = MadeForProgram(part.places.indices);
  *values = MadeForProgram(part.values);
}
cusolverStatus_t CheckFactored(cusolverRfHandle_t handle) {
  return Check(handle,
               handle == nullptr || (handle->stage == Stage::kFactored && handle->factors.size() == 1));
}

}  // namespace

cusolverStatus_t cusolverRfCreate(cusolverRfHandle_t* handle) {
  return libraries::CreateHandle(handle, CUSOLVER_STATUS_INVALID_VALUE, CUSOLVER_STATUS_NOT_INITIALIZED);
}
cusolverStatus_t cusolverRfDestroy(cusolverRfHandle_t handle) {
  return libraries::DestroyHandle(handle, CUSOLVER_STATUS_NOT_INITIALIZED);
}

cusolverStatus_t cusolverRfSetupHost(int n, int nnzA, const int* aBegins, const int* aColumns,
                                     const double* aValues, int nnzL, const int* lBegins, const int* lColumns,
                                     const double*, int nnzU, const int* uBegins, const int* uColumns,
                                     const double*, const int* p, const int* q, cusolverRfHandle_t handle) {
  return SetUp("cusolverRfSetupHost", handle, 1, n, {nnzA, aBegins, aColumns}, &aValues,
               {nnzL, lBegins, lColumns}, {nnzU, uBegins, uColumns}, p, q);
}
cusolverStatus_t cusolverRfSetupDevice(int n, int nnzA, const int* aBegins, const int* aColumns,
                                       const double* aValues, int nnzL, const int* lBegins,
                                       const int* lColumns, const double*, int nnzU, const int* uBegins,
                                       const int* uColumns, const double*, const int* p, const int* q,
                                       cusolverRfHandle_t handle) {
  return SetUp("cusolverRfSetupDevice", handle, 1, n, {nnzA, aBegins, aColumns}, &aValues,
               {nnzL, lBegins, lColumns}, {nnzU, uBegins, uColumns}, p, q);
}
cusolverStatus_t cusolverRfBatchSetupHost(int batch, int n, int nnzA, const int* aBegins, const int* aColumns,
                                          const double* const* aValues, int nnzL, const int* lBegins,
                                          const int* lColumns, const double*, int nnzU, const int* uBegins,
                                          const int* uColumns, const double*, const int* p, const int* q,
                                          cusolverRfHandle_t handle) {
  return SetUp("cusolverRfBatchSetupHost", handle, batch, n, {nnzA, aBegins, aColumns}, aValues,
               {nnzL, lBegins, lColumns}, {nnzU, uBegins, uColumns}, p, q);
}
cusolverStatus_t cusolverRfResetValues(int n, int nnz, const int* begins, const int* columns,
                                       const double* values, const int* p, const int* q,
                                       cusolverRfHandle_t handle) {
  return Reset("cusolverRfResetValues", handle, 1, n, {nnz, begins, columns},
               values == nullptr ? nullptr : &values, p, q);
}
cusolverStatus_t cusolverRfBatchResetValues(int batch, int n, int nnz, const int* begins, const int* columns,
                                            const double* const* values, const int* p, const int* q,
                                            cusolverRfHandle_t handle) {
  return Reset("cusolverRfBatchResetValues", handle, batch, n, {nnz, begins, columns}, values, p, q);
}

cusolverStatus_t cusolverRfAnalyze(cusolverRfHandle_t handle) { return Analyse(handle); }
cusolverStatus_t cusolverRfBatchAnalyze(cusolverRfHandle_t handle) { return Analyse(handle); }
cusolverStatus_t cusolverRfRefactor(cusolverRfHandle_t handle) {
  const cusolverStatus_t status = Factor("cusolverRfRefactor", handle);
  if (status != CUSOLVER_STATUS_SUCCESS) return status;
  return handle->zero_pivots[0] >= 0 ? CUSOLVER_STATUS_ZERO_PIVOT : CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverRfBatchRefactor(cusolverRfHandle_t handle) {
  return Factor("cusolverRfBatchRefactor", handle);
}
cusolverStatus_t cusolverRfBatchZeroPivot(cusolverRfHandle_t handle, int* position) {
  if (const auto wrong = Check(handle, position != nullptr)) return wrong;
  if (handle->stage != Stage::kFactored) return CUSOLVER_STATUS_INVALID_VALUE;
  std::ranges::copy(handle->zero_pivots, position);
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverRfSolve(cusolverRfHandle_t handle, const int* p, const int* q, int count,
                                 double* work, int ldt, double* x, int ldx) {
  return Solve("cusolverRfSolve", handle, p, q, count, work, ldt, x == nullptr ? nullptr : &x, ldx);
}
cusolverStatus_t cusolverRfBatchSolve(cusolverRfHandle_t handle, const int* p, const int* q, int count,
                                      double* work, int ldt, double* const* x, int ldx) {
  return Solve("cusolverRfBatchSolve", handle, p, q, count, work, ldt, x, ldx);
}

// The memory is the handle's, and has the factors of every refactorisation.
cusolverStatus_t cusolverRfAccessBundledFactorsDevice(cusolverRfHandle_t handle, int* count, int** begins,
                                                      int** columns, double** values) {
  if (const auto wrong =
          Check(handle, count != nullptr, begins != nullptr, columns != nullptr, values != nullptr))
    return wrong;
  if (const auto wrong = CheckFactored(handle)) return wrong;
  const PlacedValues bundled = BundledOf(*handle);
  if (const auto wrong = handle->begins.Fill(bundled.places.begins)) return wrong;
  if (const auto wrong = handle->columns.Fill(bundled.places.indices)) return wrong;
  if (const auto wrong = handle->bundled.Fill(bundled.values)) return wrong;
  *count = static_cast<int>(bundled.values.size());
  *begins = handle->begins.As<int>(), *columns = handle->columns.As<int>();
  *values = handle->bundled.As<double>();
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverRfExtractBundledFactorsHost(cusolverRfHandle_t handle, int* count, int** begins,
                                                     int** columns, double** values) {
  if (const auto wrong =
          Check(handle, count != nullptr, begins != nullptr, columns != nullptr, values != nullptr))
    return wrong;
  if (const auto wrong = CheckFactored(handle)) return wrong;
  Give(BundledOf(*handle), count, begins, columns, values);
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverRfExtractSplitFactorsHost(cusolverRfHandle_t handle, int* lCount, int** lBegins,
                                                   int** lColumns, double** lValues, int* uCount,
                                                   int** uBegins, int** uColumns, double** uValues) {
  if (const auto wrong =
          Check(handle, lCount != nullptr, lBegins != nullptr, lColumns != nullptr, lValues != nullptr,
                uCount != nullptr, uBegins != nullptr, uColumns != nullptr, uValues != nullptr))
    return wrong;
  if (const auto wrong = CheckFactored(handle)) return wrong;
  const cusolverRfCommon& rf = *handle;
  const double* const factors = rf.factors[0].data();
  Give(InFormat(rf,
                rf.refactorization.Lower(factors, rf.Unit(), rf.unit != CUSOLVERRF_UNIT_DIAGONAL_ASSUMED_L)),
       lCount, lBegins, lColumns, lValues);
  Give(InFormat(rf,
                rf.refactorization.Upper(factors, rf.Unit(), rf.unit != CUSOLVERRF_UNIT_DIAGONAL_ASSUMED_U)),
       uCount, uBegins, uColumns, uValues);
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverRfSetMatrixFormat(cusolverRfHandle_t handle, cusolverRfMatrixFormat_t format,
                                           cusolverRfUnitDiagonal_t unit) {
  const auto wrong =
      Check(handle, format >= CUSOLVERRF_MATRIX_FORMAT_CSR, format <= CUSOLVERRF_MATRIX_FORMAT_CSC,
            unit >= CUSOLVERRF_UNIT_DIAGONAL_STORED_L, unit <= CUSOLVERRF_UNIT_DIAGONAL_ASSUMED_U);
  if (wrong == CUSOLVER_STATUS_SUCCESS) handle->format = format, handle->unit = unit;
  return wrong;
}
cusolverStatus_t cusolverRfGetMatrixFormat(cusolverRfHandle_t handle, cusolverRfMatrixFormat_t* format,
                                           cusolverRfUnitDiagonal_t* unit) {
  const auto wrong = Check(handle, format != nullptr, unit != nullptr);
  if (wrong == CUSOLVER_STATUS_SUCCESS) *format = handle->format, *unit = handle->unit;
  return wrong;
}
cusolverStatus_t cusolverRfSetNumericProperties(cusolverRfHandle_t handle, double zero, double boost) {
  const auto wrong = Check(handle, zero >= 0, boost >= 0);
  if (wrong == CUSOLVER_STATUS_SUCCESS) handle->zero = zero, handle->boost = boost;
  return wrong;
}
cusolverStatus_t cusolverRfGetNumericProperties(cusolverRfHandle_t handle, double* zero, double* boost) {
  const auto wrong = Check(handle, zero != nullptr, boost != nullptr);
  if (wrong == CUSOLVER_STATUS_SUCCESS) *zero = handle->zero, *boost = handle->boost;
  return wrong;
}
cusolverStatus_t cusolverRfGetNumericBoostReport(cusolverRfHandle_t handle,
                                                 cusolverRfNumericBoostReport_t* report) {
  return libraries::Read(Check(handle, report != nullptr), handle, &cusolverRfCommon::report, report);
}
cusolverStatus_t cusolverRfSetAlgs(cusolverRfHandle_t handle, cusolverRfFactorization_t factorization,
                                   cusolverRfTriangularSolve_t solution) {
  // As recorded: the first one takes any solution, the others two of them.
  const bool pair =
      solution == CUSOLVERRF_TRIANGULAR_SOLVE_ALG2 || solution == CUSOLVERRF_TRIANGULAR_SOLVE_ALG3;
  const auto wrong = Check(handle, factorization >= CUSOLVERRF_FACTORIZATION_ALG0,
                           factorization <= CUSOLVERRF_FACTORIZATION_ALG2,
                           factorization == CUSOLVERRF_FACTORIZATION_ALG0 || pair);
  if (wrong == CUSOLVER_STATUS_SUCCESS) handle->factorization = factorization, handle->solution = solution;
  return wrong;
}
cusolverStatus_t cusolverRfGetAlgs(cusolverRfHandle_t handle, cusolverRfFactorization_t* factorization,
                                   cusolverRfTriangularSolve_t* solution) {
  const auto wrong = Check(handle, factorization != nullptr, solution != nullptr);
  if (wrong == CUSOLVER_STATUS_SUCCESS) *factorization = handle->factorization, *solution = handle->solution;
  return wrong;
}
cusolverStatus_t cusolverRfSetResetValuesFastMode(cusolverRfHandle_t handle,
                                                  cusolverRfResetValuesFastMode_t mode) {
  return libraries::Write(Check(handle, mode == CUSOLVERRF_RESET_VALUES_FAST_MODE_OFF ||
                                            mode == CUSOLVERRF_RESET_VALUES_FAST_MODE_ON),
                          handle, &cusolverRfCommon::fast_mode, mode);
}
cusolverStatus_t cusolverRfGetResetValuesFastMode(cusolverRfHandle_t handle,
                                                  cusolverRfResetValuesFastMode_t* mode) {
  return libraries::Read(Check(handle, mode != nullptr), handle, &cusolverRfCommon::fast_mode, mode);
}

}  // namespace ptx2cpu::cusolver
