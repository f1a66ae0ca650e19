#include "tools/ptx2cpu/order_session.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "tools/ptx2cpu/child_program.h"
#include "tools/ptx2cpu/temporary_folder.h"

namespace ptx2cpu::tool {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> Processes(const fs::path& recording) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(recording, error)) {
    if (entry.path().filename().string().starts_with("process_")) folders.push_back(entry.path());
  }
  std::ranges::sort(folders, {}, [](const fs::path& path) {
    return std::pair{path.string().size(), path.string()};  // process_2 before process_10
  });
  return folders;
}

}  // namespace

Status RunInOtherOrders(const Arguments& arguments, const std::string& program,
                        const std::vector<std::string>& command,
                        std::vector<std::pair<std::string, std::string>> environment) {
  const uint64_t code = TRY(arguments.Number("--error-exitcode", 0, 255));
  std::string folder = arguments.Value("--record").value_or("");
  std::optional<TemporaryFolder> made;
  if (folder.empty()) {
    made.emplace(TRY(TemporaryFolder::Make("order")));
    folder = made->path();
    environment.emplace_back("PTX2CPU_RECORD", folder);
  }
  const int status = TRY(RunChild(program, command, environment));
  int worst = 0;
  for (const fs::path& process : Processes(folder)) {
    std::vector<std::string> replay = {"ptx2cpu", "replay", process.string(), "--order",
                                       *arguments.Value("--order")};
    if (const auto count = arguments.Value("--orders")) replay.insert(replay.end(), {"--orders", *count});
    const int ended = TRY(RunChild("/proc/self/exe", std::move(replay), {}));
    worst = std::max(worst, WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended));
  }
  made.reset();
  if (worst > static_cast<int>(kDiffers)) std::exit(worst);  // it has printed why
  if (worst != 0 && code != 0) std::exit(static_cast<int>(code));
  EndAs(status);
}

}  // namespace ptx2cpu::tool
