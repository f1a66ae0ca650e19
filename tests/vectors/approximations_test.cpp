// The largest errors of the approximate instructions, ours and a GPU's side by side, over all recorded cases:
// the page tools/docs/approximations.md. PTX2CPU_WRITE_DOCS=1 writes it; else the test compares.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/vectors/vector_files.h"
#include "tools/harness/compiled_call.h"
#include "tools/record/many.h"
#include "tools/record/small_float.h"

using namespace ptx2cpu;
using namespace ptx2cpu::vectors_test;

namespace {

// Exact enough for 53 bits and more. `counts`: the operands whose errors PTX states so.
struct Function {
  std::string_view row;
  long double (*value)(long double, long double);
  bool is_absolute = false;
  bool (*counts)(long double, long double) = [](long double, long double) { return true; };
};
bool IsUpToTwoPi(long double x, long double) { return std::fabs(x) <= 6.283185307179586476925286766559L; }
bool IsNearOne(long double x, long double) { return x >= 0.5L && x <= 2; }
bool HasFiniteReciprocal(long double, long double y) { return std::fabs(y) <= 0x1p126L; }
constexpr Function kFunctions[] = {
    {"cos", [](long double x, long double) { return std::cos(x); }, true, IsUpToTwoPi},
    {"div_float", [](long double x, long double y) { return x / y; }, false, HasFiniteReciprocal},
    {"ex2", [](long double x, long double) { return std::exp2(x); }},
    {"ex2_half", [](long double x, long double) { return std::exp2(x); }},
    {"lg2", [](long double x, long double) { return std::log2(x); }, true, IsNearOne},
    {"rcp", [](long double x, long double) { return 1 / x; }},
    {"rsqrt", [](long double x, long double) { return 1 / std::sqrt(x); }},
    {"sin", [](long double x, long double) { return std::sin(x); }, true, IsUpToTwoPi},
    {"sqrt", [](long double x, long double) { return std::sqrt(x); }},
    {"tanh", [](long double x, long double) { return std::tanh(x); }},
    {"tanh_half", [](long double x, long double) { return std::tanh(x); }},
};

struct Largest {
  size_t cases = 0;
  long double error = 0;
};
// The errors of one form of an instruction.
struct Line {
  std::string opcode;
  bool is_absolute = false;
  Largest gpu, ours;
};

int MantissaBits(const rt::ScalarType& type) { return type.size * 8 - 1 - type.exponent_bits; }
int LeastExponent(const rt::ScalarType& type) { return 2 - (1 << (type.exponent_bits - 1)); }

long double ValueOf(const rt::ScalarType& type, const std::byte* bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, type.size);
  if (type.size == 8) return std::bit_cast<double>(bits);
  if (type.size == 4) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  return rt::DecodeSmallFloat(static_cast<uint32_t>(bits),
                              type.exponent_bits == 5 ? rt::kHalf : rt::kBfloat16);
}

bool IsNormal(const rt::ScalarType& type, long double value) {
  return std::isfinite(value) && std::fabs(value) >= std::ldexp(1.0L, LeastExponent(type)) &&
         std::fabs(value) < std::ldexp(1.0L, 2 - LeastExponent(type));
}

// Cases whose operands and results are normal numbers: PTX states errors for these.
void Add(Largest& largest, const Function& function, const std::vector<rt::Argument>& arguments,
         const std::vector<std::byte>& results) {
  const rt::ScalarType& type = *arguments[0].type;
  for (size_t i = 0; i < results.size() / type.size; ++i) {
    long double operands[2] = {};
    bool is_normal = true;
    for (size_t k = 1; k < arguments.size(); ++k) {
      operands[k - 1] = ValueOf(type, &arguments[k].data[i * type.size]);
      is_normal &= IsNormal(type, operands[k - 1]);
    }
    const long double wanted = function.value(operands[0], operands[1]);
    const long double result = ValueOf(type, &results[i * type.size]);
    if (!is_normal || !function.counts(operands[0], operands[1]) || !IsNormal(type, wanted) ||
        !std::isfinite(result))
      continue;
    long double error = std::fabs(result - wanted);
    if (!function.is_absolute) error /= std::ldexp(1.0L, std::ilogb(wanted) - MantissaBits(type));
    ++largest.cases;
    largest.error = std::max(largest.error, error);
  }
}

