// Liveness of SSA values per block.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::analysis {

class ValueSet {
 public:
  explicit ValueSet(size_t values = 0) : words_((values + 63) / 64) {}
  bool Contains(ir::ValueId v) const { return words_[v.index / 64] >> (v.index % 64) & 1; }
  void Insert(ir::ValueId v) { words_[v.index / 64] |= uint64_t{1} << (v.index % 64); }
  void Erase(ir::ValueId v) { words_[v.index / 64] &= ~(uint64_t{1} << (v.index % 64)); }
  bool Merge(const ValueSet& other);  // true when something was added
  std::vector<ir::ValueId> Values() const;

 private:
  std::vector<uint64_t> words_;
};

struct LivenessResult {
  std::vector<ValueSet> in;  // per block; its own parameters are not live in
  std::vector<ValueSet>
      out;  // arguments of its edges are live out only when a successor needs them otherwise
};

LivenessResult AnalyzeLiveness(const ir::Function& f);

}  // namespace ptx2cpu::analysis
