#include "tools/ptx2cpu/atomics_option.h"

namespace ptx2cpu::tool {

Result<std::vector<Setting>> AtomicsSettings(const Arguments& arguments) {
  const auto order = arguments.Value("--atomics");
  if (!order) return {};
  if (*order != "any" && *order != "ordered")
    return Fail(ErrorCode::kUsage, "--atomics takes any or ordered, not '" + *order + "'");
  return std::vector<Setting>{{"PTX2CPU_ATOMICS", *order}};
}

}  // namespace ptx2cpu::tool
