// The functions of external_functions.def by name.
#pragma once

#include <string>
#include <string_view>

namespace ptx2cpu::ir {

// The device runtime (dynamic parallelism) has functions named with a prefix, listed in
// runtime/abi/device_runtime.def: the name without the prefix, empty where it is none.
std::string_view DeviceRuntimeName(std::string_view name);
bool IsExternalFunction(std::string_view name);
std::string ExternalFunctionNames();  // "vprintf, malloc, ...", for messages

}  // namespace ptx2cpu::ir
