// A profile of the process: the code that its kernels run, the time of each launch and its distribution over
// the code, and compilations, copies and calls. Everything goes to a mapped file (profile_file.h) in the
// folder that PTX2CPU_PROFILE names. Where no profile is wanted, a call costs one load of a flag. A forked
// child that does not execute another program has no profile.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/abi/abi.h"
#include "runtime/profile/profile_file.h"

namespace ptx2cpu::rt::profile {

namespace internal {
extern std::atomic<bool> wanted;
}
// Whether PTX2CPU_PROFILE names a folder, for callers before `wanted` is set.
bool WantedByEnvironment();
inline bool Wanted() { return internal::wanted.load(std::memory_order_relaxed); }
uint64_t Now();

// The texts of a module, from which its kernels can be translated again; its number. kNone: there is no file.
uint32_t AddModule(std::span<const std::string_view> texts);
// Reports loaded code: `row` describes it, without the name. `image`: its bytes.
void AddCode(const ptx2cpu_kernel& code, CodeRow row, std::string_view image);
// Reports that the code was unloaded.
void RemoveCode(const ptx2cpu_kernel& code);
// Words of the file that start at 0, for counting code; null: no room.
uint64_t* TakeCounters(size_t words);
uint32_t NumberOf(const uint64_t* counters);
// Blocks of `code` may run `counting`, to be counted; both are for the same block shapes.
void SetCounting(const ptx2cpu_kernel& code, const ptx2cpu_kernel& counting);

// The counting code for a launch of this code, if this one is to be counted: the first, and later ones as
// long as counting takes little of the kernel's time. Else null. kLaunch: all blocks would have to be
// counted, so only the first launch is. The result is resumable where the code is.
enum class Counted : uint8_t { kBlocks, kLaunch };
const ptx2cpu_kernel* TakeCounting(const ptx2cpu_kernel& code, Counted what);
void AddCounted(const ptx2cpu_kernel& code, uint64_t nanoseconds);

void AddCompile(std::string_view kernel, uint64_t begin, uint64_t end, uint32_t flags);
// A bar of a timeline. `bytes`: that were copied.
void AddEvent(Group group, uint64_t track, std::string_view name, uint64_t begin, uint64_t end,
              uint64_t bytes = 0);

// A launch, from here to the end of the scope.
class LaunchScope {
 public:
  LaunchScope(const ptx2cpu_kernel& code, Dim3 grid, Dim3 block, uint32_t shared)
      : code_(code), grid_(grid), block_(block), shared_(shared), begin_(Wanted() ? Now() : 0) {}
  ~LaunchScope() {
    if (begin_ != 0) [[unlikely]]
      End();
  }
  LaunchScope(const LaunchScope&) = delete;
  LaunchScope& operator=(const LaunchScope&) = delete;

 private:
  void End();
  const ptx2cpu_kernel& code_;
  const Dim3 grid_, block_;
  const uint32_t shared_;
  const uint64_t begin_;
};

// A worker's share of a launch: meanwhile the thread is sampled about once in a millisecond.
class ShareScope {
 public:
  explicit ShareScope(const ptx2cpu_kernel& code) : code_(Wanted() ? &code : nullptr) {
    if (code_ != nullptr) [[unlikely]]
      Begin();
  }
  ~ShareScope() {
    if (code_ != nullptr) [[unlikely]]
      End();
  }
  ShareScope(const ShareScope&) = delete;
  ShareScope& operator=(const ShareScope&) = delete;

 private:
  void Begin();
  void End();
  const ptx2cpu_kernel* const code_;
  const ptx2cpu_kernel* outer_ = nullptr;
  uint64_t begin_ = 0;
};

}  // namespace ptx2cpu::rt::profile
