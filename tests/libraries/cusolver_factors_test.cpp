// Factors of sparse matrices on their own: systems of every type, of the host and of the device; least
// squares, extracted factors, singular matrices, status.
#include "tests/libraries/cusolver_sparse_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cusolver_sparse_case;
using namespace ptx2cpu::cuda;

namespace {

// One of the kinds of factors. The names of functions of the host end in Host.
template <typename T, typename Info>
class Steps {
 public:
  Steps(std::string kind, bool on_host, cusparseIndexBase_t base)
      : kind_(std::move(kind)), end_(on_host ? "Host" : ""), solver_(base) {
    REQUIRE(Cusolver().Call("cusolverSpCreateC" + kind_.substr(1) + "Info" + end_, &info_) == 0);
  }
  ~Steps() { Cusolver().Call("cusolverSpDestroyC" + kind_.substr(1) + "Info" + end_, info_); }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  template <typename... Args>
  int Call(const std::string& function, Args... args) const {
    return solver_(Letter<T>() + kind_ + function + end_, args...);
  }
  template <typename... Args>
  int Untyped(const std::string& function, Args... args) const {
    return solver_("X" + kind_ + function + end_, args...);
  }
  bool IsQr() const { return kind_ == "csrqr"; }

  void Analyse(const Matrix<T>& a) {
    size_t internal = 0, workspace = 0;
    const int *begins = a.begins.data(), *indices = a.indices.data();
    const T* const values = a.values.data();
    if (IsQr()) {
      REQUIRE(Untyped("Analysis", a.rows, a.columns, a.nnz(), solver_.descr, begins, indices, info_) == 0);
      REQUIRE(Call("BufferInfo", a.rows, a.columns, a.nnz(), solver_.descr, values, begins, indices, info_,
                   &internal, &workspace) == 0);
    } else {
      REQUIRE(Untyped("Analysis", a.rows, a.nnz(), solver_.descr, begins, indices, info_) == 0);
      REQUIRE(Call("BufferInfo", a.rows, a.nnz(), solver_.descr, values, begins, indices, info_, &internal,
                   &workspace) == 0);
    }
    CHECK(workspace > 0);
    buffer_.resize(workspace);
  }
  // `shift` only of QR, `threshold` only of LU.
  int Factor(const Matrix<T>& a, T shift = {}, Real<T> threshold = 1) {
    const int *begins = a.begins.data(), *indices = a.indices.data();
    const T* const values = a.values.data();
    T* const none = nullptr;
    if (IsQr()) {
      REQUIRE(Call("Setup", a.rows, a.columns, a.nnz(), solver_.descr, values, begins, indices, shift,
                   info_) == 0);
      return Call("Factor", a.rows, a.columns, a.nnz(), none, none, info_, Buffer());
    }
    if (kind_ == "csrlu")
      return Call("Factor", a.rows, a.nnz(), solver_.descr, values, begins, indices, info_, threshold,
                  Buffer());
    return Call("Factor", a.rows, a.nnz(), solver_.descr, values, begins, indices, info_, Buffer());
  }
  int Pivot(Real<T> tolerance) const {
    int position = 77;
    REQUIRE(Call("ZeroPivot", info_, tolerance, &position) == 0);
    return position;
  }
  int Solve(const Matrix<T>& a, std::vector<T> b, std::vector<T>& x) {
    x.assign(static_cast<size_t>(a.columns), T{77});
    const T* const right = b.data();
    const int status = IsQr() ? Call("Solve", a.rows, a.columns, b.data(), x.data(), info_, Buffer())
                              : Call("Solve", a.rows, right, x.data(), info_, Buffer());
    REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
    return status;
  }
  Info info() const { return info_; }
  cusparseMatDescr_t descr() const { return solver_.descr; }
  void* Buffer() { return buffer_.data(); }

