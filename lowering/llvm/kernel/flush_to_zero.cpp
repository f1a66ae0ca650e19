#include "lowering/llvm/kernel/flush_to_zero.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "runtime/abi/flushing.h"

namespace ptx2cpu::lowering {

namespace {

using ir::Opcode;
using ir::Rounding;
using ir::Type;

// Whether each operation gives the same bits with flush to zero. Operations that are not listed compute no
// floats, or only compare and choose them.
enum class Rule : uint8_t {
  kArithmetic,   // f32: .ftz. f16: its products and sums in f32 and f64 are 0 or at least 2^-48
  kApproximate,  // f32 with .ftz, whose operand is normal: no term that counts is subnormal
  kRoot,         // of f32: never subnormal
  kConverted,    // by instructions that do not flush, or by integers
  kIntegers,     // results that are no floats, or words of f16, whose sums are in f32 and f64 and normal
  kAtomic,       // sums of floats keep subnormal numbers in shared memory
  kCall,         // of functions that this is known of
  kNever,
};
struct Row {
  Opcode op;
  Rule rule;
};
constexpr Row kRows[] = {
    {Opcode::kFAdd, Rule::kArithmetic},
    {Opcode::kFSub, Rule::kArithmetic},
    {Opcode::kFMul, Rule::kArithmetic},
    {Opcode::kFFma, Rule::kArithmetic},
    {Opcode::kFDiv, Rule::kArithmetic},
    {Opcode::kFRcp, Rule::kArithmetic},
    {Opcode::kFSqrt, Rule::kRoot},
    {Opcode::kFRsqrt, Rule::kApproximate},
    {Opcode::kFSin, Rule::kApproximate},
    {Opcode::kFCos, Rule::kApproximate},
    {Opcode::kFLg2, Rule::kApproximate},
    {Opcode::kFEx2, Rule::kApproximate},
    {Opcode::kFTanh, Rule::kNever},
    {Opcode::kFConvert, Rule::kConverted},
    {Opcode::kToNarrow, Rule::kNever},
    {Opcode::kFromNarrow, Rule::kNever},
    {Opcode::kAtomic, Rule::kAtomic},
    {Opcode::kRedux, Rule::kIntegers},
    {Opcode::kMatrixMultiply, Rule::kIntegers},
    {Opcode::kMatrixMultiplyShared, Rule::kIntegers},
    {Opcode::kTensorCoreMultiply, Rule::kNever},
    {Opcode::kTensorCoreCopy, Rule::kNever},
    {Opcode::kCopyTensor, Rule::kNever},
    {Opcode::kCopyTensorMulticast, Rule::kNever},
    {Opcode::kReduceBulk, Rule::kNever},
    {Opcode::kTexture, Rule::kNever},
    {Opcode::kSurfaceStore, Rule::kNever},
    {Opcode::kNanosleep, Rule::kNever},
    {Opcode::kCall, Rule::kCall},
    {Opcode::kCallIndirect, Rule::kNever},
};

bool IsNearest(const ir::Inst& inst) {
  return inst.attrs.rounding == Rounding::kNone || inst.attrs.rounding == Rounding::kNearestEven;
}
bool Flushes(const ir::Inst& inst) { return inst.type == Type::kF32 && (inst.attrs.flags & ir::kFtz) != 0; }

// Other roundings are steps from the nearest number, which must not be flushed, except by AVX-512.
bool IsArithmetic(const ir::Inst& inst, const TargetTraits& traits) {
  if (inst.type == Type::kF16)
    return IsNearest(inst) && !traits.has_native_half_fma && inst.op != Opcode::kFDiv &&
           inst.op != Opcode::kFRcp;
  const bool is_fused = inst.op == Opcode::kFFma;  // else by a function of the C library
  return Flushes(inst) && (IsNearest(inst) || traits.has_avx512) && (!is_fused || traits.has_fma);
}

bool IsConversion(const ir::Inst& inst, const TargetTraits& traits) {
  if (inst.type == Type::kF64 || inst.from == Type::kF64) return false;
  if (inst.type == Type::kF32) return true;  // exact
  return IsNearest(inst) && traits.has_half_conversion;
}

bool IsAtomic(const ir::Inst& inst) {
  if (inst.attrs.atomic == ir::AtomicOp::kFAdd)
    return Flushes(inst) && inst.attrs.space == ir::Space::kGlobal;
  return inst.attrs.atomic != ir::AtomicOp::kAddF16x2 && inst.attrs.atomic != ir::AtomicOp::kAddBF16x2;
}

bool IsUnchanged(const ir::Module& module, const ir::Inst& inst, const TargetTraits& traits) {
  const auto row = std::ranges::find(kRows, inst.op, &Row::op);
  if (row == std::end(kRows)) return true;
  switch (row->rule) {
    case Rule::kArithmetic:
      return IsArithmetic(inst, traits);
    case Rule::kApproximate:
      return Flushes(inst);
    case Rule::kRoot:
      return inst.type == Type::kF32 && (IsNearest(inst) || traits.has_avx512);
    case Rule::kConverted:
      return IsConversion(inst, traits);
    case Rule::kIntegers:
      return !ir::IsFloat(inst.type);
    case Rule::kAtomic:
      return IsAtomic(inst);
    case Rule::kCall:
      return DefinitionOf(module, module.functions[inst.attrs.index]) != nullptr;
    case Rule::kNever:
      return false;
  }
  return false;
}

}  // namespace

bool RunsFlushing(const ir::Module& module, const ir::Function& kernel, const KernelLayout& layout,
                  const TargetTraits& traits) {
  if (!traits.is_x86 || !kernel.entries.empty()) return false;
  bool any = false;
  const auto is_unchanged = [&](const ir::Function& f) {
    return std::ranges::all_of(f.insts, [&](const ir::Inst& inst) {
      if (!inst.block.valid()) return true;
      const auto row = std::ranges::find(kRows, inst.op, &Row::op);
      any |= row != std::end(kRows) && row->rule == Rule::kArithmetic && Flushes(inst) && IsNearest(inst);
      return IsUnchanged(module, inst, traits);
    });
  };
  if (!is_unchanged(kernel)) return false;
  for (uint32_t index : layout.functions) {
    const ir::Function* f = DefinitionOf(module, module.functions[index]);
    if (f != nullptr && !is_unchanged(*f)) return false;
  }
  return any;
}

void RunFlushing(llvm::Function* entry) {
  const std::string name = entry->getName().str();
  entry->setName(name + ".flushing");
  llvm::Function* outer =
      llvm::Function::Create(entry->getFunctionType(), entry->getLinkage(), name, entry->getParent());
  outer->copyAttributesFrom(entry);
  entry->setLinkage(llvm::GlobalValue::InternalLinkage);
  entry->addFnAttr(llvm::Attribute::NoInline);  // arithmetic may move past the register's instructions

  const auto block = [&](const char* called) {
    return llvm::BasicBlock::Create(entry->getContext(), called, outer);
  };
  llvm::BasicBlock *begin = block("entry"), *is_set = block("is_set"), *sets = block("sets");
  llvm::SmallVector<llvm::Value*, 4> arguments;
  for (llvm::Argument& argument : outer->args()) arguments.push_back(&argument);
  llvm::IRBuilder<> b(begin);
  llvm::Value *saved = b.CreateAlloca(b.getInt32Ty()), *own = b.CreateAlloca(b.getInt32Ty());
  b.CreateIntrinsic(llvm::Intrinsic::x86_sse_stmxcsr, {}, {saved});
  llvm::Value* control = b.CreateLoad(b.getInt32Ty(), saved);
  llvm::Value* flush = b.getInt32(PTX2CPU_FLUSH_TO_ZERO);
  b.CreateCondBr(b.CreateIsNotNull(b.CreateAnd(control, flush)), is_set, sets);
  b.SetInsertPoint(is_set);
  b.CreateCall(entry, arguments);
  b.CreateRetVoid();
  b.SetInsertPoint(sets);
  b.CreateStore(b.CreateOr(control, flush), own);
  b.CreateIntrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {}, {own});
  b.CreateCall(entry, arguments);
  b.CreateIntrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {}, {saved});
  b.CreateRetVoid();
}

void DeclareFlushing(llvm::Function& function) {
  if (!function.isIntrinsic()) function.addFnAttr("denormal-fp-math-f32", "preserve-sign,ieee");
}

}  // namespace ptx2cpu::lowering
