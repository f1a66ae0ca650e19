// Emission of a lane region for all lanes of a warp at once: a value that differs between lanes is a vector,
// lanes that have diverged execute the code one after the other under masks (Allen et al. 1983; Karrenberg
// and Hack 2011).
//
// clang-format off
//   if (x < n) y = p[x];   ->   m = all & (x < n);  if (any(m)) y' = masked load p + x, m;  y = select(m, y', y)
//   while (x < n) x += s;  ->   m = all; do { ...; left |= m & !(x < n); x_out = select(.., x, x_out); m &= x < n; } while (any(m))
// clang-format on
//
// Code that no lane reaches is skipped where it costs or must not run. Code that all of the level's lanes
// or none reach needs no masks. A sequence base + stride * lane exists twice, as vector and as its first
// lane's value, so that consecutive accesses are one access. What cannot be a vector runs lane by lane.
#pragma once

#include <functional>
#include <map>
#include <span>

#include "lowering/llvm/emit/function_emitter.h"
#include "lowering/llvm/lanes/lane_plan.h"

namespace ptx2cpu::lowering {

class AccessCheck;
class LinearTexture;

// Vectors one after the other, a power of two of them, as one.
llvm::Value* Concatenate(llvm::IRBuilder<>& b, std::vector<llvm::Value*> parts);

// All lanes' first elements, then all second ones, of up to four, brought into the order of memory.
llvm::Value* InTurn(llvm::IRBuilder<>& b, const std::vector<llvm::Value*>& parts);

class LaneVectors {
 public:
  LaneVectors(FunctionEmitter& e, const LanePlan& plan);
  // `live` (<W x i1>): the lanes that enter, at least one; null: all. `mixed`: where a step whose lanes part
  // at the bounds of the data may go, before it has had any effect, to be run otherwise; null: nowhere.
  Status Run(llvm::Value* live, llvm::BasicBlock* mixed = nullptr);
  // Whether steps whose lanes part at a bound would go there, in code that is short enough to exist twice.
  bool PaysToPart() const;

 private:
  struct Mask {
    llvm::Value* lanes = nullptr;  // <W x i1>
    llvm::Value* any = nullptr;    // i1, or null: to be computed
    // What `lanes` is where any lane is active; null: nothing simpler.
    llvm::Value* within = nullptr;

    llvm::Value* active() const { return within != nullptr ? within : lanes; }
  };
  struct Guard {
    llvm::BasicBlock *before = nullptr, *skip = nullptr;
  };

