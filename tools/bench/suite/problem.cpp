#include "tools/bench/suite/problem.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <new>

namespace ptx2cpu::suite {

namespace {

constexpr size_t kPage = 4096;

double ElementOf(Type type, const std::byte* at) {
  const auto load = [at]<typename T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return static_cast<double>(value);
  };
  switch (type) {
    case Type::kU8:
      return load(uint8_t{});
    case Type::kU32:
      return load(uint32_t{});
    case Type::kF32:
      return load(float{});
    case Type::kF64:
      return load(double{});
  }
  return 0;
}

// splitmix64, as in the corpus.
class Random {
 public:
  explicit Random(uint32_t seed) : state_(seed * 0x9E3779B97F4A7C15ull) {}
  uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15ull;
    uint64_t z = state_;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
  }
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace

uint32_t BytesOf(Type type) {
  switch (type) {
    case Type::kU8:
      return 1;
    case Type::kU32:
    case Type::kF32:
      return 4;
    case Type::kF64:
      return 8;
  }
  return 0;
}

Memory::Memory(size_t bytes)
    : data_(static_cast<std::byte*>(std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage + kPage))),
      size_(bytes) {
  if (data_ == nullptr) throw std::bad_alloc();
}
void Memory::Free::operator()(std::byte* data) const { std::free(data); }

Argument Problem::Add(Datum datum) {
  data.push_back(std::move(datum));
  return static_cast<Argument>(data.size() - 1);
}

Argument Problem::AddBuffer(Type type, std::span<const std::byte> bytes) {
  Datum datum{.buffer = std::make_shared<Memory>(bytes.size()), .type = type};
  std::memcpy(datum.buffer->data(), bytes.data(), bytes.size());
  const std::byte* address = datum.buffer->data();
  std::memcpy(datum.value.data(), &address, sizeof address);
  return Add(std::move(datum));
}

Argument Problem::AddScratch(Argument index) {
  const Memory& memory = *data[index].buffer;
  data[index].initial.assign(memory.data(), memory.data() + memory.size());
  return index;
}

Argument Problem::AddResult(Argument index, Tolerance tolerance, bool keep_initial) {
  data[index].result = true;
  data[index].tolerance = tolerance;
  return keep_initial ? AddScratch(index) : index;
}

void Problem::Reset() const {
  for (const Datum& datum : data) {
    if (!datum.initial.empty()) std::memcpy(datum.buffer->data(), datum.initial.data(), datum.initial.size());
  }
}

void Problem::Clear() const {
  for (const Datum& datum : data) {
    if (datum.result) std::memset(datum.buffer->data(), 0xA5, datum.buffer->size());
  }
}

std::vector<std::byte> Problem::Results() const {
  std::vector<std::byte> results;
  for (const Datum& datum : data) {
    if (!datum.result) continue;
    results.insert(results.end(), datum.buffer->data(), datum.buffer->data() + datum.buffer->size());
  }
  return results;
}

Status Problem::Compare(std::span<const std::byte> expected) const {
  for (uint32_t index = 0; index < data.size(); ++index) {
    const Datum& datum = data[index];
    if (!datum.result) continue;
    const uint32_t bytes = BytesOf(datum.type);
    const std::byte* results = datum.buffer->data();
    auto others =
        static_cast<size_t>(datum.tolerance.share * static_cast<double>(datum.buffer->size() / bytes));
    for (size_t at = 0; at < datum.buffer->size(); at += bytes) {
      if (std::memcmp(results + at, expected.data() + at, bytes) == 0) continue;
      const double is = ElementOf(datum.type, results + at),
                   wanted = ElementOf(datum.type, expected.data() + at);
      const double most = datum.tolerance.absolute + datum.tolerance.relative * std::abs(wanted);
      if (std::abs(is - wanted) <= most && most > 0) continue;  // false for a NaN
      if (others > 0) {
        --others;
        continue;
      }
      return Fail(ErrorCode::kInternal,
                  fmt::format("argument {}, element {}: {:.9g} differs from {:.9g} by more than {:.3g}",
                              index, at / bytes, is, wanted, most));
    }
    expected = expected.subspan(datum.buffer->size());
  }
  return {};
}

std::vector<float> Floats(size_t count, uint32_t seed, float low, float high) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = low + static_cast<float>(random.Uniform()) * (high - low);
  return values;
}

std::vector<double> Doubles(size_t count, uint32_t seed, double low, double high) {
  Random random(seed);
  std::vector<double> values(count);
  for (double& value : values) value = low + random.Uniform() * (high - low);
  return values;
}

std::vector<uint32_t> Words(size_t count, uint32_t seed, uint32_t limit) {
  Random random(seed);
  std::vector<uint32_t> values(count);
  for (uint32_t& value : values) value = static_cast<uint32_t>((random.Next() >> 32) * limit >> 32);
  return values;
}

std::vector<uint8_t> Bytes(size_t count, uint32_t seed) {
  Random random(seed);
  std::vector<uint8_t> values(count);
  for (uint8_t& value : values) value = static_cast<uint8_t>(random.Next() >> 40);
  return values;
}

}  // namespace ptx2cpu::suite
