#include "lowering/llvm/emit/alignment_notes.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "analysis/lanes/block_order.h"
#include "lowering/llvm/emit/function_emitter.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using Root = Residue::Root;

std::vector<AlignedOperand> AlignedOperandsOf(const ir::Function& f, const ir::Inst& inst) {
  if (inst.op == Opcode::kCopyAsync) {
    const ir::Value& bytes = f.at_value(inst.operands[2]);
    if (!bytes.def.valid() || f.at_inst(bytes.def).op != Opcode::kConst) return {};
    const uint64_t align = f.at_inst(bytes.def).attrs.bits & 0xffffffff;
    return {{0, align}, {1, align}};
  }
  const bool is_load = inst.op == Opcode::kLoad;
  if ((!is_load && inst.op != Opcode::kStore) || inst.attrs.space == ir::Space::kParam) return {};
  const size_t count = is_load ? inst.results.size() : inst.operands.size() - 1;
  const uint64_t align =
      inst.attrs.align != 0 ? inst.attrs.align : static_cast<uint64_t>(ir::Bytes(inst.type)) * count;
  if (align < 2) return {};
  return {{0, align}};
}

AlignmentNotes::AlignmentNotes(FunctionEmitter& e, ir::BlockId entry, bool all_enter) : e_(e), b_(e.b) {
  bool calls = false;
  std::vector<Access> accesses = Find(entry, &calls);
  if (accesses.empty()) return;
  Place(entry, calls, accesses);
  Assign(accesses);
  std::vector<llvm::Value*> first(flags_.size(), b_.getFalse());
  auto placed = all_enter ? at_block_.find(entry) : at_block_.end();
  if (placed != at_block_.end()) {
    first[placed->second.flag] = placed->second.misaligned;
    at_block_.erase(placed);
  }
  carries_ = !at_block_.empty() || !own_.empty();
  for (size_t i = 0; i < flags_.size(); ++i) {
    flags_[i].bit = e_.body.Scratch(b_.getInt1Ty(), 1);
    b_.CreateStore(first[i], flags_[i].bit);
  }
}

namespace {
std::vector<ir::BlockId> ReachedFrom(const ir::Function& f, ir::BlockId entry) {
  std::vector<ir::BlockId> found{entry};
  std::vector<bool> seen(f.blocks.size());
  seen[entry.index] = true;
  for (size_t i = 0; i < found.size(); ++i) {
    for (const ir::Edge& edge : f.successors(found[i])) {
      if (!seen[edge.to.index]) found.push_back(edge.to);
      seen[edge.to.index] = true;
    }
  }
  return found;
}
}  // namespace

// The accesses that are not known to be aligned.
std::vector<AlignmentNotes::Access> AlignmentNotes::Find(ir::BlockId entry, bool* calls) {
  std::vector<Access> accesses;
  for (ir::BlockId block : ReachedFrom(e_.f, entry)) {
    for (ir::InstId id : e_.f.at_block(block).insts) {
      const ir::Inst& inst = e_.f.at_inst(id);
      const bool computes =
          inst.op != Opcode::kConst && inst.op != Opcode::kParamBase && !ir::IsTerminator(inst.op);
      if (computes && !(inst.op == Opcode::kLoad && inst.attrs.space == ir::Space::kParam)) ++work_;
      *calls |= inst.op == Opcode::kCall || inst.op == Opcode::kCallIndirect;
      for (const AlignedOperand& aligned : AlignedOperandsOf(e_.f, inst)) {
        const ir::ValueId address = inst.operands[aligned.operand];
        Residue residue = e_.alignment.ResidueOf(address, aligned.align);
        if (residue.IsZero() || e_.alignment.IsAssumed(residue, aligned.align)) continue;
        if (residue.root == Root::kUnvisited) residue = {Root::kValue, ir::Type::kVoid, address.index, 0};
        accesses.push_back({&inst, aligned.operand, aligned.align, residue, block, 0});
      }
    }
  }
  return accesses;
}

// Moves each to the earliest block, and leaves out those that one before them speaks for. In the order of the
// program.
void AlignmentNotes::Place(ir::BlockId entry, bool calls, std::vector<Access>& accesses) const {
  const analysis::BlockOrder order(e_.f, entry);
  std::vector<uint32_t> place(e_.f.blocks.size());
  for (uint32_t i = 0; i < order.blocks().size(); ++i) place[order.blocks()[i].index] = i;
  std::ranges::stable_sort(accesses, {}, [&](const Access& a) { return place[a.block.index]; });
  for (uint32_t i = 0; i < accesses.size(); ++i) {
    Access& access = accesses[i];
    access.order = i;
    // A lane may not come back from a call.
    if (access.residue.root != Root::kValue && !calls) access.block = order.EarliestEquivalent(access.block);
  }
  std::ranges::sort(accesses, {}, [&](const Access& a) { return std::pair(place[a.block.index], a.order); });
  std::vector<Access> needed;
  for (const Access& access : accesses) {
    const bool known = std::ranges::any_of(needed, [&](const Access& earlier) {
      return earlier.residue.root == access.residue.root && earlier.residue.place == access.residue.place &&
             earlier.align >= access.align &&
             (earlier.residue.offset - access.residue.offset) % access.align == 0 &&
             order.Dominates(earlier.block, access.block);
    });
    if (!known) needed.push_back(access);
  }
  std::ranges::sort(needed, {}, &Access::order);
  accesses = std::move(needed);
}

