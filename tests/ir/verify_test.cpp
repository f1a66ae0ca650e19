#include "ir/verify/verify.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <functional>

#include "ir/build.h"
#include "ir/text/text.h"
#include "tests/ir/broken.h"
#include "tests/ir/sample_modules.h"

using namespace ptx2cpu;
using namespace ptx2cpu::ir;
using namespace ptx2cpu::test;

namespace {

// An instruction between operands of all types and a ret.
std::string Line(const std::string& line) {
  return "^b:\n  %p = undef i1\n  %h = undef i8\n  %s = undef i16\n  %w = undef i32\n  %a = undef i64\n"
         "  %x = undef f16\n  %f = undef f32\n  %d = undef f64\n  " +
         line + "\n  ret";
}

std::vector<Broken> Lines(const std::vector<Broken>& cases) {
  std::vector<Broken> out;
  for (const Broken& c : cases) out.push_back({Line(c.text), c.message});
  return out;
}

}  // namespace

TEST_CASE("samples obey the law of their phase", "[verify]") {
  for (const char* sample :
       {test::kSimtSample, test::kSplitSample, test::kCollapsedSample, test::kFlatSample}) {
    Status status = Verify(ParseOrFail(sample));
    if (!status) FAIL(status.error().Render());
  }
}

TEST_CASE("messages name function, block, instruction, rule and PTX line", "[verify]") {
  Module m = ParseOrFail(
      Around("simt", "^a:\n  br ^b\n^b \"$L_2\":\n  %x = const i32 0x1\n  %y = neg i64 %x ; ptx 2\n  ret"));
  m.text = "first\nneg.s64 %rd1, %r1;\nlast\n";
  Status status = Verify(m);
  REQUIRE_FALSE(status);
  CHECK(status.error().message ==
        "function @k, block ^b1 \"$L_2\", `%1 = neg i64 %0 ; ptx 2`: operand 0 is i32, the row expects i64 "
        "(rule signature)");
  CHECK(status.error().at.file == "m");
  CHECK(status.error().at.line == 2);
  CHECK(status.error().excerpt == "neg.s64 %rd1, %r1;");
}

TEST_CASE("rule: blocks", "[verify]") {
  auto edited = [](const std::string& message, const std::function<void(Function&)>& edit) {
    Module m = ParseOrFail(Around("simt", "^a:\n  %x = const i32 0x1\n  br ^b(%x)\n^b(%y: i32):\n  ret"));
    edit(m.functions[1]);
    CheckBroken(m, message);
  };
  edited("no entry block", [](Function& f) { f.entry = BlockId{}; });
  edited("the entry block is removed", [](Function& f) { f.blocks[0].removed = true; });
  edited("the block is empty", [](Function& f) { f.blocks[1].insts.clear(); });
  edited("parameter's id is invalid", [](Function& f) { f.blocks[1].params[0] = ValueId{9}; });
  edited("instruction's id is invalid", [](Function& f) { f.blocks[0].insts[0] = InstId{}; });
  edited("is in two places",
         [](Function& f) { f.blocks[1].insts.insert(f.blocks[1].insts.begin(), InstId{0}); });
  edited("names another block as its own", [](Function& f) { f.insts[0].block = BlockId{1}; });
  edited("not a terminator", [](Function& f) { f.blocks[0].insts.pop_back(); });
  edited("before the block's end", [](Function& f) {
    std::swap(f.blocks[0].insts[0], f.blocks[0].insts[1]);
    f.blocks[0].insts.push_back(InstId{2});
  });
  edited("operand's id is invalid", [](Function& f) { f.insts[2].operands.push_back(ValueId{}); });
  edited("result's id is invalid", [](Function& f) { f.insts[0].results[0] = ValueId{77}; });
  edited("edge's block is invalid", [](Function& f) { f.insts[1].edges[0].to = BlockId{5}; });
  edited("removed block", [](Function& f) { f.blocks[1].removed = true; });
  edited("edge argument's id is invalid", [](Function& f) { f.insts[1].edges[0].args[0] = ValueId{}; });
}

TEST_CASE("rule: values", "[verify]") {
  auto edited = [](const std::string& message, const std::function<void(Function&)>& edit) {
    Module m = ParseOrFail(
        Around("simt", "^a:\n  %x = const i32 0x1\n  %z = const i32 0x1\n  br ^b(%x)\n^b(%y: i32):\n  ret"));
    edit(m.functions[1]);
    CheckBroken(m, message);
  };
  edited("parameter 0 names another definition",
         [](Function& f) { f.values[f.blocks[1].params[0].index].number = 1; });
  edited("parameter 0 names another definition",
         [](Function& f) { f.values[f.blocks[1].params[0].index].def = InstId{0}; });
  edited("result 0 names another definition", [](Function& f) { f.values[0].def = InstId{1}; });
  edited("result 0 names another definition", [](Function& f) { f.values[0].block = BlockId{1}; });
  edited("result 0 names another definition", [](Function& f) { f.insts[1].results = f.insts[0].results; });
}

