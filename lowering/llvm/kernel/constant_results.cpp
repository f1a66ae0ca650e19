#include "lowering/llvm/kernel/constant_results.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace ptx2cpu::lowering {

namespace {

// The constants that an element of a value may be, as words: none, some, or any.
struct Numbers {
  bool any = false;
  std::vector<uint32_t> words;  // ascending

  bool IsNone() const { return !any && words.empty(); }
  // Whether it has grown.
  bool Add(uint32_t word) {
    constexpr size_t kMaxWords = 8;
    const auto at = std::ranges::lower_bound(words, word);
    if (any || (at != words.end() && *at == word)) return false;
    words.insert(at, word);
    if (words.size() > kMaxWords) return AddAny();
    return true;
  }
  bool AddAny() {
    words.clear();
    return !std::exchange(any, true);
  }
  bool Add(const Numbers& others) {
    if (others.any) return AddAny();
    bool grown = false;
    for (const uint32_t word : others.words) grown |= Add(word);
    return grown;
  }
};

constexpr double kLeastNormal = 0x1p-126;
bool IsTiny(double result) { return result != 0 && std::abs(result) <= kLeastNormal; }

class ConstantResults {
 public:
  explicit ConstantResults(llvm::Function& f) : f_(f) {}

  void Run() {
    if (std::ranges::none_of(llvm::instructions(f_), Rounds)) return;
    Solve();
    std::vector<llvm::Instruction*> found;
    for (llvm::Instruction& inst : llvm::instructions(f_))
      if (Rounds(inst) && MayBeTiny(inst)) found.push_back(&inst);
    for (llvm::Instruction* inst : found) {
      llvm::IRBuilder<> b(inst);
      llvm::Value* operand = inst->getOperand(0);
      inst->setOperand(0,
                       b.CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {operand->getType()}, {operand}));
    }
  }

