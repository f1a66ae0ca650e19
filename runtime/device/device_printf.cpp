#include "runtime/device/device_printf.h"

#include <algorithm>
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

// h is -1, hh is -2, l and the like 1: how much of the argument counts.
template <typename Byte, typename Short, typename Int, typename Long>
Long NextInteger(ArgumentReader& reader, int size) {
  if (size > 0) return reader.Next<Long>();
  const Int value = reader.Next<Int>();  // smaller ones are passed as int
  if (size == 0) return value;
  return size == -1 ? static_cast<Short>(value) : static_cast<Byte>(value);
}

// Formats one conversion. `flags` is "%" with flags, width and precision (a '*' is already replaced).
bool AppendConversion(std::string& out, const std::string& flags, int size, char type,
                      ArgumentReader& reader) {
  if (IsOneOf(type, "di")) {
    AppendFormatted(out, flags + "lld", NextInteger<signed char, short, int, long long>(reader, size));
  } else if (IsOneOf(type, "ouxX")) {
    AppendFormatted(out, flags + "ll" + type,
                    NextInteger<unsigned char, unsigned short, unsigned, unsigned long long>(reader, size));
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
    for (; IsOneOf(*p, "-+ #0123456789.*"); ++p) {
      if (*p != '*') {
        flags += *p;
      } else if (flags.back() != '.') {
        flags += std::to_string(reader.Next<int>());
      } else {  // a GPU takes no precision from the arguments (seen on an H200)
        out += start;
        return -1;
      }
    }
    int size = 0;
    for (; IsOneOf(*p, "hlLqjzt"); ++p) {
      if (*p == 'h')
        size = std::max(size - 1, -2);
      else if (*p != 'L')
        size = 1;
    }
    if (*p == 0 || !AppendConversion(out, flags, size, *p, reader)) {
      out += start;
      return -1;
    }
    ++p;
  }
  return reader.count();
}

}  // namespace ptx2cpu::rt
