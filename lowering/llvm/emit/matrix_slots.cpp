#include "lowering/llvm/emit/matrix_slots.h"

#include <algorithm>

#include "ir/matrix.h"
#include "lowering/llvm/emit/function_emitter.h"
#include "lowering/llvm/emit/matrix_functions.h"
#include "runtime/abi/matrix.h"

namespace ptx2cpu::lowering {

using ir::Inst;
using ir::Opcode;
using ir::ValueId;

void MatrixSlots::CountReads() {
  reads_.assign(e_.f.values.size(), 0);
  for (const Inst& inst : e_.f.insts) {
    if (!inst.block.valid()) continue;
    for (ValueId operand : inst.operands) ++reads_[operand.index];
    for (const ir::Edge& edge : inst.edges) {
      for (ValueId arg : edge.args) ++reads_[arg.index];
    }
  }
}

void MatrixSlots::FindUsers(ir::BlockId block) {
  users_.clear();
  loads_.assign(e_.f.slots.size(), 0);
  stores_of_.assign(e_.f.slots.size(), 0);
  for (ir::InstId id : e_.f.at_block(block).insts) {
    const Inst& inst = e_.f.at_inst(id);
    for (size_t n = 0; n < inst.operands.size(); ++n)
      users_.insert_or_assign(inst.operands[n].index, User{&inst, n});
    if (inst.op == Opcode::kSlotLoad) ++loads_[inst.attrs.index];
    if (inst.op == Opcode::kSlotStore) ++stores_of_[inst.attrs.index];
  }
}

void MatrixSlots::Begin(ir::BlockId block) {
  slots_.clear();
  stores_.clear();
  followed_.clear();
  chains_.clear();
  // Stores keep what lanes that wait elsewhere have.
  if (e_.f.parked_slot != ~0u || e_.f.resumes == ir::Resumes::kLanes) return;
  const std::vector<ir::InstId>& insts = e_.f.at_block(block).insts;
  const bool has_products = std::ranges::any_of(
      insts, [&](ir::InstId id) { return e_.f.at_inst(id).op == Opcode::kMatrixMultiply; });
  if (!has_products) return;
  if (reads_.empty()) CountReads();
  FindUsers(block);
  for (ir::InstId id : insts) {
    const Inst& inst = e_.f.at_inst(id);
    if (inst.op != Opcode::kMatrixMultiply || slots_.contains(&inst)) continue;
    auto chain = ChainFrom(inst);
    if (!chain) continue;
    for (const Inst* product : chain->products) slots_.emplace(product, chain->slots.front());
    stores_.insert(chain->stores.begin(), chain->stores.end());
    chains_.push_back(*std::move(chain));
  }
  FindFollowed(block);
}

llvm::Value* MatrixSlots::Room() {
  constexpr unsigned kPointers = sizeof(ptx2cpu_matrix_product) / sizeof(void*);
  if (room_ == nullptr) room_ = e_.body.Scratch(e_.b.getPtrTy(), kMaxTogether * kPointers);
  return room_;
}

void MatrixSlots::FindFollowed(ir::BlockId block) {
  std::unordered_set<uint32_t> taken;  // slots of those that follow each other
  const Inst* last = nullptr;
  for (ir::InstId id : e_.f.at_block(block).insts) {
    const Inst& inst = e_.f.at_inst(id);
    if (inst.op == Opcode::kSlotLoad || inst.op == Opcode::kSlotStore) continue;
    const auto slot = inst.op == Opcode::kMatrixMultiply ? SlotOf(inst) : std::nullopt;
    const bool follows = slot && last != nullptr && last->attrs.index == inst.attrs.index &&
                         taken.size() < kMaxTogether && !taken.contains(*slot);
    if (follows) {
      followed_.insert(last);
    } else {
      taken.clear();
    }
    last = slot ? &inst : nullptr;
    if (slot) taken.insert(*slot);
  }
}

std::optional<uint32_t> MatrixSlots::SlotOf(const Inst& product) const {
  const auto known = slots_.find(&product);
  return known == slots_.end() ? std::nullopt : std::optional(known->second);
}

const MatrixSlots::User* MatrixSlots::OnlyUser(ValueId value) const {
  const auto user = users_.find(value.index);
  return reads_[value.index] == 1 && user != users_.end() ? &user->second : nullptr;
}

// The slot that the value was loaded from in this block, if nothing else there reads or changes the slot
// before the one store to it.
std::optional<uint32_t> MatrixSlots::SlotOfLoad(ValueId value, ir::BlockId block) const {
  const ir::Value& v = e_.f.at_value(value);
  if (v.block != block || !v.def.valid() || OnlyUser(value) == nullptr) return std::nullopt;
  const Inst& load = e_.f.at_inst(v.def);
  if (load.op != Opcode::kSlotLoad) return std::nullopt;
  const uint32_t slot = load.attrs.index;
  if (loads_[slot] != 1 || stores_of_[slot] != 1) return std::nullopt;
  return slot;
}

// From a product whose sums come out of slots to the stores to these.
std::optional<MatrixSlots::Chain> MatrixSlots::ChainFrom(const Inst& product) const {
  Chain chain;
  const ir::matrix::Product form = ir::matrix::DecodeProduct(product.attrs.index);
  if (!IsPrepared(FunctionOf(form))) return std::nullopt;
  const size_t first = form.registers_of_a() + form.registers_of_b(), count = product.results.size();
  for (size_t n = 0; n < count; ++n) {
    const auto slot = SlotOfLoad(product.operands[first + n], product.block);
    if (!slot) return std::nullopt;
    const auto row = e_.memory.SlotRow(*slot), before = n == 0 ? row : e_.memory.SlotRow(chain.slots.back());
    if (!row || (n != 0 && (!before || *row != *before + 1))) return std::nullopt;
    chain.slots.push_back(*slot);
  }
  for (const Inst* current = &product;;) {
    chain.products.push_back(current);
    const User* user = OnlyUser(current->results[0]);
    if (user == nullptr) return std::nullopt;
    const Inst* next = user->inst;
    const bool adds = next->op == Opcode::kMatrixMultiply && next->attrs.index == product.attrs.index;
    for (size_t n = 0; n < count; ++n) {
      const User* one = OnlyUser(current->results[n]);
      if (one == nullptr) return std::nullopt;
      const bool fits = adds
                            ? one->inst == next && one->operand == first + n
                            : one->inst->op == Opcode::kSlotStore && one->inst->attrs.index == chain.slots[n];
      if (!fits) return std::nullopt;
      if (!adds) chain.stores.push_back(one->inst);
    }
    if (!adds) return chain;
    current = next;
  }
}

}  // namespace ptx2cpu::lowering
