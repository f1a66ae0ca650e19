// The values on which a test of memory and events between processes and its other process (ask/ipc_asker.cpp)
// agree.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace ipc_case {

// Descriptors that the other process inherits have these numbers.
constexpr int kFile = 50;

inline std::vector<unsigned char> Pattern(size_t bytes, unsigned char first) {
  std::vector<unsigned char> values(bytes);
  for (size_t i = 0; i < bytes; ++i) values[i] = static_cast<unsigned char>(first + i * 7);
  return values;
}

// Handles as words of a command line.
template <typename T>
std::string ToHex(const T& handle) {
  unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, &handle, sizeof bytes);
  std::string text;
  for (const unsigned char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}
template <typename T>
T FromHex(const std::string& text) {
  unsigned char bytes[sizeof(T)] = {};
  for (size_t i = 0; i < sizeof bytes && 2 * i + 1 < text.size(); ++i)
    bytes[i] = static_cast<unsigned char>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
  T handle;
  std::memcpy(&handle, bytes, sizeof handle);
  return handle;
}

}  // namespace ipc_case
