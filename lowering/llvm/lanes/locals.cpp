#include "lowering/llvm/lanes/locals.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "analysis/lanes/region_locals.h"
#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::Space;
using Value = llvm::Value*;

namespace {

constexpr uint32_t kMaxLocalBytes = 16384;  // of a lane: those of all lanes are on the stack
// What an access costs in words of other sizes: a part of an element is shifted into place; an element that
// is less than a word is shifted out of it, and stored with what else the word holds.
constexpr double kPart = 1.5, kLoadedFromWord = 2, kStoredIntoWord = 3;
// Addresses of each lane's own need words that one lane owns and that machines gather.
constexpr double kApartFromBytes = 8;
constexpr unsigned kLeastGathered = 4;

struct LocalAccess {
  unsigned element, count, align;  // bytes, elements, bytes
  bool is_store, is_fixed;         // ... at a constant address
};

bool IsAccess(const ir::Inst& inst) { return inst.op == Opcode::kLoad || inst.op == Opcode::kStore; }

constexpr int kDepth = 6;
bool IsFixed(const ir::Function& f, ir::ValueId address, int depth) {
  const ir::InstId def = f.at_value(address).def;
  if (!def.valid() || depth == 0) return false;
  const ir::Inst& inst = f.at_inst(def);
  if (inst.op == Opcode::kSymbol || inst.op == Opcode::kConst) return true;
  const bool moves = inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric;
  if (inst.op != Opcode::kAdd && !moves) return false;
  return std::ranges::all_of(inst.operands,
                             [&](ir::ValueId operand) { return IsFixed(f, operand, depth - 1); });
}

// Bytes that the address of an access is a multiple of; of each element, where the whole is less aligned.
unsigned AlignOfLocal(const ir::Inst& inst) {
  const size_t count = inst.op == Opcode::kLoad ? inst.results.size() : inst.operands.size() - 1;
  const auto whole = static_cast<unsigned>(ir::Bytes(inst.type)) * static_cast<unsigned>(count);
  return inst.attrs.align != 0 ? inst.attrs.align : std::bit_floor(whole);
}

// Nothing: something else is done with locals than that lanes load and store them.
std::optional<std::vector<LocalAccess>> LocalAccesses(const FunctionEmitter& e) {
  std::vector<LocalAccess> accesses;
  for (const ir::Block& block : e.f.blocks) {
    if (block.removed) continue;
    for (ir::InstId id : block.insts) {
      const ir::Inst& inst = e.f.at_inst(id);
      if (inst.op == Opcode::kCall || inst.op == Opcode::kCallIndirect) return std::nullopt;
      if (inst.op == Opcode::kSymbol || inst.attrs.space != Space::kLocal) continue;
      // Only accesses know the order of the words.
      if (!IsAccess(inst) || analysis::IsStrong(inst, e.private_shared)) return std::nullopt;
      const auto bits = static_cast<unsigned>(ir::Bits(inst.type));
      if (bits < 8 || bits > 64) return std::nullopt;
      const size_t count = inst.op == Opcode::kLoad ? inst.results.size() : inst.operands.size() - 1;
      accesses.push_back({bits / 8, static_cast<unsigned>(count), AlignOfLocal(inst),
                          inst.op == Opcode::kStore, IsFixed(e.f, inst.operands[0], kDepth)});
    }
  }
  return accesses;
}

double CostIn(unsigned granule, const LocalAccess& access) {
  const double count = access.count;
  double cost;
  if (access.element >= granule) {
    const unsigned parts = access.element / granule;
    cost = count * parts * (parts > 1 ? kPart : 1);
  } else if (access.align >= granule && access.element * access.count >= granule) {
    cost = count;
  } else {
    cost = count * (access.is_store ? kStoredIntoWord : kLoadedFromWord);
  }
  return granule < kLeastGathered && !access.is_fixed ? cost * kApartFromBytes : cost;
}

}  // namespace

unsigned LocalGranule(const FunctionEmitter& e) {
  if (e.f.local_bytes == 0 || e.f.local_bytes > kMaxLocalBytes) return 0;
  const auto accesses = LocalAccesses(e);
  if (!accesses) return 0;
  unsigned most = 8, best = 0;
  for (const LocalAccess& access : *accesses) {
    if (access.align < access.element) most = std::min(most, access.align);
  }
  double least = 0;
  for (unsigned granule = 1; granule <= most && e.f.local_bytes % granule == 0; granule *= 2) {
    double cost = 0;
    for (const LocalAccess& access : *accesses) cost += CostIn(granule, access);
    if (best == 0 || cost < least) best = granule, least = cost;
  }
  return best;
}

