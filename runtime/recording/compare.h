// Two recordings of one program, launch by launch.
#pragma once

#include <optional>
#include <string>

#include "runtime/recording/reader.h"

namespace ptx2cpu::rt::recording {

// The first launch that differs, and how: another kernel or shape, parameters, memory before it (which the
// host or a copy wrote) or after it. Of several lines. Nothing: all launches that both have are alike.
// Errors: kContainer.
Result<std::optional<std::string>> FirstDifference(const Reader& a, const Reader& b);

}  // namespace ptx2cpu::rt::recording
