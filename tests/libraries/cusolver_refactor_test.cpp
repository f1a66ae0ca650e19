// cusolverRf: refactorisations with new values, of one matrix and of many, with every form of the factors;
// boosted pivots, status.
#include <cstdlib>

#include "tests/libraries/cusolver_sparse_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cusolver_sparse_case;
using namespace ptx2cpu::cuda;

namespace {

using Dense = std::vector<std::vector<double>>;

struct Sparse {
  std::vector<int> begins = {0}, indices = {};
  std::vector<double> values = {};
  int nnz() const { return static_cast<int>(indices.size()); }
};
// By rows or by columns, of the places for which has(row, column).
template <typename Has>
Sparse SparseOf(const Dense& dense, bool by_columns, const Has& has) {
  Sparse result;
  const auto n = static_cast<int>(dense.size());
  for (int line = 0; line < n; ++line) {
    for (int index = 0; index < n; ++index) {
      const int row = by_columns ? index : line, column = by_columns ? line : index;
      if (!has(row, column)) continue;
      result.indices.push_back(index);
      result.values.push_back(dense[static_cast<size_t>(row)][static_cast<size_t>(column)]);
    }
    result.begins.push_back(result.nnz());
  }
  return result;
}
Dense DenseOf(int n, const int* begins, const int* indices, const double* values, bool by_columns) {
  Dense dense(static_cast<size_t>(n), std::vector<double>(static_cast<size_t>(n)));
  for (int line = 0; line < n; ++line) {
    for (int at = begins[line]; at < begins[line + 1]; ++at) {
      const auto row = static_cast<size_t>(by_columns ? indices[at] : line),
                 column = static_cast<size_t>(by_columns ? line : indices[at]);
      dense[row][column] = values[at];
    }
  }
  return dense;
}

// A grid's matrix A whose diagonal is large, and orders: row i of the factors is row p[i] of A.
struct System {
  explicit System(double scale = 1) : a(Grid<double>(true)) {
    for (size_t i = 0; i < kSize; ++i) {
      for (size_t j = 0; j < i; ++j) a[i][j] *= 0.5 * scale;  // not symmetric
      p.push_back(static_cast<int>(i * 9 % kSize)), q.push_back(static_cast<int>(i * 9 % kSize));
    }
    // Places that fill in.
    filled.assign(kSize, std::vector<double>(kSize));
    for (size_t i = 0; i < kSize; ++i) {
      for (size_t j = 0; j < kSize; ++j)
        filled[i][j] = a[static_cast<size_t>(p[i])][static_cast<size_t>(q[j])] != 0 || i == j;
    }
    for (size_t k = 0; k < kSize; ++k) {
      for (size_t i = k + 1; i < kSize; ++i) {
        for (size_t j = k + 1; j < kSize; ++j) {
          if (filled[i][k] != 0 && filled[k][j] != 0) filled[i][j] = 1;
        }
      }
    }
  }
  std::vector<double> Times(const std::vector<double>& x) const {
    std::vector<double> y(kSize);
    for (size_t i = 0; i < kSize; ++i) {
      for (size_t j = 0; j < kSize; ++j) y[i] += a[i][j] * x[j];
    }
    return y;
  }
  bool HasA(int row, int column) const {
    return a[static_cast<size_t>(row)][static_cast<size_t>(column)] != 0;
  }
  bool HasFactors(int row, int column) const {
    return filled[static_cast<size_t>(row)][static_cast<size_t>(column)] != 0;
  }
  Dense a, filled;
  std::vector<int> p, q;
};

class Refactor {
 public:
  Refactor() { REQUIRE(Cusolver().Call("cusolverRfCreate", &handle_) == 0); }
  ~Refactor() { Cusolver().Call("cusolverRfDestroy", handle_); }
  Refactor(const Refactor&) = delete;
  Refactor& operator=(const Refactor&) = delete;
  template <typename... Args>
  int operator()(const std::string& name, Args... args) const {
    return Cusolver().Call("cusolverRf" + name, handle_, args...);
  }
  cusolverRfHandle_t handle() const { return handle_; }

