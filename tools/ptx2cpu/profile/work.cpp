#include "tools/ptx2cpu/profile/work.h"

#include <algorithm>

#include "ir/matrix.h"

namespace ptx2cpu::tool::profile {

namespace {

using ir::Opcode;

bool IsOneOf(Opcode op, std::initializer_list<Opcode> list) {
  return std::ranges::find(list, op) != list.end();
}

bool IsSpecial(Opcode op) {
  return IsOneOf(op, {Opcode::kFDiv, Opcode::kFRcp, Opcode::kFSqrt, Opcode::kFRsqrt, Opcode::kFSin,
                      Opcode::kFCos, Opcode::kFLg2, Opcode::kFEx2, Opcode::kFTanh});
}

// Operations of one result; 0: none that is counted.
double FloatOperations(Opcode op) {
  if (op == Opcode::kFFma) return 2;
  return IsSpecial(op) ||
                 IsOneOf(op, {Opcode::kFAdd, Opcode::kFSub, Opcode::kFMul, Opcode::kFMin, Opcode::kFMax})
             ? 1
             : 0;
}

void AddFloats(Work& work, ir::Type type, double operations) {
  const auto bits = ir::Bits(type);
  (bits == 64 ? work.float64 : bits == 32 ? work.float32 : work.float16) += operations;
}

void AddBytes(Work& work, ir::Space space, double bytes, bool loads) {
  switch (space) {
    case ir::Space::kGeneric:
    case ir::Space::kGlobal:
      (loads ? work.loaded : work.stored) += bytes;
      break;
    case ir::Space::kShared:
    case ir::Space::kSharedCluster:
      work.shared += bytes;
      break;
    case ir::Space::kLocal:
      work.local += bytes;
      break;
    case ir::Space::kConst:
    case ir::Space::kParam:
      work.constant += bytes;
      break;
  }
}

// Asynchronous copies into shared memory, of constant sizes or of unknown ones.
void AddCopy(Work& work, const ir::Function& f, const ir::Inst& inst) {
  const ir::ValueId size =
      inst.op == Opcode::kCopyAsync && inst.operands.size() > 2 ? inst.operands[2] : ir::ValueId{};
  const ir::InstId def = size.valid() ? f.at_value(size).def : ir::InstId{};
  if (!def.valid() || f.at_inst(def).op != Opcode::kConst) {
    ++work.copies_of_unknown_size;
    return;
  }
  const auto bytes = static_cast<double>(f.at_inst(def).attrs.bits);
  work.loaded += bytes;
  work.shared += bytes;
}

// Instructions of matrices, a thirty-second of them for each lane.
void AddMatrix(Work& work, const ir::Inst& inst) {
  constexpr double kLanes = 32, kColumns = 8, kRowBytes = 16;
  if (inst.op == Opcode::kMatrixLoad)
    work.shared += kRowBytes * 8 * static_cast<double>(inst.results.size()) / kLanes;
  if (inst.op == Opcode::kMatrixStore)
    work.shared += kRowBytes * 8 * static_cast<double>(inst.operands.size() - 2) / kLanes;
  if (inst.op != Opcode::kMatrixMultiply) return;
  const ir::matrix::Product product = ir::matrix::DecodeProduct(inst.attrs.index);
  work.matrix += 2.0 * product.rows * kColumns * product.depth / kLanes;
}

void AddMemory(Work& work, const ir::Function& f, const ir::Inst& inst) {
  const auto bytes = static_cast<double>(ir::Bytes(inst.type));
  if (inst.op == Opcode::kLoad)
    AddBytes(work, inst.attrs.space, bytes * static_cast<double>(inst.results.size()), true);
  if (inst.op == Opcode::kStore)
    AddBytes(work, inst.attrs.space, bytes * static_cast<double>(inst.operands.size() - 1), false);
  if (inst.op == Opcode::kAtomic || inst.op == Opcode::kAtomicCas) {
    ++work.atomics;
    AddBytes(work, inst.attrs.space, bytes, true);
    AddBytes(work, inst.attrs.space, bytes, false);
  }
  if (IsOneOf(inst.op, {Opcode::kTexture, Opcode::kSurfaceStore})) ++work.textures;
  if (IsOneOf(inst.op, {Opcode::kCopyAsync, Opcode::kCopyBulk, Opcode::kCopyMulticast, Opcode::kCopyMasked,
                        Opcode::kCopyTensor, Opcode::kCopyTensorMulticast, Opcode::kReduceBulk}))
    AddCopy(work, f, inst);
}

}  // namespace

void Work::Add(const Work& other, double times) {
  float16 += other.float16 * times, float32 += other.float32 * times, float64 += other.float64 * times;
  matrix += other.matrix * times, special += other.special * times, integer += other.integer * times;
  loaded += other.loaded * times, stored += other.stored * times, shared += other.shared * times;
  local += other.local * times, constant += other.constant * times, atomics += other.atomics * times;
  textures += other.textures * times, barriers += other.barriers * times;
  collectives += other.collectives * times, branches += other.branches * times;
  instructions += other.instructions * times;
  copies_of_unknown_size += other.copies_of_unknown_size * times;
}

Work WorkOf(const ir::Function& f, ir::BlockId block) {
  Work work;
  for (const ir::InstId id : f.at_block(block).insts) {
    const ir::Inst& inst = f.at_inst(id);
    const ir::OpcodeInfo& info = ir::Info(inst.op);
    if (info.cost == ir::Cost::kFree) continue;
    ++work.instructions;
    const double operations = FloatOperations(inst.op);
    if (operations != 0) AddFloats(work, inst.type, operations);
    if (IsSpecial(inst.op)) ++work.special;
    if (info.types == ir::TypeSet::kInts && info.effect == ir::Effect::kPure) ++work.integer;
    if (ir::IsBarrier(inst.op)) ++work.barriers;
    if (ir::IsCollective(inst.op)) ++work.collectives;
    if (inst.op == Opcode::kCondBr || inst.op == Opcode::kSwitch) ++work.branches;
    AddMemory(work, f, inst);
    if (ir::IsCollective(inst.op)) AddMatrix(work, inst);
  }
  return work;
}

CountedWork Count(const ir::Module& module, std::span<const uint64_t> counters, double threads) {
  CountedWork counted;
  const lowering::BlockCounters numbers = lowering::CountersOf(module);
  if (numbers.count != counters.size() || counters.empty()) return counted;
  const auto entered = [&](size_t function, uint32_t block) {
    const uint32_t counter = numbers.of_block[function][block];
    return counter == lowering::BlockCounters::kNone ? 0.0 : static_cast<double>(counters[counter]);
  };
  counted.counted_threads = entered(0, module.functions[0].entry.index);
  if (counted.counted_threads == 0) return counted;
  const double scale = threads / counted.counted_threads;
  for (size_t n = 0; n < module.functions.size(); ++n) {
    const ir::Function& f = module.functions[n];
    if (f.is_declaration) continue;
    for (uint32_t b = 0; b < f.blocks.size(); ++b) {
      const double entries = entered(n, b) * scale;
      if (n == 0) counted.entries.push_back(entries);
      if (entries == 0) continue;
      counted.total.Add(WorkOf(f, {b}), entries);
      for (const ir::InstId id : f.blocks[b].insts) {
        const uint32_t line = f.at_inst(id).at.ptx_line;
        if (line != 0) counted.entries_by_line[line] = std::max(counted.entries_by_line[line], entries);
      }
    }
  }
  return counted;
}

}  // namespace ptx2cpu::tool::profile
