// Records of four words, one of each lane after the other's (float4): two steps of permutations of two
// registers divide them into their elements, or make them of these; each element for itself takes three. Of
// eight words (elements that a thread has in a row), three steps, each of which parts words with even numbers
// from those with odd ones, or has them take turns.
//
//   x0 y0 z0 w0 x1 ...   ->   x0 .. x7 y0 .. y7   ->   x0 .. x15
//   x4 y4 z4 w4 x5 ...        z0 .. z7 w0 .. w7        y0 .. y15
//   x8 y8 z8 w8 x9 ...        x8 .. x15 y8 .. y15      z0 .. z15
//   ...                       z8 .. z15 w8 .. w15      w0 .. w15
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;
using Values = std::vector<Value>;

namespace {

constexpr unsigned kWords = 4, kLanes = 16;  // of a record, of a register
constexpr unsigned kLongWords = 8;

template <typename From>
Value Permute(llvm::IRBuilder<>& b, Value x, Value y, unsigned count, From from) {
  llvm::SmallVector<int, 128> elements;
  for (unsigned i = 0; i < count; ++i) elements.push_back(static_cast<int>(from(i)));
  return b.CreateShuffleVector(x, y, elements);
}

// The lower register and the upper one of two whose words take turns.
Value Turns(llvm::IRBuilder<>& b, Value even, Value odd, unsigned lanes, bool upper) {
  return Permute(b, even, odd, lanes,
                 [&](unsigned i) { return (upper ? lanes / 2 : 0) + i / 2 + (i % 2 == 0 ? 0 : lanes); });
}

}  // namespace

Value Concatenate(llvm::IRBuilder<>& b, std::vector<Value> parts) {
  for (; parts.size() > 1; parts.resize(parts.size() / 2)) {
    const auto elements = llvm::cast<llvm::FixedVectorType>(parts[0]->getType())->getNumElements();
    for (size_t i = 0; i < parts.size() / 2; ++i)
      parts[i] = Permute(b, parts[2 * i], parts[2 * i + 1], 2 * elements, [](unsigned n) { return n; });
  }
  return parts[0];
}

// Pairs of vectors as one, then these, then their elements in the order of memory.
Value InTurn(llvm::IRBuilder<>& b, const std::vector<Value>& parts) {
  const auto lanes = llvm::cast<llvm::FixedVectorType>(parts[0]->getType())->getNumElements();
  const auto count = static_cast<unsigned>(parts.size());
  const auto as_they_are = [](unsigned n) { return n; };
  const auto two = [&](size_t k) {
    Value second = k + 1 < count ? parts[k + 1] : llvm::PoisonValue::get(parts[k]->getType());
    return Permute(b, parts[k], second, 2 * lanes, as_they_are);
  };
  Value all = two(0);
  if (count > 2) all = Permute(b, all, two(2), 4 * lanes, as_they_are);
  return Permute(b, all, all, count * lanes, [&](unsigned n) { return n % count * lanes + n / count; });
}

bool LaneRecords::IsLongRecord(const ir::Inst& access) const {
  return ElementCount(access) == kLongWords && ir::Bits(access.type) == 32;
}

bool LaneRecords::IsRecord(const ir::Inst& access) const {
  if (IsLongRecord(access)) return true;
  return e.m.traits.has_avx512 && ElementCount(access) == kWords && ir::Bits(access.type) == 32 &&
         width_ % kLanes == 0;
}

// A register's words; fewer, where a vector of lanes has fewer.
unsigned LaneRecords::LanesOfRegister() const { return std::min(e.m.traits.vector_bytes / 4, width_); }

