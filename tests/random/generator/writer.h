// The writer of one kernel or device function; one function per statement kind.
#pragma once

#include "tests/random/generator/text_writer.h"
#include "tests/random/generator/write.h"

namespace ptx2cpu::random_kernels {

// Lanes or warps that leave together: fixed before the statements inside begin.
struct Scope {
  enum class End : uint8_t { kExit, kJump, kReturn } end = End::kJump;
  bool warps = false;                   // the set is one of warps
  std::string leaving = {}, keep = {};  // registers: the set, and all others
  std::string label = {};               // kJump
};
using Dropped = uint32_t;  // scopes, by number, from which something may have left

// What is known at the place of a statement. All lanes (warps) that are here hold the same values in these
// registers.
struct Place {
  std::string lanes = "%cur", warps = "%wcur", trip = "%trip";
  bool lanes_together = true;   // all lanes of the warp that have not ended are here
  bool warps_together = true;   // and all warps of the block
  bool nothing_dropped = true;  // no thread of the block has ended
  bool all_warps = true;        // no warp of the block has ended
  bool once = true;             // at most one visit per thread
  bool may_drop = true;         // lanes may leave or end here
  uint32_t ids = 0;             // barriers that only threads here use
  uint32_t clean = 0;           // of these, those at which no thread can still be waiting
  uint32_t used = 0;            // barriers used here or inside
  std::vector<Scope> scopes = {};
};

// A word whose bits decide for lanes or warps, and the own bit.
struct Choice {
  std::string set, mine;  // b32, predicate
};

// A warp operation with its qualifiers fixed: what must be the same for all that meet in it.
struct Collective {
  enum class Op : uint8_t { kShuffle, kVote, kBallot, kMatch, kRedux, kSync } op = Op::kSync;
  std::string text;   // opcode with qualifiers
  uint32_t word = 0;  // for operands
  bool wide = false;  // match of b64
};

class Writer : TextWriter {
 public:
  Writer(const Tree& tree, std::string kernel) : tree_(tree), kernel_(std::move(kernel)) {}
  KernelText Run();

 private:
  // -- text --
  std::string NewLabel() { return fmt::format("L{}_{}", function_number_, labels_++); }
  void Need(Feature feature) { needs_ |= Bit(feature); }
  bool Allowed(Feature feature) const { return (tree_.features & Bit(feature)) != 0; }

  // -- write_kernel.cpp --
  void Prologue();
  void Epilogue();
  void StoreAndExit();
  std::string WriteFunction(size_t number);
  void LaneFacts();
  std::string Declarations() const;
  void Fold(const std::string& value);  // into the hash
  void FoldPredicate(const std::string& predicate);
  std::string HashWord(uint32_t word, const std::string& trip);  // same for all lanes of a warp
  std::string LoadInput(const std::string& index);
  std::string CountOf(const Place& place);                               // threads of the warps that are here
  std::string BitOf(const std::string& set, const std::string& number);  // predicate
  Choice ChooseLanes(uint32_t word, const Place& place);
  Choice ChooseWarps(uint32_t word, const Place& place);
  Choice ChooseBlock(uint32_t word, const Place& place);

  // -- write_control.cpp --
  Dropped Write(const Body& body, Place& place);
  Dropped Write(const Node& node, Place& place);
  Dropped Arm(const Node& node, size_t arm, Place& place);
  Dropped Drop(Dropped scopes, Place& place);  // what is left of these scopes' sets leaves
  void DropOne(const Scope& scope, const Place& place);
  Place Inside(const Place& place, const std::string& lanes);  // some lanes of the warps that are here
  Dropped WarpArm(const Node& node, size_t arm, Place& place, const std::string& warps, uint32_t ids);
  uint32_t IdsForArms(Place& place, uint32_t word);
  Dropped LoopBody(const Node& node, Place& place, const std::string& counter);
  Dropped LaneIf(const Node& node, Place& place);
  Dropped ShortCircuit(const Node& node, Place& place);
  Dropped LaneSwitch(const Node& node, Place& place);
  Dropped LaneLoop(const Node& node, Place& place);
  Dropped SideEntry(const Node& node, Place& place);
  Dropped LaneLeave(const Node& node, Place& place);
  Dropped LaneExit(const Node& node, Place& place);
  Dropped WarpIf(const Node& node, Place& place);
  Dropped WarpSwitch(const Node& node, Place& place);
  Dropped WarpLoop(const Node& node, Place& place);
  Dropped WarpLeave(const Node& node, Place& place);
  Dropped WarpExit(const Node& node, Place& place);
  Dropped BlockIf(const Node& node, Place& place);
  Dropped BlockLoop(const Node& node, Place& place);
  void Call(const Node& node, Place& place);
  void BlockCall(const Node& node, Place& place);
  void CallFunction(size_t number, const Place& place);
  void JumpTable(const std::string& index, const std::vector<std::string>& labels);
  std::string MixTrip(const Place& place, const std::string& counter);

