// The functions of external_functions.def by name.
#pragma once

#include <string>
#include <string_view>

namespace ptx2cpu::ir {

// Functions of the device runtime (dynamic parallelism) have a prefix and are listed in
// runtime/abi/device_runtime.def. Returns the name without the prefix; empty for other functions.
std::string_view DeviceRuntimeName(std::string_view name);
bool IsExternalFunction(std::string_view name);
std::string ExternalFunctionNames();  // "vprintf, malloc, ...", for messages

}  // namespace ptx2cpu::ir
