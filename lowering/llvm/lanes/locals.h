// Local variables of lanes that run at once: word after word, each of all lanes, so that a word with one
// offset in all lanes is one vector, and offsets that are constants leave values after LLVM's promotion.
#pragma once

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

// If only one region uses them, a thread's locals are dead after its iteration; on the stack LLVM can promote
// them. Not when it calls functions: they reach its locals by offsets from this thread's window.
bool LocalsMayLiveOnStack(const FunctionEmitter& e);

// The bytes of such a word. 0: some access needs a thread's locals in one piece.
unsigned LocalGranule(const FunctionEmitter& e);

// An access of such words by vectors of `width` lanes.
class LocalWords {
 public:
  // `lanes`: those that take part. Where machines gather without masks, others read their first word.
  LocalWords(FunctionEmitter& e, unsigned width, const ir::Inst& inst, llvm::Value* lanes);
  // The place of an element that is less than a word: the word, and the number of bits before the element.
  struct Part {
    llvm::Value *pointer, *before;
  };
  Part PartOf(size_t element) const;
  // Pointers to the word that begins `byte` bytes after the access's: one, to the words of all lanes, or one
  // for each lane.
  llvm::Value* Pointer(uint64_t byte) const { return Pointer(offset_, byte); }
  llvm::Value* Load(llvm::Value* pointer) const;
  // `old`: what Load gave, or null.
  void Store(llvm::Value* value, llvm::Value* pointer, llvm::Value* old) const;

 private:
  llvm::Value* Pointer(llvm::Value* offset, uint64_t byte) const;
  llvm::Align Align() const;
  FunctionEmitter& e_;
  const ir::Inst& inst_;
  const unsigned width_, granule_;
  llvm::FixedVectorType* word_;
  llvm::Value *offset_, *lanes_, *readable_;
};

class LaneLocals : LanePart {
 public:
  using LanePart::LanePart;
  Status LoadLocal(const ir::Inst& inst, const Mask& mask);
  Status StoreLocal(const ir::Inst& inst, const Mask& mask);

 private:
  void StorePartsOfWords(const ir::Inst& inst, const Mask& mask);
};

}  // namespace ptx2cpu::lowering
