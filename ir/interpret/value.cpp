// Constants, symbols, special registers, moves between types, and the slots of the Collapsed phase.
#include <utility>

#include "ir/interpret/machine.h"

namespace ptx2cpu::ir::interpret {

Status ExecuteConst(Step& s) {
  s.Return(static_cast<Bits128>(Signed128{static_cast<int64_t>(s.inst.attrs.bits)}));
  return {};
}

// Any bits are allowed: those that memory starts with make runs repeatable, and a kernel that reads what
// nothing wrote gives other results for other ones.
Status ExecuteUndef(Step& s) {
  s.Return(~Bits128{0} / 0xff * s.machine.options.fill);
  return {};
}

// Dynamic shared variables, those without a size, all begin after the static ones.
uint64_t SymbolOffset(const Module& module, const Variable& variable) {
  return variable.space == Space::kShared && variable.size == 0 && variable.shared_offset == 0
             ? module.static_shared_bytes
             : variable.shared_offset;
}

Status ExecuteSymbol(Step& s) {
  uint32_t index = s.inst.attrs.index;
  if (s.inst.attrs.space == Space::kLocal) {
    s.Return(s.frame.local_base + s.frame.function->locals[index].offset);
  } else if (s.inst.attrs.space == Space::kShared) {
    s.Return(SymbolOffset(s.machine.module, s.machine.module.variables[index]));
  } else {
    s.Return(reinterpret_cast<uint64_t>(s.machine.storage.Address(index)));
  }
  return {};
}

Status ExecuteFunctionAddress(Step& s) {
  s.Return(AddressOfFunction(s.machine.module.functions[s.inst.attrs.index].name));
  return {};
}

Status ExecuteParamBase(Step& s) {
  s.Return(reinterpret_cast<uint64_t>(s.machine.params.data()));
  return {};
}

Status ExecuteKernelNumber(Step& s) {
  s.Return(s.machine.options.kernel_number);
  return {};
}

namespace {

// Where a grid barrier counts: what the driver puts there is known from the code of cooperative groups. 0
// without one.
uint64_t EnvironmentRegister(const Machine& m, uint32_t index) {
  const auto workspace = reinterpret_cast<uint64_t>(m.cluster.grid_workspace.data());
  return index == 1 ? workspace >> 32 : index == 2 ? workspace : 0;
}

uint64_t SpecialValue(const Machine& m, const Thread& thread, Special special, uint32_t index) {
  uint32_t lane = thread.lane;
  const Dim3 &grid = m.options.grid, &block = m.options.block, &cluster = m.cluster.shape;
  constexpr uint32_t kSharedUnit = 128;
  switch (special) {
    case Special::kTidX:
      return thread.tid[0];
    case Special::kTidY:
      return thread.tid[1];
    case Special::kTidZ:
      return thread.tid[2];
    case Special::kLaneId:
      return lane;
    case Special::kWarpId:
      return thread.warp;
    case Special::kLaneMaskEq:
      return 1u << lane;
    case Special::kLaneMaskLt:
      return (1u << lane) - 1;
    case Special::kLaneMaskLe:
      return (2ull << lane) - 1;
    case Special::kLaneMaskGe:
      return ~((1u << lane) - 1);
    case Special::kLaneMaskGt:
      return ~((2ull << lane) - 1);
    case Special::kNtidX:
      return block.x;
    case Special::kNtidY:
      return block.y;
    case Special::kNtidZ:
      return block.z;
    case Special::kCtaidX:
      return m.ctaid[0];
    case Special::kClusteridX:
      return m.ctaid[0] / cluster.x;
    case Special::kClusterCtaidX:
      return m.cluster_ctaid[0];
    case Special::kClusterNctaidX:
      return cluster.x;
    case Special::kCtaidY:
      return m.ctaid[1];
    case Special::kClusteridY:
      return m.ctaid[1] / cluster.y;
    case Special::kClusterCtaidY:
      return m.cluster_ctaid[1];
    case Special::kClusterNctaidY:
      return cluster.y;
    case Special::kCtaidZ:
      return m.ctaid[2];
    case Special::kClusteridZ:
      return m.ctaid[2] / cluster.z;
    case Special::kClusterCtaidZ:
      return m.cluster_ctaid[2];
    case Special::kClusterNctaidZ:
      return cluster.z;
    case Special::kNctaidX:
      return grid.x;
    case Special::kNclusteridX:
      return grid.x / cluster.x;
    case Special::kNctaidY:
      return grid.y;
    case Special::kNclusteridY:
      return grid.y / cluster.y;
    case Special::kNctaidZ:
      return grid.z;
    case Special::kNclusteridZ:
      return grid.z / cluster.z;
    case Special::kNwarpId:
      return m.warp_count;
    case Special::kClusterCtarank:
      return m.cluster_rank;
    case Special::kClusterNctarank:
      return m.cluster.blocks.size();
    case Special::kIsExplicitCluster:
      return m.cluster.is_explicit;
    case Special::kNsmId:
      return 1;
    case Special::kClock:
    case Special::kClock64:
    case Special::kGlobaltimer:
    case Special::kGlobaltimerLo:
      return m.executed;
    case Special::kClockHi:
    case Special::kGlobaltimerHi:
      return m.executed >> 32;
    case Special::kDynamicSharedSize:
      return m.options.dynamic_shared_bytes;
    case Special::kTotalSharedSize:
    case Special::kAggrSharedSize:
      return (m.shared_bytes + kSharedUnit - 1) / kSharedUnit * kSharedUnit;
    case Special::kSmId:
    case Special::kGridId:
    case Special::kReservedSharedBegin:
    case Special::kReservedSharedEnd:
    case Special::kReservedSharedOffset0:
    case Special::kReservedSharedOffset1:
    case Special::kReservedSharedCap:
    case Special::kCurrentGraphExec:
    case Special::kPerfCounter:
      return 0;
    case Special::kEnvReg:
      return EnvironmentRegister(m, index);
    case Special::kNone:
      break;  // the verifier refuses it
  }
  std::unreachable();
}

}  // namespace

Status ExecuteSpecialRegister(Step& s) {
  s.Return(SpecialValue(s.machine, s.thread, s.inst.attrs.special, s.inst.attrs.index));
  return {};
}

Status ExecuteBitcast(Step& s) {
  s.Return(s.Operand(0));
  return {};
}

Status ExecutePack(Step& s) {
  Bits128 whole = 0;
  int width = Bits(s.inst.from);
  for (size_t i = 0; i < s.inst.operands.size(); ++i) whole |= s.Operand(i) << (static_cast<int>(i) * width);
  s.Return(whole);
  return {};
}

Status ExecuteUnpack(Step& s) {
  Bits128 whole = s.Operand(0);
  int width = s.Width();
  for (size_t i = 0; i < s.inst.results.size(); ++i) s.Return(whole >> (static_cast<int>(i) * width), i);
  return {};
}

Status ExecuteSelect(Step& s) {
  s.Return(s.Predicate(0) ? s.Operand(1) : s.Operand(2));
  return {};
}

Bits128& Machine::SlotOf(const Thread& thread, uint32_t slot) {
  if (view == View::kThreads) return slots[slot][thread.index];
  switch (kernel.slots[slot].shape) {
    case Level::kBlock:
      return slots[slot][0];
    case Level::kWarp:
      return slots[slot][thread.warp];
    case Level::kLane:
      break;
  }
  return slots[slot][thread.index];
}

Status ExecuteSlotLoad(Step& s) {
  if (s.machine.slots.empty()) return s.Fault("slots exist in the Collapsed phase only");
  s.Return(s.machine.SlotOf(s.thread, s.inst.attrs.index));
  return {};
}

Status ExecuteSlotStore(Step& s) {
  if (s.machine.slots.empty()) return s.Fault("slots exist in the Collapsed phase only");
  s.machine.SlotOf(s.thread, s.inst.attrs.index) = s.Operand(0);
  return {};
}

}  // namespace ptx2cpu::ir::interpret
