// cuSPARSE: pruning, rows without small elements, sorting and its inverse, colouring, systems with five
// diagonals.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/cuda/libraries/core/narrow.h"
#include "tests/libraries/cusparse_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cusparse_case;

namespace {

template <typename T>
std::string Named(const std::string& name) {
  const char letter = std::is_same_v<T, __half>            ? 'H'
                      : std::is_same_v<T, float>           ? 'S'
                      : std::is_same_v<T, double>          ? 'D'
                      : std::is_same_v<T, cuDoubleComplex> ? 'Z'
                                                           : 'C';
  return letter + name;
}
template <typename T>
T From(double value) {
  if constexpr (std::is_same_v<T, __half>) {
    __half narrow;
    libraries::FromFloat(static_cast<float>(value), narrow);
    return narrow;
  } else {
    return static_cast<T>(value);
  }
}
template <typename T>
double To(const T& value) {
  if constexpr (std::is_same_v<T, __half>) {
    return static_cast<double>(libraries::ToFloat(value));
  } else {
    return static_cast<double>(value);
  }
}
cusparseMatDescr_t General() {
  cusparseMatDescr_t descr = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateMatDescr", &descr) == 0);
  return descr;
}

}  // namespace

TEMPLATE_TEST_CASE("cusparse: pruning keeps what is larger than a limit or a share of all", "", float, double,
                   __half) {
  using T = TestType;
  const Sparse sparse;
  const cusparseMatDescr_t descr = General();
  const int m = 6, n = 5;
  std::vector<T> dense;
  std::vector<int> order(30);
  std::iota(order.begin(), order.end(), 1);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  for (const int value : order) dense.push_back(From<T>(value % 2 == 0 ? value : -value));
  pruneInfo_t info = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreatePruneInfo", &info) == 0);
  // All of it by rows, to prune once more.
  std::vector<int> all_offsets, all_columns;
  std::vector<T> all;
  for (int i = 0; i < m; ++i) {
    all_offsets.push_back(i * n);
    for (int j = 0; j < n; ++j)
      all_columns.push_back(j), all.push_back(dense[static_cast<size_t>(i + j * m)]);
  }
  all_offsets.push_back(m * n);
  for (int variant = 0; variant < 4; ++variant) {
    const bool share = variant % 2 != 0, from_csr = variant / 2 != 0;
    std::vector<int> offsets(7);
    int total = -1;
    const T threshold = From<T>(12);
    const float percentage = 40;  // 12 of 30
    const std::string name = std::string("prune") + (from_csr ? "Csr" : "Dense") + "2csr";
    const std::string by = share ? "ByPercentage" : "";
    std::vector<int> columns(18);
    std::vector<T> values(18);
    const auto both = [&](auto... source) {
      if (share) {
        REQUIRE(sparse(Named<T>(name + "Nnz" + by), source..., percentage, descr, offsets.data(), &total,
                       info, (void*)nullptr) == 0);
        REQUIRE(total == 18);
        REQUIRE(sparse(Named<T>(name + by), source..., percentage, descr, values.data(), offsets.data(),
                       columns.data(), info, (void*)nullptr) == 0);
      } else {
        REQUIRE(sparse(Named<T>(name + "Nnz"), source..., &threshold, descr, offsets.data(), &total,
                       (void*)nullptr) == 0);
        REQUIRE(total == 18);
        REQUIRE(sparse(Named<T>(name), source..., &threshold, descr, values.data(), offsets.data(),
                       columns.data(), (void*)nullptr) == 0);
      }
    };
    if (from_csr) {
      both(m, n, m * n, descr, all.data(), all_offsets.data(), all_columns.data());
    } else {
      both(m, n, dense.data(), m);
    }
    Wait();
    int next = 0;
    for (int i = 0; i < m; ++i) {
      CHECK(offsets[static_cast<size_t>(i)] == next);
      for (int j = 0; j < n; ++j) {
        const double value = To(dense[static_cast<size_t>(i + j * m)]);
        if (std::abs(value) <= 12) continue;
        CHECK(columns[static_cast<size_t>(next)] == j);
        CHECK(To(values[static_cast<size_t>(next++)]) == value);
      }
    }
    CHECK(next == 18);
  }
  std::vector<int> offsets(7);
  int total = 0;
  CHECK(sparse(Named<T>("pruneDense2csrNnzByPercentage"), m, n, dense.data(), m, 101.f, descr, offsets.data(),
               &total, info, (void*)nullptr) == CUSPARSE_STATUS_INVALID_VALUE);
  size_t size = 0;
  REQUIRE(sparse(Named<T>("pruneDense2csrByPercentage_bufferSizeExt"), m, n, dense.data(), m, 10.f, descr,
                 all.data(), offsets.data(), all_columns.data(), info, &size) == 0);
  CHECK(size > 0);
  Cusparse().Call("cusparseDestroyPruneInfo", info);
  Cusparse().Call("cusparseDestroyMatDescr", descr);
}

