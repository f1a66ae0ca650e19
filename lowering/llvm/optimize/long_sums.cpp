#include "lowering/llvm/optimize/long_sums.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include "lowering/llvm/optimize/preserved.h"

namespace ptx2cpu::lowering {
namespace {

constexpr size_t kLong = 1000;      // instructions of a block
constexpr unsigned kMaxTerms = 32;  // of a sum

using Terms = llvm::DenseMap<const llvm::Value*, unsigned>;  // of a block's values of several

// As scalar evolution has it: a factor multiplies each term, conversions convert each; "and" and "or" of
// single bits are minima and maxima, whose terms count as those of sums do.
unsigned TermsOf(const llvm::Instruction& inst, const Terms& terms) {
  const auto of = [&](unsigned operand) -> unsigned {
    const llvm::Value* value = inst.getOperand(operand);
    if (llvm::isa<llvm::Constant>(value)) return 0;
    const auto known = terms.find(value);
    return known == terms.end() ? 1 : known->second;
  };
  if (inst.isCast()) return of(0);
  const unsigned op = inst.getOpcode();
  const bool is_bit = inst.getType()->isIntegerTy(1);
  if (is_bit && op == llvm::Instruction::Select) return of(0) + of(1) + of(2);
  if (is_bit && op == llvm::Instruction::Xor) return of(0) + of(1);
  if (is_bit && (op == llvm::Instruction::And || op == llvm::Instruction::Or)) return of(0) + of(1);
  if (llvm::isa<llvm::MinMaxIntrinsic>(inst)) return of(0) + of(1);
  const bool is_scaled = (op == llvm::Instruction::Mul || op == llvm::Instruction::Shl) &&
                         llvm::isa<llvm::Constant>(inst.getOperand(1));
  if (is_scaled) return of(0);
  const auto* disjoint = llvm::dyn_cast<llvm::PossiblyDisjointInst>(&inst);
  const bool is_sum = op == llvm::Instruction::Add || op == llvm::Instruction::Sub ||
                      (disjoint != nullptr && disjoint->isDisjoint());
  return is_sum ? of(0) + of(1) : 1;  // 1: a value of its own to scalar evolution
}

bool Cut(llvm::BasicBlock& block) {
  bool changed = false;
  Terms terms;
  for (auto at = block.begin(); at != block.end(); ++at) {
    if (!at->getType()->isIntegerTy()) continue;
    const unsigned number = TermsOf(*at, terms);
    if (number <= kMaxTerms) {
      if (number > 1) terms[&*at] = number;
      continue;
    }
    auto* unknown = new llvm::FreezeInst(&*at, "", std::next(at));
    at->replaceUsesWithIf(unknown, [&](const llvm::Use& use) { return use.getUser() != unknown; });
    unknown->setDebugLoc(at->getDebugLoc());
    ++at;
    changed = true;
  }
  return changed;
}

bool CutAll(llvm::Function& function) {
  bool changed = false;
  for (llvm::BasicBlock& block : function) {
    if (block.size() >= kLong) changed |= Cut(block);
  }
  return changed;
}

class CutBeforeCode final : public llvm::FunctionPass {
 public:
  static char id;
  CutBeforeCode() : FunctionPass(id) {}
  llvm::StringRef getPassName() const override { return "Cut long sums"; }
  bool runOnFunction(llvm::Function& function) override { return CutAll(function); }
};
char CutBeforeCode::id = 0;

}  // namespace

llvm::FunctionPass* CreateCutLongSums() { return new CutBeforeCode; }

llvm::PreservedAnalyses CutLongSums::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  return PreservedWithBlocks(CutAll(function));
}

}  // namespace ptx2cpu::lowering
