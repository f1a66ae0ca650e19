#include "ir/text/text.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "ir/build.h"
#include "tests/ir/sample_modules.h"

using namespace ptx2cpu;
using namespace ptx2cpu::ir;
using namespace ptx2cpu::test;

namespace {

std::string InKernel(const std::string& body) {
  return "module \"m\" ptx 8.0 sm 80\nkernel @k () phase simt {\n" + body + "\n}\n";
}

// An operand of each letter, made on the way.
ValueId Operand(Builder& b, char letter, Type type, Type from) {
  switch (letter) {
    case 'T':
      return b.Undef(type);
    case 'F':
      return b.Undef(from);
    case 'P':
      return b.Undef(Type::kI1);
    case 'W':
      return b.Undef(Type::kI32);
    default:
      return b.Undef(Type::kI64);
  }
}

Type AllowedType(TypeSet set) {
  if (set == TypeSet::kNoType) return Type::kVoid;
  return set == TypeSet::kFloats ? Type::kF64 : Type::kI16;
}

// One instruction of a row with every attribute that the row reads set to something.
void AddRow(Builder& b, Opcode op) {
  const OpcodeInfo& info = Info(op);
  Inst inst;
  inst.op = op;
  inst.type = AllowedType(info.types);
  bool has_from = (std::string(info.operands) + std::string(info.results)).find('F') != std::string::npos;
  if (has_from) inst.from = Type::kBF16;
  inst.at = {7, 2, static_cast<uint32_t>(op) + 1};
  for (size_t i = 0; i < info.operands.size(); ++i) {
    char letter = info.operands[i] == '*' ? info.operands[i - 1] : info.operands[i];
    inst.operands.push_back(Operand(b, letter, inst.type, inst.from));
  }
  uint32_t fields = info.attributes;
  Attrs& a = inst.attrs;
  if (fields & kBits) a.bits = 0x1234;
  if (fields & kFlags) a.flags = (kDivergent << 1) - 1;
#define ATTRIBUTE(type, member, field, presence) \
  if (fields & field) a.member = static_cast<type>(kCountOf<type> - 1);
#include "ir/attributes.def"
  if (fields & kAlign) a.align = 32;
  if ((fields & kIndex & ~(kIndexOfVariable | kIndexOfFunction)) != 0) a.index = 5;
  if (info.results == "X*") inst.results = {AddValue(b.f, Type::kF32, InstId{}, b.block, 0)};
  if (info.effect == Effect::kTerminator) inst.edges = {{b.block, {}}, {b.block, {inst.operands}}};
  Append(b.f, b.block, std::move(inst), 2);
}

}  // namespace

TEST_CASE("samples of every phase print as they were read", "[text]") {
  for (const char* sample :
       {test::kSimtSample, test::kSplitSample, test::kCollapsedSample, test::kFlatSample}) {
    CHECK(Print(ParseOrFail(sample)) == sample);
  }
}

TEST_CASE("Parse reads every field of the text", "[text]") {
  Module m = ParseOrFail(test::kSimtSample);
  CHECK(m.static_shared_bytes == 1040);
  REQUIRE(m.source_files.size() == 2);
  CHECK(m.source_files[1] == "reduce \"v2\".cu");
  const Variable& table = m.variables[3];
  CHECK(table.initial.size() == 33);
  CHECK(table.linkage == Variable::Linkage::kVisible);
  CHECK(table.at.ptx_line == 11);
  REQUIRE(table.relocations.size() == 2);
  CHECK(table.relocations[0].index == 2);
  CHECK(table.relocations[0].addend == -4);
  CHECK(table.relocations[1].is_function);
  CHECK(table.relocations[1].index == 2);
  CHECK(table.relocations[1].shift == 24);
  const Function& reduce = *m.FindFunction("reduce");
  CHECK(reduce.is_kernel);
  CHECK(reduce.param_bytes == 32);
  CHECK(reduce.max_threads[0] == 256);
  CHECK(reduce.params[2].size == 12);
  CHECK(reduce.at.ptx_line == 20);
  const Block& loop = reduce.at_block(BlockId{1});
  CHECK(loop.label == "$L__BB0_2");
  CHECK(reduce.type_of(loop.params[1]) == Type::kI64);
  const Inst& shuffle = reduce.at_inst(loop.insts[11]);
  REQUIRE(shuffle.op == Opcode::kShuffle);
  CHECK(shuffle.at.ptx_line == 42);
  CHECK(shuffle.at.source_line == 17);
  CHECK(reduce.type_of(shuffle.results[1]) == Type::kI1);
  CHECK(reduce.at_value(shuffle.results[1]).number == 1);
  CHECK(reduce.at_value(shuffle.results[1]).def == loop.insts[11]);
  CHECK(m.FindFunction("square")->entry == BlockId{1});
  CHECK(m.FindFunction("vprintf")->is_declaration);
  Module collapsed = ParseOrFail(test::kCollapsedSample);
  CHECK(collapsed.functions[0].has_early_exit);
  CHECK(collapsed.functions[0].slots[2].shape == Level::kBlock);
  CHECK(collapsed.functions[0].at_block(BlockId{5}).level == Level::kWarp);
}

