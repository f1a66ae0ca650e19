#include "ir/function.h"

#include <bit>
#include <catch2/catch.hpp>

#include "ir/build.h"
#include "ir/opcode_reference.h"
#include "ir/text/text.h"
#include "ir/verify/verify.h"

using namespace ptx2cpu;
using namespace ptx2cpu::ir;

namespace {

// ^b0 -> ^b1, ^b2; ^b1 -> ^b3; ^b2 -> ^b3; ^b3 -> ^b3, ^b4; ^b5 leads to ^b3, and no block leads to ^b5.
Function Diamond() {
  Function f;
  f.name = "diamond";
  f.is_kernel = true;
  for (int i = 0; i < 6; ++i) AddBlock(f);
  f.entry = BlockId{0};
  auto at = [&](uint32_t block) { return Builder{f, BlockId{block}}; };
  ValueId p = at(0).Const(Type::kI1, 1);
  at(0).CondBr(p, {BlockId{1}, {}}, {BlockId{2}, {}});
  at(1).Br(BlockId{3});
  at(2).Br(BlockId{3});
  at(3).CondBr(p, {BlockId{3}, {}}, {BlockId{4}, {}});
  at(4).Ret();
  at(5).Br(BlockId{3});
  return f;
}

}  // namespace

TEST_CASE("results get the types of their row", "[function]") {
  Function f;
  f.entry = AddBlock(f);
  Builder b{f, f.entry, {.ptx_line = 3}};
  ValueId x = b.Const(Type::kI16, 0x12345);
  CHECK(f.at_inst(f.at_value(x).def).attrs.bits == 0x2345);
  CHECK(f.at_inst(f.at_value(x).def).at.ptx_line == 3);
  auto [sum, carry] = b.Inst2(Opcode::kAddCarry, Type::kI16, {x, x, b.Const(Type::kI1, 0)});
  CHECK(f.type_of(sum) == Type::kI16);
  CHECK(f.type_of(carry) == Type::kI1);
  CHECK(f.at_value(carry).number == 1);
  CHECK(f.type_of(b.Inst1(Opcode::kClz, Type::kI16, {x})) == Type::kI32);
  CHECK(f.type_of(b.Convert(Opcode::kSext, Type::kI64, x)) == Type::kI64);
  CHECK(f.type_of(b.Icmp(Compare::kEq, x, x)) == Type::kI1);
  CHECK(f.type_of(b.Symbol(Space::kShared, 0)) == Type::kI64);
  CHECK(b.Bitcast(Type::kI16, x) == x);
  CHECK(f.type_of(b.Bitcast(Type::kF16, x)) == Type::kF16);
  ValueId whole = b.Pack(Type::kI64, {x, x, x, x});
  std::vector<ValueId> parts = b.Unpack(Type::kF16, whole);
  REQUIRE(parts.size() == 4);
  CHECK(f.type_of(parts[3]) == Type::kF16);
  CHECK(b.LoadVector(Type::kF32, Space::kGlobal, whole, 4).size() == 4);
  b.Store(Type::kF16, Space::kGlobal, whole, parts);
  CHECK(f.insts.back().operands.size() == 5);
  CHECK(f.insts.back().results.empty());
  std::vector<ValueId> called = b.Call(Opcode::kCall, 0, {x}, {Type::kF64, Type::kI8});
  CHECK(f.type_of(called[0]) == Type::kF64);
  CHECK(f.at_value(called[1]).number == 1);
  CHECK(f.at_inst(f.at_value(called[1]).def).op == Opcode::kCall);
}

TEST_CASE("insert and remove keep block lists and back links", "[function]") {
  Function f;
  f.entry = AddBlock(f);
  Builder b{f, f.entry};
  ValueId x = b.Const(Type::kI32, 1);
  b.Ret();
  Inst neg;
  neg.op = Opcode::kNeg;
  neg.type = Type::kI32;
  neg.operands = {x};
  InstId id = Insert(f, f.entry, 1, neg);
  REQUIRE(f.at_block(f.entry).insts.size() == 3);
  CHECK(f.at_block(f.entry).insts[1] == id);
  CHECK(f.at_inst(id).block == f.entry);
  CHECK(f.at_value(f.at_inst(id).results[0]).def == id);
  Remove(f, id);
  CHECK(f.at_block(f.entry).insts.size() == 2);
  CHECK_FALSE(f.at_inst(id).block.valid());
  Remove(f, id);  // a second time changes nothing
  CHECK(f.at_block(f.entry).insts.size() == 2);
}

