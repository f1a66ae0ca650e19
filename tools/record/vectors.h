// Instruction vectors: tests/ptx/<row>.ptx with `// run:` lines, and beside each a <row>.gpu record of what a
// real GPU computed.
//
// clang-format off
//   // row: NAME [NAME ...]                             rows of the instruction table that the file covers
//   // run: KERNEL grid=X[,Y,Z] block=X[,Y,Z] [shared=BYTES] compare=RULE SPEC SPEC ...
//   // expect: ARG HEX                                  bytes of a buffer after the run above, where no GPU record can be had
// clang-format on
//
// RULE: bits (equal bytes), value (equal, any NaN for a NaN), near:ABS:ULP (either tolerance holds).
//
// A record is lines of text: `gpu NAME`, `driver VERSION`, `date YYYY-MM-DD`, then `KERNEL RUN ARG HEX`,
// where RUN counts the run lines of that kernel from 0 and HEX is the buffer's bytes in memory order.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ir/result.h"
#include "tools/record/spec.h"

namespace ptx2cpu::rt {

struct VectorRule {
  enum class Kind : uint8_t { kBits, kValue, kNear } kind = Kind::kBits;
  double absolute = 0;
  uint64_t ulp = 0;
};

struct VectorRun {
  std::string kernel;
  uint32_t number = 0;  // of this kernel's runs
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  uint32_t shared_bytes = 0;
  VectorRule rule;
  std::vector<std::string> specs;
  std::map<uint32_t, std::vector<std::byte>> expected;  // from `expect:` lines
  uint32_t line = 0;
};

struct VectorFile {
  std::filesystem::path path;
  std::string text;
  std::vector<std::string> rows;
  std::vector<VectorRun> runs;
};

struct VectorRecord {
  std::string gpu, driver, date;
  std::map<std::tuple<std::string, uint32_t, uint32_t>, std::vector<std::byte>>
      buffers;  // kernel, run, argument
  const std::vector<std::byte>* Find(const VectorRun& run, uint32_t argument) const;
};

Result<VectorFile> ReadVectorFile(const std::filesystem::path& path);
Result<VectorFile> ParseVectorFile(std::string text, const std::filesystem::path& path);
// Nothing if there is no record beside the file. `extension`: ".many" for that of many.h.
Result<std::optional<VectorRecord>> ReadVectorRecord(const std::filesystem::path& vector_file,
                                                     const char* extension = ".gpu");
Result<std::vector<Argument>> ParseArguments(const VectorRun& run);

// Nothing when equal under the rule; else one line with the first difference.
std::optional<std::string> FindVectorDifference(const VectorRule& rule, const ScalarType& type,
                                                const std::vector<std::byte>& actual,
                                                const std::vector<std::byte>& expected);

std::string ToHex(const std::vector<std::byte>& bytes);
std::optional<std::vector<std::byte>> FromHex(std::string_view digits);

}  // namespace ptx2cpu::rt