  // -- control flow: lanes.cpp, lane_loops.cpp, whole_trips.cpp --
  Status EmitLevel(uint32_t level, const Mask& all);
  Status EmitBlock(ir::BlockId block, const Mask& mask, bool whole_level);
  Status EmitLoop(const LaneRegion::Item& item, const Mask& mask);
  Status EmitEdges(const ir::Inst& inst, ir::BlockId block, const Mask& mask);
  // What a loop begins with: the lanes that are in it, its head's parameters, and of the lanes that have left
  // it over which exit, with which of its live_out values.
  struct LoopState {
    Mask mask;
    std::vector<ShapedValue> params;
    std::vector<llvm::Value*> left, out;
  };
  struct LoopPhis {
    llvm::PHINode *value = nullptr, *first = nullptr, *holds = nullptr;
    TwoRuns runs{};  // phi nodes but for the lanes, which stay
  };
  LoopState Entering(const LaneRegion::Item& item, const Mask& mask);
  std::vector<LoopPhis> HeadPhis(const LaneRegion::Item& item, const LoopState& state, llvm::BasicBlock* from,
                                 bool by_distance);
  bool GrowsAlike(const LaneRegion::Item& item, size_t number) const;
  void TurnRuns(const TwoRuns& phis, const TwoRuns& turning);
  void Turn(const LaneRegion::Item& item, const std::vector<LoopPhis>& phis);
  Status EmitLoopBody(const LaneRegion::Item& item, const LoopState& state);
  bool NeedsMasksAnyway() const;
  bool PaysToVersion(const LaneRegion::Item& item, const Mask& mask) const;
  bool IsOfVector(ir::InstId access) const;  // to memory that is not the same for all lanes
  bool EndsTrips(uint32_t loop, ir::BlockId block) const;
  bool AllAccess(uint32_t loop) const;
  Status EmitWholeTrips(const LaneRegion::Item& item, const LoopState& state);
  struct Way {
    const LoopState* state;
    llvm::BasicBlock* from;
  };
  LoopState Rest(const std::vector<Way>& ways);
  // The parts of a loop of whole trips: its head, where some lanes have left after a trip, where some would
  // leave in one, the masked loop for those that are left, and what follows.
  struct TripBlocks {
    llvm::BasicBlock *head, *part, *mixed, *rest, *done;
  };
  Status EmitTrip(const LaneRegion::Item& item, const Mask& all, llvm::BasicBlock* mixed, bool bounded);
  LoopState StateAfterTrip(const LaneRegion::Item& item, LoopState state, const std::vector<LoopPhis>& phis);
  // What holds for lanes whose `place`, a sequence, compares so with `limit`, which is the same for all.
  struct Bound {
    ir::ValueId place, limit;
    llvm::CmpInst::Predicate predicate;
  };
  std::optional<Bound> BoundOfTrips(const LaneRegion::Item& item) const;
  std::optional<Bound> BoundOf(ir::ValueId condition, bool holds) const;
  llvm::Value* AllWithin(const Bound& bound);
  std::vector<llvm::BasicBlock*> EmitLeaving(const LaneRegion::Item& item, const TripBlocks& to,
                                             const std::optional<Bound>& bound, LoopState& at_end);
  void JoinTrips(const LaneRegion::Item& item, const TripBlocks& blocks,
                 const std::vector<llvm::BasicBlock*>& all_left, const LoopState& at_end, llvm::Value* none);
  // From the first lane's number of `bits` to the last lane's. Nothing: the sequence is longer than the range
  // of such numbers, so that it wraps around wherever it begins.
  std::optional<int64_t> WayOf(const LaneShape& shape, unsigned bits) const;
  llvm::Value* SequenceFrom(ir::ValueId id, llvm::Value* first);
  void RestoreSequences(const LaneRegion::Item& item, LoopState& state);
  Mask Either(const std::vector<EdgeRef>& edges);
  Mask EdgeMask(const Mask& mask, llvm::Value* condition);
  Mask Empty();
  static bool IsAll(const Mask& mask);
  static constexpr int kMaxDepthOfBound = 4;
  bool IsBound(ir::ValueId condition, int depth) const;
  bool PartsAtBound(const ir::Inst& inst, const Mask& mask) const;
  struct Sides {
    llvm::Value *all, *none;
  };
  std::optional<Sides> SidesOf(ir::ValueId condition, int depth);
  llvm::Value* AllOrNone(ir::ValueId id, llvm::Value* condition);
  llvm::Value* AnyOf(const Mask& mask);
  llvm::Value* AllOf(const Mask& mask);
  llvm::Value* Bits(const Mask& mask);  // an integer of as many bits as there are lanes
  // The number of a lane, found in bits, as i32.
  llvm::Value* AsLane(llvm::Value* number) { return b.CreateZExtOrTrunc(number, b.getInt32Ty()); }
  llvm::Value* NonZero(llvm::Value* bits) { return b.CreateICmpNE(bits, Literal(bits, 0)); }
  Guard Open(const Mask& mask);
  void Close(const Guard& guard, const std::vector<ir::ValueId>& values, const std::vector<EdgeRef>& edges);
  bool NeedsGuard(ir::BlockId block) const;
  void EmitExit(const Mask& mask);
  void EmitFault(const Mask& mask, const ir::Inst& inst, uint32_t kind);

