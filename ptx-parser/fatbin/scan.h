// Finds the containers of a file by their magic number, at any offset. A container is accepted only where its
// entries tile it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ptx-parser/fatbin/format.h"
#include "ptx-parser/fatbin/places.h"
#include "ptx-parser/fatbin/warnings.h"

namespace ptx2cpu::ptx::fatbin {

// Offset of the first container magic at or after `from`, bytes.size() if there is none.
uint64_t FindMagic(Bytes bytes, uint64_t from);

// `fatbin_sections` are where containers are known to be: there even a header of an unknown version is a
// damaged container, elsewhere it is only four bytes that look like the magic. By begin.
struct Scan {
  std::vector<Container> containers;  // without members and sections yet
  std::vector<Range> damaged;         // what damaged containers state to cover, by begin
};
Scan ScanContainers(Bytes bytes, std::span<const Section> fatbin_sections, WarningList& warnings);

}  // namespace ptx2cpu::ptx::fatbin
