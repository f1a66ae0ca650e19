#include "runtime/worker/current_block.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "runtime/abi/abi.h"

ptx2cpu_running_threads ptx2cpu_running = {nullptr,
                                           0,
                                           offsetof(ptx2cpu_block, ctaid),
                                           offsetof(ptx2cpu_block, nctaid),
                                           offsetof(ptx2cpu_block, ntid),
                                           offsetof(ptx2cpu_block, local),
                                           offsetof(ptx2cpu_block, local_stride)};

namespace ptx2cpu::rt {

namespace {

// These are not static variables of functions: a fork during another thread's first call would leave their
// guards locked.
const bool is_debugged = [] {
  const char* text = std::getenv("PTX2CPU_GDB");
  return text != nullptr && std::string_view(text) == "1";
}();
constinit std::mutex listing;

}  // namespace

bool ListsForDebugger() { return is_debugged; }

void ListForDebugger(const void* const* landing, uint64_t block) {
  const std::lock_guard lock(listing);
  ptx2cpu_running.block = block;
  ptx2cpu_running.first = new ptx2cpu_running_thread{ptx2cpu_running.first, syscall(SYS_gettid), landing};
}

}  // namespace ptx2cpu::rt
