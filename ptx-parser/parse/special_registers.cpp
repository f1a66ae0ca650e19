// The predefined identifiers of PTX ISA section 10, from ir/special_registers.def. Vectors (%tid) appear
// once, without component.
#include <algorithm>
#include <string>
#include <vector>

#include "ir/special_register.h"
#include "ptx-parser/parse/ast.h"

namespace ptx2cpu::ptx::ast {

namespace {

// Sorted, so that a binary search finds a name.
std::vector<std::string> MakeNames() {
  std::vector<std::string> names;
  for (int i = 1; i < ir::kCountOf<ir::Special>; ++i) {
    const auto special = static_cast<ir::Special>(i);
    const ir::SpecialInfo& info = ir::Info(special);
    const std::string name = "%" + std::string(info.word.substr(0, info.word.find('.')));
    if (info.count == 0) names.push_back(name);
    for (uint32_t n = 0; n < info.count; ++n) {
      names.push_back(name + std::to_string(n));
      if (special == ir::Special::kPerfCounter) names.push_back(names.back() + "_64");
    }
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

const std::vector<std::string>& Names() {
  static const std::vector<std::string> names = MakeNames();
  return names;
}

}  // namespace

std::string_view SpecialRegisterName(uint32_t symbol) {
  CHECK(symbol < Names().size(), "no such special register");
  return Names()[symbol];
}

uint32_t FindSpecialRegister(std::string_view name) {
  const auto found = std::ranges::lower_bound(Names(), name);
  if (found == Names().end() || *found != name) return kNotSpecial;
  return static_cast<uint32_t>(found - Names().begin());
}

}  // namespace ptx2cpu::ptx::ast
