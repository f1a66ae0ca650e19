#include "lowering/llvm/emit/matrix_arrays.h"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <array>

#include "ir/matrix.h"
#include "lowering/llvm/emit/function_emitter.h"
#include "runtime/abi/matrix.h"

namespace ptx2cpu::lowering {

using ir::ValueId;
using Value = llvm::Value*;

namespace {
const llvm::Align kAlign(64);

// The fragments among the operands of a product: A, B and C.
std::array<std::span<const ValueId>, 3> FragmentsOf(const ir::Inst& inst) {
  const ir::matrix::Product p = ir::matrix::DecodeProduct(inst.attrs.index);
  const std::span<const ValueId> all(inst.operands);
  const size_t a = p.registers_of_a(), b = p.registers_of_b();
  return {all.first(a), all.subspan(a, b), all.subspan(a + b, p.registers_of_c())};
}
}  // namespace

void MatrixArrays::Begin(ir::BlockId block) {
  if (run_of_.empty()) FindRuns();
  // Code that resumes may enter a run in the middle.
  const bool continues = last_.valid() && next_[last_.index] == block;
  last_ = block;
  if (continues) return;
  places_.clear();
  released_.clear();
  free_.clear();
  for (const auto& array : arrays_) {
    array->uses = 0;
    array->prepared.clear();
    Free(*array);
  }
  CountUses(block);
}

// Blocks that are the only way to the next and back, which the order of emission has side by side.
void MatrixArrays::FindRuns() {
  std::vector<uint32_t> ways(e_.f.blocks.size());
  for (const ir::Inst& inst : e_.f.insts) {
    if (!inst.block.valid()) continue;
    for (const ir::Edge& edge : inst.edges) ++ways[edge.to.index];
  }
  next_.resize(ways.size());
  std::vector<bool> continues(ways.size());
  for (uint32_t n = 0; n < ways.size(); ++n) {
    const ir::BlockId block{n};
    if (e_.f.at_block(block).removed || e_.f.at_block(block).insts.empty()) continue;
    const std::span<const ir::Edge> edges = EdgesOfLevel(e_.f.terminator(block));
    if (edges.size() != 1 || ways[edges[0].to.index] != 1 || edges[0].to == e_.f.entry) continue;
    next_[n] = edges[0].to;
    continues[edges[0].to.index] = true;
  }
  run_of_.resize(ways.size());
  for (uint32_t n = 0; n < ways.size(); ++n) {
    if (continues[n]) continue;
    for (ir::BlockId block{n}; block.valid(); block = next_[block.index])
      run_of_[block.index] = ir::BlockId{n};
  }
}

void MatrixArrays::CountUses(ir::BlockId first) {
  uses_.clear();
  for (ir::BlockId block = first; block.valid(); block = next_[block.index]) {
    for (ir::InstId id : e_.f.at_block(block).insts) {
      const ir::Inst& inst = e_.f.at_inst(id);
      if (inst.op != ir::Opcode::kMatrixMultiply) continue;
      for (std::span<const ValueId> fragment : FragmentsOf(inst)) {
        for (ValueId value : fragment) ++uses_[value.index];
      }
    }
  }
}

void MatrixArrays::FindReaders() {
  is_read_.resize(e_.f.values.size());
  auto read = [&](ValueId value) { is_read_[value.index] = true; };
  for (const ir::Inst& inst : e_.f.insts) {
    if (!inst.block.valid()) continue;
    size_t first = 0;
    if (inst.op == ir::Opcode::kMatrixMultiply) {
      for (std::span<const ValueId> fragment : FragmentsOf(inst)) {
        for (ValueId value : fragment) {
          const ir::BlockId block = e_.f.at_value(value).block;
          if (!block.valid() || run_of_[block.index] != run_of_[inst.block.index]) read(value);
        }
        first += fragment.size();
      }
    }
    for (size_t n = first; n < inst.operands.size(); ++n) read(inst.operands[n]);
    for (const ir::Edge& edge : inst.edges) {
      for (ValueId arg : edge.args) read(arg);
    }
  }
}

void MatrixArrays::Free(Array& array) {
  free_.emplace(std::pair(array.element, array.registers), &array);
  FreePrepared(array);
}

void MatrixArrays::FreePrepared(Array& array) {
  for (const Array::Derived& derived : array.prepared) Free(*derived.array);
  array.prepared.clear();
}

MatrixArrays::Array& MatrixArrays::Take(llvm::Type* element, size_t registers) {
  const auto known = free_.find({element, registers});
  if (known != free_.end()) {
    Array* array = known->second;
    free_.erase(known);
    return *array;
  }
  arrays_.push_back(std::make_unique<Array>(
      Array{e_.body.Scratch(element, static_cast<unsigned>(registers * kWarpSize)), element, registers}));
  return *arrays_.back();
}

void MatrixArrays::Put(ValueId value, Array& array, size_t number) {
  const auto uses = uses_.find(value.index);
  const uint32_t count = uses == uses_.end() ? 0 : uses->second;
  const auto before = places_.find(value.index);
  array.uses += count;
  if (before != places_.end() && count != 0) {
    Array& old = *before->second.array;
    old.uses -= count;
    if (old.uses == 0) released_.push_back(&old);
  }
  places_.insert_or_assign(value.index, Place{&array, number});
}

Value MatrixArrays::Pointer(const Array& array, size_t number) {
  llvm::Type* lanes = llvm::FixedVectorType::get(array.element, kWarpSize);
  return number == 0 ? array.memory : e_.b.CreateConstInBoundsGEP1_64(lanes, array.memory, number);
}

// Also of a value of which only the array exists.
Value MatrixArrays::Vector(ValueId value) {
  const auto place = places_.find(value.index);
  if (place == places_.end() || is_read_[value.index])
    return Broadcast(e_.b, e_.values.Get(value), kWarpSize);
  const auto& [array, number] = place->second;
  return e_.b.CreateAlignedLoad(llvm::FixedVectorType::get(array->element, kWarpSize),
                                Pointer(*array, number), kAlign);
}

MatrixArrays::Fragment MatrixArrays::Of(std::span<const ValueId> values, Value kept) {
  if (is_read_.empty()) FindReaders();
  auto* constant = llvm::dyn_cast_or_null<llvm::Constant>(kept);
  const bool keeps = kept != nullptr && (constant == nullptr || !constant->isAllOnesValue());
  const auto first = places_.find(values[0].index);
  if (first != places_.end() && (!keeps || first->second.array->is_kept)) {
    const auto [array, begin] = first->second;
    size_t n = 1;
    for (; n < values.size(); ++n) {
      const auto place = places_.find(values[n].index);
      if (place == places_.end() || place->second.array != array || place->second.number != begin + n) break;
    }
    if (n == values.size()) return {Pointer(*array, begin), array, begin};
  }
  Array& array = Take(e_.m.MemoryTypeOf(e_.f.type_of(values[0])), values.size());
  array.is_kept = kept != nullptr;
  std::vector<Value> vectors;
  for (ValueId value : values) vectors.push_back(Vector(value));
  for (size_t n = 0; n < values.size(); ++n) {
    Value vector = vectors[n];
    if (keeps) vector = e_.b.CreateSelect(kept, vector, llvm::Constant::getNullValue(vector->getType()));
    e_.b.CreateAlignedStore(vector, Pointer(array, n), kAlign);
    Put(values[n], array, n);
  }
  return {array.memory, &array, 0};
}

Value MatrixArrays::Prepared(const Fragment& fragment, llvm::Function* prepare, uint32_t form) {
  std::vector<Array::Derived>& known = fragment.array->prepared;
  const auto same = std::ranges::find_if(known, [&](const Array::Derived& derived) {
    return derived.begin == fragment.begin && derived.prepare == prepare && derived.form == form;
  });
  if (same != known.end()) return same->array->memory;
  constexpr size_t kRegisterBytes = sizeof(uint32_t) * kWarpSize;
  static_assert(PTX2CPU_MATRIX_PREPARED_BYTES % kRegisterBytes == 0);
  Array& array = Take(e_.I(32), PTX2CPU_MATRIX_PREPARED_BYTES / kRegisterBytes);
  e_.b.CreateCall(prepare, {array.memory, fragment.pointer, e_.b.getInt32(form)});
  known.push_back({fragment.begin, prepare, form, &array});
  return array.memory;
}

void MatrixArrays::Used(std::span<const ValueId> values) {
  for (ValueId value : values) {
    --uses_[value.index];
    Array& array = *places_.at(value.index).array;
    if (--array.uses == 0) released_.push_back(&array);
  }
}

Value MatrixArrays::Room(std::span<const ValueId> results, Value accumulator) {
  if (is_read_.empty()) FindReaders();
  const auto same = std::ranges::find_if(released_, [&](const Array* one) {
    return one->memory == accumulator && one->registers == results.size();
  });
  Array* array = nullptr;
  if (same != released_.end()) {
    array = *same;
    released_.erase(same);
    FreePrepared(*array);
  } else {
    array = &Take(e_.m.MemoryTypeOf(e_.f.type_of(results[0])), results.size());
  }
  for (size_t n = 0; n < results.size(); ++n) Put(results[n], *array, n);
  return array->memory;
}

void MatrixArrays::Filled(std::span<const ValueId> results, bool lanes_are_kept) {
  Array& array = *places_.at(results[0].index).array;
  array.is_kept = lanes_are_kept;
  llvm::Type* type = llvm::FixedVectorType::get(array.element, kWarpSize);
  for (size_t n = 0; n < results.size(); ++n) {
    if (!is_read_[results[n].index]) continue;
    e_.values.Set(results[n], e_.b.CreateAlignedLoad(type, Pointer(array, n), kAlign));
  }
  FreeReleased();
  if (array.uses == 0) Free(array);
}

void MatrixArrays::FreeReleased() {
  for (Array* released : released_) Free(*released);
  released_.clear();
}

}  // namespace ptx2cpu::lowering