  // -- values --
  const LaneShape& ShapeOf(ir::ValueId value) const { return region_.shapes[value.index]; }
  ShapedValue Merge(const std::vector<EdgeRef>& edges, size_t number, const LaneShape& shape);
  void MergeParams(ir::BlockId block, const std::vector<EdgeRef>& edges, const Mask& mask);
  ir::BlockId OnlyReader(ir::ValueId value) const;  // of its level; else the value's own block
  void MeetIn(ir::BlockId block, const Mask& mask);
  llvm::Value* Vector(llvm::Value* value) { return Broadcast(b, value, width_); }
  llvm::Type* VectorOf(llvm::Type* element) { return llvm::FixedVectorType::get(element, width_); }

  // -- instructions: the other files --
  llvm::Value* KnownLowBits(const ir::Inst& inst) const;
  std::optional<unsigned> OnlyLane(const Mask& mask) const;  // that is active, where it is known and alone
  bool LoadKnown(const ir::Inst& inst, const Mask& mask);    // false: nothing is emitted
  Status EmitOne(const ir::Inst& inst, const Mask& mask, bool whole_level);
  Status EmitPure(const ir::Inst& inst);
  Status EmitScalar(const ir::Inst& inst);  // on first lanes' values
  // A vector's elements in memory, for code that goes from lane to lane.
  struct Stored {
    ir::ValueId id;
    llvm::Value* array;                   // pointer to the first lane's element
    std::vector<const ir::Inst*> remade;  // what a lane computes of its element: narrower than the result
    llvm::Value* element = nullptr;       // the lane's, where it is not loaded from the array
  };
  Stored StoredOf(ir::ValueId id);
  llvm::Value* ElementOf(const Stored& stored, llvm::Value* lane);
  // What a vector was made of in the instruction's block: of one that is narrower, by these instructions.
  ir::ValueId NarrowSource(const ir::Inst& inst, ir::ValueId id, std::vector<const ir::Inst*>& made) const;
  const ir::Inst* RowOf(const ir::Inst& inst, ir::ValueId source) const;
  llvm::Value* RowsHold(const ir::Inst& inst) const;
  Status Remake(const Stored& operand, ValueMap::Overrides& elements);
  // `rows`: elements that were loaded side by side are loaded again.
  std::vector<Stored> StoreOperands(const ir::Inst& inst, bool rows);
  Status AtLane(llvm::Value* lane, std::span<const Stored> operands, const std::function<Status()>& body);
  Status EmitLane(const ir::Inst& inst, llvm::Value* lane, std::span<const Stored> operands,
                  std::span<const Stored> results);
  // A loop over the mask's lanes; over all, four in a trip of the machine's code.
  Status EachOf(const Mask& mask, const std::function<Status(llvm::Value* lane)>& body);
  Status AllLanes(const std::function<Status(llvm::Value* lane)>& body);
  // The same with operands, of which a narrow one comes from a register that has those of several lanes.
  using OfLane = std::function<Status(llvm::Value* lane, std::span<const Stored> operands)>;
  Status AllLanesFrom(std::span<const Stored> operands, const OfLane& body);
  Status EmitEachLane(const ir::Inst& inst, const Mask& mask);
  Status CombineInWindow(const ir::Inst& inst, const Mask& mask, llvm::BasicBlock* after);
  Status CombineRange(const ir::Inst& inst, const Mask& mask, llvm::BasicBlock* after);
  // Deferred atomics that an access may observe go to memory.
  void ApplyDeferredBefore(const ir::Inst& inst, const Mask& mask);
  static size_t ElementCount(const ir::Inst& access);
  static llvm::Align AlignOf(const ir::Inst& access, size_t element);
  llvm::Value* FirstPointer(const ir::Inst& inst, Memory* memory, unsigned lanes_before);
  void NoteMisaligned(const ir::Inst& inst, const Mask& mask, bool together);
  Status EmitLoad(const ir::Inst& inst, const Mask& mask);
  // prefetch.cpp
  bool WorksLaneByLane() const;
  llvm::Value* AtBlockLevel(ir::ValueId id, ValueMap::Overrides& values);
  llvm::Value* SameEverywhere(ir::ValueId id);
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
  void PrefetchNextBlock(const ir::Inst& load, llvm::Value* pointer, unsigned length);
  void PrefetchLaterTrips(const ir::Inst& load, llvm::Value* pointer);
  Status PrefetchUpdated(const ir::Inst& inst, const Mask& mask, std::span<const Stored> operands);
  // next_tile.cpp
  std::vector<const ir::Inst*> LoadsOfTile() const;
  void PrefetchNextTile();
  // own_stores.cpp
  struct StoreAhead {
    const ir::Inst *load = nullptr, *store = nullptr;
    std::optional<ir::ValueId> counter, its_counter;  // of the loops around them
  };
  const ir::Inst* FirstOfRows(const LaneRegion& region, ir::Opcode op) const;
  std::optional<ir::BlockId> LoopAround(const LaneRegion& region, const ir::Inst& access) const;
  void FindStoreAhead();
  void PrefetchStoreAfter(const ir::Inst& load);
  // records.cpp
  bool IsRecord(const ir::Inst& access) const;
  void DivideRecords(const ir::Inst& load, llvm::Value* whole);
  llvm::Value* MakeRecords(const ir::Inst& store);
  // componentwise.cpp: an element of each lane's record, all of which were loaded at once.
  struct Element {
    llvm::Value* whole;
    unsigned number, count;
  };
  using Elements = std::map<llvm::Value*, Element>;
  friend class Componentwise;
  Elements elements_ = {};
  void NoteElements(const ir::Inst& load, llvm::Value* whole);
  llvm::Value* InOrderOfMemory(const ir::Inst& store);  // null: its records are not computed as a whole
  Status LoadOnce(const ir::Inst& inst, const Mask& mask);
  void LoadTogether(const ir::Inst& inst, const Mask& mask, unsigned lanes_before = 0);
  // strided.cpp: where the elements of a kStrided access are in its run of memory.
  struct Stretch {
    llvm::Value* start;   // pointer
    llvm::Value* active;  // of the run's elements
    unsigned elements;
    llvm::SmallVector<int, 64> first;  // of each lane
  };
  Stretch StretchOf(const ir::Inst& inst, const Mask& mask, Memory* memory);
  void LoadStrided(const ir::Inst& inst, const Mask& mask);
  void StoreStrided(const ir::Inst& inst, const Mask& mask);
  // packed_elements.cpp: elements of each lane that are one word, or part of one.
  bool IsPacked(const ir::Inst& access) const;
  llvm::Type* PackedType(const ir::Inst& access);
  void Unpack(const ir::Inst& load, llvm::Value* words);
  llvm::Value* Pack(const ir::Inst& store);
  // groups.cpp
  Result<llvm::Value*> FirstOf(ir::ValueId id, std::span<const ir::ValueId> parts);
  llvm::Value* IsPattern(ir::ValueId part, const Mask& mask);
  llvm::Value* IsUnwrapped(const ir::Inst& widened, llvm::Value* first);
  llvm::Value* ActiveInGroup(const Mask& mask, std::span<const int> lanes);
  struct GroupedAccess {
    const ir::Inst& inst;
    analysis::LaneGroups groups;
    std::vector<int64_t> distances;
    llvm::Value* start = nullptr;  // pointer to the first lane's element
    Memory memory;

