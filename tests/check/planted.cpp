#include "tests/check/planted.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "runtime/abi/check.h"
#include "runtime/check/checks.h"

namespace ptx2cpu::test {

namespace check = rt::check;
namespace fs = std::filesystem;

namespace {

// Set before the first launch reads it. Runs of the tests with fewer kinds set others.
[[maybe_unused]] const int kEnvironment = setenv("PTX2CPU_CHECK", "memory,race,sync,init", 0);

PlantedLaunch LaunchOf(const std::string& text) {
  PlantedLaunch launch;
  char contents[16] = {};
  const size_t at = text.find("Launch: ");
  REQUIRE(at != std::string::npos);
  REQUIRE(std::sscanf(text.c_str() + at, "Launch: grid %u, block %u, %u bytes, %15[a-z], %u shared",
                      &launch.grid, &launch.block, &launch.bytes, contents, &launch.shared) >= 4);
  launch.contents = std::string_view(contents) == "written" ? Contents::kWritten
                    : std::string_view(contents) == "fresh" ? Contents::kFresh
                                                            : Contents::kZero;
  return launch;
}

// Whether the last lines, from the label that they branch back to, look at what others may change.
bool Waits(const std::vector<std::string>& lines) {
  static const std::regex branch("bra\\s+(\\w+);"),
      looks("ld\\.(volatile|acquire|relaxed)|atom\\.|mbarrier\\.\\w*(test|try)");
  std::smatch match;
  if (lines.empty() || !std::regex_search(lines.back(), match, branch)) return false;
  const auto label = std::ranges::find(lines, match[1].str() + ":");
  return std::any_of(label, lines.end(),
                     [](const std::string& line) { return std::regex_search(line, looks); });
}

// Marks outside of kernels, in functions, count for the kernels whose names end in _function.
std::vector<Planted> KernelsOf(const std::string& text) {
  std::vector<Planted> kernels;
  std::map<std::string, Marks> of_functions;
  std::vector<std::string> variables;
  std::istringstream lines(text);
  const PlantedLaunch launch = LaunchOf(text);
  uint32_t number = 0;
  std::vector<std::string> body;  // of the kernel, as far as it has been read
  for (std::string line; std::getline(lines, line);) {
    ++number;
    body.push_back(line);
    if (!kernels.empty() && line.find("bra ") != std::string::npos) kernels.back().waits |= Waits(body);
    if (line.starts_with(".const ") || line.starts_with(".global ")) {
      const size_t begin = line.rfind(' ') + 1;
      variables.push_back(line.substr(begin, line.find('[') - begin));
    }
    if (const size_t at = line.find(".entry "); at != std::string::npos) {
      Planted kernel;
      kernel.name = line.substr(at + 7, line.find('(') - at - 7);
      kernel.launch = launch;
      kernel.variables = variables;
      kernel.faulty = kernel.name.starts_with("faulty_");
      kernels.push_back(std::move(kernel));
      body.clear();
    }
    if (const size_t at = line.find("// finds "); at != std::string::npos && line.starts_with("    ")) {
      const size_t by = line.find(" by ", at);
      std::optional<uint32_t> thread;
      if (by != std::string::npos) thread = static_cast<uint32_t>(std::stoul(line.substr(by + 4)));
      const std::string error = line.substr(at + 9, by == std::string::npos ? by : by - at - 9);
      (kernels.empty() ? of_functions : kernels.back().marks)[error].threads[number] = thread;
    }
  }
  for (Planted& kernel : kernels) {
    if (!kernel.name.ends_with("_function")) continue;
    for (const auto& [error, marks] : of_functions)
      kernel.marks[error].threads.insert(marks.threads.begin(), marks.threads.end());
  }
  return kernels;
}

std::string Listed(const std::vector<check::Finding>& findings) {
  std::string text;
  for (const check::Finding& finding : findings) text += check::Render(finding, {}, {}) + "\n";
  return text;
}

}  // namespace

// Both parties are at marked lines, where the thread that is named, if one is, is one of them.
bool Marks::Allow(const check::Finding& finding) const {
  const auto allows = [&](const check::Party& party) {
    const auto mark = threads.find(party.ptx_line);
    if (mark == threads.end()) return false;
    if (!mark->second || party.thread[0] == *mark->second) return true;
    const check::Party& that = &party == &finding.party ? finding.other : finding.party;
    return that.ptx_line == party.ptx_line && that.thread[0] == *mark->second;
  };
  return allows(finding.party) && (finding.other.ptx_line == 0 || allows(finding.other));
}

std::vector<PlantedFile> PlantedFiles() {
  std::vector<PlantedFile> files;
  for (const auto& entry : fs::directory_iterator(PTX2CPU_SOURCE_DIR "/tests/check/kernels")) {
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    files.push_back({entry.path().filename().string(), text.str(), KernelsOf(text.str())});
  }
  std::ranges::sort(files, {}, &PlantedFile::name);
  return files;
}

bool IsLookedFor(const std::string& error) {
  const uint32_t kinds = check::WantedKinds();
  if (error == "race") return (kinds & PTX2CPU_CHECKS_RACE) != 0;
  if (error == "uninitialised") return (kinds & PTX2CPU_CHECKS_INIT) != 0;
  if (error == "out-of-bounds" || error == "misaligned" || error == "use-after-free" || error == "bad-free")
    return (kinds & PTX2CPU_CHECKS_MEMORY) != 0;
  return (kinds & PTX2CPU_CHECKS_SYNC) != 0;
}

PlantedRun RunPlanted(const Program& program, const Kernel& kernel, const Planted& planted) {
  std::vector<std::byte> memory(planted.launch.bytes + 8192);
  std::byte* const buffer = memory.data() + (4096 - reinterpret_cast<uintptr_t>(memory.data()) % 4096);
  if (planted.launch.contents == Contents::kWritten)
    for (uint32_t i = 0; i < planted.launch.bytes; ++i) buffer[i] = static_cast<std::byte>(i);
  if (planted.launch.contents == Contents::kFresh) check::MarkUninitialised(buffer, planted.launch.bytes);
  std::vector<check::MemoryRange> ranges = {{reinterpret_cast<uintptr_t>(buffer), planted.launch.bytes}};
  for (const std::string& name : planted.variables) {
    const auto storage = program.Variable(name);
    REQUIRE(storage);
    ranges.push_back({reinterpret_cast<uintptr_t>(storage->data()), storage->size()});
  }
  check::SetMemorySource({[ranges](uintptr_t address) -> std::optional<check::MemoryRange> {
                            for (const check::MemoryRange& range : ranges) {
                              if (address - range.base < range.bytes) return range;
                            }
                            return std::nullopt;
                          },
                          {},
                          [version = uint64_t{0}]() mutable { return ++version; }});
  check::Findings::Get().Clear();
  Shape shape{{planted.launch.grid, 1, 1}, {planted.launch.block, 1, 1}};
  shape.shared_bytes = planted.launch.shared;
  std::vector<std::byte> parameters(kernel.parameter_bytes(), std::byte{1});
  std::memcpy(parameters.data(), &buffer, sizeof buffer);
  if (const std::byte* const end = buffer + planted.launch.bytes; planted.name.ends_with("_from_end"))
    std::memcpy(parameters.data() + sizeof buffer, &end, sizeof end);
  if (const std::byte* const before = buffer - 4; planted.name.ends_with("_one_based"))
    std::memcpy(parameters.data() + sizeof buffer, &before, sizeof before);
  const Status status = kernel.LaunchPacked(shape, parameters);
  return {check::Findings::Get().All(), status ? "" : status.error().Render()};
}

void CompareWithMarks(const Planted& planted, const PlantedRun& run) {
  const std::vector<check::Finding>& findings = run.findings;
  if (!planted.faulty && !run.error.empty()) FAIL_CHECK(planted.name << ": " << run.error);
  INFO(planted.name << "\n" << Listed(findings));
  std::set<std::string> found;
  for (const check::Finding& finding : findings) {
    const std::string error = check::WordOf(finding.error);
    // What follows from the planted fault: the launch ends, or a thread reads what another has yet to write.
    if (planted.faulty && error == "uninitialised" && planted.marks.contains("race")) continue;
    if (planted.faulty && error == "fault") {
      for (const auto& [mark, marks] : planted.marks) {
        if (marks.Has(finding.party.ptx_line)) found.insert(mark);
      }
      continue;
    }
    found.insert(error);
    const auto marked = planted.marks.find(error);
    const bool expected = marked != planted.marks.end() && marked->second.Allow(finding);
    CHECK(expected);
  }
  if (!planted.faulty) CHECK(findings.empty());
  if (!planted.faulty) return;
  for (const auto& [error, marks] : planted.marks) {
    if (IsLookedFor(error)) CHECK(found.contains(error));
  }
}

}  // namespace ptx2cpu::test
