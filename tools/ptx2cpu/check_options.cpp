#include "tools/ptx2cpu/check_options.h"

#include <filesystem>

#include "runtime/check/wanted.h"

namespace ptx2cpu::tool {

Result<std::vector<Setting>> CheckSettings(const Arguments& arguments) {
  std::vector<Setting> settings;
  const auto kinds = arguments.Value("--check");
  if (kinds) {
    if (kinds->empty() || !rt::check::ParseKinds(*kinds))
      return Fail(ErrorCode::kUsage,
                  "--check takes a list of memory, race, sync, init and leak, not '" + *kinds + "'");
    settings.push_back({"PTX2CPU_CHECK", *kinds});
    if (arguments.Has("--json")) settings.push_back({"PTX2CPU_CHECK_JSON", "1"});
  }
  for (const auto& [option, variable] : {std::pair{"--check-report", "PTX2CPU_CHECK_REPORT"},
                                         std::pair{"--check-suppress", "PTX2CPU_CHECK_SUPPRESS"}}) {
    const auto file = arguments.Value(option);
    if (!file) continue;
    if (!kinds) return Fail(ErrorCode::kUsage, std::string(option) + " needs --check");
    settings.push_back({variable, std::filesystem::absolute(*file).string()});
  }
  if (arguments.Has("--error-exitcode")) {
    if (!kinds && !arguments.Has("--order"))
      return Fail(ErrorCode::kUsage, "--error-exitcode needs --check or --order");
    const uint64_t code = TRY(arguments.Number("--error-exitcode", 1, 255));
    settings.push_back({"PTX2CPU_CHECK_EXITCODE", std::to_string(code)});
  }
  return settings;
}

}  // namespace ptx2cpu::tool
