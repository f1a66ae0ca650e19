#include "runtime/device_printf.h"

#include <cstdio>
#include <cstring>
#include <string_view>

namespace ptx2cpu::rt {

namespace {

// Reads the packed arguments in order.
class ArgumentReader {
 public:
  explicit ArgumentReader(const uint8_t* bytes) : bytes_(bytes) {}

  template <typename T>
  T Next() {
    offset_ = (offset_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value;
    std::memcpy(&value, bytes_ + offset_, sizeof(T));
    offset_ += sizeof(T);
    ++count_;
    return value;
  }
  int count() const { return count_; }

 private:
  const uint8_t* bytes_;
  size_t offset_ = 0;
  int count_ = 0;
};

template <typename T>
void AppendFormatted(std::string& out, const std::string& conversion, T value) {
  char small[256];
  const int length = std::snprintf(small, sizeof small, conversion.c_str(), value);
  if (length < 0) return;
  if (static_cast<size_t>(length) < sizeof small) {
    out.append(small, static_cast<size_t>(length));
    return;
  }
  std::string large(static_cast<size_t>(length) + 1, 0);
  std::snprintf(large.data(), large.size(), conversion.c_str(), value);
  out.append(large.data(), static_cast<size_t>(length));
}

bool IsOneOf(char c, std::string_view set) { return c != 0 && set.find(c) != std::string_view::npos; }

// Formats one conversion. `flags` is "%" with flags, width and precision (a '*' is already replaced).
bool AppendConversion(std::string& out, const std::string& flags, int long_count, char type, ArgumentReader& reader) {
  if (IsOneOf(type, "di")) {
    AppendFormatted(out, flags + "lld", long_count > 0 ? reader.Next<long long>() : static_cast<long long>(reader.Next<int>()));
  } else if (IsOneOf(type, "ouxX")) {
    const unsigned long long value = long_count > 0 ? reader.Next<unsigned long long>() : reader.Next<unsigned>();
    AppendFormatted(out, flags + "ll" + type, value);
  } else if (IsOneOf(type, "aAeEfFgG")) {
    AppendFormatted(out, flags + type, reader.Next<double>());
  } else if (type == 'c') {
    AppendFormatted(out, flags + "c", reader.Next<int>());
  } else if (type == 's') {
    const char* text = reader.Next<const char*>();
    AppendFormatted(out, flags + "s", text == nullptr ? "(null)" : text);
  } else if (type == 'p') {
    AppendFormatted(out, flags + "p", reader.Next<void*>());
  } else {
    return false;
  }
  return true;
}

}  // namespace

int FormatDevicePrintf(std::string& out, const char* format, const uint8_t* arguments) {
  ArgumentReader reader(arguments);
  for (const char* p = format; *p != 0;) {
    if (*p != '%') {
      const char* next = std::strchr(p, '%');
      const size_t length = next == nullptr ? std::strlen(p) : static_cast<size_t>(next - p);
      out.append(p, length);
      p += length;
      continue;
    }
    const char* start = p++;
    if (*p == '%') {
      out += *p++;
      continue;
    }
    std::string flags = "%";
    while (IsOneOf(*p, "-+ #0123456789.*")) {
      if (*p == '*') flags += std::to_string(reader.Next<int>());
      else flags += *p;
      ++p;
    }
    int long_count = 0;
    while (IsOneOf(*p, "hlLqjzt")) {
      if (*p == 'l' || *p == 'q' || *p == 'j' || *p == 'z' || *p == 't') ++long_count;
      ++p;
    }
    if (*p == 0 || !AppendConversion(out, flags, long_count, *p, reader)) {
      out += start;
      return -1;
    }
    ++p;
  }
  return reader.count();
}

}  // namespace ptx2cpu::rt
