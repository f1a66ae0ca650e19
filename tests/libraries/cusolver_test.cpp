// cuSOLVER: factors multiplied, systems and decompositions put back together; by type, and by types as
// arguments.
#include "tests/libraries/cusolver_case.h"
#include "tools/api_table/api_table.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cusolver_case;

namespace {

constexpr int kSize = 23;

}  // namespace

TEMPLATE_TEST_CASE("cusolver: getrf and getrs, with and without pivots", "", SOLVER_TYPES) {
  using T = TestType;
  const Solver solver;
  for (int variant = 0; variant < 6; ++variant) {
    const int op = variant % 3;
    const bool pivoted = variant < 3;
    Dense<T> a = Random<T>(kSize, kSize, 1);
    for (int i = 0; i < kSize && !pivoted; ++i) a(i, i) += T(30);
    const Dense<T> x = Random<T>(kSize, 3, 2);
    Dense<T> left = a;
    if (op != 0) {
      left = Adjoint(a);
      if (op == 1) {
        for (T& value : left.values) value = Conj(value);
      }
    }
    Dense<T> b = Multiply(left, x);
    std::vector<int> pivots(kSize);
    int size = 0, info = -1;
    REQUIRE(solver(Named<T>("getrf_bufferSize"), kSize, kSize, a.data(), kSize, &size) == 0);
    REQUIRE(size > 0);
    std::vector<T> work(static_cast<size_t>(size));
    int* const p = pivoted ? pivots.data() : nullptr;
    REQUIRE(solver(Named<T>("getrf"), kSize, kSize, a.data(), kSize, work.data(), p, &info) == 0);
    REQUIRE(solver(Named<T>("getrs"), op, kSize, 3, a.data(), kSize, p, b.data(), kSize, &info) == 0);
    Wait();
    CHECK(info == 0);
    CheckNear(b, x);
  }
  Dense<T> zero(2, 2);
  zero(0, 0) = T(1);
  std::vector<int> pivots(2);
  int info = 0;
  REQUIRE(solver(Named<T>("getrf"), 2, 2, zero.data(), 2, zero.data(), pivots.data(), &info) == 0);
  Wait();
  CHECK(info == 2);
}

TEMPLATE_TEST_CASE("cusolver: Cholesky factors, systems, inverses, batches", "", SOLVER_TYPES) {
  using T = TestType;
  const Solver solver;
  for (int uplo = 0; uplo < 2; ++uplo) {
    const Dense<T> a = Hermitian<T>(kSize, 3, 60), x = Random<T>(kSize, 2, 4);
    Dense<T> factor = a, b = Multiply(a, x);
    int info = -1;
    T none{};
    REQUIRE(solver(Named<T>("potrf"), uplo, kSize, factor.data(), kSize, &none, 1, &info) == 0);
    REQUIRE(solver(Named<T>("potrs"), uplo, kSize, 2, factor.data(), kSize, b.data(), kSize, &info) == 0);
    Wait();
    CHECK(info == 0);
    CheckNear(b, x);
    REQUIRE(solver(Named<T>("potri"), uplo, kSize, factor.data(), kSize, &none, 1, &info) == 0);
    Wait();
    for (int i = 0; i < kSize; ++i) {
      for (int j = 0; j < kSize; ++j) {
        if (uplo == 0 ? j > i : j < i) factor(i, j) = Conj(factor(j, i));
      }
    }
    Dense<T> unit(kSize, kSize);
    for (int i = 0; i < kSize; ++i) unit(i, i) = T(1);
    CheckNear(Multiply(a, factor), unit);

    Dense<T> first = Hermitian<T>(5, 5, 20), second = Hermitian<T>(5, 6, 30), bad(5, 5);
    const Dense<T> y = Random<T>(5, 1, 7);
    Dense<T> b1 = Multiply(first, y), b2 = Multiply(second, y);
    T* matrices[] = {first.data(), second.data(), bad.data()};
    T* sides[] = {b1.data(), b2.data()};
    std::vector<int> states(3, -1);
    REQUIRE(solver(Named<T>("potrfBatched"), uplo, 5, matrices, 5, states.data(), 3) == 0);
    REQUIRE(solver(Named<T>("potrsBatched"), uplo, 5, 1, matrices, 5, sides, 5, &info, 2) == 0);
    Wait();
    CHECK(states == std::vector<int>{0, 0, 1});
    CheckNear(b1, y);
    CheckNear(b2, y);
  }
}

