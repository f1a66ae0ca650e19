// The state of the checks for one block, and for its launch. Internal to this room.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/abi/check.h"
#include "runtime/check/finding.h"
#include "runtime/check/shadow.h"
#include "runtime/device/device_heap.h"

namespace ptx2cpu::rt::check {

struct LaunchCheck {
  uint64_t number = 0;  // of the process's launches, from 1
  std::string kernel;
  uint32_t parameter_bytes = 0;
  const DeviceHeap* heap = nullptr;
  std::function<bool(uint64_t address, uint64_t bytes)> holds;
  LaunchClock clock;
};

struct AccessSite {
  const ptx2cpu_block& block;
  uint32_t thread = 0, ptx_line = 0;
  uint64_t address = 0;
  uint32_t form = 0, bytes = 0;

  bool Writes() const { return (form & PTX2CPU_ACCESS_WRITES) != 0; }
  uint32_t space() const { return form >> PTX2CPU_ACCESS_SPACE_SHIFT & 15; }
  uint32_t word_bytes() const { return form >> PTX2CPU_ACCESS_WORD_SHIFT & 255; }
  uint32_t lanes() const { return form >> PTX2CPU_ACCESS_LANES_SHIFT & 63; }
};

// Where the bytes of an access are.
struct Target {
  enum class Memory : uint8_t { kGlobal, kShared, kLocal, kOther } memory = Memory::kGlobal;
  uint64_t real = 0;    // host address
  uint64_t offset = 0;  // in the shared or local window
  bool inside = true;   // wholly in one allocation or window
};

class BlockCheck {
 public:
  void Begin(LaunchCheck& launch, const ptx2cpu_block& block);
  void End(const ptx2cpu_block& block);
  void Access(const AccessSite& site);
  void Sync(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line, uint32_t step, uint32_t a,
            uint32_t b);

 private:
  void CheckBounds(const AccessSite& site, const Target& target);
  void CheckInitialised(const AccessSite& site, const Target& target);
  void CheckRaces(const AccessSite& site, const Target& target);
  void EnterPages(const AccessSite& site, const Target& target, CellAccess access);
  void EnterWords(const AccessSite& site, const Target& target, CellAccess access, uint64_t from, uint64_t to,
                  Cell* cells);
  void CheckSync(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line, uint32_t step, uint32_t a,
                 uint32_t b);
  void ReportRace(const AccessSite& site, const Target& target, const Conflict& conflict);
  void Arrive(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line, bool aligned);
  void Report(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line, Error error, std::string text);

  LaunchCheck* launch_ = nullptr;
  BlockClock clock_;
  std::vector<Cell> shared_;
  struct AtBarrier {
    uint32_t whole = 0;     // barriers of the whole block that the thread came to
    uint32_t ptx_line = 0;  // of the one that it waits at or passed last
    bool waits = false;
  };
  std::vector<AtBarrier> barriers_;  // by thread
};

// Of an access by this thread. Real addresses are looked up in the memory source.
Target TargetOf(const LaunchCheck& launch, const AccessSite& site);
std::string Describe(const AccessSite& site, const Target& target);
// "12 bytes after allocation ...": what lies near a real address that is in no allocation.
std::string NearText(uint64_t address);

}  // namespace ptx2cpu::rt::check
