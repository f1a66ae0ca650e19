// Which checks of device code the process wants: PTX2CPU_CHECK, a list of memory, race, sync, init.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ptx2cpu::rt::check {

// A set of PTX2CPU_CHECKS_*; nothing for a list with another word in it. An empty list is no check.
std::optional<uint32_t> ParseKinds(std::string_view list);
// Of the environment, read once. A list that cannot be read is reported once and counts as empty.
uint32_t WantedKinds();
// Whether blocks of device malloc are not given out again soon after they are freed: use after free is found
// then, and another block's use of the same memory, which the heap orders, counts as no race.
bool KeepsFreedBlocks();

}  // namespace ptx2cpu::rt::check