TEST_CASE("rule: types", "[verify]") {
  CheckAll("simt", Lines({
                       {"%r = add f32 %f, %f", "does not allow the type f32 (rule types)"},
                       {"%r = add i1 %p, %p", "does not allow the type i1"},
                       {"%r = fadd i32 %w, %w", "does not allow the type i32"},
                       {"%r = redux i1 and %p, %w", "does not allow the type i1"},
                       {"%r: i32 = const 0x1", "does not allow the type void"},
                       {"%r = icmp type i32 i32 eq %w, %w", "does not allow the type i32"},
                       {"%r = icmp f32 eq %f, %f", "does not allow the second type f32"},
                       {"%r = fcmp i32 feq %w, %w", "does not allow the second type i32"},
                       {"%r = add i32 from i32 %w, %w", "does not allow the second type i32"},
                       {"%r = zext i64 %w", "does not allow the second type void"},
                       {"%r = zext i32 from i32 %w", "not wider"},
                       {"%r = sext i16 from i32 %w", "not wider"},
                       {"%r = trunc i32 from i16 %s", "not narrower"},
                       {"%r = bitcast i64 from f32 %f", "different widths"},
                       {"%r = pack i64 from i16 %s, %s", "do not add up to that of the whole"},
                       {"%r, %q = unpack i16 from i64 %a", "do not add up to that of the whole"},
                       {"%r = s_to_f f32 from f64 %d", "does not allow the second type f64"},
                       {"%r = f_to_s i32 from i32 %w", "does not allow the second type i32"},
                   }));
}

TEST_CASE("rule: signature", "[verify]") {
  CheckAll("simt",
           Lines({
               {"%r = add i32 %w", "1 operands, the row's signature is TT:T (rule signature)"},
               {"%r = add i32 %w, %w, %w", "3 operands"},
               {"%r = add i32 %w, %a", "operand 1 is i64, the row expects i32"},
               {"%r, %q: i32 = add i32 %w, %w", "2 results"},
               {"%r: i64 = add i32 %w, %w", "result 0 is i64, the row expects i32"},
               {"add i32 %w, %w", "0 results"},
               {"%r = select i32 %w, %w, %w", "operand 0 is i32, the row expects i1"},
               {"%r = load i32 global %w", "operand 0 is i32, the row expects i64"},
               {"%r, %q, %t, %u, %v = load i32 global %a", "5 results, which the row does not allow"},
               {"store i32 global %a", "1 operands, which the row does not allow"},
               {"barrier_block %w, %w, %w", "3 operands, which the row does not allow"},
               {"%r = barrier_reduce_and %p", "1 operands, which the row does not allow"},
               {"%r = to_narrow i16 from f32 rs e4m3 %f, %f, %f", "operand 2 is f32, the row expects i32"},
               {"%r, %q, %t = from_narrow f16 from i32 e4m3 %w", "3 results, which"},
               {"%r: void = call_indirect #0 %a, %w", "result 0 is void, the row expects a value"},
           }));
}

TEST_CASE("rule: attributes", "[verify]") {
  CheckAll("simt", Lines({
                       {"%r = mul i32 %w, %w {sat}", "does not read the attribute 'flags' (rule attributes)"},
                       {"%r = add i32 0x4 %w, %w", "attribute 'bits'"},
                       {"%r = add i32 global %w, %w", "attribute 'space'"},
                       {"%r = add i32 #1 %w, %w", "attribute 'index'"},
                       {"%r = add i32 tid.x %w, %w", "attribute 'special'"},
                       {"%r = add i32 eq %w, %w", "does not read the attribute 'compare'"},
                       {"%r = add i32 rn %w, %w", "attribute 'rounding'"},
                       {"%r = add i32 tf32 %w, %w", "attribute 'narrow'"},
                       {"%r = add i32 relaxed %w, %w", "attribute 'order'"},
                       {"%r = add i32 gpu %w, %w", "attribute 'scope'"},
                       {"%r = add i32 align 4 %w, %w", "attribute 'align'"},
                       {"%r = add i32 exch %w, %w", "attribute 'atomic'"},
                       {"%r = add i32 bfly %w, %w", "attribute 'shuffle'"},
                       {"%r = icmp i32 %w, %w", "needs the attribute 'compare'"},
                       {"%r = special i32", "needs the attribute 'special'"},
                       {"%r = icmp i32 flt %w, %w", "a float comparison of integers"},
                       {"%r = fcmp f32 ult %f, %f", "an integer comparison of floats"},
                       {"%r = icmp i1 ult %p, %p", "predicates have no order"},
                       {"%r = load i32 global align 6 %a", "power of two"},
                       {"%r = add i32 %w, %w {bit30}", "unknown flags"},
                       {"%r = lop3 i32 #256 %w, %w, %w", "more than 8 bits"},
                       {"%r = add i32 f4e %w, %w", "attribute 'permute'"},
                       {"%r = add i32 normal %w, %w", "attribute 'test'"},
                       {"%r = add i32 height %w, %w", "attribute 'query'"},
                       {"%r = special i32 envreg #32", "no register envreg has the number 32"},
                       {"%r = special i32 tid.x #1", "no register tid.x has the number 1"},
                   }));
}

