// A litmus test of the memory model: what a few threads do to two words, many times over, each time on fresh
// words, and which results PTX forbids.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/result.h"
#include "lowering/pipeline.h"

namespace ptx2cpu::litmus {

using Outcome = std::array<uint32_t, 4>;  // registers %r0 to %r3

// One thread's PTX. [%x] and [%y] are the words of this time; a result is left in a register of `writes`. $S
// becomes the scope (cta, gpu, sys), $M that of membar (cta, gl, sys), $R the thread's number, to distinguish
// labels apart.
struct Role {
  std::string ptx;
  std::vector<int> writes = {};
};

struct Litmus {
  std::string name;
  std::vector<Role> roles;
  std::function<bool(const Outcome&)> forbidden;
};

enum class Scope : uint8_t {
  kCta,  // threads are warps of one block
  kGpu,  // threads are blocks
  kSys,  // one thread is a block, another one of the host
};

// Words that all times share, by index into Shared: a lock, and two sums.
enum SharedWord : uint8_t { kMeeting = 0, kLock = 16, kTotal = 32, kSum = 48, kSharedWords = 64 };

struct Tally {
  std::map<Outcome, uint64_t> seen;
  uint64_t forbidden = 0;
  std::array<uint32_t, kSharedWords> shared{};  // [%lock], [%total], [%sum] afterwards
  std::string Text() const;                     // for messages
};

// What the host does in place of a role: the words of this time, and where to leave results.
using HostRole =
    std::function<void(std::atomic_ref<uint32_t> x, std::atomic_ref<uint32_t> y, Outcome& result)>;

struct Plan {
  Scope scope = Scope::kGpu;
  uint32_t times = 0;
  uint32_t batch =
      1024;  // times between two meetings of all threads; on a busy machine a meeting takes many milliseconds
  lowering::Tier tier = lowering::Tier::kAuto;
  unsigned workers = 0;  // 0: all
};

// The kernel that does it; `role` is a parameter where the host plays the other.
std::string KernelText(const Litmus& litmus, Scope scope);

Result<Tally> RunJit(const Litmus& litmus, const Plan& plan);
Result<Tally> RunInterpreter(const Litmus& litmus, const Plan& plan);
// The kernel plays `role`, this thread the other one.
Result<Tally> RunWithHost(const Litmus& litmus, const Plan& plan, uint32_t role, const HostRole& host);

// Times of a test: a few by default, more with PTX2CPU_FULL_TESTS.
uint32_t Times(uint32_t by_default);

}  // namespace ptx2cpu::litmus
