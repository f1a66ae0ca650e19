#include <string>

#include "runtime/launch.h"
#include "runtime/ptx2cpu_rt.h"

namespace {
std::string& Message() {
  static thread_local std::string message;
  return message;
}
}  // namespace

extern "C" {

int ptx2cpu_launch(const ptx2cpu_kernel* kernel, const uint32_t grid[3], const uint32_t block[3],
                   uint32_t dynamic_shared_bytes, const void* params) {
  using namespace ptx2cpu::rt;
  const LaunchShape shape{{grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, dynamic_shared_bytes};
  auto error = Launch(*kernel, shape, {static_cast<const std::byte*>(params), kernel->parameter_bytes});
  Message() = error ? error->message : std::string();
  if (!error) return 0;
  return error->kind == LaunchError::Kind::kFault ? 10 : 9;
}

const char* ptx2cpu_message(void) { return Message().c_str(); }

}  // extern "C"
