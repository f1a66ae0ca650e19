// Sockets between processes of this machine that pass descriptors of files. Their names are of the abstract
// space: there is no file, and nothing remains of them when the process ends, however it ends.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>

namespace ptx2cpu::driver {

// Closed with the object.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.Take()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (number_ >= 0) close(number_);
    number_ = other.Take();
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  // The caller closes it.
  int Take() {
    const int number = number_;
    number_ = -1;
    return number;
  }

 private:
  int number_ = -1;
};

// Names have at most 100 bytes. Nothing where the system refuses.
Descriptor ListenAt(const std::string& name);
Descriptor ConnectTo(const std::string& name);
Descriptor AcceptFrom(const Descriptor& listening);

// Sends all of the bytes, and a file where `file` is not negative. False: the other end has closed.
bool SendWithFile(const Descriptor& socket, const void* data, size_t bytes, int file = -1);
bool ReceiveWithFile(const Descriptor& socket, void* data, size_t bytes, Descriptor& file);

// Random bytes of the system.
bool FillRandom(void* data, size_t bytes);

}  // namespace ptx2cpu::driver
