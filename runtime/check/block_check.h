// The state of the checks for one block, and for its launch. Internal to this room.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/abi/check.h"
#include "runtime/check/checks.h"
#include "runtime/check/counted_barriers.h"
#include "runtime/check/finding.h"
#include "runtime/check/global_shadow.h"
#include "runtime/check/line.h"
#include "runtime/check/written_bytes.h"
#include "runtime/device/device_heap.h"

namespace ptx2cpu::rt::check {

struct LaunchCheck {
  uint64_t number = 0;  // of the process's launches, from 1
  std::string kernel;
  uint32_t parameter_bytes = 0;
  const DeviceHeap* heap = nullptr;
  std::function<bool(uint64_t address, uint64_t bytes)> holds;
  LaunchClock clock;
  GlobalShadow* shadow = nullptr;  // its own while it runs
  // The block in which a thread freed what is no block of device malloc, which ends the launch.
  std::optional<std::array<uint32_t, 3>> freed_badly;
};

struct AccessSite {
  const ptx2cpu_block& block;
  uint32_t thread = 0, ptx_line = 0;
  uint64_t address = 0;
  uint32_t form = 0, bytes = 0;
  const ptx2cpu_check_variable* variable = nullptr;
  uint64_t variable_base = 0;

  bool Writes() const { return (form & PTX2CPU_ACCESS_WRITES) != 0; }
  uint32_t space() const { return form >> PTX2CPU_ACCESS_SPACE_SHIFT & 15; }
  uint32_t word_bytes() const { return form >> PTX2CPU_ACCESS_WORD_SHIFT & 255; }
  uint32_t lanes() const { return form >> PTX2CPU_ACCESS_LANES_SHIFT & 63; }
  // Not beyond the variable that the address was computed from.
  bool IsInVariable() const {
    const uint64_t offset = address - variable_base;
    return variable == nullptr || (offset <= variable->bytes && bytes <= variable->bytes - offset);
  }
};

// Whether lanes' accesses of this form may be entered together: each concerns its own bytes and thread only.
inline bool IsForLanesTogether(uint32_t form) {
  constexpr uint32_t kOthers = PTX2CPU_ACCESS_BULK | PTX2CPU_ACCESS_LOCKSTEP | PTX2CPU_ACCESS_MBARRIER |
                               PTX2CPU_ACCESS_RELEASES | PTX2CPU_ACCESS_ACQUIRES;
  return (form & kOthers) == 0;
}

// Where the bytes of an access are.
struct Target {
  enum class Memory : uint8_t { kGlobal, kShared, kLocal, kOther } memory = Memory::kGlobal;
  uint64_t real = 0;        // host address
  uint64_t offset = 0;      // in the shared or local window
  bool inside = true;       // wholly in one allocation or window
  MemoryRange holder = {};  // what it is in, where that stays for as long as allocations do
};

// What of a block's memory nothing has written.
class Initialised {
 public:
  void Begin(const ptx2cpu_block& block);
  // How many of the bytes from `at` of an access, a register of at most 16, nothing has written.
  uint32_t FreshBytes(const AccessSite& site, const Target& target, uint32_t at, uint32_t bytes) const;
  void Write(const AccessSite& site, const Target& target);

 private:
  uint32_t WrittenOf(const Target& target, uint64_t real, uint32_t bytes) const;

  WrittenWindow shared_, local_;  // local: thread after thread
};

class BlockCheck {
 public:
  // From now on blocks of this launch come, in this context.
  void Join(LaunchCheck& launch, const ptx2cpu_block& block);
  bool Serves(const ptx2cpu_block& block) const { return of_ == block.launch; }
  void Begin(ptx2cpu_block& block);
  void End(const ptx2cpu_block& block);
  void Access(const ptx2cpu_block& block, const Accesses& accesses);
  void Sync(const ptx2cpu_block& block, const Steps& steps);
  // False: it has found that the launch will end.
  bool Free(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line, uint64_t pointer);
  void Result(const ptx2cpu_block& block, uint32_t thread, const void* to, uint32_t bytes);
  void Allocate(uint64_t address, uint64_t bytes);

