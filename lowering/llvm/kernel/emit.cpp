#include "lowering/llvm/kernel/emit.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lowering/llvm/kernel/constant_results.h"
#include "lowering/llvm/kernel/flush_to_zero.h"
#include "lowering/llvm/kernel/function.h"
#include "lowering/llvm/lanes/better_axes.h"
#include "lowering/llvm/lanes/joined_rows.h"
#include "lowering/llvm/module/axes.h"
#include "lowering/llvm/module/library.h"
#include "lowering/llvm/module/names.h"
#include "lowering/llvm/module/target_machine.h"
#include "runtime/abi/abi.h"
#include "runtime/abi/deferred_atomics.h"
#include "runtime/abi/flushing.h"
#include "runtime/abi/joined_blocks.h"
#include "runtime/abi/lone_launches.h"
#include "runtime/abi/swapped_axes.h"

namespace ptx2cpu::lowering {

namespace {

bool ReadsThreadIndex(const ir::Function& f) {
  for (const ir::Block& block : f.blocks) {
    for (ir::InstId id : block.insts) {
      const ir::Inst& inst = f.at_inst(id);
      if (inst.op == ir::Opcode::kSpecialRegister &&
          Info(inst.attrs.special).varies == ir::Varies::kAffineInTid)
        return true;
    }
  }
  return false;
}

// ptx2cpu_block_function, or ptx2cpu_step_function for resumable kernels. `takes_number`: of the kernel that
// runs, as the last one.
llvm::Function* DeclareKernel(ModuleEmitter& m, const ir::Function& kernel, const std::string& name,
                              llvm::GlobalValue::LinkageTypes linkage, bool takes_number = false) {
  std::vector<llvm::Type*> parameters{llvm::PointerType::getUnqual(m.context)};
  if (kernel.resumes != ir::Resumes::kNever) parameters.resize(3, llvm::Type::getInt32Ty(m.context));
  if (takes_number) parameters.push_back(llvm::Type::getInt32Ty(m.context));
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(m.context), parameters, false);
  return llvm::Function::Create(type, linkage, name, m.module.get());
}

// void kernel(block) { blocks (n, 1, 1) ? kernel.one_dimensional(block) : kernel.any_shape(block); }
// and the same with the further arguments of a step.
void EmitShapeChoice(ModuleEmitter& m, const ir::Function& f, llvm::Function* kernel,
                     llvm::Function* one_dimensional, llvm::Function* any_shape) {
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(m.context, name, kernel); };
  llvm::BasicBlock *entry = block("entry"), *one = block("one_dimensional"), *any = block("any_shape");
  llvm::IRBuilder<> b(entry);
  if (m.debug) {
    m.debug->Attach(*kernel, f);
    b.SetCurrentDebugLocation(m.debug->Locate(f.at));
  }
  auto field = [&](size_t offset) {
    return b.CreateLoad(b.getInt32Ty(),
                        b.CreateInBoundsGEP(b.getInt8Ty(), kernel->getArg(0), b.getInt64(offset)));
  };
  llvm::Value *y = field(offsetof(ptx2cpu_block, ntid) + 4), *z = field(offsetof(ptx2cpu_block, ntid) + 8);
  b.CreateCondBr(b.CreateICmpEQ(b.CreateMul(y, z), b.getInt32(1)), one, any);
  for (auto [at, callee] : {std::pair(one, one_dimensional), std::pair(any, any_shape)}) {
    b.SetInsertPoint(at);
    llvm::SmallVector<llvm::Value*, 3> arguments;
    for (llvm::Argument& argument : kernel->args()) arguments.push_back(&argument);
    b.CreateCall(callee, arguments);
    b.CreateRetVoid();
  }
  kernel->setDoesNotThrow();
}

