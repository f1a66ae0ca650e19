// cuSPARSE: conversions between dense and sparse matrices, sums, counts, sorting, sparse vectors.
#include <algorithm>
#include <numeric>

#include "tests/libraries/cusparse_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cusparse_case;

TEST_CASE("cusparse: dense to sparse and back, transposition, sums, counts") {
  const Sparse sparse;
  const Matrix<double> m = RandomMatrix<double>(13, 9, 0.35, 61);
  std::vector<double> dense = m.dense;
  const cusparseDnMatDescr_t d = DenseOf(dense, 13, 9, 9, CUSPARSE_ORDER_ROW);
  std::vector<int> offsets(14);
  cusparseSpMatDescr_t csr = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateCsr", &csr, int64_t{13}, int64_t{9}, int64_t{0},
                          static_cast<void*>(offsets.data()), nullptr, nullptr, CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F) == 0);
  size_t size = 0;
  REQUIRE(sparse("DenseToSparse_bufferSize", d, csr, 0, &size) == 0);
  REQUIRE(sparse("DenseToSparse_analysis", d, csr, 0, nullptr) == 0);
  int64_t rows = 0, columns = 0, nnz = 0;
  REQUIRE(Cusparse().Call("cusparseSpMatGetSize", csr, &rows, &columns, &nnz) == 0);
  REQUIRE(nnz == m.nnz());
  std::vector<int> indices(static_cast<size_t>(nnz));
  std::vector<double> values(static_cast<size_t>(nnz));
  REQUIRE(Cusparse().Call("cusparseCsrSetPointers", csr, static_cast<void*>(offsets.data()),
                          static_cast<void*>(indices.data()), static_cast<void*>(values.data())) == 0);
  REQUIRE(sparse("DenseToSparse_convert", d, csr, 0, nullptr) == 0);
  Wait();
  CHECK(offsets == m.offsets);
  CHECK(indices == m.indices);
  CHECK(values == m.values);
  std::fill(dense.begin(), dense.end(), -1.0);
  REQUIRE(sparse("SparseToDense", csr, d, 0, nullptr) == 0);
  Wait();
  CHECK(dense == m.dense);
  Destroy(csr), Destroy(d);

  const Matrix<double> t = Transposed(m, 0);
  std::vector<int> csc_offsets(10), csc_rows(indices.size());
  std::vector<double> csc_values(values.size());
  REQUIRE(sparse("Csr2cscEx2", 13, 9, m.nnz(), static_cast<const void*>(values.data()), offsets.data(),
                 indices.data(), static_cast<void*>(csc_values.data()), csc_offsets.data(), csc_rows.data(),
                 CUDA_R_64F, CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1,
                 nullptr) == 0);
  Wait();
  CHECK(csc_offsets == t.offsets);
  CHECK(csc_rows == t.indices);
  CHECK(csc_values == t.values);

  // C = 2 A - B, from base 0 and base 1 to base 1.
  const Matrix<double> b = RandomMatrix<double>(13, 9, 0.3, 62, 1);
  cusparseMatDescr_t zero = nullptr, one = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateMatDescr", &zero) == 0);
  REQUIRE(Cusparse().Call("cusparseCreateMatDescr", &one) == 0);
  REQUIRE(Cusparse().Call("cusparseSetMatIndexBase", one, CUSPARSE_INDEX_BASE_ONE) == 0);
  Matrix<double> expected{13, 9, std::vector<double>(13 * 9), {}, {}, {}, {}};
  for (size_t i = 0; i < expected.dense.size(); ++i) expected.dense[i] = 2 * m.dense[i] - b.dense[i];
  expected.Compress(1);
  std::vector<int> sum_offsets(14);
  int total = 0;
  REQUIRE(sparse("Xcsrgeam2Nnz", 13, 9, zero, m.nnz(), m.offsets.data(), m.indices.data(), one, b.nnz(),
                 b.offsets.data(), b.indices.data(), one, sum_offsets.data(), &total, nullptr) == 0);
  REQUIRE(total == expected.nnz());
  std::vector<int> sum_indices(static_cast<size_t>(total));
  std::vector<double> sum_values(static_cast<size_t>(total));
  const double two = 2, minus = -1;
  REQUIRE(sparse("Dcsrgeam2", 13, 9, &two, zero, m.nnz(), m.values.data(), m.offsets.data(), m.indices.data(),
                 &minus, one, b.nnz(), b.values.data(), b.offsets.data(), b.indices.data(), one,
                 sum_values.data(), sum_offsets.data(), sum_indices.data(), nullptr) == 0);
  Wait();
  CHECK(sum_offsets == expected.offsets);
  CHECK(sum_indices == expected.indices);
  CHECK(sum_values == expected.values);

  std::vector<int> counts(9);
  int all = 0;
  // The row-major matrix of 13 by 9 is a column-major one of 9 by 13.
  REQUIRE(sparse("Dnnz", CUSPARSE_DIRECTION_ROW, 9, 13, zero, m.dense.data(), 9, counts.data(), &all) == 0);
  CHECK(all == m.nnz());
  for (int j = 0; j < 9; ++j) CHECK(counts[j] == t.offsets[j + 1] - t.offsets[j]);
  std::vector<int> row_of(static_cast<size_t>(m.nnz())), again(14);
  REQUIRE(sparse("Xcsr2coo", m.offsets.data(), m.nnz(), 13, row_of.data(), CUSPARSE_INDEX_BASE_ZERO) == 0);
  Wait();
  CHECK(row_of == m.row_indices);
  REQUIRE(sparse("Xcoo2csr", static_cast<const int*>(row_of.data()), m.nnz(), 13, again.data(),
                 CUSPARSE_INDEX_BASE_ZERO) == 0);
  Wait();
  CHECK(again == m.offsets);
  REQUIRE(Cusparse().Call("cusparseDestroyMatDescr", zero) == 0);
  REQUIRE(Cusparse().Call("cusparseDestroyMatDescr", one) == 0);
}

