// 9.7.16.7, 9.7.16.8, 9.7.16.11, 9.7.16.12: tensor memory of tcgen05. It is memory after the block's shared
// memory (runtime/abi/tensor_core.h). Accesses and products are complete when their instruction is, so that
// fences and commits have nothing to wait for; the lanes of a warp wait for each other, since one lane's rows
// are other lanes' registers.
#include "ptx-parser/translate/tensor_memory.h"

#include <bit>

#include "ptx-parser/translate/image_operands.h"
#include "ptx-parser/translate/matrix.h"
#include "ptx-parser/translate/mbarrier.h"
#include "ptx-parser/translate/memory_attributes.h"
#include "ptx-parser/translate/rows.h"
#include "runtime/abi/tensor_core.h"

namespace ptx2cpu::ptx::rows {

using ir::Opcode;
using ir::Space;
using ir::Type;
using ir::ValueId;
namespace core = tensor_core;

ValueId TensorMemory(Emitter& e) { return e.b.Inst1(Opcode::kTensorMemory, Type::kVoid, {}); }

namespace {

ValueId AllLanes(Emitter& e) { return e.Const(Type::kI32, kAllLanes); }
void JoinLanes(Emitter& e) { e.b.Make(Opcode::kBarrierWarp, Type::kVoid, {AllLanes(e)}); }

ValueId OnWords(Emitter& e, Opcode op, ValueId a, ValueId b) { return e.b.Binary(op, Type::kI32, a, b); }
ValueId OnWords(Emitter& e, Opcode op, ValueId a, uint64_t b) {
  return OnWords(e, op, a, e.Const(Type::kI32, b));
}

// -- allocation --

// The number of units of columns as an operand; a constant must be one that PTX allows.
ValueId UnitsOf(Emitter& e, size_t operand) {
  if (const std::optional<int64_t> columns = e.Immediate(operand)) {
    const bool good =
        *columns >= core::kUnitColumns && *columns <= core::kColumns && (*columns & (*columns - 1)) == 0;
    if (!good) e.Fail(ErrorCode::kSyntax, "the number of columns must be a power of two from 32 to 512");
  }
  return OnWords(e, Opcode::kShrU, e.Read(operand, Type::kI32), 5);
}

ValueId Ones(Emitter& e, ValueId count) {
  return OnWords(e, Opcode::kSub, OnWords(e, Opcode::kShl, e.Const(Type::kI32, 1), count), 1);
}

// The bits of `free` at which a run of `units` free units begins.
ValueId BeginsOfRuns(Emitter& e, ValueId free, ValueId units) {
  constexpr uint32_t kMaxUnits = core::kColumns / core::kUnitColumns;
  for (uint32_t length = 1; length < kMaxUnits; length *= 2) {
    const ValueId longer = OnWords(e, Opcode::kAnd, free, OnWords(e, Opcode::kShrU, free, length));
    const ValueId is_longer = e.b.Icmp(ir::Compare::kUgt, units, e.Const(Type::kI32, length));
    free = e.b.Select(is_longer, longer, free);
  }
  return free;
}

ValueId Allocator(Emitter& e) { return e.Offset(TensorMemory(e), core::kAllocatorAt); }

// Takes the first columns that are free, in the block that the builder is in, and branches to `taken` with
// the address of the columns or, where too few are free, to `missed`.
void TakeColumns(Emitter& e, ValueId units, ir::BlockId taken, ir::BlockId missed) {
  const ir::Attrs attrs{.space = Space::kShared, .order = ir::MemoryOrder::kAcqRel, .scope = ir::Scope::kCta};
  ir::Attrs read = attrs;
  read.atomic = ir::AtomicOp::kOr;
  const ValueId old = e.b.Binary(Opcode::kAtomic, Type::kI32, Allocator(e), e.Const(Type::kI32, 0), read);
  const ValueId free = OnWords(e, Opcode::kAnd, e.b.Unary(Opcode::kNot, Type::kI32, old), 0xffff);
  const ValueId begins = BeginsOfRuns(e, free, units);
  const ValueId lowest = OnWords(e, Opcode::kAnd, begins, e.b.Unary(Opcode::kNeg, Type::kI32, begins));
  const ValueId mine = OnWords(e, Opcode::kMul, lowest, Ones(e, units));
  const ValueId seen = e.b.Inst1(Opcode::kAtomicCas, Type::kI32,
                                 {Allocator(e), old, OnWords(e, Opcode::kOr, old, mine)}, attrs);
  const ValueId is_mine = e.b.Binary(Opcode::kAnd, Type::kI1, e.b.Icmp(ir::Compare::kEq, seen, old),
                                     e.b.Icmp(ir::Compare::kNe, lowest, e.Const(Type::kI32, 0)));
  const ValueId unit =
      OnWords(e, Opcode::kSub, e.Const(Type::kI32, 31), e.b.Unary(Opcode::kClz, Type::kI32, lowest));
  const ValueId address = OnWords(e, Opcode::kShl, unit, 5);
  e.AddEdges(e.b.CondBr(is_mine, {taken, {address}}, {missed, {}}));
}

ValueId IsFirstLane(Emitter& e) {
  return e.b.Icmp(ir::Compare::kEq, e.b.SpecialRegister(ir::Special::kLaneId), e.Const(Type::kI32, 0));
}

// The first lane tries, then all lanes learn whether it has the columns, until it has.
void Allocate(Emitter& e) {
  const Place to =
      e.WritableAddress(0, e.Has("shared") || e.Has("shared::cta") ? Space::kShared : Space::kGeneric);
  const ValueId units = UnitsOf(e, 1);
  const ir::BlockId all = ir::AddBlock(e.f), first = ir::AddBlock(e.f), taken = ir::AddBlock(e.f),
                    missed = ir::AddBlock(e.f), join = ir::AddBlock(e.f), after = ir::AddBlock(e.f);
  const ValueId address = ir::AddParam(e.f, taken, Type::kI32), has = ir::AddParam(e.f, join, Type::kI1);
  e.AddEdges(e.b.Br(all));
  e.SetBlock(all);
  const ValueId no = e.Const(Type::kI1, 0);
  e.AddEdges(e.b.CondBr(IsFirstLane(e), {first, {}}, {join, {no}}));
  e.ssa.Seal(first);
  e.SetBlock(first);
  TakeColumns(e, units, taken, missed);
  e.ssa.Seal(taken);
  e.ssa.Seal(missed);
  e.SetBlock(missed);
  e.AddEdges(e.b.Br(join, {e.Const(Type::kI1, 0)}));
  e.SetBlock(taken);
  e.b.Store(Type::kI32, to.space, to.address, {address});
  e.AddEdges(e.b.Br(join, {e.Const(Type::kI1, 1)}));
  e.ssa.Seal(join);
  e.SetBlock(join);
  const ValueId done = e.b.Inst1(Opcode::kVoteAny, Type::kVoid, {has, AllLanes(e)});
  e.AddEdges(e.b.CondBr(done, {after, {}}, {all, {}}));
  e.ssa.Seal(all);
  e.ssa.Seal(after);
  e.SetBlock(after);
}

void Free(Emitter& e) {
  const ValueId column = OnWords(e, Opcode::kAnd, e.Read(0, Type::kI32), core::kColumns - 1);
  const ValueId units = UnitsOf(e, 1);
  const ValueId kept =
      e.b.Unary(Opcode::kNot, Type::kI32,
                OnWords(e, Opcode::kShl, Ones(e, units), OnWords(e, Opcode::kShrU, column, 5)));
  JoinLanes(e);
  const ir::BlockId first = ir::AddBlock(e.f), after = ir::AddBlock(e.f);
  e.AddEdges(e.b.CondBr(IsFirstLane(e), {first, {}}, {after, {}}));
  e.ssa.Seal(first);
  e.SetBlock(first);
  e.b.Binary(Opcode::kAtomic, Type::kI32, Allocator(e), kept,
             {.flags = ir::kNoResult,
              .space = Space::kShared,
              .atomic = ir::AtomicOp::kAnd,
              .order = ir::MemoryOrder::kAcqRel,
              .scope = ir::Scope::kCta});
  e.AddEdges(e.b.Br(after));
  e.ssa.Seal(after);
  e.SetBlock(after);
}

}  // namespace

// Each block of a pair allocates for itself: both do the same in the same order.
void tcgen05_alloc(Emitter& e) {
  if (e.Has("alloc")) return Allocate(e);
  if (e.Has("dealloc")) return Free(e);
}

void tcgen05_order(Emitter& e) {
  if (e.Has("wait::ld") || e.Has("wait::st")) JoinLanes(e);
}

// -- loads and stores --

namespace {

// Where register r of lane t is: 9.7.16.2.3.1. Each shape has rows that follow the lane, and columns that do.
struct Shape {
  std::string_view word;
  uint32_t registers;  // of .x1
  // Row: t / row_divisor % rows, and 8 more for odd t (odd_rows), and 8 more for some registers.
  uint32_t row_divisor, rows;
  bool odd_rows;
  // Column: t / column_divisor % column_lanes * column_step.
  uint32_t column_divisor, column_lanes, column_step;
};
constexpr Shape kShapes[] = {
    {"32x32b", 1, 1, 32, false, 1, 1, 0}, {"16x32bx2", 1, 1, 16, false, 16, 2, 0},  // the step is an operand
    {"16x64b", 1, 4, 8, true, 2, 2, 1},   {"16x128b", 2, 4, 8, false, 1, 4, 1},
    {"16x256b", 4, 4, 8, false, 1, 4, 2},
};

// The row and column of register r, added to the place that its lane begins at.
struct RegisterPlace {
  uint32_t row, column;
};
RegisterPlace PlaceOfRegister(const Shape& shape, uint32_t r) {
  const uint32_t in_one = r % shape.registers, number = r / shape.registers;
  if (shape.registers == 4) return {in_one / 2 * 8, number * 8 + in_one % 2};
  if (shape.registers == 2) return {in_one * 8, number * 4};
  return {0, shape.odd_rows ? number * 2 : number};
}

const Shape& FragmentShapeOf(const Emitter& e) {
  for (const Shape& shape : kShapes) {
    if (e.Has(ptx::Word(shape.word))) return shape;
  }
  return kShapes[0];
}

// The cells of tensor memory that the lanes' registers are.
class Cells {
 public:
  Cells(Emitter& e, size_t address, std::optional<int64_t> second_half)
      : e_(e),
        shape_(FragmentShapeOf(e)),
        packs_(e.Has("pack::16b") || e.Has("unpack::16b")),
        memory_(TensorMemory(e)) {
    const ValueId given = e.b.Convert(Opcode::kTrunc, Type::kI32, e.Address(address, Space::kShared).address);
    const ValueId lane = e.b.SpecialRegister(ir::Special::kLaneId);
    const auto part = [&](uint32_t divisor, uint32_t count) {
      return OnWords(e, Opcode::kAnd, OnWords(e, Opcode::kShrU, lane, Log(divisor)), count - 1);
    };
    ValueId row =
        OnWords(e, Opcode::kAdd, OnWords(e, Opcode::kShrU, given, 16), part(shape_.row_divisor, shape_.rows));
    if (shape_.odd_rows) row = OnWords(e, Opcode::kAdd, row, OnWords(e, Opcode::kShl, part(1, 2), 3));
    row_ = row;
    const uint64_t step = second_half ? static_cast<uint64_t>(*second_half) : shape_.column_step * width();
    column_ = OnWords(e, Opcode::kAdd, given,
                      OnWords(e, Opcode::kMul, part(shape_.column_divisor, shape_.column_lanes), step));
  }
  bool packs() const { return packs_; }
  uint32_t count() const {
    static constexpr std::pair<ptx::Word, uint32_t> kNumbers[] = {
        {"x1", 1}, {"x2", 2}, {"x4", 4}, {"x8", 8}, {"x16", 16}, {"x32", 32}, {"x64", 64}, {"x128", 128}};
    for (const auto& [word, number] : kNumbers) {
      if (e_.Has(word)) return number * shape_.registers;
    }
    return 0;
  }
  // Address of the cell of register r; with .pack or .unpack of its low or high half.
  ValueId At(uint32_t r, uint32_t half = 0) {
    const RegisterPlace place = PlaceOfRegister(shape_, r);
    const ValueId row =
        OnWords(e_, Opcode::kAnd, OnWords(e_, Opcode::kAdd, row_, place.row), core::kLanes - 1);
    const ValueId column =
        OnWords(e_, Opcode::kAnd, OnWords(e_, Opcode::kAdd, column_, place.column * width() + half),
                core::kColumns - 1);
    const ValueId cell = OnWords(e_, Opcode::kAdd, OnWords(e_, Opcode::kShl, column, Log(core::kLanes)), row);
    const ValueId offset = e_.b.Convert(Opcode::kZext, Type::kI64, OnWords(e_, Opcode::kShl, cell, 2));
    return e_.b.Binary(Opcode::kAdd, Type::kI64, memory_, offset);
  }