size_t AlignmentNotes::NewFlag() {
  if (flags_.size() < kMaxFlags) flags_.emplace_back();
  return flags_.size() - 1;  // the last one for all further ones
}

void AlignmentNotes::Assign(const std::vector<Access>& accesses) {
  for (const Access& access : accesses) {
    const uint32_t line = access.inst->at.ptx_line;
    if (access.residue.root == Root::kValue) {
      const size_t flag = own_[{access.inst, access.operand}] = NewFlag();
      flags_[flag].causes.push_back({line, nullptr});
      continue;
    }
    llvm::Value* misaligned = e_.alignment.IsMisaligned(access.residue, access.align);
    auto [place, is_new] = at_block_.try_emplace(access.block);
    if (is_new)
      place->second = {NewFlag(), misaligned};
    else
      place->second.misaligned =
          e_.body.AtEntry([&] { return b_.CreateOr(place->second.misaligned, misaligned); });
    flags_[place->second.flag].causes.push_back({line, misaligned});
  }
}

void AlignmentNotes::Add(size_t flag, llvm::Value* misaligned) {
  llvm::Value* bit = flags_[flag].bit;
  b_.CreateStore(b_.CreateOr(b_.CreateLoad(b_.getInt1Ty(), bit), misaligned), bit);
}

void AlignmentNotes::AtBlock(ir::BlockId block) {
  auto found = at_block_.find(block);
  if (found != at_block_.end()) Add(found->second.flag, found->second.misaligned);
}

void AlignmentNotes::Note(const ir::Inst& inst, size_t operand, llvm::Value* is_misaligned) {
  Add(own_.at({&inst, operand}), is_misaligned);
}

// The line of the first access that may have set a bit.
llvm::Value* AlignmentNotes::LineOf(llvm::ArrayRef<llvm::Value*> bits) {
  llvm::Value* line = b_.getInt32(0);
  for (size_t i = flags_.size(); i-- > 0;) {
    const std::vector<Flag::Cause>& causes = flags_[i].causes;
    llvm::Value* here = b_.getInt32(causes.back().line);
    for (size_t k = causes.size() - 1; k-- > 0;) {
      llvm::Value* meant = b_.getInt32(causes[k].line);
      here = causes[k].misaligned == nullptr ? meant : b_.CreateSelect(causes[k].misaligned, meant, here);
    }
    line = b_.CreateSelect(bits[i], here, line);
  }
  return line;
}

void AlignmentNotes::Finish() {
  if (flags_.empty()) return;
  std::vector<llvm::Value*> bits;
  for (const Flag& flag : flags_) bits.push_back(b_.CreateLoad(b_.getInt1Ty(), flag.bit));
  llvm::BasicBlock *bad = e_.body.NewBlock("misaligned"), *good = e_.body.NewBlock("aligned");
  b_.CreateCondBr(b_.CreateOr(bits), bad, good,
                  llvm::MDBuilder(e_.m.context).createBranchWeights(1, 1 << 20));
  b_.SetInsertPoint(bad);
  b_.CreateCall(e_.m.Service("ptx2cpu_fault"),
                {e_.body.Block(), b_.getInt32(PTX2CPU_FAULT_MISALIGNED), b_.getInt32(~0u), LineOf(bits)});
  b_.CreateUnreachable();
  b_.SetInsertPoint(good);
}

// -- of a function --

Residue Alignment::ResidueOf(ir::ValueId address, uint64_t align) {
  if (!residues_) residues_.emplace(e_.m.ir, e_.f, e_.m.layout.shared_offset, e_.m.param_bytes);
  return residues_->Of(address, align);
}

bool Alignment::IsAssumed(const Residue& residue, uint64_t align) {
  if (e_.m.options.alignment != AlignmentChecks::kAssumed || residue.root != Root::kParameter) return false;
  const ParameterAlignment needed{static_cast<uint32_t>(residue.place), static_cast<uint8_t>(residue.offset),
                                  static_cast<uint8_t>(align - 1)};
  if (std::ranges::find(e_.m.layout.alignments, needed) == e_.m.layout.alignments.end())
    e_.m.layout.alignments.push_back(needed);
  return true;
}

llvm::Value* Alignment::IsMisaligned(const Residue& residue, uint64_t align) {
  llvm::IRBuilder<>& b = e_.b;
  if (residue.root == Root::kNone) return b.getInt1(!residue.IsZero());
  llvm::Value* parameter = e_.body.Parameter(residue.place, residue.type);
  return e_.body.AtEntry([&] {
    llvm::Value* low = b.CreateAnd(b.CreateAdd(parameter, Literal(parameter, residue.offset)),
                                   Literal(parameter, align - 1));
    return b.CreateICmpNE(low, Literal(low, 0));
  });
}

Alignment::Region::Region(Alignment& alignment, ir::BlockId entry, bool all_enter) : alignment_(alignment) {
  const AlignmentChecks checks = alignment.e_.m.options.alignment;
  if (checks == AlignmentChecks::kNoted || checks == AlignmentChecks::kAssumed)
    alignment.notes_.emplace(alignment.e_, entry, all_enter);
}

void Alignment::Region::Finish() {
  if (alignment_.notes_) alignment_.notes_->Finish();
  alignment_.notes_.reset();
}

}  // namespace ptx2cpu::lowering
