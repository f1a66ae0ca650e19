// Factors of many matrices with the same places: P A Q^T = L U, whose places are those of earlier factors.
// There is no pivoting: rows and columns keep the order of P and Q.
#pragma once

#include <optional>
#include <span>

#include "runtime/cuda/libraries/solver/call.h"

namespace ptx2cpu::cusolver {

// Places of elements by rows, or by columns.
struct Places {
  std::vector<int> begins = {0}, indices = {};

  int Lines() const { return static_cast<int>(begins.size()) - 1; }
  std::span<const int> Line(int line) const {
    const auto at = static_cast<size_t>(line);
    return std::span(indices).subspan(static_cast<size_t>(begins[at]),
                                      static_cast<size_t>(begins[at + 1] - begins[at]));
  }
};
// The places in a program's arrays of a square matrix; nothing where they are invalid.
std::optional<Places> PlacesOf(int n, int nnz, const int* begins, const int* indices);
// Whether it has each number below n.
bool IsOrder(int n, const int* order);
// `of_element`: the number in `from` of each element of the result.
Places Transposed(const Places& from, std::vector<int>* of_element = nullptr);

struct PlacedValues {
  Places places = {};
  std::vector<double> values = {};
};
PlacedValues Transposed(const PlacedValues& from);

// Which of both factors has ones on its diagonal.
enum class UnitFactor { kLower, kUpper };

class Refactorization {
 public:
  // The places of A, L and U by rows; diagonals need not be given.
  void SetPlaces(Places a, const Places& lower, const Places& upper);
  // Where row and column i of the factors are in A. They may differ with each set of values.
  void SetOrders(const int* p, const int* q);
  // Factors of the values of A by rows: the number of the first pivot whose absolute value is not larger than
  // `zero`, or -1. Such a pivot becomes `boost`, unless that is 0.
  int Factor(const double* values, double zero, double boost, bool& boosted, double* factors) const;
  // x: the right-hand side, then the solution.
  void Solve(const double* factors, const int* p, const int* q, double* x) const;

  int size() const { return factors_.Lines(); }
  size_t count() const { return factors_.indices.size(); }
  // L + U without the diagonal of ones.
  PlacedValues Bundled(const double* factors, UnitFactor unit) const;
  PlacedValues Lower(const double* factors, UnitFactor unit, bool with_diagonal) const;
  PlacedValues Upper(const double* factors, UnitFactor unit, bool with_diagonal) const;

 private:
  template <typename Wanted>
  PlacedValues Part(const double* factors, UnitFactor unit, bool unit_diagonal, const Wanted& wanted) const;

  Places a_ = {}, factors_ = {};    // of the factors L, then U with its diagonal
  std::vector<size_t> diagonal_;    // its place in each row of the factors
  std::vector<size_t> of_element_;  // the place in the factors of each element of A
};

}  // namespace ptx2cpu::cusolver
