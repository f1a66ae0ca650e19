// Loads, stores, fences, copies. Atomics are in atomic.cpp.
#include "lowering/llvm/emit/memory.h"

#include <llvm/IR/Constants.h>

#include "analysis/lanes/lane_region.h"
#include "lowering/llvm/emit/warps.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using ir::MemoryOrder;
using ir::Opcode;
using ir::Space;
using Value = llvm::Value*;

llvm::AtomicOrdering OrderingOf(MemoryOrder order) {
  switch (order) {
    case MemoryOrder::kAcquire:
      return llvm::AtomicOrdering::Acquire;
    case MemoryOrder::kRelease:
      return llvm::AtomicOrdering::Release;
    case MemoryOrder::kAcqRel:
      return llvm::AtomicOrdering::AcquireRelease;
    case MemoryOrder::kSeqCst:
      return llvm::AtomicOrdering::SequentiallyConsistent;
    case MemoryOrder::kWeak:
    case MemoryOrder::kVolatile:
    case MemoryOrder::kRelaxed:
      break;
  }
  return llvm::AtomicOrdering::Monotonic;
}

// Most machines do not fault. A branch at each access keeps loops over lanes from becoming vectors (a sum of
// two arrays took 6 to 11 times as long), so that those are noted only; there is nothing to lose where lanes
// run one by one, in called functions, with atomics and above lane level. An aligned move that the machine
// itself refuses is found by the fault handler.
void CheckAlignment(Site& s, const AlignedOperand& aligned) {
  FunctionEmitter& e = s.e;
  const bool always =
      !e.f.is_kernel || e.lanes_apart || s.inst.op == Opcode::kAtomic || s.inst.op == Opcode::kAtomicCas;
  const AlignmentChecks checks = e.m.options.alignment;
  if (!always && checks == AlignmentChecks::kNone) return;
  if (aligned.align < 2) return;
  const Residue& residue = e.alignment.ResidueOf(s.inst.operands[aligned.operand], aligned.align);
  if (residue.IsZero() || (!always && e.alignment.IsAssumed(residue, aligned.align))) return;
  const bool noted = !always && checks != AlignmentChecks::kAtAccess && e.alignment.notes() != nullptr;
  if (noted && !e.alignment.notes()->Needs(s.inst, aligned.operand)) return;
  Value address = s.Raw(aligned.operand), low = s.b.CreateAnd(address, Literal(address, aligned.align - 1));
  Value is_misaligned = s.b.CreateICmpNE(low, Literal(low, 0));
  if (noted)
    e.alignment.notes()->Note(s.inst, aligned.operand, is_misaligned);
  else
    e.body.Fault(is_misaligned, PTX2CPU_FAULT_MISALIGNED, e.step->thread, s.inst.at);
}

