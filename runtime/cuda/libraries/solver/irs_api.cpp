// Systems whose precisions, refinement and limits are set in an object. The factors have the precision of the
// result, so that no refinement follows: the first solution is the last, after 0 iterations.
#include "runtime/cuda/libraries/core/handle.h"
#include "runtime/cuda/libraries/solver/factor.h"

// What a cusolverDnIRSParams_t points to.
struct ptx2cpu::cuda::cusolverDnIRSParams {
  cusolverIRSRefinement_t refinement = CUSOLVER_IRS_REFINE_NOT_SET;
  cusolverPrecType_t main = cusolverPrecType_t{}, lowest = cusolverPrecType_t{};
  double tolerance = 0, inner_tolerance = 0;
  int iterations = 50, inner_iterations = 50;
  bool falls_back = true;
};
// What a cusolverDnIRSInfos_t points to: of the last call.
struct ptx2cpu::cuda::cusolverDnIRSInfos {
  int limit = 0;
  bool wants_history = false;
  // A column of iterations, then a column of norms for each right side; numbers of the result's precision.
  std::vector<double> doubles;
  std::vector<float> floats;
};

namespace ptx2cpu::cusolver {

namespace {

template <typename Value>
cusolverStatus_t Set(cusolverDnIRSParams_t params, Value cusolverDnIRSParams::* field, Value value) {
  if (params == nullptr) return CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED;
  params->*field = value;
  return CUSOLVER_STATUS_SUCCESS;
}
template <typename Value>
cusolverStatus_t Report(cusolverDnIRSInfos_t infos, Value* place, Value value) {
  if (infos == nullptr) return CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED;
  if (place == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *place = value;
  return CUSOLVER_STATUS_SUCCESS;
}

// How exact a precision is, and whether it is one of complex numbers.
struct PrecisionRow {
  cusolverPrecType_t type;
  bool is_complex;
  int rank;
};
constexpr PrecisionRow kPrecisions[] = {
    {CUSOLVER_R_64F, false, 2},  {CUSOLVER_R_32F, false, 1},  {CUSOLVER_R_16F, false, 0},
    {CUSOLVER_R_16BF, false, 0}, {CUSOLVER_R_TF32, false, 0}, {CUSOLVER_C_64F, true, 2},
    {CUSOLVER_C_32F, true, 1},   {CUSOLVER_C_16F, true, 0},   {CUSOLVER_C_16BF, true, 0},
    {CUSOLVER_C_TF32, true, 0},
};
const PrecisionRow* RowOf(cusolverPrecType_t type) {
  const auto* const row = std::ranges::find(kPrecisions, type, &PrecisionRow::type);
  return row == std::end(kPrecisions) ? nullptr : row;
}

cusolverStatus_t CheckParams(cusolverDnHandle_t handle, cusolverDnIRSParams_t params) {
  if (handle == nullptr) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (params == nullptr) return CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED;
  const PrecisionRow *const main = RowOf(params->main), *const lowest = RowOf(params->lowest);
  if (main == nullptr || lowest == nullptr || main->rank == 0 || lowest->rank > main->rank ||
      lowest->is_complex != main->is_complex)
    return CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC;
  if (params->refinement < CUSOLVER_IRS_REFINE_NONE || params->refinement > CUSOLVER_IRS_REFINE_GMRES_NOPCOND)
    return CUSOLVER_STATUS_IRS_PARAMS_INVALID_REFINE;
  return params->iterations < 0 ? CUSOLVER_STATUS_IRS_PARAMS_INVALID_MAXITER : CUSOLVER_STATUS_SUCCESS;
}

constexpr size_t kWorkspace = 256;

// Queries before there are arrays: refinement and limits count when systems are solved.
cusolverStatus_t WriteSize(cusolverDnHandle_t handle, cusolverDnIRSParams_t params, bool right,
                           size_t* size) {
  const cusolverStatus_t status = CheckParams(handle, params);
  if (status == CUSOLVER_STATUS_NOT_INITIALIZED || status == CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED)
    return status;
  if (!right || status == CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC) return CUSOLVER_STATUS_IRS_PARAMS_INVALID;
  if (size == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *size = kWorkspace;
  return CUSOLVER_STATUS_SUCCESS;
}

// What both solvers take.
struct System {
  int m, n, columns;
  const void* a;
  int lda;
  const void* b;
  int ldb;
  void* x;
  int ldx;
  size_t room;
  int *iterations, *info;
};
cusolverStatus_t CheckSystem(cusolverDnHandle_t handle, cusolverDnIRSParams_t params,
                             cusolverDnIRSInfos_t infos, const System& s) {
  if (const cusolverStatus_t wrong = CheckParams(handle, params)) return wrong;
  if (infos == nullptr) return CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED;
  if (s.m < s.n) return CUSOLVER_STATUS_IRS_NOT_SUPPORTED;
  if (const cusolverStatus_t wrong =
          Check(handle, s.n >= 0, s.columns >= 0, LeadingIs(s.lda, s.m), LeadingIs(s.ldb, s.m),
                LeadingIs(s.ldx, s.n), s.iterations != nullptr))
    return wrong;
  return s.room < kWorkspace ? CUSOLVER_STATUS_INVALID_WORKSPACE : CUSOLVER_STATUS_SUCCESS;
}

template <typename T>
std::vector<Real<T>>& HistoryOf(cusolverDnIRSInfos& infos) {
  if constexpr (std::is_same_v<Real<T>, double>) {
    return infos.doubles;
  } else {
    return infos.floats;
  }
}
// The largest element of B - A X for each right side, in the row of iteration 0.
template <typename T>
void NoteHistory(const System& s, cusolverDnIRSInfos& infos) {
  infos.doubles.clear(), infos.floats.clear();
  std::vector<Real<T>>& history = HistoryOf<T>(infos);
  const size_t rows = static_cast<size_t>(infos.limit) + 1;
  history.assign(rows * (static_cast<size_t>(s.columns) + 1), 0);
  const int ld = std::max(1, s.m);
  const auto difference = CopyOf(s.m, s.columns, static_cast<const T*>(s.b), s.ldb);
  Blas<"gemm", T>('N', 'N', s.m, s.columns, s.n, T(-1), static_cast<const T*>(s.a), s.lda,
                  static_cast<const T*>(s.x), s.ldx, T(1), difference.get(), ld);
  for (int j = 0; j < s.columns; ++j) {
    Real<T> largest = 0;
    for (int i = 0; i < s.m; ++i) largest = std::max(largest, std::abs(difference[i + int64_t{j} * ld]));
    history[(static_cast<size_t>(j) + 1) * rows] = largest;
  }
}

template <typename T, bool kSquare>
cusolverStatus_t Solve(const char* name, cusolverDnHandle_t handle, cusolverDnIRSInfos& infos,
                       const System& s) {
  return OnStreamAndWait(handle, name, [&infos, s] {
    const auto *const a = static_cast<const T*>(s.a), *const b = static_cast<const T*>(s.b);
    auto* const x = static_cast<T*>(s.x);
    int state = 0;
    if constexpr (kSquare) {
      state = SolveSystem<T>(s.n, s.columns, a, s.lda, nullptr, b, s.ldb, x, s.ldx);
    } else {
      state = SolveLeastSquares<T>(s.m, s.n, s.columns, a, s.lda, b, s.ldb, x, s.ldx);
    }
    if (infos.wants_history) NoteHistory<T>(s, infos);
    Note(s.info, state);
  });
}
template <bool kSquare>
cusolverStatus_t SolveByType(const char* name, cusolverDnHandle_t handle, cusolverDnIRSParams_t params,
                             cusolverDnIRSInfos_t infos, const System& s) {
  if (const cusolverStatus_t wrong = CheckSystem(handle, params, infos, s)) return wrong;
  infos->limit = params->iterations;
  *s.iterations = 0;
  const int type = static_cast<int>(params->main);
  if (type == CUSOLVER_R_32F) return Solve<float, kSquare>(name, handle, *infos, s);
  if (type == CUSOLVER_R_64F) return Solve<double, kSquare>(name, handle, *infos, s);
  if (type == CUSOLVER_C_32F) return Solve<cuComplex, kSquare>(name, handle, *infos, s);
  if (type == CUSOLVER_C_64F) return Solve<cuDoubleComplex, kSquare>(name, handle, *infos, s);
  return CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC;
}

}  // namespace

cusolverStatus_t cusolverDnIRSParamsCreate(cusolverDnIRSParams_t* params) {
  return libraries::CreateObject(params, CUSOLVER_STATUS_INVALID_VALUE);
}
cusolverStatus_t cusolverDnIRSParamsDestroy(cusolverDnIRSParams_t params) {
  return libraries::DestroyHandle(params, CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED);
}
cusolverStatus_t cusolverDnIRSParamsSetRefinementSolver(cusolverDnIRSParams_t params,
                                                        cusolverIRSRefinement_t refinement) {
  return Set(params, &cusolverDnIRSParams::refinement, refinement);
}
cusolverStatus_t cusolverDnIRSParamsSetSolverMainPrecision(cusolverDnIRSParams_t params,
                                                           cusolverPrecType_t main) {
  return Set(params, &cusolverDnIRSParams::main, main);
}
cusolverStatus_t cusolverDnIRSParamsSetSolverLowestPrecision(cusolverDnIRSParams_t params,
                                                             cusolverPrecType_t lowest) {
  return Set(params, &cusolverDnIRSParams::lowest, lowest);
}
cusolverStatus_t cusolverDnIRSParamsSetSolverPrecisions(cusolverDnIRSParams_t params, cusolverPrecType_t main,
                                                        cusolverPrecType_t lowest) {
  if (const cusolverStatus_t wrong = Set(params, &cusolverDnIRSParams::main, main)) return wrong;
  return Set(params, &cusolverDnIRSParams::lowest, lowest);
}
cusolverStatus_t cusolverDnIRSParamsSetTol(cusolverDnIRSParams_t params, double tolerance) {
  return Set(params, &cusolverDnIRSParams::tolerance, tolerance);
}
cusolverStatus_t cusolverDnIRSParamsSetTolInner(cusolverDnIRSParams_t params, double tolerance) {
  return Set(params, &cusolverDnIRSParams::inner_tolerance, tolerance);
}
cusolverStatus_t cusolverDnIRSParamsSetMaxIters(cusolverDnIRSParams_t params, cusolver_int_t iterations) {
  return Set(params, &cusolverDnIRSParams::iterations, iterations);
}
// As documented, not more than those of the outer loop.
cusolverStatus_t cusolverDnIRSParamsSetMaxItersInner(cusolverDnIRSParams_t params,
                                                     cusolver_int_t iterations) {
  if (params != nullptr && iterations > params->iterations) return CUSOLVER_STATUS_IRS_PARAMS_INVALID;
  return Set(params, &cusolverDnIRSParams::inner_iterations, iterations);
}
cusolverStatus_t cusolverDnIRSParamsGetMaxIters(cusolverDnIRSParams_t params, cusolver_int_t* iterations) {
  if (params == nullptr) return CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED;
  if (iterations == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *iterations = params->iterations;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnIRSParamsEnableFallback(cusolverDnIRSParams_t params) {
  return Set(params, &cusolverDnIRSParams::falls_back, true);
}
cusolverStatus_t cusolverDnIRSParamsDisableFallback(cusolverDnIRSParams_t params) {
  return Set(params, &cusolverDnIRSParams::falls_back, false);
}

cusolverStatus_t cusolverDnIRSInfosCreate(cusolverDnIRSInfos_t* infos) {
  return libraries::CreateObject(infos, CUSOLVER_STATUS_INVALID_VALUE);
}
cusolverStatus_t cusolverDnIRSInfosDestroy(cusolverDnIRSInfos_t infos) {
  return libraries::DestroyHandle(infos, CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED);
}
cusolverStatus_t cusolverDnIRSInfosRequestResidual(cusolverDnIRSInfos_t infos) {
  if (infos == nullptr) return CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED;
  infos->wants_history = true;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnIRSInfosGetNiters(cusolverDnIRSInfos_t infos, cusolver_int_t* iterations) {
  return Report(infos, iterations, 0);
}
cusolverStatus_t cusolverDnIRSInfosGetOuterNiters(cusolverDnIRSInfos_t infos, cusolver_int_t* iterations) {
  return Report(infos, iterations, 0);
}
cusolverStatus_t cusolverDnIRSInfosGetMaxIters(cusolverDnIRSInfos_t infos, cusolver_int_t* iterations) {
  return Report(infos, iterations, infos == nullptr ? 0 : infos->limit);
}
cusolverStatus_t cusolverDnIRSInfosGetResidualHistory(cusolverDnIRSInfos_t infos, void** history) {
  if (infos == nullptr) return CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED;
  if (!infos->wants_history) return CUSOLVER_STATUS_INVALID_VALUE;
  if (infos->doubles.empty() && infos->floats.empty()) return CUSOLVER_STATUS_INTERNAL_ERROR;  // as recorded
  void* const last =
      infos->doubles.empty() ? static_cast<void*>(infos->floats.data()) : infos->doubles.data();
  return Report(infos, history, last);
}

cusolverStatus_t cusolverDnIRSXgesv_bufferSize(cusolverDnHandle_t handle, cusolverDnIRSParams_t params,
                                               cusolver_int_t n, cusolver_int_t nrhs, size_t* size) {
  return WriteSize(handle, params, n >= 0 && nrhs >= 0, size);
}
cusolverStatus_t cusolverDnIRSXgesv(cusolverDnHandle_t handle, cusolverDnIRSParams_t params,
                                    cusolverDnIRSInfos_t infos, cusolver_int_t n, cusolver_int_t nrhs,
                                    void* a, cusolver_int_t lda, void* b, cusolver_int_t ldb, void* x,
                                    cusolver_int_t ldx, void*, size_t size, cusolver_int_t* iterations,
                                    cusolver_int_t* info) {
  return SolveByType<true>("cusolverDnIRSXgesv", handle, params, infos,
                           {n, n, nrhs, a, lda, b, ldb, x, ldx, size, iterations, info});
}
cusolverStatus_t cusolverDnIRSXgels_bufferSize(cusolverDnHandle_t handle, cusolverDnIRSParams_t params,
                                               cusolver_int_t m, cusolver_int_t n, cusolver_int_t nrhs,
                                               size_t* size) {
  return WriteSize(handle, params, m >= 0 && n >= 0 && nrhs >= 0, size);
}
cusolverStatus_t cusolverDnIRSXgels(cusolverDnHandle_t handle, cusolverDnIRSParams_t params,
                                    cusolverDnIRSInfos_t infos, cusolver_int_t m, cusolver_int_t n,
                                    cusolver_int_t nrhs, void* a, cusolver_int_t lda, void* b,
                                    cusolver_int_t ldb, void* x, cusolver_int_t ldx, void*, size_t size,
                                    cusolver_int_t* iterations, cusolver_int_t* info) {
  return SolveByType<false>("cusolverDnIRSXgels", handle, params, infos,
                            {m, n, nrhs, a, lda, b, ldb, x, ldx, size, iterations, info});
}

}  // namespace ptx2cpu::cusolver
