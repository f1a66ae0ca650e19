// CheckAccess: where only bounds and alignment are checked, a test of a few instructions comes first.
//
//   x = rotate_right(address - base, log2 of the alignment)
//   if (x >= positions) call ptx2cpu_check_accesses
//
// Low bits that are not zero become high ones, so that one comparison tests both. Windows of shared and local
// memory begin at 0; the base of an allocation is in the entry of check_ranges that the call sets.
#include "lowering/llvm/emit/access_check.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <array>
#include <bit>

#include "ir/parameters.h"
#include "runtime/abi/abi.h"
#include "runtime/abi/check.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

namespace {

// Spaces whose addresses begin at 0, and the field of the block that has their size. Others have allocations.
struct Window {
  uint32_t space;
  size_t offset;
  unsigned bits;
  const char* field;
};
constexpr std::array kWindows = {
    Window{PTX2CPU_SPACE_SHARED, offsetof(ptx2cpu_block, window_bytes), 32, "window_bytes"},
    Window{PTX2CPU_SPACE_LOCAL, offsetof(ptx2cpu_block, local_stride), 64, "local_stride"}};

// The name of the variable whose address insert-checks has put there.
std::string NameOfVariable(const FunctionEmitter& e, ir::ValueId base) {
  if (const auto distance = ir::DistanceInParameters(e.f, base)) {
    const auto param = std::ranges::find(e.f.params, *distance, &ir::Param::offset);
    return param == e.f.params.end() ? std::string() : param->name;
  }
  for (ir::InstId def = e.f.at_value(base).def; def.valid(); def = e.f.at_value(base).def) {
    const ir::Inst& inst = e.f.at_inst(def);
    if (inst.op == ir::Opcode::kSymbol) {
      const uint32_t index = inst.attrs.index;
      return inst.attrs.space == ir::Space::kLocal ? e.f.locals[index].name : e.m.ir.variables[index].name;
    }
    if (inst.op != ir::Opcode::kToGeneric) break;
    base = inst.operands[0];
  }
  return {};
}

llvm::Constant* PrivateConstant(llvm::Module& module, llvm::Constant* value) {
  return new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value,
                                  "checked_variable");
}

}  // namespace

AccessCheck::AccessCheck(Site& site) : s_(site), b_(site.b), form_(site.inst.attrs.index) {
  variable_ = Variable();
  const auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(s_.Raw(1));
  if ((form_ & PTX2CPU_ACCESS_BOUNDS_ONLY) != 0 && bytes != nullptr && !bytes->isZero())
    Test(bytes->getZExtValue());
}

// The variable that the address was computed from, for the runtime's reports.
llvm::Constant* AccessCheck::Variable() {
  llvm::Constant* const none = llvm::ConstantPointerNull::get(b_.getPtrTy());
  const auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(s_.Raw(4));
  if (bytes == nullptr || bytes->isZero()) return none;
  variable_bytes_ = bytes->getZExtValue();
  ModuleEmitter& m = s_.e.m;
  llvm::Constant* name = PrivateConstant(
      *m.module, llvm::ConstantDataArray::getString(m.context, NameOfVariable(s_.e, s_.inst.operands[3])));
  return PrivateConstant(*m.module, llvm::ConstantStruct::getAnon({name, b_.getInt64(variable_bytes_)}));
}

// What a window of so many bytes leaves room for. None, where it is smaller than the access.
Value AccessCheck::PositionsIn(Value window, uint64_t bytes) const {
  Value last = b_.CreateLShr(b_.CreateSub(window, b_.getInt64(bytes)), shift_);
  return b_.CreateSelect(b_.CreateICmpUGE(window, b_.getInt64(bytes)), b_.CreateAdd(last, b_.getInt64(1)),
                         b_.getInt64(0));
}

void AccessCheck::Test(uint64_t bytes) {
  const uint64_t align = std::min<uint64_t>(bytes, 16);
  shift_ = std::has_single_bit(align) && (form_ & PTX2CPU_ACCESS_BULK) == 0
               ? static_cast<unsigned>(std::countr_zero(align))
               : 0;
  if (variable_bytes_ != 0) {
    base_ = s_.Raw(3);
    positions_ = b_.getInt64(variable_bytes_ < bytes ? 0 : ((variable_bytes_ - bytes) >> shift_) + 1);
    return;
  }
  FunctionBody& body = s_.e.body;
  const auto* window = std::ranges::find(kWindows, PTX2CPU_SPACE_OF_ACCESS(form_), &Window::space);
  if (window != kWindows.end()) {
    Value size = body.Field(window->offset, s_.e.I(window->bits), window->field);
    positions_ = PositionsIn(b_.CreateZExt(size, s_.e.I(64)), bytes);
    return;
  }
  auto& ranges = s_.e.m.check_ranges;
  range_ =
      ranges.try_emplace({s_.inst.at.ptx_line, bytes}, static_cast<uint32_t>(ranges.size())).first->second;
  if (range_ >= PTX2CPU_CHECK_RANGES) {
    range_ = PTX2CPU_NO_CHECK_RANGE;
    return;
  }
  Value entries = body.Field(offsetof(ptx2cpu_block, check_ranges), b_.getPtrTy(), "check_ranges");
  const auto field = [&](size_t offset) {
    const uint64_t at = range_ * sizeof(ptx2cpu_check_range) + offset;
    llvm::LoadInst* word =
        b_.CreateAlignedLoad(s_.e.I(64), b_.CreateConstGEP1_64(b_.getInt8Ty(), entries, at), llvm::Align(8));
    s_.e.m.Annotate(word, Memory::kContext);
    return word;
  };
  base_ = field(offsetof(ptx2cpu_check_range, base));
  positions_ = field(offsetof(ptx2cpu_check_range, positions));
}