TEST_CASE("cusparse: sorting keeps the permutation") {
  const Sparse sparse;
  std::vector<int> rows = {2, 0, 2, 1, 0}, columns = {1, 2, 0, 1, 0}, p(5);
  REQUIRE(sparse("CreateIdentityPermutation", 5, p.data()) == 0);
  REQUIRE(sparse("XcoosortByRow", 3, 3, 5, rows.data(), columns.data(), p.data(), nullptr) == 0);
  Wait();
  CHECK(rows == std::vector<int>{0, 0, 1, 2, 2});
  CHECK(columns == std::vector<int>{0, 2, 1, 0, 1});
  CHECK(p == std::vector<int>{4, 1, 3, 2, 0});
  REQUIRE(sparse("XcoosortByColumn", 3, 3, 5, rows.data(), columns.data(), p.data(), nullptr) == 0);
  Wait();
  CHECK(columns == std::vector<int>{0, 0, 1, 1, 2});
  CHECK(rows == std::vector<int>{0, 2, 1, 2, 0});
  CHECK(p == std::vector<int>{4, 2, 3, 0, 1});
  cusparseMatDescr_t descr = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateMatDescr", &descr) == 0);
  std::vector<int> offsets = {0, 3, 5}, unsorted = {4, 0, 2, 3, 1};
  std::iota(p.begin(), p.end(), 0);
  REQUIRE(sparse("Xcsrsort", 2, 5, 5, descr, static_cast<const int*>(offsets.data()), unsorted.data(),
                 p.data(), nullptr) == 0);
  Wait();
  CHECK(unsorted == std::vector<int>{0, 2, 4, 1, 3});
  CHECK(p == std::vector<int>{1, 2, 0, 4, 3});
  REQUIRE(Cusparse().Call("cusparseDestroyMatDescr", descr) == 0);
}

TEST_CASE("cusparse: sparse vectors") {
  const Sparse sparse;
  std::vector<int64_t> indices = {1, 3, 6};  // base 1
  std::vector<cuComplex> x = {{1, 2}, {3, -1}, {0, 4}}, y(6, {1, 1});
  cusparseSpVecDescr_t sx = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateSpVec", &sx, int64_t{6}, int64_t{3},
                          static_cast<void*>(indices.data()), static_cast<void*>(x.data()),
                          CUSPARSE_INDEX_64I, CUSPARSE_INDEX_BASE_ONE, CUDA_C_32F) == 0);
  const cusparseDnVecDescr_t dy = VectorOf(y);
  const cuComplex two(2, 0), i(0, 1);
  REQUIRE(sparse("Axpby", &two, sx, &i, dy) == 0);
  Wait();
  CHECK(y == std::vector<cuComplex>{{1, 5}, {-1, 1}, {5, -1}, {-1, 1}, {-1, 1}, {-1, 9}});
  cuComplex plain, conjugated;
  REQUIRE(sparse("SpVV", 0, sx, dy, static_cast<void*>(&plain), CUDA_C_32F, nullptr) == 0);
  REQUIRE(sparse("SpVV", 2, sx, dy, static_cast<void*>(&conjugated), CUDA_C_32F, nullptr) == 0);
  cuComplex sum, sum_conjugated;
  for (int k = 0; k < 3; ++k) {
    sum += x[k] * y[indices[k] - 1], sum_conjugated += std::conj(x[k]) * y[indices[k] - 1];
  }
  CHECK(plain == sum);
  CHECK(conjugated == sum_conjugated);
  REQUIRE(sparse("Gather", dy, sx) == 0);
  Wait();
  CHECK(x == std::vector<cuComplex>{{1, 5}, {5, -1}, {-1, 9}});
  x = {{7, 0}, {8, 0}, {9, 0}};
  REQUIRE(sparse("Scatter", sx, dy) == 0);
  Wait();
  CHECK(y[0] == cuComplex(7, 0));
  CHECK(y[2] == cuComplex(8, 0));
  CHECK(y[5] == cuComplex(9, 0));
  const cuComplex c(0.6f, 0), s(0.8f, 0);
  y[0] = {1, 0};
  REQUIRE(sparse("Rot", &c, &s, sx, dy) == 0);
  Wait();
  CheckClose(x[0], cuComplex(0.6f * 7 + 0.8f, 0), 1e-6);
  CheckClose(y[0], cuComplex(0.6f - 0.8f * 7, 0), 1e-6);
  REQUIRE(Cusparse().Call("cusparseDestroySpVec", sx) == 0);
  Destroy(dy);

  const std::vector<double> a = {1, 2, 3, 4, 5, 6};  // 2 by 3
  const std::vector<double> values = {10, 100};
  const std::vector<int> places = {0, 2};
  std::vector<double> result = {1, 1, 1};
  const double one = 1, half = 0.5;
  REQUIRE(sparse("Dgemvi", 0, 2, 3, &one, a.data(), 2, 2, values.data(), places.data(), &half, result.data(),
                 CUSPARSE_INDEX_BASE_ZERO, nullptr) == 0);
  Wait();
  CHECK(result == std::vector<double>{510.5, 620.5, 1});
}
