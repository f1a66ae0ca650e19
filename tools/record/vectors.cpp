#include "tools/record/vectors.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tools/record/small_float.h"

namespace ptx2cpu::rt {

namespace {

std::unexpected<Error> Bad(const VectorFile& file, uint32_t line, std::string message) {
  return Fail(Error{ErrorCode::kUsage, std::move(message), {file.path.string(), line, 0}});
}

bool ParseTriple(std::string_view text, std::array<uint32_t, 3>& out) {
  for (uint32_t& value : out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) return false;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty()) return true;
    if (text[0] != ',') return false;
    text.remove_prefix(1);
  }
  return text.empty();
}

bool ParseRule(const std::string& text, VectorRule& rule) {
  if (text == "bits") return true;
  if (text == "value") return rule.kind = VectorRule::Kind::kValue, true;
  unsigned long long ulp = 0;
  if (std::sscanf(text.c_str(), "near:%lf:%llu", &rule.absolute, &ulp) != 2) return false;
  rule.kind = VectorRule::Kind::kNear;
  rule.ulp = ulp;
  return true;
}

Status ParseRun(VectorFile& file, const std::string& text, uint32_t line) {
  VectorRun run;
  run.line = line;
  std::istringstream words(text);
  words >> run.kernel;
  for (std::string word; words >> word;) {
    bool good = true;
    if (word.starts_with("grid="))
      good = ParseTriple(std::string_view(word).substr(5), run.grid);
    else if (word.starts_with("block="))
      good = ParseTriple(std::string_view(word).substr(6), run.block);
    else if (word.starts_with("shared="))
      run.shared_bytes = static_cast<uint32_t>(std::stoul(word.substr(7)));
    else if (word.starts_with("compare="))
      good = ParseRule(word.substr(8), run.rule);
    else
      run.specs.push_back(word);
    if (!good) return Bad(file, line, "cannot read '" + word + "'");
  }
  for (const VectorRun& other : file.runs) run.number += other.kernel == run.kernel;
  file.runs.push_back(std::move(run));
  return {};
}

// The value of a float element as a double, and its place in the order of all values of its type.
double ValueOf(const ScalarType& type, const std::byte* bytes, int64_t& order) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, type.size);
  const uint64_t sign = uint64_t{1} << (type.size * 8 - 1);
  order = (bits & sign) != 0 ? -static_cast<int64_t>(bits & ~sign) : static_cast<int64_t>(bits);
  if (type.size == 8) return std::bit_cast<double>(bits);
  if (type.size == 4) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  return DecodeSmallFloat(static_cast<uint32_t>(bits),
                          type.exponent_bits == kHalf.exponent_bits ? kHalf : kBfloat16);
}

bool Equal(const VectorRule& rule, const ScalarType& type, const std::byte* a, const std::byte* b) {
  if (std::memcmp(a, b, type.size) == 0) return true;
  if (rule.kind == VectorRule::Kind::kBits || type.exponent_bits == 0) return false;
  int64_t order_a, order_b;
  const double x = ValueOf(type, a, order_a), y = ValueOf(type, b, order_b);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (rule.kind == VectorRule::Kind::kValue) return false;
  const uint64_t apart = static_cast<uint64_t>(order_a > order_b ? order_a - order_b : order_b - order_a);
  return apart <= rule.ulp || std::fabs(x - y) <= rule.absolute;
}

}  // namespace

std::string ToHex(const std::vector<std::byte>& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[static_cast<uint8_t>(byte) >> 4];
    text += kDigits[static_cast<uint8_t>(byte) & 15];
  }
  return text;
}

std::optional<std::vector<std::byte>> FromHex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes(digits.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    uint8_t value = 0;
    const char* at = digits.data() + 2 * i;
    if (std::from_chars(at, at + 2, value, 16).ptr != at + 2) return std::nullopt;
    bytes[i] = std::byte{value};
  }
  return bytes;
}

Result<VectorFile> ReadVectorFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) return Fail(ErrorCode::kFile, "cannot read '" + path.string() + "'");
  return ParseVectorFile(std::move(text).str(), path);
}

Result<VectorFile> ParseVectorFile(std::string content, const std::filesystem::path& path) {
  VectorFile file;
  file.path = path;
  file.text = std::move(content);
  std::istringstream lines(file.text);
  uint32_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.starts_with("// row: ")) {
      std::istringstream words(line.substr(8));
      for (std::string word; words >> word;) file.rows.push_back(word);
    } else if (line.starts_with("// run: ")) {
      TRY_STATUS(ParseRun(file, line.substr(8), number));
    } else if (line.starts_with("// expect: ")) {
      std::istringstream words(line.substr(11));
      uint32_t argument = 0;
      std::string digits;
      words >> argument >> digits;
      auto bytes = FromHex(digits);
      if (!bytes || file.runs.empty())
        return Bad(file, number, "an expectation needs an argument number, hex digits and a run above it");
      file.runs.back().expected[argument] = std::move(*bytes);
    }
  }
  return file;
}

const std::vector<std::byte>* VectorRecord::Find(const VectorRun& run, uint32_t argument) const {
  const auto found = buffers.find({run.kernel, run.number, argument});
  return found == buffers.end() ? nullptr : &found->second;
}

Result<std::optional<VectorRecord>> ReadVectorRecord(const std::filesystem::path& vector_file,
                                                     const char* extension) {
  std::filesystem::path path = vector_file;
  path.replace_extension(extension);
  if (!std::filesystem::exists(path)) return std::optional<VectorRecord>{};
  std::ifstream in(path);
  VectorRecord record;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("gpu "))
      record.gpu = line.substr(4);
    else if (line.starts_with("driver "))
      record.driver = line.substr(7);
    else if (line.starts_with("date "))
      record.date = line.substr(5);
    else {
      std::istringstream words(line);
      std::string kernel, digits;
      uint32_t run = 0, argument = 0;
      words >> kernel >> run >> argument >> digits;
      auto bytes = FromHex(digits);
      if (!words || !bytes) return Fail(ErrorCode::kFile, "damaged record '" + path.string() + "'");
      record.buffers[{kernel, run, argument}] = std::move(*bytes);
    }
  }
  return record;
}

Result<std::vector<Argument>> ParseArguments(const VectorRun& run) {
  std::vector<Argument> arguments;
  for (const std::string& spec : run.specs) arguments.push_back(TRY(ParseSpec(spec)));
  return arguments;
}

std::optional<std::string> FindVectorDifference(const VectorRule& rule, const ScalarType& type,
                                                const std::vector<std::byte>& actual,
                                                const std::vector<std::byte>& expected) {
  if (actual.size() != expected.size()) return "sizes differ";
  size_t wrong = 0, first = 0;
  const size_t count = actual.size() / type.size;
  for (size_t i = 0; i < count; ++i) {
    if (Equal(rule, type, &actual[i * type.size], &expected[i * type.size])) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return std::nullopt;
  return std::to_string(wrong) + " of " + std::to_string(count) + " differ, first at " +
         std::to_string(first) + ": got " + FormatValue(type, &actual[first * type.size], true) +
         ", expected " + FormatValue(type, &expected[first * type.size], true);
}

}  // namespace ptx2cpu::rt
