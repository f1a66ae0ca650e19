// Threads whose numbers run through the rows of some data:
//
//   for x < width step W: i = base + x; row = i / d; column = i % d; ...
//   ->
//   for x < width; x = end:                                  (where rows are long enough)
//     row = (base + x) / d, end = where the row ends, or the width
//     for x < end step W: column = one more from thread to thread; ...
//
// What depends on the row alone is computed once for it, with scalar code, and addresses within it are
// consecutive. Of several divisors the least must divide the others (`width * height` by `width`), which is
// tested. Where masks are missing, the threads at a row's end run one by one: rows must be longer.
#include <algorithm>

#include "lowering/llvm/kernel/loops.h"
#include "lowering/llvm/kernel/row_begin.h"

namespace ptx2cpu::lowering {

using ir::ValueId;
using Value = llvm::Value*;

namespace {

bool MayComputeAtBegin(const FunctionEmitter& e, const ir::Inst& inst) {
  if (inst.op == ir::Opcode::kSlotLoad) return e.f.slots[inst.attrs.index].shape == ir::Level::kBlock;
  const bool is_parameter = inst.op == ir::Opcode::kLoad && inst.attrs.space == ir::Space::kParam;
  return is_parameter || ir::Info(inst.op).effect == ir::Effect::kPure;
}

// The row's first place and its divisors.
struct Begin {
  Value place = nullptr, least = nullptr;
  std::vector<Value> divisors;  // as in RowQuotients
};

// Rows are long enough, one ends where those of each other divisor do, and no place is negative or wraps
// around.
Value AreRows(FunctionEmitter& e, const LanePlan& plan, Value width, Begin& begin) {
  llvm::IRBuilder<>& b = e.b;
  const bool is_signed = plan.quotients->is_signed;
  llvm::Type* type = begin.place->getType();
  const uint64_t most_place = is_signed
                                  ? llvm::APInt::getSignedMaxValue(type->getIntegerBitWidth()).getZExtValue()
                                  : llvm::APInt::getMaxValue(type->getIntegerBitWidth()).getZExtValue();
  const uint64_t least_row =
      plan.masks_steps ? std::max<uint64_t>(plan.width / 4, analysis::kLeastRow) : uint64_t{8} * plan.width;
  begin.least = begin.divisors[0];
  for (Value divisor : begin.divisors)
    begin.least = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, begin.least, divisor);
  Value fits = b.CreateICmpUGE(begin.least, Literal(begin.least, least_row));
  Value room = b.CreateSub(Literal(begin.place, most_place), b.CreateZExt(width, type));
  fits = b.CreateAnd(fits, b.CreateICmpULE(begin.place, room));
  Value least = b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, begin.least, Literal(begin.least, 1));
  for (Value divisor : begin.divisors) {
    if (is_signed) fits = b.CreateAnd(fits, b.CreateICmpSGT(divisor, Literal(divisor, 0)));
    if (begin.divisors.size() > 1)
      fits = b.CreateAnd(fits, b.CreateICmpEQ(b.CreateURem(divisor, least), Literal(divisor, 0)));
  }
  return fits;
}

}  // namespace

// What the first place is computed from may be more than pure code: then `others` alone.
Status LoopEmitter::RowsOfData(const ir::Inst& inst, const LanePlan& plan, const LaneStep& row_step,
                               Value width, const std::function<Status()>& others) {
  Begin begin;
  {
    LaneStep first_thread = row_step;
    first_thread.width = 1;
    CurrentStep::Scope scope(e.step, first_thread);
    RowBegin values(e, [&](const ir::Inst& at) { return MayComputeAtBegin(e, at); });
    begin.place = values.Of(plan.quotients->place);
    for (ValueId divisor : plan.quotients->divisors) begin.divisors.push_back(values.Of(divisor));
  }
  if (begin.place == nullptr || std::ranges::find(begin.divisors, nullptr) != begin.divisors.end())
    return others();
  llvm::BasicBlock *in_rows = e.body.NewBlock("rows_of_data"), *otherwise = e.body.NewBlock("not_in_rows"),
                   *after = e.body.NewBlock("after_rows");
  b.CreateCondBr(AreRows(e, plan, width, begin), in_rows, otherwise);
  b.SetInsertPoint(in_rows);
  TRY_STATUS(EachRowOfData(inst, plan, row_step, width, begin.place, begin.least, begin.divisors));
  b.CreateBr(after);
  b.SetInsertPoint(otherwise);
  TRY_STATUS(others());
  b.CreateBr(after);
  b.SetInsertPoint(after);
  return {};
}

Status LoopEmitter::EachRowOfData(const ir::Inst& inst, const LanePlan& plan, const LaneStep& row_step,
                                  Value width, Value first_place, Value least,
                                  const std::vector<Value>& divisors) {
  const analysis::RowQuotients& quotients = *plan.quotients;
  llvm::BasicBlock *before = b.GetInsertBlock(), *head = e.body.NewBlock("row_of_data"),
                   *done = e.body.NewBlock("rows_done");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* x = b.CreatePHI(b.getInt32Ty(), 2, "row_begin");
  x->addIncoming(b.getInt32(0), before);
  Value place = b.CreateAdd(first_place, b.CreateZExt(x, first_place->getType()), "place");
  Value rest = b.CreateURem(place, least);
  Value left = b.CreateSub(width, x), to_end = b.CreateSub(least, rest);
  Value count = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b.CreateZExt(left, to_end->getType()), to_end);
  Value end = b.CreateAdd(x, b.CreateTrunc(count, b.getInt32Ty()), "row_end", true, true);
  PlacesInRow places{.begin = x};
  for (size_t n = 0; n < quotients.results.size(); ++n) {
    const ir::Inst& division = e.f.at_inst(e.f.at_value(quotients.results[n]).def);
    Value by = divisors[quotients.divisor_of[n]];
    places.results[quotients.results[n].index] = analysis::IsQuotient(division.op)
                                                     ? b.CreateUDiv(place, by, "quotient")
                                                     : b.CreateURem(place, by, "rest");
  }
  LaneStep step = row_step;
  step.places = &places;
  TRY_STATUS(RowAsVectors(plan, step, x, end, [&] { return StepOfRow(inst, step, end, plan); }));
  x->addIncoming(end, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpULT(end, width), head, done);
  b.SetInsertPoint(done);
  return {};
}

}  // namespace ptx2cpu::lowering
