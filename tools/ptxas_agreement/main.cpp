// ptxas_agreement PTXAS COUNT SEED [LIST]: asks ptxas and this project whether they take COUNT small
// programs, and writes where they differ as a table: one line for each row of the instruction table and kind
// of answer, with an example. LIST is a file that gets every program on which they differ.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <map>
#include <regex>
#include <set>
#include <thread>

#include "tools/ptxas_agreement/ptxas.h"

using namespace ptx2cpu::agreement;

namespace {

constexpr size_t kBatch = 100;

struct Difference {
  size_t count = 0;
  std::set<std::string> rows;
  std::string example;
};
using Key = std::array<std::string, 2>;  // the answers: of ptxas, ours

// Without the names and numbers that differ from program to program.
std::string General(const std::string& message) {
  static const std::regex quoted("'[^']*'|`[^`]*`"), number("[0-9]+");
  return std::regex_replace(std::regex_replace(message, quoted, "..."), number, "N");
}

struct Tally {
  size_t both_take = 0, both_refuse = 0, we_lack = 0, differ = 0;
  std::map<Key, Difference> differences;
  std::FILE* list = nullptr;

  void Add(const Program& program, const std::string& ptxas, const Verdict& ours) {
    const bool taken = ptxas.empty();
    if (taken == ours.accepted) return void(++(taken ? both_take : both_refuse));
    ++(taken && ours.unsupported ? we_lack : differ);
    Difference& difference =
        differences[{taken ? "takes" : General(ptxas), ours.accepted ? "takes" : General(ours.message)}];
    if (list != nullptr)
      std::fprintf(list, "%s\t%s\t%s\t%s\n", program.row.c_str(), program.instruction.c_str(),
                   taken ? "takes" : ptxas.c_str(), ours.accepted ? "takes" : ours.message.c_str());
    difference.rows.insert(program.row);
    if (difference.count++ == 0) difference.example = program.instruction;
  }
};

std::string Cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.replace(at, 1, "\\|");
  return text;
}

}  // namespace

int main(int count, char** words) {
  if (count != 4 && count != 5)
    return std::fprintf(stderr, "usage: ptxas_agreement PTXAS COUNT SEED [LIST]\n"), 2;
  const std::vector<Program> programs =
      MakePrograms(std::strtoull(words[3], nullptr, 0), std::strtoull(words[2], nullptr, 0));
  const std::string ptxas = words[1];
  const std::string scratch =
      (std::filesystem::temp_directory_path() / ("ptxas_agreement." + std::to_string(getpid()) + "."))
          .string();
  Tally tally;
  if (count == 5) tally.list = std::fopen(words[4], "w");
  const size_t workers = std::max(1u, std::thread::hardware_concurrency());
  for (size_t at = 0; at < programs.size();) {
    std::vector<std::pair<std::vector<Program>, std::future<std::vector<std::string>>>> running;
    for (; running.size() < workers && at < programs.size(); at += kBatch) {
      const size_t end = std::min(programs.size(), at + kBatch);
      std::vector<Program> batch(programs.begin() + static_cast<ptrdiff_t>(at),
                                 programs.begin() + static_cast<ptrdiff_t>(end));
      const std::string file = scratch + std::to_string(at) + ".ptx";
      running.emplace_back(batch,
                           std::async(std::launch::async, [=] { return AskPtxas(ptxas, file, batch); }));
    }
    for (auto& [batch, answers] : running) {
      const std::vector<std::string> verdicts = answers.get();
      for (size_t i = 0; i < batch.size(); ++i) {
        const Verdict ours = Ask(batch[i]);
        // ptxas reports some errors at the next token, which can be the next program's: a program that
        // ptx2cpu accepts is compiled again on its own.
        const bool blamed = ours.accepted && !verdicts[i].empty();
        tally.Add(batch[i], blamed ? AskPtxas(ptxas, scratch + "one.ptx", {batch[i]})[0] : verdicts[i], ours);
      }
    }
  }
  std::printf("%zu programs: both take %zu, both refuse %zu; we do not translate %zu; %zu differ\n\n",
              programs.size(), tally.both_take, tally.both_refuse, tally.we_lack, tally.differ);
  std::printf("| ptxas | ptx2cpu | programs | rows | example |\n|---|---|---|---|---|\n");
  for (const auto& [key, difference] : tally.differences) {
    std::string rows;
    for (const std::string& row : difference.rows) rows += (rows.empty() ? "" : ", ") + row;
    std::printf("| %s | %s | %zu | %s | `%s` |\n", Cell(key[0]).c_str(), Cell(key[1]).c_str(),
                difference.count, rows.c_str(), Cell(difference.example).c_str());
  }
  if (tally.list != nullptr) std::fclose(tally.list);
}
