// Several elements of each lane side by side in memory: how a vector of all is divided into those of one
// number, and made of them.
#pragma once

#include <map>
#include <vector>

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

// Vectors one after the other, a power of two of them, as one.
llvm::Value* Concatenate(llvm::IRBuilder<>& b, std::vector<llvm::Value*> parts);

// All lanes' first elements, then all second ones, of up to four, brought into the order of memory.
llvm::Value* InTurn(llvm::IRBuilder<>& b, const std::vector<llvm::Value*>& parts);

class LaneRecords : LanePart {
 public:
  using LanePart::LanePart;
  // Of four words, or eight.
  bool IsRecord(const ir::Inst& access) const;
  void DivideRecords(const ir::Inst& load, llvm::Value* whole);
  llvm::Value* MakeRecords(const ir::Inst& store);

  // packed_elements.cpp: elements of each lane that are one word, or part of one.
  bool IsPacked(const ir::Inst& access) const;
  llvm::Type* PackedType(const ir::Inst& access);
  void Unpack(const ir::Inst& load, llvm::Value* words);
  llvm::Value* Pack(const ir::Inst& store);

  // componentwise.cpp: an element of each lane's record, all of which were loaded at once.
  struct Element {
    llvm::Value* whole;
    unsigned number, count;
  };
  using Elements = std::map<llvm::Value*, Element>;
  void NoteElements(const ir::Inst& load, llvm::Value* whole);
  llvm::Value* InOrderOfMemory(const ir::Inst& store);  // null: its records are not computed as a whole

 private:
  bool IsLongRecord(const ir::Inst& access) const;
  unsigned LanesOfRegister() const;
  void DivideLongRecords(const ir::Inst& load, llvm::Value* whole);
  llvm::Value* MakeLongRecords(const ir::Inst& store);

  Elements elements_ = {};
};

}  // namespace ptx2cpu::lowering
