#include "analysis/lanes/streaming_stores.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "analysis/lanes/residues.h"

namespace ptx2cpu::analysis {

namespace {

using ir::Opcode;
using ir::Space;
using ir::ValueId;

bool IsFar(Space space) { return space == Space::kGlobal || space == Space::kGeneric; }

// Nothing but weak accesses, and barriers of a block that one host thread runs.
bool OrdersNothing(const ir::Function& f) {
  return std::ranges::all_of(f.insts, [](const ir::Inst& inst) {
    if (!inst.block.valid()) return true;
    const bool access = inst.op == Opcode::kLoad || inst.op == Opcode::kStore;
    if (access) return inst.attrs.order == ir::MemoryOrder::kWeak && (inst.attrs.flags & ir::kVolatile) == 0;
    const ir::Effect effect = ir::Info(inst.op).effect;
    const bool silent =
        inst.op == Opcode::kSlotLoad || inst.op == Opcode::kSlotStore || inst.op == Opcode::kCheckAccess;
    return silent || (effect != ir::Effect::kReads && effect != ir::Effect::kWrites &&
                      effect != ir::Effect::kMemory && effect != ir::Effect::kOpaque);
  });
}

class StreamingStoreFinder {
 public:
  explicit StreamingStoreFinder(const ir::Function& f) : f_(f), incoming_(f.values.size()) {
    for (const ir::Inst& inst : f.insts) {
      if (!inst.block.valid()) continue;
      for (const ir::Edge& edge : inst.edges) {
        const std::vector<ValueId>& params = f.at_block(edge.to).params;
        for (size_t n = 0; n < std::min(params.size(), edge.args.size()); ++n)
          incoming_[params[n].index].push_back(edge.args[n]);
      }
    }
  }

  std::vector<bool> Run() {
    std::vector<bool> streams(f_.insts.size());
    std::set<uint64_t> loaded;
    for (const ir::Inst& inst : f_.insts) {
      if (!inst.block.valid() || inst.op != Opcode::kLoad || !IsFar(inst.attrs.space)) continue;
      const Root root = RootOf(inst.operands[0]);
      if (root.kind != Root::kParameter) return streams;
      loaded.insert(root.offset);
    }
    for (size_t n = 0; n < f_.insts.size(); ++n) {
      const ir::Inst& inst = f_.insts[n];
      if (!inst.block.valid() || inst.op != Opcode::kStore || !IsFar(inst.attrs.space)) continue;
      const Root root = RootOf(inst.operands[0]);
      streams[n] = root.kind == Root::kParameter && !loaded.contains(root.offset);
    }
    return streams;
  }

 private:
  // The pointer parameter that an address was made of.
  struct Root {
    enum Kind : uint8_t { kNone, kParameter, kUnknown } kind = kNone;
    uint64_t offset = 0;
    friend bool operator==(const Root&, const Root&) = default;
  };

  Root RootOf(ValueId value) {
    const auto [it, is_new] = known_.try_emplace(value.index);
    if (!is_new) return it->second;  // on a cycle: the other ways decide
    const Root root = Find(value);
    return known_[value.index] = root;
  }

  Root Find(ValueId value) {
    const ir::InstId def = f_.at_value(value).def;
    if (!def.valid()) return Either(incoming_[value.index]);
    const ir::Inst& inst = f_.at_inst(def);
    if (ir::Bits(f_.type_of(value)) != 64) return {};
    if (inst.op == Opcode::kAdd || inst.op == Opcode::kSub || inst.op == Opcode::kToGeneric ||
        inst.op == Opcode::kFromGeneric)
      return Only(inst.operands);
    if (inst.op == Opcode::kLoad && inst.attrs.space == Space::kParam) {
      const auto offset = OffsetInParameters(f_, inst.operands[0], f_.param_bytes);
      return offset ? Root{Root::kParameter, *offset} : Root{Root::kUnknown};
    }
    const bool number = inst.op == Opcode::kConst || inst.op == Opcode::kZext || inst.op == Opcode::kSext ||
                        inst.op == Opcode::kMul || inst.op == Opcode::kShl;
    return number ? Root{} : Root{Root::kUnknown};
  }

  // A sum has the one pointer among its operands.
  Root Only(const std::vector<ValueId>& operands) {
    Root found;
    for (ValueId operand : operands) {
      const Root root = RootOf(operand);
      if (root.kind == Root::kNone) continue;
      found = found.kind == Root::kNone ? root : Root{Root::kUnknown};
    }
    return found;
  }

  Root Either(const std::vector<ValueId>& values) {
    Root found;
    for (ValueId value : values) {
      const Root root = RootOf(value);
      if (root.kind == Root::kNone) continue;
      found = found.kind == Root::kNone || found == root ? root : Root{Root::kUnknown};
    }
    return found;
  }

  const ir::Function& f_;
  std::vector<std::vector<ValueId>> incoming_;  // by value: of a block parameter, what edges hand over
  std::map<uint32_t, Root> known_;
};

}  // namespace

std::vector<bool> FindStreamingStores(const ir::Function& f) {
  if (!f.is_kernel || f.resumes != ir::Resumes::kNever || !OrdersNothing(f))
    return std::vector<bool>(f.insts.size());
  return StreamingStoreFinder(f).Run();
}

}  // namespace ptx2cpu::analysis
