#include "tools/ptxas_agreement/programs.h"

#include "ptx-parser/match/table.h"
#include "ptx-parser/parse/parse.h"
#include "ptx-parser/translate/translate.h"

namespace ptx2cpu::agreement {

namespace {

// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  size_t Below(size_t bound) {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<size_t>((z ^ (z >> 31)) % bound);
  }
  template <typename List>
  const auto& Of(const List& list) {
    return list[Below(std::size(list))];
  }

 private:
  uint64_t state_;
};

constexpr const char* kAtoms[] = {"%p0",
                                  "%p1",
                                  "%h0",
                                  "%h1",
                                  "%r0",
                                  "%r1",
                                  "%r2",
                                  "%f0",
                                  "%f1",
                                  "%rd0",
                                  "%rd1",
                                  "%fd0",
                                  "%fd1",
                                  "%u0",
                                  "%s1",
                                  "%c0",
                                  "%q0",
                                  "0",
                                  "1",
                                  "-1",
                                  "31",
                                  "64",
                                  "1+2",
                                  "-2*3",
                                  "0xFFFF",
                                  "1.5",
                                  "sh",
                                  "0f3F800000",
                                  "0d3FF0000000000000",
                                  "g",
                                  "g+4",
                                  "l",
                                  "c+4",
                                  "%tid.x",
                                  "%laneid",
                                  "f",
                                  "_",
                                  "0x80000000",
                                  "%clock64",
                                  "!%p0",
                                  "%p0|%p1",
                                  "%r0|%p1",
                                  "{%r0, %r1}",
                                  "{%h0, %h1}",
                                  "{%f0, %f1}",
                                  "{%r0, %r1, %r2, %u0}",
                                  "{%rd0, %rd1}",
                                  "%r0+1",
                                  "%rd0+8",
                                  "g[1]",
                                  "p0",
                                  "-%r0",
                                  "%r1.b0",
                                  "{%r0, _}"};
constexpr const char* kAddresses[] = {"[%rd0]",    "[%rd1+8]", "[%r0]", "[sh]",      "[sh+4]",
                                      "[g+4]",     "[l+8]",    "[c]",   "[p0]",      "[a0]",
                                      "[%rd0+-4]", "[16]",     "[g]",   "[%rd0+4*2]"};

constexpr const char* kImmediates[] = {"0", "4", "16"};

std::string Operand(Random& random, const ptx::OperandSpec& spec) {
  if (spec.shape == ptx::OperandShape::kMemory && random.Below(8) != 0) return random.Of(kAddresses);
  if (spec.shape == ptx::OperandShape::kImmediate && random.Below(8) != 0) return random.Of(kImmediates);
  return random.Of(kAtoms);
}

struct Parts {
  std::string row;
  std::vector<std::string> words, operands;
  std::string Text() const {
    std::string text;
    for (const std::string& word : words) text += text.empty() ? word : "." + word;
    for (size_t i = 0; i < operands.size(); ++i) text += (i == 0 ? " " : ", ") + operands[i];
    return text + ";";
  }
};

Parts Draw(Random& random) {
  const ptx::Row& row = random.Of(ptx::Rows());
  const ptx::Form& form = random.Of(row.forms);
  Parts parts{std::string(row.name), {std::string(form.base)}, {}};
  for (const ptx::Element& element : form.elements) {
    if (element.optional && random.Below(3) != 0) continue;
    parts.words.push_back(random.Of(element.words));
  }
  for (const ptx::OperandSpec& spec : form.operands) {
    if (spec.optional && random.Below(2) == 0) break;
    parts.operands.push_back(Operand(random, spec));
  }
  return parts;
}

void Change(Random& random, Parts& parts) {
  const size_t operands = parts.operands.size(), words = parts.words.size();
  switch (random.Below(5)) {
    case 0:
      if (operands != 0) parts.operands.pop_back();
      break;
    case 1:
      parts.operands.push_back(random.Of(kAtoms));
      break;
    case 2:
      if (words > 1)
        parts.words.erase(parts.words.begin() + static_cast<ptrdiff_t>(1 + random.Below(words - 1)));
      break;
    default:
      if (operands != 0) parts.operands[random.Below(operands)] = random.Of(kAtoms);
      break;
  }
}

// Whether the table accepts it, which is cheaper than a translation.
bool Matches(const Program& program) {
  const auto module = ptx::Parse(HeadFor("sm_90") + KernelOf(program, "k"), "one.ptx");
  return module && ptx::CheckInstructions(*module);
}

}  // namespace

std::string HeadFor(const std::string& target) {
  return ".version 9.0\n.target " + target + "\n.address_size 64\n" +
         ".global .align 8 .b32 g[16];\n.const .align 4 .u32 c[2] = {1, 2};\n.shared .align 16 .b8 sh[64];\n"
         ".func (.param .b32 o) f(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; st.param.b32 [o], %x; "
         "ret; "
         "}\n";
}

std::string KernelOf(const Program& program, const std::string& name) {
  return ".visible .entry " + name +
         "(.param .u64 p0) { .reg .pred %p<3>; .reg .b8 %c<2>; .reg .b16 %h<3>; .reg .b32 %r<4>; .reg .f32 "
         "%f<3>; "
         ".reg .b64 %rd<3>; .reg .f64 %fd<3>; .reg .u32 %u<2>; .reg .s32 %s<2>; .reg .b128 %q<2>; "
         ".local .align 8 .b8 l[16]; .param .b32 a0; " +
         program.instruction + " ret; }\n";
}

std::vector<Program> MakePrograms(uint64_t seed, size_t count) {
  Random random(seed);
  std::vector<Program> programs;
  while (programs.size() < count) {
    Parts parts;
    Program program;
    for (int tries = 0; tries < 200; ++tries) {
      parts = Draw(random);
      program = {parts.row, parts.Text()};
      if (Matches(program)) break;
    }
    if (random.Below(2) == 0) {
      Change(random, parts);
      program.instruction = parts.Text();
    }
    programs.push_back(std::move(program));
  }
  return programs;
}

Verdict Ask(const Program& program) {
  auto refuse = [](const Error& error) {
    return Verdict{false, error.code == ErrorCode::kUnsupported, error.message};
  };
  const auto module = ptx::Parse(HeadFor("sm_90") + KernelOf(program, "k"), "one.ptx");
  if (!module) return refuse(module.error());
  const auto translated = ptx::Translate(*module, "k");
  if (!translated) return refuse(translated.error());
  return {true, false, {}};
}

}  // namespace ptx2cpu::agreement
