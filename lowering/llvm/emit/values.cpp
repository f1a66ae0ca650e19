// Constants, symbols, special registers, moves between types.
#include <llvm/IR/Constants.h>

#include "lowering/llvm/emit/time.h"
#include "lowering/llvm/emit/warps.h"
#include "runtime/abi/abi.h"
#include "runtime/abi/joined_blocks.h"

namespace ptx2cpu::lowering {

using ir::Space;
using ir::Special;

namespace {

llvm::Constant* ConstantOf(llvm::Type* type, ir::Type ir_type, uint64_t bits) {
  llvm::LLVMContext& context = type->getContext();
  unsigned width = static_cast<unsigned>(ir::Bits(ir_type));
  llvm::APInt value(width, bits, /*isSigned=*/width > 64);
  if (ir_type == ir::Type::kF32)
    return llvm::ConstantFP::get(context, llvm::APFloat(llvm::APFloat::IEEEsingle(), value));
  if (ir_type == ir::Type::kF64)
    return llvm::ConstantFP::get(context, llvm::APFloat(llvm::APFloat::IEEEdouble(), value));
  return llvm::ConstantInt::get(context, value);
}

// A value as an integer of the same width and shape, and back.
llvm::Value* AsInteger(Site& s, llvm::Value* value, ir::Type type) {
  if (!value->getType()->isFPOrFPVectorTy()) return value;
  return s.b.CreateBitCast(value, ShapedLike(value, s.e.I(static_cast<unsigned>(ir::Bits(type)))));
}
llvm::Value* FromInteger(Site& s, llvm::Value* value, ir::Type type) {
  return s.b.CreateBitCast(value, ShapedLike(value, s.e.m.TypeOf(type)));
}

}  // namespace

Status EmitConst(Site& s) {
  unsigned width = s.Width();
  uint64_t bits = width < 64 ? s.inst.attrs.bits & ((uint64_t{1} << width) - 1) : s.inst.attrs.bits;
  s.Return(ConstantOf(s.e.m.TypeOf(s.inst.type), s.inst.type, bits));
  return {};
}

// Zero: an uninitialised register must not make LLVM's undefined values spread.
Status EmitUndef(Site& s) {
  s.Return(llvm::Constant::getNullValue(s.e.m.TypeOf(s.inst.type)));
  return {};
}

Status EmitSymbol(Site& s) {
  uint32_t index = s.inst.attrs.index;
  llvm::Type* word = s.e.I(64);
  if (s.inst.attrs.space == Space::kLocal) {
    s.Return(s.e.memory.LocalSymbol(s.e.f.locals[index].offset));
  } else if (s.inst.attrs.space == Space::kShared) {
    s.Return(llvm::ConstantInt::get(word, s.e.m.layout.shared_offset[index]));
  } else {
    s.Return(s.b.CreatePtrToInt(TRY(s.e.m.VariableAddress(index)), word));
  }
  return {};
}

Status EmitFunctionAddress(Site& s) {
  s.Return(s.b.CreatePtrToInt(TRY(s.e.m.FunctionAddress(s.inst.attrs.index)), s.e.I(64)));
  return {};
}

Status EmitParamBase(Site& s) {
  s.Return(s.b.CreatePtrToInt(s.e.body.Field(offsetof(ptx2cpu_block, params), s.b.getPtrTy(), "params"),
                              s.e.I(64)));
  return {};
}

Status EmitKernelNumber(Site& s) {
  constexpr unsigned kNumber = 3;  // after the arguments of a step
  const llvm::Function* function = s.e.body.function;
  if (s.e.f.entries.empty() || function->arg_size() <= kNumber) {
    s.Return(s.b.getInt32(0));
  } else {
    s.Return(function->getArg(kNumber));
  }
  return {};
}

namespace {

// x | y << 10 | z << 20, from the block's table.
llvm::Value* PackedThreadId(Site& s) {
  FunctionEmitter& e = s.e;
  llvm::Value* table = e.body.Field(offsetof(ptx2cpu_block, tid), s.b.getPtrTy(), "tid");
  llvm::Value* first =
      s.b.CreateInBoundsGEP(s.b.getInt32Ty(), table, s.b.CreateZExt(e.step->thread, s.b.getInt64Ty()));
  llvm::Type* type = e.step->width == 1 ? e.I(32) : llvm::FixedVectorType::get(e.I(32), e.step->width);
  auto* load = llvm::cast<llvm::LoadInst>(e.memory.Load(type, first, llvm::Align(4), Memory::kContext));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(e.m.context, {}));
  return load;
}

llvm::Value* ThreadIndex(Site& s, Special special) {
  FunctionEmitter& e = s.e;
  // Outside loops over threads a coordinate is read only where it is the same for all: that of the first
  // thread.
  if (e.step->level == ir::Level::kBlock) return s.b.getInt32(0);
  if (e.step->tid[0] != nullptr) {
    if (special == Special::kTidX) return Consecutive(s.b, e.step->tid[0], e.step->width);
    return e.step->tid[static_cast<int>(special) - static_cast<int>(Special::kTidX)];
  }
  if (e.one_dimensional) {
    if (special == Special::kTidX) return Thread(e);
    return s.b.getInt32(0);
  }
  llvm::Value* packed = PackedThreadId(s);
  if (special == Special::kTidZ) return s.b.CreateLShr(packed, Literal(packed, PTX2CPU_TID_Z_SHIFT));
  if (special == Special::kTidX)
    return s.b.CreateAnd(packed, Literal(packed, (1u << PTX2CPU_TID_Y_SHIFT) - 1));
  return s.b.CreateAnd(s.b.CreateLShr(packed, Literal(packed, PTX2CPU_TID_Y_SHIFT)),
                       Literal(packed, (1u << (PTX2CPU_TID_Z_SHIFT - PTX2CPU_TID_Y_SHIFT)) - 1));
}

// This lane's bit, and those of the lanes before it.
struct LaneBits {
  llvm::Value *own, *before;
};
LaneBits BitsOfLane(Site& s) {
  llvm::Value* lane = Lane(s.e);
  llvm::Value* own = s.b.CreateShl(Literal(lane, 1), lane);
  return {own, s.b.CreateSub(own, Literal(lane, 1))};
}

llvm::Value* SpecialValue(Site& s, Special special);

// Registers 1 and 2 are the high and low word of the address of the grid's workspace, 0 where there is none.
llvm::Value* EnvironmentRegister(Site& s) {
  const uint32_t number = s.inst.attrs.index;
  if (number != 1 && number != 2) return s.b.getInt32(0);
  llvm::Value* workspace =
      s.e.body.Field(offsetof(ptx2cpu_block, grid_workspace), s.e.I(64), "grid_workspace");
  return s.b.CreateTrunc(s.b.CreateLShr(workspace, number == 1 ? 32 : 0), s.e.I(32));
}

// A number of blocks as one of clusters.
llvm::Value* InClusters(Site& s, Special blocks, Special blocks_of_cluster) {
  return s.b.CreateUDiv(SpecialValue(s, blocks), SpecialValue(s, blocks_of_cluster));
}

llvm::Value* SpecialValue(Site& s, Special special) {
  FunctionEmitter& e = s.e;
  auto word = [&](size_t offset) { return e.body.Field(offset, e.I(32), Name(special).data()); };
  auto word_of = [&](size_t offset, Special first) {
    return word(offset + 4 * (static_cast<size_t>(special) - static_cast<size_t>(first)));
  };
  switch (special) {
    case Special::kTidX:
    case Special::kTidY:
    case Special::kTidZ:
      return ThreadIndex(s, special);
    case Special::kLaneId:
      return Lane(e);
    case Special::kWarpId:
      return e.step->level == ir::Level::kBlock ? s.b.getInt32(0) : e.step->warp;
    case Special::kLaneMaskEq:
      return BitsOfLane(s).own;
    case Special::kLaneMaskLt:
      return BitsOfLane(s).before;
    case Special::kLaneMaskLe: {
      const LaneBits bits = BitsOfLane(s);
      return s.b.CreateOr(bits.before, bits.own);
    }
    case Special::kLaneMaskGe:
      return s.b.CreateNot(BitsOfLane(s).before);
    case Special::kLaneMaskGt: {
      const LaneBits bits = BitsOfLane(s);
      return s.b.CreateNot(s.b.CreateOr(bits.before, bits.own));
    }
    case Special::kNtidX:
      if ((e.m.layout.flags & PTX2CPU_KERNEL_JOINS_BLOCKS) != 0) return s.b.getInt32(e.f.required_threads[0]);
      return word(offsetof(ptx2cpu_block, ntid));
    case Special::kNtidY:
    case Special::kNtidZ:
      return word_of(offsetof(ptx2cpu_block, ntid), Special::kNtidX);
    case Special::kCtaidX:
    case Special::kCtaidY:
    case Special::kCtaidZ:
      return word_of(offsetof(ptx2cpu_block, ctaid), Special::kCtaidX);
    case Special::kNctaidX:
    case Special::kNctaidY:
    case Special::kNctaidZ:
      return word_of(offsetof(ptx2cpu_block, nctaid), Special::kNctaidX);
    case Special::kClusterCtaidX:
    case Special::kClusterCtaidY:
    case Special::kClusterCtaidZ:
      return word_of(offsetof(ptx2cpu_block, cluster_ctaid), Special::kClusterCtaidX);
    case Special::kClusterNctaidX:
    case Special::kClusterNctaidY:
    case Special::kClusterNctaidZ:
      return word_of(offsetof(ptx2cpu_block, cluster_nctaid), Special::kClusterNctaidX);
    case Special::kClusteridX:
      return InClusters(s, Special::kCtaidX, Special::kClusterNctaidX);
    case Special::kClusteridY:
      return InClusters(s, Special::kCtaidY, Special::kClusterNctaidY);
    case Special::kClusteridZ:
      return InClusters(s, Special::kCtaidZ, Special::kClusterNctaidZ);
    case Special::kNclusteridX:
      return InClusters(s, Special::kNctaidX, Special::kClusterNctaidX);
    case Special::kNclusteridY:
      return InClusters(s, Special::kNctaidY, Special::kClusterNctaidY);
    case Special::kNclusteridZ:
      return InClusters(s, Special::kNctaidZ, Special::kClusterNctaidZ);
    case Special::kClusterCtarank:
      return word(offsetof(ptx2cpu_block, cluster_ctarank));
    case Special::kClusterNctarank:
      return word(offsetof(ptx2cpu_block, cluster_nctarank));
    case Special::kIsExplicitCluster:
      return word(offsetof(ptx2cpu_block, cluster_is_explicit));
    case Special::kNwarpId:
      return word(offsetof(ptx2cpu_block, warp_count));
    case Special::kSmId:
      return word(offsetof(ptx2cpu_block, worker));
    case Special::kNsmId:
      return word(offsetof(ptx2cpu_block, worker_count));
    case Special::kDynamicSharedSize:
      return word(offsetof(ptx2cpu_block, dynamic_shared_bytes));
    case Special::kTotalSharedSize:
    case Special::kAggrSharedSize: {
      llvm::Value* bytes = word(offsetof(ptx2cpu_block, shared_bytes));
      return s.b.CreateAnd(s.b.CreateAdd(bytes, s.b.getInt32(127)), s.b.getInt32(~127u));
    }
    case Special::kGridId:
      return e.body.Field(offsetof(ptx2cpu_block, grid_id), e.I(64), "grid_id");
    case Special::kClock:
    case Special::kClockHi:
    case Special::kClock64:
    case Special::kGlobaltimer:
    case Special::kGlobaltimerLo:
    case Special::kGlobaltimerHi:
      return TimeValue(s, special);
    case Special::kEnvReg:
      return EnvironmentRegister(s);
    case Special::kReservedSharedBegin:
    case Special::kReservedSharedEnd:
    case Special::kReservedSharedOffset0:
    case Special::kReservedSharedOffset1:
    case Special::kReservedSharedCap:
    case Special::kCurrentGraphExec:
    case Special::kPerfCounter:
      return s.b.getInt32(0);
    case Special::kNone:
      break;  // the verifier refuses it
  }
  std::unreachable();
}

}  // namespace

