// Two recordings of one program, launch by launch.
#pragma once

#include <optional>
#include <string>

#include "runtime/recording/reader.h"

namespace ptx2cpu::rt::recording {

// Describes the first launch that differs, in several lines: another kernel or shape, parameters, memory
// before it (which the host or a copy wrote) or after it. Nothing: all launches that both have are alike.
// Errors: kContainer.
Result<std::optional<std::string>> FirstDifference(const Reader& a, const Reader& b);

}  // namespace ptx2cpu::rt::recording
