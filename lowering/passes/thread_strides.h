// The amounts by which values grow from thread to thread along x, as far as their operations show it.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::lowering {

// The number that a value is, sign-extended.
bool IsConstant(const ir::Function& f, ir::ValueId value, int64_t* number);

// If nothing wraps around: good for a choice, not for a proof.
class ThreadStrides {
 public:
  explicit ThreadStrides(const ir::Function& f);
  std::optional<int64_t> Of(ir::ValueId value) { return Of(value, 0); }
  // Whether neighbouring threads' values have nothing to do with each other (they were loaded), or lie apart
  // by a number that is known at run time only: `row * width`.
  bool IsApart(ir::ValueId value) { return IsApart(value, 0); }
  // What is known of single values.
  void Forget() {
    known_ = {};
    apart_ = {};
  }

 private:
  std::optional<int64_t> Of(ir::ValueId value, int depth);
  bool IsApart(ir::ValueId value, int depth);
  bool FindApart(ir::ValueId value, int depth);
  std::optional<int64_t> Find(ir::ValueId id, int depth);
  std::optional<int64_t> OfParameter(const ir::Value& value, int depth);
  static std::optional<int64_t> OfRegister(ir::Special special);
  std::optional<int64_t> OfOperation(const ir::Inst& inst, const std::vector<int64_t>& operands) const;

  const ir::Function& f_;
  std::vector<std::vector<const ir::Edge*>> incoming_;
  std::unordered_map<uint32_t, std::optional<int64_t>> known_;
  std::unordered_map<uint32_t, bool> apart_;
};

}  // namespace ptx2cpu::lowering
