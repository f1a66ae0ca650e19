#include "analysis/lanes/deferred_atomics.h"

#include <algorithm>

#include "analysis/regions/thread_graph.h"
#include "analysis/values/thread_transfer.h"

namespace ptx2cpu::analysis {

using ir::AtomicOp;
using ir::MemoryOrder;
using ir::Opcode;
using ir::Space;
using AtomicRole = DeferredAtomics::Role;

namespace {

std::vector<bool> UsedValues(const ir::Function& f) {
  std::vector<bool> used(f.values.size());
  for (const ir::Inst& inst : f.insts) {
    if (!inst.block.valid()) continue;
    for (ir::ValueId operand : inst.operands) used[operand.index] = true;
    for (const ir::Edge& edge : inst.edges) {
      for (ir::ValueId arg : edge.args) used[arg.index] = true;
    }
  }
  return used;
}

// True where several operations may be done in any order, and combined into one.
bool AnyOrder(AtomicOp op) {
  using enum AtomicOp;
  return op == kAdd || op == kAnd || op == kOr || op == kXor || op == kMinS || op == kMinU || op == kMaxS ||
         op == kMaxU;
}

// A relaxed atomic on global memory whose result is not read.
bool IsUnordered(const ir::Inst& inst, const std::vector<bool>& used) {
  return inst.op == Opcode::kAtomic && inst.attrs.space == Space::kGlobal &&
         inst.attrs.scope != ir::Scope::kCta &&  // done without a lock anyway
         (inst.attrs.order == MemoryOrder::kRelaxed || inst.attrs.order == MemoryOrder::kWeak) &&
         !used[inst.results[0].index];
}

bool CanWait(const ir::Inst& inst, const std::vector<bool>& used) {
  return IsUnordered(inst, used) && (inst.type == ir::Type::kI32 || inst.type == ir::Type::kI64) &&
         AnyOrder(inst.attrs.atomic);
}

bool CanBeLogged(const ir::Inst& inst, const std::vector<bool>& used) {
  const bool is_sum = inst.op == Opcode::kAtomic && inst.attrs.atomic == AtomicOp::kFAdd &&
                      (inst.type == ir::Type::kF32 || inst.type == ir::Type::kF64);
  return CanWait(inst, used) || (is_sum && IsUnordered(inst, used));
}

// Whether the address is one that the data decides, as far as it can be seen quickly. Where each thread has a
// word of its own, or all have one, there are few atomics for each address.
constexpr int kDepth = 12;
bool IsOfData(const ir::Function& f, ir::ValueId value, int depth) {
  const ir::InstId def = f.at_value(value).def;
  if (!def.valid() || depth == 0) return false;
  const ir::Inst& inst = f.at_inst(def);
  if (inst.op == Opcode::kLoad) return inst.attrs.space != Space::kParam;
  if (ir::Info(inst.op).effect != ir::Effect::kPure) return false;
  const bool folds = inst.op == Opcode::kRemS || inst.op == Opcode::kRemU || inst.op == Opcode::kAnd ||
                     inst.op == Opcode::kShrU || inst.op == Opcode::kXor;
  return folds || std::ranges::any_of(inst.operands,
                                      [&](ir::ValueId operand) { return IsOfData(f, operand, depth - 1); });
}

// Whether the value is the same in the whole grid, as far as it can be seen quickly.
bool IsOfGrid(const ir::Function& f, ir::ValueId value, int depth) {
  const ir::InstId def = f.at_value(value).def;
  if (!def.valid() || depth == 0) return false;
  const ir::Inst& inst = f.at_inst(def);
  const bool reads_parameter = inst.op == Opcode::kLoad && inst.attrs.space == Space::kParam;
  if (!reads_parameter && (ir::Info(inst.op).effect != ir::Effect::kPure ||
                           inst.op == Opcode::kSpecialRegister || inst.op == Opcode::kUndef))
    return false;
  return std::ranges::all_of(inst.operands,
                             [&](ir::ValueId operand) { return IsOfGrid(f, operand, depth - 1); });
}

// Instructions that a thread may execute after one of `from`.
class After {
 public:
  After(const ir::Function& f, const std::vector<AtomicRole>& roles) : f_(f), blocks_(f.blocks.size()) {
    ConnectEnds();
    std::vector<ir::BlockId> work;
    const auto reach = [&](ir::BlockId from) {
      std::vector<ir::BlockId> next = after_end_[from.index];
      for (const ir::Edge& edge : f.successors(from)) next.push_back(edge.to);
      for (ir::BlockId to : next) {
        if (blocks_[to.index]) continue;
        blocks_[to.index] = true;
        work.push_back(to);
      }
    };
    for (size_t i = 0; i < f.insts.size(); ++i) {
      if (roles[i] == AtomicRole::kDeferred) reach(f.insts[i].block);
    }
    while (!work.empty()) {
      const ir::BlockId block = work.back();
      work.pop_back();
      reach(block);
    }
    within_.resize(f.insts.size());
    for (const ir::Block& block : f.blocks) {
      bool after = false;
      if (block.removed) continue;
      for (ir::InstId inst : block.insts) {
        within_[inst.index] = after;
        after |= roles[inst.index] == AtomicRole::kDeferred;
      }
    }
  }
  bool Includes(size_t inst) const { return within_[inst] || blocks_[f_.insts[inst].block.index]; }

