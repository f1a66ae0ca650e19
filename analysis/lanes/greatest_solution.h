// A property of values that follows from those of operands, through loops and slots: all values are assumed
// to have the strongest form until an operand shows otherwise; what is left is the greatest solution.
#pragma once

#include <algorithm>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::analysis {

// Property has `Element`, ordered by strength; kStrongest, kWeakest; and
//   Element Of(const ir::Inst&, size_t result, operand, slot, Element before)
// where operand(n) and slot(n) are what is known of them. `before` is the result's element so far, for
// properties whose order is long: they may fall by more than one step. With
//   static bool StoresWord(const ir::Inst&), MayChangeWords(const ir::Inst&)
// slot(number of slots) is what words of shared memory are known to be: what the first kind stores, as long
// as there is none of the second. Words that the function does not store are anything; those that it stores
// elsewhere, or later, count as what it stores: to read them is the program's fault.
template <typename Property>
class GreatestSolution {
 public:
  using Element = typename Property::Element;

  explicit GreatestSolution(const ir::Function& f)
      : f_(f), of_(f.values.size(), Property::kStrongest), slots_(f.slots.size() + 1, Property::kStrongest) {
    // What no edge defines: parameters of functions and of blocks that are entered from elsewhere.
    std::vector<bool> entered(f.blocks.size());
    for (const ir::Inst& inst : f.insts) {
      if (!inst.block.valid()) continue;
      for (const ir::Edge& edge : inst.edges) {
        const size_t params = f.at_block(edge.to).params.size();
        entered[edge.to.index] = entered[edge.to.index] || edge.args.size() == params;
      }
    }
    for (uint32_t n = 0; n < f.blocks.size(); ++n) {
      if (f.blocks[n].removed || (entered[n] && ir::BlockId{n} != f.entry)) continue;
      for (ir::ValueId param : f.blocks[n].params) of_[param.index] = Property::kWeakest;
    }
    if constexpr (requires(const ir::Inst& inst) { Property::StoresWord(inst); }) {
      const auto stores = [](const ir::Inst& inst) {
        return inst.block.valid() && Property::StoresWord(inst);
      };
      if (std::ranges::none_of(f.insts, stores)) slots_.back() = Property::kWeakest;
    }
  }

  std::vector<Element> Solve() {
    do {
      changed_ = false;
      for (const ir::Inst& inst : f_.insts) {
        if (inst.block.valid()) Visit(inst);
      }
    } while (changed_);
    return std::move(of_);
  }

 private:
  void Lower(std::vector<Element>& elements, uint32_t index, Element to) {
    const Element before = elements[index];
    if (before <= to) return;
    elements[index] = to;
    changed_ = true;
  }

  void Visit(const ir::Inst& inst) {
    const auto operand = [&](size_t n) -> Element { return of_[inst.operands[n].index]; };
    const auto slot = [&](uint32_t n) -> Element { return slots_[n]; };
    for (size_t n = 0; n < inst.results.size(); ++n) {
      const uint32_t result = inst.results[n].index;
      Lower(of_, result, property_.Of(f_, inst, n, operand, slot, of_[result]));
    }
    if (inst.op == ir::Opcode::kSlotStore) Lower(slots_, inst.attrs.index, of_[inst.operands.back().index]);
    if constexpr (requires { Property::StoresWord(inst); }) VisitShared(inst);
    for (const ir::Edge& edge : inst.edges) {
      const std::vector<ir::ValueId>& params = f_.at_block(edge.to).params;
      for (size_t n = 0; n < std::min(params.size(), edge.args.size()); ++n)
        Lower(of_, params[n].index, of_[edge.args[n].index]);
    }
  }

  void VisitShared(const ir::Inst& inst) {
    const auto shared = static_cast<uint32_t>(f_.slots.size());
    if (Property::MayChangeWords(inst)) Lower(slots_, shared, Property::kWeakest);
    if (!Property::StoresWord(inst)) return;
    for (size_t n = 1; n < inst.operands.size(); ++n) Lower(slots_, shared, of_[inst.operands[n].index]);
  }

  const ir::Function& f_;
  const Property property_ = {};
  std::vector<Element> of_, slots_;
  bool changed_ = false;
};

}  // namespace ptx2cpu::analysis
