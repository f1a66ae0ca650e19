// Thousands of cases of the kernels that make_vectors writes, which compute values from values: their own `//
// run:` lines with other data. What a GPU gave for them is beside the vector file as <row>.many, in the form
// of a record: in place of results it has a word for each 256 of them, except where a rule lets results
// differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/record/vectors.h"

namespace ptx2cpu::rt {

inline constexpr uint32_t kManyThreads = 1024, kManyBatches = 4;  // of one kernel
inline constexpr size_t kElementsOfWord = 256;

// The runs of a kernel are side by side. Where the only operand of an approximate instruction has 16 bits,
// they are all of its values (tests/ptx/all_values.ptx has those of the others); else kManyBatches: data as
// of its last run; any bits; small integers, and floats of all kinds around 1; integers beside small ones,
// and floats whose products are around the smallest normal number. Nothing if the file is not one that
// make_vectors wrote.
Result<std::vector<VectorRun>> ManyRuns(const VectorFile& file);

// What a record keeps of a result.
std::vector<std::byte> Summary(const VectorRule& rule, const ScalarType& type,
                               const std::vector<std::byte>& result);

// One line with the first difference; nothing if the summary of `actual` is `recorded`.
std::optional<std::string> FindManyDifference(const VectorRule& rule, const ScalarType& type,
                                              const std::vector<std::byte>& actual,
                                              const std::vector<std::byte>& recorded);

}  // namespace ptx2cpu::rt
