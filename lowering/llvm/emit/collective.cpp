// Collectives. Warp-level code acts for 32 lanes: predicates become bits of a word,
// values that cross lanes go through the functions of runtime/warp, which are inlined.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "lowering/llvm/emit/lane_bits.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using ir::AtomicOp;
using ir::Level;
using Value = llvm::Value*;
namespace intrinsic = llvm::Intrinsic;

namespace {

// -- moves between vectors and arrays --

Value Store(Site& s, Value value) {
  llvm::Type* element = value->getType()->getScalarType();
  llvm::AllocaInst* array = s.e.body.ScratchOf(s.inst, element, kWarpSize);
  s.b.CreateAlignedStore(Broadcast(s.b, value, kWarpSize), array, llvm::Align(64));
  return array;
}
// For what a function of runtime/warp writes, register by register. Without a value of its whole, what it
// held before the first part would be alive from the kernel's begin on, around each loop.
llvm::AllocaInst* ForResults(Site& s, llvm::Type* element) {
  llvm::AllocaInst* array = s.e.body.ScratchOf(s.inst, element, kWarpSize);
  s.b.CreateAlignedStore(llvm::Constant::getNullValue(llvm::FixedVectorType::get(element, kWarpSize)), array,
                         llvm::Align(64));
  return array;
}
Value Load(Site& s, llvm::AllocaInst* array) {
  llvm::Type* element = llvm::cast<llvm::ArrayType>(array->getAllocatedType())->getElementType();
  return s.b.CreateAlignedLoad(llvm::FixedVectorType::get(element, kWarpSize), array, llvm::Align(64));
}

}  // namespace