TEMPLATE_TEST_CASE("cusolver: QR", "", SOLVER_TYPES) {
  using T = TestType;
  const Solver solver;
  const int m = 17, n = 9;
  const Dense<T> a = Random<T>(m, n, 8);
  Dense<T> q = a, r(n, n);
  std::vector<T> tau(n);
  int info = -1, size = 0;
  T none{};
  REQUIRE(solver(Named<T>("geqrf"), m, n, q.data(), m, tau.data(), &none, 1, &info) == 0);
  Wait();
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i <= j; ++i) r(i, j) = q(i, j);
  }
  // Q^H A is R over zeros.
  Dense<T> c = a, expected(m, n);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i <= j; ++i) expected(i, j) = r(i, j);
  }
  REQUIRE(solver(Named<T>("ormqr_bufferSize", "unmqr_bufferSize"), 0, kComplex<T> ? 2 : 1, m, n, n, q.data(),
                 m, tau.data(), c.data(), m, &size) == 0);
  REQUIRE(solver(Named<T>("ormqr", "unmqr"), 0, kComplex<T> ? 2 : 1, m, n, n, q.data(), m, tau.data(),
                 c.data(), m, &none, 1, &info) == 0);
  Wait();
  CheckNear(c, expected);
  REQUIRE(solver(Named<T>("orgqr", "ungqr"), m, n, n, q.data(), m, tau.data(), &none, 1, &info) == 0);
  Wait();
  CheckNear(Multiply(q, r), a);
  Dense<T> unit(n, n);
  for (int i = 0; i < n; ++i) unit(i, i) = T(1);
  CheckNear(Multiply(Adjoint(q), q), unit);
}

TEMPLATE_TEST_CASE("cusolver: eigenvalues: divide and conquer, a range of them, Jacobi, batches, pairs", "",
                   SOLVER_TYPES) {
  using T = TestType;
  const Solver solver;
  const Dense<T> a = Hermitian<T>(kSize, 9, 0);
  T none{};
  int info = -1;
  for (int uplo = 0; uplo < 2; ++uplo) {
    Dense<T> v = a;
    std::vector<Real<T>> w(kSize), some(kSize);
    REQUIRE(solver(Named<T>("syevd", "heevd"), 1, uplo, kSize, v.data(), kSize, w.data(), &none, 1, &info) ==
            0);
    Wait();
    CHECK(info == 0);
    CheckNear(Multiply(a, v), Scaled(v, w, kSize));
    CHECK(std::is_sorted(w.begin(), w.end()));

    Dense<T> selected = a;
    int found = 0;
    REQUIRE(solver(Named<T>("syevdx", "heevdx"), 1, CUSOLVER_EIG_RANGE_I, uplo, kSize, selected.data(), kSize,
                   Real<T>(0), Real<T>(0), 3, 7, &found, some.data(), &none, 1, &info) == 0);
    REQUIRE(found == 5);
    for (int k = 0; k < 5; ++k) CHECK(some[k] == Approx(w[k + 2]).margin(1e-4));
    Dense<T> first(kSize, 5);
    std::copy_n(selected.values.begin(), first.values.size(), first.values.begin());
    CheckNear(Multiply(a, first), Scaled(first, some, 5));

    syevjInfo_t params = nullptr;
    REQUIRE(Cusolver().Call("cusolverDnCreateSyevjInfo", &params) == 0);
    Dense<T> jacobi = a;
    REQUIRE(solver(Named<T>("syevj", "heevj"), 1, uplo, kSize, jacobi.data(), kSize, some.data(), &none, 1,
                   &info, params) == 0);
    Wait();
    CheckNear(Multiply(a, jacobi), Scaled(jacobi, some, kSize));
    double residual = -1;
    REQUIRE(solver("XsyevjGetResidual", params, &residual) == 0);
    CHECK(residual > 0);
    CHECK(residual < (sizeof(Real<T>) == 4 ? 1e-3 : 1e-11));

    const Dense<T> one = Hermitian<T>(6, 10, 0), two = Hermitian<T>(6, 11, 0);
    std::vector<T> both = one.values;
    both.insert(both.end(), two.values.begin(), two.values.end());
    std::vector<int> states(2, -1);
    REQUIRE(solver(Named<T>("syevjBatched", "heevjBatched"), 1, uplo, 6, both.data(), 6, some.data(), &none,
                   1, states.data(), params, 2) == 0);
    Wait();
    CHECK(states == std::vector<int>{0, 0});
    Dense<T> vectors(6, 6);
    std::copy_n(both.begin() + 36, 36, vectors.values.begin());
    CheckNear(Multiply(two, vectors), Scaled(vectors, {some.begin() + 6, some.begin() + 12}, 6));
    REQUIRE(Cusolver().Call("cusolverDnDestroySyevjInfo", params) == 0);

    // A v = w B v.
    const Dense<T> right = Hermitian<T>(kSize, 12, 50);
    Dense<T> general = a, b = right;
    REQUIRE(solver(Named<T>("sygvd", "hegvd"), 1, 1, uplo, kSize, general.data(), kSize, b.data(), kSize,
                   w.data(), &none, 1, &info) == 0);
    Wait();
    CheckNear(Multiply(a, general), Multiply(right, Scaled(general, w, kSize)));
  }
}

