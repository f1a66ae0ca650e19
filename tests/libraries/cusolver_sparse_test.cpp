// cuSOLVER's sparse part: systems, least squares, eigenvalues, orders.
#include <numeric>
#include <set>

#include "tests/libraries/cusolver_sparse_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cusolver_sparse_case;
using namespace ptx2cpu::cuda;

namespace {

template <typename T>
void CheckSystems(const std::string& function, bool positive, int reorder, cusparseIndexBase_t base) {
  INFO(function << ", type " << Letter<T>() << ", order " << reorder << ", base " << base);
  const SparseSolver solver(base);
  const Matrix<T> a(kSize, kSize, base, Grid<T>(positive));
  std::vector<T> wanted(kSize), x(kSize);
  for (int i = 0; i < kSize; ++i) wanted[static_cast<size_t>(i)] = Number<T>(i + 5);
  const std::vector<T> b = a.Times(wanted);
  int singularity = 7;
  REQUIRE(solver(Letter<T>() + function, kSize, a.nnz(), solver.descr, a.values.data(), a.begins.data(),
                 a.indices.data(), b.data(), static_cast<Real<T>>(1e-6), reorder, x.data(),
                 &singularity) == 0);
  CHECK(singularity == -1);
  CHECK(Error(x, wanted) < Bound<T>());
}
template <typename T>
void CheckType() {
  for (int reorder = 0; reorder <= 3; ++reorder) {
    for (const auto base : {CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_INDEX_BASE_ONE}) {
      for (const char* function : {"csrlsvluHost", "csrlsvqrHost", "csrlsvqr"})
        CheckSystems<T>(function, false, reorder, base);
      for (const char* function : {"csrlsvcholHost", "csrlsvchol"})
        CheckSystems<T>(function, true, reorder, base);
    }
  }
}

}  // namespace

TEST_CASE("cusolver: sparse systems by LU, QR and Cholesky", "[cusolver]") {
  CheckType<float>();
  CheckType<double>();
  CheckType<std::complex<float>>();
  CheckType<std::complex<double>>();
}

TEST_CASE("cusolver: sparse systems that are singular, and status", "[cusolver]") {
  const SparseSolver solver;
  // Row 2 is row 0 again; as a symmetric matrix it is not positive from the third row on.
  const Matrix<double> a(3, 3, 0, {{4, 0, 4}, {0, 2, 0}, {4, 0, 4}});
  const std::vector<double> b = {1, 2, 3};
  std::vector<double> x(3);
  int singularity = 7;
  for (const char* function : {"csrlsvluHost", "csrlsvqrHost", "csrlsvqr", "csrlsvcholHost", "csrlsvchol"}) {
    INFO(function);
    const auto call = [&](cusparseMatDescr_t descr, int n, int reorder, double* to) {
      return solver(std::string("D") + function, n, a.nnz(), descr, a.values.data(), a.begins.data(),
                    a.indices.data(), b.data(), 1e-12, reorder, to, &singularity);
    };
    CHECK(call(solver.descr, 3, 0, x.data()) == 0);
    CHECK(singularity == 2);
    CHECK(call(solver.descr, 0, 0, x.data()) == CUSOLVER_STATUS_INVALID_VALUE);
    CHECK(call(solver.descr, 3, 4, x.data()) == CUSOLVER_STATUS_INVALID_VALUE);
    CHECK(call(solver.descr, 3, 0, nullptr) == CUSOLVER_STATUS_INVALID_VALUE);
    CHECK(call(nullptr, 3, 0, x.data()) == CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED);
    Cusparse().Call("cusparseSetMatType", solver.descr, CUSPARSE_MATRIX_TYPE_SYMMETRIC);
    CHECK(call(solver.descr, 3, 0, x.data()) == CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED);
    Cusparse().Call("cusparseSetMatType", solver.descr, CUSPARSE_MATRIX_TYPE_GENERAL);
  }
  CHECK(Cusolver().Call("cusolverSpSetStream", cusolverSpHandle_t{}, cudaStream_t{}) ==
        CUSOLVER_STATUS_NOT_INITIALIZED);
}

