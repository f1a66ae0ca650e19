// Forms the matcher takes and refuses; legality was checked against ptxas 13.0.
#include "ptx-parser/match/match.h"

#include <catch2/catch.hpp>

#include "ptx-parser/parse/parse.h"

namespace ptx2cpu::ptx {
namespace {

constexpr std::string_view kRegisters =
    ".reg .pred %p<4>; .reg .b8 %c<2>; .reg .b16 %h<4>; .reg .u16 %us<4>; .reg .b32 %r<6>; .reg .u32 %u<4>; "
    ".reg .s32 %s<4>;"
    ".reg .f32 %f<6>; .reg .b64 %rd<4>; .reg .u64 %ud<4>; .reg .f64 %fd<4>; .reg .b128 %q<3>; .shared .align "
    "4 .b8 sh[64];\n";

struct Outcome {
  std::string row, message, hint;
  uint32_t column = 0;
};

Outcome MatchLine(std::string_view line) {
  std::string text = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n" +
                     std::string(kRegisters) + std::string(line) + "\nL: ret;\n}\n";
  Result<ast::Module> module = Parse(text, "line.ptx");
  if (!module) FAIL(module.error().Render());
  Matcher matcher(*module);
  const ast::Function& function = module->functions[0];
  Result<Match> match = matcher.MatchInstruction(function, module->Instructions(function)[0]);
  if (match) return {std::string(Info(match->row).name), "", "", 0};
  CHECK(match.error().code == ErrorCode::kSyntax);
  return {"", match.error().message, match.error().hint, match.error().at.column};
}

void Takes(std::string_view line, std::string_view row) {
  INFO(line);
  Outcome outcome = MatchLine(line);
  CHECK(outcome.message == "");
  CHECK(outcome.row == row);
}

void Refuses(std::string_view line, std::string_view message, std::string_view hint = {}) {
  INFO(line);
  Outcome outcome = MatchLine(line);
  CHECK(outcome.message == message);
  if (!hint.empty()) CHECK_THAT(outcome.hint, Catch::Contains(std::string(hint)));
}

TEST_CASE("constants of operands that take some only") {
  Takes("cp.async.ca.shared.global [%r1], [%rd1], 8;", "cp_async");
  Refuses("cp.async.ca.shared.global [%r1], [%rd1], 0;",
          "operand 3 of `cp.async.ca.shared.global`, `0`, must be 4, 8 or 16");
  Refuses("cp.async.bulk.prefetch.L2.global [%rd1], 24;",
          "operand 2 of `cp.async.bulk.prefetch.L2.global`, `24`, must be a multiple of 16, 0 to 1048560");
  Refuses("bar.sync -1;", "operand 1 of `bar.sync` must be 0 to 15, not -1");
  Refuses("wgmma.wait_group.sync.aligned -1;",
          "operand 1 of `wgmma.wait_group.sync.aligned` must be at least 0, not -1");
  Takes("bar.sync %r1, %r2;", "bar_sync");
}

TEST_CASE("a cache policy comes with its word") {
  Takes("ld.global.L2::cache_hint.u32 %r1, [%rd1], %rd2;", "ld");
  Refuses("ld.global.L2::cache_hint.u32 %r1, [%rd1];",
          "`ld.global.L2::cache_hint.u32` takes 3 operands, not 2");
  Refuses("ld.global.u32 %r1, [%rd1], %rd2;", "`ld.global.u32` takes 2 operands, not 3");
  Takes("cp.async.ca.shared.global.L2::cache_hint [%r1], [%rd1], 8, %rd2;", "cp_async");
  Takes("cp.async.ca.shared.global.L2::cache_hint [%r1], [%rd1], 8, 4, %rd2;", "cp_async");
}

TEST_CASE("modifiers appear in any order, types in theirs") {
  Takes("add.f32.ftz %f1, %f2, %f3;", "add_float");
  Takes("add.s32.sat %r1, %r2, %r3;", "add_integer");
  Takes("ex2.approx.f32.ftz %f1, %f2;", "ex2");
  Takes("vote.ballot.sync.b32 %r1, %p1, -1;", "vote_sync");
  Takes("atom.add.release.gpu.u32 %r1, [%rd1], %r2;", "atom");
  Takes("atom.global.sys.add.u32 %r1, [%rd1], 4;", "atom");
  Takes("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%r1,%r2,%r3,%r4}, [%rd1];", "ldmatrix");
  Takes("st.release.sys.global.u8 [%rd1], %h1;", "st");
  Takes("cvt.rn.f16x2.e4m3x2 %r1, %h1;", "cvt_from_narrow");
  Takes("cvt.rn.satfinite.e4m3x2.f16x2 %h1, %r1;", "cvt_to_narrow");
  Refuses("cvt.rn.satfinite.f16x2.e4m3x2 %h1, %r1;",
          "`.satfinite` does not fit `cvt.rn.satfinite.f16x2.e4m3x2`");
}

TEST_CASE("rows are selected by type and modifiers") {
  Takes("add.u16x2 %r1, %r2, %r3;", "add_integer");
  Takes("add.cc.u32 %r1, %r2, %r3;", "add_cc");
  Takes("add.f16x2 %r1, %r2, %r3;", "add_half");
  Takes("add.f32.bf16 %f1, %h1, %f2;", "add_mixed");
  Takes("min.f32 %f1, %f2, %f3, %f4;", "min_float");
  Takes("min.relu.s16x2 %r1, %r2, %r3;", "min_integer");
  Takes("mad.hi.cc.u32 %r1, %r2, %r3, %r4;", "mad_cc");
  Takes("set.lt.f16.s32 %h1, %r2, %r1;", "set_half");
  Takes("setp.eq.f16x2 %p1|%p2, %r1, %r2;", "setp_half");
  Takes("cvt.pack.sat.s8.s32.b32 %r1, %r2, %r3, %r4;", "cvt_pack");
  Takes("cvt.rna.tf32.f32 %r1, %f1;", "cvt_tf32");
  Takes("bar.red.popc.u32 %r1, 0, %p1;", "bar_red");
  Takes("barrier.red.or.pred %p1, 0, 64, !%p2;", "bar_red");
  Takes("wgmma.fence.sync.aligned;", "wgmma_order");
}

TEST_CASE("register types follow sections 9.2 and 9.4") {
  Takes("mov.f32 %r1, %f1;", "mov");
  Takes("mov.b32 %f1, %u1;", "mov");
  Takes("and.b32 %f1, %f2, %r1;", "and_bits");
  Takes("ld.global.u8 %r1, [%rd1];", "ld");
  Takes("ld.global.b8 %f1, [%rd1];", "ld");
  Takes("ld.global.f32 %rd2, [%rd1];", "ld");
  Takes("cvt.u8.u32 %r1, %r2;", "cvt");
  Takes("cvt.rn.f16.f32 %r1, %f1;", "cvt");
  Refuses("mov.u32 %f1, %r1;", "operand 1 of `mov.u32`, `%f1`, must be a .u32 register");
  Refuses("add.f32 %u1, %f1, %f2;", "operand 1 of `add.f32`, `%u1`, must be a .f32 register");
  Refuses("ld.global.f32 %fd2, [%rd1];", "operand 1 of `ld.global.f32`, `%fd2`, must be a .f32 register");
  Refuses("ld.global.u32 %f1, [%rd1];", "operand 1 of `ld.global.u32`, `%f1`, must be a .u32 register");
  Refuses("shl.b32 %r1, %r2, %rd1;", "operand 3 of `shl.b32`, `%rd1`, must be a .u32 register or constant");
  Refuses("add.f16x2 %f1, %f2, %f3;", "operand 1 of `add.f16x2`, `%f1`, must be a .f16x2 register");
  Refuses("mul.wide.s32 %fd1, %r1, %r2;", "operand 1 of `mul.wide.s32`, `%fd1`, must be a .s64 register");
  Refuses("setp.lt.s32 %r1, %r2, %r3;", "operand 1 of `setp.lt.s32`, `%r1`, must be a predicate");
}

TEST_CASE("constants fit the operand's kind") {
  Takes("add.f32 %f1, %f2, 1.5;", "add_float");
  Takes("add.f64 %fd1, %fd2, 0f3F800000;", "add_float");
  Takes("mov.b32 %r1, 0f3F800000;", "mov");
  Takes("st.global.f32 [%rd1], 5.0;", "st");
  Takes("and.pred %p1, %p2, 1;", "and_bits");
  Takes("mov.u32 %r1, %tid.x;", "mov");
  Takes("cvt.u64.u32 %rd1, %tid.x;", "cvt");
  Takes("mov.u64 %rd1, sh+4;", "mov");
  Refuses("add.f32 %f1, %f2, 1;",
          "operand 3 of `add.f32`, `1`, must be a .f32 register or constant (an integer constant is not)");
  Refuses("mov.u32 %r1, 0f3F800000;",
          "operand 2 of `mov.u32`, `0f3F800000`, must be a .u32 register or constant");
  Refuses("add.s32 %r1, %tid.x, 4;", "operand 2 of `add.s32`, `%tid`, must be a .s32 register or constant");
  Refuses("add.u64 %rd1, %rd1, sh;", "operand 3 of `add.u64`, `sh`, must be a .u64 register or constant");
}

TEST_CASE("vectors, pairs and addresses have their shapes") {
  Takes("ld.global.v2.f32 {%f1, _}, [%rd1+8];", "ld");
  Takes("st.global.v2.b32 [%rd1], {1, 2};", "st");
  Takes("mov.b64 {%r1, _}, %rd1;", "mov");
  Takes("mov.b32 %r1, {%h1, 3};", "mov");
  Takes("mov.b128 %q1, {%rd1, %rd2};", "mov");
  Takes("shfl.sync.idx.b32 %f1|%p1, %f2, %r1, %r2, %r3;", "shfl_sync");
  Refuses("ld.global.v2.f32 %f1, [%rd1];",
          "operand 1 of `ld.global.v2.f32`, `%f1`, must be a vector of 2 .f32");
  Refuses("ld.global.v2.f32 {%f1}, [%rd1];", "operand 1 of `ld.global.v2.f32` must be a vector of 2 .f32");
  Refuses("ld.global.u32 %r1, %rd1;", "operand 2 of `ld.global.u32`, `%rd1`, must be an address in brackets");
  Refuses("setp.eq.f16 %p1|%p2, %h1, %h2;", "operand 1 of `setp.eq.f16` must be a predicate");
  Refuses("bra %r1;", "operand 1 of `bra`, `%r1`, must be a label");
  Takes("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%f1, _}, [sh];", "ldmatrix");
  Refuses("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%rd1}, [sh];",
          "operand 1 of `ldmatrix.sync.aligned.m8n8.x1.shared.b16` must be a vector of 32-bit registers");
  Refuses("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%h1}, [sh];",
          "operand 1 of `ldmatrix.sync.aligned.m8n8.x1.shared.b16` must be a vector of 32-bit registers");
  Refuses("stmatrix.sync.aligned.m8n8.x1.shared.b16 [sh], {7};",
          "operand 2 of `stmatrix.sync.aligned.m8n8.x1.shared.b16` must be a vector of 32-bit registers");
  Refuses(
      "ldmatrix.sync.aligned.m8n8.x1.shared.b16 %r1, [sh];",
      "operand 1 of `ldmatrix.sync.aligned.m8n8.x1.shared.b16`, `%r1`, must be a vector of 32-bit registers");
  Refuses("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {_}, [sh];",
          "operand 1 of `ldmatrix.sync.aligned.m8n8.x1.shared.b16` must be a vector of 32-bit registers");
  Takes("wgmma.commit_group.sync;", "wgmma_order");
  Takes("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r3];", "tcgen05_ld");
  Refuses("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%rd1}, [%r3];",
          "operand 1 of `tcgen05.ld.sync.aligned.32x32b.x1.b32` must be a vector of 32-bit registers");
}

TEST_CASE("illegal modifiers are named with the nearest legal form") {
  Refuses("fma.f32 %f1, %f2, %f3, %f1;", "`fma.f32` lacks the modifier `.rnd`",
          "`fma.rnd{.ftz}{.sat}.f32 d, a, b, c`, `fma.rnd{.sat}.f32.abtype d, a, b, c`; .rnd is one of .rn "
          ".rz .rm .rp");
  Refuses("add.s31 %r1, %r2, %r3;", "`.s31` does not fit `add.s31`",
          ".type is one of .u16 .u32 .u64 .s16 .s32 .s64");
  Refuses("add.sat.u32 %r1, %r2, %r3;", "`.sat` does not fit `add.sat.u32`", "add{.sat}.s32 d, a, b");
  Refuses("setp.ltu.s32 %p1, %r1, %r2;", "`.ltu` does not fit `setp.ltu.s32`",
          "setp.SCmpOp.stype p[|q], a, b");
  Refuses("setp.lo.b32 %p1, %r1, %r2;", "`.lo` does not fit `setp.lo.b32`");
  Refuses("cvt.f32.s32 %f1, %r1;", "`cvt.f32.s32` lacks the modifier `.rnd`");
  Refuses("cvt.rn.s32.f32 %r1, %f1;", "`.s32` does not fit `cvt.rn.s32.f32`");
  Refuses("cvt.rzi.f32.f64 %f1, %fd1;", "`.rzi` does not fit `cvt.rzi.f32.f64`");
  Refuses("mad.lo.sat.s32 %r1, %r2, %r1, %r3;", "`.sat` does not fit `mad.lo.sat.s32`",
          "mad.hi.sat.s32 d, a, b, c");
  Refuses("atom.add.b32 %r1, [%rd1], %r2;", "`.add` does not fit `atom.add.b32`");
  Refuses("membar.cluster;", "`.cluster` does not fit `membar.cluster`", ".level is one of .cta .gl .sys");
}

TEST_CASE("unknown instructions name the nearest one") {
  Refuses("sellp.b32 %r1, %r2, %r3, %p1;", "unknown instruction `sellp`",
          "the nearest instruction is `selp`");
  Refuses("frobnicate.u32 %r1, %r2;", "unknown instruction `frobnicate`",
          "PTX has no instruction of that name");
}

TEST_CASE("too few and too many operands are counted") {
  Refuses("add.s32 %r1, %r2;", "`add.s32` takes 3 operands, not 2", "`add.type d, a, b`");
  Refuses("bar.sync 0, 32, 1;", "`bar.sync` takes 1 to 2 operands, not 3");
}

TEST_CASE("the caret is under the wrong operand") {
  CHECK(MatchLine("add.s32 %r1, %r2, %rd1;").column == 19);
  CHECK(MatchLine("add.s32 %r1, %f2, 1;").column == 14);
}

TEST_CASE("every row of the table has forms whose words the table knows") {
  size_t forms = 0;
  for (const Row& row : Rows()) {
    INFO(row.name);
    CHECK_FALSE(row.forms.empty());
    CHECK(row.section.substr(0, 4) == "9.7.");
    for (const Form& form : row.forms) {
      ++forms;
      CHECK(form.operands.size() <= 8);
      CHECK_FALSE(FormsOf(form.base).empty());
    }
  }
  CHECK(forms > Rows().size());
}

TEST_CASE("every row is translated") {
  for (const Row& row : Rows()) {
    INFO(row.name);
    CHECK(row.translated);
  }
}

}  // namespace
}  // namespace ptx2cpu::ptx