namespace {

// -- members --

struct Members {
  Value live;  // i32
  Value mask;  // i32, or <32 x i32> when lanes name different ones
  bool uniform() const { return !mask->getType()->isVectorTy(); }
  // The lanes that take part: the live lanes of each lane's mask.
  Value Taking(Site& s) const {
    return s.b.CreateAnd(mask, uniform() ? live : Broadcast(s.b, live, kWarpSize));
  }
};

// The mask of each lane where it is known and they divide the warp into tiles; else null.
Value KnownTiles(Site& s, size_t mask_operand) {
  const std::optional<analysis::WordPerLane> masks = s.e.lane_words.Of(s.inst.operands[mask_operand]);
  if (!masks || !analysis::AreTiles(*masks)) return nullptr;
  return llvm::ConstantDataVector::get(s.e.m.context, *masks);
}

void FaultOf(Site& s, Value lanes, uint32_t kind) {
  s.e.body.Fault(NonZero(s, lanes), kind, ThreadOf(s, FirstLane(s, lanes)), s.inst.at);
}

// The check where lanes name different masks.
Value CheckEachMask(Site& s, const Members& members, Value parked) {
  llvm::AllocaInst* same = ForResults(s, s.e.I(32));
  Value masks = Store(s, members.mask), everyone = Store(s, s.b.getInt32(~0u));
  llvm::CallInst* match =
      s.b.CreateCall(s.e.m.Service("ptx2cpu_warp_match_any_b32"), {same, masks, everyone, members.live});
  match->addFnAttr(llvm::Attribute::NoInline);  // rarely called
  Value live = Broadcast(s.b, members.live, kWarpSize), alike = Load(s, same);
  Value own = NonZero(s, s.b.CreateAnd(s.b.CreateLShr(members.mask, Lane(s.e)), Literal(members.mask, 1)));
  FaultOf(s, s.b.CreateAnd(Bits(s, s.b.CreateNot(own)), members.live), PTX2CPU_FAULT_NOT_A_MEMBER);
  Value missing = s.b.CreateAnd(s.b.CreateAnd(members.mask, live), s.b.CreateNot(alike));
  if (parked != nullptr)
    missing = s.b.CreateOr(missing, s.b.CreateAnd(members.mask, Broadcast(s.b, parked, kWarpSize)));
  FaultOf(s, s.b.CreateAnd(Bits(s, NonZero(s, missing)), members.live), PTX2CPU_FAULT_MISSING_MEMBERS);
  return members.mask;
}

// All live lanes of the warp are here. When they name one mask, the lanes in it do not matter: as on a GPU,
// all of them run together, even those that are not in it. When they name different ones, a lane that is not
// in its own is a fault, and a member can be missing; it can also wait at the other arm of a divergent
// branch. Returns the masks that hold.
Value CheckMembers(Site& s, const Members& members) {
  Value parked = s.e.f.parked_slot == ~0u ? nullptr : ParkedMask(s.e);
  if (members.uniform()) {
    if (parked != nullptr) FaultOf(s, s.b.CreateAnd(members.mask, parked), PTX2CPU_FAULT_MISSING_MEMBERS);
    return members.live;
  }
  // Usually they name one mask, although that is not known. If no lane is live, any mask will do.
  const Value lane = s.b.CreateAnd(FirstLane(s, members.live), kWarpSize - 1);
  const Value first = s.b.CreateExtractElement(members.mask, lane);
  const Value like_first = Bits(s, s.b.CreateICmpEQ(members.mask, Broadcast(s.b, first, kWarpSize)));
  const Value different = s.b.CreateAnd(s.b.CreateNot(like_first), members.live);
  llvm::BasicBlock *one = s.e.body.NewBlock("one_mask"), *several = s.e.body.NewBlock("several_masks"),
                   *after = s.e.body.NewBlock("masks_checked");
  s.b.CreateCondBr(NonZero(s, different), several, one);
  s.b.SetInsertPoint(several);
  const Value of_each = CheckEachMask(s, members, parked);
  several = s.b.GetInsertBlock();
  s.b.CreateBr(after);
  s.b.SetInsertPoint(one);
  if (parked != nullptr) FaultOf(s, s.b.CreateAnd(first, parked), PTX2CPU_FAULT_MISSING_MEMBERS);
  const Value of_all = Broadcast(s.b, members.live, kWarpSize);
  one = s.b.GetInsertBlock();
  s.b.CreateBr(after);
  s.b.SetInsertPoint(after);
  llvm::PHINode* holds = s.b.CreatePHI(of_each->getType(), 2);
  holds->addIncoming(of_each, several);
  holds->addIncoming(of_all, one);
  return holds;
}

Result<Members> MembersOf(Site& s, size_t mask_operand) {
  if (s.e.step->level != Level::kWarp)
    return s.Broken("is at " + std::string(Name(s.e.step->level)) + " level");
  Members members{LiveMask(s.e, s.e.step->warp), nullptr};
  // Where lanes suspend on their own, the scheduler that resumes them has grouped those with one mask.
  const bool grouped = s.e.lanes_apart;
  if (grouped || s.Has(ir::kLegacy) || mask_operand >= s.inst.operands.size()) {
    members.mask = members.live;
    return members;
  }
  members.mask = s.Raw(mask_operand);
  Value tiles = members.uniform() ? nullptr : KnownTiles(s, mask_operand);
  if (tiles != nullptr && s.e.f.parked_slot == ~0u) {
    members.mask = tiles;  // no lane is outside its own, and all live ones are here
  } else {
    members.mask = CheckMembers(s, members);
  }
  return members;
}

// `result` of each lane: once when all lanes share the mask, else for every lane's own.
Status ForMasks(Site& s, const Members& members, const std::function<Value(Value taking)>& result) {
  Value taking = members.Taking(s);
  if (members.uniform()) {
    s.Return(result(taking));
    return {};
  }
  Value masks = Store(s, taking);
  llvm::AllocaInst* out = ForResults(s, s.e.m.MemoryTypeOf(s.e.TypeOf(s.inst.results[0])));
  llvm::Type* element = llvm::cast<llvm::ArrayType>(out->getAllocatedType())->getElementType();
  TRY_STATUS(s.e.body.Loop(s.b.getInt32(kWarpSize), "each_mask", [&](Value lane) {
    Value mask = s.b.CreateLoad(s.e.I(32), s.b.CreateInBoundsGEP(s.e.I(32), masks, lane));
    Value value = result(mask);
    s.b.CreateStore(s.b.CreateZExtOrBitCast(value, element), s.b.CreateInBoundsGEP(element, out, lane));
    return Status{};
  }));
  Value all = Load(s, out);
  s.Return(s.e.TypeOf(s.inst.results[0]) == ir::Type::kI1 ? NonZero(s, all) : all);
  return {};
}

// Votes need no loop: the masks are combined as words or as vectors of words.
Status Vote(Site& s, const std::function<Value(Value votes, Value taking)>& result) {
  Members members = TRY(MembersOf(s, 1));
  Value taking = members.Taking(s), votes = Bits(s, s.Raw(0));
  if (!members.uniform()) votes = Broadcast(s.b, votes, kWarpSize);
  s.Return(result(s.b.CreateAnd(votes, taking), taking));
  return {};
}

}  // namespace

Result<Value> LanesTaking(Site& s, size_t mask_operand) {
  const Members members = TRY(MembersOf(s, mask_operand));
  if (!members.uniform()) return s.Unsupported("lanes name different masks");
  return members.Taking(s);
}

Status EmitBarrierWarp(Site& s) {
  static_cast<void>(TRY(MembersOf(s, 0)));
  return {};
}

