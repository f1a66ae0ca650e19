// The variable that an address was computed from. PTX defines no meaning for an address that leaves its
// variable.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::analysis {

struct VariableRef {
  ir::Space space = ir::Space::kGlobal;
  uint32_t index = 0;  // of the module's variables, or of the function's locals or parameters (kParam)

  bool operator==(const VariableRef&) const = default;
};

// Per value: the one variable whose address it is, plus or minus what comes from no variable's address.
// None: no variable, several, or an address that was taken apart (shifted, stored, passed to a call).
std::vector<std::optional<VariableRef>> AnalyzeAddressVariables(const ir::Function& f);

}  // namespace ptx2cpu::analysis
