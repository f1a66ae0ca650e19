// The frame of a kernel.
#include <iterator>

#include "tests/random/patterns/writer.h"

namespace ptx2cpu::random_patterns {

void Writer::Fold(const std::string& value) {
  Line("xor.b32 %h, %h, {}", value);
  Line("mad.lo.u32 %h, %h, 0x9E3779B1, {}", 0x7F4A7C15u + static_cast<uint32_t>(body_.size()));
}

// The bits of a NaN that was computed are not defined.
std::string Writer::OneNan(const std::string& value) {
  return ComputeFloat("selp.f32", "0f7FFFFFFF", value, Test("setp.nan.f32", value, value));
}

void Writer::FoldFloat(const std::string& value) { Fold(Compute("mov.b32", OneNan(value))); }

void Writer::Assign(const std::string& value, RandomWords& random) {
  if (random.Chance(2)) Line("mov.b32 %a{}, {}", random.Below(kVariables), value);
  Fold(value);
}

void Writer::Prologue() {
  Line("ld.param.u64 %out, [p_out]");
  Line("ld.param.u64 %stores, [p_stores]");
  Line("ld.param.u64 %sums, [p_sums]");
  Line("ld.param.u64 %in, [p_in]");
  for (uint32_t i = 0; i < 3; ++i) Line("ld.param.u32 %n{}, [p_n{}]", i, i);
  for (const char axis : {'x', 'y', 'z'}) {
    Line("mov.u32 %t{}, %tid.{}", axis, axis);
    Line("mov.u32 %b{}, %ctaid.{}", axis, axis);
    Line("mov.u32 %nt{}, %ntid.{}", axis, axis);
  }
  Line("mov.u32 %lane, %laneid");
  Line("mad.lo.u32 %lin, %tz, %nty, %ty");
  Line("mad.lo.u32 %lin, %lin, %ntx, %tx");
  Line("mov.u32 %gy, %nctaid.x");
  Line("mad.lo.u32 %gid, %by, %gy, %bx");
  Line("mul.lo.u32 %ntx, %ntx, %nty");
  Line("mul.lo.u32 %block, %ntx, %ntz");
  Line("mov.u32 %ntx, %ntid.x");
  Line("mad.lo.u32 %gid, %gid, %block, %lin");
  Line("mad.lo.u32 %gx, %bx, %ntx, %tx");
  Line("mad.lo.u32 %gy, %by, %nty, %ty");
  Line("mad.lo.u32 %h, %gid, 0x9E3779B1, {}", static_cast<uint32_t>(tree_.seed));
  Line("ld.global.u32 %a0, [%in+{}]", 4 * (tree_.seed % 16));
  Line("mov.u32 %a1, %tx");
  Line("xor.b32 %a2, %gid, {}", tree_.seed % 7);
  Line("cvt.rn.f32.u32 %g0, %lin");
  Line("mov.f32 %g1, 0fBF800000");
  if (uses_local_) {
    Line("mov.u64 %local, local_words");
    for (uint32_t i = 0; i < kLocalWords; ++i)
      Line("st.local.u32 [%local+{}], {}", 4 * i, i % 2 ? "%lin" : "%h");
  }
  if (!uses_shared_) return;
  // Every word holds something before any statement.
  Line("mov.u32 %shared, {}_shared", kernel_);
  const std::string i = Reg(), more = Predicate(), again = NewLabel();
  Line("mov.u32 {}, %lin", i);
  Label(again);
  Line("st.shared.u32 [{}], {}", Compute("mad.lo.u32", i, 4, "%shared"),
       Compute("mul.lo.u32", i, 0x85EBCA6B));
  Line("add.u32 {}, {}, %block", i, i);
  Line("setp.lt.u32 {}, {}, {}", more, i, SharedWords());
  Line("@{} bra {}", more, again);
  Barrier();
}

void Writer::StoreHash() {
  const std::string address = Wide();
  Line("mad.wide.u32 {}, %gid, 4, %out", address);
  Line("st.global.u32 [{}], %h", address);
  Line("exit");
}

std::string Writer::Declarations() const {
  std::string text =
      "  .reg .b32 %h, %tx, %ty, %tz, %bx, %by, %bz, %ntx, %nty, %ntz, %lane, %lin, %gid, %gx, %gy, %block, "
      "%shared;\n  .reg .b64 %out, %stores, %sums, %in, %local;\n";
  text += fmt::format("  .reg .b32 %n<3>, %a<{}>;\n  .reg .f32 %g<{}>;\n", kVariables, kFloatVariables);
  const std::pair<const char*, uint32_t> kinds[] = {{".b32 %r", regs_},
                                                    {".pred %p", predicates_},
                                                    {".b64 %d", wides_},
                                                    {".b16 %s", shorts_},
                                                    {".f32 %f", floats_}};
  for (const auto& [kind, count] : kinds) {
    if (count != 0) text += fmt::format("  .reg {}<{}>;\n", kind, count);
  }
  if (uses_local_) text += fmt::format("  .local .align 16 .b8 local_words[{}];\n", 4 * kLocalWords);
  return text;
}

std::string Writer::RunLine() const {
  const uint32_t seed = static_cast<uint32_t>(tree_.seed % 1000 + 1);
  return fmt::format(
      "// run: {} grid={},{},{} block={},{},{} compare=bits out:u32:{} out:u32:{} out:u32:{} "
      "in:u32:gen(bits,{},{}) u32:{} u32:{} u32:{}\n",
      kernel_, tree_.grid[0], tree_.grid[1], tree_.grid[2], tree_.block[0], tree_.block[1], tree_.block[2],
      tree_.Threads(), stored_bytes_ / 4 + 4, kSums, kInputBytes / 4, seed, 3 + seed % 5,
      tree_.Threads() - seed % 3 % tree_.Threads(), 17 + seed % 300);
}

std::string Writer::Run() {
  // Twice: the first time shows what is used.
  for (int pass = 0; pass < 2; ++pass) {
    body_.clear();
    areas_.clear();
    regs_ = predicates_ = wides_ = shorts_ = floats_ = labels_ = stored_bytes_ = 0;
    ended_ = false;
    Place place;
    Prologue();
    Write(tree_.body, place);
    if (uses_shared_) {
      Barrier();
      const std::string i = Compute("and.b32", "%lin", kTableWords - 1);
      Fold(Compute("ld.shared.u32",
                   fmt::format("[{}+{}]", Compute("mad.lo.u32", i, 4, "%shared"), 4 * kTileWords)));
    }
    for (uint32_t i = 0; i < kVariables; ++i) Fold(fmt::format("%a{}", i));
    for (uint32_t i = 0; i < kFloatVariables; ++i) FoldFloat(fmt::format("%g{}", i));
    StoreHash();
  }
  std::string text = fmt::format("// seed {}\n.version 8.3\n.target sm_90\n.address_size 64\n\n", tree_.seed);
  if (uses_shared_)
    text += fmt::format(".shared .align 16 .b8 {}_shared[{}];\n\n", kernel_, 4 * SharedWords());
  if (uses_table_) {
    // Zeros, ones, infinities, NaNs, subnormal numbers, factors of products next to the least normal number,
    // and words of everyday size.
    constexpr uint32_t kSpecial[] = {0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000,
                                     0x7FC00000, 0xFFC00001, 0x7F800001, 0x00000001, 0x80000001, 0x007FFFFF,
                                     0x7F7FFFFF, 0x00800000, 0x4B800000, 0xCF000000, 0x3F7FFFFF, 0x00800001,
                                     0x1FFFFFFF, 0x9FFFFFFE, 0x20000000, 0xBF7FFFFF, 0xBF800001, 0x20000001};
    RandomWords random(tree_.seed);
    std::string words;
    for (uint32_t i = 0; i < kConstants; ++i)
      words += fmt::format("{}{}", i == 0 ? "" : ", ",
                           i % 2 == 0 ? kSpecial[i / 2 % std::size(kSpecial)] : random.Word());
    text += fmt::format(".const .align 16 .u32 {}_table[{}] = {{{}}};\n\n", kernel_, kConstants, words);
  }
  return text +
         fmt::format(
             ".visible .entry {}(.param .u64 p_out, .param .u64 p_stores, .param .u64 p_sums, .param .u64 "
             "p_in,\n"
             "  .param .u32 p_n0, .param .u32 p_n1, .param .u32 p_n2)\n{}{{\n{}{}}}\n",
             kernel_,
             tree_.states_block
                 ? fmt::format("  .reqntid {}, {}, {}\n", tree_.block[0], tree_.block[1], tree_.block[2])
                 : "",
             Declarations(), body_) +
         RunLine();
}

std::string WriteModule(const Tree& tree, const std::string& name) { return Writer(tree, name).Run(); }

}  // namespace ptx2cpu::random_patterns
