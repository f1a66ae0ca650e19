// The assembler of an installed toolkit, which decides whether our PTX is legal. Without a toolkit the check
// is skipped.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <regex>
#include <string>
#include <vector>

#include "tests/run_shell.h"

namespace ptx2cpu::test {

// The path of ptxas: PTX2CPU_PTXAS, the one on the PATH, or the one in the usual folder; empty: there is
// none.
inline std::string FindPtxas() {
  if (const char* set = std::getenv("PTX2CPU_PTXAS")) return set;
  std::string found =
      RunShell("sh -c 'PATH=$PATH:/usr/local/cuda/bin command -v ptxas'", 10, Streams::kOutput).text;
  while (!found.empty() && found.back() == '\n') found.pop_back();
  return found;
}

// The line of the file that a message names.
inline std::string LineNamed(const std::string& message, const std::string& file) {
  std::smatch match;
  if (!std::regex_search(message, match, std::regex("line (\\d+);"))) return "";
  std::ifstream in(file);
  std::string line;
  for (size_t left = std::stoul(match[1]); left != 0 && std::getline(in, line);) --left;
  return line;
}

struct PtxasAnswer {
  std::string file;
  std::string refusal;    // empty: taken
  bool is_newer = false;  // a version of PTX that this ptxas does not know
};

// For the file's target; for one that it no longer knows, as a driver would for a device of sm_90.
inline PtxasAnswer AskPtxas(const std::string& ptxas, const std::string& file) {
  static const std::regex target_line("^\\s*\\.target\\s+(sm_(\\d+)\\w*)");
  std::ifstream in(file);
  std::smatch match;
  std::string target = "sm_90";
  for (std::string line; std::getline(in, line);) {
    if (!std::regex_search(line, match, target_line)) continue;
    if (std::stoul(match[2]) >= 75) target = match[1];
    break;
  }
  const Outcome outcome =
      RunShell("'" + ptxas + "' -arch=" + target + " -O0 -o /dev/null '" + file + "'", 120);
  if (outcome.code == 0) return {file, {}};
  return {file, outcome.text.substr(0, 600) + LineNamed(outcome.text, file),
          outcome.text.find("Unsupported .version") != std::string::npos};
}

// Some at a time.
inline std::vector<PtxasAnswer> AskPtxas(const std::string& ptxas, const std::vector<std::string>& files) {
  std::vector<PtxasAnswer> answers(files.size());
  std::vector<std::future<void>> workers;
  for (size_t worker = 0; worker < 4; ++worker) {
    workers.push_back(std::async(std::launch::async, [&, worker] {
      for (size_t i = worker; i < files.size(); i += 4) answers[i] = AskPtxas(ptxas, files[i]);
    }));
  }
  for (std::future<void>& each : workers) each.get();
  return answers;
}

}  // namespace ptx2cpu::test
