// The mapped file of the process, and the objects that it describes. Internal to this folder.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/profile/profile.h"

namespace ptx2cpu::rt::profile {

class Recorder {
 public:
  // The process's; made at the first call, never destroyed: workers may still report while the process ends.
  static Recorder& Get();

  // Everything below under the lock. Null: the file could not be made.
  std::mutex& mutex() { return mutex_; }
  File* file() { return file_; }
  CodeRow* RowOf(const ptx2cpu_kernel& code);  // one without an image is made for code that is not known
  CodeRow* KnownRowOf(const ptx2cpu_kernel& code);
  CodeRow* NewRow(const ptx2cpu_kernel& code);
  void Forget(const ptx2cpu_kernel& code) { rows_.erase(&code); }
  uint32_t TextOf(std::string_view text);
  CallRow* CallOf(Group group, std::string_view name);
  // Counts the place of a thread that runs this code.
  void AddSample(const ptx2cpu_kernel& code, uint64_t pc);
  // Writes DIR/PID.NAME.
  bool WriteBeside(const std::string& name, std::string_view bytes) const;

  std::unordered_map<const ptx2cpu_kernel*, const ptx2cpu_kernel*> counting;
  uint32_t modules = 0;

 private:
  Recorder();
  uint32_t CodeAt(uint64_t pc);

  std::mutex mutex_;
  std::string prefix_;  // DIR/PID.
  File* file_ = nullptr;
  std::unordered_map<const ptx2cpu_kernel*, uint32_t> rows_;
  std::unordered_map<std::string, uint32_t> texts_;
  std::unordered_map<uint64_t, uint32_t> calls_;  // by group and text
  uint32_t last_code_ = kNone;
};

// Starts sampling of the threads that run kernels: sampler.cpp.
void StartSampler();

}  // namespace ptx2cpu::rt::profile
