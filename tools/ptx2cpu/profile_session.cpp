#include "tools/ptx2cpu/profile_session.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "tools/ptx2cpu/child_program.h"
#include "tools/ptx2cpu/temporary_folder.h"

namespace ptx2cpu::tool {

namespace {

std::string EndOf(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

Status Report(const Arguments& arguments, const std::string& folder, const std::vector<std::string>& command,
              int status) {
  std::string words;
  for (const std::string& word : command) words += (words.empty() ? "" : " ") + word;
  const std::string file = *arguments.Value("--profile"), ended = EndOf(status);
  std::vector<const char*> options = {folder.c_str(), "--output", file.c_str(), "--command",
                                      words.c_str(),  "--ended",  ended.c_str()};
  if (arguments.Has("--json")) options.push_back("--json");
  for (const Verb& verb : Verbs()) {
    if (verb.name == "profile") return RunInObject(verb.name, TRY(Arguments::Parse(verb.options, options)));
  }
  return {};
}

}  // namespace

Status ProfileProgram(const Arguments& arguments, const std::string& program,
                      const std::vector<std::string>& command,
                      const std::vector<std::pair<std::string, std::string>>& environment) {
  TemporaryFolder folder = TRY(TemporaryFolder::Make("profile"));
  std::vector<std::pair<std::string, std::string>> variables = environment;
  variables.emplace_back("PTX2CPU_PROFILE", folder.path());
  const int status = TRY(RunChild(program, command, variables));
  const Status reported = Report(arguments, folder.path(), command, status);
  folder.Remove();
  if (!reported) fmt::print(stderr, "{}", reported.error().Render());
  EndAs(status);
}

}  // namespace ptx2cpu::tool