namespace {

bool IsStrong(const Site& s) { return analysis::IsStrong(s.inst, s.e.private_shared); }

struct Access {
  Value pointer;
  Memory memory;
  uint64_t align;  // of the whole
  uint64_t bytes;  // of one element
  llvm::Align At(size_t element) const { return llvm::commonAlignment(llvm::Align(align), element * bytes); }
};

Result<Access> AccessOf(Site& s, size_t count) {
  if (s.Raw(0)->getType()->isVectorTy() || s.e.step->level == ir::Level::kBlock) {
    bool uniform_load = !s.Raw(0)->getType()->isVectorTy() && s.inst.op == Opcode::kLoad;
    if (!uniform_load) return s.Broken("a memory access above lane level");
  }
  Access access;
  access.pointer = s.e.memory.Pointer(s.inst.attrs.space, s.inst.operands[0], &access.memory);
  access.bytes = static_cast<uint64_t>(ir::Bytes(s.inst.type));
  access.align = s.inst.attrs.align != 0 ? s.inst.attrs.align : access.bytes * count;
  for (const AlignedOperand& aligned : AlignedOperandsOf(s.e.f, s.inst)) CheckAlignment(s, aligned);
  if (s.e.deferred.Precede(s.inst))
    s.e.deferred.Before(s.inst, s.Raw(0), nullptr, nullptr, access.bytes * count);
  return access;
}

// Strong accesses go as integers. As many elements as the machine accesses at once are one: programs rely on
// it that a GPU's vectors are not torn (a status and a value in one word of a scan's look-back).
struct Piece {
  size_t elements;
  llvm::IntegerType* type;
  llvm::FixedVectorType* parts;  // its elements
};
Result<Piece> PieceOf(Site& s, size_t count) {
  const unsigned bits = std::max(8u, s.Width()), most = s.e.m.traits.has_atomic_128 ? 128 : 64;
  if (bits > most) return s.Unsupported("this target has no 128-bit atomic access");
  const size_t elements = std::min<size_t>(count, most / bits);
  const unsigned all = static_cast<unsigned>(elements) * bits;
  return Piece{elements, s.b.getIntNTy(all),
               llvm::FixedVectorType::get(s.e.I(bits), static_cast<unsigned>(elements))};
}

Status EmitStrongLoad(Site& s, const Access& access) {
  const size_t count = s.inst.results.size();
  const Piece piece = TRY(PieceOf(s, count));
  for (size_t i = 0; i < count; i += piece.elements) {
    Value pointer = s.b.CreateConstGEP1_64(s.b.getInt8Ty(), access.pointer, i * access.bytes);
    llvm::LoadInst* load =
        s.b.CreateAlignedLoad(piece.type, pointer, llvm::Align(piece.elements * access.bytes));
    load->setAtomic(s.inst.attrs.order == MemoryOrder::kRelease ? llvm::AtomicOrdering::Monotonic
                                                                : OrderingOf(s.inst.attrs.order));
    s.e.m.Annotate(load, access.memory);
    Value parts = s.b.CreateBitCast(load, piece.parts);
    for (size_t k = 0; k < piece.elements; ++k) {
      Value value = s.b.CreateBitCast(s.b.CreateExtractElement(parts, k), s.e.m.MemoryTypeOf(s.inst.type));
      if (s.inst.type == ir::Type::kI1) value = s.b.CreateICmpNE(value, Literal(value, 0));
      s.Return(value, i + k);
    }
  }
  return {};
}

Status EmitStrongStore(Site& s, const Access& access) {
  const size_t count = s.inst.operands.size() - 1;
  const Piece piece = TRY(PieceOf(s, count));
  for (size_t i = 0; i < count; i += piece.elements) {
    Value parts = llvm::PoisonValue::get(piece.parts);
    for (size_t k = 0; k < piece.elements; ++k) {
      Value value = s.Raw(i + k + 1);
      if (s.inst.type == ir::Type::kI1) value = s.b.CreateZExt(value, s.e.I(8));
      parts = s.b.CreateInsertElement(parts, s.b.CreateBitCast(value, piece.parts->getElementType()), k);
    }
    Value pointer = s.b.CreateConstGEP1_64(s.b.getInt8Ty(), access.pointer, i * access.bytes);
    llvm::StoreInst* store = s.b.CreateAlignedStore(s.b.CreateBitCast(parts, piece.type), pointer,
                                                    llvm::Align(piece.elements * access.bytes));
    store->setAtomic(s.inst.attrs.order == MemoryOrder::kAcquire ? llvm::AtomicOrdering::Monotonic
                                                                 : OrderingOf(s.inst.attrs.order));
    s.e.m.Annotate(store, access.memory);
  }
  return {};
}

}  // namespace

Status EmitLoad(Site& s) {
  if (s.inst.attrs.space == Space::kParam) {
    if (auto offset = s.e.memory.ParameterOffset(s.inst.operands[0])) {
      for (size_t i = 0; i < s.inst.results.size(); ++i) {
        s.Return(s.e.body.Parameter(*offset + i * static_cast<uint64_t>(ir::Bytes(s.inst.type)), s.inst.type),
                 i);
      }
      return {};
    }
  }
  size_t count = s.inst.results.size();
  Access access = TRY(AccessOf(s, count));
  if (IsStrong(s)) return EmitStrongLoad(s, access);
  llvm::Type* type = s.e.m.MemoryTypeOf(s.inst.type);
  bool constant = s.inst.attrs.space == Space::kParam || s.Has(ir::kNonCoherent);
  for (size_t i = 0; i < count; ++i) {
    Value pointer =
        i == 0 ? access.pointer : s.b.CreateConstGEP1_64(s.b.getInt8Ty(), access.pointer, i * access.bytes);
    auto* load = llvm::cast<llvm::LoadInst>(s.e.memory.Load(type, pointer, access.At(i), access.memory));
    if (constant)
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(s.b.getContext(), {}));
    Value value = load;
    if (s.inst.type == ir::Type::kI1) value = s.b.CreateICmpNE(value, Literal(value, 0));
    s.Return(value, i);
  }
  return {};
}

