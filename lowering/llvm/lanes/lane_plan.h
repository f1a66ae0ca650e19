// Decides whether a region of lanes is emitted as vectors, their width, and the form of its instructions.
#pragma once

#include <optional>

#include "analysis/lanes/lane_patterns.h"
#include "analysis/lanes/lane_region.h"
#include "analysis/lanes/row_quotients.h"
#include "lowering/llvm/emit/function_emitter.h"

namespace ptx2cpu::lowering {

using analysis::EdgeRef;
using analysis::LaneRegion;
using analysis::LaneRegionOptions;
using LaneShape = analysis::ThreadShape;

// The shape of a value for the lanes of the region.
LaneShape ShapeIn(const FunctionEmitter& e, const LaneRegion& region, ir::ValueId value);

// A region and the number of lanes that a vector of it holds.
struct LanePlan {
  LaneRegion region;
  unsigned width = 1;
  // Steps of which some lanes are missing are vectors under masks; else their lanes run one by one.
  bool masks_steps = false;
  // Its width is that of WideWidthOf.
  bool is_wide = false;
  // Its steps stay within a row of the data: all lanes have one quotient.
  std::optional<analysis::RowQuotients> quotients{};
};
// The plan for the lanes of a warp, or for rows of a flat kernel's threads. Nothing: they are a loop.
std::optional<LanePlan> PlanLanes(const FunctionEmitter& e, ir::BlockId entry);
std::optional<LanePlan> PlanRows(const FunctionEmitter& e, ir::BlockId entry);
// The plan for rows where a loop goes over more threads in each trip than vectors otherwise hold.
std::optional<LanePlan> PlanWideRows(const FunctionEmitter& e, ir::BlockId entry);

// The plan for rows that are divided where a row of the data ends (kernel/quotient_rows.cpp).
std::optional<LanePlan> PlanQuotientRows(const FunctionEmitter& e, ir::BlockId entry);

// The code that a row's threads run, also where they run it one by one, with shapes from the row's first
// thread to its last one: `tid.x & 31` is not a sequence there. Nothing: a loop has two entries.
std::optional<LaneRegion> RegionOfRow(const FunctionEmitter& e, ir::BlockId entry);

// The form of an instruction of the region. All decisions about memory are made here.
enum class LaneForm : uint8_t {
  kUniform,        // once: a load's value is broadcast, of a store the last lane's value remains
  kVector,         // one vector operation; an access of consecutive elements; one atomic for all lanes
  kUniformIfSeen,  // a load: the same where all lanes' addresses turn out to be one, or two of which each has
                   // a row
  kVectorIfSeen,   // the same where the addresses turn out to be consecutive at run time
  kStrided,        // elements with gaps between them, or downward: a run of memory that a shuffle divides
  kInGroups,       // a few accesses, each of some lanes' elements, where that is seen at run time
  kGather,         // an access of each lane's own address
  kEachLane,       // lane by lane
};
// Operations that are done once for all lanes that reach them, whatever their operands.
constexpr bool IsOnceForAll(ir::Opcode op) {
  return op == ir::Opcode::kFence || op == ir::Opcode::kNanosleep;
}
// The number of elements from one lane to the next of a kStrided access; neither 0 nor the number of elements
// of one lane.
int64_t ElementsApart(const LaneShape& address, const ir::Inst& access);
// For a load or store: the number of elements that each lane accesses, and their alignment.
size_t ElementCount(const ir::Inst& access);
llvm::Align AlignOf(const ir::Inst& access, size_t element);
// Machines gather words. Returns the bits of the aligned word that holds the elements of a load with fewer
// than 32 bits each; 0: there is none.
unsigned BitsOfGatheredWord(const ir::Inst& load);
// Whether machines gather what a load reads.
bool IsGathered(const ir::Inst& load);
// Whether what a lane stores at its own address is one or more whole accesses of 16 bytes.
bool IsWholeRows(const ir::Inst& store);
// Lane by lane: whether finding the next lane takes longer than the lane's work.
bool IsShortTurn(const FunctionEmitter& e, const ir::Inst& inst);
// The groups of a kInGroups access.
std::optional<analysis::LaneGroups> GroupsOfAccess(const LaneRegion& region, const ir::Inst& access);
LaneForm FormOf(const FunctionEmitter& e, const LaneRegion& region, const ir::Inst& inst);

}  // namespace ptx2cpu::lowering
