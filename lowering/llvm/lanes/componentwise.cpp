// Records whose elements are computed alike from the elements of other records: vectors, colours and complex
// numbers with the same operation for each component. They are computed in the order in which memory has
// them, and need no permutation.
//
//   x, y = divide(load p) ; u, v = divide(load q)         r = load p ; s = load q
//   a = x + t * u ; b = y + t * v                     ->  store r + t * s
//   store make(a, b)
//
// What is the same in all lanes and all components is that in the whole record, too. The elements are still
// computed where something else reads them.
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;
using Values = std::vector<Value>;

namespace {

constexpr int kMaxOperations = 24;  // on whole records

}  // namespace

class Componentwise {
 public:
  Componentwise(llvm::IRBuilder<>& b, const LaneRecords::Elements& elements, unsigned lanes)
      : b_(b), elements_(elements), lanes_(lanes) {}

  // The records with these elements; null: they are not computed alike, or not from records. A record has two
  // or four: of three, more is lost by vectors that no machine has than permutations cost.
  Value Of(const Values& parts) {
    if (parts.size() == 3 || !Fits(parts) || loads_ == 0) return nullptr;
    Values pieces;
    for (piece_ = 0; piece_ < parts.size(); ++piece_) pieces.push_back(Make(parts));
    return Concatenate(b_, std::move(pieces));
  }

 private:
  Value WholeOf(const Values& parts) const {
    Value whole = nullptr;
    for (size_t k = 0; k < parts.size(); ++k) {
      const auto found = elements_.find(parts[k]);
      if (found == elements_.end() || found->second.number != k || found->second.count != parts.size())
        return {};
      if (whole != nullptr && found->second.whole != whole) return {};
      whole = found->second.whole;
    }
    return whole;
  }

  // Whether the elements were loaded so on the first of two ways, and each for itself on the other, where
  // lanes are missing. At the head of a loop the second way would make a record in each trip.
  bool IsMeeting(const Values& parts) const {
    const auto* first = llvm::dyn_cast<llvm::PHINode>(parts[0]);
    if (first == nullptr || first->getNumIncomingValues() != 2) return false;
    for (Value part : parts) {
      const auto* phi = llvm::dyn_cast<llvm::PHINode>(part);
      if (phi == nullptr || phi->getParent() != first->getParent()) return false;
      if (phi->getIncomingBlock(0) != first->getIncomingBlock(0)) return false;
    }
    return WholeOf(Incoming(parts, 0)) != nullptr &&
           !llvm::isPotentiallyReachable(first->getParent(), first->getIncomingBlock(1));
  }

  static Values Incoming(const Values& parts, unsigned number) {
    Values incoming;
    for (Value part : parts) incoming.push_back(llvm::cast<llvm::PHINode>(part)->getIncomingValue(number));
    return incoming;
  }

  Value PieceOf(Value whole) {
    llvm::SmallVector<int, 64> from;
    for (unsigned i = 0; i < lanes_; ++i) from.push_back(static_cast<int>(piece_ * lanes_ + i));
    return b_.CreateShuffleVector(whole, from);
  }

  Value MakeMeeting(const Values& parts) {
    const llvm::IRBuilder<>::InsertPointGuard guard(b_);
    auto* first = llvm::cast<llvm::PHINode>(parts[0]);
    b_.SetInsertPoint(first->getIncomingBlock(0)->getTerminator());
    Value whole = PieceOf(WholeOf(Incoming(parts, 0)));
    b_.SetInsertPoint(first->getIncomingBlock(1)->getTerminator());
    Value& in_turn = in_turn_[parts];
    if (in_turn == nullptr) in_turn = InTurn(b_, Incoming(parts, 1));
    Value otherwise = PieceOf(in_turn);
    b_.SetInsertPoint(first);
    llvm::PHINode* phi = b_.CreatePHI(whole->getType(), 2);
    phi->addIncoming(whole, first->getIncomingBlock(0));
    phi->addIncoming(otherwise, first->getIncomingBlock(1));
    return phi;
  }

  // What all lanes of all parts are.
  static Value SameOf(const Values& parts) {
    Value same = llvm::getSplatValue(parts[0]);
    const bool all = same != nullptr && std::ranges::all_of(parts, [&](Value part) {
                       return llvm::getSplatValue(part) == same;
                     });
    return all ? same : nullptr;
  }