    int64_t bytes() const { return ir::Bytes(inst.type); }
    int64_t elements() const { return groups.bytes / bytes(); }
    std::vector<int> LanesOf(size_t group) const;
    int PartAt(size_t group, size_t place, unsigned width) const;
  };
  llvm::Value* ReadInGroup(const GroupedAccess& access, size_t group, const Mask& mask);
  void LoadGroups(const GroupedAccess& access, const Mask& mask);
  void StoreGroups(const GroupedAccess& access, const Mask& mask, bool keeps);
  Status InGroups(const ir::Inst& inst, const Mask& mask, const std::function<Status()>& apart);
  llvm::Value* PointersForAll(const Mask& mask, llvm::Value* pointers);
  Mask ReadableByAll(const Mask& mask, llvm::Value*& pointers);
  void GatherElement(const ir::Inst& inst, size_t k, llvm::Value* pointers, const Mask& mask, Memory memory);
  void Gather(const ir::Inst& inst, const Mask& mask);
  // own_rows.cpp
  std::vector<llvm::Value*> LoadParts(llvm::Type* element, llvm::Value* pointers, uint64_t offset,
                                      llvm::Align align, Memory memory);
  void GatherPairs(const ir::Inst& inst, size_t k, llvm::Value* pointers, const Mask& mask, Memory memory);
  void GatherRows(const ir::Inst& inst, llvm::Value* pointers, const Mask& mask, Memory memory);
  void ScatterRows(const ir::Inst& inst);
  void GatherFromWords(const ir::Inst& inst, llvm::Value* pointers, const Mask& mask, Memory memory);
  Status EmitStore(const ir::Inst& inst, const Mask& mask);
  Status StoreLast(const ir::Inst& inst, const Mask& mask);
  llvm::Value* StepsTo(const ir::Inst& inst, llvm::Value* lane, llvm::Value* like);
  llvm::Instruction* StoreTogether(const ir::Inst& inst, const Mask& mask, unsigned lanes_before = 0);
  bool MayOrder() const;
  void LoadInOrder(const ir::Inst& inst, llvm::Value* first, Memory memory);
  llvm::Value* TripsAround(const ir::Inst& access);
  llvm::Value* IsLarge(const ir::Inst& store);
  llvm::Value* Streams(const ir::Inst& store, const Mask& mask);
  Status StoreWhole(const ir::Inst& inst, const Mask& mask);
  void Scatter(const ir::Inst& inst, const Mask& mask);
  void StorePartsOfWords(const ir::Inst& inst, const Mask& mask);
  Status LoadLocal(const ir::Inst& inst, const Mask& mask);
  Status StoreLocal(const ir::Inst& inst, const Mask& mask);
  Status EmitTextures(const ir::Inst& inst, const Mask& mask);
  Status CallTextures(const ir::Inst& inst, const Mask& mask);
  void GatherTexels(const ir::Inst& inst, LinearTexture& texture, llvm::Value* inside);
  void LoadTexelRow(const ir::Inst& inst, llvm::Value* first, llvm::Value* inside);
  Status EmitSurfaceAddresses(const ir::Inst& inst, const Mask& mask);
  Status EmitCombined(const ir::Inst& inst, const Mask& mask);
  // access_checks.cpp
  Status EmitCheck(const ir::Inst& inst, const Mask& mask);
  void EmitCheckSync(const ir::Inst& inst, const Mask& mask);
  void ForEachCall(const Mask& mask, const std::function<void(unsigned from, llvm::Value* lanes)>& call);
  llvm::Value* AllInside(const AccessCheck& check, ir::ValueId address, const Mask& mask);
  void CallChecks(const AccessCheck& check, const ir::Inst& inst, const Mask& mask);
  Status EmitSlotStore(const ir::Inst& inst, const Mask& mask, bool whole_level);
  Status LoadSlotOfRow(const ir::Inst& inst, const Mask& mask);
  bool RepeatsMaskThrice(const ir::Inst& inst) const;
  Status Together(const ir::Inst& inst, const Mask& mask, const std::function<void(const Mask&)>& access);
  Status Apart(const ir::Inst& inst, const Mask& mask, const std::function<void(const Mask&)>& access);
  // The lanes are threads of a row of a flat kernel, not of a warp.
  bool OfRow() const { return e.step->tid[0] != nullptr; }
  llvm::Value* Repeated(llvm::Value* lanes, size_t count);
  llvm::Value* HoldsWidened(const ir::Inst& inst, llvm::Value* first, int64_t stride);
  size_t PlaceOfClamp(const ir::Inst& inst) const;
  llvm::Value* HoldsClamped(const ir::Inst& inst, llvm::Value* start, int64_t stride);
  llvm::Value* HoldsChosen(const ir::Inst& inst);
  llvm::Value* HoldsAfter(const ir::Inst& inst);
  // two_runs.cpp
  Result<TwoRuns> RunsOf(const ir::Inst& inst);
  Result<TwoRuns> EachRunOf(const ir::Inst& inst);
  TwoRuns ChosenRuns(const ir::Inst& inst);
  Result<TwoRuns> ClampedRuns(const ir::Inst& inst);
  bool IsDivided(const ir::Inst& inst) const;
  Status EmitDivided(const ir::Inst& inst);
  Status DivideRuns(const ir::Inst& inst);
  bool StepsTwice(const ir::Inst& inst) const;
  bool LoadsInRuns(const ir::Inst& load, const TwoRuns& runs) const;
  bool StoresInRuns(const ir::Inst& store, const TwoRuns& runs) const;
  Status StoreRuns(const ir::Inst& store, const TwoRuns& runs, const Mask& mask);
  Status LoadRuns(const ir::Inst& load, const TwoRuns& runs, const Mask& mask);
  // by_sight.cpp
  Status ChooseBySight(const ir::Inst& inst, const Mask& mask, const std::function<Status()>& together,
                       const std::function<Status()>& apart);
  // windows.cpp: all lanes' elements within two registers' length of memory, else `apart`.
  Status InWindow(const ir::Inst& inst, const Mask& mask, const std::function<Status()>& apart);
  // The lanes of the mask that are not where a sequence would be which is `start` after `lanes_before`
  // others.
  llvm::Value* ElsewhereThan(llvm::Value* all, llvm::Value* start, int64_t lanes_before, int64_t stride,
                             const Mask& mask);
  // A value of lanes that meet, as the sequence, or two, that it is supposed to be.
  ShapedValue Met(llvm::Value* all, int64_t stride, const Mask& mask);
  // Lanes of `second` lie side by side with the last lane, the others with the first.
  Status InTwoRuns(const ir::Inst& inst, const Mask& mask, llvm::Value* second);
  bool HasMasksFor(const ir::Inst& inst) const;
  // One branch where a guess holds, the other where not.
  Status Choose(llvm::Value* holds, const std::function<Status()>& yes, const std::function<Status()>& no,
                const std::vector<ir::ValueId>& results);
  // The step of the same lanes, for code that one of them runs for all.
  LaneStep ScalarStep() const;

  FunctionEmitter& e;
  const ir::Function& f;
  llvm::IRBuilder<>& b;
  LaneRegion region_;
  const unsigned width_;
  const bool is_wide_;
  std::map<EdgeRef, Mask> edges_;
  // Where lanes of `mixed_level_` that part at a bound may go to begin the level again under masks, while it
  // has had no effect.
  llvm::BasicBlock* mixed_ = nullptr;
  uint32_t mixed_level_ = 0;
  bool has_effects_ = false;
  bool has_stored_ = false;  // to global memory
  bool has_looked_ahead_ = false;
  StoreAhead store_ahead_;
  std::map<ir::BlockId, std::vector<ir::ValueId>> meet_in_;  // what lanes bring, by where it is read
  std::vector<bool> is_open_;  // by block: its code runs whenever that of its level does
  ir::BlockId bounded_;        // at its end the loop of whole trips looks at the bound itself
};

}  // namespace ptx2cpu::lowering
