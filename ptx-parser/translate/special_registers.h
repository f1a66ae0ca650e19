// Special registers of PTX (section 10) and their names in the IR.
#pragma once

#include <optional>
#include <string_view>

#include "ir/special_register.h"
#include "ptx-parser/parse/ast.h"

namespace ptx2cpu::ptx {

struct SpecialRegister {
  ir::Special special = ir::Special::kNone;  // kNone: always zero
  ir::Type type = ir::Type::kI32;
  uint32_t index = 0;  // of a register with a number
};

// nullopt when there is no such register, or it needs a component (%tid alone).
std::optional<SpecialRegister> FindSpecial(std::string_view name, ast::Component component);

}  // namespace ptx2cpu::ptx
