// Indices, conditions and addresses.
#include <bit>

#include "tests/random/patterns/writer.h"

namespace ptx2cpu::random_patterns {

namespace {

template <size_t N>
const char* Pick(const char* const (&words)[N], RandomWords& random) {
  return words[random.Below(N)];
}

// Numbers at which forms change: near powers of two, widths, wraps.
uint32_t Number(RandomWords& random) {
  constexpr uint32_t kNumbers[] = {
      0,  1,   2,   3,   4,   5,   7,   8,   15,   16,   17,         31,         32,         33,      63,
      64, 100, 127, 255, 256, ~0u, ~1u, ~7u, ~31u, 1000, 0x7FFFFFFF, 0x80000000, 0xFFFFFF00, 0x10000, 24};
  return random.Chance(8) ? random.Word() : kNumbers[random.Below(std::size(kNumbers))];
}

}  // namespace

std::string Writer::Uniform(const Place& place, RandomWords& random) {
  constexpr const char* kPlaces[] = {"%n0", "%n1", "%n2", "%bx", "%by", "%ntx", "%nty", "%block"};
  static_cast<void>(place);
  if (random.Chance(4)) return Compute("ld.global.u32", fmt::format("[%in+{}]", 4 * random.Below(16)));
  return Pick(kPlaces, random);
}

std::string Writer::Atom(const Place& place, RandomWords& random) {
  constexpr const char* kPlaces[] = {"%tx", "%tx",   "%tx", "%ty", "%lin", "%gid", "%gid", "%gx",
                                     "%gy", "%lane", "%bx", "%tz", "%n0",  "%n1",  "%n2",  "%lin"};
  if (!place.counters.empty() && random.Chance(2)) return place.counters[random.Below(place.counters.size())];
  if (random.Chance(6)) return fmt::format("%a{}", random.Below(kVariables));
  return Pick(kPlaces, random);
}

std::string Writer::Index(const Place& place, RandomWords& random, uint32_t depth) {
  if (depth == 0) return Atom(place, random);
  const std::string a = Index(place, random, depth - 1);
  const auto other = [&] { return Index(place, random, random.Chance(2) ? 0 : depth - 1); };
  constexpr const char* kPlain[] = {"add.u32", "add.s32", "sub.u32", "sub.s32"};
  constexpr const char* kBits[] = {"and.b32", "or.b32", "xor.b32"};
  constexpr const char* kLimits[] = {"min.u32", "max.u32", "min.s32", "max.s32"};
  constexpr const char* kShifts[] = {"shl.b32", "shr.u32", "shr.s32"};
  constexpr const char* kQuotients[] = {"div.u32", "rem.u32", "div.s32", "rem.s32"};
  switch (random.Below(20)) {
    case 0:
    case 1:
      return Compute(Pick(kPlain, random), a, other());
    case 2:
    case 3:
      return Compute(Pick(kPlain, random), a, static_cast<int32_t>(Number(random)));
    case 4:
      return Compute("mul.lo.u32", a,
                     random.Chance(2) ? std::to_string(1 + random.Below(9)) : Uniform(place, random));
    case 5:
      return Compute("mad.lo.s32", a, 1 + random.Below(5), other());
    case 6:
    case 7:
      return Compute(Pick(kBits, random), a, Number(random));
    case 8:
      return Compute(Pick(kLimits, random), a, Number(random));
    case 9:
      return Compute(Pick(kLimits, random), a, random.Chance(2) ? Uniform(place, random) : other());
    case 10:
      return Compute(Pick(kShifts, random), a, random.Chance(8) ? 32 : random.Below(7));
    case 11:
      return Compute(Pick(kQuotients, random), a, 1 + random.Below(random.Chance(3) ? 300 : 20));
    case 12:
      return Compute(Pick(kQuotients, random), a, Compute("or.b32", Uniform(place, random), 1));
    case 13:
      return Compute("selp.b32", a, other(), Condition(place, random));
    case 14:
      return Compute("bfe.u32", a, random.Below(8), 1 + random.Below(9));
    case 15:
      return Compute("mul.lo.u32", a, Number(random));
    case 16:
      return Compute(random.Chance(2) ? "neg.s32" : "not.b32", a);
    case 17: {
      const std::string wide =
          ComputeWide(random.Chance(2) ? "mul.wide.s32" : "mul.wide.u32", a, 1 + random.Below(4));
      const std::string sum = ComputeWide("add.s64", wide, static_cast<int32_t>(Number(random)));
      return Compute("cvt.u32.u64", sum);
    }
    case 18:
      return Compute(Pick(kBits, random), a, other());
    default:
      return a;
  }
}

std::string Writer::Condition(const Place& place, RandomWords& random) {
  constexpr const char* kTests[] = {"setp.lt.u32", "setp.ge.u32", "setp.eq.u32", "setp.ne.u32", "setp.lt.s32",
                                    "setp.gt.s32", "setp.le.s32", "setp.hi.u32", "setp.ls.u32"};
  switch (random.Below(8)) {
    case 0:  // one place
      return Test("setp.eq.u32", Atom(place, random), random.Chance(2) ? 0 : random.Below(40));
    case 1:  // an edge
      return Test(Pick(kTests, random), Atom(place, random), Uniform(place, random));
    case 2: {
      const std::string bits = Compute("and.b32", Atom(place, random), 1u << random.Below(7));
      return Test("setp.ne.u32", bits, 0);
    }
    case 3:  // by data
      return Test(Pick(kTests, random), "%h", random.Word());
    case 4: {  // two at once
      constexpr const char* kJoins[] = {"and.pred", "or.pred", "xor.pred"};
      const std::string first = Test(Pick(kTests, random), Atom(place, random), Number(random));
      const std::string second = Test(Pick(kTests, random), Atom(place, random), Uniform(place, random));
      return Test(Pick(kJoins, random), first, second);
    }
    case 5:
      return Test(Pick(kTests, random), Index(place, random, 1), Index(place, random, 1));
    case 6: {
      const std::string predicate =
          Test(Pick(kTests, random), Atom(place, random), random.Below(tree_.BlockThreads() + 2));
      return random.Chance(2) ? predicate : Test("not.pred", predicate);
    }
    default:
      return Test(Pick(kTests, random), Index(place, random, 2), Number(random));
  }
}

std::string Writer::UniformCondition(const Place& place, RandomWords& random) {
  const std::string value = Uniform(place, random);
  if (random.Chance(2)) return Test("setp.ne.u32", Compute("and.b32", value, 1u << random.Below(3)), 0);
  return Test("setp.gt.s32", value, Number(random));
}

// Below `size`, by one of the ways in which programs see to it.
std::string Writer::Bounded(const std::string& index, uint32_t size, RandomWords& random) {
  switch (random.Below(6)) {
    case 0:
    case 1:
      if (std::has_single_bit(size)) return Compute("and.b32", index, size - 1);
      return Compute("rem.u32", index, size);
    case 2:
      return Compute("min.s32", Compute("max.s32", index, 0), size - 1);
    case 3:
      return Compute("max.s32", Compute("min.s32", index, size - 1), 0);
    case 4:
      return Compute("min.u32", index, size - 1);
    default: {
      const std::string inside = Test("setp.lt.u32", index, size);
      return Compute("selp.b32", index, random.Below(size), inside);
    }
  }
}

// Through numbers of 64 bits, below `size`.
std::string Writer::WideBounded(const std::string& index, uint32_t size, RandomWords& random) {
  std::string wide = ComputeWide(random.Chance(2) ? "cvt.s64.s32" : "cvt.u64.u32", index);
  constexpr const char* kSteps[] = {"add.s64", "sub.s64", "mul.lo.s64", "xor.b64", "max.s64", "min.u64"};
  for (uint32_t n = random.Below(3); n > 0; --n)
    wide = ComputeWide(Pick(kSteps, random), wide, static_cast<int32_t>(Number(random)));
  if (random.Chance(3)) wide = ComputeWide(random.Chance(2) ? "shr.s64" : "shl.b64", wide, random.Below(35));
  switch (random.Below(4)) {
    case 0:
      return ComputeWide("min.s64", ComputeWide("max.s64", wide, 0), size - 1);
    case 1:
      return ComputeWide("rem.u64", wide, size);
    case 2: {
      const std::string inside = Test("setp.lt.u64", wide, size);
      return ComputeWide("selp.b64", wide, random.Below(size), inside);
    }
    default:
      return ComputeWide("min.u64", wide, size - 1);
  }
}

// base + index * scale, with what remains as an offset: the operand of an access.
std::string Writer::Address(const std::string& base, const std::string& index, uint32_t scale,
                            RandomWords& random) {
  switch (random.Below(6)) {
    case 0:
      return ComputeWide("mad.wide.u32", index, scale, base);
    case 1:
      return ComputeWide("add.s64", base, ComputeWide("mul.wide.s32", index, scale));
    case 2: {
      const std::string bytes = Compute("mul.lo.u32", index, scale);
      return ComputeWide("add.u64", base, ComputeWide("cvt.u64.u32", bytes));
    }
    case 3: {
      const std::string wide = ComputeWide("cvt.s64.s32", index);
      return ComputeWide("add.s64", base, ComputeWide("shl.b64", wide, std::countr_zero(scale)));
    }
    case 4: {  // a distance that the offset gives back
      const uint32_t distance = random.Below(5) * scale;
      const std::string far = ComputeWide("add.s64", base, -static_cast<int64_t>(distance));
      return fmt::format("{}+{}", ComputeWide("mad.wide.s32", index, scale, far), distance);
    }
    default: {  // from the middle, with an index that may be negative
      const uint32_t middle = random.Below(64);
      const std::string from = ComputeWide("add.s64", base, middle * scale);
      const std::string rest = Compute("sub.s32", index, middle);
      return ComputeWide("mad.wide.s32", rest, scale, from);
    }
  }
}

std::string Writer::SharedAddress(const std::string& index, RandomWords& random) {
  if (random.Chance(2)) return Compute("mad.lo.u32", index, 4, "%shared");
  return Compute("add.u32", "%shared", Compute("shl.b32", index, 2));
}

// Another place of the same range, by a permutation.
std::string Writer::Permuted(const std::string& place, uint32_t size, RandomWords& random) {
  switch (random.Below(6)) {
    case 0:
      return place;
    case 1:
      return Compute("sub.u32", size - 1, place);
    case 2:
      if (!std::has_single_bit(size)) return place;
      return Compute("xor.b32", place, random.Below(size));
    case 3:
      return Compute("rem.u32", Compute("add.u32", place, random.Below(size)), size);
    case 4:
      if (!std::has_single_bit(size)) return place;
      return Compute("and.b32", Compute("mul.lo.u32", place, 2 * random.Below(8) + 1), size - 1);
    default: {
      if (!std::has_single_bit(size)) return place;
      return Compute("and.b32", Compute("sub.s32", place, random.Below(size)), size - 1);
    }
  }
}

// A cell below `cells` that no other thread of the grid has, however often this is called.
std::string Writer::ThreadCell(const Place& place, RandomWords& random, uint32_t& cells) {
  const uint32_t threads = tree_.Threads();
  const uint32_t planes = 1u << random.Below(3);
  switch (random.Below(5)) {
    case 0: {  // by columns and rows
      const uint32_t width = tree_.block[0] * tree_.grid[0], height = tree_.block[1] * tree_.grid[1];
      if (tree_.block[2] != 1) break;
      const uint32_t pitch = width + random.Below(5);
      if (random.Chance(3)) {
        cells = (height + 2) * width;
        return Compute("mad.lo.u32", "%gx", height + 2, "%gy");
      }
      cells = pitch * height;
      return Compute("mad.lo.s32", "%gy", pitch, "%gx");
    }
    case 1: {
      const std::string plane = Compute("and.b32", Index(place, random, 1), planes - 1);
      cells = threads * planes;
      return Compute("mad.lo.u32", "%gid", planes, plane);
    }
    case 2: {
      // The index last: what it draws depends on the place.
      const std::string own = Permuted("%gid", threads, random);
      const std::string plane = Compute("and.b32", Index(place, random, 1), planes - 1);
      cells = threads * planes;
      return Compute("mad.lo.u32", plane, threads, own);
    }
    default:
      break;
  }
  const uint32_t stride = random.Chance(3) ? 2 + random.Below(3) : 1, first = random.Below(4);
  cells = threads * stride + first;
  const std::string own = Permuted("%gid", threads, random);
  if (stride == 1 && first == 0) return own;
  return Compute("mad.lo.u32", own, stride, first);
}

// The same, or by the counter of a strided loop.
std::string Writer::Cell(const Place& place, RandomWords& random, uint32_t& cells) {
  if (place.own.empty() || random.Chance(4)) return ThreadCell(place, random, cells);
  const auto& [counter, bound] = place.own[random.Below(place.own.size())];
  cells = bound;
  switch (random.Below(4)) {
    case 0:
      return Compute("sub.s32", bound - 1, counter);
    case 1:
      cells = 2 * bound + 1;
      return Compute("mad.lo.s32", counter, 2, random.Below(2));
    default:
      return counter;
  }
}

}  // namespace ptx2cpu::random_patterns
