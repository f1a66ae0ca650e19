// record_calls SCRIPT [--against RECORD] [--only GROUP]...: calls of libraries as a script lists them, with
// what they return (calls/script.h, calls/machine.h). Libraries are opened by soname: LD_LIBRARY_PATH names
// their folder.
//
// record_calls SCRIPT --names: the functions that the script calls, a line each.
//
// Without a record, the answers of each group are written to standard output. With one, the differences are:
// the exit code is 1 if there are any. Each group is a process, of which several run at once.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "tools/record/calls/machine.h"
#include "tools/record/calls/record.h"

namespace {

using ptx2cpu::calls::Group;
using Lines = std::vector<std::string>;

constexpr unsigned kSecondsOfGroup = 100;

struct Child {
  pid_t id;
  std::FILE* output;
};

// Runs one group in a process whose output goes to a file without a name.
Child Start(const Group& group, const Lines* record) {
  std::FILE* const output = std::tmpfile();
  std::fflush(stdout);
  const pid_t id = fork();
  if (id != 0) return {id, output};
  alarm(kSecondsOfGroup);
  dup2(STDERR_FILENO, STDOUT_FILENO);  // where libraries write messages
  ptx2cpu::calls::Machine machine(record, output);
  const bool equal = machine.Run(group);
  _exit(equal ? 0 : 1);
}

// Writes what the group wrote: its record, or the differences.
bool Finish(const Child& child, const Group& group, bool is_record) {
  int status = 0;
  waitpid(child.id, &status, 0);
  std::fseek(child.output, 0, SEEK_SET);
  std::string text;
  char buffer[4096];
  while (const size_t got = std::fread(buffer, 1, sizeof buffer, child.output)) text.append(buffer, got);
  std::fclose(child.output);
  if (is_record) {
    Lines lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    text = ptx2cpu::calls::PackRecord(group, lines);
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (WIFSIGNALED(status)) std::printf("%s: ended by signal %d\n", group.name.c_str(), WTERMSIG(status));
  std::fflush(stdout);  // what is done stays when a later group is too slow for who waits
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void PrintNames(const std::vector<Group>& groups) {
  std::set<std::string> names;
  for (const Group& group : groups)
    for (const auto& statement : group.statements)
      if (ptx2cpu::calls::IsCallVerb(statement.words[0])) names.insert(statement.words.at(1));
  for (const std::string& name : names) std::puts(name.c_str());
}

}  // namespace

int main(int count, char** arguments) {
  const char* record = nullptr;
  Lines only;
  for (int i = 2; i + 1 < count; i += 2) {
    if (std::strcmp(arguments[i], "--against") == 0) record = arguments[i + 1];
    if (std::strcmp(arguments[i], "--only") == 0) only.emplace_back(arguments[i + 1]);
  }
  if (count < 2) return 2;
  auto groups = ptx2cpu::calls::ReadScript(arguments[1]);
  if (!groups) {
    std::fprintf(stderr, "%s", (groups.error().message + "\n").c_str());
    return 2;
  }
  if (count == 3 && std::strcmp(arguments[2], "--names") == 0) {
    PrintNames(*groups);
    return 0;
  }
  std::map<std::string, Lines> recorded;
  if (record != nullptr) recorded = ptx2cpu::calls::ReadRecords(record, *groups);
  if (!only.empty())
    std::erase_if(*groups,
                  [&](const Group& group) { return std::ranges::find(only, group.name) == only.end(); });
  const size_t at_once = std::clamp(std::thread::hardware_concurrency() / 2, 2u, 8u);
  std::vector<Child> children;
  bool equal = true;
  for (size_t i = 0; i < groups->size(); ++i) {
    for (; children.size() < std::min(groups->size(), i + at_once);) {
      const Group& group = (*groups)[children.size()];
      children.push_back(Start(group, record == nullptr ? nullptr : &recorded[group.name]));
    }
    equal = Finish(children[i], (*groups)[i], record == nullptr) && equal;
  }
  return equal ? 0 : 1;
}
