// Products of matrices in shared memory: a loop over tiles of eight columns, each a product of registers.
#include "lowering/llvm/emit/matrix_functions.h"
#include "lowering/llvm/emit/matrix_registers.h"
#include "runtime/abi/abi.h"
#include "runtime/abi/matrix.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;
namespace matrix = ir::matrix;

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

// The bits that negate the elements of a register of B.
uint32_t SignBits(const matrix::Product& p) {
  const uint32_t bits = matrix::InfoOf(p.b).bits;
  return bits == 8 ? 0x80808080u : bits == 16 ? 0x80008000u : 0x80000000u;
}

// What the product is given for a fragment, and the code that makes it of the fragment's registers, if any
// does.
struct Factor {
  Value given;
  llvm::Function* prepare;

  void Prepare(Site& s, llvm::AllocaInst* fragment, Value form_of_product) const {
    if (prepare != nullptr) s.b.CreateCall(prepare, {given, fragment, form_of_product});
  }
};

// put(number, words of all lanes) for each register of A, from shared memory or from the lanes' own
// registers.
template <typename OfWarp, typename Put>
void LoadA(Site& s, const matrix::SharedProduct& form, Value is_member, const OfWarp& of_warp,
           const Put& put) {
  const matrix::Product& p = form.product;
  const uint32_t of_a = form.operands_of_a(), row_groups = p.rows / kRows;
  if (!form.a_in_shared) {
    for (uint32_t n = 0; n < of_a; ++n) put(n, RegisterOf(s, n, is_member));
    return;
  }
  SharedMatrix matrix_a(s, of_warp(0), form.transposes_a);
  const Value first_group =
      s.b.CreateMul(s.b.CreateAnd(of_warp(of_a + 1), s.b.getInt32(3)), s.b.getInt32(row_groups));
  for (uint32_t n = 0; n < p.registers_of_a(); ++n) {
    const Value group = s.b.CreateAdd(first_group, s.b.getInt32(n % row_groups));
    put(n, matrix_a.Register(group, n / row_groups));
  }
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
  std::vector<llvm::AllocaInst*> memory = {a, b, c};
  const std::string function = FunctionOf(p);
  const Value form_of_product = s.b.getInt32(s.inst.attrs.index & matrix::kProductBits);
  auto factor = [&](llvm::AllocaInst* fragment, const char* role) -> Factor {
    if (FindService(function + role) == nullptr) return {fragment, nullptr};
    memory.push_back(scratch(PTX2CPU_MATRIX_PREPARED_BYTES / (kRegisterWords * sizeof(uint32_t))));
    return {memory.back(), s.e.m.Service(function + role)};
  };
  const Factor factor_a = factor(a, "_a"), factor_b = factor(b, "_b");
  for (llvm::AllocaInst* part : memory) s.b.CreateLifetimeStart(part);
  LoadA(s, form, is_member, of_warp, [&](uint32_t n, Value words_of_n) { put(a, n, words_of_n); });
  const Value counts_c = of_warp(form.operands_of_a() + 2);
  for (uint32_t n = 0; n < form.registers_of_c(); ++n) {
    const Value own = RegisterOf(s, form.first_c() + n, is_member);
    put(c, n, s.b.CreateSelect(counts_c, own, llvm::Constant::getNullValue(own->getType())));
  }
  factor_a.Prepare(s, a, form_of_product);
  if (p.sparse) put(metadata, 0, RegisterOf(s, s.inst.operands.size() - 2, is_member));
  SharedMatrix matrix_b(s, of_warp(form.operands_of_a()), form.transposes_b);
  const Value pairs = p.sparse ? Value{metadata} : llvm::ConstantPointerNull::get(s.b.getPtrTy());
  TRY_STATUS(s.e.body.Loop(s.b.getInt32(form.column_tiles), "tile", [&](Value tile) -> Status {
    for (uint32_t n = 0; n < p.registers_of_b(); ++n) {
      Value fragment = matrix_b.Register(tile, n);
      if (form.negates) fragment = s.b.CreateXor(fragment, Literal(fragment, SignBits(p)));
      put(b, n, fragment);
    }
    const Value at = s.b.CreateGEP(words, c, s.b.CreateMul(tile, s.b.getInt32(p.registers_of_c())));
    factor_b.Prepare(s, b, form_of_product);
    if (factor_b.prepare != nullptr) {
      s.b.CreateCall(s.e.m.Service(function),
                     {at, factor_a.given, factor_b.given, at, form_of_product, s.b.getInt32(kRegisterWords)});
    } else {
      s.b.CreateCall(s.e.m.Service(function), {at, a, b, at, pairs, form_of_product});
    }
    return {};
  }));
  for (size_t n = 0; n < s.inst.results.size(); ++n)
    s.Return(s.b.CreateAlignedLoad(accumulator, place(c, n), llvm::Align(64)), n);
  for (llvm::AllocaInst* part : memory) s.b.CreateLifetimeEnd(part);
  return {};
}

}  // namespace ptx2cpu::lowering
