// Low bits of addresses: the remainder of an address divided by the size of an access. Reads IR only.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::analysis {

// Congruent modulo the requested alignment to `offset`, plus a kernel parameter or another value
// where one is named. p + 4 * i with 32-bit words is congruent to the parameter p.
struct Residue {
  enum class Root : uint8_t { kUnvisited, kNone, kParameter, kValue };
  Root root = Root::kUnvisited;
  ir::Type type = ir::Type::kVoid;  // of the parameter
  uint64_t place = 0;               // of the parameter in its buffer, or the value's index
  uint64_t offset = 0;
  bool IsZero() const { return root == Root::kNone && offset == 0; }
  friend auto operator<=>(const Residue&, const Residue&) = default;
};

class Residues {
 public:
  static constexpr uint64_t kMaxAlign = 64;

  // `shared_offset`: by variable, where shared ones lie in the window. All arguments outlive this.
  Residues(const ir::Module& module, const ir::Function& f, const std::vector<uint32_t>& shared_offset,
           uint32_t param_bytes);

  // `align`: a power of two, at most kMaxAlign.
  const Residue& Of(ir::ValueId value, uint64_t align);

 private:
  using Values = std::vector<Residue>;
  void CollectSources();
  void FindZeros();
  std::unique_ptr<Values> Find(uint32_t bits) const;
  uint8_t ZerosOf(const ir::Inst& inst) const;
  uint64_t SymbolAddress(const ir::Inst& inst) const;
  Residue Transfer(ir::ValueId value, const Values& known, uint32_t bits) const;
  Residue OfSources(ir::ValueId value, const std::vector<ir::ValueId>& sources, const Values& known) const;
  bool IsInteger(ir::ValueId value) const;

  const ir::Module& module_;
  const ir::Function& f_;
  const std::vector<uint32_t>& shared_offset_;
  uint32_t param_bytes_;
  std::vector<std::vector<ir::ValueId>> arguments_;  // by value: of a block parameter, what edges hand over
  std::vector<std::vector<ir::ValueId>> stored_;     // by slot
  std::vector<uint8_t> zeros_;  // by value: low bits that are zero for sure, up to kMaxZeros
  std::array<std::unique_ptr<Values>, 7> found_;  // by logarithm of the alignment
};

// Where an address is that of a parameter, and at which offset.
std::optional<uint64_t> OffsetInParameters(const ir::Function& f, ir::ValueId address, uint32_t param_bytes);

}  // namespace ptx2cpu::analysis
