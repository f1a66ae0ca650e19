#include "ir/external_functions.h"

#include <algorithm>

namespace ptx2cpu::ir {

namespace {
constexpr std::string_view kNames[] = {
#define EXTERNAL(name, function, arguments, results, meaning) #name,
#include "ir/external_functions.def"
#undef EXTERNAL
};
}  // namespace

bool IsExternalFunction(std::string_view name) {
  return std::ranges::find(kNames, name) != std::end(kNames) || !DeviceRuntimeName(name).empty();
}

std::string_view DeviceRuntimeName(std::string_view name) {
  for (std::string_view prefix : {"__cudaCDP2", "cuda"}) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return {};
}

std::string ExternalFunctionNames() {
  std::string names;
  for (std::string_view name : kNames) names.append(names.empty() ? "" : ", ").append(name);
  return names;
}

}  // namespace ptx2cpu::ir