TEST_CASE("every opcode prints and parses with all its attributes", "[text]") {
  Module m;
  m.name = "table";
  m.variables.emplace_back().name = "v";
  m.functions.emplace_back().name = "f";
  for (size_t i = 0; i < static_cast<size_t>(Opcode::kCount); ++i) {
    Function f;
    f.name = std::string(Info(static_cast<Opcode>(i)).mnemonic);
    f.entry = AddBlock(f);
    Builder b{f, f.entry};
    AddRow(b, static_cast<Opcode>(i));
    m.functions.push_back(std::move(f));
  }
  std::string text = Print(m);
  Module again = ParseOrFail(text);
  CHECK(Print(again) == text);
  REQUIRE(again.functions.size() == m.functions.size());
  for (size_t i = 1; i < m.functions.size(); ++i) {
    const Inst& was = m.functions[i].insts.back();
    const Inst& now = again.functions[i].insts.back();
    INFO(Print(m.functions[i], was));
    CHECK(now.op == was.op);
    CHECK(now.type == was.type);
    CHECK(now.from == was.from);
    CHECK(now.attrs == was.attrs);
    CHECK(now.operands.size() == was.operands.size());
    CHECK(now.results.size() == was.results.size());
    CHECK(now.edges.size() == was.edges.size());
    CHECK(now.at.source_line == was.at.source_line);
  }
}

TEST_CASE("every value of every attribute has a word of its own", "[text]") {
  Module m;
  Function f;
  f.entry = AddBlock(f);
  Builder b{f, f.entry};
  auto add = [&](Attrs attrs) { b.Make(Opcode::kFence, Type::kVoid, {}, attrs); };
#define ATTRIBUTE(type, member, field, presence) \
  for (int i = 0; i < kCountOf<type>; ++i) add({.member = static_cast<type>(i)});
#include "ir/attributes.def"
  for (int i = 0; i < 32; ++i) add({.flags = 1u << i});
  m.functions.push_back(std::move(f));
  Module again = ParseOrFail(Print(m));
  REQUIRE(again.functions[0].insts.size() == m.functions[0].insts.size());
  for (size_t i = 0; i < m.functions[0].insts.size(); ++i) {
    INFO(Print(m.functions[0], m.functions[0].insts[i]));
    CHECK(again.functions[0].insts[i].attrs == m.functions[0].insts[i].attrs);
  }
}

TEST_CASE("slots with a role of their own keep it", "[text]") {
  Module m = ParseOrFail(
      "module \"m\" ptx 8.0 sm 80\n\nkernel @k () phase collapsed early_exit parked #1 {\n  slot #0 i1 warp\n"
      "  slot #1 i32 warp\n^b0 block:\n  ret\n}\n");
  CHECK(m.functions[0].parked_slot == 1);
  CHECK(ParseOrFail(Print(m)).functions[0].parked_slot == 1);
}

TEST_CASE("numbers are dense in block order whatever the indices were", "[text]") {
  Module m = ParseOrFail(InKernel("^x:\n  %last = const i8 -1\n  br ^z\n^y:\n  ret\n^z:\n  br ^y"));
  Function& f = m.functions[0];
  CHECK(Print(m, f) ==
        "kernel @k () phase simt {\n^b0:\n  %0 = const i8 0xff\n  br ^b2\n^b1:\n  ret\n^b2:\n  br ^b1\n}\n");
  f.inst(f.at_block(f.entry).insts[1]).edges[0].to = BlockId{1};
  RemoveUnreachableBlocks(f);
  CHECK(Print(m, f) == "kernel @k () phase simt {\n^b0:\n  %0 = const i8 0xff\n  br ^b1\n^b1:\n  ret\n}\n");
}

