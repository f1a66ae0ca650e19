// PTX 1.0 to 5.x: forms that newer versions do not have, and words that old targets imply.
//
// The pairs below are the manual's rules. Each was checked with ptxas 13.0, which takes old versions and
// targets: for sm_90, the old kernel and the new one become the same machine code; what is refused here, it
// refuses. It does not show so for roots and quotients of doubles, which it makes calls of, and it refuses
// rcp.f64 of PTX 1.0 to 1.3.
#include "run_ptx.h"

namespace ptx2cpu::ptx::test {
namespace {

struct Dialect {
  const char* version;
  const char* target;
};

constexpr std::string_view kRegisters =
    ".reg .pred %p<4>; .reg .u32 %r<8>; .reg .f32 %f<8>; .reg .f64 %d<8>; .reg .u64 %rd<8>; .reg .b16 "
    "%h<4>;\n";

// One instruction with operands from memory, so that nothing about it is known. The lines of both spellings
// agree.
std::string OneInstruction(Dialect dialect, std::string_view instruction) {
  const bool in_body = std::string_view(dialect.version) < "1.4";
  std::string text = std::string(".version ") + dialect.version + "\n.target " + dialect.target + "\n";
  text += in_body ? ".entry k {\n.param .u64 p;\n" : ".entry k (\n.param .u64 p) {\n";
  text += kRegisters;
  text +=
      "ld.param.u64 %rd1, [p];\nld.global.f32 %f1, [%rd1];\nld.global.f32 %f2, [%rd1+4];\nld.global.f32 %f3, "
      "[%rd1+8];\n"
      "ld.global.f64 %d1, [%rd1+16];\nld.global.f64 %d2, [%rd1+24];\nld.global.f64 %d3, "
      "[%rd1+32];\nld.global.u32 %r1, [%rd1+40];\n";
  text += instruction;
  text +=
      "\nst.global.f32 [%rd1], %f0;\nst.global.f64 [%rd1+16], %d0;\nst.global.u32 [%rd1+40], "
      "%r0;\nexit;\n}\n";
  return text;
}

std::string KernelIr(Dialect dialect, std::string_view instruction) {
  const ir::Module module = TranslateText(OneInstruction(dialect, instruction));
  return ir::Print(module, module.functions[0]);
}

struct Pair {
  Dialect dialect;
  const char* old_form;
  const char* new_form;
};
constexpr Dialect kNow{"9.0", "sm_90"}, k10{"1.0", "sm_10"}, k13{"1.3", "sm_13"},
    k14{"1.4", "sm_10, map_f64_to_f32"}, k15{"1.5", "sm_13"}, k20{"2.0", "sm_20"}, k30{"3.0", "sm_20"},
    k31{"3.1", "sm_30"}, k50{"5.0", "sm_13"}, k60{"6.0", "sm_11"};

void Same(const Pair& pair) {
  INFO(pair.dialect.version << " " << pair.dialect.target << ": " << pair.old_form);
  CHECK(KernelIr(pair.dialect, pair.old_form) == KernelIr(kNow, pair.new_form));
}

TEST_CASE("old versions: modifiers that were not written before PTX 1.4") {
  for (Dialect dialect : {k10, k13}) {
    Same({dialect, "div.f32 %f0, %f1, %f2;", "div.approx.ftz.f32 %f0, %f1, %f2;"});
    Same({dialect, "div.f64 %d0, %d1, %d2;", "div.rn.f64 %d0, %d1, %d2;"});
    Same({dialect, "rcp.f32 %f0, %f1;", "rcp.approx.ftz.f32 %f0, %f1;"});
    Same({dialect, "rcp.f64 %d0, %d1;", "rcp.rn.f64 %d0, %d1;"});
    Same({dialect, "sqrt.f32 %f0, %f1;", "sqrt.approx.ftz.f32 %f0, %f1;"});
    Same({dialect, "sqrt.f64 %d0, %d1;", "sqrt.rn.f64 %d0, %d1;"});
    Same({dialect, "rsqrt.f32 %f0, %f1;", "rsqrt.approx.ftz.f32 %f0, %f1;"});
    Same({dialect, "rsqrt.f64 %d0, %d1;", "rsqrt.approx.f64 %d0, %d1;"});
    Same({dialect, "sin.f32 %f0, %f1;", "sin.approx.ftz.f32 %f0, %f1;"});
    Same({dialect, "cos.f32 %f0, %f1;", "cos.approx.ftz.f32 %f0, %f1;"});
    Same({dialect, "lg2.f32 %f0, %f1;", "lg2.approx.ftz.f32 %f0, %f1;"});
    Same({dialect, "ex2.f32 %f0, %f1;", "ex2.approx.ftz.f32 %f0, %f1;"});
    Same({dialect, "mad.f64 %d0, %d1, %d2, %d3;", "fma.rn.f64 %d0, %d1, %d2, %d3;"});
  }
}

TEST_CASE("old versions: mad.f32 without a rounding") {
  for (Dialect dialect : {k10, k13, k14, k50, k60})  // targets below sm_20, whatever the version
    Same({dialect, "mad.f32 %f0, %f1, %f2, %f3;", "fma.rn.ftz.f32 %f0, %f1, %f2, %f3;"});
  for (Dialect dialect : {k20, k30, k31})
    Same({dialect, "mad.f32 %f0, %f1, %f2, %f3;", "fma.rn.f32 %f0, %f1, %f2, %f3;"});
  Same({k14, "mad.sat.f32 %f0, %f1, %f2, %f3;", "fma.rn.ftz.sat.f32 %f0, %f1, %f2, %f3;"});
  Same({k30, "mad.ftz.sat.f32 %f0, %f1, %f2, %f3;", "fma.rn.ftz.sat.f32 %f0, %f1, %f2, %f3;"});
}

TEST_CASE("old versions: targets below sm_20 flush f32 subnormals") {
  for (Dialect dialect : {k14, k15, k50}) {
    for (std::string op : {"add", "sub", "mul", "min", "max"})
      Same({dialect, (op + ".f32 %f0, %f1, %f2;").c_str(), (op + ".ftz.f32 %f0, %f1, %f2;").c_str()});
    for (std::string op :
         {"abs", "neg", "rcp.approx", "sqrt.approx", "rsqrt.approx", "lg2.approx", "ex2.approx"})
      Same({dialect, (op + ".f32 %f0, %f1;").c_str(), (op + ".ftz.f32 %f0, %f1;").c_str()});
    Same({dialect, "mul.rz.sat.f32 %f0, %f1, %f2;", "mul.rz.ftz.sat.f32 %f0, %f1, %f2;"});
    Same({dialect, "div.approx.f32 %f0, %f1, %f2;", "div.approx.ftz.f32 %f0, %f1, %f2;"});
    Same({dialect, "div.full.f32 %f0, %f1, %f2;", "div.full.ftz.f32 %f0, %f1, %f2;"});
    Same({dialect, "set.lt.u32.f32 %r0, %f1, %f2;", "set.lt.ftz.u32.f32 %r0, %f1, %f2;"});
    Same({dialect, "setp.equ.f32 %p1, %f1, %f2; selp.u32 %r0, 1, 2, %p1;",
          "setp.equ.ftz.f32 %p1, %f1, %f2; selp.u32 %r0, 1, 2, %p1;"});
    Same({dialect, "slct.f32.f32 %f0, %f1, %f2, %f3;", "slct.ftz.f32.f32 %f0, %f1, %f2, %f3;"});
    Same({dialect, "cvt.f32.f32 %f0, %f1;", "cvt.ftz.f32.f32 %f0, %f1;"});
    Same({dialect, "cvt.rpi.s32.f32 %r0, %f1;", "cvt.rpi.ftz.s32.f32 %r0, %f1;"});
  }
  // Doubles have their subnormals, also where an instruction makes an f32 of them.
  Same({k15, "add.f64 %d0, %d1, %d2;", "add.f64 %d0, %d1, %d2;"});
  Same({k15, "set.lt.f32.f64 %f0, %d1, %d2;", "set.lt.f32.f64 %f0, %d1, %d2;"});
  Same({k15, "slct.f32.s32 %f0, %f1, %f2, %r1;", "slct.f32.s32 %f0, %f1, %f2, %r1;"});
  Same({k20, "add.f32 %f0, %f1, %f2;", "add.f32 %f0, %f1, %f2;"});
  // map_f64_to_f32: a device with doubles computes in them.
  Same({k14, "add.f64 %d0, %d1, %d2;", "add.f64 %d0, %d1, %d2;"});
}

TEST_CASE("old versions: conversions from and to 64 bits flush from PTX 1.5 on") {
  for (auto [old_form, new_form] : {std::pair{"cvt.f64.f32 %d0, %f1;", "cvt.ftz.f64.f32 %d0, %f1;"},
                                    std::pair{"cvt.rn.f32.f64 %f0, %d1;", "cvt.rn.ftz.f32.f64 %f0, %d1;"},
                                    std::pair{"cvt.rpi.s64.f32 %rd2, %f1; cvt.u32.u64 %r0, %rd2;",
                                              "cvt.rpi.ftz.s64.f32 %rd2, %f1; cvt.u32.u64 %r0, %rd2;"}}) {
    Same({k10, old_form, old_form});
    Same({k14, old_form, old_form});
    Same({k15, old_form, new_form});
    Same({k50, old_form, new_form});
  }
  Same({k14, "cvt.rn.ftz.f32.f64 %f0, %d1;", "cvt.rn.ftz.f32.f64 %f0, %d1;"});
}

TEST_CASE("old versions: what a version does not have is refused with its line") {
  const auto refused = [](Dialect dialect, std::string_view instruction, std::string_view message) {
    INFO(dialect.version << " " << dialect.target << ": " << instruction);
    const Error error = TranslateError(OneInstruction(dialect, instruction));
    CHECK(error.code == ErrorCode::kSyntax);
    CHECK(error.message == message);
    CHECK(error.at.line == 14);
    CHECK_THAT(error.hint, Catch::Contains("a form of this version is `"));
  };
  refused({"3.2", "sm_30"}, "mad.f32 %f0, %f1, %f2, %f3;",
          "`mad.f32` is legal for targets below sm_20, or for targets from sm_20 on and before PTX 3.2; this "
          "module is PTX 3.2 for sm_30");
  refused(k14, "mad.rn.f32 %f0, %f1, %f2, %f3;",
          "`mad.rn.f32` is legal for targets from sm_20 on; this module is PTX 1.4 for sm_10");
  refused(k14, "fma.rn.f32 %f0, %f1, %f2, %f3;",
          "`fma.rn.f32` is legal for targets from sm_20 on; this module is PTX 1.4 for sm_10");
  refused(k14, "div.f32 %f0, %f1, %f2;",
          "`div.f32` is legal before PTX 1.4; this module is PTX 1.4 for sm_10");
  refused(k20, "sin.f32 %f0, %f1;", "`sin.f32` is legal before PTX 1.4; this module is PTX 2.0 for sm_20");
  refused(k15, "mad.f64 %d0, %d1, %d2, %d3;",
          "`mad.f64` is legal before PTX 1.4; this module is PTX 1.5 for sm_13");
  CHECK_THAT(TranslateError(OneInstruction(k10, "cvt.s32.f32 %r0, %f1;")).message,
             Catch::Contains("`cvt.s32.f32` lacks the modifier"));
}

TEST_CASE("old versions: parameters in the kernel's body, 16 bits of %tid, registers as parameters") {
  const auto result = Run<uint32_t>(R"(.version 1.2
.target sm_12
.func (.reg .u32 %sum, .reg .u32 %difference) both (.reg .u32 %a, .reg .u32 %b)
{
  add.u32 %sum, %a, %b;
  sub.u32 %difference, %a, %b;
  ret;
}
.entry k
{
  .reg .u32 %r<8>; .reg .u16 %rh<4>; .reg .u64 %rd<3>;
  .param .u64 p;
  ld.param.u64 %rd1, [p];
  mov.u16 %rh1, %tid.x;
  cvt.u32.u16 %r1, %ntid.x;
  mul.wide.u16 %r2, %rh1, 8;
  cvt.u64.u32 %rd2, %r2;
  add.u64 %rd1, %rd1, %rd2;
  cvt.u32.u16 %r3, %rh1;
  call (%r4, %r5), both, (%r1, %r3);
  st.global.u32 [%rd1+0], %r4;
  st.global.u32 [%rd1+4], %r5;
  exit;
})",
                                    std::vector<uint32_t>(8), 4);
  CHECK(result == std::vector<uint32_t>{4, 4, 5, 3, 6, 2, 7, 1});
}

TEST_CASE("old versions: vector registers") {
  const auto result = Run<uint32_t>(Kernel(R"(
  .reg .v4 .u32 v, w<2>;
  .reg .v2 .u32 pair;
  mov.v4.u32 v, %tid;
  mov.v4.u32 w1, {%r0, 10, 20, 30};
  add.u32 v.y, v.x, w1.w;
  mul.wide.u32 %rd2, %r0, 16;
  add.u64 %rd1, %rd1, %rd2;
  mov.b64 pair, %rd2;
  mov.u32 v.z, pair.x;
  mov.v4.u32 w0, v;
  st.global.v4.u32 [%rd1], w0;
  ld.global.v2.u32 {v.w, _}, [%rd1+8];
  setp.eq.u32 %p0, %r0, 1;
  @%p0 mov.u32 v.w, 77;
  st.global.u32 [%rd1+12], v.a;)",
                                           ""),
                                    std::vector<uint32_t>(8), 2);
  CHECK(result == std::vector<uint32_t>{0, 30, 0, 0, 1, 31, 16, 77});
  CHECK(TranslateError(Kernel(".reg .v4 .f32 v; add.f32 v, v, v;")).message ==
        "operand 1 of `add.f32` must be a .f32 register");
  CHECK(TranslateError(Kernel(".reg .v4 .f32 v; mov.v2.f32 {%f0, %f1}, v;")).message ==
        "the source must be a vector of 2 registers");
}

