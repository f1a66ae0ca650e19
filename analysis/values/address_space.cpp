#include "analysis/values/address_space.h"

#include <optional>

namespace ptx2cpu::analysis {
namespace {

using ir::Opcode;
using ir::Space;
using ir::ValueId;

class AddressSpaceSolver {
 public:
  explicit AddressSpaceSolver(const ir::Function& f) : f_(f), found_(f.values.size()) {}

  AddressSpaceResult Solve() {
    std::vector<ir::BlockId> order = ir::ReversePostOrder(f_);
    for (bool changed = true; changed;) {
      changed = false;
      for (ir::BlockId block : order) {
        for (ir::InstId id : f_.at_block(block).insts) changed |= Visit(f_.at_inst(id));
        for (const ir::Edge& edge : f_.successors(block)) {
          for (size_t n = 0; n < edge.args.size(); ++n) {
            changed |= Meet(f_.at_block(edge.to).params[n], found_[edge.args[n].index]);
          }
        }
      }
    }
    AddressSpaceResult result;
    for (const std::optional<Space>& space : found_) result.spaces.push_back(space.value_or(Space::kGeneric));
    result.local_escapes = LocalEscapes();
    return result;
  }

 private:
  // Optimistic: a value is what all its known sources agree on; unknown sources do not count.
  bool Meet(ValueId value, std::optional<Space> space) {
    if (!space) return false;
    std::optional<Space>& old = found_[value.index];
    Space met = old && *old != *space ? Space::kGeneric : *space;
    bool changed = old != met;
    old = met;
    return changed;
  }

  bool MeetBoth(ValueId value, ValueId a, ValueId b) {
    bool changed = Meet(value, found_[a.index]);
    return Meet(value, found_[b.index]) || changed;
  }

  bool Visit(const ir::Inst& inst) {
    if (inst.results.size() != 1) return VisitOpaque(inst);
    if (inst.op == Opcode::kToGeneric) {
      const bool other_block = inst.attrs.space == Space::kSharedCluster;
      return Meet(inst.results[0], other_block ? Space::kGeneric : inst.attrs.space);
    }
    if (inst.op == Opcode::kParamBase) {
      return Meet(inst.results[0], Space::kParam);
    }
    if (inst.op == Opcode::kSymbol) {
      Space space = inst.attrs.space;  // window offsets are not generic addresses
      bool real = space == Space::kGlobal || space == Space::kConst;
      return Meet(inst.results[0], real ? space : Space::kGeneric);
    }
    if (inst.op == Opcode::kTensorMemory) {
      return Meet(inst.results[0], Space::kGeneric);  // as a shared symbol
    }
    if (inst.op == Opcode::kAdd) {
      std::optional<Space> a = found_[inst.operands[0].index], b = found_[inst.operands[1].index];
      if (a && *a != Space::kGeneric)
        return Meet(inst.results[0], b && *b != Space::kGeneric ? Space::kGeneric : *a);
      return Meet(inst.results[0], b);
    }
    if (inst.op == Opcode::kSub &&
        found_[inst.operands[1].index].value_or(Space::kGeneric) != Space::kGeneric)
      return Meet(inst.results[0], Space::kGeneric);  // a distance
    if (inst.op == Opcode::kSub || inst.op == Opcode::kBitcast || inst.op == Opcode::kAnd) {
      return Meet(inst.results[0], found_[inst.operands[0].index]);
    }
    if (inst.op == Opcode::kSelect) {
      return MeetBoth(inst.results[0], inst.operands[1], inst.operands[2]);
    }
    return VisitOpaque(inst);
  }

  bool VisitOpaque(const ir::Inst& inst) {
    bool changed = false;
    for (ValueId value : inst.results) changed |= Meet(value, Space::kGeneric);
    return changed;
  }

  // A real address into local memory escapes where it is used for more than to access, compare or derive
  // another.
  bool LocalEscapes() const {
    auto local = [&](ValueId v) { return found_[v.index] == Space::kLocal; };
    for (ir::BlockId block : ir::ReversePostOrder(f_)) {
      for (ir::InstId id : f_.at_block(block).insts) {
        const ir::Inst& inst = f_.at_inst(id);
        for (size_t n = 0; n < inst.operands.size(); ++n) {
          if (local(inst.operands[n]) && !Harmless(inst, n)) return true;
        }
        for (const ir::Edge& edge : inst.edges) {
          for (size_t n = 0; n < edge.args.size(); ++n) {
            if (local(edge.args[n]) && !local(f_.at_block(edge.to).params[n])) return true;
          }
        }
      }
    }
    return false;
  }

  bool Harmless(const ir::Inst& inst, size_t operand) const {
    if (inst.op == Opcode::kCheckAccess) return true;
    if (inst.op == Opcode::kLoad || inst.op == Opcode::kStore || inst.op == Opcode::kAtomic ||
        inst.op == Opcode::kAtomicCas) {
      return operand == 0;
    }
    if (inst.op == Opcode::kIcmp || inst.op == Opcode::kIsSpace || inst.op == Opcode::kFromGeneric) {
      return true;
    }
    return inst.results.size() == 1 && found_[inst.results[0].index] == Space::kLocal;
  }

  const ir::Function& f_;
  std::vector<std::optional<Space>> found_;
};

}  // namespace

AddressSpaceResult AnalyzeAddressSpaces(const ir::Function& f) { return AddressSpaceSolver(f).Solve(); }

}  // namespace ptx2cpu::analysis
