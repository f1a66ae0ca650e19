// cuSOLVER: general eigenvalues, the largest singular values, systems with an object of parameters, LDL
// systems, triangles of Householder vectors.
#include <algorithm>

#include "tests/libraries/cusolver_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cusolver_case;

namespace {

template <typename T>
using Complex = std::complex<Real<T>>;

// Eigenvectors as complex columns: a real matrix has two columns for a pair.
template <typename T>
Dense<Complex<T>> VectorsOf(const Dense<T>& v, const std::vector<Complex<T>>& w) {
  const int n = v.rows;
  Dense<Complex<T>> all(n, n);
  for (int j = 0; j < n; ++j) {
    const bool pair = !kComplex<T> && w[static_cast<size_t>(j)].imag() != 0;
    for (int i = 0; i < n; ++i) {
      if constexpr (kComplex<T>) {
        all(i, j) = v(i, j);
      } else {
        all(i, j) = pair ? Complex<T>(v(i, j), v(i, j + 1)) : Complex<T>(v(i, j));
        if (pair) all(i, j + 1) = std::conj(all(i, j));
      }
    }
    j += pair;
  }
  return all;
}

struct Iterative {
  cusolverDnIRSParams_t params = nullptr;
  cusolverDnIRSInfos_t infos = nullptr;
  Iterative() {
    REQUIRE(Cusolver().Call("cusolverDnIRSParamsCreate", &params) == 0);
    REQUIRE(Cusolver().Call("cusolverDnIRSInfosCreate", &infos) == 0);
  }
  ~Iterative() {
    Cusolver().Call("cusolverDnIRSInfosDestroy", infos);
    Cusolver().Call("cusolverDnIRSParamsDestroy", params);
  }
  Iterative(const Iterative&) = delete;
};
template <typename T>
cusolverPrecType_t Precision() {
  return sizeof(Real<T>) == 4 ? (kComplex<T> ? CUSOLVER_C_32F : CUSOLVER_R_32F)
                              : (kComplex<T> ? CUSOLVER_C_64F : CUSOLVER_R_64F);
}

}  // namespace