namespace {

// What a lane reads, and whether that lies within its segment (PTX, shfl.sync).
struct ShuffledLane {
  int from;
  bool in_range;
};
ShuffledLane LaneReadBy(ir::ShuffleMode mode, int lane, uint64_t operand, uint64_t clamp) {
  const int distance = static_cast<int>(operand & 31), segment = static_cast<int>(clamp >> 8 & 31);
  const int first = lane & segment, bound = first | (static_cast<int>(clamp & 31) & ~segment);
  const int other = mode == ir::ShuffleMode::kUp     ? lane - distance
                    : mode == ir::ShuffleMode::kDown ? lane + distance
                    : mode == ir::ShuffleMode::kBfly ? lane ^ distance
                                                     : first | (distance & ~segment);
  const bool in_range = mode == ir::ShuffleMode::kUp ? other >= bound : other <= bound;
  return {in_range ? other : lane, in_range};
}

// A lane of a value that is a constant.
const llvm::ConstantInt* ConstantOfLane(Value value, unsigned lane) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant != nullptr && constant->getType()->isVectorTy())
    constant = constant->getAggregateElement(lane);
  return llvm::dyn_cast_or_null<llvm::ConstantInt>(constant);
}

// LLVM moves what is computed between permutations through all of them: its time is that of their number
// squared.
constexpr unsigned kMaxPermutations = 64;

// Permutes where the translator knows which lanes are read: by one instruction of LLVM, of which a target
// makes the shortest sequence. False: it does not know them, or the function has many.
bool ShuffleByConstants(Site& s, Value given) {
  if (s.e.permutations == kMaxPermutations) return false;
  llvm::SmallVector<int, kWarpSize> from;
  llvm::SmallVector<llvm::Constant*, kWarpSize> in_range;
  const Value operand = s.Raw(1), clamp = s.Raw(2);
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const llvm::ConstantInt *by = ConstantOfLane(operand, lane), *within = ConstantOfLane(clamp, lane);
    if (by == nullptr || within == nullptr) return false;
    const ShuffledLane read =
        LaneReadBy(s.inst.attrs.shuffle, static_cast<int>(lane), by->getZExtValue(), within->getZExtValue());
    from.push_back(read.from);
    in_range.push_back(s.b.getInt1(read.in_range));
  }
  s.Return(llvm::ConstantVector::get(in_range), 1);
  s.Return(s.b.CreateShuffleVector(given, from), 0);
  ++s.e.permutations;
  return true;
}

}  // namespace

Status EmitShuffle(Site& s) {
  Members members = TRY(MembersOf(s, 3));
  if (s.inst.type != ir::Type::kI32) return s.Unsupported("only 32-bit values are exchanged");
  const char* function = nullptr;
  switch (s.inst.attrs.shuffle) {
    case ir::ShuffleMode::kIdx:
      function = "ptx2cpu_warp_shuffle_idx";
      break;
    case ir::ShuffleMode::kUp:
      function = "ptx2cpu_warp_shuffle_up";
      break;
    case ir::ShuffleMode::kDown:
      function = "ptx2cpu_warp_shuffle_down";
      break;
    case ir::ShuffleMode::kBfly:
      function = "ptx2cpu_warp_shuffle_bfly";
      break;
    case ir::ShuffleMode::kNone:
      return s.Broken("no mode");
  }
  // The value of a lane that does not participate is undefined in PTX; from lanes that have exited a GPU
  // gives 0, and programs add what comes from them.
  const Value taking = members.uniform() ? members.Taking(s) : members.live;
  const Value is_member = s.b.CreateBitCast(taking, llvm::FixedVectorType::get(s.b.getInt1Ty(), kWarpSize));
  const Value own = Broadcast(s.b, s.Raw(0), kWarpSize);
  const Value given = s.b.CreateSelect(is_member, own, llvm::Constant::getNullValue(own->getType()));
  if (ShuffleByConstants(s, given)) return {};
  llvm::AllocaInst *out = ForResults(s, s.e.I(32)), *in_range = ForResults(s, s.e.I(8));
  s.b.CreateCall(s.e.m.Service(function),
                 {out, in_range, Store(s, given), Store(s, s.Raw(1)), Store(s, s.Raw(2))});
  s.Return(NonZero(s, Load(s, in_range)), 1);
  s.Return(Load(s, out), 0);
  return {};
}

Status EmitVoteAll(Site& s) {
  return Vote(s, [&](Value votes, Value taking) { return s.b.CreateICmpEQ(votes, taking); });
}
Status EmitVoteAny(Site& s) {
  return Vote(s, [&](Value votes, Value) { return NonZero(s, votes); });
}
Status EmitVoteUni(Site& s) {
  return Vote(s, [&](Value votes, Value taking) {
    return s.b.CreateOr(s.b.CreateNot(NonZero(s, votes)), s.b.CreateICmpEQ(votes, taking));
  });
}
Status EmitBallot(Site& s) {
  return Vote(s, [](Value votes, Value) { return votes; });
}