TEST_CASE("constants may be written as decimals and fractions", "[text]") {
  Module m = ParseOrFail(InKernel(
      "^x:\n  %a = const f32 1.5\n  %b = const f64 -2.0\n  %c = const i32 -5\n  %d = const i64 -1\n  ret"));
  const Function& f = m.functions[0];
  CHECK(f.insts[0].attrs.bits == 0x3fc00000);
  CHECK(f.insts[1].attrs.bits == 0xc000000000000000);
  CHECK(f.insts[2].attrs.bits == 0xfffffffb);
  CHECK(f.insts[3].attrs.bits == ~uint64_t{0});
}

TEST_CASE("parse errors name place and cause", "[text]") {
  struct Case {
    std::string text;
    uint32_t line, column;
    std::string message;
  };
  const Case cases[] = {
      {"", 1, 1, "expected 'module', not the end of the text"},
      {"module \"m", 1, 8, "closing quote"},
      {"module \"m\" ptx 9", 1, 16, "MAJOR.MINOR"},
      {"module \"m\" `", 1, 12, "unexpected character"},
      {"module \"m\"\nsource #1 \"a\"", 2, 8, "this one is #0"},
      {"module \"m\"\nvariable shard @x", 2, 10, "variable's space, not 'shard'"},
      {"module \"m\"\nvariable global @x = \"0g\"", 2, 22, "hexadecimal"},
      {"module \"m\"\nrelocation 0 variable @x", 2, 12, "no variable precedes it"},
      {"module \"m\"\nvariable global @x\n  relocation 0 variable @y", 3, 25, "no variable is named @y"},
      {"module \"m\"\nkernel @k (a: i31) phase simt {", 2, 15, "expected a type"},
      {"module \"m\"\nkernel @k () phase simd {", 2, 20, "expected simt, split or collapsed"},
      {"module \"m\"\nkernel @k () phase simt", 2, 24, "expected '{'"},
      {InKernel("  ret"), 3, 3, "expected a ^block before"},
      {InKernel("^x:\n  rett"), 4, 3, "mnemonic, not 'rett'"},
      {InKernel("^x:\n  br ^y"), 4, 6, "no block is named ^y"},
      {InKernel("^x:\n  ret\n^x:\n  ret"), 5, 1, "^x is defined twice"},
      {InKernel("^x:\n  %a = undef i32\n  %a = undef i32"), 5, 3, "%a is defined twice"},
      {InKernel("^x:\n  %a = neg i32 %b\n  ret"), 4, 16, "%b is never defined"},
      {InKernel("^x:\n  %a = add i32 %a %a"), 4, 19, "expected ','"},
      {InKernel("^x:\n  %a = add i32 wide %a"), 4, 16, "expected a type, an attribute or an operand"},
      {InKernel("^x:\n  %a = call @f"), 4, 13, "no function is named @f"},
      {InKernel("^x:\n  %a = call @k"), 4, 3, "write %a: TYPE"},
      {InKernel("^x:\n  %a = const i32 4x"), 4, 18, "expected a number"},
      {InKernel("^x:\n  %a = const i32 1.5"), 4, 18, "only for f32 and f64"},
      {InKernel("^x:\n  %a = const i64 0x10000000000000000"), 4, 18, "does not fit in 64 bits"},
      {InKernel("^x:\n  barrier_block %a {alined}"), 4, 21, "expected a flag, not 'alined'"},
      {InKernel("^x:\n  ret ; line 4"), 4, 9, "expected 'ptx LINE'"},
      {InKernel("^x:\n  ret ret"), 4, 7, "expected a type, an attribute or an operand, not 'ret'"},
      {InKernel("  slot #1 i32 lane"), 3, 8, "this one is #0"},
      {"module \"m\"\nkernel @k () phase simt {\n^x:\n  ret", 4, 6, "not the end of the text"},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    Result<Module> module = Parse(c.text, "bad.ir");
    REQUIRE_FALSE(module);
    CHECK(module.error().code == ErrorCode::kSyntax);
    CHECK_THAT(module.error().message, Catch::Contains(c.message));
    CHECK(module.error().at.file == "bad.ir");
    CHECK(module.error().at.line == c.line);
    CHECK(module.error().at.column == c.column);
  }
}

TEST_CASE("a broken instruction still prints", "[text]") {
  Function f;
  f.entry = AddBlock(f);
  Inst inst;
  inst.op = Opcode::kBr;
  inst.operands = {ValueId{}, ValueId{99}};
  inst.edges = {{BlockId{}, {}}, {BlockId{77}, {ValueId{}}}};
  CHECK(Print(f, inst) == "br %invalid, %undefined99, ^invalid, ^removed77(%invalid)");
  inst = {};
  inst.op = Opcode::kCall;
  inst.attrs.index = 3;
  CHECK(Print(f, inst) == "call #3");
}