 private:
  cusolverRfHandle_t handle_ = nullptr;
};

struct Form {
  bool by_columns;
  cusolverRfUnitDiagonal_t unit;
  bool LowerHasDiagonal() const { return unit != CUSOLVERRF_UNIT_DIAGONAL_ASSUMED_L; }
  bool UpperHasDiagonal() const { return unit != CUSOLVERRF_UNIT_DIAGONAL_ASSUMED_U; }
};

struct Inputs {
  Inputs(const System& s, const Form& form)
      : a(SparseOf(s.a, form.by_columns, [&](int i, int j) { return s.HasA(i, j); })),
        lower(SparseOf(s.filled, form.by_columns,
                       [&](int i, int j) {
                         return s.HasFactors(i, j) && (j < i || (form.LowerHasDiagonal() && j == i));
                       })),
        upper(SparseOf(s.filled, form.by_columns, [&](int i, int j) {
          return s.HasFactors(i, j) && (j > i || (form.UpperHasDiagonal() && j == i));
        })) {}
  Sparse a, lower, upper;
};

int SetUp(const Refactor& rf, const std::string& where, const System& s, Inputs& in) {
  return Cusolver().Call("cusolverRfSetup" + where, kSize, in.a.nnz(), in.a.begins.data(),
                         in.a.indices.data(), in.a.values.data(), in.lower.nnz(), in.lower.begins.data(),
                         in.lower.indices.data(), in.lower.values.data(), in.upper.nnz(),
                         in.upper.begins.data(), in.upper.indices.data(), in.upper.values.data(), s.p.data(),
                         s.q.data(), rf.handle());
}
void CheckSolution(const Refactor& rf, const System& s) {
  std::vector<double> wanted(kSize), work(kSize);
  for (int i = 0; i < kSize; ++i) wanted[static_cast<size_t>(i)] = Number<double>(i + 5);
  std::vector<double> x = s.Times(wanted);
  REQUIRE(rf("Solve", s.p.data(), s.q.data(), 1, work.data(), kSize, x.data(), kSize) == 0);
  CHECK(Error(x, wanted) < 1e-10);
}

// L U = P A Q^T of the factors that are extracted, in the form that was asked for.
void CheckExtracted(const Refactor& rf, const System& s, const Form& form) {
  int count[2] = {}, *begins[2] = {}, *indices[2] = {};
  double* values[2] = {};
  REQUIRE(rf("ExtractSplitFactorsHost", &count[0], &begins[0], &indices[0], &values[0], &count[1], &begins[1],
             &indices[1], &values[1]) == 0);
  Dense factors[2];
  for (const int i : {0, 1}) {
    CHECK(count[i] == begins[i][kSize]);
    factors[i] = DenseOf(kSize, begins[i], indices[i], values[i], form.by_columns);
    std::free(begins[i]), std::free(indices[i]), std::free(values[i]);
  }
  const bool unit_lower =
      form.unit == CUSOLVERRF_UNIT_DIAGONAL_STORED_L || form.unit == CUSOLVERRF_UNIT_DIAGONAL_ASSUMED_L;
  double error = 0;
  for (size_t i = 0; i < kSize; ++i) {
    CHECK(factors[0][i][i] == (!form.LowerHasDiagonal() ? 0 : unit_lower ? 1 : factors[0][i][i]));
    CHECK(factors[1][i][i] == (!form.UpperHasDiagonal() ? 0 : !unit_lower ? 1 : factors[1][i][i]));
    factors[unit_lower ? 0 : 1][i][i] = 1;
  }
  for (size_t i = 0; i < kSize; ++i) {
    for (size_t j = 0; j < kSize; ++j) {
      double sum = 0;
      for (size_t k = 0; k <= std::min(i, j); ++k) sum += factors[0][i][k] * factors[1][k][j];
      error = std::max(error, std::abs(sum - s.a[static_cast<size_t>(s.p[i])][static_cast<size_t>(s.q[j])]));
    }
  }
  CHECK(error < 1e-10);
  // Both bundled, of the host and of the device.
  for (const char* function : {"ExtractBundledFactorsHost", "AccessBundledFactorsDevice"}) {
    int size = 0, *of_begins = nullptr, *of_indices = nullptr;
    double* of_values = nullptr;
    REQUIRE(rf(function, &size, &of_begins, &of_indices, &of_values) == 0);
    const Dense bundled = DenseOf(kSize, of_begins, of_indices, of_values, form.by_columns);
    bool same = true;
    for (size_t i = 0; i < kSize; ++i) {
      for (size_t j = 0; j < kSize; ++j)
        same = same && bundled[i][j] == factors[j < i || (j == i && !unit_lower) ? 0 : 1][i][j];
    }
    CHECK(same);
    if (function[0] == 'E') std::free(of_begins), std::free(of_indices), std::free(of_values);
  }
}

}  // namespace

TEST_CASE("cusolver: refactorisations in every form", "[cusolver]") {
  for (const bool by_columns : {false, true}) {
    for (const auto unit : {CUSOLVERRF_UNIT_DIAGONAL_STORED_L, CUSOLVERRF_UNIT_DIAGONAL_STORED_U,
                            CUSOLVERRF_UNIT_DIAGONAL_ASSUMED_L, CUSOLVERRF_UNIT_DIAGONAL_ASSUMED_U}) {
      for (const char* where : {"Host", "Device"}) {
        INFO("by columns " << by_columns << ", unit diagonal " << unit << ", " << where);
        const Form form{by_columns, unit};
        const System s, other(3);
        Inputs in(s, form), new_in(other, form);
        const Refactor rf;
        REQUIRE(rf("SetMatrixFormat",
                   by_columns ? CUSOLVERRF_MATRIX_FORMAT_CSC : CUSOLVERRF_MATRIX_FORMAT_CSR, unit) == 0);
        REQUIRE(SetUp(rf, where, s, in) == 0);
        REQUIRE(rf("Analyze") == 0);
        REQUIRE(rf("Refactor") == 0);
        CheckSolution(rf, s);
        CheckExtracted(rf, s, form);
        REQUIRE(Cusolver().Call("cusolverRfResetValues", kSize, new_in.a.nnz(), new_in.a.begins.data(),
                                new_in.a.indices.data(), new_in.a.values.data(), s.p.data(), s.q.data(),
                                rf.handle()) == 0);
        REQUIRE(rf("Refactor") == 0);
        CheckSolution(rf, other);
        CheckExtracted(rf, other, form);
      }
    }
  }
}