Status EmitMatchAny(Site& s) {
  Members members = TRY(MembersOf(s, 1));
  if (s.Width() != 32 && s.Width() != 64) return s.Unsupported("only 32- and 64-bit values are compared");
  llvm::AllocaInst* out = ForResults(s, s.e.I(32));
  s.b.CreateCall(s.e.m.Service(s.Width() == 32 ? "ptx2cpu_warp_match_any_b32" : "ptx2cpu_warp_match_any_b64"),
                 {out, Store(s, s.Raw(0)), Store(s, members.mask), members.live});
  s.Return(Load(s, out));
  return {};
}

Status EmitMatchAll(Site& s) {
  Members members = TRY(MembersOf(s, 1));
  if (s.Width() != 32 && s.Width() != 64) return s.Unsupported("only 32- and 64-bit values are compared");
  llvm::AllocaInst *out = ForResults(s, s.e.I(32)), *all = ForResults(s, s.e.I(8));
  s.b.CreateCall(s.e.m.Service(s.Width() == 32 ? "ptx2cpu_warp_match_all_b32" : "ptx2cpu_warp_match_all_b64"),
                 {out, all, Store(s, s.Raw(0)), Store(s, members.mask), members.live});
  Value masks = Load(s, out), equal = NonZero(s, Load(s, all));
  if (members.uniform()) {  // then all live lanes have the same answer
    Value first = FirstLane(s, members.live);
    masks = s.b.CreateExtractElement(masks, first);
    equal = s.b.CreateExtractElement(equal, first);
  }
  s.Return(masks, 0);
  s.Return(equal, 1);
  return {};
}

namespace {
const char* ReductionOf(AtomicOp by) {
  switch (by) {
    case AtomicOp::kAdd:
      return "ptx2cpu_warp_reduce_add";
    case AtomicOp::kMinS:
      return "ptx2cpu_warp_reduce_min_s";
    case AtomicOp::kMinU:
      return "ptx2cpu_warp_reduce_min_u";
    case AtomicOp::kMaxS:
      return "ptx2cpu_warp_reduce_max_s";
    case AtomicOp::kMaxU:
      return "ptx2cpu_warp_reduce_max_u";
    case AtomicOp::kAnd:
      return "ptx2cpu_warp_reduce_and";
    case AtomicOp::kOr:
      return "ptx2cpu_warp_reduce_or";
    case AtomicOp::kXor:
      return "ptx2cpu_warp_reduce_xor";
    case AtomicOp::kFMin:
      return "ptx2cpu_warp_reduce_fmin";
    case AtomicOp::kFMax:
      return "ptx2cpu_warp_reduce_fmax";
    case AtomicOp::kNone:
    case AtomicOp::kInc:
    case AtomicOp::kDec:
    case AtomicOp::kExchange:
    case AtomicOp::kFAdd:
    case AtomicOp::kAddF16x2:
    case AtomicOp::kAddBF16x2:
    case AtomicOp::kMinF16x2:
    case AtomicOp::kMaxF16x2:
    case AtomicOp::kMinBF16x2:
    case AtomicOp::kMaxBF16x2:
    case AtomicOp::kMbarrier:
      break;
  }
  return nullptr;
}
}  // namespace

Status EmitRedux(Site& s) {
  Members members = TRY(MembersOf(s, 1));
  bool is_float = s.inst.type == ir::Type::kF32;
  if (s.inst.type != ir::Type::kI32 && !is_float) return s.Unsupported("only 32-bit values are reduced");
  const char* function = ReductionOf(s.inst.attrs.atomic);
  if (!function) return s.Broken("no reduction");
  Value values = Store(s, s.Raw(0));
  return ForMasks(s, members, [&](Value taking) {
    std::vector<Value> arguments{values, taking};
    if (is_float) {
      arguments.push_back(s.b.getInt32(s.Has(ir::kAbs)));
      arguments.push_back(s.b.getInt32(s.Has(ir::kPropagateNan)));
    }
    return s.b.CreateCall(s.e.m.Service(function), arguments);
  });
}

Status EmitActiveMask(Site& s) {
  s.Return(TRY(MembersOf(s, 0)).live);
  return {};
}

Status EmitElect(Site& s) {
  Members members = TRY(MembersOf(s, 0));
  Value leader = FirstLane(s, members.Taking(s)), lanes = Lane(s.e);
  s.Return(leader, 0);
  s.Return(s.b.CreateICmpEQ(lanes, Broadcast(s.b, leader, kWarpSize)), 1);
  return {};
}

// -- lanes that run --

Status EmitLiveMask(Site& s) {
  s.Return(LiveMask(s.e, s.e.step->warp));
  return {};
}

Status EmitSetLiveMask(Site& s) {
  if (s.Raw(0)->getType()->isVectorTy()) return s.Broken("lanes disagree on the mask");
  StoreLiveMask(s.e, s.e.step->warp, s.Raw(0));
  return {};
}

}  // namespace ptx2cpu::lowering
