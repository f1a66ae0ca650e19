#include "lowering/llvm/module/widen.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <map>

namespace ptx2cpu::lowering {

namespace {

constexpr const char* kMark = ".on_vectors_of_";

llvm::Type* Widened(llvm::Type* type, unsigned width) { return llvm::FixedVectorType::get(type, width); }

class Widener {
 public:
  Widener(llvm::Function& wide, const llvm::Function& scalar, unsigned width)
      : scalar_(scalar), width_(width), b_(llvm::BasicBlock::Create(wide.getContext(), "", &wide)) {
    for (unsigned i = 0; i < scalar.arg_size(); ++i) made_[scalar.getArg(i)] = wide.getArg(i);
  }

  Status Run() {
    if (scalar_.size() != 1) return Fail(ErrorCode::kInternal, Name() + " has branches");
    for (const llvm::Instruction& inst : scalar_.front()) {
      if (const auto* end = llvm::dyn_cast<llvm::ReturnInst>(&inst)) {
        b_.CreateRet(Of(end->getReturnValue()));
        return {};
      }
      llvm::Value* made = Make(inst);
      if (made == nullptr)
        return Fail(ErrorCode::kInternal, Name() + " has no form on vectors: " + inst.getOpcodeName());
      if (auto* as_inst = llvm::dyn_cast<llvm::Instruction>(made)) as_inst->copyIRFlags(&inst);
      made_[&inst] = made;
    }
    return Fail(ErrorCode::kInternal, Name() + " does not return");
  }

 private:
  std::string Name() const { return scalar_.getName().str(); }

  llvm::Value* Of(const llvm::Value* value) {
    if (const auto* constant = llvm::dyn_cast<llvm::Constant>(value))
      return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(width_),
                                            const_cast<llvm::Constant*>(constant));
    return made_.at(value);
  }

  llvm::Value* Make(const llvm::Instruction& inst) {
    if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&inst)) return Call(*call);
    auto operand = [&](unsigned number) { return Of(inst.getOperand(number)); };
    if (const auto* op = llvm::dyn_cast<llvm::BinaryOperator>(&inst))
      return b_.CreateBinOp(op->getOpcode(), operand(0), operand(1));
    if (const auto* op = llvm::dyn_cast<llvm::UnaryOperator>(&inst))
      return b_.CreateUnOp(op->getOpcode(), operand(0));
    if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&inst))
      return b_.CreateCast(cast->getOpcode(), operand(0), Widened(cast->getDestTy(), width_));
    if (const auto* cmp = llvm::dyn_cast<llvm::CmpInst>(&inst))
      return b_.CreateCmp(cmp->getPredicate(), operand(0), operand(1));
    if (llvm::isa<llvm::SelectInst>(inst)) return b_.CreateSelect(operand(0), operand(1), operand(2));
    if (llvm::isa<llvm::FreezeInst>(inst)) return b_.CreateFreeze(operand(0));
    return nullptr;
  }

  llvm::Value* Call(const llvm::IntrinsicInst& call) {
    const llvm::Intrinsic::ID id = call.getIntrinsicID();
    if (!llvm::isTriviallyVectorizable(id)) return nullptr;
    std::vector<llvm::Value*> operands;
    for (unsigned i = 0; i < call.arg_size(); ++i) {
      llvm::Value* scalar = call.getArgOperand(i);
      operands.push_back(llvm::isVectorIntrinsicWithScalarOpAtArg(id, i) ? scalar : Of(scalar));
    }
    return b_.CreateIntrinsic(Widened(call.getType(), width_), id, operands);
  }

  const llvm::Function& scalar_;
  const unsigned width_;
  llvm::IRBuilder<> b_;
  std::map<const llvm::Value*, llvm::Value*> made_;
};

}  // namespace

llvm::Function* DeclareWidened(llvm::Module& module, const llvm::Function& scalar, unsigned width) {
  const std::string name = scalar.getName().str() + kMark + std::to_string(width);
  if (llvm::Function* known = module.getFunction(name)) return known;
  std::vector<llvm::Type*> parameters;
  for (const llvm::Argument& argument : scalar.args())
    parameters.push_back(Widened(argument.getType(), width));
  auto* type = llvm::FunctionType::get(Widened(scalar.getReturnType(), width), parameters, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  function->setDoesNotThrow();
  return function;
}

Status DefineWidened(llvm::Module& module) {
  for (llvm::Function& function : module) {
    const auto [name, width] = function.getName().split(kMark);
    if (width.empty() || !function.isDeclaration()) continue;
    const llvm::Function* scalar = module.getFunction(name);
    CHECK(scalar != nullptr && !scalar->isDeclaration(), name.str());
    TRY_STATUS(Widener(function, *scalar,
                       llvm::cast<llvm::FixedVectorType>(function.getReturnType())->getNumElements())
                   .Run());
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  return {};
}

}  // namespace ptx2cpu::lowering
