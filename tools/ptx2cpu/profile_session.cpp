#include "tools/ptx2cpu/profile_session.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace ptx2cpu::tool {

namespace fs = std::filesystem;

namespace {

volatile sig_atomic_t child = 0;

// A terminal sends its signals to the program too; those that are sent to this process alone are passed to
// it.
void PassSignalsOn() {
  for (const int number : {SIGINT, SIGQUIT}) signal(number, SIG_IGN);
  for (const int number : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2})
    signal(number, [](int received) { kill(static_cast<pid_t>(child), received); });
}

int WaitFor(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

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

// As the program ended.
[[noreturn]] void EndAs(int status) {
  if (WIFSIGNALED(status)) {
    prctl(PR_SET_DUMPABLE, 0);  // the program has left what it leaves
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

}  // namespace

Status ProfileProgram(const Arguments& arguments, const std::string& program,
                      std::vector<std::string> command,
                      const std::vector<std::pair<std::string, std::string>>& environment) {
  std::string folder = (fs::temp_directory_path() / "ptx2cpu-profile.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return Fail(ErrorCode::kFile, "cannot make a temporary folder");
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  const pid_t process = fork();
  if (process < 0)
    return Fail(ErrorCode::kFile, fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (process == 0) {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    setenv("PTX2CPU_PROFILE", folder.c_str(), 1);
    execv(program.c_str(), words.data());
    fmt::print(stderr, "ptx2cpu: cannot run '{}': {}\n", program, std::strerror(errno));
    _exit(127);
  }
  child = process;
  PassSignalsOn();
  const int status = WaitFor(process);
  const Status reported = Report(arguments, folder, command, status);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  if (!reported) fmt::print(stderr, "{}", reported.error().Render());
  EndAs(status);
}

}  // namespace ptx2cpu::tool
