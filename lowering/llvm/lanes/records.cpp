// Records of four words, one of each lane after the other's (float4): two steps of permutations of two
// registers divide them into their elements, or make them of these; each element for itself takes three.
//
//   x0 y0 z0 w0 x1 ...   ->   x0 .. x7 y0 .. y7   ->   x0 .. x15
//   x4 y4 z4 w4 x5 ...        z0 .. z7 w0 .. w7        y0 .. y15
//   x8 y8 z8 w8 x9 ...        x8 .. x15 y8 .. y15      z0 .. z15
//   ...                       z8 .. z15 w8 .. w15      w0 .. w15
#include <llvm/IR/Constants.h>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;
using Values = std::vector<Value>;

namespace {

constexpr unsigned kWords = 4, kLanes = 16;  // of a record, of a register

template <typename From>
Value Permute(llvm::IRBuilder<>& b, Value x, Value y, unsigned count, From from) {
  llvm::SmallVector<int, 128> elements;
  for (unsigned i = 0; i < count; ++i) elements.push_back(static_cast<int>(from(i)));
  return b.CreateShuffleVector(x, y, elements);
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

bool LaneRecords::IsRecord(const ir::Inst& access) const {
  return e.m.traits.has_avx512 && ElementCount(access) == kWords && ir::Bits(access.type) == 32 &&
         width_ % kLanes == 0;
}

void LaneRecords::DivideRecords(const ir::Inst& load, Value whole) {
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
