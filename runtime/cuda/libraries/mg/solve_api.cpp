// Factorisations, systems and eigenvalues: the columns come together, LAPACK computes, they go back.
#include "runtime/cuda/libraries/mg/grid.h"
#include "runtime/cuda/libraries/solver/lapack.h"

namespace ptx2cpu::cusolvermg {

namespace {

// The handle with its devices, then the rest.
template <typename... Conditions>
cusolverStatus_t Check(cusolverMgHandle_t handle, Conditions... right) {
  if (handle == nullptr) return CUSOLVER_STATUS_NOT_INITIALIZED;
  return !handle->devices.empty() && (right && ...) ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INVALID_VALUE;
}
// A part that begins at row `row` and column `column`, which count from 1.
cusolverStatus_t CheckPart(cudaLibMgMatrixDesc_t descr, void* const arrays[], int row, int column, int rows,
                           int columns, cudaDataType compute) {
  if (descr == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  const Part part{*MatrixOf(descr), row - 1, column - 1, arrays};
  return part.Holds(rows, columns) && part.matrix.type == compute ? CUSOLVER_STATUS_SUCCESS
                                                                  : CUSOLVER_STATUS_INVALID_VALUE;
}
// An original's matrices are divided between its devices, and so is its workspace.
cusolverStatus_t ReportSize(cusolverStatus_t wrong, int64_t* size) {
  if (wrong != CUSOLVER_STATUS_SUCCESS) return wrong;
  if (size == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *size = 64;
  return CUSOLVER_STATUS_SUCCESS;
}

struct Sides {
  int row, column, count;
  cudaLibMgMatrixDesc_t descr;
  void* const* arrays;
};
cusolverStatus_t CheckSystem(cusolverMgHandle_t handle, int n, void* const arrays[], int row, int column,
                             cudaLibMgMatrixDesc_t descr, const Sides& b, cudaDataType compute) {
  if (const cusolverStatus_t wrong = Check(handle, n >= 0, b.count >= 0)) return wrong;
  if (const cusolverStatus_t wrong = CheckPart(descr, arrays, row, column, n, n, compute)) return wrong;
  return CheckPart(b.descr, b.arrays, b.row, b.column, n, b.count, compute);
}
cusolverStatus_t CheckSquare(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n, void* const arrays[],
                             int row, int column, cudaLibMgMatrixDesc_t descr, cudaDataType compute) {
  if (const cusolverStatus_t wrong = Check(handle, IsRight(uplo), n >= 0)) return wrong;
  return CheckPart(descr, arrays, row, column, n, n, compute);
}
cusolverStatus_t CheckSyevd(cusolverMgHandle_t handle, cusolverEigMode_t jobz, cublasFillMode_t uplo, int n,
                            void* const arrays[], int row, int column, cudaLibMgMatrixDesc_t descr,
                            const void* w, cudaDataType typeW, cudaDataType compute) {
  if (const cusolverStatus_t wrong = CheckSquare(handle, uplo, n, arrays, row, column, descr, compute))
    return wrong;
  return IsRight(jobz) && w != nullptr && typeW == RealTypeOf(compute) ? CUSOLVER_STATUS_SUCCESS
                                                                       : CUSOLVER_STATUS_INVALID_VALUE;
}

// In place: body(matrix, its leading dimension) returns LAPACK's info.
template <typename T, typename Body>
cusolverStatus_t Change(cusolverMgHandle_t handle, const char* name, const Part& part, int rows, int columns,
                        int* info, const Body& body) {
  if (info == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  return RunAndWait(*handle, name, [=] {
    std::vector<T> all = Gather<T>(part, rows, columns);
    *info = body(all.data(), std::max(1, rows));
    Scatter(all, part, rows, columns);
  });
}
// The same for a square part, where `body` takes elements of any type.
template <typename Body>
cusolverStatus_t ChangeSquare(cusolverMgHandle_t handle, const char* name, cublasFillMode_t uplo, int n,
                              void* const arrays[], int row, int column, cudaLibMgMatrixDesc_t descr,
                              cudaDataType compute, int* info, const Body& body) {
  if (const cusolverStatus_t wrong = CheckSquare(handle, uplo, n, arrays, row, column, descr, compute))
    return wrong;
  const Part a{*MatrixOf(descr), row - 1, column - 1, arrays};
  return cusolver::WithType(compute, {}, [&]<typename T>(cusolver::Type<T>) {
    return Change<T>(handle, name, a, n, n, info, body);
  });
}
// Systems: body(matrix, right sides) for n rows.
template <typename T, typename Body>
cusolverStatus_t SolveSides(cusolverMgHandle_t handle, const char* name, const Part& a, int n, const Sides& b,
                            int* info, const Body& body) {
  const Part sides{*MatrixOf(b.descr), b.row - 1, b.column - 1, b.arrays};
  return Change<T>(handle, name, sides, n, b.count, info, [=](T* right, int ld) {
    const std::vector<T> matrix = Gather<T>(a, n, n);
    return body(matrix.data(), right, ld);
  });
}

}  // namespace

cusolverStatus_t cusolverMgSyevd_bufferSize(cusolverMgHandle_t handle, cusolverEigMode_t jobz,
                                            cublasFillMode_t uplo, int n, void* arrays[], int row, int column,
                                            cudaLibMgMatrixDesc_t descr, void* w, cudaDataType typeW,
                                            cudaDataType compute, int64_t* size) {
  return ReportSize(CheckSyevd(handle, jobz, uplo, n, arrays, row, column, descr, w, typeW, compute), size);
}
// The eigenvalues are in host memory.
cusolverStatus_t cusolverMgSyevd(cusolverMgHandle_t handle, cusolverEigMode_t jobz, cublasFillMode_t uplo,
                                 int n, void* arrays[], int row, int column, cudaLibMgMatrixDesc_t descr,
                                 void* w, cudaDataType typeW, cudaDataType compute, void*[], int64_t,
                                 int* info) {
  if (const cusolverStatus_t wrong =
          CheckSyevd(handle, jobz, uplo, n, arrays, row, column, descr, w, typeW, compute))
    return wrong;
  const Part a{*MatrixOf(descr), row - 1, column - 1, arrays};
  return cusolver::WithType(compute, {}, [&]<typename T>(cusolver::Type<T>) {
    return Change<T>(handle, "cusolverMgSyevd", a, n, n, info, [=](T* all, int ld) {
      return cusolver::EigenValues(jobz, uplo, n, all, ld, static_cast<Real<T>*>(w));
    });
  });
}

cusolverStatus_t cusolverMgGetrf_bufferSize(cusolverMgHandle_t handle, int m, int n, void* arrays[], int row,
                                            int column, cudaLibMgMatrixDesc_t descr, int*[],
                                            cudaDataType compute, int64_t* size) {
  if (const cusolverStatus_t wrong = Check(handle, m >= 0, n >= 0)) return wrong;
  return ReportSize(CheckPart(descr, arrays, row, column, m, n, compute), size);
}
// Row numbers are those of the part; pivots null: rows are not exchanged.
cusolverStatus_t cusolverMgGetrf(cusolverMgHandle_t handle, int m, int n, void* arrays[], int row, int column,
                                 cudaLibMgMatrixDesc_t descr, int* pivots[], cudaDataType compute, void*[],
                                 int64_t, int* info) {
  if (const cusolverStatus_t wrong = Check(handle, m >= 0, n >= 0)) return wrong;
  if (const cusolverStatus_t wrong = CheckPart(descr, arrays, row, column, m, n, compute)) return wrong;
  const Part a{*MatrixOf(descr), row - 1, column - 1, arrays};
  return cusolver::WithType(compute, {}, [&]<typename T>(cusolver::Type<T>) {
    return Change<T>(handle, "cusolverMgGetrf", a, m, n, info, [=](T* all, int ld) {
      std::vector<int> order(static_cast<size_t>(std::min(m, n)));
      const int state = cusolver::Lu(m, n, all, ld, pivots == nullptr ? nullptr : order.data());
      for (size_t j = 0; pivots != nullptr && j < order.size(); ++j)
        *PivotAt(a, pivots, static_cast<int64_t>(j)) = order[j];
      return state;
    });
  });
}

cusolverStatus_t cusolverMgGetrs_bufferSize(cusolverMgHandle_t handle, cublasOperation_t op, int n, int nrhs,
                                            void* arraysA[], int rowA, int columnA,
                                            cudaLibMgMatrixDesc_t descrA, int*[], void* arraysB[], int rowB,
                                            int columnB, cudaLibMgMatrixDesc_t descrB, cudaDataType compute,
                                            int64_t* size) {
  if (!IsRight(op)) return CUSOLVER_STATUS_INVALID_VALUE;
  return ReportSize(
      CheckSystem(handle, n, arraysA, rowA, columnA, descrA, {rowB, columnB, nrhs, descrB, arraysB}, compute),
      size);
}
cusolverStatus_t cusolverMgGetrs(cusolverMgHandle_t handle, cublasOperation_t op, int n, int nrhs,
                                 void* arraysA[], int rowA, int columnA, cudaLibMgMatrixDesc_t descrA,
                                 int* pivots[], void* arraysB[], int rowB, int columnB,
                                 cudaLibMgMatrixDesc_t descrB, cudaDataType compute, void*[], int64_t,
                                 int* info) {
  const Sides b{rowB, columnB, nrhs, descrB, arraysB};
  if (const cusolverStatus_t wrong = CheckSystem(handle, n, arraysA, rowA, columnA, descrA, b, compute))
    return wrong;
  if (!IsRight(op)) return CUSOLVER_STATUS_INVALID_VALUE;
  const Part a{*MatrixOf(descrA), rowA - 1, columnA - 1, arraysA};
  return cusolver::WithType(compute, {}, [&]<typename T>(cusolver::Type<T>) {
    return SolveSides<T>(handle, "cusolverMgGetrs", a, n, b, info, [=](const T* lu, T* right, int ld) {
      std::vector<int> order;
      for (int64_t j = 0; pivots != nullptr && j < n; ++j) order.push_back(*PivotAt(a, pivots, j));
      return cusolver::SolveLu(op, n, nrhs, lu, ld, pivots == nullptr ? nullptr : order.data(), right, ld);
    });
  });
}

cusolverStatus_t cusolverMgPotrf_bufferSize(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n,
                                            void* arrays[], int row, int column, cudaLibMgMatrixDesc_t descr,
                                            cudaDataType compute, int64_t* size) {
  return ReportSize(CheckSquare(handle, uplo, n, arrays, row, column, descr, compute), size);
}
cusolverStatus_t cusolverMgPotrf(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n, void* arrays[],
                                 int row, int column, cudaLibMgMatrixDesc_t descr, cudaDataType compute,
                                 void*[], int64_t, int* info) {
  return ChangeSquare(handle, "cusolverMgPotrf", uplo, n, arrays, row, column, descr, compute, info,
                      [=](auto* all, int ld) { return cusolver::Cholesky(uplo, n, all, ld); });
}

cusolverStatus_t cusolverMgPotrs_bufferSize(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n, int nrhs,
                                            void* arraysA[], int rowA, int columnA,
                                            cudaLibMgMatrixDesc_t descrA, void* arraysB[], int rowB,
                                            int columnB, cudaLibMgMatrixDesc_t descrB, cudaDataType compute,
                                            int64_t* size) {
  if (!IsRight(uplo)) return CUSOLVER_STATUS_INVALID_VALUE;
  return ReportSize(
      CheckSystem(handle, n, arraysA, rowA, columnA, descrA, {rowB, columnB, nrhs, descrB, arraysB}, compute),
      size);
}
cusolverStatus_t cusolverMgPotrs(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n, int nrhs,
                                 void* arraysA[], int rowA, int columnA, cudaLibMgMatrixDesc_t descrA,
                                 void* arraysB[], int rowB, int columnB, cudaLibMgMatrixDesc_t descrB,
                                 cudaDataType compute, void*[], int64_t, int* info) {
  const Sides b{rowB, columnB, nrhs, descrB, arraysB};
  if (const cusolverStatus_t wrong = CheckSystem(handle, n, arraysA, rowA, columnA, descrA, b, compute))
    return wrong;
  if (!IsRight(uplo)) return CUSOLVER_STATUS_INVALID_VALUE;
  const Part a{*MatrixOf(descrA), rowA - 1, columnA - 1, arraysA};
  return cusolver::WithType(compute, {}, [&]<typename T>(cusolver::Type<T>) {
    return SolveSides<T>(handle, "cusolverMgPotrs", a, n, b, info, [=](const T* factor, T* right, int ld) {
      return cusolver::SolveCholesky(uplo, n, nrhs, factor, ld, right, ld);
    });
  });
}

cusolverStatus_t cusolverMgPotri_bufferSize(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n,
                                            void* arrays[], int row, int column, cudaLibMgMatrixDesc_t descr,
                                            cudaDataType compute, int64_t* size) {
  return ReportSize(CheckSquare(handle, uplo, n, arrays, row, column, descr, compute), size);
}
// The inverse from the factor.
cusolverStatus_t cusolverMgPotri(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n, void* arrays[],
                                 int row, int column, cudaLibMgMatrixDesc_t descr, cudaDataType compute,
                                 void*[], int64_t, int* info) {
  return ChangeSquare(handle, "cusolverMgPotri", uplo, n, arrays, row, column, descr, compute, info,
                      [=]<typename T>(T* all, int ld) {
                        int state = 0;
                        libraries::Blas<"potri", T>(cusolver::Letter(uplo), n, all, ld, &state);
                        return state;
                      });
}

}  // namespace ptx2cpu::cusolvermg
