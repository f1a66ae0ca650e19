#include "runtime/cuda/libraries/core/openblas.h"

#include <dlfcn.h>

#include "ir/result.h"
#include "runtime/cuda/libraries/core/engine.h"

namespace ptx2cpu::libraries {

namespace {

constexpr const char* kFile = "libopenblas.so.0";

Engine openblas{EngineFile{kFile, "libopenblas0-pthread"}};

// A program that uses OpenBLAS itself keeps the number of threads that it chose.
void UseOneThread() {
  if (auto* set = reinterpret_cast<void (*)(int)>(openblas.Find("openblas_set_num_threads"))) set(1);
}

}  // namespace

bool LoadBlas(const char* function) {
  if (openblas.loaded()) [[likely]]
    return true;
  void* before = dlopen(kFile, RTLD_NOW | RTLD_NOLOAD);
  if (before != nullptr) dlclose(before);
  if (!openblas.Load(function)) return false;
  if (before == nullptr) UseOneThread();
  return true;
}

void* FindBlas(const char* name) {
  void* found = openblas.Find(name);
  CHECK(found != nullptr, std::string("OpenBLAS lacks ") + name);
  return found;
}

}  // namespace ptx2cpu::libraries