 private:
  static bool IsFloat(const llvm::Type* type) { return type->getScalarType()->isFloatTy(); }
  static bool IsWord(const llvm::Type* type) {
    return IsFloat(type) || type->getScalarType()->isIntegerTy(32);
  }
  static bool IsFma(const llvm::Instruction& inst) {
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&inst);
    return call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::fma;
  }
  // Sums of normal numbers are exact where they are subnormal, and LLVM flushes these.
  static bool Rounds(const llvm::Instruction& inst) {
    return IsFloat(inst.getType()) && (inst.getOpcode() == llvm::Instruction::FMul ||
                                       inst.getOpcode() == llvm::Instruction::FDiv || IsFma(inst));
  }

  void Solve() {
    for (llvm::Argument& argument : f_.args())
      if (f_.hasLocalLinkage() && IsWord(argument.getType())) of_[&argument].AddAny();
    for (bool changed = true; changed;) {
      changed = false;
      for (llvm::Instruction& inst : llvm::instructions(f_)) changed |= Visit(inst);
    }
  }

  bool Visit(llvm::Instruction& inst) {
    if (const auto* compare = llvm::dyn_cast<llvm::CmpInst>(&inst)) return Compare(*compare);
    const bool grown = inst.mayWriteToMemory() && Store(inst);
    if (inst.getType()->isVoidTy() || inst.getType()->isPtrOrPtrVectorTy()) return grown;
    Numbers& own = of_[&inst];
    if (own.any) return grown;
    if (inst.mayReadFromMemory()) return Load(inst, own) || grown;
    constexpr unsigned kMoves[] = {llvm::Instruction::PHI,           llvm::Instruction::Select,
                                   llvm::Instruction::Freeze,        llvm::Instruction::BitCast,
                                   llvm::Instruction::ShuffleVector, llvm::Instruction::InsertElement,
                                   llvm::Instruction::ExtractElement};
    const bool moves = std::ranges::find(kMoves, inst.getOpcode()) != std::end(kMoves);
    return moves ? Union(inst, own) : Compute(inst, own);
  }

  // The function's own variables, which LLVM makes registers.
  static const llvm::Value* VariableOf(const llvm::Value& pointer) {
    if (!pointer.getType()->isPointerTy()) return nullptr;
    const llvm::Value* object = llvm::getUnderlyingObject(&pointer);
    return llvm::isa<llvm::AllocaInst>(object) ? object : nullptr;
  }
  bool Store(const llvm::Instruction& inst) {
    bool grown = false;
    for (const llvm::Value* pointer : inst.operand_values()) {
      const llvm::Value* variable = VariableOf(*pointer);
      if (variable == nullptr) continue;
      for (const llvm::Value* value : inst.operand_values()) {
        const Numbers numbers = Of(*value);
        if (!value->getType()->isPtrOrPtrVectorTy()) grown |= stored_[variable].Add(numbers);
      }
    }
    return grown;
  }
  bool Load(const llvm::Instruction& inst, Numbers& own) {
    bool grown = false;
    for (const llvm::Value* pointer : inst.operand_values())
      if (const llvm::Value* variable = VariableOf(*pointer)) grown |= own.Add(stored_[variable]);
    return grown;
  }

  bool Union(const llvm::Instruction& inst, Numbers& own) {
    bool grown = false;
    const bool is_word = IsWord(inst.getType());
    const bool is_select = inst.getOpcode() == llvm::Instruction::Select;
    for (const llvm::Use& use : inst.operands()) {
      if (is_select && use.getOperandNo() == 0) continue;
      const bool is_index = use->getType()->isIntegerTy() && !inst.getType()->isIntegerTy() &&
                            inst.getOpcode() != llvm::Instruction::BitCast;
      if (is_index) continue;
      const Numbers& numbers = Of(*use);
      if (!numbers.IsNone()) grown |= is_word && IsWord(use->getType()) ? own.Add(numbers) : own.AddAny();
    }
    return grown;
  }

  // What is computed of constants alone.
  bool Compute(const llvm::Instruction& inst, Numbers& own) {
    if (inst.getNumOperands() == 0) return false;
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&inst);
    const auto operands = call != nullptr ? call->args() : llvm::make_range(inst.op_begin(), inst.op_end());
    for (const llvm::Use& use : operands)
      if (Of(*use).IsNone()) return false;
    bool grown = false;
    const bool is_known =
        Rounds(inst) || (IsFloat(inst.getType()) && (inst.getOpcode() == llvm::Instruction::FAdd ||
                                                     inst.getOpcode() == llvm::Instruction::FSub ||
                                                     inst.getOpcode() == llvm::Instruction::FNeg));
    if (!is_known) return own.AddAny();
    const bool all = ForEach(inst, [&](double result) {
      const float rounded = IsTiny(result) ? 0 : static_cast<float>(result);
      grown |= own.Add(std::bit_cast<uint32_t>(rounded));
    });
    return all ? grown : own.AddAny();
  }

  bool MayBeTiny(const llvm::Instruction& inst) {
    const unsigned count = IsFma(inst) ? 3 : 2;
    for (unsigned n = 0; n < count; ++n)
      if (Of(*inst.getOperand(n)).IsNone()) return false;
    bool tiny = false;
    const bool all = ForEach(inst, [&](double result) { tiny |= IsTiny(result); });
    return tiny || !all;
  }

  // Calls `use` with the result of all combinations, which may be rounded beyond 53 bits. False where there
  // are too many.
  template <typename Use>
  bool ForEach(const llvm::Instruction& inst, const Use& use) {
    const unsigned count = IsFma(inst) ? 3 : inst.getOpcode() == llvm::Instruction::FNeg ? 1 : 2;
    std::vector<uint32_t> words[3] = {{0}, {0}, {0}};
    for (unsigned n = 0; n < count; ++n) {
      const Numbers numbers = Of(*inst.getOperand(n));
      if (numbers.any) return false;
      words[n] = numbers.words;
    }
    const auto number = [](uint32_t word) { return static_cast<double>(std::bit_cast<float>(word)); };
    for (const uint32_t x : words[0]) {
      for (const uint32_t y : words[1]) {
        for (const uint32_t z : words[2]) use(ResultOf(inst, number(x), number(y), number(z)));
      }
    }
    return true;
  }
  static double ResultOf(const llvm::Instruction& inst, double x, double y, double z) {
    const unsigned op = inst.getOpcode();
    if (op == llvm::Instruction::FAdd) return x + y;
    if (op == llvm::Instruction::FSub) return x - y;
    if (op == llvm::Instruction::FNeg) return -x;
    if (op == llvm::Instruction::FDiv) return x / y;
    if (op == llvm::Instruction::FMul) return x * y;
    return std::fma(x, y, z);
  }

  // Where both are equal, LLVM may use the constant for the other.
  bool Compare(const llvm::CmpInst& compare) {
    bool grown = false;
    for (const unsigned n : {0u, 1u}) {
      const llvm::Value& value = *compare.getOperand(n);
      if (llvm::isa<llvm::Constant>(value) || !IsWord(value.getType())) continue;
      if (const auto* constant = llvm::dyn_cast<llvm::Constant>(compare.getOperand(1 - n)))
        grown |= of_[&value].Add(Of(*constant));
    }
    return grown;
  }

  Numbers Of(const llvm::Value& value) const {
    Numbers numbers;
    if (const auto* constant = llvm::dyn_cast<llvm::Constant>(&value)) {
      if (value.getType()->isPtrOrPtrVectorTy() || llvm::isa<llvm::Function>(value)) return numbers;
      AddWords(*constant, numbers);
      return numbers;
    }
    const auto found = of_.find(&value);
    return found == of_.end() ? numbers : found->second;
  }
  static void AddWords(const llvm::Constant& constant, Numbers& numbers) {
    if (llvm::isa<llvm::UndefValue>(constant)) return;
    if (constant.isNullValue()) {
      numbers.Add(0u);
    } else if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(constant.getType())) {
      for (unsigned n = 0; n < vector->getNumElements(); ++n) {
        const llvm::Constant* element = constant.getAggregateElement(n);
        if (element == nullptr)
          numbers.AddAny();
        else
          AddWords(*element, numbers);
      }
    } else if (const auto* number = llvm::dyn_cast<llvm::ConstantFP>(&constant);
               number != nullptr && number->getType()->isFloatTy()) {
      numbers.Add(static_cast<uint32_t>(number->getValueAPF().bitcastToAPInt().getZExtValue()));
    } else if (const auto* word = llvm::dyn_cast<llvm::ConstantInt>(&constant);
               word != nullptr && word->getBitWidth() == 32) {
      numbers.Add(static_cast<uint32_t>(word->getZExtValue()));
    } else {
      numbers.AddAny();
    }
  }

  llvm::Function& f_;
  llvm::DenseMap<const llvm::Value*, Numbers> of_;
  llvm::DenseMap<const llvm::Value*, Numbers> stored_;  // by variable
};

}  // namespace

void FenceConstantResults(llvm::Function& function) {
  if (!function.isDeclaration()) ConstantResults(function).Run();
}

}  // namespace ptx2cpu::lowering
