// Device printf: the host's conversions on arguments that lie in a buffer, each at its natural alignment.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "ir/interpret/machine.h"

namespace ptx2cpu::ir::interpret {

namespace {

struct Directive {
  std::string flags;  // "%", flags, width, precision; '*' replaced by its argument
  int size = 0;       // 1: a 64-bit integer; -1, -2: short, char
  char type = 0;      // 0: the format ended
};

class Printer {
 public:
  Printer(Step& step, uint64_t arguments) : step_(step), arguments_(arguments) {}

  Status Print(std::string_view format);
  std::string text;
  int count = 0;

 private:
  template <typename T>
  Result<T> Next() {
    offset_ = (offset_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    std::byte* at = TRY(Locate(step_, Space::kGeneric, arguments_ + offset_, sizeof(T), 1, Access::kRead));
    offset_ += sizeof(T);
    ++count;
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
  }
  template <typename Byte, typename Short, typename Int, typename Long>
  Result<Long> NextInteger(int size) {
    if (size > 0) return Next<Long>();
    const Int value = TRY(Next<Int>());  // smaller ones are passed as int
    if (size == 0) return value;
    return size == -1 ? static_cast<Short>(value) : static_cast<Byte>(value);
  }
  Result<Directive> Parse(std::string_view format, size_t* position);
  Result<bool> Convert(const Directive& directive);  // false: no such conversion
  template <typename T>
  void Append(const std::string& conversion, T value) {
    int length = std::snprintf(nullptr, 0, conversion.c_str(), value);
    if (length <= 0) return;
    std::string piece(static_cast<size_t>(length) + 1, '\0');
    std::snprintf(piece.data(), piece.size(), conversion.c_str(), value);
    text.append(piece, 0, static_cast<size_t>(length));
  }

  Step& step_;
  uint64_t arguments_;
  uint64_t offset_ = 0;
};

bool IsOneOf(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

Result<Directive> Printer::Parse(std::string_view format, size_t* position) {
  Directive directive{.flags = "%"};
  for (; *position < format.size() && IsOneOf(format[*position], "-+ #0123456789.*"); ++*position) {
    if (format[*position] == '*') {
      const int32_t given = TRY(Next<int32_t>());
      if (directive.flags.back() == '.' && given < 0)
        directive.flags.pop_back();  // a negative precision is none
      else
        directive.flags += std::to_string(given);
    } else {
      directive.flags += format[*position];
    }
  }
  for (; *position < format.size() && IsOneOf(format[*position], "hlLqjzt"); ++*position) {
    if (format[*position] == 'h')
      directive.size = std::max(directive.size - 1, -2);
    else if (format[*position] != 'L')
      directive.size = 1;
  }
  if (*position < format.size()) directive.type = format[(*position)++];
  return directive;
}

Result<bool> Printer::Convert(const Directive& d) {
  switch (d.type) {
    case 'd':
    case 'i':
      Append(d.flags + "lld",
             static_cast<long long>(TRY((NextInteger<int8_t, int16_t, int32_t, int64_t>(d.size)))));
      break;
    case 'o':
    case 'u':
    case 'x':
    case 'X':
      Append(d.flags + "ll" + d.type, static_cast<unsigned long long>(
                                          TRY((NextInteger<uint8_t, uint16_t, uint32_t, uint64_t>(d.size)))));
      break;
    case 'a':
    case 'A':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      Append(d.flags + d.type, TRY(Next<double>()));
      break;
    case 'c':
      Append(d.flags + "c", TRY(Next<int32_t>()));
      break;
    case 'p':
      Append(d.flags + "p", reinterpret_cast<void*>(TRY(Next<uint64_t>())));
      break;
    case 's': {
      uint64_t address = TRY(Next<uint64_t>());
      std::string argument = address == 0 ? "(null)" : TRY(ReadText(step_, address));
      Append(d.flags + "s", argument.c_str());
      break;
    }
    default:
      return false;
  }
  return true;
}

Status Printer::Print(std::string_view format) {
  size_t position = 0;
  while (position < format.size()) {
    size_t percent = std::min(format.find('%', position), format.size());
    text.append(format, position, percent - position);
    position = percent + 1;
    if (percent == format.size()) break;
    if (position < format.size() && format[position] == '%') {
      text += '%';
      ++position;
      continue;
    }
    Directive directive = TRY(Parse(format, &position));
    if (!TRY(Convert(directive))) {  // as the device does: the rest verbatim
      text.append(format, percent);
      count = -1;
      break;
    }
  }
  return {};
}

}  // namespace

Result<std::string> FormatPrintf(Step& step, uint64_t format, uint64_t arguments, int* count) {
  std::string pattern = TRY(ReadText(step, format));
  Printer printer(step, arguments);
  TRY_STATUS(printer.Print(pattern));
  *count = printer.count;
  return printer.text;
}

}  // namespace ptx2cpu::ir::interpret
