#include "tools/record/many.h"

#include <charconv>
#include <cstring>
#include <string_view>

#include "tools/record/generators.h"

namespace ptx2cpu::rt {

namespace {

constexpr std::string_view kWriter = "// Written by make_vectors";

// NAME:TYPE:REST
struct Spec {
  std::string_view role, type, rest;
};
std::optional<Spec> Divide(std::string_view spec) {
  const size_t first = spec.find(':'), second = spec.find(':', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  return Spec{spec.substr(0, first), spec.substr(first + 1, second - first - 1), spec.substr(second + 1)};
}

std::optional<uint32_t> Number(std::string_view text) {
  uint32_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) return std::nullopt;
  return number;
}

std::string Join(std::initializer_list<uint64_t> numbers) {
  std::string text;
  for (const uint64_t number : numbers) text += "," + std::to_string(number);
  return text;
}

bool IsNan(const ScalarType& type, uint64_t bits) {
  if (type.exponent_bits == 0) return false;
  const int width = type.size * 8, mantissa = width - 1 - type.exponent_bits;
  const uint64_t magnitude = bits & ((uint64_t{1} << (width - 1)) - 1);
  return magnitude > ((uint64_t{1} << type.exponent_bits) - 1) << mantissa;
}

// The arguments of gen(...) for one batch.
std::string Integers(const ScalarType& type, uint32_t batch, size_t index, uint64_t count, uint64_t seed) {
  const bool is_small = batch == 2 || (batch == 3 && index % 2 == 1);
  if (!is_small) return "bits" + Join({count, seed});
  return "uniform" + Join({count, seed}) + (type.kind == ScalarKind::kSigned ? ",-70,70" : ",0,70");
}
std::string Floats(const ScalarType& type, uint32_t batch, uint64_t count, uint64_t seed) {
  const uint64_t bits = type.exponent_bits, bias = (uint64_t{1} << (bits - 1)) - 1;
  const uint64_t spread = bits < 8 ? bias : 24, low = bits < 8 ? bias / 2 + 1 : bias / 2;
  switch (batch) {
    case 0:
      return "uniform" + Join({count, seed}) + ",-8,8";
    case 1:
      return "bits" + Join({count, seed});
    case 2:
      return "floats" + Join({count, seed, bits, bias - spread, bias + spread, 8});
    default:
      return "floats" + Join({count, seed, bits, low - 4, low + 4, 64});
  }
}

Result<std::string> ManySpec(const VectorRun& run, const std::string& spec, uint32_t batch, size_t index) {
  const std::optional<Spec> parts = Divide(spec);
  const ScalarType* type = parts ? FindScalarType(parts->type) : nullptr;
  const auto unknown = [&] {
    return Fail(Error{ErrorCode::kUsage, "a run of make_vectors has buffers only, not '" + spec + "'"});
  };
  if (type == nullptr) return unknown();
  const bool is_output = parts->role == "out";
  const size_t comma = parts->rest.find(',');
  const auto count = Number(is_output                         ? parts->rest
                            : comma != std::string_view::npos ? parts->rest.substr(comma + 1)
                                                              : "");
  if (!count || *count % run.block[0] != 0 || (!is_output && parts->role != "in")) return unknown();
  const uint64_t elements = uint64_t{*count / run.block[0]} * kManyThreads;
  const std::string head = std::string(parts->role) + ":" + std::string(parts->type) + ":";
  if (is_output) return head + std::to_string(elements);
  const uint64_t seed = 100000 * (batch + 1) + 1000 * index + run.line;
  // Kernels of functions of small arguments have these in all batches.
  constexpr std::string_view kSmall = ",-6.2831853,6.2831853)";
  if (parts->rest.ends_with(kSmall))
    return head + "gen(uniform" + Join({elements, seed}) + std::string(kSmall);
  return head + "gen(" +
         (type->exponent_bits == 0 ? Integers(*type, batch, index, elements, seed)
                                   : Floats(*type, batch, elements, seed)) +
         ")";
}

// An approximate instruction of one operand of 16 bits.
bool TakesEveryValue(const VectorRun& run) {
  if (run.rule.kind != VectorRule::Kind::kNear || run.specs.size() != 2) return false;
  const std::optional<Spec> output = Divide(run.specs[0]), input = Divide(run.specs[1]);
  const ScalarType* type = input ? FindScalarType(input->type) : nullptr;
  return type != nullptr && type->size == 2 && output->rest == std::to_string(run.block[0]);
}

}  // namespace

Result<std::vector<VectorRun>> ManyRuns(const VectorFile& file) {
  std::vector<VectorRun> runs;
  if (file.text.find(kWriter) == std::string::npos) return runs;
  for (size_t i = 0; i < file.runs.size(); ++i) {
    const VectorRun& last = file.runs[i];
    if (i + 1 < file.runs.size() && file.runs[i + 1].kernel == last.kernel) continue;
    const bool is_every = TakesEveryValue(last);
    for (uint32_t batch = 0; batch < (is_every ? 0x10000 / kManyThreads : kManyBatches); ++batch) {
      VectorRun run{last.kernel, batch, {1, 1, 1}, {kManyThreads, 1, 1}, 0, last.rule, {}, {}, last.line};
      if (is_every) {
        run.specs = {TRY(ManySpec(last, last.specs[0], batch, 0)),
                     "in:u16:gen(iota" + Join({kManyThreads, batch * kManyThreads}) + ")"};
        runs.push_back(std::move(run));
        continue;
      }
      for (size_t index = 0; index < last.specs.size(); ++index)
        run.specs.push_back(TRY(ManySpec(last, last.specs[index], batch, index)));
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

std::vector<std::byte> Summary(const VectorRule& rule, const ScalarType& type,
                               const std::vector<std::byte>& result) {
  if (rule.kind == VectorRule::Kind::kNear) return result;
  std::vector<std::byte> words;
  uint64_t hash = 0;
  for (size_t i = 0; i < result.size() / type.size; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, &result[i * type.size], type.size);
    if (rule.kind == VectorRule::Kind::kValue && IsNan(type, bits)) bits = ~uint64_t{0};
    hash = SplitMix64(hash ^ bits).Next();
    if ((i + 1) % kElementsOfWord != 0) continue;
    const auto word = static_cast<uint32_t>(hash >> 32);
    const auto* bytes = reinterpret_cast<const std::byte*>(&word);
    words.insert(words.end(), bytes, bytes + sizeof(word));
    hash = 0;
  }
  return words;
}

std::optional<std::string> FindManyDifference(const VectorRule& rule, const ScalarType& type,
                                              const std::vector<std::byte>& actual,
                                              const std::vector<std::byte>& recorded) {
  if (rule.kind == VectorRule::Kind::kNear) return FindVectorDifference(rule, type, actual, recorded);
  const std::vector<std::byte> summary = Summary(rule, type, actual);
  if (summary.size() != recorded.size()) return "sizes differ";
  for (size_t at = 0; at < summary.size(); at += sizeof(uint32_t)) {
    if (std::memcmp(&summary[at], &recorded[at], sizeof(uint32_t)) == 0) continue;
    const size_t first = at / sizeof(uint32_t) * kElementsOfWord;
    return "elements " + std::to_string(first) + " to " + std::to_string(first + kElementsOfWord - 1) +
           " are not as recorded";
  }
  return std::nullopt;
}

}  // namespace ptx2cpu::rt
