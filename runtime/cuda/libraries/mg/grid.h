// Matrices whose columns lie on several devices: blocks of columns go around the devices, and a device's own
// columns follow each other.
#pragma once

#include <array>

#include "cusolvermg_api.h"
#include "runtime/cuda/libraries/solver/typed.h"

// What a cusolverMgHandle_t points to. Used by one host thread at a time.
struct ptx2cpu::cuda::cusolverMgContext {
  std::vector<int> devices;
};

namespace ptx2cpu::cusolvermg {

using namespace cuda;
using cusolver::IsRight;
using cusolver::Real;
using cusolver::RealTypeOf;

// What a cudaLibMgGrid_t points to: one row of devices.
struct Grid {
  std::vector<int> devices;
};

// What a cudaLibMgMatrixDesc_t points to.
struct Matrix {
  int64_t rows, columns, block;
  cudaDataType type;
  Grid grid;

  // Column j is column `local` of the device's.
  struct Place {
    size_t device;
    int64_t local;
  };
  Place Of(int64_t j) const {
    const auto devices = static_cast<int64_t>(grid.devices.size());
    return {static_cast<size_t>(j / block % devices), j / block / devices * block + j % block};
  }
};
inline const Matrix* MatrixOf(cudaLibMgMatrixDesc_t descr) { return static_cast<const Matrix*>(descr); }

// A part of a matrix: its first row and column (from 0), and the addresses of the devices' columns.
struct Part {
  const Matrix& matrix;
  int64_t row, column;
  void* const* arrays;

  bool Holds(int64_t rows, int64_t columns) const {
    return arrays != nullptr && row >= 0 && column >= 0 && rows >= 0 && columns >= 0 &&
           row + rows <= matrix.rows && column + columns <= matrix.columns;
  }
  template <typename T>
  T* ColumnAt(int64_t j) const {
    const Matrix::Place place = matrix.Of(column + j);
    return static_cast<T*>(arrays[place.device]) + place.local * matrix.rows + row;
  }
};
// The part as one column-major matrix, and back.
template <typename T>
std::vector<T> Gather(const Part& part, int rows, int columns) {
  std::vector<T> all(static_cast<size_t>(std::max(1, rows)) * static_cast<size_t>(std::max(1, columns)));
  for (int64_t j = 0; j < columns; ++j) std::copy_n(part.ColumnAt<T>(j), rows, all.begin() + j * rows);
  return all;
}
template <typename T>
void Scatter(const std::vector<T>& all, const Part& part, int rows, int columns) {
  for (int64_t j = 0; j < columns; ++j) std::copy_n(all.begin() + j * rows, rows, part.ColumnAt<T>(j));
}
// Pivots lie as the columns do.
inline int* PivotAt(const Part& part, int* const* pivots, int64_t j) {
  const Matrix::Place place = part.matrix.Of(part.column + j);
  return pivots[place.device] + place.local;
}

// Waits for the devices of the handle, computes, and waits: results are there when a function returns.
cusolverStatus_t RunAndWait(const cusolverMgContext& handle, const char* name, std::function<void()> run);

}  // namespace ptx2cpu::cusolvermg