TEST_CASE("uses are replaced in operands and edges, along chains", "[function]") {
  Function f;
  f.entry = AddBlock(f);
  BlockId next = AddBlock(f);
  ValueId param = AddParam(f, next, Type::kI32);
  Builder b{f, f.entry};
  ValueId x = b.Const(Type::kI32, 1), y = b.Const(Type::kI32, 2), z = b.Const(Type::kI32, 3);
  b.Br(next, {x});
  b.block = next;
  ValueId sum = b.Binary(Opcode::kAdd, Type::kI32, x, param);
  b.Ret();
  ReplaceUses(f, x, y);
  CHECK(f.successors(f.entry)[0].args[0] == y);
  CHECK(f.at_inst(f.at_value(sum).def).operands == std::vector<ValueId>{y, param});
  std::vector<ValueId> map(f.values.size());
  map[y.index] = x;
  map[x.index] = z;
  ReplaceUses(f, map);
  CHECK(f.successors(f.entry)[0].args[0] == z);
}

TEST_CASE("orders, predecessors, unreachable blocks", "[function]") {
  Function f = Diamond();
  std::vector<BlockId> order = ReversePostOrder(f);
  REQUIRE(order.size() == 5);
  CHECK(order.front() == BlockId{0});
  CHECK(order.back() == BlockId{4});
  std::vector<std::vector<BlockId>> preds = Predecessors(f);
  CHECK(preds[0].empty());
  CHECK(preds[3].size() == 3);  // ^b1, ^b2 and itself, not the unreachable one
  CHECK(Verify(Module{}, f));
  RemoveUnreachableBlocks(f);
  CHECK(f.at_block(BlockId{5}).removed);
  CHECK_FALSE(f.at_block(BlockId{3}).removed);
  CHECK(Verify(Module{}, f));
}

TEST_CASE("lines of the PTX text", "[function]") {
  Module m;
  m.text = "one\ntwo\n\nfour";
  CHECK(m.Line(0) == "");
  CHECK(m.Line(1) == "one");
  CHECK(m.Line(3) == "");
  CHECK(m.Line(4) == "four");
  CHECK(m.Line(5) == "");
}

TEST_CASE("names of the table lead back to it", "[opcode]") {
  for (size_t i = 0; i < static_cast<size_t>(Opcode::kCount); ++i) {
    const OpcodeInfo& info = Info(static_cast<Opcode>(i));
    INFO(info.mnemonic);
    CHECK(ParseOpcode(info.mnemonic) == static_cast<Opcode>(i));
    CHECK_FALSE(info.meaning.empty());
    CHECK(info.operands.find_first_not_of("TFPWAX*") == std::string_view::npos);
    CHECK(info.results.find_first_not_of("TFPWAX*") == std::string_view::npos);
    CHECK((info.operands.find('*') == std::string_view::npos ||
           info.operands.find('*') == info.operands.size() - 1));
  }
  CHECK_FALSE(ParseOpcode("madd"));
  for (int i = 1; i < kCountOf<Special>; ++i) {
    const auto special = static_cast<Special>(i);
    CHECK(ParseName<Special>(Name(special)) == special);
    CHECK_FALSE(Info(special).meaning.empty());
  }
  for (uint32_t bit = 0; (1u << bit) <= kDivergent; ++bit) {
    Flag flag = static_cast<Flag>(1u << bit);
    CHECK(ParseFlag(FlagName(flag)) == flag);
  }
  for (int i = 0; i < kTypeCount; ++i) CHECK(ParseType(Name(static_cast<Type>(i))) == static_cast<Type>(i));
}

