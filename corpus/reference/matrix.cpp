// References of matrix multiply, transpose and LU decomposition.
#include <cmath>

#include "reference.h"

namespace corpus {
namespace {

void Multiply(Call& call) {
  const auto a = call.In<float>(0), b = call.In<float>(1);
  const int m = call.Value<int32_t>(3), n = call.Value<int32_t>(4), k = call.Value<int32_t>(5);
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      float sum = 0;
      for (int i = 0; i < k; ++i) sum = std::fma(a[row * k + i], b[i * n + column], sum);
      call.Out<float>(2)[row * n + column] = sum;
    }
  }
}

void Transpose(Call& call) {
  const auto in = call.In<uint32_t>(0);
  const int rows = call.Value<int32_t>(2), columns = call.Value<int32_t>(3);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) call.Out<uint32_t>(1)[c * rows + r] = in[r * columns + c];
}

void ScaleColumn(std::span<double> a, int n, int k) {
  for (int i = k + 1; i < n; ++i) a[i * n + k] /= a[k * n + k];
}

void UpdateTrailing(std::span<double> a, int n, int k) {
  for (int i = k + 1; i < n; ++i)
    for (int j = k + 1; j < n; ++j) a[i * n + j] = std::fma(-a[i * n + k], a[k * n + j], a[i * n + j]);
}

void LuBlock(Call& call) {
  const int n = call.Value<int32_t>(1);
  for (uint32_t b = 0; b < call.grid[0]; ++b) {
    const auto matrix = call.Out<double>(0).subspan(b * n * n, n * n);
    for (int k = 0; k < n; ++k) {
      ScaleColumn(matrix, n, k);
      UpdateTrailing(matrix, n, k);
    }
  }
}

}  // namespace

void AddMatrixReferences(References& references) {
  references["matmul_tiled"] = Multiply;
  references["matmul_dynamic_tile"] = Multiply;
  references["transpose_direct"] = Transpose;
  references["transpose_tiled"] = Transpose;
  references["lu_scale_column"] = [](Call& call) {
    ScaleColumn(call.Out<double>(0), call.Value<int32_t>(1), call.Value<int32_t>(2));
  };
  references["lu_update_trailing"] = [](Call& call) {
    UpdateTrailing(call.Out<double>(0), call.Value<int32_t>(1), call.Value<int32_t>(2));
  };
  references["lu_block"] = LuBlock;
}

}  // namespace corpus
