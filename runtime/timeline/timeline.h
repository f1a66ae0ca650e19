// A record of times: API calls per host thread, kernels and copies per stream, blocks per worker. Written as
// a Chrome trace (Perfetto, chrome://tracing) to the file that PTX2CPU_TIMELINE names. The file is a complete
// JSON text after every bar, so it does not matter how the process ends. Times are nanoseconds of the steady
// clock. Without a timeline, each call costs one load.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace ptx2cpu::rt::timeline {

namespace internal {
extern std::atomic<bool> wanted;
}

inline bool Wanted() { return internal::wanted.load(std::memory_order_relaxed); }
uint64_t Now();

// An API call on the calling thread.
void AddCall(std::string_view name, uint64_t begin, uint64_t end, std::string_view arguments,
             std::string_view result);
// Work of a stream: a kernel, a copy, a fill, a host function. `detail` is shown when the bar is selected.
void AddWork(uint64_t stream, std::string_view name, uint64_t begin, uint64_t end,
             std::string_view detail = {});
// A worker's part in a launch: from its first block to its last.
void AddWorker(unsigned worker, std::string_view kernel, uint64_t begin, uint64_t end);

// Writes bars to this file from now on, for tests. A recording to another file ends.
void Start(const std::string& file);

}  // namespace ptx2cpu::rt::timeline
