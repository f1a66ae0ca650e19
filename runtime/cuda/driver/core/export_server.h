// Serves files to other processes, by a name that the program passes to them: memory and events with handles
// for other processes. A thread serves them, which starts with the first file.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>

#include "runtime/cuda/driver/core/local_socket.h"

namespace ptx2cpu::driver {

struct ExportedName {
  std::array<uint64_t, 2> server;  // random: a process that does not know it reaches nothing
  uint64_t item;
  auto operator<=>(const ExportedName&) const = default;
};

class ExportServer {
 public:
  static ExportServer& Get();

  // Serves a copy of the descriptor until Remove. False: the system has no socket or thread.
  bool Add(int file, ExportedName& name);
  void Remove(const ExportedName& name);
  // Whether this process serves it.
  bool Own(const ExportedName& name);
  // The file from the process that serves it; nothing: it has ended, or no longer serves it.
  static Descriptor Fetch(const ExportedName& name);

 private:
  bool Start();
  void Serve(Descriptor listening);

  std::mutex mutex_;  // all below
  std::array<uint64_t, 2> server_ = {};
  pid_t process_ = 0;  // whose thread serves; a forked child starts its own
  uint64_t last_ = 0;
  std::map<uint64_t, Descriptor> items_;
};

}  // namespace ptx2cpu::driver
