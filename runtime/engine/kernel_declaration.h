// What a kernel's text declares, known without compiling it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/result.h"

namespace ptx2cpu::rt {

class KernelSource;

struct KernelDeclaration {
  struct Parameter {
    uint32_t offset, size;  // bytes; in the parameter buffer
  };
  std::vector<Parameter> parameters;
  std::array<uint32_t, 3> max_threads;       // .maxntid; 0: none
  std::array<uint32_t, 3> required_cluster;  // .reqnctapercluster; 0: none
};

// Translates the kernel and what it calls. Errors: those that translation finds.
Result<KernelDeclaration> DeclarationOf(KernelSource& source, std::string_view kernel);

}  // namespace ptx2cpu::rt