constexpr std::string_view kModulePrivate = R"(.version 2.3
.target sm_20
.address_size 64
.reg .u32 %count, %many<4>;
.reg .v2 .u32 both;
.reg .pred %odd;
.local .u32 kept[4];
)";

TEST_CASE("old versions: registers and .local variables of the whole module") {
  const auto result = Run<uint32_t>(std::string(kModulePrivate) + R"(
.func (.reg .u32 %out) twice (.reg .u32 %count) { .reg .u32 %t; add.u32 %t, %count, %count; mov.u32 %out, %t; ret; }
.entry k (.param .u64 p)
{
  .reg .u64 %rd<3>;
  ld.param.u64 %rd1, [p];
  mov.u32 %count, %tid.x;
  mul.wide.u32 %rd2, %count, 4;
  add.u64 %rd1, %rd1, %rd2;
  st.local.u32 [kept+8], %count;
  and.b32 %many3, %count, 1;
  setp.eq.u32 %odd, %many3, 1;
  call (%many2), twice, (%count);
  ld.local.u32 both.y, [kept+8];
  @%odd add.u32 %many2, %many2, 100;
  add.u32 %many2, %many2, both.y;
  st.global.u32 [%rd1], %many2;
  exit;
})",
                                    std::vector<uint32_t>(4), 4);
  CHECK(result == std::vector<uint32_t>{0, 103, 6, 109});
}

