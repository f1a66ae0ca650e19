#include "lowering/llvm/module/kernel_layout.h"

#include <algorithm>
#include <utility>

#include "ir/verify/verify.h"
#include "lowering/llvm/module/order_matters.h"
#include "runtime/abi/abi.h"
#include "runtime/abi/block_order.h"

namespace ptx2cpu::lowering {

Result<const ir::Function*> FindKernel(const ir::Module& module, std::string_view name) {
  const ir::Function* found = nullptr;
  for (const ir::Function& function : module.functions) {
    if (!function.is_kernel || function.is_declaration) continue;
    if (name.empty() ? function.phase != ir::Phase::kCollapsed : function.name != name) continue;
    if (found != nullptr)
      return Fail(ErrorCode::kInternal, "several collapsed kernels in " + module.name + ": name one");
    found = &function;
  }
  if (found == nullptr)
    return Fail(ErrorCode::kNotFound, "no collapsed kernel " + std::string(name) + " in " + module.name);
  if (!ir::IsFinished(*found)) {
    return Fail(ErrorCode::kInternal, "kernel " + found->name + " is in phase " +
                                          std::string(Name(found->phase)) +
                                          ", with passes left to run before code can be emitted");
  }
  return found;
}

const ir::Function* DefinitionOf(const ir::Module& module, const ir::Function& function) {
  if (!function.is_declaration) return &function;
  for (const ir::Function& other : module.functions) {
    if (!other.is_declaration && other.name == function.name) return &other;
  }
  return nullptr;
}

namespace {

// Walks everything the kernel can reach: calls, function addresses, and both through initialisers of
// variables.
class Reach {
 public:
  explicit Reach(const ir::Module& module)
      : module_(module), functions_(module.functions.size()), variables_(module.variables.size()) {}

  void Function(uint32_t index) {
    const ir::Function* body = DefinitionOf(module_, module_.functions[index]);
    if (body != nullptr) index = static_cast<uint32_t>(body - module_.functions.data());
    if (functions_[index]) return;
    functions_[index] = true;
    if (body != nullptr) Body(*body);
  }
  void Body(const ir::Function& f) {
    order_matters_ |= OrderMatters(f);
    for (const ir::Block& block : f.blocks) {
      if (block.removed) continue;
      for (ir::InstId id : block.insts) {
        const ir::Inst& inst = f.at_inst(id);
        if (inst.op == ir::Opcode::kCall) Function(inst.attrs.index);
        if (inst.op == ir::Opcode::kCallIndirect) IndirectTargets();
        is_checked_ |= inst.op == ir::Opcode::kCheckAccess || inst.op == ir::Opcode::kCheckSync;
        has_tensor_memory_ |= inst.op == ir::Opcode::kTensorMemory;
        if (inst.op == ir::Opcode::kSymbol && inst.attrs.space != ir::Space::kLocal)
          Variable(inst.attrs.index);
      }
    }
  }
  void IndirectTargets() {
    if (std::exchange(calls_indirectly_, true)) return;
    const std::vector<bool> targets = ir::IndirectTargets(module_);
    for (uint32_t i = 0; i < targets.size(); ++i) {
      if (targets[i] && !module_.functions[i].is_kernel) Function(i);
    }
  }
  void Variable(uint32_t index) {
    if (variables_[index]) return;
    variables_[index] = true;
    for (const auto& relocation : module_.variables[index].relocations) {
      if (relocation.is_function) continue;  // its identity, not its code
      Variable(relocation.index);
      fixed_ |= module_.variables[relocation.index].space == ir::Space::kShared;
    }
  }
  bool has_function(uint32_t index) const { return functions_[index]; }
  bool has_variable(uint32_t index) const { return variables_[index]; }
  bool shared_is_fixed() const { return fixed_; }
  bool has_tensor_memory() const { return has_tensor_memory_; }
  bool order_matters() const { return order_matters_; }
  bool is_checked() const { return is_checked_; }

