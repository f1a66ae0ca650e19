// cusolverSp's functions of the host alone: least squares of full and of smaller rank, numbers of
// eigenvalues, orders of the rows without zeros on the diagonal.
#include <numeric>
#include <set>

#include "tests/libraries/cusolver_sparse_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cusolver_sparse_case;
using namespace ptx2cpu::cuda;

namespace {

constexpr int kRows = 7, kColumns = 4;

// The last two columns are those before them, times a number.
template <typename T>
std::vector<std::vector<T>> Tall(bool full) {
  std::vector<std::vector<T>> dense(kRows, std::vector<T>(kColumns));
  for (int i = 0; i < kRows; ++i) {
    auto& row = dense[static_cast<size_t>(i)];
    for (int j = 0; j < kColumns; ++j) row[static_cast<size_t>(j)] = Number<T>(i * 5 + j * 3 + i * j);
    if (!full) row[2] = row[0] * T(2), row[3] = row[1] * T(-1);
  }
  return dense;
}

template <typename T>
void CheckLeastSquares(bool full, cusparseIndexBase_t base) {
  const SparseSolver solver(base);
  const auto dense = Tall<T>(full);
  const Matrix<T> a(kRows, kColumns, base, dense);
  std::vector<T> b, x(kColumns);
  for (int i = 0; i < kRows; ++i) b.push_back(Number<T>(i + 50));
  int rank = 0;
  std::vector<int> p(kColumns, -1);
  Real<T> norm = 0;
  const Real<T> tolerance = sizeof(Real<T>) == 4 ? 1e-4 : 1e-10;
  REQUIRE(solver(std::string(Letter<T>()) + "csrlsqvqrHost", kRows, kColumns, a.nnz(), solver.descr,
                 a.values.data(), a.begins.data(), a.indices.data(), static_cast<const T*>(b.data()),
                 tolerance, &rank, x.data(), p.data(), &norm) == 0);
  CHECK(rank == (full ? 4 : 2));
  CHECK((std::set<int>(p.begin(), p.end()) == std::set<int>{0, 1, 2, 3}));
  std::vector<T> residual = a.Times(x);
  Real<T> square = 0;
  for (size_t i = 0; i < residual.size(); ++i) residual[i] -= b[i], square += std::norm(residual[i]);
  const Real<T> bound = sizeof(Real<T>) == 4 ? 1e-4 : 1e-12;
  CHECK(std::abs(std::sqrt(square) - norm) < bound);
  // The residual is orthogonal to the columns.
  for (size_t j = 0; j < kColumns; ++j) {
    T product{};
    for (size_t i = 0; i < kRows; ++i) product += Conjugated(dense[i][j]) * residual[i];
    CHECK(std::abs(product) < 10 * bound);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("cusolver: least squares of sparse matrices of any rank", "[cusolver]", float, double,
                   std::complex<float>, std::complex<double>) {
  for (const auto base : {CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_INDEX_BASE_ONE}) {
    CheckLeastSquares<TestType>(true, base);
    CheckLeastSquares<TestType>(false, base);
  }
}

TEMPLATE_TEST_CASE("cusolver: how many eigenvalues are in a rectangle", "[cusolver]", float, double,
                   std::complex<float>, std::complex<double>) {
  using T = TestType;
  using Complex = std::complex<Real<T>>;
  const SparseSolver solver;
  // Eigenvalues 3, -1, and those of a rotation by a right angle, times 2.
  const Matrix<T> a(4, 4, 0,
                    {{T(3), T(0), T(0), T(5)},
                     {T(0), T(0), T(-2), T(0)},
                     {T(0), T(2), T(0), T(0)},
                     {T(0), T(0), T(0), T(-1)}});
  const auto count = [&](Complex low, Complex high) {
    int found = -1;
    REQUIRE(solver(std::string(Letter<T>()) + "csreigsHost", 4, a.nnz(), solver.descr, a.values.data(),
                   a.begins.data(), a.indices.data(), low, high, &found) == 0);
    return found;
  };
  CHECK(count({-5, -5}, {5, 5}) == 4);
  CHECK(count({-5, -1}, {5, 1}) == 2);
  CHECK(count({1, -5}, {5, 5}) == 1);
  CHECK(count({-Real<T>(.5), 1}, {Real<T>(.5), 3}) == 1);
  CHECK(count({5, 5}, {-5, -5}) == 0);
}

TEST_CASE("cusolver: rows in an order that leaves no zero on the diagonal", "[cusolver]") {
  const SparseSolver solver(CUSPARSE_INDEX_BASE_ONE);
  // A shuffled diagonal with other elements, which mislead an algorithm that takes the first free column.
  constexpr int kSize = 40;
  const auto dense = [&](bool singular) {
    std::vector<std::vector<double>> rows(kSize, std::vector<double>(kSize));
    for (int i = 0; i < kSize; ++i) {
      auto& row = rows[static_cast<size_t>(i)];
      for (int j = 0; j < i % 5; ++j) row[static_cast<size_t>(j)] = 1;
      row[static_cast<size_t>(i * 7 % kSize)] = 2;
    }
    if (singular) rows[11] = rows[12] = rows[13] = rows[3], rows[3].assign(kSize, 0), rows[3][5] = 1;
    return rows;
  };
  for (const bool singular : {false, true}) {
    const auto rows = dense(singular);
    const Matrix<double> a(kSize, kSize, 1, rows);
    std::vector<int> p(kSize, -1);
    int count = -1;
    REQUIRE(solver("DcsrzfdHost", kSize, a.nnz(), solver.descr, a.values.data(), a.begins.data(),
                   a.indices.data(), p.data(), &count) == 0);
    CHECK(std::set<int>(p.begin(), p.end()).size() == kSize);
    CHECK(*std::ranges::min_element(p) == 0);
    int found = 0;
    for (size_t i = 0; i < kSize; ++i) found += rows[static_cast<size_t>(p[i])][i] != 0 ? 1 : 0;
    CHECK(found >= count);
    CHECK((singular ? count < kSize : count == kSize));
  }
}
