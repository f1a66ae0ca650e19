// Rows of elements that each thread has for itself, and words of two halves.
#include "tests/random/patterns/writer.h"

namespace ptx2cpu::random_patterns {

namespace {

const Row kRows[] = {{"u32", 4, false}, {"b32", 4, false}, {"u8", 1, false},
                     {"s16", 2, false}, {"b64", 8, false}, {"b64", 8, true}};
constexpr uint32_t kRowLengths[] = {2, 3, 4, 4, 5, 8, 8, 16};
constexpr uint32_t kMaxRowTrips = 60;

template <size_t N>
const char* Pick(const char* const (&words)[N], RandomWords& random) {
  return words[random.Below(N)];
}

}  // namespace

// -- rows --

// Trips of a loop over the elements of a row, upwards or downwards; `body` receives the number of one.
void Writer::OverRow(const Row& row, RandomWords& random,
                     const std::function<void(const std::string& number)>& body) {
  const std::string k = Reg(), more = Predicate(), again = NewLabel();
  const bool down = random.Chance(5), by_unsigned = random.Chance(2);
  Line("mov.u32 {}, {}", k, down ? row.length - 1 : 0);
  Label(again);
  body(k);
  Line("add.s32 {}, {}, {}", k, k, down ? -1 : 1);
  if (down)
    Line("setp.ge.s32 {}, {}, 0", more, k);
  else
    Line("setp.{} {}, {}, {}", by_unsigned ? "ne.u32" : "lt.s32", more, k, row.length);
  Line("@{} bra {}", more, again);
}

std::string Writer::ElementAt(const Row& row, const std::string& base, const std::string& begin,
                              const std::string& k, RandomWords& random) {
  const std::string offset =
      random.Chance(2) ? ComputeWide("cvt.s64.s32", Compute("mad.lo.s32", k, row.bytes, begin))
                       : ComputeWide("mad.wide.s32", k, row.bytes, ComputeWide("cvt.u64.u32", begin));
  return ComputeWide("add.s64", base, offset);
}

void Writer::AddToSum(const Row& row, const std::string& value) {
  if (row.is_double)
    Line("fma.rn.f64 {}, {}, 0d3FE0000000000000, {}", row.sum, row.sum, value);
  else
    Line("mad.lo.{} {}, {}, 3, {}", row.IsWide() ? "u64" : "u32", row.sum, row.sum, value);
  if (row.is_double)
    Line("@{} mov.b64 {}, 0x7FFFFFFFFFFFFFFF", Test("setp.nan.f64", row.sum, row.sum), row.sum);
}

void Writer::AddElement(const Row& row, const std::string& address) {
  const std::string value = row.IsWide() ? Wide() : Reg();
  Line("ld.global.{} {}, [{}]", row.suffix, value, address);
  AddToSum(row, value);
}

// The thread's own: stored, then updated one after the other.
void Writer::OwnRow(const Row& row, const Place& place, uint32_t word, RandomWords& random) {
  RandomWords cell_random(word);
  uint32_t cells = 0;
  const std::string cell = ThreadCell(place, cell_random, cells);
  const std::string base = ComputeWide("add.s64", "%stores", stored_bytes_);
  stored_bytes_ += (cells * row.pitch * row.bytes + 15) / 16 * 16;
  const std::string begin = Compute("mul.lo.u32", cell, row.pitch * row.bytes);
  if (!random.Chance(3)) {
    OverRow(row, random, [&](const std::string& k) {
      const std::string at = ElementAt(row, base, begin, k, random);
      AddToSum(row, row.IsWide() ? ComputeWide("cvt.u64.u32", k) : k);
      Line("st.global.{} [{}], {}", row.suffix, at, row.sum);
    });
  }
  const bool adds_before = random.Chance(2);
  OverRow(row, random, [&](const std::string& k) {
    const std::string at = ElementAt(row, base, begin, k, random);
    if (adds_before) AddElement(row, at);
    Line("st.global.{} [{}], {}", row.suffix, at, row.sum);
    if (!adds_before) AddElement(row, at);
  });
}

void Writer::Rows(const Node& node, const Place& place) {
  RandomWords random(node.word[0]);
  Row row = kRows[random.Below(std::size(kRows))];
  row.length =
      std::min(kRowLengths[random.Below(std::size(kRowLengths))], std::max(1u, kMaxRowTrips / place.trips));
  row.pitch = row.length + (random.Chance(4) ? random.Below(4) : 0);
  row.sum = row.IsWide() ? Wide() : Reg();
  Line("mov.b{} {}, 0", row.IsWide() ? 64 : 32, row.sum);
  const std::string index =
      Bounded(Index(place, random, random.Below(3)), kInputBytes / (row.pitch * row.bytes), random);
  const std::string begin = Compute("mul.lo.u32", index, row.pitch * row.bytes);
  if (!random.Chance(4)) {
    OverRow(row, random,
            [&](const std::string& k) { AddElement(row, ElementAt(row, "%in", begin, k, random)); });
  }
  if (random.Chance(2)) OwnRow(row, place, node.word[1], random);
  if (!row.IsWide()) return Assign(row.sum, random);
  Fold(Compute("cvt.u32.u64", ComputeWide("shr.u64", row.sum, 32)));
  Assign(Compute("cvt.u32.u64", row.sum), random);
}

// -- halves --

std::string Writer::WordOfHalves(const Place& place, RandomWords& random) {
  if (random.Chance(3)) return Index(place, random, 1);
  if (random.Chance(3)) return "%h";
  const std::string at = Compute("and.b32", Index(place, random, 1), kInputBytes / 4 - 1);
  return Compute("ld.global.b32", fmt::format("[{}]", Address("%in", at, 4, random)));
}

// What an operation does with the low and with the high half: halves of another word, of this one, or one
// that is the same for all threads.
Halves Writer::OtherHalves(const Halves& halves, const Place& place, RandomWords& random) {
  const auto uniform = [&] {
    return Into(Short(), fmt::format("cvt.rn.{}.f32", halves.type),
                ComputeFloat("cvt.rn.f32.s32", Uniform(place, random)));
  };
  const uint32_t form = random.Below(6);
  if (form == 0) {
    const std::string both = uniform();
    return {halves.type, both, both};
  }
  if (form == 1) return {halves.type, halves.high, halves.low};
  if (form == 2) return halves;
  const std::string low = Short(), high = Short();
  Line("mov.b32 {{{}, {}}}, {}", low, high, WordOfHalves(place, random));
  if (form == 3) return {halves.type, low, uniform()};
  return random.Chance(4) ? Halves{halves.type, high, low} : Halves{halves.type, low, high};
}

// To f32, multiplied, and back.
void Writer::ScaleHalves(const Halves& made, const Halves& halves, const Place& place, RandomWords& random) {
  const std::string widen = fmt::format("cvt.f32.{}", halves.type), a = ComputeFloat(widen, halves.low),
                    b = ComputeFloat(widen, halves.high),
                    factor = random.Chance(2) ? std::string("0f3F400000") : FloatValue(place, random);
  Line("mul.f32 {}, {}, {}", a, a, factor);
  Line("mul.f32 {}, {}, {}", b, b, factor);
  if (random.Chance(2)) {
    const std::string word = Compute(fmt::format("cvt.rn.{}x2.f32", halves.type), b, a);
    return Line("mov.b32 {{{}, {}}}, {}", made.low, made.high, word);
  }
  Line("cvt.rn.{}.f32 {}, {}", halves.type, made.low, a);
  Line("cvt.rn.{}.f32 {}, {}", halves.type, made.high, b);
}

void Writer::ChooseHalves(const Halves& made, const Halves& x, const Halves& y, RandomWords& random) {
  const std::string p = Predicate(), q = Predicate();
  const char* compare = random.Chance(2) ? "lt" : "geu";
  Line("setp.{}.{} {}, {}, {}", compare, x.type, p, x.low, y.low);
  Line("setp.{}.{} {}, {}, {}", compare, x.type, q, x.high, y.high);
  Line("selp.b16 {}, {}, {}, {}", made.low, x.low, y.low, p);
  Line("selp.b16 {}, {}, {}, {}", made.high, x.high, y.high, random.Chance(4) ? p : q);
}

void Writer::StepOfHalves(const Halves& halves, const Place& place, RandomWords& random) {
  constexpr const char* kTwo[] = {"add", "mul", "min", "max", "max.NaN", "sub"};
  constexpr const char* kOne[] = {"neg", "abs"};
  const Halves other = OtherHalves(halves, place, random), made{halves.type, Short(), Short()};
  const std::string& type = halves.type;
  const bool high_first = random.Chance(4);
  const auto for_both = [&](const auto& line) {
    if (high_first) line(made.high, halves.high, other.high);
    line(made.low, halves.low, other.low);
    if (!high_first) line(made.high, halves.high, other.high);
  };
  const uint32_t form = random.Below(8);
  const char *one = Pick(kOne, random), *two = Pick(kTwo, random);
  if (form == 0) {
    for_both([&](const auto& to, const auto& x, const auto&) { Line("{}.{} {}, {}", one, type, to, x); });
  } else if (form == 1) {
    ScaleHalves(made, halves, place, random);
  } else if (form == 2) {
    ChooseHalves(made, halves, other, random);
  } else if (form <= 4) {
    for_both([&](const auto& to, const auto& x, const auto& y) {
      Line("fma.rn.{} {}, {}, {}, {}", type, to, x, y, x);
    });
  } else if (form == 5) {  // one alone
    Line("{}.{} {}, {}, {}", two, type, made.low, halves.low, other.low);
    Line("mov.b16 {}, {}", made.high, random.Chance(2) ? halves.high : other.high);
  } else {
    for_both(
        [&](const auto& to, const auto& x, const auto& y) { Line("{}.{} {}, {}, {}", two, type, to, x, y); });
  }
  if (random.Chance(5)) {  // read alone, as it is for all threads perhaps
    const std::string value = ComputeFloat(fmt::format("cvt.f32.{}", type), other.high);
    Fold(Compute("selp.b32", 1, 7, Test("setp.gt.f32", value, "0f40000000")));
  }
  const std::string guard = random.Chance(4) ? "@" + Condition(place, random) + " " : "";
  Line("{}mov.b16 {}, {}", guard, halves.low, made.low);
  if (!random.Chance(6)) Line("{}mov.b16 {}, {}", guard, halves.high, made.high);
}

// Both halves of a word, which are computed alike, or nearly so.
void Writer::HalvesOfWord(const Node& node, const Place& place) {
  RandomWords random(node.word[0]);
  const Halves halves{random.Chance(4) ? "bf16" : "f16", Short(), Short()};
  Line("mov.b32 {{{}, {}}}, {}", halves.low, halves.high, WordOfHalves(place, random));
  const uint32_t most = std::max(1u, std::min(5u, kMaxRowTrips / place.trips));
  const bool loops = random.Chance(2), varies = random.Chance(2);
  std::string count;
  const std::string again = NewLabel();
  if (loops) {
    count = Compute("rem.u32", varies ? Index(place, random, 1) : Uniform(place, random), most);
    Label(again);
  }
  const uint32_t steps = 1 + random.Below(5);
  for (uint32_t step = 0; step < steps; ++step) StepOfHalves(halves, place, random);
  if (loops) {
    Line("add.s32 {}, {}, -1", count, count);
    Line("@{} bra {}", Test("setp.gt.s32", count, 0), again);
  }
  const std::string word = Reg();
  Line("mov.b32 {}, {{{}, {}}}", word, halves.low, halves.high);
  Assign(Compute(fmt::format("max.NaN.{}x2", halves.type), word, word), random);
}

}  // namespace ptx2cpu::random_patterns