 private:
  const ir::Module& module_;
  std::vector<bool> functions_, variables_;
  bool fixed_ = false;
  bool has_tensor_memory_ = false;
  bool order_matters_ = false;
  bool is_checked_ = false;
  bool calls_indirectly_ = false;  // an initialiser holds an offset of the module's layout
};

uint32_t AlignUp(uint32_t value, uint32_t align) { return (value + align - 1) / align * align; }

// Only the variables this kernel reaches get room: a module's kernels together may need more than a block
// has.
void LayOutShared(const ir::Module& module, const Reach& reach, KernelLayout& layout) {
  layout.shared_offset.resize(module.variables.size());
  uint32_t end = 0, dynamic_align = 16;
  for (uint32_t i = 0; i < module.variables.size(); ++i) {
    const ir::Variable& variable = module.variables[i];
    if (variable.space != ir::Space::kShared) continue;
    uint32_t align = std::max(variable.align, 1u);
    if (variable.size == 0) {
      if (reach.has_variable(i)) dynamic_align = std::max(dynamic_align, align);
    } else if (reach.shared_is_fixed()) {
      layout.shared_offset[i] = variable.shared_offset;
      end = std::max<uint32_t>(end, variable.shared_offset + static_cast<uint32_t>(variable.size));
    } else if (reach.has_variable(i)) {
      layout.shared_offset[i] = AlignUp(end, align);
      end = layout.shared_offset[i] + static_cast<uint32_t>(variable.size);
    }
  }
  layout.static_shared_bytes = AlignUp(end, dynamic_align);
  for (uint32_t i = 0; i < module.variables.size(); ++i) {
    const ir::Variable& variable = module.variables[i];
    if (variable.space == ir::Space::kShared && variable.size == 0)
      layout.shared_offset[i] = layout.static_shared_bytes;
  }
}

// What messages call what is waited for.
std::string PointName(const ir::ResumePoint& point) {
  if (point.op == ir::Opcode::kUndef) return "yield";
  return std::string(ir::PtxName(point.op, point.flags));
}

constexpr struct {
  ir::Opcode op;
  uint32_t kind;
} kBarrierKinds[] = {
    {ir::Opcode::kUndef, PTX2CPU_POINT_YIELD},
    {ir::Opcode::kBarrierBlock, PTX2CPU_POINT_BARRIER},
    {ir::Opcode::kBarrierArrive, PTX2CPU_POINT_BARRIER_ARRIVE},
    {ir::Opcode::kBarrierReducePopc, PTX2CPU_POINT_RED_POPC},
    {ir::Opcode::kBarrierReduceAnd, PTX2CPU_POINT_RED_AND},
    {ir::Opcode::kBarrierReduceOr, PTX2CPU_POINT_RED_OR},
    {ir::Opcode::kClusterArrive, PTX2CPU_POINT_CLUSTER_ARRIVE},
    {ir::Opcode::kClusterWait, PTX2CPU_POINT_CLUSTER_WAIT},
};

uint32_t KindOf(const ir::ResumePoint& point) {
  if (ir::HasMembermask(point.op, point.flags)) return PTX2CPU_POINT_COLLECTIVE;
  if (ir::IsConverged(point.op, point.flags)) return PTX2CPU_POINT_CONVERGED;
  const auto row = std::ranges::find(kBarrierKinds, point.op, [](const auto& kind) { return kind.op; });
  CHECK(row != std::end(kBarrierKinds),
        std::string(ir::Info(point.op).mnemonic) + " is not an operation that threads wait at");
  return row->kind;
}

std::vector<PointRow> PointsOf(const ir::Function& kernel) {
  std::vector<PointRow> rows;
  for (const ir::ResumePoint& point : kernel.resume_points) {
    const uint32_t collective = point.collective == ir::ResumePoint::kNoClass ? 0 : point.collective;
    rows.push_back({KindOf(point), collective, point.at.ptx_line, PointName(point)});
  }
  if (!rows.empty()) rows[0] = {PTX2CPU_POINT_START, 0, kernel.at.ptx_line, "start"};
  return rows;
}

}  // namespace

void DescribeDeclared(const ir::Function& kernel, KernelDescription& description) {
  description.name = kernel.name;
  description.parameters.clear();
  for (const ir::Param& param : kernel.params)
    description.parameters.push_back({param.name, param.offset, param.size, param.align});
  description.parameter_bytes = kernel.param_bytes;
  std::ranges::copy(kernel.max_threads, description.max_threads.begin());
  std::ranges::copy(kernel.required_threads, description.required_threads.begin());
  std::ranges::copy(kernel.required_cluster, description.required_cluster.begin());
}

Result<KernelLayout> LayoutOf(const ir::Module& module, const ir::Function& kernel) {
  KernelLayout layout;
  Reach reach(module);
  reach.Body(kernel);
  for (uint32_t i = 0; i < module.functions.size(); ++i) {
    if (reach.has_function(i)) layout.functions.push_back(i);
  }
  layout.variables.resize(module.variables.size());
  for (uint32_t i = 0; i < module.variables.size(); ++i) layout.variables[i] = reach.has_variable(i);
  LayOutShared(module, reach, layout);
  layout.local_bytes = AlignUp(kernel.local_bytes, 16);
  layout.slot_count = static_cast<uint32_t>(kernel.slots.size());
  DescribeDeclared(kernel, layout);
  layout.flags = kernel.has_early_exit ? PTX2CPU_KERNEL_HAS_EARLY_EXIT : 0;
  if (kernel.resumes == ir::Resumes::kBlocks) layout.flags |= PTX2CPU_KERNEL_RESUMES_BLOCKS;
  if (reach.has_tensor_memory()) layout.flags |= PTX2CPU_KERNEL_HAS_TENSOR_MEMORY;
  if (reach.order_matters()) layout.flags |= PTX2CPU_KERNEL_ORDER_MATTERS;
  if (reach.is_checked()) layout.flags |= PTX2CPU_KERNEL_IS_CHECKED;
  layout.resumes = kernel.resumes != ir::Resumes::kNever;
  if (layout.resumes) layout.points = PointsOf(kernel);
  for (const ir::Slot& slot : kernel.slots) {
    uint32_t bytes = static_cast<uint32_t>(ir::Bytes(slot.type));
    switch (slot.shape) {
      case ir::Level::kLane:
        layout.slot_bytes_per_thread += bytes;
        break;
      case ir::Level::kWarp:
        layout.slot_bytes_per_warp += bytes;
        break;
      case ir::Level::kBlock:
        layout.slot_bytes_per_block += bytes;
        break;
    }
  }
  return layout;
}

}  // namespace ptx2cpu::lowering
