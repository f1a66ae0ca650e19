// Prefetches: rows of later trips, rows of the next block, and lines that are stored.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "lowering/llvm/lanes/one_by_one.h"

namespace ptx2cpu::lowering {

class LanePrefetch : LanePart {
 public:
  using LanePart::LanePart;
  void PrefetchLaterTrips(const ir::Inst& load, llvm::Value* pointer);
  void PrefetchNextBlock(const ir::Inst& load, llvm::Value* pointer, unsigned length);
  Status PrefetchUpdated(const ir::Inst& inst, const Mask& mask,
                         std::span<const LanesOneByOne::Stored> operands);
  void PrefetchNextTile();                        // next_tile.cpp
  void PrefetchStoreAfter(const ir::Inst& load);  // own_stores.cpp
  // A value that is the same in the whole block, computed here; null: it is not known to be the same.
  llvm::Value* SameEverywhere(ir::ValueId id);

 private:
  using Stored = LanesOneByOne::Stored;
  bool WorksLaneByLane() const;
  llvm::Value* AtBlockLevel(ir::ValueId id, ValueMap::Overrides& values);
  llvm::Value* GoesOn(ir::BlockId head, unsigned trips);
  llvm::Value* BytesOf(ir::ValueId step, int64_t factor, std::span<const ir::ValueId> factors,
                       unsigned trips);
  static constexpr unsigned kFirstCache = 3, kSecondCache = 2;  // LLVM's localities
  void PrefetchLines(llvm::Value* pointer, unsigned length, unsigned locality = kFirstCache,
                     bool to_write = false);
  void PrefetchNextRows(llvm::Value* pointer, const ir::Inst& load, unsigned length);
  llvm::Value* BytesToNextRows(const ir::Inst& load, unsigned length);
  llvm::Value* BytesToNextPage(const ir::Inst& load);
  void PrefetchAhead(llvm::Value* pointer, unsigned length, llvm::Value* bytes);
  // next_tile.cpp
  std::vector<const ir::Inst*> LoadsOfTile() const;
  // own_stores.cpp
  struct StoreAhead {
    const ir::Inst *load = nullptr, *store = nullptr;
    std::optional<ir::ValueId> counter, its_counter;  // of the loops around them
  };
  const ir::Inst* FirstOfRows(const LaneRegion& region, ir::Opcode op) const;
  std::optional<ir::BlockId> LoopAround(const LaneRegion& region, const ir::Inst& access) const;
  void FindStoreAhead();

  std::set<uint64_t> next_trips_;  // arrays of which those were asked for
  bool has_stored_ = false;        // to global memory
  bool has_looked_ahead_ = false;
  StoreAhead store_ahead_;
};

}  // namespace ptx2cpu::lowering
