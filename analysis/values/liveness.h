// Which values are needed after a point of the program.
#pragma once

#include <algorithm>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::analysis {

// As many words as values are in it: most values live in few blocks.
class ValueSet {
 public:
  bool Contains(ir::ValueId v) const { return std::ranges::binary_search(values_, v); }
  const std::vector<ir::ValueId>& Values() const { return values_; }  // ascending
  // Values come in ascending order; false where it is the last one already.
  bool Append(ir::ValueId v) {
    if (!values_.empty() && values_.back() == v) return false;
    values_.push_back(v);
    return true;
  }

 private:
  std::vector<ir::ValueId> values_;
};

struct LivenessResult {
  std::vector<ValueSet> in;  // per block; its own parameters are not live in
  std::vector<ValueSet>
      out;  // arguments of its edges are live out only when a successor needs them otherwise
};

LivenessResult AnalyzeLiveness(const ir::Function& f);

}  // namespace ptx2cpu::analysis
