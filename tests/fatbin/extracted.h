// The images that the container reader finds in a file that must be readable.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "ptx-parser/fatbin/fatbin.h"

namespace ptx2cpu::fatbin_test {

inline ptx::Extraction Extracted(const std::string& bytes, std::string name = "program") {
  auto extraction = ptx::ExtractOwned(bytes, std::move(name));
  if (!extraction) FAIL(extraction.error().Render());
  return *std::move(extraction);
}

}  // namespace ptx2cpu::fatbin_test