 private:
  std::string kind_, end_;
  SparseSolver solver_;
  Info info_ = nullptr;
  std::vector<char> buffer_;
};

template <typename T>
std::vector<T> SomeNumbers(int count) {
  std::vector<T> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(Number<T>(i + 5));
  return numbers;
}

template <typename T, typename Info>
void CheckSystem(const std::string& kind, bool on_host, cusparseIndexBase_t base) {
  INFO(kind << ", type " << Letter<T>() << ", of the host: " << on_host << ", base " << base);
  Steps<T, Info> steps(kind, on_host, base);
  Matrix<T> a(kSize, kSize, base, Grid<T>(kind == "csrchol"));
  steps.Analyse(a);
  const std::vector<T> wanted = SomeNumbers<T>(kSize);
  std::vector<T> x;
  // Other values in the same places.
  for (int pass = 0; pass < 2; ++pass) {
    REQUIRE(steps.Factor(a) == 0);
    CHECK(steps.Pivot(static_cast<Real<T>>(1e-6)) == -1);
    CHECK(steps.Pivot(static_cast<Real<T>>(1e6)) == 0);
    REQUIRE(steps.Solve(a, a.Times(wanted), x) == 0);
    CHECK(Error(x, wanted) < Bound<T>());
    for (T& value : a.values) value *= static_cast<Real<T>>(1.5);
  }
}
template <typename T>
void CheckSystems() {
  for (const auto base : {CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_INDEX_BASE_ONE}) {
    CheckSystem<T, csrqrInfoHost_t>("csrqr", true, base);
    CheckSystem<T, csrqrInfo_t>("csrqr", false, base);
    CheckSystem<T, csrluInfoHost_t>("csrlu", true, base);
    CheckSystem<T, csrcholInfoHost_t>("csrchol", true, base);
    CheckSystem<T, csrcholInfo_t>("csrchol", false, base);
  }
}

// P A Q^T = L U, with the ones on the diagonal of L left out.
template <typename T>
void CheckExtracted(cusparseIndexBase_t base, Real<T> threshold) {
  INFO("type " << Letter<T>() << ", base " << base << ", threshold " << threshold);
  Steps<T, csrluInfoHost_t> steps("csrlu", true, base);
  const auto dense = Grid<T>(false);
  const Matrix<T> a(kSize, kSize, base, dense);
  steps.Analyse(a);
  REQUIRE(steps.Factor(a, {}, threshold) == 0);
  int lower_count = 0, upper_count = 0;
  REQUIRE(steps.Untyped("Nnz", &lower_count, &upper_count, steps.info()) == 0);
  std::vector<int> p(kSize), q(kSize), begins[2], columns[2];
  std::vector<T> values[2];
  for (const int i : {0, 1}) {
    const auto count = static_cast<size_t>(i == 0 ? lower_count : upper_count);
    begins[i].resize(kSize + 1), columns[i].resize(count), values[i].resize(count);
  }
  REQUIRE(steps.Call("Extract", p.data(), q.data(), steps.descr(), values[0].data(), begins[0].data(),
                     columns[0].data(), steps.descr(), values[1].data(), begins[1].data(), columns[1].data(),
                     steps.info(), steps.Buffer()) == 0);
  const auto row_of = [&](int which, int row) {
    std::vector<T> result(kSize);
    for (int at = begins[which][static_cast<size_t>(row)] - base;
         at < begins[which][static_cast<size_t>(row) + 1] - base; ++at) {
      const int column = columns[which][static_cast<size_t>(at)] - base;
      CHECK((which == 0 ? column < row : column >= row));
      result[static_cast<size_t>(column)] = values[which][static_cast<size_t>(at)];
    }
    return result;
  };
  for (int i = 0; i < kSize; ++i) {
    std::vector<T> lower = row_of(0, i), product = row_of(1, i), wanted;
    for (int k = 0; k < i; ++k) {
      const std::vector<T> upper = row_of(1, k);
      for (size_t j = 0; j < kSize; ++j) product[j] += lower[static_cast<size_t>(k)] * upper[j];
    }
    for (size_t j = 0; j < kSize; ++j)
      wanted.push_back(dense[static_cast<size_t>(p[static_cast<size_t>(i)])][static_cast<size_t>(q[j])]);
    CHECK(Error(product, wanted) < Bound<T>());
  }
}

template <typename T, typename Info>
void CheckLeastSquares(bool on_host) {
  INFO("type " << Letter<T>() << ", of the host: " << on_host);
  Steps<T, Info> steps("csrqr", on_host, CUSPARSE_INDEX_BASE_ZERO);
  auto dense = Grid<T>(true);
  for (auto& row : dense) row.resize(20);
  const Matrix<T> a(kSize, 20, 0, dense);
  steps.Analyse(a);
  REQUIRE(steps.Factor(a) == 0);
  const std::vector<T> b = SomeNumbers<T>(kSize);
  std::vector<T> x;
  REQUIRE(steps.Solve(a, b, x) == 0);
  // What is left is at right angles to every column.
  const std::vector<T> product = a.Times(x);
  for (size_t j = 0; j < 20; ++j) {
    T sum{};
    for (size_t i = 0; i < kSize; ++i) sum += Conjugated(dense[i][j]) * (b[i] - product[i]);
    CHECK(std::abs(sum) < 10 * Bound<T>());
  }
}

}  // namespace

TEST_CASE("cusolver: systems by factors on their own", "[cusolver]") {
  CheckSystems<float>();
  CheckSystems<double>();
  CheckSystems<std::complex<float>>();
  CheckSystems<std::complex<double>>();
}