TEST_CASE("rule: references", "[verify]") {
  CheckAll("simt", Lines({
                       {"%r = symbol shared #4", "no such variable (rule references)"},
                       {"%r = symbol global @tile", "@tile is in space shared"},
                       {"%r = symbol local #0", "no such local variable"},
                       {"%r = function_address #9", "no such function"},
                       {"call #9", "no such function"},
                       {"call @k", "a call of the kernel @k"},
                       {"%r: i16 = call @f %a, %w", "2 arguments, expected 3"},
                       {"%r: i16 = call @f %a, %w, %w", "argument 2 is i32, expected i64"},
                       {"%r: i32 = call @f %a, %w, %a", "result 0 is i32, expected i16"},
                       {"call_indirect #1 %a", "no such signature"},
                       {"%r: f32 = call_indirect #0 %a, %f", "argument 0 is f32, expected i32"},
                       {"call_indirect #0 %a, %w", "0 results, expected 1"},
                   }));
  CheckAll("collapsed",
           {
               {"^b block:\n  %r = slot_load i32 #0\n  ret", "no such slot"},
               {"  slot #0 i32 block\n^b block:\n  %r = slot_load i64 #0\n  ret", "slot 0 is i32"},
           });
}

TEST_CASE("rule: memory", "[verify]") {
  CheckAll("simt",
           Lines({
               {"%r = load i32 global release gpu %a", "a load does not release (rule memory)"},
               {"store i32 global acquire gpu %a, %w", "a store does not acquire"},
               {"store i32 const %a, %w", "read only"},
               {"store i32 param %a, %w", "read only"},
               {"%r = atomic i32 add local relaxed gpu %a, %w", "an atomic operation in the space local"},
               {"%r = atomic_cas i32 const relaxed gpu %a, %w, %w", "an atomic operation in the space const"},
               {"%r = atomic f32 add global relaxed gpu %a, %f", "add does not take f32"},
               {"%r = atomic i32 fadd global relaxed gpu %a, %w", "fadd does not take i32"},
               {"%r = atomic i64 inc global relaxed gpu %a, %a", "inc does not take i64"},
               {"%r = redux i32 exch %w, %w", "exch does not take i32"},
               {"%r = to_generic %a", "needs the attribute 'space'"},
           }));
}

TEST_CASE("rule: edges", "[verify]") {
  CheckAll("simt",
           {
               {"^b:\n  br", "0 edges, expected 1 (rule edges)"},
               {"^b:\n  ret ^b", "1 edges, expected 0"},
               {"^b:\n  %p = undef i1\n  cond_br %p, ^b", "1 edges, expected 2"},
               {"^b:\n  %w = undef i32\n  switch %w", "0 edges, expected 1"},
               {"^b:\n  br ^c\n^c(%x: i32):\n  ret", "edge 0 has 0 arguments, its block has 1 parameters"},
               {"^b:\n  %a = undef i64\n  br ^c(%a)\n^c(%x: i32):\n  ret",
                "argument 0 is i64, the parameter is i32"},
           });
}

TEST_CASE("rule: dominance", "[verify]") {
  CheckAll("simt",
           {
               {"^b:\n  %y = neg i32 %x\n  %x = undef i32\n  ret",
                "operand 0 does not dominate this use (rule dominance)"},
               {"^b:\n  %x = neg i32 %x\n  ret", "does not dominate"},
               {"^b:\n  %p = undef i1\n  cond_br %p, ^c, ^d\n^c:\n  %x = undef i32\n  br ^d\n^d:\n  %y = neg "
                "i32 %x\n  ret",
                "block ^b2"},
               {"^b:\n  %p = undef i1\n  cond_br %p, ^c, ^d(%x)\n^c:\n  %x = undef i32\n  br ^d(%x)\n^d(%z: "
                "i32):\n  ret",
                "edge argument does not dominate"},
               {"^b:\n  %y = neg i32 %x\n  ret\n^dead:\n  %x = undef i32\n  ret", "does not dominate"},
           });
  // A loop whose body uses what its header and its first block define.
  Module good = ParseOrFail(Around(
      "simt",
      "^b:\n  %x = undef i32\n  br ^h(%x)\n^h(%i: i32):\n  %p = icmp i32 ult %i, %x\n  cond_br %p, ^c, ^d\n"
      "^c:\n  %n = add i32 %i, %x\n  cond_br %p, ^h(%n), ^e\n^e:\n  %q = neg i32 %n\n  br ^h(%q)\n^d:\n  %r "
      "= neg i32 %i\n  ret"));
  Status status = Verify(good);
  if (!status) FAIL(status.error().Render());
}

