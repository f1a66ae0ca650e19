// Matrix fragments. A register of a warp is one vector of 32 words: stores are eight rows of 16 bytes one
// after the other, transposition shuffles two vectors, loads and products are functions of
// runtime/warp/matrix.def on arrays of registers (matrix_arrays.h).
#include "ir/matrix.h"

#include <llvm/IR/ValueSymbolTable.h>

#include <bit>

#include "lowering/llvm/emit/lane_bits.h"
#include "runtime/abi/abi.h"
#include "runtime/abi/matrix.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;
namespace matrix = ir::matrix;

namespace {

constexpr uint32_t kRows = 8, kRowWords = 4;

Value IsMember(Site& s, Value taking) {
  return s.b.CreateBitCast(taking, llvm::FixedVectorType::get(s.b.getInt1Ty(), kWarpSize));
}

// An 8x8 matrix of 16-bit elements: lane l has columns 2 * (l % 4) and the next of row l / 4. So row c of the
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

// Of 32 lanes, zero in those that take no part.
Value Register(Site& s, size_t operand, Value is_member) {
  const Value own = Broadcast(s.b, s.Raw(operand), kWarpSize);
  return s.b.CreateSelect(is_member, own, llvm::Constant::getNullValue(own->getType()));
}

}  // namespace

Status EmitMatrixTranspose(Site& s) {
  s.Return(Transposed(s, Register(s, 0, IsMember(s, TRY(LanesTaking(s, 1))))));
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
  rows.pointers = s.b.CreateSelect(used, given, Broadcast(s.b, elsewhere, kWarpSize));
  return rows;
}

llvm::Type* RowType(Site& s) { return llvm::FixedVectorType::get(s.e.I(32), kRowWords); }