TEST_CASE("cusolver: the eigenvalue of a sparse matrix next to a number", "[cusolver]") {
  constexpr int kCount = 20;
  std::vector<std::vector<double>> dense(kCount, std::vector<double>(kCount));
  for (size_t i = 0; i < kCount; ++i) {
    dense[i][i] = 2;
    if (i != 0) dense[i][i - 1] = dense[i - 1][i] = -1;
  }
  const Matrix<double> a(kCount, kCount, 1, dense);
  const SparseSolver solver(CUSPARSE_INDEX_BASE_ONE);
  std::vector<double> start(kCount, 1), x(kCount);
  for (size_t i = 0; i < kCount; ++i) start[i] += 0.1 * static_cast<double>(i);
  for (const char* function : {"DcsreigvsiHost", "Dcsreigvsi"}) {
    double mu = 0;
    REQUIRE(solver(function, kCount, a.nnz(), solver.descr, a.values.data(), a.begins.data(),
                   a.indices.data(), 0.3, static_cast<const double*>(start.data()), 100, 1e-9, &mu,
                   x.data()) == 0);
    double wanted = 9;
    for (int k = 1; k <= kCount; ++k) {
      const double value = 2 - 2 * std::cos(k * std::acos(-1) / (kCount + 1));
      if (std::abs(value - 0.3) < std::abs(wanted - 0.3)) wanted = value;
    }
    CHECK(std::abs(mu - wanted) < 1e-9);
    std::vector<double> scaled = x;
    for (double& value : scaled) value *= mu;
    CHECK(Error(a.Times(x), scaled) < 1e-8);
  }
}

TEST_CASE("cusolver: batches of sparse systems and least squares", "[cusolver]") {
  const SparseSolver solver;
  constexpr int kRows = 6, kColumns = 4, kBatch = 5;
  std::vector<std::vector<std::complex<double>>> dense(kRows, std::vector<std::complex<double>>(kColumns));
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      if ((i + j) % 3 != 1)
        dense[static_cast<size_t>(i)][static_cast<size_t>(j)] = Number<std::complex<double>>(i * 5 + j + 1);
    }
  }
  Matrix<std::complex<double>> a(kRows, kColumns, 0, dense);
  std::vector<std::complex<double>> values, b, x(kBatch * kColumns);
  for (int k = 0; k < kBatch; ++k) {
    for (const auto& value : a.values) values.push_back(value * (1.0 + k));
    for (int i = 0; i < kRows; ++i) b.push_back(Number<std::complex<double>>(i + 3 * k));
  }
  csrqrInfo_t info = nullptr;
  size_t internal = 0, workspace = 0;
  REQUIRE(Cusolver().Call("cusolverSpCreateCsrqrInfo", &info) == 0);
  REQUIRE(solver("XcsrqrAnalysisBatched", kRows, kColumns, a.nnz(), solver.descr, a.begins.data(),
                 a.indices.data(), info) == 0);
  REQUIRE(solver("ZcsrqrBufferInfoBatched", kRows, kColumns, a.nnz(), solver.descr, values.data(),
                 a.begins.data(), a.indices.data(), kBatch, info, &internal, &workspace) == 0);
  CHECK(workspace > 0);
  REQUIRE(solver("ZcsrqrsvBatched", kRows, kColumns, a.nnz(), solver.descr, values.data(), a.begins.data(),
                 a.indices.data(), b.data(), x.data(), kBatch, info, static_cast<void*>(nullptr)) == 0);
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  for (int k = 0; k < kBatch; ++k) {
    std::copy_n(values.begin() + k * a.nnz(), a.nnz(), a.values.begin());
    std::vector<std::complex<double>> residual =
        a.Times({x.begin() + k * kColumns, x.begin() + (k + 1) * kColumns});
    for (int i = 0; i < kRows; ++i) residual[static_cast<size_t>(i)] -= b[static_cast<size_t>(k * kRows + i)];
    // The smallest residual is orthogonal to every column.
    for (int j = 0; j < kColumns; ++j) {
      std::complex<double> product = 0;
      for (size_t i = 0; i < kRows; ++i)
        product += std::conj(dense[i][static_cast<size_t>(j)] * (1.0 + k)) * residual[i];
      CHECK(std::abs(product) < 1e-10);
    }
  }
  CHECK(Cusolver().Call("cusolverSpDestroyCsrqrInfo", info) == 0);
}