Status EmitStore(Site& s) {
  size_t count = s.inst.operands.size() - 1;
  Access access = TRY(AccessOf(s, count));
  if (IsStrong(s)) return EmitStrongStore(s, access);
  for (size_t i = 0; i < count; ++i) {
    Value pointer =
        i == 0 ? access.pointer : s.b.CreateConstGEP1_64(s.b.getInt8Ty(), access.pointer, i * access.bytes);
    Value value = s.Raw(i + 1);
    if (s.inst.type == ir::Type::kI1) value = s.b.CreateZExt(value, s.e.I(8));
    s.e.memory.Store(value, pointer, access.At(i), access.memory);
  }
  return {};
}

// One host thread runs the block: a fence of cta scope only keeps the compiler from moving accesses.
Status EmitFence(Site& s) {
  if (s.e.deferred.Precede(s.inst)) s.e.deferred.Before(s.inst, nullptr, nullptr, nullptr, 0);
  llvm::AtomicOrdering order = OrderingOf(s.inst.attrs.order);
  if (order == llvm::AtomicOrdering::Monotonic) order = llvm::AtomicOrdering::AcquireRelease;
  bool inside = s.inst.attrs.scope == ir::Scope::kCta;
  s.b.CreateFence(order, inside ? llvm::SyncScope::SingleThread : llvm::SyncScope::System);
  return {};
}

Status EmitCopyAsync(Site& s) {
  for (const AlignedOperand& aligned : AlignedOperandsOf(s.e.f, s.inst)) CheckAlignment(s, aligned);
  Memory to_memory, from_memory;
  Value to = s.e.memory.Pointer(Space::kShared, s.inst.operands[0], &to_memory);
  Value from = s.e.memory.Pointer(Space::kGlobal, s.inst.operands[1], &from_memory);
  // Without a number of its own the source has all bytes: umin of constants is not folded.
  Value bytes = s.Raw(2), of_source = s.Raw(3);
  Value given =
      of_source == bytes ? bytes : s.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, of_source, bytes);
  auto* constant = llvm::dyn_cast<llvm::ConstantInt>(bytes);
  llvm::Align align(constant != nullptr ? constant->getZExtValue() & -constant->getZExtValue() : 1);
  if (given != bytes) s.b.CreateMemSet(to, s.b.getInt8(0), s.b.CreateZExt(bytes, s.e.I(64)), align);
  s.b.CreateMemCpy(to, align, from, align, s.b.CreateZExt(given, s.e.I(64)));
  return {};
}

// -- spaces --

namespace {
Result<Value> WindowBase(Site& s) {
  switch (s.inst.attrs.space) {
    case Space::kShared:
      return s.b.CreatePtrToInt(s.e.body.Field(offsetof(ptx2cpu_block, shared), s.b.getPtrTy(), "shared"),
                                s.e.I(64));
    case Space::kLocal:
      if (s.e.step->width != 1) return s.Broken("local memory above lane level");
      return s.b.CreatePtrToInt(s.e.memory.LocalBase(), s.e.I(64));
    case Space::kGeneric:
    case Space::kGlobal:
    case Space::kConst:
    case Space::kParam:
    case Space::kSharedCluster:
      break;
  }
  return nullptr;
}

// Adds the begin of the window to an address, or subtracts it.
Status EmitWindowConversion(Site& s, llvm::Instruction::BinaryOps operation) {
  Value base = TRY(WindowBase(s)), address = s.Operand(0);
  if (base != nullptr) {
    const bool is_vector = address->getType()->isVectorTy();
    address = s.b.CreateBinOp(operation, address, Broadcast(s.b, base, is_vector ? s.e.step->width : 1));
  }
  s.Return(address);
  return {};
}

// Addresses of the cluster's shared memory, converted one by one.
Status EmitClusterConversion(Site& s, const char* service) {
  s.Return(EachLane(s.e, {s.Operand(0)}, [&](const std::vector<Value>& address) -> Value {
    return s.b.CreateCall(s.e.m.Service(service), {s.e.body.Block(), address[0]});
  }));
  return {};
}
}  // namespace

Status EmitToGeneric(Site& s) {
  if (s.inst.attrs.space == Space::kSharedCluster) return EmitClusterConversion(s, "ptx2cpu_cluster_address");
  return EmitWindowConversion(s, llvm::Instruction::Add);
}

