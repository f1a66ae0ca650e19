// A command as a process: how it ended and what it wrote.
#pragma once

#include <sys/wait.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace ptx2cpu::test {

struct Outcome {
  int code = -1;     // 128 + the signal that ended it
  std::string text;  // of the streams that were asked for
};
enum class Streams : uint8_t { kBoth, kOutput };

// Ended after so many seconds: code 124.
inline Outcome RunShell(const std::string& command, int seconds, Streams streams = Streams::kBoth) {
  Outcome outcome;
  const char* errors = streams == Streams::kBoth ? " 2>&1" : " 2>/dev/null";
  std::FILE* pipe = popen(("timeout " + std::to_string(seconds) + " " + command + errors).c_str(), "r");
  if (pipe == nullptr) {  // no assertion: tests call this on threads of their own
    outcome.text = "no process: " + command;
    return outcome;
  }
  char buffer[4096];
  while (const size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) outcome.text.append(buffer, got);
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

}  // namespace ptx2cpu::test
