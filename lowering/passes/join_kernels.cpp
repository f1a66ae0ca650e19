// Kernels of a module that share most of what they call become one function, whose entry chooses by the
// number of the kernel that runs. flatten-calls copies each function that kernels cannot call into the kernel
// itself: of a runtime library that every kernel holds all of, there is one copy then.
//
//   before                              after
//     kernel @a: ... call @f ... ret      kernel @a: switch kernel_number, a's, b's ; entries a, b
//     kernel @b: ... call @f ... ret                 a's: ... call @f ... ret
//                                                    b's: ... call @f ... ret
//                                         declare kernel @b
//
// functions[0] is the kernel that was requested. Another one joins it if it adds little to the code, and if a
// launch of either would be prepared alike: the same shared variables, size of the parameters and required
// shape. The rest become declarations. Local variables of the kernels overlap, since only one of them runs.
#include <algorithm>
#include <utility>

#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"
#include "lowering/passes/call_graph.h"

namespace ptx2cpu::lowering {
namespace {

using ir::Opcode;

constexpr size_t kSharedSize = 4000;  // instructions of callees for which joining is worth its time
constexpr size_t kGrowth = 8;         // others add at most the size of the first, divided by this

size_t SizeOf(const ir::Function& f) {
  size_t size = 0;
  for (const ir::Block& block : f.blocks) size += block.removed ? 0 : block.insts.size();
  return size;
}

// The functions and shared variables that a kernel reaches by calls, also through the contents of other
// variables.
class Closure {
 public:
  Closure(const ir::Module& module, const std::vector<bool>& targets, uint32_t kernel)
      : module_(module),
        targets_(targets),
        functions_(module.functions.size()),
        shared_(module.variables.size()),
        seen_(module.variables.size()) {
    Add(kernel);
    while (!work_.empty()) {
      const ir::Function& f = module.functions[work_.back()];
      work_.pop_back();
      for (const ir::Inst& inst : f.insts) {
        if (inst.block.valid()) Scan(inst);
      }
    }
  }
  const std::vector<bool>& functions() const { return functions_; }
  const std::vector<bool>& shared() const { return shared_; }

 private:
  void Scan(const ir::Inst& inst) {
    if (inst.op == Opcode::kCall) Add(inst.attrs.index);
    if (inst.op == Opcode::kSymbol && inst.attrs.space != ir::Space::kLocal) AddVariable(inst.attrs.index);
    if (inst.op != Opcode::kCallIndirect || std::exchange(calls_indirectly_, true)) return;
    for (uint32_t n = 0; n < targets_.size(); ++n) {
      if (targets_[n] && !module_.functions[n].is_kernel) Add(n);
    }
  }
  void Add(uint32_t function) {
    if (functions_[function]) return;
    functions_[function] = true;
    work_.push_back(function);
  }
  void AddVariable(uint32_t index) {
    if (seen_[index]) return;
    seen_[index] = true;
    const ir::Variable& variable = module_.variables[index];
    shared_[index] = variable.space == ir::Space::kShared;
    for (const auto& relocation : variable.relocations) {
      if (!relocation.is_function) AddVariable(relocation.index);
    }
  }

  const ir::Module& module_;
  const std::vector<bool>& targets_;
  std::vector<bool> functions_, shared_, seen_;  // `seen_`: variables
  std::vector<uint32_t> work_;
  bool calls_indirectly_ = false;
};

bool ArePreparedAlike(const ir::Function& a, const ir::Function& b) {
  return a.param_bytes == b.param_bytes && std::ranges::equal(a.required_threads, b.required_threads) &&
         std::ranges::equal(a.required_cluster, b.required_cluster);
}

// The kernels that join the first.
std::vector<uint32_t> Choose(const ir::Module& module, const std::vector<uint32_t>& kernels) {
  const std::vector<bool> targets = ir::IndirectTargets(module);
  const Closure first(module, targets, kernels[0]);
  std::vector<bool> held = first.functions();
  const auto added_by = [&](const std::vector<bool>& functions) {
    size_t size = 0;
    for (uint32_t n = 0; n < functions.size(); ++n)
      size += functions[n] && !held[n] ? SizeOf(module.functions[n]) : 0;
    return size;
  };
  size_t room = 0;
  for (uint32_t n = 0; n < held.size(); ++n) room += held[n] ? SizeOf(module.functions[n]) : 0;
  room /= kGrowth;
  std::vector<uint32_t> chosen;
  for (const uint32_t kernel : kernels) {
    if (kernel == kernels[0] || !ArePreparedAlike(module.functions[kernel], module.functions[kernels[0]]))
      continue;
    const Closure closure(module, targets, kernel);
    const size_t size = added_by(closure.functions());
    if (closure.shared() != first.shared() || size > room) continue;
    room -= size;
    for (uint32_t n = 0; n < held.size(); ++n) held[n] = held[n] || closure.functions()[n];
    chosen.push_back(kernel);
  }
  return chosen;
}

// Its code becomes a part of `f`; returns where that begins.
ir::BlockId Adopt(ir::Function& f, const ir::Function& kernel) {
  const auto first_local = static_cast<uint32_t>(f.locals.size());
  f.locals.insert(f.locals.end(), kernel.locals.begin(), kernel.locals.end());
  f.local_bytes = std::max(f.local_bytes, kernel.local_bytes);
  const std::vector<ir::BlockId> blocks = CopyFunction(f, kernel);
  for (const ir::BlockId block : blocks) {
    for (const ir::InstId id : f.at_block(block).insts) {
      ir::Inst& inst = f.inst(id);
      if (inst.op == Opcode::kSymbol && inst.attrs.space == ir::Space::kLocal)
        inst.attrs.index += first_local;
    }
  }
  return blocks[0];
}

}  // namespace

bool SharesCallees(const ir::Module& module) {
  size_t size = 0, callees = 0;
  for (uint32_t n = 1; n < module.functions.size(); ++n) {
    callees += module.functions[n].is_declaration ? 0 : 1;
    size += SizeOf(module.functions[n]);
  }
  if (callees == 0 || size < kSharedSize || size < SizeOf(module.functions[0])) return false;
  const CallGraph graph(module);
  const bool indirect = !graph.IndirectTargets().empty();
  return std::ranges::any_of(graph.order(), [&](uint32_t n) {
    const CallGraph::Node& node = graph[n];
    return (node.suspends && node.recursive) || (indirect && node.calls_indirectly);
  });
}

Status JoinKernels(ir::Module& module, const PassOptions&) {
  std::vector<uint32_t> kernels;
  for (uint32_t n = 0; n < module.functions.size(); ++n) {
    if (module.functions[n].is_kernel && !module.functions[n].is_declaration) kernels.push_back(n);
  }
  if (kernels.size() < 2) return {};
  const std::vector<uint32_t> chosen = Choose(module, kernels);
  ir::Function& f = module.functions[kernels[0]];
  if (!chosen.empty()) {
    f.entries = {kernels[0]};
    std::vector<ir::Edge> ways{{f.entry, {}}};
    for (const uint32_t kernel : chosen) {
      ways.push_back({Adopt(f, module.functions[kernel]), {}});
      f.entries.push_back(kernel);
    }
    f.entry = ir::AddBlock(f, "which kernel");
    ir::Builder b{f, f.entry, f.at};
    b.Terminate(Opcode::kSwitch, {b.Inst1(Opcode::kKernelNumber, ir::Type::kVoid, {})}, std::move(ways));
  }
  for (const uint32_t kernel : kernels) {
    if (kernel != kernels[0]) MakeDeclaration(module.functions[kernel]);
  }
  return {};
}

}  // namespace ptx2cpu::lowering
