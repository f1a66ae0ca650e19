#include "runtime/cuda/driver/core/export_server.h"

#include <fcntl.h>

#include <cstdio>
#include <memory>
#include <string>

#include "runtime/worker/processors.h"

namespace ptx2cpu::driver {

namespace {

std::string SocketOf(const std::array<uint64_t, 2>& server) {
  char name[64];
  std::snprintf(name, sizeof name, "ptx2cpu-exports-%016llx%016llx",
                static_cast<unsigned long long>(server[0]), static_cast<unsigned long long>(server[1]));
  return name;
}

}  // namespace

ExportServer& ExportServer::Get() {
  static auto* server = new ExportServer;  // its thread runs until the process ends
  return *server;
}

// Called under the lock.
bool ExportServer::Start() {
  if (process_ == getpid()) return true;
  items_.clear();
  if (!FillRandom(server_.data(), sizeof server_)) return false;
  auto listening = std::make_shared<Descriptor>(ListenAt(SocketOf(server_)));
  if (!*listening || !rt::StartThread([this, listening] { Serve(std::move(*listening)); })) return false;
  process_ = getpid();
  return true;
}

void ExportServer::Serve(Descriptor listening) {
  for (;;) {
    const Descriptor peer = AcceptFrom(listening);
    uint64_t item = 0;
    Descriptor none;
    if (!peer || !ReceiveWithFile(peer, &item, sizeof item, none)) continue;
    const std::lock_guard lock(mutex_);
    const auto found = items_.find(item);
    SendWithFile(peer, &item, sizeof item, found == items_.end() ? -1 : found->second.number());
  }
}

bool ExportServer::Add(int file, ExportedName& name) {
  const std::lock_guard lock(mutex_);
  Descriptor copy(fcntl(file, F_DUPFD_CLOEXEC, 0));
  if (!copy || !Start()) return false;
  name = {server_, ++last_};
  items_.emplace(name.item, std::move(copy));
  return true;
}

void ExportServer::Remove(const ExportedName& name) {
  const std::lock_guard lock(mutex_);
  if (name.server == server_) items_.erase(name.item);
}

bool ExportServer::Own(const ExportedName& name) {
  const std::lock_guard lock(mutex_);
  return process_ == getpid() && name.server == server_;
}

Descriptor ExportServer::Fetch(const ExportedName& name) {
  const Descriptor peer = ConnectTo(SocketOf(name.server));
  uint64_t item = name.item;
  Descriptor file;
  if (!peer || !SendWithFile(peer, &item, sizeof item) || !ReceiveWithFile(peer, &item, sizeof item, file))
    return {};
  return file;
}

}  // namespace ptx2cpu::driver
