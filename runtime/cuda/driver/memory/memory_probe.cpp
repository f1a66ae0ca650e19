#include "runtime/cuda/driver/memory/memory_probe.h"

#include "runtime/worker/fault.h"

namespace ptx2cpu::driver {

// Sanitizers would call the bytes between two blocks of the heap an error.
#if defined(__clang__)
__attribute__((no_sanitize("address", "thread")))
#elif defined(__GNUC__)
__attribute__((no_sanitize_address, no_sanitize_thread))
#endif
bool Readable(const void* memory, size_t bytes) {
  constexpr size_t kSmallestPage = 4096;
  if (bytes == 0) return true;
  rt::LandingPoint landing;
  const rt::LandingScope scope(landing);
  if (sigsetjmp(landing.jump, 0) != 0) {
    rt::UnblockFaultSignals();
    return false;
  }
  const auto* byte = static_cast<const volatile unsigned char*>(memory);
  for (size_t at = 0; at < bytes; at += kSmallestPage) (void)byte[at];
  (void)byte[bytes - 1];
  return true;
}

}  // namespace ptx2cpu::driver
