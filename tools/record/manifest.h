// corpus/manifest.txt: which files the corpus holds, and how each kernel is launched and checked.
// corpus/README.md describes the format. Reading keeps SPECs as text; ParseArguments turns one case's into
// data.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ir/result.h"
#include "tools/record/spec.h"

namespace ptx2cpu::rt {

// A built file of the corpus.
struct CorpusFile {
  std::string path = {};  // relative to the corpus folder
  std::string kind = {};  // fatbin, ptx, executable, shared-object, object, archive
  std::string source = {};
  std::string command = {};
  std::string sha256 = {};
  uint64_t size = 0;
  std::vector<std::string> ptx = {};      // targets of the PTX inside, e.g. sm_75; empty if there is none
  std::vector<std::string> kernels = {};  // names of the kernels inside
};

struct CorpusParameter {
  std::string name = {};
  std::string role = {};  // in, out, inout, value, struct
  std::string type = {};  // SPEC type; for a struct its size in bytes
};

enum class CompareRule : uint8_t {
  kBits,  // equal bytes
  kUlp,   // floats at most `tolerance` units in the last place apart
  kAbs,   // floats at most `tolerance` apart
};

// What an output buffer must hold after the launch.
struct Expectation {
  uint32_t argument = 0;
  CompareRule rule = CompareRule::kBits;
  double tolerance = 0;
  std::string path = {};  // raw bytes, relative to the corpus folder
};

enum class StdoutRule : uint8_t { kNone, kExact, kAnyOrder };

struct LaunchCase {
  std::string name = {};
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{1, 1, 1};
  uint32_t shared_bytes = 0;
  bool cooperative = false;  // all blocks resident at once, so that they may meet at grid barriers
  std::array<uint32_t, 3> cluster{1, 1, 1};  // blocks that run as a cluster
  std::vector<std::pair<std::string, std::string>> constants =
      {};                                      // module variable, SPEC; written before the launch
  std::vector<std::string> arguments = {};     // SPECs
  std::vector<Expectation> expectations = {};  // one for each out and inout argument
  StdoutRule stdout_rule = StdoutRule::kNone;
  std::string stdout_path = {};  // expected output of printf
};

struct CorpusKernel {
  std::string name = {};
  std::string source = {};
  std::string shows = {};  // one line
  std::string needs = {};  // demands on the launch shape, empty if any will do
  std::string file = {};   // the file to take it from by default
  std::vector<CorpusParameter> parameters = {};
  std::vector<LaunchCase> cases = {};
};

struct Manifest {
  std::filesystem::path folder = {};  // where the manifest lies; all its paths are relative to it
  std::vector<CorpusFile> files = {};
  std::vector<CorpusKernel> kernels = {};

  const CorpusFile* FindFile(std::string_view path) const;
  const CorpusKernel* FindKernel(std::string_view name) const;
};

Result<Manifest> ReadManifest(const std::filesystem::path& path);

// The arguments of a case, checked against the kernel's parameters.
Result<std::vector<Argument>> ParseArguments(const Manifest& manifest, const CorpusKernel& kernel,
                                             const LaunchCase& launch);

// Whole file as bytes.
Result<std::vector<std::byte>> ReadCorpusBytes(const Manifest& manifest, const std::string& path);

}  // namespace ptx2cpu::rt
