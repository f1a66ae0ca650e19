#include "tools/ptx2cpu/child_program.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace ptx2cpu::tool {

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

}  // namespace

Result<int> RunChild(const std::string& program, std::vector<std::string> command,
                     const std::vector<std::pair<std::string, std::string>>& environment) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  const pid_t process = fork();
  if (process < 0)
    return Fail(ErrorCode::kFile, fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (process == 0) {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execv(program.c_str(), words.data());
    fmt::print(stderr, "ptx2cpu: cannot run '{}': {}\n", program, std::strerror(errno));
    _exit(127);
  }
  child = process;
  PassSignalsOn();
  return WaitFor(process);
}

[[noreturn]] void EndAs(int status) {
  if (WIFSIGNALED(status)) {
    prctl(PR_SET_DUMPABLE, 0);  // the program has left what it leaves
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

}  // namespace ptx2cpu::tool