Status EmitSpecialRegister(Site& s) {
  llvm::Value* value = SpecialValue(s, s.inst.attrs.special);
  // Above lane level a coordinate may be the same in all lanes, by the promised shape: that of the first.
  const bool above_lanes = s.e.f.at_block(s.inst.block).level != ir::Level::kLane;
  if (above_lanes && value->getType()->isVectorTy() && !s.e.values.IsVarying(s.inst.results[0]))
    value = s.b.CreateExtractElement(value, uint64_t{0});
  s.Return(s.b.CreateZExtOrTrunc(value, ShapedLike(value, s.e.I(s.Width()))));
  return {};
}

Status EmitBitcast(Site& s) {
  s.Return(FromInteger(s, AsInteger(s, s.Operand(0), s.inst.from), s.inst.type));
  return {};
}

Status EmitPack(Site& s) {
  uint64_t part_bits = static_cast<uint64_t>(ir::Bits(s.inst.from));
  llvm::Value* whole = nullptr;
  for (size_t i = 0; i < s.inst.operands.size(); ++i) {
    llvm::Value* part = AsInteger(s, s.Operand(i), s.inst.from);
    part = s.b.CreateZExt(part, ShapedLike(part, s.e.I(s.Width())));
    part = s.b.CreateShl(part, Literal(part, i * part_bits));
    whole = whole == nullptr ? part : s.b.CreateOr(whole, part);
  }
  s.Return(FromInteger(s, whole, s.inst.type));
  return {};
}

Status EmitUnpack(Site& s) {
  llvm::Value* whole = AsInteger(s, s.Operand(0), s.inst.from);
  for (size_t i = 0; i < s.inst.results.size(); ++i) {
    llvm::Value* part = s.b.CreateLShr(whole, Literal(whole, i * s.Width()));
    s.Return(FromInteger(s, s.b.CreateTrunc(part, ShapedLike(part, s.e.I(s.Width()))), s.inst.type), i);
  }
  return {};
}

Status EmitSelect(Site& s) {
  s.Return(s.b.CreateSelect(s.Operand(0), s.Operand(1), s.Operand(2)));
  return {};
}

}  // namespace ptx2cpu::lowering