TEST_CASE("cusolver: refactorisations of many matrices", "[cusolver]") {
  const Form form{false, CUSOLVERRF_UNIT_DIAGONAL_ASSUMED_L};
  const System systems[3] = {System(1), System(2), System(3)};
  Inputs in(systems[0], form), second(systems[1], form), third(systems[2], form);
  double* values[3] = {in.a.values.data(), second.a.values.data(), third.a.values.data()};
  const Refactor rf;
  REQUIRE(rf("SetMatrixFormat", CUSOLVERRF_MATRIX_FORMAT_CSR, form.unit) == 0);
  const System& s = systems[0];
  REQUIRE(Cusolver().Call("cusolverRfBatchSetupHost", 3, kSize, in.a.nnz(), in.a.begins.data(),
                          in.a.indices.data(), &values[0], in.lower.nnz(), in.lower.begins.data(),
                          in.lower.indices.data(), in.lower.values.data(), in.upper.nnz(),
                          in.upper.begins.data(), in.upper.indices.data(), in.upper.values.data(), s.p.data(),
                          s.q.data(), rf.handle()) == 0);
  REQUIRE(rf("BatchAnalyze") == 0);
  for (int pass = 0; pass < 2; ++pass) {
    REQUIRE(rf("BatchRefactor") == 0);
    int pivots[3] = {7, 7, 7};
    REQUIRE(rf("BatchZeroPivot", &pivots[0]) == 0);
    std::vector<double> wanted(kSize, 3), work(2 * 3 * kSize), x[3];
    double* solutions[3];
    for (int k = 0; k < 3; ++k) {
      CHECK(pivots[k] == -1);
      x[k] = systems[(k + pass) % 3].Times(wanted), solutions[k] = x[k].data();
    }
    REQUIRE(rf("BatchSolve", s.p.data(), s.q.data(), 1, work.data(), kSize, &solutions[0], kSize) == 0);
    for (const auto& solution : x) CHECK(Error(solution, wanted) < 1e-10);
    std::rotate(&values[0], &values[1], &values[3]);
    REQUIRE(Cusolver().Call("cusolverRfBatchResetValues", 3, kSize, in.a.nnz(), in.a.begins.data(),
                            in.a.indices.data(), &values[0], s.p.data(), s.q.data(), rf.handle()) == 0);
  }
}

TEST_CASE("cusolver: refactorisations of singular matrices, and status", "[cusolver]") {
  const Form form{false, CUSOLVERRF_UNIT_DIAGONAL_STORED_L};
  System s;
  Inputs in(s, form);
  const Refactor rf;
  CHECK(rf("Analyze") == CUSOLVER_STATUS_INVALID_VALUE);
  in.a.begins[0] = 1;
  CHECK(SetUp(rf, "Host", s, in) == CUSOLVER_STATUS_INVALID_VALUE);
  in.a.begins[0] = 0;
  REQUIRE(SetUp(rf, "Host", s, in) == 0);
  CHECK(rf("Refactor") == CUSOLVER_STATUS_INVALID_VALUE);
  REQUIRE(rf("Analyze") == 0);
  std::ranges::fill(in.a.values, 0.0);
  const auto reset = [&] {
    return Cusolver().Call("cusolverRfResetValues", kSize, in.a.nnz(), in.a.begins.data(),
                           in.a.indices.data(), in.a.values.data(), s.p.data(), s.q.data(), rf.handle());
  };
  REQUIRE(reset() == 0);
  CHECK(rf("Refactor") == CUSOLVER_STATUS_ZERO_PIVOT);
  cusolverRfNumericBoostReport_t report{};
  REQUIRE(rf("SetNumericProperties", 1e-9, 4.0) == 0);
  CHECK(rf("Refactor") == 0);
  REQUIRE(rf("GetNumericBoostReport", &report) == 0);
  CHECK(report == CUSOLVERRF_NUMERIC_BOOST_USED);
  std::vector<double> x(kSize, 8), work(kSize);
  const auto solve = [&](int count, int ldt) {
    return rf("Solve", s.p.data(), s.q.data(), count, work.data(), ldt, x.data(), kSize);
  };
  REQUIRE(solve(1, kSize) == 0);
  CHECK(x == std::vector<double>(kSize, 2));  // every pivot is 4
  CHECK(solve(2, kSize) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(solve(1, kSize - 1) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(rf("SetMatrixFormat", 2, 0) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(rf("SetAlgs", 1, 1) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(Cusolver().Call("cusolverRfDestroy", cusolverRfHandle_t{}) == CUSOLVER_STATUS_NOT_INITIALIZED);
}
