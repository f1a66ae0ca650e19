// One recorded launch, and its lines in recording.txt.
//
// Each line begins with a word; text that may have spaces is the last of its line, percent-encoded where it
// has control characters. A launch begins with "launch" and ends with "end": without that it is incomplete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "ir/result.h"
#include "runtime/launch/launch.h"

namespace ptx2cpu::rt::recording {

// Bytes at an address, as numbers of blocks (block_store.h).
struct Area {
  uint64_t address = 0, bytes = 0;
  uint64_t order = 0;  // of allocations: a later one has a larger number; 0: no allocation
  std::string what;    // "device memory", "variable table", "texture", ...
  std::vector<uint32_t> before, after;
};

// The address of a name in the kernel's module: a variable, or the identity of a function.
struct NamedPlace {
  std::string name;
  uint64_t address = 0;
};

struct LaunchRecord {
  uint64_t number = 0;  // of the process, from 0
  std::string kernel;
  uint32_t module = 0;
  LaunchShape shape;
  bool cooperative = false;
  std::vector<std::byte> parameters;
  std::vector<NamedPlace> places;
  std::vector<Area> areas;  // by address; none overlap
  uint64_t heap_bytes = 0;  // the limit of device malloc; 0: not known
  // The reason why it cannot be run again; empty: it can.
  std::string not_repeatable;
  std::string error;  // why it did not run to its end; empty: it did
};

struct ModuleRecord {
  uint32_t number = 0;
  bool contract = true;            // the image's --fmad
  std::vector<std::string> names;  // of its texts, for messages; text I of module N is the file N.I.ptx
};

std::string Lines(const ModuleRecord& module);
std::string Lines(const LaunchRecord& launch);

// The contents of recording.txt. A launch without its last line is left out.
struct Records {
  std::string program;  // its command line
  std::vector<ModuleRecord> modules;
  std::vector<LaunchRecord> launches;
};
std::string FirstLines(const std::string& program);
// Errors: kContainer, with the line.
Result<Records> ReadRecords(std::istream& in);

}  // namespace ptx2cpu::rt::recording
