// Stream sockets between machines: the address at which others reach this one, listening, connecting.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <optional>
#include <string>

#include "runtime/cuda/driver/core/local_socket.h"

namespace ptx2cpu::nccl {

using driver::Descriptor;

struct Address {
  sockaddr_storage bytes = {};
  socklen_t length = 0;
};
// "192.0.2.1:4000", "[2001:db8::1]:4000". Nothing where it is not an address.
std::string TextOf(const Address& address);
std::optional<Address> AddressOf(const std::string& text);

// The interfaces that ranks use, as NCCL's variables name them. NCCL_SOCKET_IFNAME: prefixes of names with
// commas between; after "^" those that are not used, after "=" whole names. NCCL_SOCKET_FAMILY: AF_INET or
// AF_INET6.
struct InterfaceRule {
  const char* names = nullptr;   // null: all
  const char* family = nullptr;  // null: both
};
bool Allows(const InterfaceRule& rule, const std::string& name, int family);

// The address of the first interface that is up and allowed; the loopback and bridges of containers
// ("docker...") only where there is no other. Port 0.
std::optional<Address> OwnAddress();

// At any free port, which becomes the address's. Nothing where the system refuses.
Descriptor ListenOn(Address& address);
Descriptor ConnectTo(const Address& address);
Descriptor AcceptPeer(const Descriptor& listening);

// All of the bytes. False: the other end is gone, or silent for longer than a time that was set.
bool SendAll(const Descriptor& socket, const void* data, size_t bytes);
bool ReceiveAll(const Descriptor& socket, void* data, size_t bytes);
// Waiting for bytes ends after this time; 0: never.
void LimitWaiting(const Descriptor& socket, int seconds);

}  // namespace ptx2cpu::nccl
