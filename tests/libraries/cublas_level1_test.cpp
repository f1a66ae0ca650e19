// cuBLAS, level 1, against plain loops: every function, type, stride and pointer mode.
#include "tests/libraries/blas_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::blas_case;

namespace {

struct Shape {
  int n, incx, incy;
};
constexpr Shape kShapes[] = {{0, 1, 1},   {1, 1, 1},     {17, 1, 1},    {33, 2, 3},
                             {50, -1, 2}, {40000, 1, 1}, {20001, 1, -2}};

template <typename T>
std::string RealLetter() {  // asum and nrm2 of complex vectors are Sc and Dz
  return LetterOf<T>() == "C" ? "Sc" : LetterOf<T>() == "Z" ? "Dz" : LetterOf<T>();
}

}  // namespace

TEMPLATE_TEST_CASE("cublas level 1: vectors become vectors", "", float, double, cuComplex, cuDoubleComplex) {
  using T = TestType;
  const Blas blas;
  const std::string letter = LetterOf<T>();
  Random random(1);
  for (const auto& [n, incx, incy] : kShapes) {
    INFO(letter << " n " << n << " incx " << incx << " incy " << incy);
    const std::vector<T> x = random.Values<T>(Room(n, incx)), y = random.Values<T>(Room(n, incy));
    const std::vector<Wide> xs = Gathered(x, n, incx), ys = Gathered(y, n, incy);
    const T alpha = random.Value<T>();
    std::vector<Wide> expected(n);
    std::vector<T> to = y, from = x;

    REQUIRE(blas(letter + "axpy_v2", n, &alpha, x.data(), incx, to.data(), incy) == 0);
    for (int i = 0; i < n; ++i) expected[i] = ys[i] + Wide(alpha) * xs[i];
    CheckNear(to, Scattered(expected, y, incy), 1);

    to = y;
    REQUIRE(blas(letter + "axpy_v2_64", int64_t{n}, &alpha, x.data(), int64_t{incx}, to.data(),
                 int64_t{incy}) == 0);
    CheckNear(to, Scattered(expected, y, incy), 1);

    to = y;
    REQUIRE(blas(letter + "copy_v2", n, x.data(), incx, to.data(), incy) == 0);
    CheckNear(to, Scattered(xs, y, incy), 0);

    to = y;
    REQUIRE(blas(letter + "swap_v2", n, from.data(), incx, to.data(), incy) == 0);
    CheckNear(to, Scattered(xs, y, incy), 0);
    CheckNear(from, Scattered(ys, x, incx), 0);

    to = y, from = x;
    const Real<T> c = random.Value<Real<T>>();
    const T s = random.Value<T>();
    REQUIRE(blas(letter + "rot_v2", n, from.data(), incx, to.data(), incy, &c, &s) == 0);
    for (int i = 0; i < n; ++i) expected[i] = Wide(c) * ys[i] - std::conj(Wide(s)) * xs[i];
    CheckNear(to, Scattered(expected, y, incy), 2);
    for (int i = 0; i < n; ++i) expected[i] = Wide(c) * xs[i] + Wide(s) * ys[i];
    CheckNear(from, Scattered(expected, x, incx), 2);

    if (incx < 0) continue;
    from = x;
    REQUIRE(blas(letter + "scal_v2", n, &alpha, from.data(), incx) == 0);
    for (int i = 0; i < n; ++i) expected[i] = Wide(alpha) * xs[i];
    CheckNear(from, Scattered(expected, x, incx), 1);
    if constexpr (kComplex<T>) {
      from = x;
      REQUIRE(blas(letter == "C" ? "Csscal_v2" : "Zdscal_v2", n, &c, from.data(), incx) == 0);
      for (int i = 0; i < n; ++i) expected[i] = Wide(c) * xs[i];
      CheckNear(from, Scattered(expected, x, incx), 1);
    }
  }
}

