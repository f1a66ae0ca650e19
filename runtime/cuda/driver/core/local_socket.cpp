#include "runtime/cuda/driver/core/local_socket.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

namespace ptx2cpu::driver {

namespace {

constexpr int kMaxWaiting = 1024;

// A name of the abstract space begins with a zero.
socklen_t AddressOf(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof address.sun_path) return 0;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

Descriptor MakeSocket() { return Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

}  // namespace

Descriptor ListenAt(const std::string& name) {
  sockaddr_un address;
  const socklen_t length = AddressOf(name, address);
  Descriptor made = MakeSocket();
  if (length == 0 || bind(made.number(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      listen(made.number(), kMaxWaiting) != 0) {
    return {};
  }
  return made;
}

Descriptor ConnectTo(const std::string& name) {
  sockaddr_un address;
  const socklen_t length = AddressOf(name, address);
  Descriptor made = MakeSocket();
  if (length == 0 || connect(made.number(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
    return {};
  return made;
}

Descriptor AcceptFrom(const Descriptor& listening) {
  return Descriptor(accept4(listening.number(), nullptr, nullptr, SOCK_CLOEXEC));
}

bool SendWithFile(const Descriptor& socket, const void* data, size_t bytes, int file) {
  iovec part{const_cast<void*>(data), bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part, message.msg_iovlen = 1;
  if (file >= 0) {
    message.msg_control = control, message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &file, sizeof file);
  }
  return sendmsg(socket.number(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

bool ReceiveWithFile(const Descriptor& socket, void* data, size_t bytes, Descriptor& file) {
  iovec part{data, bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part, message.msg_iovlen = 1;
  message.msg_control = control, message.msg_controllen = sizeof control;
  if (recvmsg(socket.number(), &message, MSG_CMSG_CLOEXEC | MSG_WAITALL) != static_cast<ssize_t>(bytes))
    return false;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header), sizeof number);
    file = Descriptor(number);
  }
  return true;
}

bool FillRandom(void* data, size_t bytes) { return getrandom(data, bytes, 0) == static_cast<ssize_t>(bytes); }

}  // namespace ptx2cpu::driver