TEST_CASE("cusolver: orders and permutations of sparse matrices", "[cusolver]") {
  const SparseSolver solver(CUSPARSE_INDEX_BASE_ONE);
  const Matrix<double> a(kSize, kSize, 1, Grid<double>(true));
  int symmetric = 0;
  REQUIRE(solver("XcsrissymHost", kSize, a.nnz(), solver.descr, a.begins.data(), a.begins.data() + 1,
                 a.indices.data(), &symmetric) == 0);
  CHECK(symmetric == 1);
  const Matrix<double> half(2, 2, 1, {{1, 2}, {0, 1}});
  REQUIRE(solver("XcsrissymHost", 2, half.nnz(), solver.descr, half.begins.data(), half.begins.data() + 1,
                 half.indices.data(), &symmetric) == 0);
  CHECK(symmetric == 0);
  const auto bandwidth = [](const std::vector<int>& begins, const std::vector<int>& indices) {
    int width = 0;
    for (int i = 0; i < kSize; ++i) {
      for (int at = begins[static_cast<size_t>(i)]; at < begins[static_cast<size_t>(i) + 1]; ++at)
        width = std::max(width, std::abs(indices[static_cast<size_t>(at) - 1] - 1 - i));
    }
    return width;
  };
  for (const char* function : {"XcsrsymrcmHost", "XcsrsymmdqHost", "XcsrsymamdHost", "XcsrmetisndHost"}) {
    INFO(function);
    std::vector<int> p(kSize);
    if (std::string(function) == "XcsrmetisndHost") {
      REQUIRE(solver(function, kSize, a.nnz(), solver.descr, a.begins.data(), a.indices.data(),
                     static_cast<const int64_t*>(nullptr), p.data()) == 0);
    } else {
      REQUIRE(solver(function, kSize, a.nnz(), solver.descr, a.begins.data(), a.indices.data(), p.data()) ==
              0);
    }
    CHECK(std::set<int>(p.begin(), p.end()).size() == kSize);
    CHECK(*std::ranges::max_element(p) == kSize - 1);
    std::vector<int> begins = a.begins, indices = a.indices, map(a.values.size());
    std::iota(map.begin(), map.end(), 0);
    REQUIRE(solver("XcsrpermHost", kSize, kSize, a.nnz(), solver.descr, begins.data(), indices.data(),
                   static_cast<const int*>(p.data()), static_cast<const int*>(p.data()), map.data(),
                   static_cast<void*>(nullptr)) == 0);
    const auto dense = Grid<double>(true);
    for (size_t i = 0; i < kSize; ++i) {
      for (int at = begins[i] - 1; at < begins[i + 1] - 1; ++at) {
        const auto column = static_cast<size_t>(p[static_cast<size_t>(indices[static_cast<size_t>(at)] - 1)]);
        CHECK(a.values[static_cast<size_t>(map[static_cast<size_t>(at)])] ==
              dense[static_cast<size_t>(p[i])][column]);
      }
    }
    if (std::string(function) == "XcsrsymrcmHost") {
      CHECK(bandwidth(begins, indices) <= kSide + 1);
      CHECK(bandwidth(a.begins, a.indices) > 2 * kSide);
    }
  }
}