TEMPLATE_TEST_CASE("cusolver: singular values: gesvd, gesvdj, batches, approximations", "", SOLVER_TYPES) {
  using T = TestType;
  const Solver solver;
  const int m = 14, n = 8;
  const Dense<T> a = Random<T>(m, n, 13);
  Dense<T> copy = a, u(m, n), vt(n, n);
  std::vector<Real<T>> s(n), rwork(100);
  T none{};
  int info = -1;
  REQUIRE(solver(Named<T>("gesvd"), static_cast<signed char>('S'), static_cast<signed char>('S'), m, n,
                 copy.data(), m, s.data(), u.data(), m, vt.data(), n, &none, 1, rwork.data(), &info) == 0);
  Wait();
  CHECK(info == 0);
  CheckNear(Multiply(Scaled(u, s, n), vt), a);

  gesvdjInfo_t params = nullptr;
  REQUIRE(Cusolver().Call("cusolverDnCreateGesvdjInfo", &params) == 0);
  for (int econ = 0; econ < 2; ++econ) {
    // Also with more columns than rows.
    const Dense<T> wide = Random<T>(n, m, 14);
    Dense<T> w = wide, left(n, n), right(m, econ != 0 ? n : m);
    REQUIRE(solver(Named<T>("gesvdj"), 1, econ, n, m, w.data(), n, s.data(), left.data(), n, right.data(), m,
                   &none, 1, &info, params) == 0);
    Wait();
    Dense<T> used(m, n);
    std::copy_n(right.values.begin(), used.values.size(), used.values.begin());
    CheckNear(Multiply(Scaled(left, s, n), Adjoint(used)), wide);
  }
  std::vector<T> both = Random<T>(4, 3, 15).values;
  const Dense<T> second = Random<T>(4, 3, 16);
  both.insert(both.end(), second.values.begin(), second.values.end());
  std::vector<T> lefts(32), rights(18);
  std::vector<int> states(2, -1);
  REQUIRE(solver(Named<T>("gesvdjBatched"), 1, 4, 3, both.data(), 4, s.data(), lefts.data(), 4, rights.data(),
                 3, &none, 1, states.data(), params, 2) == 0);
  Wait();
  Dense<T> left(4, 3), right(3, 3);
  std::copy_n(lefts.begin() + 16, 12, left.values.begin());
  std::copy_n(rights.begin() + 9, 9, right.values.begin());
  CheckNear(Multiply(Scaled(left, {s.begin() + 3, s.begin() + 6}, 3), Adjoint(right)), second);
  REQUIRE(Cusolver().Call("cusolverDnDestroyGesvdjInfo", params) == 0);

  double residual = -1;
  REQUIRE(solver(Named<T>("gesvdaStridedBatched"), 1, 3, 4, 3, second.values.data(), 4, 12LL, s.data(), 3LL,
                 left.data(), 4, 12LL, right.data(), 3, 9LL, &none, 1, states.data(), &residual, 1) == 0);
  CheckNear(Multiply(Scaled(left, s, 3), Adjoint(right)), second);
  CHECK(residual < (sizeof(Real<T>) == 4 ? 1e-4 : 1e-12));
}

