#include "runtime/cuda/libraries/nccl/network.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/time.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace ptx2cpu::nccl {

namespace {

constexpr int kMaxWaiting = 4096;

// An idle connection is probed, so that a vanished machine is noticed.
constexpr int kIdleSeconds = 30, kProbeSeconds = 10, kProbes = 6;

void Set(const Descriptor& socket, int level, int name, int value) {
  setsockopt(socket.number(), level, name, &value, sizeof value);
}
void Prepare(const Descriptor& socket) {
  Set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  Set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  Set(socket, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  Set(socket, IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  Set(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
}

Descriptor MakeSocket(const Address& address) {
  return Descriptor(socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
}
const sockaddr* Raw(const Address& address) { return reinterpret_cast<const sockaddr*>(&address.bytes); }

bool Matches(std::string_view entry, std::string_view name, bool whole) {
  return whole ? name == entry : name.starts_with(entry);
}

// An address of the link alone means nothing without the name of the other machine's interface.
bool IsOfLink(const sockaddr& address) {
  if (address.sa_family != AF_INET6) return false;
  return IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

}  // namespace

std::string TextOf(const Address& address) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(Raw(address), address.length, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  const std::string name = host;
  return (address.bytes.ss_family == AF_INET6 ? "[" + name + "]" : name) + ":" + port;
}

std::optional<Address> AddressOf(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  if (getaddrinfo(host.c_str(), text.c_str() + colon + 1, &wanted, &found) != 0) return std::nullopt;
  Address address;
  std::memcpy(&address.bytes, found->ai_addr, found->ai_addrlen);
  address.length = found->ai_addrlen;
  freeaddrinfo(found);
  return address;
}

bool Allows(const InterfaceRule& rule, const std::string& name, int family) {
  const std::string_view wanted = rule.family == nullptr ? "" : rule.family;
  if ((wanted == "AF_INET" && family != AF_INET) || (wanted == "AF_INET6" && family != AF_INET6))
    return false;
  if (rule.names == nullptr || *rule.names == '\0') return true;
  std::string_view names = rule.names;
  const bool excludes = names.starts_with('^');
  if (excludes) names.remove_prefix(1);
  const bool whole = names.starts_with('=');
  if (whole) names.remove_prefix(1);
  for (;;) {
    const size_t comma = names.find(',');
    if (Matches(names.substr(0, comma), name, whole)) return !excludes;
    if (comma == std::string_view::npos) return excludes;
    names.remove_prefix(comma + 1);
  }
}

std::optional<Address> OwnAddress() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return std::nullopt;
  const InterfaceRule rule{std::getenv("NCCL_SOCKET_IFNAME"), std::getenv("NCCL_SOCKET_FAMILY")};
  std::optional<Address> best;
  int best_rank = 3;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0 || IsOfLink(*entry->ifa_addr))
      continue;
    const int family = entry->ifa_addr->sa_family;
    const std::string name = entry->ifa_name;
    if ((family != AF_INET && family != AF_INET6) || !Allows(rule, name, family)) continue;
    const int rank = (entry->ifa_flags & IFF_LOOPBACK) != 0 ? 2 : name.starts_with("docker") ? 1 : 0;
    if (rank >= best_rank) continue;
    best_rank = rank;
    best = Address{};
    best->length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&best->bytes, entry->ifa_addr, best->length);
  }
  freeifaddrs(list);
  return best;
}

Descriptor ListenOn(Address& address) {
  Descriptor made = MakeSocket(address);
  if (!made || bind(made.number(), Raw(address), address.length) != 0 ||
      listen(made.number(), kMaxWaiting) != 0 ||
      getsockname(made.number(), reinterpret_cast<sockaddr*>(&address.bytes), &address.length) != 0) {
    return {};
  }
  return made;
}

Descriptor ConnectTo(const Address& address) {
  Descriptor made = MakeSocket(address);
  if (!made || connect(made.number(), Raw(address), address.length) != 0) return {};
  Prepare(made);
  return made;
}

Descriptor AcceptPeer(const Descriptor& listening) {
  Descriptor made(accept4(listening.number(), nullptr, nullptr, SOCK_CLOEXEC));
  if (made) Prepare(made);
  return made;
}

bool SendAll(const Descriptor& socket, const void* data, size_t bytes) {
  const auto* at = static_cast<const std::byte*>(data);
  while (bytes != 0) {
    const ssize_t sent = send(socket.number(), at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent, bytes -= static_cast<size_t>(sent);
  }
  return true;
}

bool ReceiveAll(const Descriptor& socket, void* data, size_t bytes) {
  auto* at = static_cast<std::byte*>(data);
  while (bytes != 0) {
    const ssize_t got = recv(socket.number(), at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got, bytes -= static_cast<size_t>(got);
  }
  return true;
}

void LimitWaiting(const Descriptor& socket, int seconds) {
  const timeval limit{seconds, 0};
  setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

}  // namespace ptx2cpu::nccl
