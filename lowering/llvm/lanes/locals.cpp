#include "lowering/llvm/lanes/locals.h"

#include <algorithm>
#include <bit>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::Space;
using Value = llvm::Value*;

namespace {

constexpr uint32_t kMaxLocalBytes = 1024;  // of a lane: those of all lanes are on the stack
constexpr unsigned kMaxParts = 4;          // words of an access

bool IsAccess(const ir::Inst& inst) { return inst.op == Opcode::kLoad || inst.op == Opcode::kStore; }

}  // namespace

unsigned LocalGranule(const FunctionEmitter& e) {
  if (e.f.local_bytes == 0 || e.f.local_bytes > kMaxLocalBytes) return 0;
  unsigned granule = 8, largest = 0;
  for (const ir::Block& block : e.f.blocks) {
    if (block.removed) continue;
    for (ir::InstId id : block.insts) {
      const ir::Inst& inst = e.f.at_inst(id);
      if (inst.op == Opcode::kCall || inst.op == Opcode::kCallIndirect) return 0;
      if (inst.op == Opcode::kSymbol || inst.attrs.space != Space::kLocal) continue;
      // Only accesses know the order of the words.
      if (!IsAccess(inst) || analysis::IsStrong(inst, e.private_shared)) return 0;
      const auto bits = static_cast<unsigned>(ir::Bits(inst.type));
      if (bits < 8 || bits > 64) return 0;
      const unsigned align = inst.attrs.align != 0 ? inst.attrs.align : bits / 8;
      granule = std::min({granule, bits / 8, align});
      largest = std::max(largest, bits / 8);
    }
  }
  return largest <= granule * kMaxParts && e.f.local_bytes % granule == 0 ? granule : 0;
}

// Pointers to element `element` of the access: one, to the words of all lanes, or one for each lane.
Value LaneVectors::LocalPointer(const ir::Inst& inst, uint64_t byte) {
  const unsigned granule = e.memory.local_granule();
  Value offset = e.values.Get(inst.operands[0]);
  offset = b.CreateAdd(b.CreateAnd(offset, Literal(offset, ~uint64_t{granule - 1})), Literal(offset, byte));
  Value at = b.CreateMul(offset, Literal(offset, width_));
  if (at->getType()->isVectorTy()) {
    Value lane = b.CreateZExt(Consecutive(b, b.getInt32(0), width_), at->getType());
    at = b.CreateAdd(at, b.CreateMul(lane, Literal(lane, granule)));
  }
  return b.CreateGEP(b.getInt8Ty(), e.memory.LocalsOfLanes(width_), at);
}

Status LaneVectors::LoadLocal(const ir::Inst& inst, const Mask& mask) {
  NoteMisaligned(inst, mask, false);
  const unsigned granule = e.memory.local_granule(), bits = static_cast<unsigned>(ir::Bits(inst.type));
  llvm::Type* word = VectorOf(e.I(8 * granule));
  for (size_t k = 0; k < inst.results.size(); ++k) {
    Value whole = nullptr;
    for (unsigned byte = 0; byte < bits / 8; byte += granule) {
      Value pointer = LocalPointer(inst, k * bits / 8 + byte), part;
      if (pointer->getType()->isVectorTy()) {
        part = b.CreateMaskedGather(word, pointer, llvm::Align(granule), mask.lanes,
                                    llvm::Constant::getNullValue(word));
        e.m.Annotate(llvm::cast<llvm::Instruction>(part), Memory::kLocal);
      } else {
        part = e.memory.Load(word, pointer, LocalAlign(), Memory::kLocal);
      }
      part = b.CreateZExt(part, VectorOf(e.I(bits)));
      whole = whole == nullptr ? part : b.CreateOr(whole, b.CreateShl(part, Literal(part, 8 * byte)));
    }
    e.values.SetShaped(inst.results[k],
                       {b.CreateBitCast(whole, VectorOf(e.m.TypeOf(inst.type))), nullptr, nullptr});
  }
  return {};
}

Status LaneVectors::StoreLocal(const ir::Inst& inst, const Mask& mask) {
  NoteMisaligned(inst, mask, false);
  const unsigned granule = e.memory.local_granule(), bits = static_cast<unsigned>(ir::Bits(inst.type));
  llvm::Type* word = VectorOf(e.I(8 * granule));
  for (size_t k = 0; k + 1 < inst.operands.size(); ++k) {
    Value whole = b.CreateBitCast(Vector(e.values.Get(inst.operands[k + 1])), VectorOf(e.I(bits)));
    for (unsigned byte = 0; byte < bits / 8; byte += granule) {
      Value part = b.CreateTrunc(b.CreateLShr(whole, Literal(whole, 8 * byte)), word);
      Value pointer = LocalPointer(inst, k * bits / 8 + byte);
      if (pointer->getType()->isVectorTy()) {
        e.m.Annotate(b.CreateMaskedScatter(part, pointer, llvm::Align(granule), mask.lanes), Memory::kLocal);
        continue;
      }
      // Not a masked store, which LLVM would not promote.
      Value old = e.memory.Load(word, pointer, LocalAlign(), Memory::kLocal);
      e.memory.Store(b.CreateSelect(mask.lanes, part, old), pointer, LocalAlign(), Memory::kLocal);
    }
  }
  return {};
}

llvm::Align LaneVectors::LocalAlign() const {
  return llvm::Align(std::min(64u, e.memory.local_granule() * std::bit_floor(width_)));
}

}  // namespace ptx2cpu::lowering
