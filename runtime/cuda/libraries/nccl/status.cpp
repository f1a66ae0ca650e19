#include "runtime/cuda/libraries/nccl/status.h"

#include <cstdio>
#include <mutex>
#include <set>

namespace ptx2cpu::nccl {

using namespace cuda;

namespace {

// Reasons are few; they are kept for as long as a program may read them.
const char* Kept(const std::string& reason, bool set) {
  static std::mutex& mutex = *new std::mutex;
  static auto& kept = *new std::set<std::string>{""};
  static const char* last = "";
  const std::lock_guard lock(mutex);
  if (set) last = kept.insert(reason).first->c_str();
  return last;
}

}  // namespace

ncclResult_t Fail(ncclResult_t result, const char* function, const std::string& reason) {
  const std::string text = std::string(function) + ": " + reason;
  std::fprintf(stderr, "ptx2cpu: %s\n", text.c_str());
  Kept(text, true);
  return result;
}

const char* LastReason() { return Kept({}, false); }

}  // namespace ptx2cpu::nccl