TEST_CASE("rule dominance agrees with the definition on irreducible graphs", "[verify]") {
  uint32_t seed = 1;
  auto random = [&](uint32_t below) { return (seed = seed * 1664525 + 1013904223) / 65536 % below; };
  int refused = 0, accepted = 0;
  for (int round = 0; round < 60; ++round) {
    Function f;
    uint32_t count = 3 + random(8);
    for (uint32_t i = 0; i < count; ++i) AddBlock(f);
    f.entry = BlockId{0};
    for (uint32_t i = 0; i < count; ++i) {
      Builder b{f, BlockId{i}};
      if (random(5) == 0) {
        b.Ret();
      } else {
        b.CondBr(b.Undef(Type::kI1), {BlockId{random(count)}, {}}, {BlockId{random(count)}, {}});
      }
    }
    for (uint32_t from = 0; from < count; ++from) {
      // A walk that may not pass `from` reaches what it does not dominate.
      std::vector<bool> seen(count), reachable(count);
      for (BlockId block : ReversePostOrder(f)) reachable[block.index] = true;
      std::vector<BlockId> work;
      if (from != 0) work.push_back(f.entry);
      while (!work.empty()) {
        BlockId block = work.back();
        work.pop_back();
        if (seen[block.index] || block.index == from) continue;
        seen[block.index] = true;
        for (const Edge& edge : f.successors(block)) work.push_back(edge.to);
      }
      for (uint32_t to = 0; to < count; ++to) {
        if (!reachable[to]) continue;
        Function used = f;
        Inst zero, neg;
        zero.op = Opcode::kConst;
        neg.op = Opcode::kNeg;
        zero.type = neg.type = Type::kI32;
        InstId made = Insert(used, BlockId{from}, 0, zero);
        neg.operands = {used.at_inst(made).results[0]};
        Insert(used, BlockId{to}, used.at_block(BlockId{to}).insts.size() - 1, neg);
        const bool dominates = reachable[from] && !seen[to];
        CHECK(Verify(Module{}, used).has_value() == dominates);
        ++(dominates ? accepted : refused);
      }
    }
  }
  CHECK(accepted > 100);
  CHECK(refused > 100);
}

TEST_CASE("rule dominance: more values than are followed at once, the first use in the text is reported",
          "[verify]") {
  Function f;
  f.entry = AddBlock(f);
  BlockId left = AddBlock(f), right = AddBlock(f), join = AddBlock(f);
  Builder b{f, f.entry};
  b.CondBr(b.Undef(Type::kI1), {left, {}}, {right, {}});
  b.block = left;
  std::vector<ValueId> made;
  for (uint64_t i = 0; i < 200; ++i) made.push_back(b.Const(Type::kI32, i));
  b.Br(join);
  b.block = right;
  b.Br(join);
  b.block = join;
  for (size_t i : {150u, 10u, 70u}) b.Unary(Opcode::kNeg, Type::kI32, made[i]);
  b.Ret();
  Status status = Verify(Module{}, f);
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().message, Catch::Contains("neg i32 %151`"));
}

TEST_CASE("rule: interface", "[verify]") {
  CheckAll("simt", {{"^b(%x: i32):\n  ret", "1 parameters, expected 0 (rule interface)"},
                    {"^b:\n  %x = undef i32\n  ret %x", "1 values, expected 0"}});
  auto function = [](const std::string& header, const std::string& body) {
    return ParseOrFail("module \"m\" ptx 8.0 sm 80\nfunction @g " + header + " phase simt {\n" + body +
                       "\n}\n");
  };
  CheckBroken(function("(a: i32)", "^b:\n  ret"), "0 parameters, expected 1");
  CheckBroken(function("(a: aggregate size 8)", "^b(%x: i32):\n  ret"), "parameter 0 is i32, expected i64");
  CheckBroken(function("() -> (r: i32)", "^b:\n  ret"), "0 values, expected 1");
  CheckBroken(function("() -> (r: i32)", "^b:\n  %x = undef i64\n  ret %x"), "value 0 is i64, expected i32");
  CHECK(Verify(function("(a: f32) -> (r: aggregate size 8, s: i16)",
                        "^b(%r: i64, %a: f32):\n  %s = undef i16\n  ret %s")));
}
