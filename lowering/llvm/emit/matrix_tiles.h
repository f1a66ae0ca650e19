// Chains of products of bytes whose accumulators stay in slots (matrix_slots.h), by tiles
// (runtime/warp/matrix_tiles.cpp), where the target has them.
//
// The products of several chains are computed together, at the last one of them: until then only these chains
// access their slots. Chains that have A in common are a row of tiles; two of a row are side by side in a
// tile, and rows in which the same two fragments B are side by side are one call.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/function.h"
#include "lowering/llvm/emit/matrix_slots.h"

namespace ptx2cpu::lowering {

struct FunctionEmitter;
struct Site;

class MatrixTiles {
 public:
  explicit MatrixTiles(FunctionEmitter& e) : e_(e) {}
  // Finds the groups of this block, after MatrixSlots.
  void Begin(ir::BlockId block);
  // After all code of the function.
  void End();

  // Consecutive products of several chains, at the same places in each. All have one form and one mask.
  struct Group {
    struct Part {
      std::vector<const ir::Inst*> products;
      uint32_t slot;
    };
    std::vector<Part> parts;
    const ir::Inst* last;
  };
  // The group that computes this product; null: none does.
  const Group* GroupOf(const ir::Inst& product) const;
  // Emits the group at its last product.
  Status Emit(Site& s, const Group& group);

 private:
  // Fragments one after the other.
  using Line = std::vector<ir::ValueId>;
  struct Row {
    llvm::Value *a, *first, *second;
  };
  struct Call {
    llvm::Value* b;
    std::vector<Row> rows;
  };

  void Divide(const std::vector<const MatrixSlots::Chain*>& chains, uint32_t depth);
  llvm::Value* HasTiles();
  // Room for so many tiles, for the rest of the group's code.
  llvm::Value* Room(size_t count);
  llvm::Value* TilesOfA(Site& s, const Group::Part& part, llvm::Value* is_member);
  llvm::Value* TilesOfB(Site& s, const Group::Part& first, const Group::Part* second, llvm::Value* is_member);
  std::vector<Call> Prepare(Site& s, const Group& group, llvm::Value* is_member);
  llvm::Value* PlaceOf(const Group::Part& part);

  FunctionEmitter& e_;
  std::vector<Group> groups_;                                 // of the block
  std::unordered_map<const ir::Inst*, size_t> group_of_;      // by product
  std::multimap<size_t, llvm::AllocaInst*> free_, in_use_;    // by the number of tiles
  std::map<std::pair<Line, Line>, llvm::Value*> tiles_of_b_;  // of the group
  std::map<Line, llvm::Value*> tiles_of_a_;
  llvm::Value* has_tiles_ = nullptr;
};

}  // namespace ptx2cpu::lowering