Status EmitFromGeneric(Site& s) {
  if (s.inst.attrs.space == Space::kSharedCluster) return EmitClusterConversion(s, "ptx2cpu_cluster_offset");
  return EmitWindowConversion(s, llvm::Instruction::Sub);
}

namespace {

Value Within(Site& s, Value address, Value base, Value bytes) {
  Value offset = s.b.CreateSub(address, s.b.CreatePtrToInt(base, s.e.I(64)));
  return s.b.CreateICmpULT(offset, s.b.CreateZExt(bytes, s.e.I(64)));
}

}  // namespace

Value InShared(Site& s, Value address) {
  return Within(s, address, s.e.body.Field(offsetof(ptx2cpu_block, shared), s.b.getPtrTy(), "shared"),
                s.e.body.Field(offsetof(ptx2cpu_block, shared_bytes), s.e.I(32), "shared_bytes"));
}

Value InCluster(Site& s, Value address) {
  llvm::BasicBlock *before = s.b.GetInsertBlock(), *others = s.e.body.NewBlock("other_blocks"),
                   *done = s.e.body.NewBlock("found");
  Value own = InShared(s, address);
  Value blocks = s.e.body.Field(offsetof(ptx2cpu_block, cluster_nctarank), s.e.I(32), "cluster_nctarank");
  Value known = s.b.CreateOr(own, s.b.CreateICmpULE(blocks, s.b.getInt32(1)));
  s.b.CreateCondBr(known, done, others);
  s.b.SetInsertPoint(others);
  Value offset = s.b.CreateCall(s.e.m.Service("ptx2cpu_cluster_offset"), {s.e.body.Block(), address});
  Value other = s.b.CreateICmpNE(offset, s.b.getInt64(~uint64_t{0}));
  s.b.CreateBr(done);
  s.b.SetInsertPoint(done);
  llvm::PHINode* found = s.b.CreatePHI(s.e.I(1), 2);
  found->addIncoming(own, before);
  found->addIncoming(other, others);
  return found;
}

namespace {

Value InLocal(Site& s, Value address) {
  Value stride = s.e.body.Field(offsetof(ptx2cpu_block, local_stride), s.e.I(64), "local_stride");
  Value threads = s.b.CreateZExt(
      s.e.body.Field(offsetof(ptx2cpu_block, thread_padded), s.e.I(32), "thread_padded"), s.e.I(64));
  Value window = Within(s, address, s.e.body.Field(offsetof(ptx2cpu_block, local), s.b.getPtrTy(), "local"),
                        s.b.CreateMul(stride, threads));
  llvm::AllocaInst* stack = s.e.memory.stack_locals();
  if (stack == nullptr) return window;
  return s.b.CreateOr(window, Within(s, address, stack, s.b.getInt64(s.e.f.local_bytes)));
}

Result<Value> InConstant(Site& s, Value address) {
  Value found = s.b.getFalse();
  for (uint32_t i = 0; i < s.e.m.ir.variables.size(); ++i) {
    const ir::Variable& variable = s.e.m.ir.variables[i];
    if (variable.space != Space::kConst) continue;
    found =
        s.b.CreateOr(found, Within(s, address, TRY(s.e.m.VariableAddress(i)), s.b.getInt64(variable.size)));
  }
  return found;
}

}  // namespace

Status EmitIsSpace(Site& s) {
  if (s.IsVector()) return s.Broken("above lane level");
  Value address = s.Operand(0);
  switch (s.inst.attrs.space) {
    case Space::kShared:
      s.Return(InShared(s, address));
      break;
    case Space::kSharedCluster:
      s.Return(InCluster(s, address));
      break;
    case Space::kLocal:
      s.Return(InLocal(s, address));
      break;
    case Space::kConst:
      s.Return(TRY(InConstant(s, address)));
      break;
    case Space::kParam:
      s.Return(Within(s, address, s.e.body.Field(offsetof(ptx2cpu_block, params), s.b.getPtrTy(), "params"),
                      s.b.getInt64(s.e.m.param_bytes)));
      break;
    case Space::kGeneric:
    case Space::kGlobal: {  // global, which holds the parameters too
      Value other = s.b.CreateOr(InCluster(s, address), InLocal(s, address));
      s.Return(s.b.CreateNot(s.b.CreateOr(other, TRY(InConstant(s, address)))));
    }
  }
  return {};
}

}  // namespace ptx2cpu::lowering
