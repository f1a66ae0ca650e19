// A bounded list of warnings: a hostile file must not produce a gigabyte of warnings.
#pragma once

#include <string>
#include <utility>

#include "ptx-parser/fatbin/fatbin.h"

namespace ptx2cpu::ptx::fatbin {

class WarningList {
 public:
  explicit WarningList(Extraction& extraction) : extraction_(extraction) {}
  void Add(uint64_t offset, std::string message) {
    if (extraction_.warnings.size() < kMaxWarnings) {
      extraction_.warnings.push_back({offset, std::move(message)});
    } else {
      ++extraction_.warnings_left_out;
    }
  }

 private:
  Extraction& extraction_;
};

}  // namespace ptx2cpu::ptx::fatbin
