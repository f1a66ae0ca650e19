// Inlines calls whose callee leads to a barrier, a warp collective or an exit, directly or through others:
// those concern the caller's regions. Small callees and those called once are inlined too; the rest stay
// calls of one lane.
//
//   before                              after
//     bb0: %r = call @scan(%x)            bb0: br s0(%x)
//          store ..., %r                  s0(%a): ... shuffle ... ; br bb1(%b)
//     @scan: s0(%a): ... shuffle ...      bb1(%r): store ..., %r
//            ret %b
//
// Recursion through such functions, and indirect calls that may reach one, have no regions to speak of:
// refused.
#include <algorithm>
#include <unordered_map>

#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"
#include "lowering/passes/diagnose.h"

namespace ptx2cpu::lowering {
namespace {

using ir::Opcode;

constexpr size_t kCalledOnceSize = 2000;
constexpr size_t kCallerSize = 100000;  // no voluntary inlining beyond

// What the decision needs to know of each function of the module.
struct Callee {
  bool concerns_caller = false;  // leads to a barrier, collective or exit
  bool recursive = false;
  size_t size = 0;
  uint32_t call_sites = 0;
  bool address_taken = false;
  std::vector<uint32_t> calls;
};

class CallGraph {
 public:
  explicit CallGraph(const ir::Module& module) : nodes_(module.functions.size()) {
    for (uint32_t n = 0; n < nodes_.size(); ++n) Scan(module.functions[n], nodes_[n]);
    for (const ir::Variable& variable : module.variables) {
      for (const auto& relocation : variable.relocations) {
        if (relocation.is_function) nodes_[relocation.index].address_taken = true;
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (Callee& node : nodes_) {
        bool concerns = node.concerns_caller;
        for (uint32_t callee : node.calls) concerns |= nodes_[callee].concerns_caller;
        changed |= concerns != node.concerns_caller;
        node.concerns_caller = concerns;
      }
    }
    for (uint32_t n = 0; n < nodes_.size(); ++n) nodes_[n].recursive = Reaches(n, n);
  }
  const Callee& operator[](uint32_t function) const { return nodes_[function]; }
  // A function that an indirect call may reach and that must not be called: its index.
  uint32_t Unreachable() const {
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      if (nodes_[n].address_taken && nodes_[n].concerns_caller) return n;
    }
    return ~0u;
  }

 private:
  void Scan(const ir::Function& f, Callee& node) {
    for (const ir::Block& block : f.blocks) {
      if (block.removed) continue;
      node.size += block.insts.size();
      for (ir::InstId id : block.insts) {
        const ir::Inst& inst = f.at_inst(id);
        if (ir::IsBarrier(inst.op) || ir::IsCollective(inst.op) || inst.op == Opcode::kExit)
          node.concerns_caller = true;
        if (inst.op == Opcode::kFunctionAddress) nodes_[inst.attrs.index].address_taken = true;
        if (inst.op != Opcode::kCall) continue;
        node.calls.push_back(inst.attrs.index);
        ++nodes_[inst.attrs.index].call_sites;
      }
    }
  }

  bool Reaches(uint32_t from, uint32_t to) const {
    std::vector<bool> seen(nodes_.size());
    std::vector<uint32_t> work = nodes_[from].calls;
    while (!work.empty()) {
      uint32_t n = work.back();
      work.pop_back();
      if (n == to) return true;
      if (seen[n]) continue;
      seen[n] = true;
      work.insert(work.end(), nodes_[n].calls.begin(), nodes_[n].calls.end());
    }
    return false;
  }

  std::vector<Callee> nodes_;
};

class Inliner {
 public:
  Inliner(const ir::Module& module, ir::Function& f, const PassOptions& options)
      : module_(module), f_(f), options_(options), graph_(module) {}

  Status Run() {
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {  // inlined blocks are appended and visited in turn
      if (f_.blocks[b].removed) continue;
      for (size_t i = 0; i < f_.blocks[b].insts.size(); ++i) {
        const ir::Inst& inst = f_.at_inst(f_.blocks[b].insts[i]);
        if (inst.op == Opcode::kCallIndirect) TRY_STATUS(CheckIndirect(inst));
        if (inst.op != Opcode::kCall || !TRY(ShouldInline(inst))) continue;
        TRY_STATUS(Inline({b}, i));
        break;  // what followed the call is a block of its own now
      }
    }
    return {};
  }

 private:
  Status CheckIndirect(const ir::Inst& inst) const {
    uint32_t callee = graph_.Unreachable();
    if (callee == ~0u) return {};
    return Unsupported(module_, inst.at,
                       "an indirect call may reach function '" + module_.functions[callee].name +
                           "', which holds a barrier, a warp operation or an exit",
                       "call it directly, or take no address of it");
  }

