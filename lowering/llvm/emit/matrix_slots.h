// Accumulators that stay in the slots of their lanes: a block of the IR loads them from slots, adds products
// to them, and stores the sums to the same slots. The products then work on the slots, whose registers are
// equally far apart (MemoryAccess::SlotRow), and neither the load nor the store has code.
//
//   %0, %1 = slot_load #4, #5;  %2, %3 = matrix_multiply ... %0, %1;  slot_store #4 %2, #5 %3
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/function.h"

namespace llvm {
class Value;
}

namespace ptx2cpu::lowering {

struct FunctionEmitter;

class MatrixSlots {
 public:
  explicit MatrixSlots(FunctionEmitter& e) : e_(e) {}
  // Finds the chains of this block, which is of warp level.
  void Begin(ir::BlockId block);

  // The slot of the first register of the sums, if they stay in slots.
  std::optional<uint32_t> SlotOf(const ir::Inst& product) const;
  // Whether the store writes a value that is in its slot already.
  bool IsInPlace(const ir::Inst& store) const { return stores_.contains(&store); }

  // Whether the next product, of the same form and other sums, follows with nothing but loads and stores of
  // slots in between: then one function computes both.
  bool IsFollowed(const ir::Inst& product) const { return followed_.contains(&product); }
  static constexpr size_t kMaxTogether = 32;
  struct Product {
    llvm::Value *sums, *a, *b;
  };
  std::vector<Product> waiting;  // for the last one of those that follow each other
  llvm::Value* Room();           // for kMaxTogether products

  // Products of which each adds to the sums of the one before.
  struct Chain {
    std::vector<const ir::Inst*> products, stores;
    std::vector<uint32_t> slots;
  };
  // The chains of the block, in the order of their first products.
  const std::vector<Chain>& chains() const { return chains_; }

 private:
  struct User {
    const ir::Inst* inst;
    size_t operand;
  };

  void FindFollowed(ir::BlockId block);
  void CountReads();
  void FindUsers(ir::BlockId block);
  std::optional<Chain> ChainFrom(const ir::Inst& product) const;
  std::optional<uint32_t> SlotOfLoad(ir::ValueId value, ir::BlockId block) const;
  const User* OnlyUser(ir::ValueId value) const;

  FunctionEmitter& e_;
  std::vector<uint32_t> reads_;                          // by value: operands and edges of the function
  std::unordered_map<uint32_t, User> users_;             // by value: the last one of the block
  std::vector<uint32_t> loads_, stores_of_;              // by slot: of the block
  std::unordered_map<const ir::Inst*, uint32_t> slots_;  // by product: the first slot
  std::unordered_set<const ir::Inst*> stores_, followed_;
  std::vector<Chain> chains_;
  llvm::Value* room_ = nullptr;
};

}  // namespace ptx2cpu::lowering
