// The ptx2cpu program: picks the verb, prints its error, returns its exit code. All work is in the rooms.
#include <fmt/format.h>

#include <cstdio>

#include "tools/ptx2cpu/verbs.h"
#include "tools/ptx2cpu/version.h"

namespace {

using namespace ptx2cpu;

int Report(const Error& error) {
  std::fflush(stdout);
  fmt::print(stderr, "{}", error.Render());
  return static_cast<int>(error.code);
}

int Usage(std::string_view problem) {
  fmt::print(stderr, "ptx2cpu: {}\n\n{}", problem, tool::RenderHelp());
  return static_cast<int>(ErrorCode::kUsage);
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return Usage("which verb?");
  const std::string_view name = words[1];
  if (name == "--help" || name == "-h" || name == "help") return fmt::print("{}", tool::RenderHelp()), 0;
  if (name == "--version") return fmt::print("{}\n", tool::Version()), 0;
  if (name == "--manual-page") return fmt::print("{}", tool::RenderManualPage()), 0;
  if (name == "--bash-completion") return fmt::print("{}", tool::RenderBashCompletion()), 0;
  for (const tool::Verb& verb : tool::Verbs()) {
    if (verb.name != name) continue;
    const std::span<const char* const> rest(words + 2, static_cast<size_t>(count - 2));
    for (const std::string_view word : rest) {
      if (verb.words == tool::Arguments::Words::kCommandFollows && (word == "--" || !word.starts_with('-')))
        break;
      if (word == "--help" || word == "-h") return fmt::print("{}", tool::RenderHelp(verb)), 0;
    }
    const auto arguments = tool::Arguments::Parse(verb.options, rest, verb.words);
    if (!arguments) {
      Error error = arguments.error();
      if (error.hint.empty()) error.hint = fmt::format("usage: ptx2cpu {} {}", verb.name, verb.usage);
      return Report(error);
    }
    const Status status =
        verb.run != nullptr ? verb.run(*arguments) : tool::RunInObject(verb.name, *arguments);
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
      fmt::print(stderr, "error: cannot write to standard output\n");
      return static_cast<int>(ErrorCode::kFile);
    }
    return status ? 0 : Report(status.error());
  }
  return Usage(fmt::format("no verb '{}'", name));
}