  Result<bool> ShouldInline(const ir::Inst& call) const {
    const Callee& callee = graph_[call.attrs.index];
    const ir::Function& function = module_.functions[call.attrs.index];
    if (function.is_declaration || !function.entry.valid()) return false;
    if (callee.concerns_caller) {
      if (!callee.recursive) return true;
      return Unsupported(
          module_, call.at,
          "recursive function '" + function.name + "' holds a barrier, a warp operation or an exit",
          "take the barrier out of the recursion");
    }
    if (callee.recursive || f_.insts.size() > kCallerSize) return false;
    return callee.size <= options_.inline_size || (callee.call_sites == 1 && callee.size <= kCalledOnceSize);
  }

  Status Inline(ir::BlockId block, size_t where) {
    ir::Inst call = f_.at_inst(f_.at_block(block).insts[where]);
    const ir::Function callee = module_.functions[call.attrs.index];  // a copy: it may be this very vector's
    if (callee.at_block(callee.entry).params.size() != call.operands.size()) {
      return Fail(ErrorCode::kInternal, "call of '" + callee.name + "' with a wrong number of operands");
    }
    ir::BlockId after = SplitBlock(f_, block, where + 1, "");
    f_.block(after).params = call.results;
    for (uint32_t n = 0; n < call.results.size(); ++n) {
      f_.values[call.results[n].index] = {f_.type_of(call.results[n]), {}, after, n};
    }
    for (int k = 0; k < 2; ++k) {  // the branch that SplitBlock made, and the call
      f_.inst(f_.at_block(block).insts.back()).block = {};
      f_.block(block).insts.pop_back();
    }
    uint32_t first_local = AdoptLocals(callee);
    ir::BlockId entry = CopyBody(callee, first_local, after);
    ir::Builder{f_, block, call.at}.Br(entry, call.operands);
    return {};
  }

  uint32_t AdoptLocals(const ir::Function& callee) {
    uint32_t first = static_cast<uint32_t>(f_.locals.size());
    uint32_t base = (f_.local_bytes + 15) & ~15u;
    for (ir::LocalVariable local : callee.locals) {
      base = (base + std::max(local.align, 1u) - 1) / std::max(local.align, 1u) * std::max(local.align, 1u);
      local.offset = base;
      base += local.size;
      f_.local_bytes = base;
      f_.locals.push_back(std::move(local));
    }
    return first;
  }

  ir::BlockId CopyBody(const ir::Function& callee, uint32_t first_local, ir::BlockId after) {
    std::vector<ir::ValueId> values(callee.values.size());
    std::vector<ir::BlockId> blocks(callee.blocks.size());
    std::vector<ir::BlockId> order = ir::ReversePostOrder(callee);
    for (ir::BlockId old : order) {
      blocks[old.index] = ir::AddBlock(f_, callee.at_block(old).label);
      for (ir::ValueId param : callee.at_block(old).params) {
        values[param.index] = ir::AddParam(f_, blocks[old.index], callee.type_of(param));
      }
      for (ir::InstId id : callee.at_block(old).insts) {
        for (ir::ValueId result : callee.at_inst(id).results) {
          values[result.index] = ir::AddValue(f_, callee.type_of(result), {}, blocks[old.index], 0);
        }
      }
    }
    for (ir::BlockId old : order) {
      for (ir::InstId id : callee.at_block(old).insts) {
        ir::Inst inst = callee.at_inst(id);
        for (ir::ValueId& operand : inst.operands) operand = values[operand.index];
        for (ir::ValueId& result : inst.results) result = values[result.index];
        for (ir::Edge& edge : inst.edges) {
          edge.to = blocks[edge.to.index];
          for (ir::ValueId& arg : edge.args) arg = values[arg.index];
        }
        if (inst.op == Opcode::kSymbol && inst.attrs.space == ir::Space::kLocal)
          inst.attrs.index += first_local;
        if (inst.op == Opcode::kRet) {
          inst.op = Opcode::kBr;
          inst.edges = {{after, std::move(inst.operands)}};
          inst.operands.clear();
        }
        ir::Append(f_, blocks[old.index], std::move(inst));
      }
    }
    return blocks[callee.entry.index];
  }

  const ir::Module& module_;
  ir::Function& f_;
  const PassOptions& options_;
  CallGraph graph_;
};

}  // namespace

Status InlineCalls(ir::Module& module, ir::Function& f, const PassOptions& options) {
  return Inliner(module, f, options).Run();
}

}  // namespace ptx2cpu::lowering