// The opcode is in the line above the kernel's.
std::string OpcodeOf(const std::string& text, const std::string& kernel) {
  const size_t entry = text.find(".visible .entry " + kernel + "(");
  const size_t begin = text.rfind("// ", entry);
  REQUIRE(begin != std::string::npos);
  return text.substr(begin + 3, text.find('\n', begin) - begin - 3);
}

void Measure(Line& line, const Function& function, harness::CompiledCall& compiled, const rt::VectorRun& run,
             const std::optional<rt::VectorRecord>& record) {
  harness::KernelCall call{{1, 1, 1}, {run.block[0], 1, 1}, 0, *rt::ParseArguments(run)};
  if (const std::vector<std::byte>* recorded = record ? record->Find(run, 0) : nullptr)
    Add(line.gpu, function, call.arguments, *recorded);
  REQUIRE(compiled.Run(call));
  Add(line.ours, function, call.arguments, call.arguments[0].data);
}

std::vector<Line> LinesOf(const std::filesystem::path& path, const Function& function) {
  const auto file = rt::ReadVectorFile(path);
  const auto record = rt::ReadVectorRecord(path), many_record = rt::ReadVectorRecord(path, ".many");
  REQUIRE((file && record && many_record));
  const auto many = rt::ManyRuns(*file);
  const auto ptx = lowering::PtxModule::Parse(file->text, path.filename());
  REQUIRE((many && ptx));
  std::vector<Line> lines;
  std::string kernel;
  for (const rt::VectorRun& run : file->runs) {
    if (run.rule.kind != rt::VectorRule::Kind::kNear || run.kernel == kernel) continue;
    kernel = run.kernel;
    const auto module = ptx->Build(kernel, {});
    REQUIRE(module);
    const auto jit = harness::OptionsFor({}, 1);
    auto compiled = harness::CompiledCall::Make(std::make_shared<const ir::Module>(*module), *jit);
    REQUIRE(compiled);
    Line line{OpcodeOf(file->text, kernel), function.is_absolute, {}, {}};
    for (const rt::VectorRun& each : file->runs)
      if (each.kernel == kernel) Measure(line, function, *compiled, each, *record);
    for (const rt::VectorRun& each : *many)
      if (each.kernel == kernel) Measure(line, function, *compiled, each, *many_record);
    lines.push_back(line);
  }
  return lines;
}

std::string Text(const Line& line, const Largest& largest) {
  char text[64];
  if (largest.cases == 0) return "";
  if (line.is_absolute || largest.error > 9999)
    std::snprintf(text, sizeof(text), "2^%.1Lf%s", std::log2(largest.error), line.is_absolute ? "" : " ulp");
  else
    std::snprintf(text, sizeof(text), "%.2Lf ulp", largest.error);
  return text;
}

std::string Page() {
  std::string page =
      "# Errors of the approximate instructions\n\n"
      "Written by `tests/vectors/approximations_test.cpp` (`PTX2CPU_WRITE_DOCS=1 "
      "build/release/bin/test_vectors "
      "\"*largest errors*\"`). The largest\nerrors over cases whose operands and results are normal numbers: "
      "of a "
      "GPU over those that are recorded, of compiled code over these and\nthe 4,096 of "
      "`tools/record/many.h`. An "
      "error is in units of the last place of the exact result; of `sin`, `cos` (to 2 pi) and `lg2` (from .5 "
      "to 2) it is\n"
      "absolute, as PTX states it.\n\n"
      "| instruction | GPU | cases | ptx2cpu | cases |\n|---|---|---|---|---|\n";
  for (const Function& function : kFunctions) {
    const auto path =
        std::filesystem::path(PTX2CPU_SOURCE_DIR) / "tests/ptx" / (std::string(function.row) + ".ptx");
    for (const Line& line : LinesOf(path, function)) {
      page += "| `" + line.opcode + "` | " + Text(line, line.gpu) + " | " + std::to_string(line.gpu.cases) +
              " | " + Text(line, line.ours) + " | " + std::to_string(line.ours.cases) + " |\n";
    }
  }
  return page;
}

}  // namespace

TEST_CASE("the largest errors of approximate instructions are as documented") {
  const auto path = std::filesystem::path(PTX2CPU_SOURCE_DIR) / "tools/docs/approximations.md";
  const std::string page = Page();
  if (std::getenv("PTX2CPU_WRITE_DOCS") != nullptr) std::ofstream(path) << page;
  std::ifstream in(path);
  std::ostringstream now;
  now << in.rdbuf();
  CHECK(now.str() == page);
}