TEMPLATE_TEST_CASE("cusparse: compressed rows; rows sorted and in their order again", "", float, double,
                   cuComplex, cuDoubleComplex) {
  using T = TestType;
  const Sparse sparse;
  const cusparseMatDescr_t descr = General();
  Matrix<T> m = RandomMatrix<T>(12, 9, 0.5, 81);
  const T tolerance = T(static_cast<decltype(std::real(T{}))>(0.4));
  Matrix<T> expected = m;
  for (T& value : expected.dense) {
    if (std::abs(value) <= std::real(tolerance)) value = T{};
  }
  expected.Compress(0);
  std::vector<int> counts(12), offsets(13);
  int total = -1;
  REQUIRE(sparse(Named<T>("nnz_compress"), 12, descr, m.values.data(), m.offsets.data(), counts.data(),
                 &total, tolerance) == 0);
  REQUIRE(total == expected.nnz());
  std::vector<T> values(static_cast<size_t>(total));
  std::vector<int> columns(static_cast<size_t>(total));
  REQUIRE(sparse(Named<T>("csr2csr_compress"), 12, 9, descr, m.values.data(), m.indices.data(),
                 m.offsets.data(), m.nnz(), counts.data(), values.data(), columns.data(), offsets.data(),
                 tolerance) == 0);
  Wait();
  CHECK(offsets == expected.offsets);
  CHECK(columns == expected.indices);
  CHECK(values == expected.values);
  CHECK(sparse(Named<T>("nnz_compress"), 12, descr, m.values.data(), m.offsets.data(), counts.data(), &total,
               T(-1)) == CUSPARSE_STATUS_INVALID_VALUE);

  Matrix<T> shuffled = m;
  std::mt19937 engine(82);
  for (int i = 0; i < 12; ++i) {
    for (int p = m.offsets[i]; p < m.offsets[i + 1]; ++p) {
      const int q = std::uniform_int_distribution<int>(m.offsets[i], p)(engine);
      std::swap(shuffled.indices[p], shuffled.indices[q]), std::swap(shuffled.values[p], shuffled.values[q]);
    }
  }
  const Matrix<T> before = shuffled;
  csru2csrInfo_t info = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateCsru2csrInfo", &info) == 0);
  const auto call = [&](const std::string& name) {
    return sparse(Named<T>(name), 12, 9, m.nnz(), descr, shuffled.values.data(), shuffled.offsets.data(),
                  shuffled.indices.data(), info, (void*)nullptr);
  };
  CHECK(call("csr2csru") == CUSPARSE_STATUS_INVALID_VALUE);  // nothing was sorted
  REQUIRE(call("csru2csr") == 0);
  Wait();
  CHECK(shuffled.indices == m.indices);
  CHECK(shuffled.values == m.values);
  REQUIRE(call("csr2csru") == 0);
  Wait();
  CHECK(shuffled.indices == before.indices);
  CHECK(shuffled.values == before.values);
  Cusparse().Call("cusparseDestroyCsru2csrInfo", info);

  // Neighbours of a symmetric pattern have different colours.
  Matrix<T> graph = RandomMatrix<T>(20, 20, 0.15, 83);
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < i; ++j) graph.at(i, j) = graph.at(j, i);
  }
  graph.Compress(0);
  cusparseColorInfo_t colour = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateColorInfo", &colour) == 0);
  for (const double part : {1.0, 0.5}) {
    const auto fraction = static_cast<decltype(std::real(T{}))>(part);
    std::vector<int> colours(20, -1), order(20, -1);
    int count = 0;
    REQUIRE(sparse(Named<T>("csrcolor"), 20, graph.nnz(), descr, graph.values.data(), graph.offsets.data(),
                   graph.indices.data(), &fraction, &count, colours.data(), order.data(), colour) == 0);
    for (int i = 0; i < 20; ++i) {
      for (int j = 0; j < i; ++j) {
        if (graph.at(i, j) != T{}) CHECK(colours[i] != colours[j]);
      }
      CHECK((colours[i] >= 0 && colours[i] < count));
      if (i > 0) CHECK(colours[order[i - 1]] <= colours[order[i]]);
    }
    CHECK(count == 1 + *std::ranges::max_element(colours));
    CHECK((part < 1 ? count > 10 : count < 12));
    std::ranges::sort(order);
    for (int i = 0; i < 20; ++i) CHECK(order[i] == i);
  }
  Cusparse().Call("cusparseDestroyColorInfo", colour);
  Cusparse().Call("cusparseDestroyMatDescr", descr);
}

