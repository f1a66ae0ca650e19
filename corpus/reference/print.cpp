// References of the printing kernels.
#include <cstdio>

#include "reference.h"

namespace corpus {
namespace {

template <typename... Values>
std::string Format(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

void PrintSingle(Call& call) {
  const uint32_t n = call.Value<uint32_t>(2);
  call.printed = Format("n=%u threads=%u\n", n, call.Threads());
  for (uint32_t i = 0; i < n; ++i) {
    const int value = call.In<int32_t>(0)[i];
    const double x = call.In<double>(1)[i];
    call.printed += Format("%3u: %+6d %#010x %c %12.5f %.3e %s\n", i, value, static_cast<unsigned>(value),
                           static_cast<int>('a' + i), x, x, value < 0 ? "below" : "not below");
  }
  call.printed += "long -5000000000 18446744073709551615 123456789abcdef, 100%\n";
}

void PrintThreads(Call& call) {
  const uint32_t n = call.Value<uint32_t>(1);
  for (uint32_t i = 0; i < n; ++i) {
    const int value = call.In<int32_t>(0)[i];
    if (value % 4 == 0) call.printed += Format("element %u of %u is %d\n", i, n, value);
  }
}

}  // namespace

void AddPrintReferences(References& references) {
  references["printf_single"] = PrintSingle;
  references["printf_threads"] = PrintThreads;
}

}  // namespace corpus
