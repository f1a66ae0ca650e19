#include "runtime/check/wanted.h"

#include <cstdio>
#include <cstdlib>

#include "runtime/abi/check.h"

namespace ptx2cpu::rt::check {

namespace {

struct Kind {
  std::string_view word;
  uint32_t bit;
};
constexpr Kind kKinds[] = {{"memory", PTX2CPU_CHECKS_MEMORY},
                           {"race", PTX2CPU_CHECKS_RACE},
                           {"sync", PTX2CPU_CHECKS_SYNC},
                           {"init", PTX2CPU_CHECKS_INIT},
                           {"leak", PTX2CPU_CHECKS_LEAK}};

}  // namespace

std::optional<uint32_t> ParseKinds(std::string_view list) {
  uint32_t kinds = 0;
  while (!list.empty()) {
    const size_t end = list.find(',');
    const std::string_view word = list.substr(0, end);
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
    uint32_t bit = 0;
    for (const Kind& kind : kKinds) {
      if (kind.word == word) bit = kind.bit;
    }
    if (bit == 0) return std::nullopt;
    kinds |= bit;
  }
  return kinds;
}

uint32_t WantedKinds() {
  static const uint32_t kinds = [] {
    const char* list = std::getenv("PTX2CPU_CHECK");
    const auto parsed = ParseKinds(list == nullptr ? "" : list);
    if (!parsed) {
      std::fprintf(
          stderr,
          "ptx2cpu: PTX2CPU_CHECK='%s' is not a list of memory, race, sync, init, leak: nothing is checked\n",
          list);
    }
    return parsed.value_or(0);
  }();
  return kinds;
}

bool KeepsFreedBlocks() { return (WantedKinds() & (PTX2CPU_CHECKS_MEMORY | PTX2CPU_CHECKS_RACE)) != 0; }

}  // namespace ptx2cpu::rt::check
