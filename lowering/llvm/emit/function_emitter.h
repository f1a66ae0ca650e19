// One function under emission, as the emission function of an opcode sees it.
//
// The parts have a responsibility each: the LLVM function (body), the values in their shapes (values), the
// blocks of the region (blocks), pointers and plain accesses (memory), known alignment (alignment). The step
// defines the lanes that code is emitted for. At block level a value that differs between threads is not
// emitted where it is defined: its consumer (an agreement, a reduction, a slot store) loops over the warps
// and emits it there. The function of each opcode is written for any width: constants and types take the
// shape of the operands. State changes through scopes (CurrentStep, ValueMap, Alignment).
#pragma once

#include <map>
#include <string>

#include "analysis/lanes/early_exits.h"
#include "analysis/lanes/lane_words.h"
#include "analysis/lanes/slots_of_turn.h"
#include "analysis/lanes/streaming_stores.h"
#include "lowering/llvm/emit/alignment_notes.h"
#include "lowering/llvm/emit/deferred_atomics.h"
#include "lowering/llvm/emit/function_body.h"
#include "lowering/llvm/emit/lone_atomics.h"
#include "lowering/llvm/emit/matrix_arrays.h"
#include "lowering/llvm/emit/matrix_slots.h"
#include "lowering/llvm/emit/matrix_tiles.h"
#include "lowering/llvm/emit/memory_access.h"
#include "lowering/llvm/emit/region_blocks.h"
#include "lowering/llvm/emit/shapes.h"
#include "lowering/llvm/emit/value_map.h"

namespace ptx2cpu::lowering {

struct FunctionEmitter {
  FunctionEmitter(ModuleEmitter& m, const ir::Function& f, llvm::Function* function, bool one_dimensional);
  Status EmitInst(const ir::Inst& inst);

  llvm::Type* I(unsigned bits) { return b.getIntNTy(bits); }
  ir::Type TypeOf(ir::ValueId id) const { return f.type_of(id); }

  ModuleEmitter& m;
  const ir::Function& f;
  const bool private_shared;   // as in lane_region.h
  const bool one_dimensional;  // tid.x is the thread's number
  const analysis::EarlyExits exits;
  const analysis::SlotsOfTurn slots_of_turn;
  const std::vector<bool> streaming_stores;
  const std::vector<bool> numbers;  // analysis/lanes/numbers.h, and what only minima and maxima read
  const std::vector<bool> only_compared;
  const std::vector<int16_t> exponents;  // analysis/lanes/exponents.h
  const std::vector<int16_t> units;      // of values: analysis/lanes/exponents.h
  analysis::LaneWords lane_words;
  unsigned permutations = 0;                      // that shuffles have become
  bool lanes_missing;                             // where code is emitted, lanes may have exited
  bool lanes_apart = false;                       // or run one by one until each suspends
  std::map<llvm::Value*, llvm::Value*> lanes_of;  // of LanesOf, by the warp's number
  std::map<uint64_t, uint32_t> rows_read = {};  // by parameter: the region that reads the block's rows first
  FunctionBody body;
  llvm::IRBuilder<>& b;
  CurrentStep step;
  ValueMap values;
  RegionBlocks blocks;
  MemoryAccess memory;
  MatrixArrays matrices;
  MatrixSlots matrix_slots;
  MatrixTiles matrix_tiles;
  Alignment alignment;
  DeferredAtomics deferred;
  LoneAtomics lone;
};

// One instruction about to be emitted.
struct Site {
  FunctionEmitter& e;
  llvm::IRBuilder<>& b;
  const ir::Inst& inst;

  // Operand in the site's shape: a vector when any operand is one.
  llvm::Value* Operand(size_t number) const;
  llvm::Value* Raw(size_t number) const;  // in its own shape: a scalar when uniform
  void Return(llvm::Value* value, size_t number = 0) const;
  bool Has(ir::Flag flag) const { return (inst.attrs.flags & flag) != 0; }
  unsigned Width() const { return static_cast<unsigned>(ir::Bits(inst.type)); }
  bool IsVector() const;  // any operand is a vector
  std::unexpected<Error> Unsupported(std::string message) const;
  std::unexpected<Error> Broken(std::string message) const;  // the function breaks the law of its phase
};

using EmitFunction = Status (*)(Site& site);
// One function per row; a row without one is a link error.
#define OP(name, ...) Status Emit##name(Site& site);
#include "ir/opcodes.def"
#undef OP

}  // namespace ptx2cpu::lowering
