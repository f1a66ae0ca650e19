// make_vectors PTXAS OUT_DIR CUBIN_DIR: writes the vector files of all rows whose instructions compute values
// from values, straight from the instruction table. PTXAS decides which combinations are legal on sm_90
// (recorded on a GPU) and which only on sm_100 (file NAME.sm100.ptx, not recorded). Rows that touch memory,
// control flow or other lanes have vector files written by hand.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tools/vectors/kernel_text.h"

using namespace ptx2cpu;
using namespace ptx2cpu::vectors;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kFamilies[] = {
    "integer_arithmetic", "extended_precision", "float_arithmetic", "half",
    "compare_select",     "logic_shift",        "convert"};

constexpr size_t kMaxPerRow = 300;  // the first ones hold the most new pairs

std::string FileText(const ptx::Row& row, const std::string& target, const std::vector<TestKernel>& kernels) {
  std::string text = fmt::format(
      "// row: {}\n// PTX {}: {}\n// Written by make_vectors from the instruction table; do not "
      "edit.\n.version 9.0\n.target {}\n.address_size 64\n\n",
      row.name, row.section, row.syntax, target);
  for (const TestKernel& kernel : kernels) text += kernel.ptx + kernel.runs + "\n";
  return text;
}

void Write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

// Kernels that ptxas accepts for the target; the others are left out. The cubin of those is left at `cubin`.
std::vector<TestKernel> Legal(const std::string& ptxas, const ptx::Row& row, const std::string& target,
                              std::vector<TestKernel> kernels, const fs::path& cubin) {
  const fs::path ptx = cubin.string() + ".ptx", log = cubin.string() + ".log";
  for (int round = 0; round < 6 && !kernels.empty(); ++round) {
    const std::string text = FileText(row, target, kernels);
    Write(ptx, text);
    const std::string command = fmt::format("'{}' -arch={} -o '{}' '{}' > '{}' 2>&1", ptxas, target,
                                            cubin.string(), ptx.string(), log.string());
    if (std::system(command.c_str()) == 0) return kernels;
    // Which kernel does each complained line belong to?
    std::vector<std::string> owner = {""};
    std::istringstream lines(text);
    std::string current;
    const std::regex entry("\\.entry (\\w+)\\(");
    for (std::string line; std::getline(lines, line);) {
      std::smatch match;
      if (std::regex_search(line, match, entry)) current = match[1];
      owner.push_back(current);
    }
    std::set<std::string> bad;
    std::ifstream complaints(log);
    const std::regex where("line (\\d+)");
    for (std::string line; std::getline(complaints, line);) {
      std::smatch match;
      if (std::regex_search(line, match, where)) bad.insert(owner.at(std::stoul(match[1])));
    }
    if (bad.empty()) return {};
    std::erase_if(kernels, [&](const TestKernel& kernel) { return bad.count(kernel.name) != 0; });
  }
  return kernels;
}

struct Found {
  std::vector<TestKernel> hopper, newer;
};

// Chooses combinations until every pair of words that is legal together is covered, or choosing brings
// nothing new.
Found FindLegal(const std::string& ptxas, const ptx::Row& row, const fs::path& cubins) {
  const std::string name(row.name);
  Found found;
  std::vector<std::set<Choice>> excluded(row.forms.size());
  size_t number = 0;
  for (int round = 0; round < 12; ++round) {
    std::vector<TestKernel> kernels;
    number = 0;
    for (size_t f = 0; f < row.forms.size(); ++f) {
      for (const Choice& choice : ChoosePairwise(row.forms[f], excluded[f])) {
        if (auto kernel = MakeKernel(row, row.forms[f], choice, number++))
          kernels.push_back(std::move(*kernel));
      }
    }
    const auto without = [](std::vector<TestKernel> all, const std::vector<TestKernel>& some) {
      std::set<std::string> names;
      for (const TestKernel& kernel : some) names.insert(kernel.name);
      std::erase_if(all, [&](const TestKernel& kernel) { return names.contains(kernel.name); });
      return all;
    };
    found.hopper = Legal(ptxas, row, "sm_90", kernels, cubins / (name + ".cubin"));
    kernels = without(std::move(kernels), found.hopper);
    found.newer = Legal(ptxas, row, "sm_100a", kernels, cubins / (name + ".sm100.other"));
    const auto refused = without(std::move(kernels), found.newer);
    if (refused.empty()) break;
    for (const TestKernel& kernel : refused)
      excluded[static_cast<size_t>(kernel.form - row.forms.data())].insert(kernel.choice);
  }
  if (found.hopper.size() > kMaxPerRow) {
    found.hopper.resize(kMaxPerRow);
    found.hopper = Legal(ptxas, row, "sm_90", found.hopper, cubins / (name + ".cubin"));
  }
  return found;
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return fmt::print(stderr, "usage: make_vectors PTXAS OUT_DIR CUBIN_DIR\n"), 2;
  const std::string ptxas = words[1];
  const fs::path out = words[2], cubins = words[3];
  fs::create_directories(out);
  fs::create_directories(cubins);
  size_t files = 0, total = 0;
  for (const ptx::Row& row : ptx::Rows()) {
    if (!row.translated ||
        std::find(std::begin(kFamilies), std::end(kFamilies), row.family) == std::end(kFamilies))
      continue;
    const Found found = FindLegal(ptxas, row, cubins);
    const std::string name(row.name);
    const auto& [hopper, newer] = found;
    if (!hopper.empty()) Write(out / (name + ".ptx"), FileText(row, "sm_90", hopper));
    if (!newer.empty()) Write(out / (name + ".sm100.ptx"), FileText(row, "sm_100a", newer));
    files += !hopper.empty() + !newer.empty();
    total += hopper.size() + newer.size();
    fmt::print("{:<20} {:>4} on sm_90, {:>4} on sm_100a\n", name, hopper.size(), newer.size());
  }
  fmt::print("{} files, {} instruction forms\n", files, total);
  return 0;
}
