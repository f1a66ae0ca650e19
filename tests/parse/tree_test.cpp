#include <fmt/format.h>

#include <bit>
#include <catch2/catch.hpp>

#include "ptx-parser/parse/parse.h"
#include "ptx-parser/parse/print.h"
#include "tests/parse/samples.h"

namespace ptx2cpu::ptx::tests {
namespace {

using ast::Operand;
using ast::OperandKind;
using ast::SymbolKind;

ast::Module Parsed(std::string text) {
  auto result = Parse(std::move(text), "a.ptx");
  INFO((result ? "" : result.error().Render()));
  REQUIRE(result);
  return *std::move(result);
}

// The definition before a declaration; or null.
const ast::Variable* FindGlobal(const ast::Module& m, std::string_view name) {
  const ast::Variable* found = nullptr;
  for (const uint32_t index : m.globals) {
    const ast::Variable& v = m.variables[index];
    if (v.name == name && (found == nullptr || v.linkage != ast::Linkage::kExtern)) found = &v;
  }
  return found;
}

// The name of a register as the source spells it: "%r7" for number 7 of a %r<100>.
std::string RegisterName(const ast::Module& m, const ast::Function& function, uint32_t number) {
  const ast::Variable& variable = m.RegisterDeclaration(function, number);
  uint32_t first = number;
  while (first > 0 && &m.RegisterDeclaration(function, first - 1) == &variable) --first;
  std::string name(variable.name);
  if (variable.parameterised != 0) name += std::to_string((number - first) / variable.vector);
  if (variable.vector > 1) name += fmt::format(".{}", "xyzw"[(number - first) % variable.vector % 4]);
  return name;
}

// The value of a constant expression, and "U" if it is unsigned.
std::string Value(const std::string& expression) {
  const ast::Module m = Parsed(".version 8.5 .target sm_90 .global .b64 x = " + expression + ";");
  const Operand& o = m.operands[m.variables[0].initializer];
  if (o.kind == OperandKind::kFloat64) return fmt::format("{}", std::bit_cast<double>(o.bits));
  if (o.kind == OperandKind::kFloat32) return fmt::format("0f{:08X}", o.bits);
  REQUIRE(o.kind == OperandKind::kInteger);
  return o.Has(Operand::kUnsigned) ? fmt::format("{}U", o.bits) : fmt::format("{}", o.integer);
}

const ast::Instruction& InstructionWith(const ast::Module& m, std::string_view text) {
  for (const ast::Instruction& i : m.instructions) {
    if (Print(m, i).find(text) != std::string::npos) return i;
  }
  FAIL("no instruction has " << text);
  return m.instructions[0];
}

}  // namespace

TEST_CASE("constant expressions have C's precedence and PTX's types") {
  CHECK(Value("1 + 2 * 3") == "7");
  CHECK(Value("(1 + 2) * 3") == "9");
  CHECK(Value("1 << 4 | 3 & 2 ^ 1") == "19");
  CHECK(Value("10 - 4 - 3") == "3");
  CHECK(Value("-2 * -3") == "6");
  CHECK(Value("- - 4") == "4");
  CHECK(Value("~0") == "18446744073709551615U");
  CHECK(Value("!5 + !0") == "1");
  CHECK(Value("1 < 2 == 2 > 1") == "1");
  CHECK(Value("1 || 0 && 0") == "1");
  CHECK(Value("0 ? 5 : 1 ? 6 : 7") == "6");
  CHECK(Value("1 ? 2 ? 3 : 4 : 5") == "3");
  CHECK(Value("0x10 + 010 + 0b10 + 10") == "36");
  CHECK(Value("42U") == "42U");
  CHECK(Value("0xfabc123400000000") == "18067335819651186688U");
  CHECK(Value("WARP_SZ * 2") == "64");
  CHECK(Value("(.u64)-1") == "18446744073709551615U");
  CHECK(Value("(.s64)~0") == "-1");
}

// What ptxas 13.0 wrote into the cubin for the same expressions.
TEST_CASE("constant expressions agree with ptxas in the corners") {
  CHECK(Value("(-1 & -1) / 2") == "0");
  CHECK(Value("(-1 % 7) / -1") == "0U");
  CHECK(Value("1 << 64") == "1");
  CHECK(Value("-8 >> 70") == "-1");
  CHECK(Value("~0 / 2") == "9223372036854775807U");
  CHECK(Value("1 << 65") == "2");
  CHECK(Value("-8 >> 66") == "-2");
  CHECK(Value("5U > -1") == "0");
  CHECK(Value("(1 ? -1 : 5U) / 2") == "0");
  CHECK(Value("-9223372036854775808") == "9223372036854775808U");
  CHECK(Value("0x8000000000000000 / 3") == "3074457345618258602U");
}

TEST_CASE("floating-point constants") {
  CHECK(Value("1.0 / 4.0 + .5") == "0.75");
  CHECK(Value("-1.5e3") == "-1500");
  CHECK(Value("0d3FF0000000000000") == "1");
  CHECK(Value("0f3F800000") == "0f3F800000");
  CHECK(Value("-0F3f800000") == "0fBF800000");
  CHECK(Value("1.5 < 2.5") == "1");
  CHECK(Value("1 ? 2.5 : 3.5") == "2.5");
}

TEST_CASE("the head of a module") {
  const ast::Module m = Parsed(std::string(kModern) + std::string(3, '\0'));
  CHECK(m.version_major == 8);
  CHECK(m.version_minor == 5);
  CHECK(m.target.sm == 90);
  CHECK(m.target.suffix == 'a');
  CHECK(m.target.debug);
  CHECK(m.address_size == 64);
  REQUIRE(m.files.size() == 2);
  CHECK(m.files[1].name == "inline.h");
  REQUIRE(m.sections.size() == 2);
  CHECK(m.sections[0].name == ".debug_str");
  CHECK(m.sections[0].body.find("$L__info_string0:") != std::string_view::npos);
  CHECK(m.sections[1].name == ".debug_loc");
  CHECK(m.module_pragmas.size() == 1);
  const ast::Module old = Parsed(std::string(kOld));
  CHECK(old.target.map_f64_to_f32);
  CHECK(old.variables[1].bank == 2);
  CHECK(old.functions[0].name == "scale");
}

TEST_CASE("variables") {
  const ast::Module m = Parsed(std::string(kModern));
  const ast::Variable* table = FindGlobal(m, "table");
  REQUIRE(table);
  CHECK(table->space == ast::Space::kConst);
  CHECK(table->linkage == ast::Linkage::kVisible);
  CHECK(table->align == 4);
  CHECK(m.Dimensions(*table)[0] == 8);
  const Operand& list = m.operands[table->initializer];
  REQUIRE(list.kind == OperandKind::kVector);
  CHECK(m.Children(list).size() == 6);
  CHECK(m.Children(list)[4].integer == -5);
  CHECK(FindGlobal(m, "message")->managed);
  CHECK(FindGlobal(m, "weak_vector")->vector == 4);
  const ast::Variable* kernel = FindGlobal(m, "kernel");
  CHECK(m.Dimensions(*kernel).size() == 2);
  CHECK(m.Dimensions(*kernel)[0] == 0);
  const Operand& pointers = m.operands[FindGlobal(m, "pointers")->initializer];
  const Operand& second = m.Children(pointers)[1];
  CHECK(second.Has(Operand::kGeneric));
  CHECK(second.integer == 4);
  CHECK(second.symbol_kind == SymbolKind::kVariable);
  CHECK(m.variables[second.symbol].name == "message");
  const Operand& bytes = m.operands[FindGlobal(m, "bytes")->initializer];
  CHECK(m.Children(bytes)[1].kind == OperandKind::kMasked);
  CHECK(m.Children(bytes)[1].symbol == 1);
  CHECK(m.Children(m.Children(bytes)[2])[0].integer == 8);
  CHECK(m.Children(bytes)[3].integer == 0x34);
}

TEST_CASE("functions, their directives and parameters") {
  const ast::Module m = Parsed(std::string(kModern));
  const ast::Function* f = m.FindFunction("kernel_one");
  REQUIRE(f);
  CHECK(f->is_entry);
  CHECK(f->has_body);
  CHECK(f->maxntid == ast::Dimensions{256, 2, 1});
  CHECK(f->reqntid == ast::Dimensions{0, 0, 0});
  CHECK(f->reqnctapercluster == ast::Dimensions{2, 1, 1});
  CHECK(f->minnctapersm == 2);
  CHECK(f->maxnreg == 64);
  CHECK(f->explicit_cluster);
  CHECK(f->pragmas.count == 1);
  const auto parameters = m.Variables(f->parameters);
  REQUIRE(parameters.size() == 4);
  CHECK(parameters[0].is_pointer);
  CHECK(parameters[0].pointer_space == ast::Space::kGlobal);
  CHECK(parameters[0].pointer_align == 16);
  CHECK(parameters[1].pointer_space == ast::Space::kConst);
  CHECK(parameters[2].align == 8);
  CHECK(m.Dimensions(parameters[2])[0] == 24);
  const ast::Function* helper = m.FindFunction("helper");
  CHECK(helper->abi_preserve == 8);
  CHECK(helper->register_count == 2);
  CHECK(m.FindFunction("twice")->noreturn);
  CHECK_FALSE(m.FindFunction("twice")->has_body);
  REQUIRE(m.aliases.size() == 1);
  CHECK(m.functions[m.aliases[0].function].name == "helper");
}

TEST_CASE("opcodes are shared and split") {
  const ast::Module m = Parsed(std::string(kModern));
  const ast::Opcode& o = m.OpcodeOf(InstructionWith(m, "mbarrier"));
  CHECK(o.base == "cp");
  const auto words = m.Modifiers(o);
  CHECK(std::vector<std::string_view>(words.begin(), words.end()) ==
        std::vector<std::string_view>{"async", "bulk", "tensor", "2d", "shared::cluster", "global",
                                      "mbarrier::complete_tx::bytes"});
  CHECK(m.OpcodeOf(InstructionWith(m, "[%rd1+-8]")).text == "st.global.f32");
  for (size_t i = 0; i < m.opcodes.size(); ++i) {
    for (size_t j = 0; j < i; ++j) CHECK(m.opcodes[i].text != m.opcodes[j].text);
  }
}

TEST_CASE("operands") {
  const ast::Module m = Parsed(std::string(kModern));
  const auto ops = [&](std::string_view text) { return m.Operands(InstructionWith(m, text)); };

  const auto setp = ops("setp");
  REQUIRE(setp.size() == 4);
  CHECK(setp[0].kind == OperandKind::kPair);
  CHECK(setp[3].Has(Operand::kNegated));
  CHECK(ops("mad.lo")[3].Has(Operand::kMinus));
  const auto load = ops("L2::128B");
  CHECK(m.Children(load[0])[3].kind == OperandKind::kSink);
  CHECK(load[1].kind == OperandKind::kAddress);
  CHECK(load[1].integer == -16);
  CHECK(ops("shared::cta")[1].integer == 8);
  const auto tex = ops("tex.2d");
  REQUIRE(tex[1].kind == OperandKind::kBracket);
  CHECK(m.Children(tex[1])[0].symbol_kind == SymbolKind::kVariable);
  CHECK(m.Children(tex[1])[2].kind == OperandKind::kVector);
  CHECK(ops("mov.u32 %r6")[1].kind == OperandKind::kElement);
  CHECK(m.Children(ops("ld.const.u32")[1])[0].symbol_kind == SymbolKind::kRegister);
  CHECK(ops(".unified")[1].Has(Operand::kUnified));
  CHECK(ops("vadd")[1].component == ast::Component::kB0);
  CHECK(ops("vadd")[2].component == ast::Component::kH1);
  CHECK(ops("%tid.x")[1].symbol_kind == SymbolKind::kSpecialRegister);
  CHECK(ast::SpecialRegisterName(ops("%tid.x")[1].symbol) == "%tid");
  CHECK(ops("%tid.x")[1].component == ast::Component::kX);
  CHECK(ops("mov.u32 %r10")[1].integer == 19);
  CHECK(ops("mov.u32 %r11")[1].integer == 7);

  const auto call = ops("vprintf");
  REQUIRE(call.size() == 3);
  CHECK(call[0].kind == OperandKind::kArguments);
  CHECK(call[1].symbol_kind == SymbolKind::kFunction);
  CHECK(m.Children(call[2]).size() == 2);
  const auto indirect = ops("prototype_0");
  CHECK(indirect[1].symbol_kind == SymbolKind::kRegister);
  CHECK(indirect[3].symbol_kind == SymbolKind::kPrototype);
  CHECK(m.functions[ops("call alias")[0].symbol].name == "helper");
  CHECK(ops("call.uni helper")[1].kind == OperandKind::kArguments);
  CHECK(ops("brx.idx")[1].symbol_kind == SymbolKind::kTargets);
  CHECK(m.targets[ops("brx.idx")[1].symbol].operands.count == 2);
}

TEST_CASE("several bytes or halves of a register") {
  const auto kernel = [](std::string_view operand) {
    return ".version 9.0\n.target sm_90\n.address_size 64\n.entry k() { .reg .b32 %a, %b; .reg .b64 %p;\n" +
           std::string(operand) + " ret; }\n";
  };
  const ast::Module m = Parsed(kernel("vadd4.u32.u32.u32 %b.b310, %a.b0713, %b.h13, %b.b1;"));
  const auto operands = m.Operands(m.instructions[0]);
  CHECK(operands[0].component == ast::Component::kBytes);
  CHECK(ast::Selection::Of(operands[0].integer).count == 3);
  CHECK(ast::Selection::Of(operands[0].integer).digits == 0x310);
  CHECK(ast::Selection::Of(operands[1].integer).digits == 0x0713);
  CHECK(ast::Selection::Of(operands[1].integer).Digit(2) == 7);
  CHECK(operands[2].component == ast::Component::kHalves);
  CHECK(operands[3].component == ast::Component::kB1);
  const std::string printed = ptx::Print(m);
  CHECK(printed.find("vadd4.u32.u32.u32 %b.b310, %a.b0713, %b.h13, %b.b1;") != std::string::npos);
  for (const char* wrong :
       {"mov.b32 %a, %b.b10 + 4;", "mov.b32 %a, 4 + %b.h10;", "ld.global.b32 %a, [%p.h10];",
        "mov.b32 %a, %b.b8;", "mov.b32 %a, %b.h4;", "mov.b32 %a, %b.b43210;", "mov.b32 %a, %b.h101;"}) {
    INFO(wrong);
    CHECK(!ptx::Parse(kernel(wrong), "a.ptx"));
  }
}

TEST_CASE("old versions: body parameters, vector registers, registers of the module") {
  const ast::Module m = Parsed(std::string(kOldest));
  REQUIRE(m.functions.size() == 4);
  CHECK_FALSE(m.functions[0].has_body);  // prototypes without a semicolon
  CHECK_FALSE(m.functions[1].has_body);
  const ast::Function& split = *m.FindFunction("split");
  const ast::Function& shade = *m.FindFunction("shade");
  REQUIRE(shade.parameters.count == 2);
  CHECK(m.Variables(shade.parameters)[0].name == "where");
  CHECK(m.Variables(shade.parameters)[1].type == "f32");
  CHECK(split.returns.count == 2);
  CHECK(shade.maxnctapersm == 4);
  // %f<4>, %rd<2>; then %calls, %more<3> and the four of %color.
  CHECK(shade.register_count == 4 + 2 + 1 + 3 + 4);
  CHECK(split.register_count == 3 + 1 + 3 + 4);
  CHECK(RegisterName(m, shade, 6) == "%calls");
  CHECK(RegisterName(m, shade, 9) == "%more2");
  CHECK(RegisterName(m, shade, 12) == "%color.z");
  CHECK(m.RegisterDeclaration(shade, 13).vector == 4);
  CHECK(split.shared_private_use.line == 0);
  CHECK(shade.shared_private_use.line == 28);
  const std::span<const ast::Instruction> body = m.Instructions(shade);
  CHECK(m.OpcodeOf(body[1]).text == "ld.const[0].f32");
  CHECK(m.Operands(body[3])[0].symbol == 13);
  const ast::Operand& whole = m.Operands(body[5])[1];
  REQUIRE(whole.kind == OperandKind::kVector);
  REQUIRE(m.Children(whole).size() == 4);
  CHECK(m.Children(whole)[2].symbol == 12);
}

TEST_CASE("registers are numbered densely, and inner scopes hide outer names") {
  const ast::Module m = Parsed(
      ".version 8.5 .target sm_90\n"
      ".entry k() {\n"
      ".reg .b32 %r<10>; .reg .pred %p; .reg .b64 %r1x<3>, a1<20>;\n"
      "mov.b32 %r1, %r9;\n"
      "{ .reg .b32 %r1; mov.b32 %r1, %r2; { .reg .f32 %r<2>; mov.f32 %r1, %r0; } }\n"
      "@%p mov.b32 %r1, %r2;\n"
      "mov.b64 %r1x2, a113;\n"
      "bra L; L: { bra L; L: bra L; }\n"
      "}");
  const ast::Function& f = m.functions[0];
  CHECK(f.register_count == 10 + 1 + 3 + 20 + 1 + 2);
  const auto symbol = [&](size_t instruction, size_t operand) {
    return m.Operands(m.instructions[instruction])[operand].symbol;
  };
  CHECK(symbol(0, 0) == 1);
  CHECK(symbol(0, 1) == 9);
  CHECK(symbol(1, 0) == 34);
  CHECK(symbol(1, 1) == 2);
  CHECK(symbol(2, 0) == 36);
  CHECK(symbol(2, 1) == 35);
  CHECK(symbol(3, 0) == 1);
  CHECK(m.instructions[3].guard_register == 10);
  CHECK(symbol(4, 0) == 13);
  CHECK(symbol(4, 1) == 14 + 13);
  CHECK(RegisterName(m, f, 13) == "%r1x2");
  CHECK(RegisterName(m, f, 10) == "%p");
  CHECK(RegisterName(m, f, 27) == "a113");
  CHECK(m.RegisterDeclaration(f, 35).type == "f32");
  CHECK(symbol(5, 0) != symbol(6, 0));
  CHECK(symbol(6, 0) == symbol(7, 0));
  CHECK(m.labels[symbol(5, 0)].name == "L");
}

TEST_CASE("names of other spaces may be counted too") {
  const ast::Module m = Parsed(
      ".version 8.5 .target sm_90\n"
      ".entry k() { .param .b32 p<3>; ts: .branchtargets N<2>; N0: N1: st.param.b32 [p2], 1; }");
  CHECK(m.variables[m.Operands(m.instructions[0])[0].symbol].name == "p2");
  CHECK(m.Slice(m.operands, m.targets[0].operands)[1].symbol == 1);
}

TEST_CASE(".loc keeps its inlining") {
  const ast::Module m = Parsed(std::string(kModern));
  REQUIRE(m.locs.size() == 2);
  CHECK(m.locs[0].line == 7);
  CHECK(m.locs[1].function_name == "$L__info_string0");
  CHECK(m.locs[1].function_offset == 16);
  CHECK(m.locs[1].inlined_line == 21);
  CHECK(m.locs[1].inlined_column == 3);
}

TEST_CASE("a module may be copied and moved with its views") {
  ast::Module copy;
  {
    const ast::Module m = Parsed(".version 8.5 .target sm_90 .global .b32 x;");
    copy = m;
  }
  const ast::Module moved = std::move(copy);
  CHECK(moved.variables[0].name == "x");
}

}  // namespace ptx2cpu::ptx::tests