TEMPLATE_TEST_CASE("cusolver: Xgeev: A V is V W, with values as complex numbers or in two parts", "",
                   SOLVER_TYPES) {
  using T = TestType;
  const Solver solver;
  const int64_t n = 14;
  const Dense<T> a = Random<T>(14, 14, 31);
  const cudaDataType type = TypeOf<T>(), complex = sizeof(Real<T>) == 4 ? CUDA_C_32F : CUDA_C_64F;
  cusolverDnParams_t params = nullptr;
  for (const bool parts : {false, true}) {
    Dense<T> work = a, v(14, 14);
    std::vector<Complex<T>> w(14);
    std::vector<Real<T>> flat(28);
    void* const values = parts ? static_cast<void*>(flat.data()) : w.data();
    const cudaDataType type_w = parts ? type : complex;
    if (parts && kComplex<T>) continue;
    size_t device = 0, host = 1;
    int info = -1;
    REQUIRE(solver("Xgeev_bufferSize", params, 0, 1, n, type, (const void*)work.data(), n, type_w,
                   (const void*)values, type, (const void*)nullptr, int64_t{1}, type, (const void*)v.data(),
                   n, type, &device, &host) == 0);
    CHECK(device > 0);
    REQUIRE(solver("Xgeev", params, 0, 1, n, type, (void*)work.data(), n, type_w, values, type,
                   (void*)nullptr, int64_t{1}, type, (void*)v.data(), n, type, (void*)nullptr, device,
                   (void*)nullptr, host, &info) == 0);
    Wait();
    CHECK(info == 0);
    for (size_t i = 0; parts && i < 14; ++i) w[i] = {flat[i], flat[14 + i]};
    const Dense<Complex<T>> vectors = VectorsOf(v, w);
    Dense<Complex<T>> matrix(14, 14), scaled(14, 14);
    std::copy(a.values.begin(), a.values.end(), matrix.values.begin());
    for (int j = 0; j < 14; ++j) {
      double norm = 0;
      for (int i = 0; i < 14; ++i) {
        scaled(i, j) = vectors(i, j) * w[static_cast<size_t>(j)];
        norm += std::norm(vectors(i, j));
      }
      CHECK(std::abs(norm - 1) < 1e-4);
    }
    CheckNear(Multiply(matrix, vectors), scaled);
  }
  // Left vectors are not computed; other types do not fit.
  Dense<T> work = a;
  std::vector<Complex<T>> w(14);
  int info = 0;
  const auto call = [&](int left, int right, int64_t ldvr, cudaDataType type_w) {
    return solver("Xgeev", params, left, right, n, type, (void*)work.data(), n, type_w, (void*)w.data(), type,
                  (void*)nullptr, int64_t{14}, type, (void*)work.data(), ldvr, type, (void*)nullptr,
                  size_t{0}, (void*)nullptr, size_t{0}, &info);
  };
  CHECK(call(1, 0, 14, complex) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(call(0, 1, 13, complex) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(call(0, 1, 14, CUDA_R_16F) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(call(0, 2, 14, complex) == CUSOLVER_STATUS_INVALID_VALUE);
}

TEMPLATE_TEST_CASE("cusolver: Xgesvdr finds the largest singular values and their vectors", "",
                   SOLVER_TYPES) {
  using T = TestType;
  const Solver solver;
  const int64_t m = 18, n = 11, k = 4, p = 3;
  // A matrix of rank k is what its k largest values and their vectors give.
  const Dense<T> a = Multiply(Random<T>(18, 4, 41), Random<T>(4, 11, 42));
  const cudaDataType type = TypeOf<T>(), real = RealTypeOf<T>();
  cusolverDnParams_t params = nullptr;
  Dense<T> work = a, u(18, 4), v(11, 4);
  std::vector<Real<T>> s(5, Real<T>(-7));
  size_t device = 0, host = 1;
  int info = -1;
  const auto vectors = static_cast<signed char>('S'), none = static_cast<signed char>('N');
  REQUIRE(solver("Xgesvdr_bufferSize", params, vectors, vectors, m, n, k, p, int64_t{2}, type,
                 (const void*)work.data(), m, real, (const void*)s.data(), type, (const void*)u.data(), m,
                 type, (const void*)v.data(), n, type, &device, &host) == 0);
  const auto call = [&](signed char jobu, signed char jobv, int64_t rank, int64_t more, int64_t ldv) {
    work = a;
    const int status =
        solver("Xgesvdr", params, jobu, jobv, m, n, rank, more, int64_t{2}, type, (void*)work.data(), m, real,
               (void*)s.data(), type, (void*)u.data(), m, type, (void*)v.data(), ldv, type, (void*)nullptr,
               device, (void*)nullptr, host, &info);
    Wait();
    return status;
  };
  REQUIRE(call(vectors, vectors, k, p, n) == 0);
  CHECK(info == 0);
  CHECK(std::is_sorted(s.begin(), s.begin() + 4, std::greater<>()));
  CHECK(s[4] == -7);
  CheckNear(Multiply(Scaled(u, s, 4), Adjoint(v)), a);
  const std::vector<Real<T>> before = s;
  u.values.assign(u.values.size(), T(3));
  REQUIRE(call(none, vectors, 2, 1, n) == 0);
  CHECK(std::abs(s[0] - before[0]) < 1e-4);
  CHECK(u.values[0] == T(3));
  CHECK(call(static_cast<signed char>('A'), none, k, p, n) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(call(vectors, vectors, k, 8, n) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(call(vectors, vectors, 12, 0, n) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(call(vectors, vectors, k, p, n - 1) == CUSOLVER_STATUS_INVALID_VALUE);
}

TEMPLATE_TEST_CASE("cusolver: IRSXgesv and IRSXgels solve into X, leave A, and report norms", "",
                   SOLVER_TYPES) {
  using T = TestType;
  const Solver solver;
  const Iterative object;
  const Dense<T> a = Hermitian<T>(12, 51, 15), x = Random<T>(12, 2, 52);
  Dense<T> matrix = a, b = Multiply(a, x), found(12, 2);
  size_t size = 0;
  int iterations = -1, info = -1;
  const auto solve = [&] {
    return solver("IRSXgesv", object.params, object.infos, 12, 2, (void*)matrix.data(), 12, (void*)b.data(),
                  12, (void*)found.data(), 12, (void*)nullptr, size, &iterations, &info);
  };
  CHECK(solver("IRSXgesv_bufferSize", object.params, 12, 2, &size) == CUSOLVER_STATUS_IRS_PARAMS_INVALID);
  REQUIRE(Cusolver().Call("cusolverDnIRSParamsSetSolverPrecisions", object.params, Precision<T>(),
                          Precision<T>()) == 0);
  CHECK(solver("IRSXgesv_bufferSize", object.params, 12, 2, &size) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(Cusolver().Call("cusolverDnIRSParamsSetRefinementSolver", object.params,
                          CUSOLVER_IRS_REFINE_CLASSICAL) == 0);
  REQUIRE(solver("IRSXgesv_bufferSize", object.params, 12, 2, &size) == 0);
  void* history = nullptr;
  CHECK(Cusolver().Call("cusolverDnIRSInfosGetResidualHistory", object.infos, &history) ==
        CUSOLVER_STATUS_INVALID_VALUE);
  REQUIRE(Cusolver().Call("cusolverDnIRSInfosRequestResidual", object.infos) == 0);
  REQUIRE(Cusolver().Call("cusolverDnIRSParamsSetMaxIters", object.params, 60) == 0);
  CHECK(Cusolver().Call("cusolverDnIRSParamsSetMaxItersInner", object.params, 61) ==
        CUSOLVER_STATUS_IRS_PARAMS_INVALID);
  REQUIRE(solve() == 0);
  CHECK(info == 0);
  CHECK(iterations == 0);
  CheckNear(found, x);
  CHECK(matrix.values == a.values);
  int limit = 0;
  REQUIRE(Cusolver().Call("cusolverDnIRSInfosGetMaxIters", object.infos, &limit) == 0);
  CHECK(limit == 60);
  // 61 rows; the first column counts iterations, the others have the norms of the residual.
  REQUIRE(Cusolver().Call("cusolverDnIRSInfosGetResidualHistory", object.infos, &history) == 0);
  const auto* const norms = static_cast<const Real<T>*>(history);
  CHECK(norms[0] == 0);
  CHECK(norms[61] < 1e-3);
  size = 0;
  CHECK(solve() == CUSOLVER_STATUS_INVALID_WORKSPACE);

  // The solution of least squares: A^H (B - A X) = 0.
  const Dense<T> tall = Random<T>(15, 6, 53), right = Random<T>(15, 2, 54);
  Dense<T> tall_copy = tall, right_copy = right, least(6, 2);
  REQUIRE(solver("IRSXgels_bufferSize", object.params, 15, 6, 2, &size) == 0);
  REQUIRE(solver("IRSXgels", object.params, object.infos, 15, 6, 2, (void*)tall_copy.data(), 15,
                 (void*)right_copy.data(), 15, (void*)least.data(), 6, (void*)nullptr, size, &iterations,
                 &info) == 0);
  CHECK(info == 0);
  CHECK(tall_copy.values == tall.values);
  CheckNear(Multiply(Adjoint(tall), Multiply(tall, least)), Multiply(Adjoint(tall), right));
  CHECK(solver("IRSXgesv_bufferSize", (cusolverDnIRSParams_t) nullptr, 12, 2, &size) ==
        CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED);
}

TEMPLATE_TEST_CASE("cusolver: Xsytrs solves with LDL factors, Xlarft makes a block reflector", "",
                   SOLVER_TYPES) {
  using T = TestType;
  const Solver solver;
  const cudaDataType type = TypeOf<T>();
  const int64_t n = 13;
  Dense<T> a = Random<T>(13, 13, 61);
  for (int i = 0; i < 13; ++i) {
    for (int j = 0; j < i; ++j) a(j, i) = a(i, j);
  }
  const Dense<T> x = Random<T>(13, 2, 62);
  size_t device = 0, host = 0;
  int info = -1;
  for (const int uplo : {0, 1}) {
    Dense<T> factor = a, b = Multiply(a, x), work(13, 13);
    std::vector<int> pivots(13);
    REQUIRE(solver(Named<T>("sytrf"), uplo, 13, factor.data(), 13, pivots.data(), work.data(), 169, &info) ==
            0);
    Wait();
    const std::vector<int64_t> wide(pivots.begin(), pivots.end());
    REQUIRE(solver("Xsytrs_bufferSize", uplo, n, int64_t{2}, type, (const void*)factor.data(), n, wide.data(),
                   type, (void*)b.data(), n, &device, &host) == 0);
    REQUIRE(solver("Xsytrs", uplo, n, int64_t{2}, type, (const void*)factor.data(), n, wide.data(), type,
                   (void*)b.data(), n, (void*)nullptr, device, (void*)nullptr, host, &info) == 0);
    Wait();
    CHECK(info == 0);
    CheckNear(b, x);
  }
  // I - V T V^H is the product of the reflections, Q.
  const int m = 9, k = 4;
  Dense<T> q = Random<T>(m, k, 63), t(k, k), v(m, k), work(m, k);
  std::vector<T> tau(k);
  REQUIRE(solver(Named<T>("geqrf"), m, k, q.data(), m, tau.data(), work.data(), m * k, &info) == 0);
  Wait();
  for (int j = 0; j < k; ++j) {
    for (int i = j; i < m; ++i) v(i, j) = i == j ? T(1) : q(i, j);
  }
  REQUIRE(solver("Xlarft", (cusolverDnParams_t) nullptr, 0, 0, int64_t{m}, int64_t{k}, type,
                 (const void*)v.data(), int64_t{m}, type, (const void*)tau.data(), type, (void*)t.data(),
                 int64_t{k}, type, (void*)nullptr, size_t{0}, (void*)nullptr, size_t{0}) == 0);
  REQUIRE(solver(Named<T>("orgqr", "ungqr"), m, k, k, q.data(), m, tau.data(), work.data(), m * k, &info) ==
          0);
  Wait();
  const Dense<T> product = Multiply(v, Multiply(t, Adjoint(v)));
  Dense<T> expected(m, k);
  for (int j = 0; j < k; ++j) {
    for (int i = 0; i < m; ++i) expected(i, j) = (i == j ? T(1) : T{}) - product(i, j);
  }
  CheckNear(q, expected);
}
