// Arithmetic.
#include "tests/random/patterns/writer.h"

namespace ptx2cpu::random_patterns {

namespace {
template <size_t N>
const char* Pick(const char* const (&words)[N], RandomWords& random) {
  return words[random.Below(N)];
}
}  // namespace

void Writer::Integer(const Node& node, const Place& place) {
  RandomWords random(node.word[0]);
  const std::string a = Index(place, random, 1 + random.Below(3)), b = Index(place, random, 1);
  switch (random.Below(8)) {
    case 0:
      return Assign(Compute("mul.hi.u32", a, b), random);
    case 1:
      return Assign(Compute("sad.s32", a, b, "%h"), random);
    case 2:
      return Assign(Compute("shf.l.wrap.b32", a, b, random.Below(32)), random);
    case 3:
      return Assign(Compute("popc.b32", a), random);
    case 4:
      return Assign(Compute("clz.b32", Compute("and.b32", a, b)), random);
    case 5: {
      const std::string product = ComputeWide("mul.wide.u32", a, b);
      const std::string sum = ComputeWide("mad.lo.u64", product, 0x10001, product);
      const std::string shifted =
          ComputeWide(random.Chance(2) ? "shr.s64" : "shr.u64", sum, random.Below(40));
      return Assign(Compute("cvt.u32.u64", shifted), random);
    }
    case 6:
      return Assign(Compute("bfi.b32", a, b, random.Below(32), random.Below(20)), random);
    default:
      return Assign(a, random);
  }
}

void Writer::Compare(const Node& node, const Place& place) {
  RandomWords random(node.word[0]);
  std::string value = Index(place, random, 1);
  const uint32_t links = 1 + random.Below(4);
  for (uint32_t i = 0; i < links; ++i) {
    const std::string other = random.Chance(2) ? Index(place, random, 1) : std::to_string(random.Below(64));
    if (random.Chance(4))
      value = Compute(random.Chance(2) ? "min.s32" : "max.u32", value, other);
    else
      value = Compute("selp.b32", value, other, Condition(place, random));
  }
  if (random.Chance(3)) value = Compute("selp.b32", "1", "0", Condition(place, random));
  Assign(value, random);
}

std::string Writer::FloatValue(const Place& place, RandomWords& random) {
  switch (random.Below(6)) {
    case 0:
      return ComputeFloat("cvt.rn.f32.s32", Index(place, random, 1));
    case 1: {  // a special value
      uses_table_ = true;
      const std::string index = Compute("and.b32", Index(place, random, 1), kConstants - 1);
      const std::string table = ComputeWide("mov.u64", kernel_ + "_table");
      return ComputeFloat("ld.const.f32", fmt::format("[{}]", ComputeWide("mad.wide.u32", index, 4, table)));
    }
    case 2: {
      const std::string index = Compute("and.b32", Index(place, random, 1), kInputBytes / 4 - 1);
      return ComputeFloat("ld.global.f32", fmt::format("[{}]", Address("%in", index, 4, random)));
    }
    case 3:
      return ComputeFloat("mov.b32", Compute("or.b32", Compute("and.b32", "%h", 0x807FFFFF), 0x3F000000));
    default:
      return fmt::format("%g{}", random.Below(kFloatVariables));
  }
}

void Writer::Float(const Node& node, const Place& place) {
  RandomWords random(node.word[0]);
  constexpr const char* kTwo[] = {"add.f32",        "sub.f32",        "mul.f32",     "min.f32",
                                  "max.f32",        "min.NaN.f32",    "max.NaN.f32", "max.ftz.f32",
                                  "min.ftz.f32",    "add.rn.f32",     "mul.rn.f32",  "add.sat.f32",
                                  "mul.rn.ftz.f32", "add.rn.ftz.f32", "max.f32",     "min.f32"};
  constexpr const char* kOne[] = {"abs.f32",         "neg.f32",         "sqrt.rn.f32",     "rcp.rn.f32",
                                  "cvt.rni.f32.f32", "cvt.rzi.f32.f32", "cvt.sat.f32.f32", "neg.ftz.f32"};
  constexpr const char* kTests[] = {"setp.lt.f32",  "setp.gtu.f32", "setp.eq.f32",  "setp.neu.f32",
                                    "setp.nan.f32", "setp.num.f32", "setp.geu.f32", "setp.le.ftz.f32"};
  std::string value = FloatValue(place, random);
  const uint32_t links = 1 + random.Below(4);
  for (uint32_t i = 0; i < links; ++i) {
    switch (random.Below(7)) {
      case 0:
        value = ComputeFloat(Pick(kOne, random), value);
        break;
      case 3:  // of a number's sign, not of a NaN's
        value = ComputeFloat("copysign.f32", OneNan(value), FloatValue(place, random));
        break;
      case 1:
        value = ComputeFloat(random.Chance(2) ? "fma.rn.f32" : "fma.rn.ftz.f32", value,
                             FloatValue(place, random), FloatValue(place, random));
        break;
      case 2: {
        const std::string other = FloatValue(place, random);
        const std::string predicate =
            Test(Pick(kTests, random), value, random.Chance(2) ? other : "0f00000000");
        value = ComputeFloat("selp.f32", value, other, predicate);
        break;
      }
      default:
        value = ComputeFloat(Pick(kTwo, random), value, FloatValue(place, random));
    }
  }
  if (random.Chance(2)) Line("mov.f32 %g{}, {}", random.Below(kFloatVariables), value);
  if (random.Chance(3)) {  // a running extreme, as in reductions
    const uint32_t variable = random.Below(kFloatVariables);
    Line("{} %g{}, %g{}, {}", random.Chance(2) ? "max.f32" : "min.f32", variable, variable, value);
  }
  FoldFloat(value);
}

void Writer::Half(const Node& node, const Place& place) {
  RandomWords random(node.word[0]);
  constexpr const char* kPairs[] = {"add.f16x2", "mul.f16x2",     "min.f16x2",     "max.f16x2",
                                    "sub.f16x2", "min.NaN.f16x2", "max.NaN.f16x2", "max.ftz.f16x2"};
  constexpr const char* kSingles[] = {"add.f16", "mul.f16",     "min.f16",
                                      "max.f16", "max.NaN.f16", "sub.sat.f16"};
  const std::string a = Index(place, random, 2), b = random.Chance(2) ? "%h" : Index(place, random, 1);
  const auto one_nan = [&](const std::string& pair) { return Compute("max.NaN.f16x2", pair, pair); };
  switch (random.Below(4)) {
    case 0:
      return Assign(one_nan(Compute(Pick(kPairs, random), a, b)), random);
    case 1:
      return Assign(one_nan(Compute("fma.rn.f16x2", a, b, "%a1")), random);
    case 2: {
      const std::string x = Short(), y = Short(), z = Short();
      Line("cvt.u16.u32 {}, {}", x, a);
      Line("cvt.u16.u32 {}, {}", y, b);
      Line("{} {}, {}, {}", Pick(kSingles, random), z, x, y);
      Line("max.NaN.f16 {}, {}, {}", z, z, z);
      return Assign(Compute("cvt.u32.u16", z), random);
    }
    default: {
      const std::string x = Short();
      Line("cvt.rn.f16.f32 {}, {}", x, FloatValue(place, random));
      const std::string back = ComputeFloat("cvt.f32.f16", x);
      if (random.Chance(2)) Line("mov.f32 %g0, {}", back);
      return FoldFloat(back);
    }
  }
}

void Writer::Convert(const Node& node, const Place& place) {
  RandomWords random(node.word[0]);
  constexpr const char* kNarrow[] = {"cvt.s32.s8", "cvt.u32.u8", "cvt.s32.s16", "cvt.u32.u16"};
  constexpr const char* kFromFloat[] = {"cvt.rzi.s32.f32", "cvt.rni.u32.f32", "cvt.rmi.s32.f32",
                                        "cvt.rpi.u32.f32", "cvt.rzi.ftz.s32.f32"};
  constexpr const char* kToFloat[] = {"cvt.rn.f32.u32", "cvt.rn.f32.s32", "cvt.rz.f32.u32", "cvt.rp.f32.s32"};
  constexpr const char* kSaturating[] = {"cvt.sat.s8.s32", "cvt.sat.u8.s32", "cvt.sat.s16.s32",
                                         "cvt.sat.u16.u32"};
  const std::string a = Index(place, random, 2);
  switch (random.Below(5)) {
    case 0: {
      const std::string part = Short();
      Line("cvt.u16.u32 {}, {}", part, a);
      return Assign(Compute(Pick(kNarrow, random), part), random);
    }
    case 1:
      return Assign(Compute(Pick(kFromFloat, random), FloatValue(place, random)), random);
    case 2: {
      const std::string value = ComputeFloat(Pick(kToFloat, random), a);
      Line("mov.f32 %g{}, {}", random.Below(kFloatVariables), value);
      return FoldFloat(value);
    }
    case 3:
      return Assign(Compute(Pick(kSaturating, random), a), random);
    default: {
      const std::string wide = ComputeWide(random.Chance(2) ? "cvt.s64.s32" : "cvt.u64.u32", a);
      return FoldFloat(ComputeFloat("cvt.rn.f32.s64", wide));
    }
  }
}

void Writer::Pack(const Node& node, const Place& place) {
  RandomWords random(node.word[0]);
  const uint32_t elements = random.Chance(2) ? 4 : 2, bytes = 4 / elements;
  const std::string index = Bounded(Index(place, random, 2), (kInputBytes - 8) / bytes, random);
  const std::string address = ComputeWide("mad.wide.u32", index, bytes, "%in");
  const uint32_t first = random.Below(4);
  std::string word;
  for (uint32_t i = 0; i < elements; ++i) {
    const uint32_t offset = (first + (random.Chance(8) ? random.Below(elements) : i)) * bytes % 8;
    const std::string part = Compute(bytes == 1 ? "ld.global.u8" : "ld.global.u16",
                                     fmt::format("[{}+{}]", address, bytes == 1 ? offset : offset / 2 * 2));
    const std::string moved = i == 0 ? part : Compute("shl.b32", part, 8 * bytes * i);
    word = i == 0 ? moved : Compute(random.Chance(4) ? "add.u32" : "or.b32", word, moved);
  }
  switch (random.Below(4)) {
    case 0:
      return Assign(Compute(random.Chance(2) ? "dp4a.s32.s32" : "dp4a.u32.u32", word, "%h", "%a0"), random);
    case 1:
      return Assign(Compute("prmt.b32", word, "%h", random.Below(0x10000)), random);
    case 2:
      return Assign(Compute("dp4a.s32.u32", word, word, Index(place, random, 1)), random);
    default:
      return Assign(word, random);
  }
}

}  // namespace ptx2cpu::random_patterns
