// Finds the number, known at run time only, that decides how far apart the threads of a region access memory.
#pragma once

#include <optional>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::lowering {

struct Distance {
  enum Kind : uint8_t {
    kPower,  // of two: tid & (d - 1), tid ^ d, tid / d, tid % d
    kMask,   // one less: tid & m
  };
  // x & m, x ^ m, x / m or x % m, of a place x, with m of the distance.
  struct Use {
    ir::InstId inst;
    size_t place;  // which of the operands is the place
    uint32_t low;  // of m, the low five bits where the distance is a multiple of 32, or ends in 31
  };
  ir::ValueId value;              // in the region
  std::vector<ir::ValueId> same;  // and all that are the same
  Kind kind = kPower;
  std::vector<Use> uses;
};

// The number that an instruction computes, of constants.
std::optional<uint64_t> ConstantOf(const ir::Function& f, const ir::Inst& inst);

// Examines the code that a region's threads run, in the Collapsed phase.
class DistanceFinder {
 public:
  DistanceFinder(const ir::Function& f, const std::vector<ir::BlockId>& region) : f_(f), region_(region) {}
  // Nothing: no address depends on one.
  std::optional<Distance> Run();

 private:
  bool IsOfBlock(ir::ValueId value, int depth) const;
  bool CountsThreads(ir::ValueId value, int depth) const;
  bool ParameterCountsThreads(const ir::Value& param, int depth) const;
  bool IsStored(uint32_t slot) const;
  bool IsSame(ir::ValueId a, ir::ValueId b) const;
  std::optional<uint64_t> OffsetOfParameter(const ir::Inst& load) const;
  ir::ValueId RootOf(ir::ValueId value) const;
  uint32_t LowBits(ir::ValueId value, ir::ValueId root, uint32_t of_root) const;
  std::optional<size_t> PlaceIn(const ir::Inst& inst) const;
  void FromAddress(ir::ValueId value, int depth);
  bool AddUse(ir::InstId id, Distance& distance) const;

  const ir::Function& f_;
  const std::vector<ir::BlockId>& region_;
  std::vector<ir::InstId> found_;  // that addresses depend on
  std::vector<bool> visited_;      // by value
};

}  // namespace ptx2cpu::lowering