TEST_CASE("cusolver: extracted factors of sparse matrices", "[cusolver]") {
  for (const auto base : {CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_INDEX_BASE_ONE}) {
    for (const float threshold : {1.0f, 0.1f}) {
      CheckExtracted<float>(base, threshold);
      CheckExtracted<double>(base, static_cast<double>(threshold));
      CheckExtracted<std::complex<float>>(base, threshold);
      CheckExtracted<std::complex<double>>(base, static_cast<double>(threshold));
    }
  }
}

TEST_CASE("cusolver: least squares by factors on their own", "[cusolver]") {
  CheckLeastSquares<float, csrqrInfo_t>(false);
  CheckLeastSquares<double, csrqrInfoHost_t>(true);
  CheckLeastSquares<std::complex<float>, csrqrInfoHost_t>(true);
  CheckLeastSquares<std::complex<double>, csrqrInfo_t>(false);
}

TEST_CASE("cusolver: shifted matrices and solutions while factors are made", "[cusolver]") {
  Steps<double, csrqrInfo_t> steps("csrqr", false, CUSPARSE_INDEX_BASE_ZERO);
  const Matrix<double> a(3, 3, 0, {{0, 1, 0}, {2, 3, 1}, {0, 1, 5}});
  steps.Analyse(a);
  REQUIRE(steps.Factor(a, 2.0) == 0);
  std::vector<double> b = {-1, 5, 7}, x = {0, 0, 0};  // of (A - 2) times (1, 1, 2)
  REQUIRE(steps.Call("Factor", 3, 3, a.nnz(), b.data(), x.data(), steps.info(), steps.Buffer()) == 0);
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  CHECK(Error(x, {1, 1, 2}) < 1e-12);
}

TEST_CASE("cusolver: diagonals of Cholesky factors", "[cusolver]") {
  Steps<std::complex<double>, csrcholInfo_t> steps("csrchol", false, CUSPARSE_INDEX_BASE_ZERO);
  using T = std::complex<double>;
  const Matrix<T> a(2, 2, 0, {{T{4}, T{2, -2}}, {T{2, 2}, T{11}}});
  steps.Analyse(a);
  REQUIRE(steps.Factor(a) == 0);
  std::vector<double> diagonal(2);
  REQUIRE(steps.Call("Diag", steps.info(), diagonal.data()) == 0);
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  CHECK(Error(diagonal, {2, 3}) < 1e-12);
}

TEST_CASE("cusolver: singular matrices by factors on their own, and status", "[cusolver]") {
  // Row 2 is row 0 again; as a symmetric matrix it is not positive from the third row on.
  const Matrix<double> a(3, 3, 0, {{4, 0, 4}, {0, 2, 0}, {4, 0, 4}});
  const auto check = [&](auto& steps) {
    std::vector<double> x;
    CHECK(steps.Call("ZeroPivot", steps.info(), 1e-6, static_cast<int*>(nullptr)) ==
          CUSOLVER_STATUS_INVALID_VALUE);
    steps.Analyse(a);
    CHECK(steps.Solve(a, {1, 2, 3}, x) == CUSOLVER_STATUS_INVALID_VALUE);  // without factors
    REQUIRE(steps.Factor(a) == 0);
    CHECK(steps.Pivot(1e-9) == 2);
    steps.Solve(a, {1, 2, 3}, x);
    CHECK(x == std::vector<double>{77, 77, 77});
  };
  Steps<double, csrqrInfoHost_t> qr("csrqr", true, CUSPARSE_INDEX_BASE_ZERO);
  Steps<double, csrqrInfo_t> device_qr("csrqr", false, CUSPARSE_INDEX_BASE_ZERO);
  Steps<double, csrluInfoHost_t> lu("csrlu", true, CUSPARSE_INDEX_BASE_ZERO);
  Steps<double, csrcholInfoHost_t> cholesky("csrchol", true, CUSPARSE_INDEX_BASE_ZERO);
  Steps<double, csrcholInfo_t> device_cholesky("csrchol", false, CUSPARSE_INDEX_BASE_ZERO);
  check(qr), check(device_qr), check(lu), check(cholesky), check(device_cholesky);
  CHECK(lu.Untyped("Analysis", 3, a.nnz(), cusparseMatDescr_t{}, a.begins.data(), a.indices.data(),
                   lu.info()) == CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED);
  CHECK(qr.Untyped("Analysis", 2, 3, a.nnz(), qr.descr(), a.begins.data(), a.indices.data(), qr.info()) ==
        CUSOLVER_STATUS_INVALID_VALUE);
}