Value AccessCheck::IsInside(Value address) const {
  const auto shaped = [&](Value word) {
    return address->getType()->isVectorTy() ? Broadcast(b_, word, s_.e.step->width) : word;
  };
  Value at = base_ == nullptr ? address : b_.CreateSub(address, shaped(base_));
  if (shift_ != 0)
    at = b_.CreateIntrinsic(llvm::Intrinsic::fshr, {at->getType()}, {at, at, Literal(at, shift_)});
  return b_.CreateICmpULT(at, shaped(positions_));
}

void AccessCheck::Call(Value thread, Value addresses, Value lanes) const {
  b_.CreateCall(s_.e.m.Service("ptx2cpu_check_accesses"),
                {s_.e.body.Block(), thread, b_.getInt32(s_.inst.at.ptx_line), addresses, lanes,
                 b_.getInt32(form_), s_.Raw(1), s_.Raw(2), b_.getInt32(range_), variable_, s_.Raw(3)});
}

void AccessCheck::CallRow(Value thread, Value first, int64_t stride, Value lanes) const {
  b_.CreateCall(s_.e.m.Service("ptx2cpu_check_row"),
                {s_.e.body.Block(), thread, b_.getInt32(s_.inst.at.ptx_line), first,
                 b_.getInt64(static_cast<uint64_t>(stride)), lanes, b_.getInt32(form_), s_.Raw(1), s_.Raw(2),
                 b_.getInt32(range_), variable_, s_.Raw(3)});
}

namespace {
void CallSync(Site& s, uint32_t step, Value thread, Value lanes) {
  s.b.CreateCall(s.e.m.Service("ptx2cpu_check_sync"),
                 {s.e.body.Block(), thread, s.b.getInt32(s.inst.at.ptx_line), lanes, s.b.getInt32(step),
                  s.Raw(0), s.Raw(1)});
}
}  // namespace

// Where the block's threads go through each region in turn, thread 0 is the first of those that leave a
// barrier, and all lanes of a warp have arrived when the first leaves an operation.
void CallCheckSync(Site& s, Value thread, Value lanes) {
  const uint32_t step = s.inst.attrs.index;
  const bool in_turn = s.e.f.resumes <= ir::Resumes::kBlocks && !s.e.f.has_early_exit;
  if ((step & PTX2CPU_SYNC_TOGETHER) == 0 || !in_turn)
    return CallSync(s, step & ~PTX2CPU_SYNC_TOGETHER, thread, lanes);
  if (PTX2CPU_SYNC_STEP(step) == PTX2CPU_SYNC_WARP_ARRIVE) return;
  if (PTX2CPU_SYNC_STEP(step) == PTX2CPU_SYNC_WARP_LEAVE) return CallSync(s, step, thread, lanes);
  llvm::BasicBlock *ask = s.e.body.NewBlock("leave"), *done = s.e.body.NewBlock("left");
  s.b.CreateCondBr(s.b.CreateICmpEQ(thread, s.b.getInt32(0)), ask, done,
                   llvm::MDBuilder(s.e.m.context).createUnlikelyBranchWeights());
  s.b.SetInsertPoint(ask);
  CallSync(s, step, thread, lanes);
  s.b.CreateBr(done);
  s.b.SetInsertPoint(done);
}

Status EmitCheckSync(Site& s) {
  if (s.e.step->level != ir::Level::kLane) return s.Broken("above lane level");
  return CallCheckSync(s, s.e.step->thread, s.b.getInt64(1)), Status{};
}

// One lane.
Status EmitCheckAccess(Site& s) {
  if (s.e.step->level != ir::Level::kLane) return s.Broken("above lane level");
  const AccessCheck check(s);
  Value address = s.Raw(0), one = s.b.getInt64(1);
  if (!check.IsTested()) return check.CallRow(s.e.step->thread, address, 0, one), Status{};
  llvm::BasicBlock *ask = s.e.body.NewBlock("check"), *done = s.e.body.NewBlock("checked");
  s.b.CreateCondBr(check.IsInside(address), done, ask,
                   llvm::MDBuilder(s.e.m.context).createLikelyBranchWeights());
  s.b.SetInsertPoint(ask);
  check.CallRow(s.e.step->thread, address, 0, one);
  s.b.CreateBr(done);
  s.b.SetInsertPoint(done);
  return {};
}

}  // namespace ptx2cpu::lowering