TEMPLATE_TEST_CASE("cusolver: gesv and gels solve into X; LDL; reductions", "", SOLVER_TYPES) {
  using T = TestType;
  const Solver solver;
  const char both[] = {LetterOf<T>(), LetterOf<T>(), 0};
  Dense<T> a = Random<T>(kSize, kSize, 17);
  const Dense<T> x = Random<T>(kSize, 2, 18);
  Dense<T> b = Multiply(a, x), found(kSize, 2);
  std::vector<int> pivots(kSize);
  int iterations = -9, info = -1;
  size_t size = 0;
  char work[64];
  REQUIRE(solver(both + std::string("gesv_bufferSize"), kSize, 2, a.data(), kSize, pivots.data(), b.data(),
                 kSize, found.data(), kSize, static_cast<void*>(nullptr), &size) == 0);
  REQUIRE(size == sizeof work);
  REQUIRE(solver(both + std::string("gesv"), kSize, 2, a.data(), kSize, pivots.data(), b.data(), kSize,
                 found.data(), kSize, static_cast<void*>(work), size, &iterations, &info) == 0);
  CHECK(info == 0);
  CHECK(iterations == 0);
  CheckNear(found, x);

  Dense<T> tall = Random<T>(20, 6, 19);
  const Dense<T> y = Random<T>(6, 2, 20);
  Dense<T> right = Multiply(tall, y), solution(6, 2);
  REQUIRE(solver(both + std::string("gels"), 20, 6, 2, tall.data(), 20, right.data(), 20, solution.data(), 6,
                 static_cast<void*>(work), size, &iterations, &info) == 0);
  CheckNear(solution, y);

  // The tridiagonal matrix has the eigenvalues of A: the same trace, and Q T Q^H is A.
  const Dense<T> h = Hermitian<T>(7, 21, 0);
  Dense<T> q = h, t(7, 7);
  std::vector<Real<T>> d(7), e(7);
  std::vector<T> tau(7);
  T none{};
  REQUIRE(solver(Named<T>("sytrd", "hetrd"), 0, 7, q.data(), 7, d.data(), e.data(), tau.data(), &none, 1,
                 &info) == 0);
  REQUIRE(solver(Named<T>("orgtr", "ungtr"), 0, 7, q.data(), 7, tau.data(), &none, 1, &info) == 0);
  Wait();
  for (int i = 0; i < 7; ++i) {
    t(i, i) = T(d[i]);
    if (i < 6) t(i + 1, i) = t(i, i + 1) = T(e[i]);
  }
  CheckNear(Multiply(Multiply(q, t), Adjoint(q)), h);
}

TEMPLATE_TEST_CASE("cusolver: functions with types as arguments", "", SOLVER_TYPES) {
  using T = TestType;
  const Solver solver;
  cusolverDnParams_t params = nullptr;
  REQUIRE(Cusolver().Call("cusolverDnCreateParams", &params) == 0);
  const cudaDataType type = TypeOf<T>();
  const int64_t n = kSize;
  const auto at = [](auto& values) { return static_cast<void*>(values.data()); };
  size_t device = 0, host = 1;
  char buffer[256];
  int info = -1;
  void* const none = nullptr;
  const Dense<T> a = Random<T>(kSize, kSize, 22), x = Random<T>(kSize, 2, 23);
  Dense<T> lu = a, b = Multiply(a, x);
  std::vector<int64_t> pivots(kSize);
  REQUIRE(solver("Xgetrf_bufferSize", params, n, n, type, at(lu), n, type, &device, &host) == 0);
  REQUIRE(device <= sizeof buffer);
  REQUIRE(solver("Xgetrf", params, n, n, type, at(lu), n, pivots.data(), type, static_cast<void*>(buffer),
                 device, none, size_t{0}, &info) == 0);
  REQUIRE(solver("Xgetrs", params, 0, n, int64_t{2}, type, at(lu), n, pivots.data(), type, at(b), n, &info) ==
          0);
  Wait();
  CHECK(info == 0);
  CheckNear(b, x);

  const Dense<T> h = Hermitian<T>(kSize, 24, 60);
  Dense<T> factor = h;
  b = Multiply(h, x);
  REQUIRE(solver("Xpotrf", params, 1, n, type, at(factor), n, type, none, size_t{0}, none, size_t{0},
                 &info) == 0);
  REQUIRE(solver("Xpotrs", params, 1, n, int64_t{2}, type, at(factor), n, type, at(b), n, &info) == 0);
  Wait();
  CheckNear(b, x);

  Dense<T> v = h;
  std::vector<Real<T>> w(kSize);
  REQUIRE(solver("Xsyevd", params, 1, 0, n, type, at(v), n, RealTypeOf<T>(), at(w), type, none, size_t{0},
                 none, size_t{0}, &info) == 0);
  Wait();
  CheckNear(Multiply(h, v), Scaled(v, w, kSize));
  CHECK(solver("Xsyevd", params, 1, 0, n, type, at(v), n, CUDA_R_16F, at(w), type, none, size_t{0}, none,
               size_t{0}, &info) == CUSOLVER_STATUS_INVALID_VALUE);

  Dense<T> copy = a, u(kSize, kSize), vt(kSize, kSize);
  REQUIRE(solver("Xgesvd", params, static_cast<signed char>('A'), static_cast<signed char>('A'), n, n, type,
                 at(copy), n, RealTypeOf<T>(), at(w), type, at(u), n, type, at(vt), n, type, none, size_t{0},
                 none, size_t{0}, &info) == 0);
  Wait();
  CheckNear(Multiply(Scaled(u, w, kSize), vt), a);
  REQUIRE(Cusolver().Call("cusolverDnDestroyParams", params) == 0);
}