 private:
  bool Wants(uint32_t kinds) const { return (kinds_ & kinds) != 0; }
  void LeaveWarp(const Steps& steps);
  // The memory that the access is in, if it is right and code may know that memory.
  std::optional<MemoryRange> Access(const AccessSite& site, uint64_t written);
  void Remember(const Accesses& accesses, const MemoryRange& range);
  void CheckBounds(const AccessSite& site, const Target& target);
  void CheckInitialised(const AccessSite& site, const Target& target);
  // block_races.cpp
  struct Entering {
    const Accesses& accesses;
    const AccessSite& whole;  // of the first active thread, with the bytes of all
    const Target& target;
    const ThreadGroup& threads;
    uint32_t first;  // active lane
    bool is_row;     // or all at one place
  };
  bool MayRace(const ptx2cpu_block& block, const Target& target, uint32_t form, uint64_t written);
  // Of the lines of shared memory. What a block did before the last barrier of all its threads is ordered
  // before what comes, so each such barrier makes another owner, which knows nothing.
  uint64_t SharedOwner() const { return begun_ << 32 | clock_.latest_of_all(); }
  bool IsUnwritten(const ptx2cpu_block& block, const Target& target, uint32_t form, uint64_t written);
  bool AccessRow(const ptx2cpu_block& block, const Accesses& given);
  bool EnterAll(const Accesses& accesses, const AccessSite& whole, const Target& target, uint32_t first,
                uint32_t last);
  void EnterLines(const Entering& entering, uint64_t from, uint64_t to, uint64_t start, Lines& lines,
                  uint64_t owner);
  bool EnterEach(const Entering& entering, uint64_t from, uint64_t to, uint64_t start, Lines& lines);
  bool EnterReadsOfAll(const Entering& entering, const CellsOfWords& cells) const;
  Row RowOf(const AccessSite& site, const ThreadGroup& threads, int32_t thread, uint8_t shift) const;
  // lane_races.cpp
  bool Synchronises(const Accesses& accesses, uint64_t real, uint64_t bytes) const;
  bool AccessLanes(const ptx2cpu_block& block, const Accesses& accesses);
  void EnterLanes(const Accesses& accesses, const AccessSite& whole, const Target& target);
  // The lines that the last lane's access is in.
  struct LinesOfLane {
    // The offset of this place, in the window or real, into the memory of its lines.
    uint64_t GoTo(uint64_t at);

    GlobalShadow* shadow;  // null: shared memory
    Lines* lines;
    uint64_t owner;
    uint64_t base = ~uint64_t{0};  // of the stretch
  };
  bool EnterRun(const Accesses& accesses, uint64_t lanes, const AccessSite& whole, const Target& target);
  bool EnterLane(const CellAccess& access, uint32_t bytes, uint64_t offset, LinesOfLane& of,
                 Conflict& conflict) const;
  // block_races.cpp again
  void CheckRaces(const AccessSite& site, const Target& target, uint64_t written);
  void EnterAt(const AccessSite& site, const Target& target, const CellAccess& access);
  void EnterGlobal(const AccessSite& site, const Target& target, CellAccess access);
  void EnterBytes(const AccessSite& site, const Target& target, const CellAccess& access, uint64_t from,
                  uint64_t to, Lines& lines, uint64_t owner);
  bool EnterLine(const AccessSite& site, const CellAccess& access, uint64_t from, uint64_t to, Lines& lines,
                 uint64_t owner, Conflict& conflict);
  void CheckSync(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line, uint32_t step, uint32_t a,
                 uint32_t b);
  void ReportRace(const AccessSite& site, const Target& target, const Conflict& conflict);
  void Arrive(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line, bool aligned);
  void Report(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line, Error error, std::string text);

  const uint32_t kinds_ = WantedKinds();
  LaunchCheck* launch_ = nullptr;
  const ptx2cpu_launch* of_ = nullptr;
  uint64_t version_ = 0;             // of the allocations that ranges_ are about
  const uint8_t* window_ = nullptr;  // of shared memory: the same
  std::vector<ptx2cpu_check_range> ranges_;
  BlockClock clock_;
  Lines shared_;
  uint64_t begun_ = 0;  // blocks
  Initialised initialised_;
  struct Written {
    void Add(uint64_t pointer);
    uint64_t words = 0;
    std::vector<MemoryRange> ranges = {};  // what these words of the parameters point into
    bool anywhere = false;                 // or elsewhere
  };
  std::vector<Written> written_;
  struct AtBarrier {
    uint32_t whole = 0;     // barriers of the whole block that the thread came to
    uint32_t ptx_line = 0;  // of the one that it waits at or passed last
    bool waits = false;
  };
  std::vector<AtBarrier> barriers_;  // by thread
  CountedBarriers counted_;
};

// The allocation with the address in it; of no bytes, if there is none.
MemoryRange AllocationOf(uint64_t address);
// Changes whenever the memory source's allocations do.
uint64_t SourceVersion();
// Of an access by this thread. Real addresses are looked up in the memory source.
Target TargetOf(const LaunchCheck& launch, const AccessSite& site);
std::string Describe(const AccessSite& site, const Target& target);
// "8 bytes into 400 bytes at ..., which have been freed"; empty: the address is in no freed allocation.
std::string FreedText(const LaunchCheck& launch, uint64_t address);
// "12 bytes after allocation ...": what lies nearest to a real address that is in no allocation.
std::string NearText(const LaunchCheck& launch, uint64_t address);

}  // namespace ptx2cpu::rt::check