LocalWords::LocalWords(FunctionEmitter& e, unsigned width, const ir::Inst& inst, Value lanes)
    : e_(e),
      inst_(inst),
      width_(width),
      granule_(e.memory.local_granule()),
      word_(llvm::FixedVectorType::get(e.I(8 * granule_), width)),
      offset_(e.values.Get(inst.operands[0])),
      lanes_(lanes),
      readable_(lanes) {
  if (!offset_->getType()->isVectorTy() || e.m.traits.has_avx512) return;
  offset_ = e.b.CreateSelect(lanes, offset_, Literal(offset_, 0));
  readable_ = llvm::Constant::getAllOnesValue(lanes->getType());
}

Value LocalWords::Pointer(Value offset, uint64_t byte) const {
  llvm::IRBuilder<>& b = e_.b;
  const bool apart = offset->getType()->isVectorTy();
  // Machines gather by indices of 32 bits with less work.
  if (apart) offset = b.CreateTrunc(offset, ShapedLike(offset, b.getInt32Ty()));
  Value number = b.CreateLShr(offset, Literal(offset, static_cast<uint64_t>(std::countr_zero(granule_))));
  number = b.CreateMul(b.CreateAdd(number, Literal(number, byte / granule_)), Literal(number, width_));
  if (!apart && llvm::isa<llvm::ConstantInt>(number))
    return e_.memory.WithinLocals(e_.memory.LocalsOfLanes(width_),
                                  b.CreateMul(number, Literal(number, granule_)));
  if (apart) number = b.CreateAdd(number, Consecutive(b, b.getInt32(0), width_));
  return b.CreateGEP(word_->getElementType(), e_.memory.LocalsOfLanes(width_), number);
}

Value LocalWords::Load(Value pointer) const {
  if (!pointer->getType()->isVectorTy()) return e_.memory.Load(word_, pointer, Align(), Memory::kLocal);
  auto* gather = e_.b.CreateMaskedGather(word_, pointer, llvm::Align(granule_), readable_,
                                         llvm::Constant::getNullValue(word_));
  e_.m.Annotate(gather, Memory::kLocal);
  return gather;
}

void LocalWords::Store(Value value, Value pointer, Value old) const {
  if (!pointer->getType()->isVectorTy()) {
    // Not a masked store, which LLVM would not promote.
    if (old == nullptr) old = Load(pointer);
    e_.memory.Store(e_.b.CreateSelect(lanes_, value, old), pointer, Align(), Memory::kLocal);
    return;
  }
  Value stored = lanes_;
  if (old != nullptr && readable_ != lanes_)
    value = e_.b.CreateSelect(lanes_, value, old), stored = readable_;
  e_.m.Annotate(e_.b.CreateMaskedScatter(value, pointer, llvm::Align(granule_), stored), Memory::kLocal);
}

LocalWords::Part LocalWords::PartOf(size_t element) const {
  llvm::IRBuilder<>& b = e_.b;
  const auto bytes = static_cast<unsigned>(ir::Bytes(inst_.type));
  const uint64_t byte = element * bytes;
  llvm::Type* word = word_->getElementType();
  if (AlignOfLocal(inst_) >= granule_)
    return {Pointer(byte), llvm::ConstantInt::get(word, byte % granule_ * 8)};
  Value at = b.CreateAdd(offset_, Literal(offset_, byte));
  Value before = b.CreateShl(b.CreateAnd(at, Literal(at, granule_ - bytes)), Literal(at, 3));
  return {Pointer(at, 0), b.CreateZExtOrTrunc(before, ShapedLike(before, word))};
}

llvm::Align LocalWords::Align() const {
  return llvm::Align(std::min(64u, granule_ * std::bit_floor(width_)));
}

