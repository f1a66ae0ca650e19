#include <atomic>

#include "runtime/abi/abi.h"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace ptx2cpu::rt {
namespace {

enum class Answer : int { kNotAsked, kNo, kYes };
constinit std::atomic<Answer> answer{Answer::kNotAsked};

// The permission is for the whole process. Linux refuses it where a thread's signal stack is too small for
// the tiles, and old kernels do not know the request.
bool AskSystem() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace
}  // namespace ptx2cpu::rt

extern "C" uint32_t ptx2cpu_may_use_tiles(ptx2cpu_block*) {
  using namespace ptx2cpu::rt;
  Answer known = answer.load(std::memory_order_relaxed);
  if (known == Answer::kNotAsked) [[unlikely]] {
    known = AskSystem() ? Answer::kYes : Answer::kNo;
    answer.store(known, std::memory_order_relaxed);
  }
  return known == Answer::kYes ? 1 : 0;
}