TEMPLATE_TEST_CASE("cusparse: gpsvInterleavedBatch solves systems with five diagonals", "", float, double,
                   cuComplex, cuDoubleComplex) {
  using T = TestType;
  const Sparse sparse;
  std::mt19937 engine(91);
  for (const int m : {1, 2, 3, 17}) {
    const int count = 3;
    std::vector<T> diagonals[5], x(static_cast<size_t>(m * count)), b(x.size());
    for (std::vector<T>& diagonal : diagonals) {
      for (int i = 0; i < m * count; ++i) diagonal.push_back(Number<T>(engine));
    }
    // Rows exchange places: the main diagonal is small in every third row.
    for (int i = 0; i < m * count; ++i) diagonals[2][i] += T(i / count % 3 == 0 && m > 1 ? 0.01f : 4.f);
    for (T& value : x) value = Number<T>(engine);
    for (int k = 0; k < count; ++k) {
      for (int i = 0; i < m; ++i) {
        for (int j = std::max(0, i - 2); j <= std::min(m - 1, i + 2); ++j)
          b[i * count + k] += diagonals[j - i + 2][i * count + k] * x[j * count + k];
      }
    }
    size_t size = 0;
    REQUIRE(sparse(Named<T>("gpsvInterleavedBatch_bufferSizeExt"), 0, m, diagonals[0].data(),
                   diagonals[1].data(), diagonals[2].data(), diagonals[3].data(), diagonals[4].data(),
                   b.data(), count, &size) == 0);
    CHECK(size > 0);
    const auto solve = [&](int algorithm) {
      return sparse(Named<T>("gpsvInterleavedBatch"), algorithm, m, diagonals[0].data(), diagonals[1].data(),
                    diagonals[2].data(), diagonals[3].data(), diagonals[4].data(), b.data(), count,
                    (void*)nullptr);
    };
    REQUIRE(solve(0) == 0);
    Wait();
    for (size_t i = 0; i < x.size(); ++i) CheckClose(b[i], x[i], 500 * kTolerance<T>);
    CHECK(solve(1) == CUSPARSE_STATUS_SUCCESS);  // as recorded
    Wait();
  }
}