Value Zeros(Site& s) {
  constexpr const char* kName = "ptx2cpu_zeros";
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
    Value words = Register(s, 1 + n, is_member);
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

namespace {

static_assert(static_cast<int>(matrix::Element::kF16) == PTX2CPU_MATRIX_F16);
static_assert(static_cast<int>(matrix::Element::kBF16) == PTX2CPU_MATRIX_BF16);
static_assert(static_cast<int>(matrix::Element::kTF32) == PTX2CPU_MATRIX_TF32);
static_assert(static_cast<int>(matrix::Element::kF64) == PTX2CPU_MATRIX_F64);
static_assert(static_cast<int>(matrix::Element::kS8) == PTX2CPU_MATRIX_S8);
static_assert(static_cast<int>(matrix::Element::kU8) == PTX2CPU_MATRIX_U8);
static_assert(static_cast<int>(matrix::Element::kS4) == PTX2CPU_MATRIX_S4);
static_assert(static_cast<int>(matrix::Element::kU4) == PTX2CPU_MATRIX_U4);
static_assert(static_cast<int>(matrix::Element::kB1) == PTX2CPU_MATRIX_B1);
static_assert(static_cast<int>(matrix::Element::kF32) == PTX2CPU_MATRIX_F32);
static_assert(static_cast<int>(matrix::Element::kS32) == PTX2CPU_MATRIX_S32);
static_assert(static_cast<int>(matrix::Element::kE4M3) == PTX2CPU_MATRIX_E4M3);
static_assert(static_cast<int>(matrix::Element::kE5M2) == PTX2CPU_MATRIX_E5M2);
constexpr uint32_t kSample = matrix::Encode({.rows = 16,
                                             .depth = 1,
                                             .a = {},
                                             .b = {},
                                             .c = {},
                                             .combine = matrix::Combine::kAnd,
                                             .saturates = true,
                                             .sparse = true,
                                             .selector = 1});
static_assert(kSample == (PTX2CPU_MATRIX_SIXTEEN_ROWS | PTX2CPU_MATRIX_AND | PTX2CPU_MATRIX_SATURATES |
                          PTX2CPU_MATRIX_SPARSE | 1u << PTX2CPU_MATRIX_SELECTOR_SHIFT));
static_assert(matrix::Encode({.rows = 8,
                              .depth = 2,
                              .a = matrix::Element::kU4,
                              .b = matrix::Element::kF64,
                              .c = matrix::Element::kS8,
                              .combine = matrix::Combine::kXor}) ==
              (1u << PTX2CPU_MATRIX_DEPTH_SHIFT | PTX2CPU_MATRIX_U4 << PTX2CPU_MATRIX_A_SHIFT |
               PTX2CPU_MATRIX_F64 << PTX2CPU_MATRIX_B_SHIFT | PTX2CPU_MATRIX_S8 << PTX2CPU_MATRIX_C_SHIFT |
               PTX2CPU_MATRIX_XOR));

// In the names of functions.
constexpr std::string_view kElementNames[] = {"f16", "bf16", "tf32", "f64", "s8",   "u8",  "s4",
                                              "u4",  "b1",   "f32",  "s32", "e4m3", "e5m2"};
static_assert(std::size(kElementNames) == matrix::kElements.size());

// Floats of the shapes that have 16 rows and dense matrices have a function for each depth.
std::string FunctionOf(const matrix::Product& p) {
  using matrix::Element;
  auto name = [](Element element) { return std::string(kElementNames[static_cast<size_t>(element)]); };
  const std::string begin = "ptx2cpu_matrix_", depth = "_k" + std::to_string(p.depth);
  if (p.a == Element::kF64) return begin + name(p.a);
  if (p.a == Element::kB1) return begin + "bits";
  if (p.sparse) return begin + "general";
  if (p.c == Element::kS32) return begin + name(p.a) + "_" + name(p.b);
  if (matrix::InfoOf(p.a).bits == 8) return begin + "general";
  return begin + (p.combine == matrix::Combine::kChain ? "chain_" : "") + name(p.a) + depth +
         (p.a == Element::kF16 ? "_" + name(p.c) : "");
}

}  // namespace

Status EmitMatrixMultiply(Site& s) {
  const matrix::Product p = matrix::DecodeProduct(s.inst.attrs.index);
  const Value is_member = IsMember(s, TRY(LanesTaking(s, s.inst.operands.size() - 1)));
  const std::span<const ir::ValueId> operands(s.inst.operands);
  const size_t of_a = p.registers_of_a(), of_b = p.registers_of_b(), of_c = p.registers_of_c();
  const auto left = operands.first(of_a), right = operands.subspan(of_a, of_b),
             sums = operands.subspan(of_a + of_b, of_c);
  MatrixArrays& arrays = s.e.matrices;
  // A lane's part of the sum is its own.
  const Value a = arrays.Of(left, is_member), b = arrays.Of(right, is_member), c = arrays.Of(sums, nullptr);
  Value metadata = llvm::ConstantPointerNull::get(s.b.getPtrTy());
  if (p.sparse) {
    metadata = s.e.body.Scratch(s.e.I(32), kWarpSize);
    s.b.CreateAlignedStore(Register(s, of_a + of_b + of_c, is_member), metadata, llvm::Align(64));
  }
  arrays.Used(sums);
  const Value d = arrays.Room(s.inst.results, c);
  arrays.Used(left);
  arrays.Used(right);
  s.b.CreateCall(s.e.m.Service(FunctionOf(p)), {d, a, b, c, metadata, s.b.getInt32(s.inst.attrs.index)});
  arrays.Filled(s.inst.results, false);
  return {};
}

// -- matrices in shared memory --

namespace {

// Vectors one after the other.
Value Concatenated(Site& s, std::vector<Value> parts) {
  while (parts.size() > 1) {
    std::vector<Value> pairs;
    for (size_t n = 0; n < parts.size(); n += 2) {
      const unsigned width = llvm::cast<llvm::FixedVectorType>(parts[n]->getType())->getNumElements();
      std::vector<int> order(size_t{2} * width);
      for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
      pairs.push_back(s.b.CreateShuffleVector(parts[n], parts[n + 1], order));
    }
    parts = std::move(pairs);
  }
  return parts[0];
}

// A descriptor in the registers of the first lane that takes part.
class SharedMatrix {
 public:
  SharedMatrix(Site& s, Value descriptor, bool transposed) : s_(s), transposed_(transposed) {
    start_ = Field(descriptor, 0);
    leading_ = Field(descriptor, 16);
    stride_ = Field(descriptor, 32);
    base_ = s.b.CreateAnd(s.b.CreateTrunc(s.b.CreateLShr(descriptor, 49), s.e.I(32)), s.b.getInt32(7));
    // 0: none, 1: 128 bytes, 2: 64, 3: 32
    Value mode = s.b.CreateTrunc(s.b.CreateLShr(descriptor, 62), s.e.I(32));
    is_plain_ = s.b.CreateICmpEQ(mode, s.b.getInt32(0));
    Value bytes = s.b.CreateLShr(s.b.getInt32(256), mode);
    row_bytes_ = s.b.CreateSelect(is_plain_, s.b.getInt32(matrix::kRowBytes), bytes);
    chunks_ = s.b.CreateLShr(row_bytes_, s.b.getInt32(4));
    window_ = s.e.body.Field(offsetof(ptx2cpu_block, shared), s.b.getPtrTy(), "shared");
  }

  // A register of a fragment: eight lines by 16 bytes. `group`: of eight lines; `chunk`: along k.
  Value Register(Value group, uint32_t chunk) {
    std::vector<Value> parts;
    for (uint32_t n = 0; n < kRows; ++n) {
      // Stored along the lines, a row of memory is a k, of 8 lines.
      Value offset =
          transposed_ ? OffsetOf(s_.b.getInt32(chunk), n, group) : OffsetOf(group, n, s_.b.getInt32(chunk));
      Value pointer = s_.b.CreateGEP(s_.e.I(8), window_, s_.b.CreateZExt(offset, s_.e.I(64)));
      parts.push_back(
          s_.e.memory.Load(RowType(s_), pointer, llvm::Align(matrix::kRowBytes), Memory::kShared));
    }
    Value words = Concatenated(s_, std::move(parts));
    return transposed_ ? Transposed(s_, words) : words;
  }

 private:
  Value Field(Value descriptor, unsigned shift) {
    Value bits = s_.b.CreateTrunc(s_.b.CreateLShr(descriptor, uint64_t{shift}), s_.e.I(32));
    return s_.b.CreateShl(s_.b.CreateAnd(bits, s_.b.getInt32(0x3fff)), s_.b.getInt32(4));
  }
  Value Times(Value a, Value b) { return s_.b.CreateMul(a, b); }
  Value Plus(Value a, Value b) { return s_.b.CreateAdd(a, b); }

  // ir::matrix::Descriptor::OffsetOf, for line 8 group + n.
  Value OffsetOf(Value group, uint32_t n, Value across) {
    Value plain = Plus(transposed_ ? Times(across, stride_) : Times(group, stride_),
                       transposed_ ? Times(group, leading_) : Times(across, leading_));
    plain = Plus(plain, s_.b.getInt32(n * matrix::kRowBytes));
    Value in_row = s_.b.CreateShl(s_.b.CreateURem(across, chunks_), s_.b.getInt32(4));
    Value swizzled = Plus(Plus(in_row, Times(s_.b.CreateUDiv(across, chunks_), leading_)),
                          Plus(Times(group, stride_), Times(row_bytes_, s_.b.getInt32(n))));
    swizzled = Plus(start_, swizzled);
    Value row = s_.b.CreateAnd(s_.b.CreateSub(s_.b.CreateLShr(swizzled, s_.b.getInt32(7)), base_),
                               s_.b.CreateSub(chunks_, s_.b.getInt32(1)));
    swizzled = s_.b.CreateXor(swizzled, s_.b.CreateShl(row, s_.b.getInt32(4)));
    return s_.b.CreateSelect(is_plain_, Plus(start_, plain), swizzled);
  }

  Site& s_;
  bool transposed_;
  Value start_, leading_, stride_, base_, is_plain_, row_bytes_, chunks_, window_;
};

// Of a register of B: the bits that negate its elements.
uint32_t SignBits(const matrix::Product& p) {
  const uint32_t bits = matrix::InfoOf(p.b).bits;
  return bits == 8 ? 0x80808080u : bits == 16 ? 0x80008000u : 0x80000000u;
}

}  // namespace

// A loop over tiles of eight columns: each is a product of registers.
Status EmitMatrixMultiplyShared(Site& s) {
  const matrix::SharedProduct form = matrix::DecodeShared(s.inst.attrs.index);
  const matrix::Product& p = form.product;
  const Value taking = TRY(LanesTaking(s, s.inst.operands.size() - 1)), is_member = IsMember(s, taking);
  const Value first_lane = FirstLane(s, taking);
  auto of_warp = [&](size_t operand) -> Value {
    return s.b.CreateExtractElement(Broadcast(s.b, s.Raw(operand), kWarpSize), first_lane);
  };
  const uint32_t of_c = p.registers_of_c();
  llvm::Type* words = llvm::FixedVectorType::get(s.e.I(32), kWarpSize);
  llvm::Type* accumulator = llvm::FixedVectorType::get(s.e.m.MemoryTypeOf(s.inst.type), kWarpSize);
  auto place = [&](llvm::AllocaInst* memory, size_t number) {
    return s.b.CreateConstInBoundsGEP1_64(words, memory, number);
  };
  auto put = [&](llvm::AllocaInst* memory, size_t number, Value value) {
    s.b.CreateAlignedStore(value, place(memory, number), llvm::Align(64));
  };
  auto scratch = [&](uint32_t registers) { return s.e.body.Scratch(s.e.I(32), registers * kWarpSize); };
  llvm::AllocaInst *a = scratch(p.registers_of_a()), *b = scratch(p.registers_of_b()),
                   *c = scratch(form.registers_of_c()), *metadata = p.sparse ? scratch(1) : nullptr;
  // So that the memory of one product is that of the next.
  const std::vector<llvm::AllocaInst*> memory = {a, b, c};
  for (llvm::AllocaInst* part : memory) s.b.CreateLifetimeStart(part);
  const uint32_t of_a = form.operands_of_a();
  const uint32_t row_groups = p.rows / kRows;
  if (form.a_in_shared) {
    SharedMatrix matrix_a(s, of_warp(0), form.transposes_a);
    const Value first_group =
        s.b.CreateMul(s.b.CreateAnd(of_warp(of_a + 1), s.b.getInt32(3)), s.b.getInt32(row_groups));
    for (uint32_t n = 0; n < p.registers_of_a(); ++n) {
      const Value group = s.b.CreateAdd(first_group, s.b.getInt32(n % row_groups));
      put(a, n, matrix_a.Register(group, n / row_groups));
    }
  } else {
    for (uint32_t n = 0; n < of_a; ++n) put(a, n, Register(s, n, is_member));
  }
  const Value counts_c = of_warp(of_a + 2);
  for (uint32_t n = 0; n < form.registers_of_c(); ++n) {
    const Value own = Register(s, form.first_c() + n, is_member);
    put(c, n, s.b.CreateSelect(counts_c, own, llvm::Constant::getNullValue(own->getType())));
  }
  if (p.sparse) put(metadata, 0, Register(s, s.inst.operands.size() - 2, is_member));
  SharedMatrix matrix_b(s, of_warp(of_a), form.transposes_b);
  const Value no_metadata = llvm::ConstantPointerNull::get(s.b.getPtrTy());
  TRY_STATUS(s.e.body.Loop(s.b.getInt32(form.column_tiles), "tile", [&](Value tile) -> Status {
    for (uint32_t n = 0; n < p.registers_of_b(); ++n) {
      Value fragment = matrix_b.Register(tile, n);
      if (form.negates) fragment = s.b.CreateXor(fragment, Literal(fragment, SignBits(p)));
      put(b, n, fragment);
    }
    const Value at = s.b.CreateGEP(words, c, s.b.CreateMul(tile, s.b.getInt32(of_c)));
    s.b.CreateCall(s.e.m.Service(FunctionOf(p)), {at, a, b, at, p.sparse ? metadata : no_metadata,
                                                  s.b.getInt32(s.inst.attrs.index & matrix::kProductBits)});
    return {};
  }));
  for (size_t n = 0; n < s.inst.results.size(); ++n)
    s.Return(s.b.CreateAlignedLoad(accumulator, place(c, n), llvm::Align(64)), n);
  for (llvm::AllocaInst* part : memory) s.b.CreateLifetimeEnd(part);
  return {};
}

}  // namespace ptx2cpu::lowering
