#include "analysis/memory/memory_effects.h"

#include <algorithm>

#include "runtime/abi/check.h"

namespace ptx2cpu::analysis {

using ir::Opcode;
using ir::Space;

namespace {

// The effects of weak accesses of memory that threads share; other accesses are unknown, or invisible to
// other threads.
bool IsWeakAccess(const ir::Inst& inst) {
  return (inst.op == Opcode::kLoad || inst.op == Opcode::kStore) &&
         inst.attrs.order == ir::MemoryOrder::kWeak && !(inst.attrs.flags & ir::kVolatile);
}

// Instructions without effect on memory: values, branches, and collectives without an address that all lanes
// reach as members.
bool IsSilent(const ir::Inst& inst) {
  if (inst.op == Opcode::kCheckAccess) return true;
  switch (ir::Info(inst.op).effect) {
    case ir::Effect::kPure:
    case ir::Effect::kTerminator:
      return true;
    case ir::Effect::kCollective:  // what the converged lanes are may depend on a barrier before
      return ir::HasMembermask(inst.op, inst.attrs.flags) && !ir::AccessesMemory(inst.op);
    case ir::Effect::kReads:
    case ir::Effect::kWrites:
    case ir::Effect::kMemory:
    case ir::Effect::kBarrier:
    case ir::Effect::kOpaque:
      break;
  }
  return false;
}

}  // namespace

MemoryEffects::MemoryEffects(const ir::Module& module, const ir::Function& f,
                             std::optional<LaunchShape> launch, Of of)
    : module_(module), f_(f), uniformity_(AnalyzeUniformity(f, launch)), spaces_(AnalyzeAddressSpaces(f)) {
  index_.resize(f.insts.size(), kNone);
  std::vector<ir::ValueId> addresses;
  for (ir::BlockId block : ir::ReversePostOrder(f)) {
    for (ir::InstId id : f.at_block(block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      std::optional<MemoryEffect> effect = of == Of::kChecks ? EffectOfCheck(inst) : EffectOf(inst);
      if (!effect) continue;
      effect->inst = id;
      if (effect->access != Access::kUnknown) addresses.push_back(f.at_inst(id).operands[0]);
      index_[id.index] = static_cast<uint32_t>(effects_.size());
      effects_.push_back(std::move(*effect));
    }
  }
  forms_ =
      std::make_unique<AddressForms>(module, f, uniformity_, launch.value_or(PromisedShape(f)), addresses);
  for (MemoryEffect& effect : effects_) {
    if (effect.access != Access::kUnknown) Locate(effect, f.at_inst(effect.inst));
  }
}

std::optional<MemoryEffect> MemoryEffects::EffectOf(const ir::Inst& inst) const {
  MemoryEffect effect;
  if (IsSilent(inst)) return {};
  if (ir::IsBlockBarrier(inst.op)) return {};  // see barrier_intervals
  if (!IsWeakAccess(inst)) {
    bool frozen =
        inst.op == Opcode::kLoad && (inst.attrs.space == Space::kParam || inst.attrs.space == Space::kConst);
    // No thread writes the memory of a texture, or the image of a handle, while the kernel runs.
    frozen |=
        inst.op == Opcode::kTexture || inst.op == Opcode::kImageQuery || inst.op == Opcode::kSurfaceAddress;
    if (frozen) return {};
    return effect;
  }
  std::optional<Reach> reach = ReachOf(inst);
  if (!reach) return {};
  effect.reach = *reach;
  bool loads = inst.op == Opcode::kLoad;
  effect.access = loads ? Access::kRead : Access::kWrite;
  size_t parts = loads ? inst.results.size() : inst.operands.size() - 1;
  effect.bytes = static_cast<uint32_t>(parts) * static_cast<uint32_t>(ir::Bytes(inst.type));
  return effect;
}

// Shared memory is followed; what may reach it by real addresses is unknown.
std::optional<MemoryEffect> MemoryEffects::EffectOfCheck(const ir::Inst& check) const {
  MemoryEffect effect;
  if (check.op == Opcode::kCall || check.op == Opcode::kCallIndirect) return effect;
  if (check.op != Opcode::kCheckAccess) return {};
  const uint32_t form = check.attrs.index;
  const uint32_t space = PTX2CPU_SPACE_OF_ACCESS(form);
  if (space == PTX2CPU_SPACE_LOCAL || space == PTX2CPU_SPACE_GLOBAL) return {};
  if (space == PTX2CPU_SPACE_REAL) {
    const Space where = spaces_.spaces[check.operands[0].index];
    if (where == Space::kGlobal || where == Space::kConst || where == Space::kParam || where == Space::kLocal)
      return {};
    return effect;
  }
  constexpr uint32_t kOrdering = PTX2CPU_ACCESS_RELEASES | PTX2CPU_ACCESS_ACQUIRES | PTX2CPU_ACCESS_ASYNC;
  const ir::InstId bytes = f_.at_value(check.operands[1]).def;
  if ((form & kOrdering) != 0 || !bytes.valid() || f_.at_inst(bytes).op != Opcode::kConst) return effect;
  effect.access = (form & PTX2CPU_ACCESS_WRITES) != 0 ? Access::kWrite : Access::kRead;
  effect.strong = (form & PTX2CPU_ACCESS_STRONG) != 0;
  effect.reach = Reach::kShared;
  effect.bytes = static_cast<uint32_t>(f_.at_inst(bytes).attrs.bits);
  return effect;
}

// Nothing for memory that only the thread itself can access, or that no thread writes.
std::optional<Reach> MemoryEffects::ReachOf(const ir::Inst& inst) const {
  if (inst.op == Opcode::kLoad && (inst.attrs.flags & ir::kNonCoherent)) return {};
  Space space = inst.attrs.space;
  if (space == Space::kGeneric) space = spaces_.spaces[inst.operands[0].index];
  switch (space) {
    case Space::kLocal:
      return {};
    case Space::kParam:
    case Space::kConst:
      if (inst.op == Opcode::kLoad) return {};
      return Reach::kEither;
    case Space::kShared:
      return Reach::kShared;
    case Space::kGlobal:
      return Reach::kGlobal;
    case Space::kGeneric:
    case Space::kSharedCluster:
      break;
  }
  return Reach::kEither;
}

void MemoryEffects::Locate(MemoryEffect& effect, const ir::Inst& inst) const {
  effect.address = forms_->Of(inst.operands[0]);
  if (inst.attrs.space == Space::kShared || inst.op == Opcode::kCheckAccess) {
    effect.in_window = true;
  } else if (forms_->ToWindowOffset(effect.address)) {
    effect.in_window = true;
    effect.reach = Reach::kShared;
  }
  effect.object = forms_->ObjectOf(effect.address);
  // The address of a shared variable of this launch is not a parameter.
  if (effect.object.kind == MemoryObject::Kind::kParameter && effect.reach == Reach::kEither)
    effect.reach = Reach::kGlobal;
}

// Different memories, or different variables.
bool MemoryEffects::Apart(const MemoryEffect& a, const MemoryEffect& b) const {
  if (a.reach != b.reach && a.reach != Reach::kEither && b.reach != Reach::kEither) return true;
  if (a.object.kind != MemoryObject::Kind::kVariable || b.object.kind != MemoryObject::Kind::kVariable)
    return false;
  if (a.object.index == b.object.index) return false;
  const ir::Variable &first = module_.variables[a.object.index], &second = module_.variables[b.object.index];
  // Arrays of dynamic size all begin at one place.
  return first.space != second.space || first.size != 0 || second.size != 0;
}

bool MemoryEffects::MayMeet(const MemoryEffect& a, const MemoryEffect& b) const {
  if (a.access == Access::kUnknown || b.access == Access::kUnknown) return true;
  if (Apart(a, b)) return false;
  if (a.in_window != b.in_window) return true;
  return forms_->MayOverlap(forms_->BetweenThreads(a.address, b.address), a.bytes, b.bytes);
}

bool MemoryEffects::MayMeetOwn(const MemoryEffect& a, const MemoryEffect& b) const {
  if (a.access == Access::kUnknown || b.access == Access::kUnknown) return true;
  if (Apart(a, b)) return false;
  if (a.in_window != b.in_window) return true;
  AddressDifference difference = forms_->SameThread(a.address, b.address);
  return !difference.known || (difference.constant > -static_cast<int64_t>(a.bytes) &&
                               difference.constant < static_cast<int64_t>(b.bytes));
}

bool MemoryEffects::Conflict(uint32_t a, uint32_t b) const {
  const MemoryEffect &first = effects_[a], &second = effects_[b];
  if (first.access == Access::kUnknown || second.access == Access::kUnknown) return true;
  if (first.access == Access::kRead && second.access == Access::kRead) return false;
  if (first.strong && second.strong) return false;
  uint64_t key = uint64_t{std::min(a, b)} << 32 | std::max(a, b);
  auto [it, made] = conflicts_.try_emplace(key, false);
  if (made) it->second = MayMeet(first, second);
  return it->second;
}

}  // namespace ptx2cpu::analysis
