// PTX with its name, and places in it.
#pragma once

#include <cstdint>
#include <string>

namespace ptx2cpu::rt {

struct PtxText {
  std::string text;
  std::string name;  // for messages
};

// Where a fault happened. line is 0 where that is not known.
struct FaultPlace {
  std::string file;
  uint32_t line = 0;
  std::string excerpt;  // the line of PTX
  std::string source_file;
  uint32_t source_line = 0;  // of builds with -lineinfo or -g; else 0
};

}  // namespace ptx2cpu::rt
