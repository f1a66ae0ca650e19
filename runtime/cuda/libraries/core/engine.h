// A CPU library that does the work of one of NVIDIA's. It is loaded when its first function is needed.
#pragma once

#include <atomic>
#include <mutex>

namespace ptx2cpu::libraries {

struct EngineFile {
  const char* file;     // what dlopen gets; several names, separated by blanks, are tried in order
  const char* package;  // of Debian, which contains it
};

class Engine {
 public:
  explicit constexpr Engine(EngineFile file) : file_(file) {}
  // Loads it once. False: it is missing; the first such call reports on stderr which function needs it and
  // the package to install.
  bool Load(const char* function);
  // An address in the loaded library, or null. The library stays loaded until the process ends.
  void* Find(const char* name) const;
  bool loaded() const { return handle_.load(std::memory_order_acquire) != nullptr; }

 private:
  const EngineFile file_;
  std::mutex mutex_;
  bool tried_ = false;
  std::atomic<void*> handle_{nullptr};
};

// The address of one of its functions, found at the first call.
template <typename Function>
class EngineFunction {
 public:
  constexpr EngineFunction(Engine& engine, const char* name) : engine_(engine), name_(name) {}
  Function* Get() {
    Function* found = found_.load(std::memory_order_relaxed);
    if (found == nullptr) found_.store(found = reinterpret_cast<Function*>(engine_.Find(name_)));
    return found;
  }

 private:
  Engine& engine_;
  const char* const name_;
  std::atomic<Function*> found_{nullptr};
};

}  // namespace ptx2cpu::libraries