 private:
  static uint32_t Log(uint32_t power) { return static_cast<uint32_t>(std::countr_zero(power)); }
  uint32_t width() const { return packs_ ? 2 : 1; }  // columns of a register
  Emitter& e_;
  const Shape& shape_;
  bool packs_;
  ValueId memory_, row_, column_;
};

// The minimum or maximum of a lane's registers.
ValueId Reduced(Emitter& e, const std::vector<ValueId>& values) {
  const bool is_min = e.Has("min"), is_float = e.type() == PtxType::kF32,
             is_signed = e.type() == PtxType::kS32;
  const Opcode op = is_float    ? (is_min ? Opcode::kFMin : Opcode::kFMax)
                    : is_signed ? (is_min ? Opcode::kMinS : Opcode::kMaxS)
                                : (is_min ? Opcode::kMinU : Opcode::kMaxU);
  const Type type = is_float ? Type::kF32 : Type::kI32;
  const uint32_t flags =
      (e.Has("abs") ? uint32_t{ir::kAbs} : 0) | (e.Has("NaN") ? uint32_t{ir::kPropagateNan} : 0);
  ValueId result = e.b.Bitcast(type, values[0]);
  for (size_t n = 1; n < values.size(); ++n)
    result = e.b.Binary(op, type, result, e.b.Bitcast(type, values[n]), {.flags = flags});
  return result;
}

}  // namespace

void tcgen05_ld(Emitter& e) {
  const bool reduces = e.Has("red");
  const size_t address = reduces ? 2 : 1;
  const bool is_split = e.match.form->operands.size() > address + 1;
  Cells cells(e, address, is_split ? e.Immediate(address + 1) : std::nullopt);
  if (!HasRegisters(e, 0, cells.count())) return;
  if (reduces && cells.count() < 2) return e.Fail(ErrorCode::kSyntax, "a reduction takes .x2 or more");
  JoinLanes(e);
  std::vector<ValueId> values;
  for (uint32_t r = 0; r < cells.count(); ++r) {
    ValueId value = e.b.Load(Type::kI32, Space::kShared, cells.At(r));
    if (cells.packs()) {
      const ValueId upper = e.b.Load(Type::kI32, Space::kShared, cells.At(r, 1));
      value = OnWords(e, Opcode::kOr, OnWords(e, Opcode::kAnd, value, 0xffff),
                      OnWords(e, Opcode::kShl, upper, 16));
    }
    values.push_back(value);
  }
  for (size_t r = 0; r < values.size(); ++r)
    e.WriteOperand(e.ast.Children(e.Operand(0))[r], values[r], false);
  if (reduces) e.WriteOperand(e.Operand(1), Reduced(e, values), false);
}

void tcgen05_st(Emitter& e) {
  const bool is_split = e.match.form->operands.size() > 2;
  const size_t source = is_split ? 2 : 1;
  Cells cells(e, 0, is_split ? e.Immediate(1) : std::nullopt);
  if (!HasRegisters(e, source, cells.count())) return;
  const std::vector<ValueId> values = ReadList(e, e.Operand(source), Type::kI32);
  JoinLanes(e);
  for (uint32_t r = 0; r < values.size(); ++r) {
    if (!cells.packs()) {
      e.b.Store(Type::kI32, Space::kShared, cells.At(r), {values[r]});
      continue;
    }
    e.b.Store(Type::kI32, Space::kShared, cells.At(r), {OnWords(e, Opcode::kAnd, values[r], 0xffff)});
    e.b.Store(Type::kI32, Space::kShared, cells.At(r, 1), {OnWords(e, Opcode::kShrU, values[r], 16)});
  }
}

// -- commit --

namespace {

// An arrival at the object at the same offset in each block of the cluster that the mask names.
void ArriveInEach(Emitter& e, ValueId offset, ValueId mask) {
  const ir::BlockId next = ir::AddBlock(e.f), after = ir::AddBlock(e.f);
  const ValueId rest = ir::AddParam(e.f, next, Type::kI32);
  const auto branch = [&](ValueId left) {
    e.AddEdges(
        e.b.CondBr(e.b.Icmp(ir::Compare::kNe, left, e.Const(Type::kI32, 0)), {next, {left}}, {after, {}}));
  };
  branch(mask);
  e.SetBlock(next);
  const ValueId lowest = OnWords(e, Opcode::kAnd, rest, e.b.Unary(Opcode::kNeg, Type::kI32, rest));
  const ValueId zeros = e.b.Unary(Opcode::kClz, Type::kI32, lowest);
  const ValueId number = OnWords(e, Opcode::kSub, e.Const(Type::kI32, 32), zeros);  // 1 + the rank
  const ValueId window = e.b.Binary(Opcode::kShl, Type::kI64, e.b.Convert(Opcode::kZext, Type::kI64, number),
                                    e.Const(Type::kI32, ir::kClusterRankShift));
  const ValueId address = e.b.Binary(Opcode::kOr, Type::kI64, window, offset);
  ArriveOnce(e, {e.b.Inst1(Opcode::kToGeneric, Type::kVoid, {address}, {.space = Space::kSharedCluster}),
                 Space::kGeneric});
  branch(OnWords(e, Opcode::kXor, rest, lowest));
  e.ssa.Seal(next);
  e.ssa.Seal(after);
  e.SetBlock(after);
}

}  // namespace

void tcgen05_commit(Emitter& e) {
  if (!e.Has("multicast::cluster")) return ArriveOnce(e, ObjectAddress(e, 0));
  const ValueId offset = e.Has("shared::cluster")
                             ? OffsetInWindow(e, 0)
                             : e.b.Inst1(Opcode::kFromGeneric, Type::kVoid, {ObjectAddress(e, 0).address},
                                         {.space = Space::kShared});
  ArriveInEach(e, offset, e.b.Convert(Opcode::kZext, Type::kI32, e.Read(1, Type::kI16)));
}

}  // namespace ptx2cpu::ptx::rows
