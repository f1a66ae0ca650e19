// The functions of cuBLAS without a handle: options as letters, scalars by value, results returned.
#include "tests/libraries/blas_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::blas_case;

namespace {

template <typename R, typename... Args>
R Without(const std::string& name, Args... args) {
  return Cublas().Call<R>("cublas" + name, args...);
}
int Error() { return Without<int>("GetError"); }

// Begun as long as this lives.
struct Begun {
  Begun() { REQUIRE(Without<int>("Init") == 0); }
  ~Begun() { Without<int>("Shutdown"); }
};

}  // namespace

TEST_CASE("cublas: functions without a handle need cublasInit, and keep their status until it is read") {
  std::vector<float> x = {3, -4};
  CHECK(Without<float>("Snrm2", 2, x.data(), 1) == 0.0f);
  CHECK(Error() == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(Error() == CUBLAS_STATUS_SUCCESS);
  CHECK(Without<int>("Shutdown") == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(Error() == CUBLAS_STATUS_SUCCESS);  // what returns a status keeps none
  const Begun begun;
  CHECK(Without<float>("Snrm2", 2, x.data(), 1) == 5.0f);
  CHECK(Error() == CUBLAS_STATUS_SUCCESS);
  int version = 0;
  CHECK(Without<int>("GetVersion", &version) == 0);
  CHECK(version / 10000 == 13);
  void* memory = nullptr;
  CHECK(Without<int>("Alloc", 10, 0, &memory) == CUBLAS_STATUS_INVALID_VALUE);
  REQUIRE(Without<int>("Alloc", 10, 4, &memory) == 0);
  CHECK(memory != nullptr);
  CHECK(Without<int>("Free", memory) == 0);
  CHECK(Without<int>("Free", nullptr) == 0);
  CHECK(Error() == CUBLAS_STATUS_SUCCESS);
  Without<void>("Sgemm", 'X', 'N', 1, 1, 1, 1.0f, x.data(), 1, x.data(), 1, 0.0f, x.data(), 1);
  CHECK(Error() == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(x == std::vector<float>{3, -4});
}

TEST_CASE("cublas: vectors without a handle") {
  const Begun begun;
  std::vector<float> x = {1, -5, 2}, y = {10, 20, 30};
  CHECK(Without<int>("Isamax", 3, x.data(), 1) == 2);
  CHECK(Without<int>("Isamin", 3, x.data(), 1) == 1);
  CHECK(Without<float>("Sasum", 3, x.data(), 1) == 8.0f);
  CHECK(Without<float>("Sdot", 3, x.data(), 1, y.data(), 1) == -30.0f);
  Without<void>("Saxpy", 3, 2.0f, x.data(), 1, y.data(), 1);
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  CHECK(y == std::vector<float>{12, 10, 34});
  Without<void>("Sswap", 3, x.data(), 1, y.data(), 1);
  Without<void>("Sscal", 3, 0.5f, x.data(), 1);
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  CHECK(x == std::vector<float>{6, 5, 17});
  CHECK(y == std::vector<float>{1, -5, 2});
  Without<void>("Srot", 3, x.data(), 1, y.data(), 1, 0.0f, 1.0f);
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  CHECK(x == std::vector<float>{1, -5, 2});
  CHECK(y == std::vector<float>{-6, -5, -17});
  std::vector<cuComplex> u = {{1, 2}, {3, 4}}, v = {{5, 6}, {7, 8}};
  CHECK(Without<cuComplex>("Cdotu", 2, u.data(), 1, v.data(), 1) == cuComplex(-18, 68));
  CHECK(Without<cuComplex>("Cdotc", 2, u.data(), 1, v.data(), 1) == cuComplex(70, -8));
  Without<void>("Csscal", 2, 2.0f, u.data(), 1);
  Without<void>("Cscal", 2, cuComplex(0, 1), v.data(), 1);
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  CHECK(u == std::vector<cuComplex>{{2, 4}, {6, 8}});
  CHECK(v == std::vector<cuComplex>{{-6, 5}, {-8, 7}});
  std::vector<cuDoubleComplex> w = {{3, 4}, {0, 12}};
  CHECK(Without<double>("Dznrm2", 2, w.data(), 1) == 13.0);
  CHECK(Error() == CUBLAS_STATUS_SUCCESS);
}

TEST_CASE("cublas: matrices without a handle are those with one") {
  const Begun begun;
  const Blas blas;
  Random random(5);
  const int n = 7;
  const auto a = random.Values<double>(n * n), b = random.Values<double>(n * n),
             c = random.Values<double>(n * n);
  const double alpha = 1.25, beta = -0.5;
  const auto both = [&](const auto& with, const auto& without) {
    std::vector<double> expected = c, found = c;
    REQUIRE(with(expected.data()) == 0);
    without(found.data());
    REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
    CHECK(Error() == CUBLAS_STATUS_SUCCESS);
    CHECK(found == expected);
    CHECK(found != c);
  };
  both(
      [&](double* d) {
        return blas("Dgemm_v2", 1, 0, n, n, n, &alpha, a.data(), n, b.data(), n, &beta, d, n);
      },
      [&](double* d) {
        Without<void>("Dgemm", 't', 'N', n, n, n, alpha, a.data(), n, b.data(), n, beta, d, n);
      });
  both([&](double* d) { return blas("Dsyrk_v2", 1, 2, n, n, &alpha, a.data(), n, &beta, d, n); },
       [&](double* d) { Without<void>("Dsyrk", 'U', 'C', n, n, alpha, a.data(), n, beta, d, n); });
  both([&](double* d) { return blas("Dtrsm_v2", 1, 0, 0, 1, n, n, &alpha, a.data(), n, d, n); },
       [&](double* d) { Without<void>("Dtrsm", 'R', 'l', 'n', 'u', n, n, alpha, a.data(), n, d, n); });
  both([&](double* d) { return blas("Dtrmm_v2", 0, 1, 1, 0, n, n, &alpha, a.data(), n, d, n, d, n); },
       [&](double* d) { Without<void>("Dtrmm", 'l', 'U', 'T', 'N', n, n, alpha, a.data(), n, d, n); });
  both([&](double* d) { return blas("Dgemv_v2", 0, n, n, &alpha, a.data(), n, b.data(), 1, &beta, d, 1); },
       [&](double* d) { Without<void>("Dgemv", 'N', n, n, alpha, a.data(), n, b.data(), 1, beta, d, 1); });
  both([&](double* d) { return blas("Dger_v2", n, n, &alpha, a.data(), 1, b.data(), 1, d, n); },
       [&](double* d) { Without<void>("Dger", n, n, alpha, a.data(), 1, b.data(), 1, d, n); });
  both([&](double* d) { return blas("Dspmv_v2", 0, n, &alpha, a.data(), b.data(), 1, &beta, d, 1); },
       [&](double* d) { Without<void>("Dspmv", 'L', n, alpha, a.data(), b.data(), 1, beta, d, 1); });
  both([&](double* d) { return blas("Dtpsv_v2", 1, 0, 1, n, a.data(), d, 1); },
       [&](double* d) { Without<void>("Dtpsv", 'U', 'N', 'U', n, a.data(), d, 1); });
  const auto za = random.Values<cuDoubleComplex>(n * n);
  std::vector<cuDoubleComplex> expected(n * n), found(n * n);
  const double real = 2, none = 0;
  REQUIRE(blas("Zherk_v2", 0, 0, n, n, &real, za.data(), n, &none, expected.data(), n) == 0);
  Without<void>("Zherk", 'L', 'N', n, n, real, za.data(), n, none, found.data(), n);
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  CHECK(found == expected);
}
