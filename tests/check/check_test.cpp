// Planted faults and their mended twins (kernels/*.ptx): each fault is found at a line that its text marks,
// and nothing else is, in every tier.
#include "runtime/abi/check.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "runtime/check/checks.h"
#include "runtime/check/finding.h"
#include "runtime/engine/ptx2cpu.h"

using namespace ptx2cpu;
namespace check = rt::check;
namespace fs = std::filesystem;

namespace {

// Before the first launch reads it. Other kinds are set where the test is run again with fewer.
const int kEnvironment = setenv("PTX2CPU_CHECK", "memory,race,sync,init", 0);

// Whether a mark is of an error that the kinds of this run find.
bool IsLookedFor(const std::string& error) {
  const uint32_t kinds = check::WantedKinds();
  if (error == "race") return (kinds & PTX2CPU_CHECKS_RACE) != 0;
  if (error == "uninitialised") return (kinds & PTX2CPU_CHECKS_INIT) != 0;
  if (error == "out-of-bounds" || error == "misaligned") return (kinds & PTX2CPU_CHECKS_MEMORY) != 0;
  return (kinds & PTX2CPU_CHECKS_SYNC) != 0;
}

enum class Contents { kWritten, kZero, kFresh };
struct Launch {
  uint32_t grid = 1, block = 1, bytes = 0;
  Contents contents = Contents::kZero;
};

struct Planted {
  std::string name;
  Launch launch;
  bool faulty = false;
  std::map<std::string, std::set<uint32_t>> marks;  // lines by error
  std::vector<std::string> variables;               // of the module
};

std::string TextOf(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Launch LaunchOf(const std::string& text) {
  Launch launch;
  char contents[16] = {};
  const size_t at = text.find("Launch: ");
  REQUIRE(at != std::string::npos);
  REQUIRE(std::sscanf(text.c_str() + at, "Launch: grid %u, block %u, %u bytes, %15[a-z]", &launch.grid,
                      &launch.block, &launch.bytes, contents) == 4);
  launch.contents = std::string_view(contents) == "written" ? Contents::kWritten
                    : std::string_view(contents) == "fresh" ? Contents::kFresh
                                                            : Contents::kZero;
  return launch;
}

// Marks outside of kernels, in functions, count for every kernel of the file.
std::vector<Planted> KernelsOf(const std::string& text) {
  std::vector<Planted> kernels;
  std::map<std::string, std::set<uint32_t>> shared;
  std::vector<std::string> variables;
  std::istringstream lines(text);
  const Launch launch = LaunchOf(text);
  uint32_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
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
    }
    if (const size_t at = line.find("// finds "); at != std::string::npos && line.starts_with("    "))
      (kernels.empty() ? shared : kernels.back().marks)[line.substr(at + 9)].insert(number);
  }
  for (Planted& kernel : kernels) {
    if (!kernel.name.ends_with("_function")) continue;
    for (const auto& [error, at] : shared) kernel.marks[error].insert(at.begin(), at.end());
  }
  return kernels;
}

std::vector<check::Finding> Run(const Program& program, const Planted& planted) {
  const Result<Kernel> kernel = program.Get(planted.name);
  if (!kernel) FAIL(kernel.error().Render());
  // Memory on both sides that the kernel must not reach, and may.
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
  std::vector<std::byte> parameters(kernel->parameter_bytes(), std::byte{1});
  std::memcpy(parameters.data(), &buffer, sizeof buffer);
  if (const std::byte* const end = buffer + planted.launch.bytes; planted.name.ends_with("_from_end"))
    std::memcpy(parameters.data() + sizeof buffer, &end, sizeof end);
  if (const std::byte* const before = buffer - 4; planted.name.ends_with("_one_based"))
    std::memcpy(parameters.data() + sizeof buffer, &before, sizeof before);
  const Status status = kernel->LaunchPacked(shape, parameters);
  if (!status && !planted.faulty) FAIL(status.error().Render());
  return check::Findings::Get().All();
}

std::string Listed(const std::vector<check::Finding>& findings) {
  std::string text;
  for (const check::Finding& finding : findings) text += check::Render(finding, {}, {}) + "\n";
  return text;
}

void Compare(const Planted& planted, const std::vector<check::Finding>& findings) {
  INFO(planted.name << "\n" << Listed(findings));
  std::set<std::string> found;
  for (const check::Finding& finding : findings) {
    const std::string error = check::WordOf(finding.error);
    // What follows from the planted fault: the launch ends, or a thread reads what another has yet to write.
    if (planted.faulty && error == "uninitialised" && planted.marks.contains("race")) continue;
    if (planted.faulty && error == "fault") {
      for (const auto& [mark, lines] : planted.marks) {
        if (lines.contains(finding.party.ptx_line)) found.insert(mark);
      }
      continue;
    }
    found.insert(error);
    const auto marked = planted.marks.find(error);
    const bool expected = marked != planted.marks.end() && marked->second.contains(finding.party.ptx_line) &&
                          (finding.other.ptx_line == 0 || marked->second.contains(finding.other.ptx_line));
    CHECK(expected);
  }
  if (!planted.faulty) CHECK(findings.empty());
  if (planted.faulty) {
    for (const auto& [error, lines] : planted.marks) {
      if (IsLookedFor(error)) CHECK(found.contains(error));
    }
  }
}

}  // namespace

TEST_CASE("planted faults are found, and nothing in their mended twins") {
  REQUIRE(kEnvironment == 0);
  const std::string exec = GENERATE(as<std::string>(), "auto", "lanes");
  const unsigned opt_level = exec == "auto" ? 3 : 1;
  size_t faulty = 0;
  for (const auto& entry : fs::directory_iterator(PTX2CPU_SOURCE_DIR "/tests/check/kernels")) {
    const std::string text = TextOf(entry.path());
    LoadOptions options;
    options.exec = exec;
    options.opt_level = opt_level;
    const Result<Program> program = Program::FromPtx(text, entry.path().filename().string(), options);
    REQUIRE(program);
    for (const Planted& planted : KernelsOf(text)) {
      INFO("exec " << exec);
      Compare(planted, Run(*program, planted));
      faulty += planted.faulty;
    }
  }
  CHECK(faulty >= 40);
}