// A step function for each of the kernels that have one code: void step(block, warp, entry) { code(block,
// warp, entry, number); }
void EmitEntries(ModuleEmitter& m, const ir::Function& f, llvm::Function* code) {
  for (uint32_t number = 0; number < f.entries.size(); ++number) {
    const ir::Function& kernel = m.ir.functions[f.entries[number]];
    llvm::Function* entry =
        DeclareKernel(m, f, EntryName(kernel, f.resumes), llvm::GlobalValue::ExternalLinkage);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(m.context, "entry", entry));
    if (m.debug) {
      m.debug->Attach(*entry, kernel);
      b.SetCurrentDebugLocation(m.debug->Locate(kernel.at));
    }
    llvm::SmallVector<llvm::Value*, 4> arguments;
    for (llvm::Argument& argument : entry->args()) arguments.push_back(&argument);
    arguments.push_back(b.getInt32(number));
    b.CreateCall(code, arguments);
    b.CreateRetVoid();
    entry->setDoesNotThrow();
  }
}

// Atomics that wait do so in the block's slots.
void LayOutDeferred(KernelLayout& layout, const DeferredAtomics& deferred) {
  if (!deferred.any() || (layout.flags & deferred.KernelFlag()) != 0) return;
  layout.flags |= deferred.KernelFlag();
  layout.slot_bytes_per_block += deferred.Bytes();
}

Status EmitKernelFunctions(ModuleEmitter& m, const ir::Function& kernel, bool flushes) {
  auto body = [&](llvm::Function* function, bool one_dimensional) -> Status {
    if (flushes) DeclareFlushing(*function);
    FunctionEmitter emitter(m, kernel, function, one_dimensional);
    LayOutDeferred(m.layout, emitter.deferred);
    if (emitter.lone.any()) m.layout.flags |= PTX2CPU_KERNEL_MAY_RUN_ALONE;
    TRY_STATUS(kernel.resumes == ir::Resumes::kNever    ? EmitKernel(emitter)
               : kernel.resumes == ir::Resumes::kBlocks ? EmitBlockStep(emitter)
                                                        : EmitStep(emitter));
    emitter.matrix_tiles.End();
    return {};
  };
  if (!kernel.entries.empty()) {
    CHECK(kernel.resumes == ir::Resumes::kLanes, "several kernels are one code whose lanes run one by one");
    llvm::Function* code =
        DeclareKernel(m, kernel, EntryName(kernel) + ".and_others", llvm::GlobalValue::InternalLinkage, true);
    TRY_STATUS(body(code, false));
    EmitEntries(m, kernel, code);
    return {};
  }
  llvm::Function* entry = DeclareKernel(m, kernel, EntryName(kernel), llvm::GlobalValue::ExternalLinkage);
  bool matters = !kernel.is_flat && ReadsThreadIndex(kernel);  // flat loops count the indices themselves
  for (uint32_t index : m.layout.functions) matters |= ReadsThreadIndex(m.ir.functions[index]);
  // One lane after the other: no loop to gain from it.
  matters &= kernel.resumes != ir::Resumes::kLanes || ir::RunsTogether(kernel);
  const uint32_t* required = kernel.required_threads;
  bool always = required[0] != 0 && required[1] <= 1 && required[2] <= 1;
  if (required[0] != 0) return body(entry, always);
  const ThreadIds ids = m.options.thread_ids;
  if (!matters || ids != ThreadIds::kBoth) return body(entry, ids == ThreadIds::kOneDimensional);
  llvm::Function* one =
      DeclareKernel(m, kernel, kernel.name + ".one_dimensional", llvm::GlobalValue::InternalLinkage);
  llvm::Function* any =
      DeclareKernel(m, kernel, kernel.name + ".any_shape", llvm::GlobalValue::InternalLinkage);
  TRY_STATUS(body(one, true));
  TRY_STATUS(body(any, false));
  EmitShapeChoice(m, kernel, entry, one, any);
  return {};
}

// Lanes wait in kernels only: flatten-calls has taken the bodies of such functions there. What is left is
// their address.
bool LetsLanesWait(const ir::Function& f) {
  return std::ranges::any_of(f.insts, [](const ir::Inst& inst) {
    return inst.block.valid() && (ir::IsBarrier(inst.op) || ir::IsCollective(inst.op));
  });
}

