// The functions of external_functions.def by name.
#pragma once

#include <string>
#include <string_view>

namespace ptx2cpu::ir {

bool IsExternalFunction(std::string_view name);
std::string ExternalFunctionNames();  // "vprintf, malloc, ...", for messages

}  // namespace ptx2cpu::ir