TEST_CASE("cusolver: wrong arguments have their status; work is captured; every soname exports its table") {
  const Solver solver;
  std::vector<float> a = {4, 0, 0, 9};
  int info = -1, size = 0;
  CHECK(Cusolver().Call("cusolverDnSpotrf_bufferSize", static_cast<cusolverDnHandle_t>(nullptr), 0, 2,
                        a.data(), 2, &size) == CUSOLVER_STATUS_NOT_INITIALIZED);
  // As on an H100: queries of sizes check little.
  CHECK(solver("Spotrf_bufferSize", 7, 2, a.data(), 2, &size) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(solver("Spotrf_bufferSize", 0, -1, a.data(), 2, &size) == CUSOLVER_STATUS_SUCCESS);
  CHECK(solver("Spotrs", 0, 2, -1, a.data(), 2, a.data(), 2, &info) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(solver("Spotrs", 0, 2, 1, a.data(), 2, a.data(), 1, &info) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(solver("Sgetrs", 7, 2, 1, a.data(), 2, &info, a.data(), 2, &info) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(solver("SpotrsBatched", 0, 2, 2, &info, 2, &info, 2, &info, 0) == CUSOLVER_STATUS_INVALID_VALUE);
  const auto gesvd = [&](signed char u, signed char vt, int m, int n) {
    return solver("Sgesvd", u, vt, m, n, a.data(), m, a.data(), a.data(), m, a.data(), n, a.data(), 100,
                  a.data(), &info);
  };
  CHECK(gesvd('A', 'A', 1, 2) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(gesvd('X', 'A', 2, 2) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(gesvd('O', 'O', 2, 2) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(solver("SetDeterministicMode", 9) == CUSOLVER_STATUS_INTERNAL_ERROR);
  CHECK(Cusolver().Call("cusolverDnCreate", nullptr) == CUSOLVER_STATUS_INVALID_VALUE);

  cudaStream_t stream = nullptr;
  REQUIRE(cudart::cudaStreamCreateWithFlags(&stream, 1) == cudaSuccess);
  REQUIRE(solver("SetStream", stream) == 0);
  REQUIRE(cudart::cudaStreamBeginCapture(stream, cudaStreamCaptureMode{}) == cudaSuccess);
  REQUIRE(solver("Spotrf", 0, 2, a.data(), 2, a.data(), 1, &info) == 0);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudart::cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(a[0] == 4.0f);
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudart::cudaGraphInstantiateWithFlags(&exec, graph, 0) == cudaSuccess);
  REQUIRE(cudart::cudaGraphLaunch(exec, stream) == cudaSuccess);
  REQUIRE(cudart::cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(a == std::vector<float>{2, 0, 0, 3});
  CHECK(info == 0);
  cudart::cudaGraphExecDestroy(exec);
  cudart::cudaGraphDestroy(graph);
  cudart::cudaStreamDestroy(stream);

  const auto table = api_table::Read(PTX2CPU_SOURCE_DIR "/runtime/cuda/libraries/solver/cusolver.api");
  REQUIRE(table);
  REQUIRE(table->functions.size() > 300);
  for (const int major : {11, 12}) {
    const std::string soname = "libcusolver.so." + std::to_string(major);
    const DropIn library(soname);
    for (const api_table::Function& function : table->functions) {
      INFO(soname << " " << function.name);
      CHECK((library.Find(function.name, soname.c_str()) != nullptr) == function.In(major));
    }
    int value = 0;
    CHECK(library.Call("cusolverGetProperty", MAJOR_VERSION, &value) == 0);
    CHECK(value == major);
  }
}
