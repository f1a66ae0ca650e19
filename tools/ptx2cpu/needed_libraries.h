// The shared libraries that an ELF file names, and which of them are there when ptx2cpu runs it.
#pragma once

#include <string>
#include <vector>

#include "ir/result.h"

namespace ptx2cpu::tool {

enum class LibraryState : uint8_t {
  kOwn,      // ptx2cpu has one of this name
  kFound,    // in the folders that the loader searches
  kForeign,  // there, but NVIDIA's: its calls fail without a driver
  kMissing,
};

struct NeededLibrary {
  std::string name;
  LibraryState state;
};

// The libraries of DT_NEEDED, in its order; nothing for files that are not ELF files of 64 bits. `folder`:
// that of ptx2cpu's own libraries. Searched: DT_RUNPATH or DT_RPATH, LD_LIBRARY_PATH, /etc/ld.so.conf's usual
// folders.
Result<std::vector<NeededLibrary>> NeededLibraries(const std::string& file, const std::string& folder);

}  // namespace ptx2cpu::tool