TEST_CASE("old versions: constant bank 0 is the constant space, others are nobody's to fill") {
  const std::string head = ".version 2.1\n.target sm_20\n";
  const auto result = Run<uint32_t>(head + R"(.const[0] .u32 table[4] = {1, 10, 100, 1000};
.entry k (.param .u64 p) {
  .reg .u64 %rd<2>; .reg .u32 %r<2>;
  ld.param.u64 %rd1, [p];
  ld.const[0].u32 %r1, [table+8];
  st.global.u32 [%rd1], %r1;
  exit;
})",
                                    {0});
  CHECK(result == std::vector<uint32_t>{100});
  const Error error = TranslateError(
      head +
      ".extern .const[2] .b32 table[];\n.entry k { .reg .u32 %r1; ld.const.u32 %r1, [table+8]; exit; }\n");
  CHECK(error.code == ErrorCode::kUnsupported);
  CHECK(error.message == "constant bank 2 is not translated: only the driver of that time could fill it");
  CHECK(error.at.line == 4);
}

TEST_CASE("code for 32-bit hosts is refused where an address has 32 bits") {
  const auto refused = [](std::string_view statement, std::string_view message,
                          std::string_view before = {}) {
    INFO(statement);
    const Error error = TranslateError(".version 1.4\n.target sm_13\n" + std::string(before) +
                                       "\n.entry k (.param .u32 p) {\n.reg .u32 %r<4>;\n" +
                                       std::string(statement) + "\nexit;\n}\n");
    CHECK(error.code == ErrorCode::kUnsupported);
    CHECK(error.message == message);
    CHECK(error.at.line == 6);
  };
  const std::string global =
      "a 32-bit register cannot be an address in the global space: only code with 64-bit addresses is "
      "translated";
  refused("ld.global.u32 %r1, [%r2];", global);
  refused("st.global.u32 [%r2+4], %r1;", global);
  refused("mov.u32 %r1, table;", global, ".global .u32 table[4];");
  refused("mov.u32 %r1, table+4;",
          "a 32-bit register cannot be an address in the const space: only code with 64-bit addresses is "
          "translated",
          ".const .u32 table[4];");
  refused("mov.u32 %r1, p;",
          "a 32-bit register cannot be an address in the param space: only code with 64-bit addresses is "
          "translated");
  refused("ld.u32 %r1, [%r2];",
          "a 32-bit register cannot be an address in the generic space: only code with 64-bit addresses is "
          "translated");
  refused("cvta.global.u32 %r1, %r2;",
          "a generic address has 64 bits: only code with 64-bit addresses is translated");
  // Shared and local addresses are offsets in windows: 32 bits hold them.
  const auto result = Run<uint32_t>(Kernel("mov.u32 %r1, window; st.shared.u32 [%r1+4], 7; ld.shared.u32 "
                                           "%r2, [window+4]; st.global.u32 [%rd1], %r2;",
                                           ".shared .u32 window[2];\n"),
                                    {0});
  CHECK(result == std::vector<uint32_t>{7});
}

}  // namespace
}  // namespace ptx2cpu::ptx::test
