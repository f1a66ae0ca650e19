// Operations that are the same for both halves of a word, as one of vectors of twice as many lanes.
#pragma once

#include <map>
#include <set>

#include "analysis/lanes/half_pairs.h"
#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class LaneHalves : LanePart {
 public:
  using LanePart::LanePart;
  void Begin(ir::BlockId block);
  // Whether the instruction was emitted: with its other half, or the word that both become.
  Result<bool> EmitJoined(const ir::Inst& inst);

 private:
  bool IsOneForAll(const ir::Inst& inst) const;
  Status EmitPair(const analysis::HalfPair& pair);
  bool EmitWord(const ir::Inst& pack);
  llvm::Value* JoinedOf(ir::ValueId low, ir::ValueId high);
  llvm::Value* WordsAsHalves(llvm::Value* words);
  void SetParts(const analysis::HalfPair& pair, llvm::Value* joined);

  ir::BlockId block_ = {};
  std::map<const ir::Inst*, analysis::HalfPair> pairs_ = {};  // by each of the two
  std::set<const ir::Inst*> done_ = {};
  std::map<uint32_t, std::pair<ir::ValueId, llvm::Value*>> joined_ = {};  // by the low result: the high one
};

}  // namespace ptx2cpu::lowering