  // -- write_collectives.cpp --
  Collective MakeCollective(Collective::Op op, uint32_t word);
  Collective AnyCollective(uint32_t word);
  void Perform(const Collective& collective, const std::string& mask, uint32_t word,
               const std::string& guard = "");
  void Shuffle(const Collective& collective, const std::string& mask, uint32_t word,
               const std::string& guard);
  std::string MaskOperand(const Place& place, uint32_t word);
  void Elect(const Place& place);
  void Guarded(const Node& node, Place& place);
  Dropped Split(const Node& node, Place& place);
  Dropped Appointment(const Node& node, Place& place);

  // -- write_barriers.cpp --
  std::string BarrierOperands(const Place& place, uint32_t id, uint32_t word, bool counted);
  uint32_t TakeId(const Place& place, uint32_t word) const;
  void CompleteAll(Place& place, uint32_t id);  // all that are here have met at the id
  void Sync(Place& place, uint32_t word);
  void Barrier(const Node& node, Place& place);
  void BarrierReduce(const Node& node, Place& place);
  void GroupExchange(const Node& node, Place& place);
  Dropped ProducerConsumer(const Node& node, Place& place);
  Dropped SplitBarrier(const Node& node, Place& place);

  // -- write_memory.cpp --
  void Alu(const Node& node, const Place& place);
  void WarpExchange(const Node& node, const Place& place);
  void GlobalAtomic(const Node& node);
  void SharedAtomic(const Node& node);
  void Lock(const Node& node);
  void Spin(const std::string& address, const std::string& until, uint32_t word);
  void StoreReleased(const std::string& address, const std::string& value, uint32_t word);
  void LeaderOnly(const Place& place, const std::string& end);
  void LaneTicket(const Node& node);
  void WarpTicket(const Node& node, const Place& place);
  void Chain(const Node& node, const Place& place);
  void TicketTurn(uint32_t next, uint32_t word, bool lanes_wait);
  std::string SlotOf(uint32_t area, const std::string& thread);  // address of a thread's word
  std::string Shared(uint32_t word) const;                       // address operand
  std::string MemberLane(const Place& place, uint32_t word);
  std::string MemberThread(const Place& place, const std::string& warps, uint32_t word);

  const Tree& tree_;
  std::string kernel_;
  std::string functions_;
  uint32_t function_number_ = 0, chains_ = 0;
  bool uses_shared_ = false;
  Features needs_ = 0;
  std::vector<bool> function_written_;
  size_t in_function_ = ~size_t{0};
};

// Words of the kernel's shared variable: two areas with a word per thread, then single words.
inline constexpr uint32_t kGroupArea = 0, kWarpArea = 256, kSingles = 512;
enum Single : uint32_t {
  kLockWord,
  kLockSum,
  kLockXor,
  kLaneNext,
  kLaneServing,
  kLaneSum,
  kCounter,
  kSum,
  kXor,
  kMax,
  kMin,
  kOr,
  kWarpNext,
  kWarpServing,
  kWarpSum,
  kFlags,
  kValues = kFlags + 4,
  kSingleEnd = 24
};
static_assert(kValues + 4 <= kSingleEnd);

}  // namespace ptx2cpu::random_kernels