 private:
  // A region of lanes or warps has no edge to what runs after all of them.
  void ConnectEnds() {
    after_end_.resize(f_.blocks.size());
    for (const ir::Inst& loop : f_.insts) {
      if (!loop.block.valid() || !BeginsTurns(loop.op)) continue;
      for (ir::BlockId end : EndsOfTurn(f_, loop.block)) after_end_[end.index].push_back(loop.edges[1].to);
    }
  }

  const ir::Function& f_;
  std::vector<std::vector<ir::BlockId>> after_end_;  // by block
  std::vector<bool> blocks_, within_;
};

bool MayBeGlobal(Space space) { return space == Space::kGlobal || space == Space::kGeneric; }

// Nothing: the function does what is not followed here.
std::optional<AtomicRole> RoleOf(const ir::Inst& inst, bool private_shared) {
  switch (ir::Info(inst.op).effect) {
    case ir::Effect::kPure:
    case ir::Effect::kTerminator:
    case ir::Effect::kBarrier:  // the host thread runs all of the block, and looks at each access
    case ir::Effect::kCollective:
      return AtomicRole::kNone;
    case ir::Effect::kOpaque:
      return std::nullopt;
    case ir::Effect::kReads:
    case ir::Effect::kWrites:
    case ir::Effect::kMemory:
      break;
  }
  if (inst.op == Opcode::kLoad || inst.op == Opcode::kStore) {
    if (!MayBeGlobal(inst.attrs.space) || (inst.attrs.flags & ir::kNonCoherent) != 0)
      return AtomicRole::kNone;
    return IsStrong(inst, private_shared) ? AtomicRole::kOrders : AtomicRole::kObserves;
  }
  if (inst.op == Opcode::kAtomic || inst.op == Opcode::kAtomicCas)
    return MayBeGlobal(inst.attrs.space) ? AtomicRole::kOrders : AtomicRole::kNone;
  if (inst.op == Opcode::kFence)
    return inst.attrs.scope == ir::Scope::kCta ? AtomicRole::kNone : AtomicRole::kOrders;
  // Textures of memory that the kernel writes may show any of its states.
  const bool is_own = inst.op == Opcode::kTexture || inst.op == Opcode::kImageQuery ||
                      inst.op == Opcode::kSlotLoad || inst.op == Opcode::kSlotStore ||
                      inst.op == Opcode::kLiveMask || inst.op == Opcode::kSetLiveMask ||
                      inst.op == Opcode::kCheckAccess;
  return is_own ? std::optional(AtomicRole::kNone) : std::nullopt;
}

// Accesses that observe an atomic of their own thread come after it. Strong accesses stay: a block may wait
// for another one that the same worker ran before.
void KeepThoseAfter(const ir::Function& f, std::vector<AtomicRole>& roles) {
  const After after(f, roles);
  for (size_t i = 0; i < roles.size(); ++i) {
    if (roles[i] == AtomicRole::kObserves && !after.Includes(i)) roles[i] = AtomicRole::kNone;
  }
}

void Defer(const ir::Function& f, DeferredAtomics& found, std::vector<AtomicRole> roles,
           const std::vector<bool>& used) {
  for (size_t i = 0; i < f.insts.size(); ++i) {
    const ir::Inst& inst = f.insts[i];
    if (!inst.block.valid() || !(found.logged ? CanBeLogged(inst, used) : CanWait(inst, used))) continue;
    if (found.logged && !IsOfGrid(f, inst.operands[0], kDepth)) continue;
    const bool flush = (inst.attrs.flags & ir::kFtz) != 0;
    if (inst.attrs.atomic == found.operation && inst.type == found.type && flush == found.flush)
      roles[i] = AtomicRole::kDeferred;
  }
  KeepThoseAfter(f, roles);
  found.roles = std::move(roles);
}

}  // namespace

DeferredAtomics FindDeferredAtomics(const ir::Function& f) {
  if (!f.is_kernel || f.resumes != ir::Resumes::kNever) return {};
  const bool may = std::ranges::any_of(f.insts, [](const ir::Inst& inst) {
    return inst.block.valid() && inst.op == Opcode::kAtomic && inst.attrs.space == Space::kGlobal;
  });
  if (!may) return {};
  const bool private_shared = HasPrivateShared(f);
  const std::vector<bool> used = UsedValues(f);
  DeferredAtomics found;
  std::vector<AtomicRole> roles(f.insts.size(), AtomicRole::kNone);
  const auto take = [&](const ir::Inst& inst, bool logged) {
    found.operation = inst.attrs.atomic, found.type = inst.type, found.logged = logged;
    found.flush = (inst.attrs.flags & ir::kFtz) != 0;
  };
  for (size_t i = 0; i < f.insts.size(); ++i) {
    const ir::Inst& inst = f.insts[i];
    if (!inst.block.valid()) continue;
    const auto role = RoleOf(inst, private_shared);
    if (!role) return {};
    roles[i] = *role;
    if (CanWait(inst, used) && IsOfData(f, inst.operands[0], kDepth)) {
      if (found.operation == AtomicOp::kNone || found.logged) take(inst, false);
    } else if (found.operation == AtomicOp::kNone && CanBeLogged(inst, used) &&
               IsOfGrid(f, inst.operands[0], kDepth)) {
      take(inst, true);
    }
  }
  if (found.operation == AtomicOp::kNone) return {};
  Defer(f, found, std::move(roles), used);
  // A log is worth it where nothing has to look at it.
  if (found.logged && std::ranges::find(found.roles, AtomicRole::kObserves) != found.roles.end()) return {};
  return found;
}

}  // namespace ptx2cpu::analysis
