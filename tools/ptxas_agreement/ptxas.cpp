#include "tools/ptxas_agreement/ptxas.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <regex>

namespace ptx2cpu::agreement {

namespace {

constexpr const char* kNoMessage = "ends without a message";

// A program that the first target refuses is compiled for the next: some instructions exist on one target
// only.
constexpr const char* kTargets[] = {"sm_90", "sm_90a", "sm_100a", "sm_103a", "sm_120a"};

struct Answer {
  int status = 0;
  std::string text;
};

Answer Run(const std::string& command) {
  Answer answer;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {-1, {}};
  char buffer[4096];
  while (size_t read = std::fread(buffer, 1, sizeof buffer, pipe)) answer.text.append(buffer, read);
  answer.status = pclose(pipe);
  return answer;
}

class Session {
 public:
  Session(const std::string& ptxas, const std::string& scratch, const std::vector<Program>& programs)
      : ptxas_(ptxas), scratch_(scratch), programs_(programs), verdicts_(programs.size()) {}

  std::vector<std::string> Ask() {
    std::vector<size_t> pending(programs_.size());
    for (size_t i = 0; i < pending.size(); ++i) pending[i] = i;
    for (const char* target : kTargets) {
      target_ = target;
      for (size_t program : pending) verdicts_[program].clear();
      Settle(pending);
      std::erase_if(pending, [&](size_t program) { return !IsOfAnotherTarget(verdicts_[program]); });
    }
    std::remove(scratch_.c_str());
    return std::move(verdicts_);
  }

 private:
  static bool IsOfAnotherTarget(const std::string& verdict) {
    return verdict.find(".target") != std::string::npos;
  }

  // Errors name lines, and each kernel is one line. The named ones are removed, and the others are compiled
  // again until ptxas accepts them. Where it names no line, each half is compiled.
  void Settle(std::vector<size_t> pending) {
    while (!pending.empty()) {
      Write(pending);
      const Answer answer =
          Run("timeout 20 " + ptxas_ + " -arch=" + target_ + " -O0 -o /dev/null " + scratch_ + " 2>&1");
      if (answer.status == 0) return;
      const std::map<size_t, std::string> refused = Refused(answer.text, pending);
      if (refused.empty()) return Split(std::move(pending), answer.text);
      for (const auto& [program, message] : refused) verdicts_[program] = message;
      std::erase_if(pending, [&](size_t program) { return refused.contains(program); });
    }
  }

  void Split(std::vector<size_t> pending, const std::string& text) {
    if (pending.size() == 1) {
      const size_t at = text.find("error"), fatal = text.find("fatal");
      const size_t from = std::min(at, fatal);
      verdicts_[pending[0]] =
          from == std::string::npos ? kNoMessage : text.substr(from, text.find('\n', from) - from);
      return;
    }
    const auto middle = pending.begin() + static_cast<ptrdiff_t>(pending.size() / 2);
    Settle({pending.begin(), middle});
    Settle({middle, pending.end()});
  }

  void Write(const std::vector<size_t>& pending) const {
    std::ofstream out(scratch_);
    out << HeadFor(target_);
    for (size_t program : pending) out << KernelOf(programs_[program], "k" + std::to_string(program));
  }

  static std::map<size_t, std::string> Refused(const std::string& text, const std::vector<size_t>& pending) {
    static const std::regex pattern("line (\\d+); (?:error|fatal) *: (.*)");
    const std::string head = HeadFor(kTargets[0]);
    const auto first = static_cast<size_t>(std::count(head.begin(), head.end(), '\n')) + 1;
    std::map<size_t, std::string> refused;
    for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
      const size_t line = std::stoul((*it)[1]);
      if (line >= first && line - first < pending.size()) refused.emplace(pending[line - first], (*it)[2]);
    }
    return refused;
  }

  const std::string& ptxas_;
  const std::string& scratch_;
  const std::vector<Program>& programs_;
  std::string target_;
  std::vector<std::string> verdicts_;
};

}  // namespace

std::vector<std::string> AskPtxas(const std::string& ptxas, const std::string& scratch,
                                  const std::vector<Program>& programs) {
  return Session(ptxas, scratch, programs).Ask();
}

}  // namespace ptx2cpu::agreement