TEST_CASE("the columns of a row agree with each other", "[opcode]") {
  for (size_t i = 0; i < static_cast<size_t>(Opcode::kCount); ++i) {
    const auto op = static_cast<Opcode>(i);
    const OpcodeInfo& info = Info(op);
    INFO(info.mnemonic);
    const bool together = info.effect == Effect::kCollective || info.effect == Effect::kBarrier;
    if (together) CHECK(info.lanes != Lanes::kAlone);
    if (together) CHECK(info.ptx.empty() == IsYield(op));
    if (info.lanes == Lanes::kMeet) CHECK(info.results.empty());
    if (info.lanes != Lanes::kMeet && info.lanes != Lanes::kAlone) CHECK_FALSE(info.results.empty());
    if (info.lanes == Lanes::kAgree) CHECK(info.operands == info.results);
    if (HasMembermask(op, 0)) CHECK((info.operands.ends_with('W') || info.operands.ends_with('*')));
    const bool has_from = info.operands.contains('F') || info.results.contains('F');
    CHECK(has_from == (info.from != TypeSet::kNoType));
    CHECK(std::popcount(info.attributes & kIndex) <= 1);
  }
  CHECK(PtxName(Opcode::kShuffle, 0) == "shfl.sync");
  CHECK(PtxName(Opcode::kShuffle, kLegacy) == "shfl");
  CHECK(PtxName(Opcode::kActiveMask, kLegacy) == "activemask");
  CHECK(PtxName(Opcode::kForLanes, 0) == "for_lanes");
}

// Every attribute that a collective reads, its type and its operation make it another one; its operands and
// place do not.
TEST_CASE("what makes two collectives the same operation", "[opcode]") {
  for (size_t i = 0; i < static_cast<size_t>(Opcode::kCount); ++i) {
    if (!IsCollective(static_cast<Opcode>(i))) continue;
    Inst one;
    one.op = static_cast<Opcode>(i);
    one.type = Type::kI32;
    const uint32_t fields = Info(one.op).attributes;
    INFO(Info(one.op).mnemonic);
    Inst other = one;
    other.operands = {ValueId{7}};
    other.at.ptx_line = 12;
    other.block = BlockId{3};
    CHECK(SameOperation(one, other));
    other = one;
    other.type = Type::kI64;
    CHECK_FALSE(SameOperation(one, other));
    other = one;
    other.op = Opcode::kFence;
    CHECK_FALSE(SameOperation(one, other));
    other = one;
    other.attrs.flags = kLegacy;
    if (fields & kFlags) CHECK_FALSE(SameOperation(one, other));
#define ATTRIBUTE(type, member, field, presence) \
  if (fields & field) {                          \
    other = one;                                 \
    other.attrs.member = static_cast<type>(1);   \
    CHECK_FALSE(SameOperation(one, other));      \
  }
#include "ir/attributes.def"
  }
}

TEST_CASE("the opcode reference has a row for every opcode", "[opcode]") {
  std::string text = RenderOpcodeReference();
  for (size_t i = 0; i < static_cast<size_t>(Opcode::kCount); ++i) {
    const OpcodeInfo& info = Info(static_cast<Opcode>(i));
    size_t row = text.find("\n| `" + std::string(info.mnemonic) + "` |");
    REQUIRE(row != std::string::npos);
    CHECK(text.substr(row, text.find('\n', row + 1) - row).find(info.meaning) != std::string::npos);
  }
  CHECK(text.find("| `agree` |  | `P` | `P` |  |  | flags | pure | agree | cheap | Split, Collapsed |") !=
        std::string::npos);
  CHECK(text.find("| `envreg` | i32 | uniform in the grid | 32 |") != std::string::npos);
  CHECK(text.find("`is_explicit_cluster`") != std::string::npos);
}

TEST_CASE("a comparison and its negation share the outcomes") {
  CHECK(Negated(Compare::kNone) == Compare::kNone);
  CHECK(Negated(Compare::kSlt) == Compare::kSge);
  CHECK(Negated(Compare::kFlt) == Compare::kFgeu);
  for (int i = 1; i < kCountOf<Compare>; ++i) {
    const auto compare = static_cast<Compare>(i);
    const CompareInfo &one = Info(compare), &other = Info(Negated(compare));
    INFO(Name(compare));
    CHECK(Negated(Negated(compare)) == compare);
    CHECK(other.of == one.of);
    CHECK((one.holds ^ other.holds) == (one.of == CompareInfo::kFloats ? 15 : 7));
    CHECK((one.holds & other.holds) == 0);
  }
}
