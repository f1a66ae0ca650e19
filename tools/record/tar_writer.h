// Writes a POSIX ustar archive, so that many small records travel as one file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "ir/result.h"

namespace ptx2cpu::rt {

class TarWriter {
 public:
  static Result<TarWriter> Create(const std::filesystem::path& path);

  // `name` must be at most 99 bytes.
  Status Add(std::string_view name, std::span<const std::byte> data);
  Status Add(std::string_view name, std::string_view text) {
    return Add(name, std::as_bytes(std::span(text.data(), text.size())));
  }
  // Writes the end mark; an archive without it is incomplete.
  Status Finish();

 private:
  explicit TarWriter(std::ofstream out) : out_(std::move(out)) {}

  std::ofstream out_;
};

}  // namespace ptx2cpu::rt