Status LaneLocals::LoadLocal(const ir::Inst& inst, const Mask& mask) {
  NoteMisaligned(inst, mask, false);
  const unsigned granule = e.memory.local_granule(), bits = static_cast<unsigned>(ir::Bits(inst.type));
  const LocalWords words(e, width_, inst, mask.lanes);
  for (size_t k = 0; k < inst.results.size(); ++k) {
    Value whole = nullptr;
    if (bits / 8 < granule) {
      const LocalWords::Part part = words.PartOf(k);
      whole = b.CreateLShr(words.Load(part.pointer), Vector(part.before));
      whole = b.CreateTrunc(whole, VectorOf(e.I(bits)));
    }
    for (unsigned byte = 0; granule <= bits / 8 && byte < bits / 8; byte += granule) {
      Value part = words.Load(words.Pointer(k * bits / 8 + byte));
      part = b.CreateZExt(part, VectorOf(e.I(bits)));
      whole = whole == nullptr ? part : b.CreateOr(whole, b.CreateShl(part, Literal(part, 8 * byte)));
    }
    e.values.SetShaped(inst.results[k],
                       {b.CreateBitCast(whole, VectorOf(e.m.TypeOf(inst.type))), nullptr, nullptr});
  }
  return {};
}

// Elements that are less than a word: those of one word together where the word's beginning is known.
void LaneLocals::StorePartsOfWords(const ir::Inst& inst, const Mask& mask) {
  const unsigned granule = e.memory.local_granule(), bits = static_cast<unsigned>(ir::Bits(inst.type));
  const size_t count = inst.operands.size() - 1;
  const size_t together = AlignOfLocal(inst) >= granule ? std::min<size_t>(8 * granule / bits, count) : 1;
  const LocalWords words(e, width_, inst, mask.lanes);
  llvm::Type* word = VectorOf(e.I(8 * granule));
  for (size_t begin = 0; begin < count; begin += together) {
    const LocalWords::Part first = words.PartOf(begin);
    Value parts = nullptr;
    for (size_t k = 0; k < together; ++k) {
      Value element =
          b.CreateBitCast(Vector(e.values.Get(inst.operands[begin + k + 1])), VectorOf(e.I(bits)));
      element = b.CreateShl(b.CreateZExt(element, word), llvm::ConstantInt::get(word, k * bits));
      parts = parts == nullptr ? element : b.CreateOr(parts, element);
    }
    const bool is_whole = together * bits == 8 * granule;
    Value old = is_whole ? nullptr : words.Load(first.pointer);
    if (!is_whole) {
      Value before = Vector(first.before), ones = Literal(parts, (uint64_t{1} << (together * bits)) - 1);
      parts =
          b.CreateOr(b.CreateShl(parts, before), b.CreateAnd(old, b.CreateNot(b.CreateShl(ones, before))));
    }
    words.Store(parts, first.pointer, old);
  }
}

Status LaneLocals::StoreLocal(const ir::Inst& inst, const Mask& mask) {
  NoteMisaligned(inst, mask, false);
  const unsigned granule = e.memory.local_granule(), bits = static_cast<unsigned>(ir::Bits(inst.type));
  if (bits / 8 < granule) return StorePartsOfWords(inst, mask), Status{};
  const LocalWords words(e, width_, inst, mask.lanes);
  llvm::Type* word = VectorOf(e.I(8 * granule));
  for (size_t k = 0; k + 1 < inst.operands.size(); ++k) {
    Value whole = b.CreateBitCast(Vector(e.values.Get(inst.operands[k + 1])), VectorOf(e.I(bits)));
    for (unsigned byte = 0; byte < bits / 8; byte += granule) {
      Value part = b.CreateTrunc(b.CreateLShr(whole, Literal(whole, 8 * byte)), word);
      words.Store(part, words.Pointer(k * bits / 8 + byte), nullptr);
    }
  }
  return {};
}

bool LocalsMayLiveOnStack(const FunctionEmitter& e) {
  if (e.f.local_bytes == 0 || e.f.local_bytes > kMaxLocalBytes) return false;
  for (uint32_t index : e.m.layout.functions) {
    if (DefinitionOf(e.m.ir, e.m.ir.functions[index]) != nullptr) return false;
  }
  // Checked code continues after an access beyond them, which must not reach what else is on the stack.
  const bool others = std::ranges::any_of(e.f.insts, [](const ir::Inst& inst) {
    return inst.block.valid() && (inst.op == Opcode::kCallIndirect || inst.op == Opcode::kCheckAccess);
  });
  return !others && analysis::LocalsAreOfOneRegion(e.f);
}

}  // namespace ptx2cpu::lowering
