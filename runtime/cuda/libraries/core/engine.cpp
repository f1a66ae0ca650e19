#include "runtime/cuda/libraries/core/engine.h"

#include <dlfcn.h>

#include <cstdio>
#include <string>

namespace ptx2cpu::libraries {

bool Engine::Load(const char* function) {
  if (loaded()) return true;
  const std::lock_guard lock(mutex_);
  if (tried_) return loaded();
  tried_ = true;
  const std::string names = file_.file;
  std::string reason;
  for (size_t begin = 0; begin < names.size() && !loaded();) {
    const size_t end = std::min(names.find(' ', begin), names.size());
    if (void* handle = dlopen(names.substr(begin, end - begin).c_str(), RTLD_NOW | RTLD_LOCAL)) {
      handle_.store(handle, std::memory_order_release);
    } else {
      reason = dlerror();
    }
    begin = end + 1;
  }
  if (!loaded()) {
    std::fprintf(stderr, "ptx2cpu: %s needs a CPU library that is not installed: apt install %s (%s)\n",
                 function, file_.package, reason.c_str());
  }
  return loaded();
}

void* Engine::Find(const char* name) const {
  void* handle = handle_.load(std::memory_order_acquire);
  return handle == nullptr ? nullptr : dlsym(handle, name);
}

}  // namespace ptx2cpu::libraries