void LaneRecords::DivideLongRecords(const ir::Inst& load, Value whole) {
  const unsigned lanes = LanesOfRegister();
  std::vector<Values> parts(1);  // of the words whose number has the same lower bits
  for (unsigned first = 0; first < width_ * kLongWords; first += lanes)
    parts[0].push_back(Permute(b, whole, whole, lanes, [&](unsigned i) { return first + i; }));
  for (; parts.size() < kLongWords;) {
    std::vector<Values> halves(2 * parts.size());
    for (size_t n = 0; n < parts.size(); ++n) {
      for (size_t k = 0; k < parts[n].size(); k += 2) {
        for (unsigned odd : {0u, 1u}) {
          halves[n + odd * parts.size()].push_back(
              Permute(b, parts[n][k], parts[n][k + 1], lanes, [&](unsigned i) { return 2 * i + odd; }));
        }
      }
    }
    parts = std::move(halves);
  }
  for (unsigned word = 0; word < kLongWords; ++word)
    e.values.Set(load.results[word], Concatenate(b, std::move(parts[word])));
}

Value LaneRecords::MakeLongRecords(const ir::Inst& store) {
  const unsigned lanes = LanesOfRegister();
  std::vector<Values> parts(kLongWords);
  for (unsigned word = 0; word < kLongWords; ++word) {
    Value all = Vector(e.values.Get(store.operands[1 + word]));
    for (unsigned first = 0; first < width_; first += lanes)
      parts[word].push_back(Permute(b, all, all, lanes, [&](unsigned i) { return first + i; }));
  }
  while (parts.size() > 1) {
    std::vector<Values> joined(parts.size() / 2);
    for (size_t n = 0; n < joined.size(); ++n) {
      for (size_t k = 0; k < parts[n].size(); ++k) {
        for (bool upper : {false, true})
          joined[n].push_back(Turns(b, parts[n][k], parts[n + joined.size()][k], lanes, upper));
      }
    }
    parts = std::move(joined);
  }
  return Concatenate(b, std::move(parts[0]));
}

void LaneRecords::DivideRecords(const ir::Inst& load, Value whole) {
  if (IsLongRecord(load)) return DivideLongRecords(load, whole);
  Values columns[kWords];
  for (unsigned first = 0; first < width_; first += kLanes) {
    Value part[kWords];
    for (unsigned n = 0; n < kWords; ++n) {
      const unsigned start = (first + n * kLanes / kWords) * kWords;
      part[n] = Permute(b, whole, whole, kLanes, [&](unsigned i) { return start + i; });
    }
    // Of eight records their words `word` and the next.
    auto two = [&](unsigned n, unsigned word) {
      return Permute(b, part[n], part[n + 1], kLanes,
                     [&](unsigned i) { return i % 8 * kWords + word + i / 8; });
    };
    for (unsigned word = 0; word < kWords; word += 2) {
      Value low = two(0, word), high = two(2, word);
      for (unsigned n = 0; n < 2; ++n) {
        columns[word + n].push_back(
            Permute(b, low, high, kLanes, [&](unsigned i) { return i % 8 + i / 8 * kLanes + n * 8; }));
      }
    }
  }
  for (unsigned word = 0; word < kWords; ++word)
    e.values.Set(load.results[word], Concatenate(b, std::move(columns[word])));
}

Value LaneRecords::MakeRecords(const ir::Inst& store) {
  if (IsLongRecord(store)) return MakeLongRecords(store);
  Values parts;
  for (unsigned first = 0; first < width_; first += kLanes) {
    Value half[kWords];  // x and y of the lower lanes, then of the upper ones; z and w
    for (unsigned n = 0; n < kWords; ++n) {
      Value x = Vector(e.values.Get(store.operands[1 + n / 2 * 2]));
      Value y = Vector(e.values.Get(store.operands[2 + n / 2 * 2]));
      const unsigned start = first + n % 2 * 8;
      half[n] = Permute(b, x, y, kLanes, [&](unsigned i) { return start + i % 8 + i / 8 * width_; });
    }
    for (unsigned n = 0; n < kWords; ++n) {
      const unsigned record = n % 2 * kWords;
      parts.push_back(Permute(b, half[n / 2], half[2 + n / 2], kLanes,
                              [&](unsigned i) { return record + i / kWords + i % kWords * 8; }));
    }
  }
  return Concatenate(b, std::move(parts));
}

}  // namespace ptx2cpu::lowering