TEMPLATE_TEST_CASE("cublas level 1: vectors become numbers", "", float, double, cuComplex, cuDoubleComplex) {
  using T = TestType;
  using R = Real<T>;
  const Blas blas;
  const std::string letter = LetterOf<T>();
  std::string small = letter;
  small[0] = static_cast<char>(std::tolower(small[0]));
  Random random(2);
  for (const cublasPointerMode_t mode : {CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE}) {
    REQUIRE(blas("SetPointerMode_v2", mode) == 0);
    for (const auto& [n, incx, incy] : kShapes) {
      INFO(letter << " n " << n << " incx " << incx << " incy " << incy);
      const std::vector<T> x = random.Values<T>(Room(n, incx)), y = random.Values<T>(Room(n, incy));
      const std::vector<Wide> xs = Gathered(x, n, incx), ys = Gathered(y, n, incy);
      Wide dot = 0, conjugated = 0;
      double squares = 0, sum = 0;
      const auto size = [](Wide v) { return std::abs(v.real()) + std::abs(v.imag()); };
      int largest = 0, least = 0;
      for (int i = 0; i < n; ++i) {
        dot += xs[i] * ys[i], conjugated += std::conj(xs[i]) * ys[i];
        squares += std::norm(xs[i]), sum += size(xs[i]);
        if (static_cast<R>(size(xs[i])) > static_cast<R>(size(xs[largest]))) largest = i;
        if (static_cast<R>(size(xs[i])) < static_cast<R>(size(xs[least]))) least = i;
      }
      T result{};
      REQUIRE(blas(letter + (kComplex<T> ? "dotu_v2" : "dot_v2"), n, x.data(), incx, y.data(), incy,
                   &result) == 0);
      CheckNear<T>({result}, {dot}, n / 8);
      if constexpr (kComplex<T>) {
        REQUIRE(blas(letter + "dotc_v2", n, x.data(), incx, y.data(), incy, &result) == 0);
        CheckNear<T>({result}, {conjugated}, n / 8);
      }
      const bool empty = n == 0 || incx < 0;
      R real = 5;
      REQUIRE(blas(RealLetter<T>() + "nrm2_v2", n, x.data(), incx, &real) == 0);
      CheckNear<R>({real}, {empty ? 0 : std::sqrt(squares)}, 4);
      REQUIRE(blas(RealLetter<T>() + "asum_v2", n, x.data(), incx, &real) == 0);
      CheckNear<R>({real}, {empty ? 0 : sum}, 100);
      int index = -1;
      REQUIRE(blas("I" + small + "amax_v2", n, x.data(), incx, &index) == 0);
      CHECK(index == (empty ? 0 : largest + 1));
      REQUIRE(blas("I" + small + "amin_v2", n, x.data(), incx, &index) == 0);
      CHECK(index == (empty ? 0 : least + 1));
      int64_t wide_index = -1;
      REQUIRE(blas("I" + small + "amax_v2_64", int64_t{n}, x.data(), int64_t{incx}, &wide_index) == 0);
      CHECK(wide_index == (empty ? 0 : largest + 1));
    }
  }
}

TEST_CASE("cublas level 1: norms neither overflow nor vanish") {
  const Blas blas;
  for (const double scale : {1e300, 1e-300, 1e-320, 0.0}) {
    const std::vector<double> x(3, scale);
    double norm = -1;
    REQUIRE(blas("Dnrm2_v2", 3, x.data(), 1, &norm) == 0);
    CHECK(norm == Approx(scale * std::sqrt(3.0)).epsilon(1e-3));
  }
  const std::vector<float> large(4, 1e30f);
  float norm = 0;
  REQUIRE(blas("Snrm2_v2", 4, large.data(), 1, &norm) == 0);
  CHECK(norm == Approx(2e30f));
}

TEMPLATE_TEST_CASE("cublas level 1: rotations", "", float, double) {
  using T = TestType;
  const Blas blas;
  const std::string letter = LetterOf<T>();
  T a = 3, b = 4, c = 0, s = 0;
  REQUIRE(blas(letter + "rotg_v2", &a, &b, &c, &s) == 0);
  CHECK(a == Approx(5));
  CHECK(c == Approx(0.6));
  CHECK(s == Approx(0.8));
  T d1 = 2, d2 = 3, x1 = 1, y1 = 2, param[5] = {};
  REQUIRE(blas(letter + "rotmg_v2", &d1, &d2, &x1, static_cast<const T*>(&y1), static_cast<T*>(param)) == 0);
  CHECK(param[0] == 1);  // |d1 x1^2| < |d2 y1^2|
  std::vector<T> x = {1, 2, 3}, y = {2, 3, 5};
  const std::vector<T> h = {-1, 2, 3, 5, 7};
  REQUIRE(blas(letter + "rotm_v2", 3, x.data(), 1, y.data(), 1, h.data()) == 0);
  CHECK(x == std::vector<T>{12, 19, 31});
  CHECK(y == std::vector<T>{17, 27, 44});
  // The rotation that rotmg made turns the second element to 0.
  x = {1}, y = {2};
  REQUIRE(blas(letter + "rotm_v2", 1, x.data(), 1, y.data(), 1, static_cast<const T*>(param)) == 0);
  CHECK(y[0] == Approx(0).margin(1e-6));
}