void EmitNeverCalled(ModuleEmitter& m, llvm::Function* function) {
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(m.context, "", function));
  b.CreateIntrinsic(llvm::Intrinsic::trap, {}, {});
  b.CreateUnreachable();
}

Status EmitCallees(ModuleEmitter& m, bool flushes) {
  // Bodies may reach further functions only through what the layout has found already.
  for (uint32_t index : m.layout.functions) {
    const ir::Function* f = DefinitionOf(m.ir, m.ir.functions[index]);
    if (f == nullptr) continue;
    if (f->is_kernel)
      return Refuse(m.ir, ErrorCode::kUnsupported, f->at,
                    "kernel " + f->name + " is called by another kernel");
    llvm::Function* function = TRY(m.Callee(index));
    if (!function->empty()) continue;
    if (LetsLanesWait(*f)) {
      EmitNeverCalled(m, function);
      continue;
    }
    if (flushes) DeclareFlushing(*function);
    FunctionEmitter emitter(m, *f, function, m.options.thread_ids == ThreadIds::kOneDimensional);
    TRY_STATUS(EmitCallee(emitter));
  }
  return {};
}

}  // namespace

namespace {

Result<EmittedKernel> EmitAs(llvm::LLVMContext& context, const ir::Module& module, const ir::Function& kernel,
                             KernelLayout layout, const EmitOptions& options) {
  if (!IsLaneWidth(options.lane_width))
    return Fail(ErrorCode::kUnsupported, "lane width " + std::to_string(options.lane_width) +
                                             ": only 1, 4, 8, 16, 32 and 64 are supported");
  layout.flags |= FlagsOfJoinedBlocks(kernel);
  ModuleEmitter m(context, module, options, std::move(layout));
  const bool vectors = options.alignment != AlignmentChecks::kAtAccess && m.traits.vector_bytes != 0;
  m.lane_width = vectors ? options.lane_width : 1;
  m.module->setDataLayout(TRY(DataLayoutOf(options.target)));
  m.param_bytes = kernel.param_bytes;
  const bool flushes = RunsFlushing(module, kernel, m.layout, m.traits);
  if (flushes) m.layout.flags |= PTX2CPU_KERNEL_FLUSHES;
  TRY_STATUS(EmitKernelFunctions(m, kernel, flushes));
  TRY_STATUS(EmitCallees(m, flushes));
  if (m.debug) m.debug->Finish();
  if (flushes) RunFlushing(m.module->getFunction(EntryName(kernel)));
  std::string complaint;
  llvm::raw_string_ostream stream(complaint);
  if (llvm::verifyModule(*m.module, &stream)) {
    return Fail(ErrorCode::kInternal,
                "kernel " + kernel.name + ": LLVM rejects the emitted code: " + stream.str());
  }
  TRY_STATUS(LinkLibraries(*m.module, options.target));
  if (flushes) {  // what is inlined must be like what it is inlined in
    for (llvm::Function& function : *m.module) {
      DeclareFlushing(function);
      FenceConstantResults(function);
    }
  }
  return EmittedKernel{std::move(m.module), std::move(m.layout)};
}

}  // namespace

Result<EmittedKernel> Emit(llvm::LLVMContext& context, const ir::Module& module, const EmitOptions& options) {
  const ir::Function* kernel = TRY(FindKernel(module, options.kernel));
  KernelLayout layout = TRY(LayoutOf(module, *kernel));
  const std::optional<ir::Module> swapped =
      MaySwapAxes(options) ? WithBetterAxes(module, *kernel) : std::nullopt;
  if (!swapped) return EmitAs(context, module, *kernel, std::move(layout), options);
  layout.flags |= PTX2CPU_KERNEL_SWAPS_AXES;
  const auto number = static_cast<size_t>(kernel - module.functions.data());
  return EmitAs(context, *swapped, swapped->functions[number], std::move(layout), options);
}

}  // namespace ptx2cpu::lowering
