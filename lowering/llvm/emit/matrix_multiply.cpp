// Products of fragments are functions of runtime/warp/matrix.def on arrays of registers (matrix_arrays.h), or
// on the slots of accumulators (matrix_slots.h).
#include <bit>

#include "lowering/llvm/emit/matrix_functions.h"
#include "lowering/llvm/emit/matrix_registers.h"
#include "runtime/abi/matrix.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;
namespace matrix = ir::matrix;

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

}  // namespace

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

namespace {

// `pointer`: the fragment `role` (_a, _b); what the product of this name is given for it.
Value Prepared(Site& s, const std::string& product, const char* role,
               const MatrixArrays::Fragment& fragment) {
  const std::string prepare = product + role;
  if (FindService(prepare) == nullptr) return fragment.pointer;
  return s.e.matrices.Prepared(fragment, s.e.m.Service(prepare), s.inst.attrs.index);
}

// The products that wait, by one call.
void EmitTogether(Site& s, llvm::Function* function, Value form, Value distance) {
  llvm::Type* pointer = s.b.getPtrTy();
  constexpr unsigned kPointers = sizeof(ptx2cpu_matrix_product) / sizeof(void*);
  std::vector<MatrixSlots::Product>& waiting = s.e.matrix_slots.waiting;
  const Value products = s.e.matrix_slots.Room();
  for (unsigned n = 0; n < waiting.size(); ++n) {
    const Value pointers[kPointers] = {waiting[n].sums, waiting[n].a, waiting[n].b};
    for (unsigned i = 0; i < kPointers; ++i)
      s.b.CreateStore(pointers[i], s.b.CreateConstInBoundsGEP1_32(pointer, products, n * kPointers + i));
  }
  s.b.CreateCall(function, {products, s.b.getInt32(static_cast<uint32_t>(waiting.size())), form, distance});
  waiting.clear();
}

}  // namespace

Status EmitMatrixMultiply(Site& s) {
  if (const MatrixTiles::Group* group = s.e.matrix_tiles.GroupOf(s.inst))
    return group->last == &s.inst ? s.e.matrix_tiles.Emit(s, *group) : Status{};
  const matrix::Product p = matrix::DecodeProduct(s.inst.attrs.index);
  const std::string function = FunctionOf(p);
  const Value is_member = IsMember(s, TRY(LanesTaking(s, s.inst.operands.size() - 1)));
  const std::span<const ir::ValueId> operands(s.inst.operands);
  const size_t of_a = p.registers_of_a(), of_b = p.registers_of_b(), of_c = p.registers_of_c();
  const auto left = operands.first(of_a), right = operands.subspan(of_a, of_b),
             sums = operands.subspan(of_a + of_b, of_c);
  MatrixArrays& arrays = s.e.matrices;
  // A lane's part of the sum is its own.
  const MatrixArrays::Fragment fragment_a = arrays.Of(left, is_member),
                               fragment_b = arrays.Of(right, is_member);
  const Value form = s.b.getInt32(s.inst.attrs.index);
  const Value a = Prepared(s, function, "_a", fragment_a), b = Prepared(s, function, "_b", fragment_b);
  if (const auto slot = s.e.matrix_slots.SlotOf(s.inst)) {
    const Value place = s.e.memory.SlotAddress(*slot);
    const Value bytes = s.b.CreateLShr(s.e.memory.WordSlotDistance(), 2),
                distance = s.b.CreateTrunc(bytes, s.e.I(32));
    arrays.Used(left);
    arrays.Used(right);
    const std::string together = function + "_all";
    if (FindService(together) != nullptr) {
      // Arrays of those that wait are not free yet.
      s.e.matrix_slots.waiting.push_back({place, a, b});
      if (s.e.matrix_slots.IsFollowed(s.inst)) return {};
      EmitTogether(s, s.e.m.Service(together), form, distance);
    } else {
      s.b.CreateCall(s.e.m.Service(function), {place, a, b, place, form, distance});
    }
    arrays.FreeReleased();
    return {};
  }
  const Value c = arrays.Of(sums, nullptr).pointer;
  Value metadata = llvm::ConstantPointerNull::get(s.b.getPtrTy());
  if (p.sparse) {
    metadata = s.e.body.Scratch(s.e.I(32), kWarpSize);
    s.b.CreateAlignedStore(RegisterOf(s, of_a + of_b + of_c, is_member), metadata, llvm::Align(64));
  }
  arrays.Used(sums);
  const Value d = arrays.Room(s.inst.results, c);
  arrays.Used(left);
  arrays.Used(right);
  if (IsPrepared(function)) {
    s.b.CreateCall(s.e.m.Service(function), {d, a, b, c, form, s.b.getInt32(kRegisterWords)});
  } else {
    s.b.CreateCall(s.e.m.Service(function), {d, a, b, c, metadata, form});
  }
  arrays.Filled(s.inst.results, false);
  return {};
}

}  // namespace ptx2cpu::lowering
