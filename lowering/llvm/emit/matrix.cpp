// Registers of matrix fragments. A register of a warp is a vector of 32 words. Stores write eight rows of 16
// bytes one after the other, transposition shuffles two vectors, loads call a function of
// runtime/warp/matrix.def on arrays of registers (matrix_arrays.h).
#include "runtime/abi/matrix.h"

#include <llvm/IR/ValueSymbolTable.h>

#include "lowering/llvm/emit/matrix_registers.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;
namespace matrix = ir::matrix;

llvm::Type* RowType(Site& s) { return llvm::FixedVectorType::get(s.e.I(32), kRowWords); }

Value IsMember(Site& s, Value taking) {
  return s.b.CreateBitCast(taking, llvm::FixedVectorType::get(s.b.getInt1Ty(), kWarpSize));
}

// Lane l has columns 2 * (l % 4) and the next of row l / 4. So row c of the
// matrix, column r is in lane 4 * c + r / 2, in the high half where r is odd.
Value Transposed(Site& s, Value pairs) {
  std::vector<int> low_lane, high_lane;
  std::vector<llvm::Constant*> shift;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const uint32_t row = lane / 4, column = lane % 4 * 2;
    low_lane.push_back(static_cast<int>(column * 4 + row / 2));
    high_lane.push_back(static_cast<int>((column + 1) * 4 + row / 2));
    shift.push_back(s.b.getInt32(row % 2 * 16));
  }
  const Value by = llvm::ConstantVector::get(shift);
  const Value low = s.b.CreateLShr(s.b.CreateShuffleVector(pairs, low_lane), by);
  const Value high = s.b.CreateLShr(s.b.CreateShuffleVector(pairs, high_lane), by);
  return s.b.CreateOr(s.b.CreateAnd(low, Literal(low, 0xffff)), s.b.CreateShl(high, Literal(high, 16)));
}

Value RegisterOf(Site& s, size_t operand, Value is_member) {
  const Value own = Broadcast(s.b, s.Raw(operand), kWarpSize);
  return s.b.CreateSelect(is_member, own, llvm::Constant::getNullValue(own->getType()));
}

Status EmitMatrixTranspose(Site& s) {
  s.Return(Transposed(s, RegisterOf(s, 0, IsMember(s, TRY(LanesTaking(s, 1))))));
  return {};
}

namespace {

// The addresses of rows: that of lane 8 m + r is row r of matrix m.
struct Rows {
  Value pointers;  // <32 x ptr>
  Memory memory;
};

// `elsewhere`: 16 bytes for the rows of those lanes.
Result<Rows> RowsOf(Site& s, Value is_member, uint32_t count, Value elsewhere) {
  Rows rows{nullptr, Memory::kGeneric};
  const Value addresses = Broadcast(s.b, s.Raw(0), kWarpSize);
  Value given = nullptr;
  if (s.inst.attrs.space == ir::Space::kShared) {
    given =
        Broadcast(s.b, s.e.memory.Pointer(ir::Space::kShared, s.inst.operands[0], &rows.memory), kWarpSize);
  } else {
    given = s.b.CreateIntToPtr(addresses, llvm::FixedVectorType::get(s.b.getPtrTy(), kWarpSize));
  }
  std::vector<llvm::Constant*> uses;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) uses.push_back(s.b.getInt1(lane < count * kRows));
  const Value used = s.b.CreateAnd(is_member, llvm::ConstantVector::get(uses));
  const Value off = NonZero(s, s.b.CreateAnd(addresses, Literal(addresses, matrix::kRowBytes - 1)));
  const Value wrong = Bits(s, s.b.CreateAnd(off, used));
  s.e.body.Fault(NonZero(s, wrong), PTX2CPU_FAULT_MISALIGNED, ThreadOf(s, FirstLane(s, wrong)), s.inst.at);
  // Rows of the lanes above are not asked for.
  const auto* all = llvm::dyn_cast<llvm::Constant>(is_member);
  rows.pointers = all != nullptr && all->isAllOnesValue()
                      ? given
                      : s.b.CreateSelect(used, given, Broadcast(s.b, elsewhere, kWarpSize));
  return rows;
}

Value Zeros(Site& s) {
  constexpr const char* kName = "ptx2cpu.zeros";  // no name that PTX can have
  if (llvm::GlobalVariable* known = s.e.m.module->getGlobalVariable(kName, true)) return known;
  llvm::Constant* zeros = llvm::Constant::getNullValue(RowType(s));
  auto* variable = new llvm::GlobalVariable(*s.e.m.module, zeros->getType(), true,
                                            llvm::GlobalValue::InternalLinkage, zeros, kName);
  variable->setAlignment(llvm::Align(matrix::kRowBytes));
  return variable;
}

static_assert(matrix::kCountMask == PTX2CPU_MATRIX_COUNT && matrix::kTransposed == PTX2CPU_MATRIX_TRANSPOSED);

// Room for the addresses of rows, one for all loads of the function.
Value RowAddresses(Site& s) {
  constexpr const char* kName = "row_addresses";
  if (Value known = s.e.body.function->getValueSymbolTable()->lookup(kName)) return known;
  llvm::AllocaInst* addresses = s.e.body.Scratch(s.b.getPtrTy(), kWarpSize);
  addresses->setName(kName);
  return addresses;
}

}  // namespace

Status EmitMatrixLoad(Site& s) {
  const uint32_t form = s.inst.attrs.index, count = form & matrix::kCountMask;
  const Value is_member = IsMember(s, TRY(LanesTaking(s, 1)));
  const Rows rows = TRY(RowsOf(s, is_member, count, Zeros(s)));
  const Value addresses = RowAddresses(s);
  s.b.CreateAlignedStore(rows.pointers, addresses, llvm::Align(64));
  const Value registers = s.e.matrices.Room(s.inst.results, nullptr);
  s.b.CreateCall(s.e.m.Service("ptx2cpu_matrix_load"), {registers, addresses, s.b.getInt32(form)});
  s.e.matrices.Filled(s.inst.results, true);
  return {};
}

Status EmitMatrixStore(Site& s) {
  const uint32_t form = s.inst.attrs.index, count = form & matrix::kCountMask;
  const Value is_member = IsMember(s, TRY(LanesTaking(s, s.inst.operands.size() - 1)));
  const Rows rows = TRY(RowsOf(s, is_member, count, s.e.body.Scratch(s.e.I(8), matrix::kRowBytes)));
  for (uint32_t n = 0; n < count; ++n) {
    Value words = RegisterOf(s, 1 + n, is_member);
    if ((form & matrix::kTransposed) != 0) words = Transposed(s, words);
    for (uint32_t row = 0; row < kRows; ++row) {
      const int first = static_cast<int>(row * kRowWords);
      const Value part = s.b.CreateShuffleVector(words, {first, first + 1, first + 2, first + 3});
      const Value pointer = s.b.CreateExtractElement(rows.pointers, s.b.getInt32(n * kRows + row));
      s.e.memory.Store(part, pointer, llvm::Align(matrix::kRowBytes), rows.memory);
    }
  }
  return {};
}

}  // namespace ptx2cpu::lowering
