// The error of a call of the operating system on a file.
#pragma once

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <string_view>

#include "ir/result.h"

namespace ptx2cpu::ptx::fatbin {

// `what` continues "cannot"; `number` is errno's.
inline Error FileError(const std::filesystem::path& path, std::string_view what, int number) {
  return {.code = ErrorCode::kFile,
          .message = fmt::format("cannot {}: {}", what, std::strerror(number)),
          .at = {.file = path.string()}};
}

}  // namespace ptx2cpu::ptx::fatbin