  // Instructions that do the same with their operands, lane by lane.
  static bool IsOperation(const Values& parts) {
    const auto* first = llvm::dyn_cast<llvm::Instruction>(parts[0]);
    if (first == nullptr) return false;
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(first);
    const bool simple =
        llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator, llvm::CmpInst, llvm::CastInst, llvm::SelectInst>(
            first) ||
        (call != nullptr && llvm::isTriviallyVectorizable(call->getIntrinsicID()));
    return simple && std::ranges::all_of(parts, [&](Value part) {
             const auto* other = llvm::dyn_cast<llvm::Instruction>(part);
             return other != nullptr && other->isSameOperationAs(first) &&
                    other->hasSameSubclassOptionalData(first);
           });
  }

  static unsigned OperandsOf(const llvm::Instruction& inst) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&inst);
    return call != nullptr ? call->arg_size() : inst.getNumOperands();
  }

  static Values Operands(const Values& parts, unsigned number) {
    Values operands;
    for (Value part : parts) operands.push_back(llvm::cast<llvm::Instruction>(part)->getOperand(number));
    return operands;
  }

  bool Fits(const Values& parts) {
    const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(parts[0]->getType());
    if (type == nullptr || type->getNumElements() != lanes_) return false;
    if (WholeOf(parts) != nullptr || IsMeeting(parts)) return ++loads_, true;
    if (SameOf(parts) != nullptr) return true;
    if (!IsOperation(parts) || ++operations_ > kMaxOperations) return false;
    const auto& first = *llvm::cast<llvm::Instruction>(parts[0]);
    for (unsigned n = 0; n < OperandsOf(first); ++n) {
      if (!Fits(Operands(parts, n))) return false;
    }
    return true;
  }

  Value Make(const Values& parts) {
    const auto made = made_.find({piece_, parts});
    if (made != made_.end()) return made->second;
    Value piece = nullptr;
    if (Value whole = WholeOf(parts)) {
      piece = PieceOf(whole);
    } else if (Value same = SameOf(parts)) {
      piece = b_.CreateVectorSplat(lanes_, same);
    } else {
      piece = IsMeeting(parts) ? MakeMeeting(parts) : Compute(parts);
    }
    return made_[{piece_, parts}] = piece;
  }

  Value Compute(const Values& parts) {
    auto* first = llvm::cast<llvm::Instruction>(parts[0]);
    Values operands;
    for (unsigned n = 0; n < OperandsOf(*first); ++n) operands.push_back(Make(Operands(parts, n)));
    llvm::Type* type = first->getType();
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(first))
      return b_.CreateIntrinsic(type, call->getIntrinsicID(), operands, call);
    if (auto* cast = llvm::dyn_cast<llvm::CastInst>(first))
      return b_.CreateCast(cast->getOpcode(), operands[0], type);
    if (auto* compare = llvm::dyn_cast<llvm::CmpInst>(first))
      return Flagged(b_.CreateCmp(compare->getPredicate(), operands[0], operands[1]), first);
    if (llvm::isa<llvm::SelectInst>(first)) return b_.CreateSelect(operands[0], operands[1], operands[2]);
    if (auto* unary = llvm::dyn_cast<llvm::UnaryOperator>(first))
      return Flagged(b_.CreateUnOp(unary->getOpcode(), operands[0]), first);
    auto* binary = llvm::cast<llvm::BinaryOperator>(first);
    return Flagged(b_.CreateBinOp(binary->getOpcode(), operands[0], operands[1]), first);
  }

  static Value Flagged(Value made, const llvm::Instruction* like) {
    if (auto* inst = llvm::dyn_cast<llvm::Instruction>(made)) inst->copyIRFlags(like);
    return made;
  }

  llvm::IRBuilder<>& b_;
  const LaneRecords::Elements& elements_;
  const unsigned lanes_;
  int operations_ = 0, loads_ = 0;
  size_t piece_ = 0;
  std::map<std::pair<size_t, Values>, Value> made_;
  std::map<Values, Value> in_turn_;
};

void LaneRecords::NoteElements(const ir::Inst& load, Value whole) {
  const auto count = static_cast<unsigned>(load.results.size());
  for (unsigned k = 0; k < count; ++k) elements_[e.values.Get(load.results[k])] = {whole, k, count};
}

Value LaneRecords::InOrderOfMemory(const ir::Inst& store) {
  Values parts;
  for (size_t k = 1; k < store.operands.size(); ++k) parts.push_back(Vector(e.values.Get(store.operands[k])));
  return Componentwise(b, elements_, width_).Of(parts);
}

}  // namespace ptx2cpu::lowering
