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
// Recursion through such functions, and indirect calls that may reach one, are left to flatten-calls.
#include <algorithm>

#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"
#include "lowering/passes/call_graph.h"

namespace ptx2cpu::lowering {
namespace {

using ir::Opcode;

constexpr size_t kCalledOnceSize = 2000;
constexpr size_t kCallerSize = 100000;  // no voluntary inlining beyond

class Inliner {
 public:
  Inliner(const ir::Module& module, ir::Function& f, const PassOptions& options, const CallGraph& graph)
      : module_(module), f_(f), options_(options), graph_(graph) {}

  Status Run() {
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {  // inlined blocks are appended and visited in turn
      if (f_.blocks[b].removed) continue;
      // From the last one on: what follows a call becomes a block of its own and is not moved again.
      for (size_t i = f_.blocks[b].insts.size(); i-- > 0;) {
        const ir::Inst& inst = f_.at_inst(f_.blocks[b].insts[i]);
        if (inst.op == Opcode::kCall && ShouldInline(inst)) TRY_STATUS(Inline({b}, i));
      }
    }
    return {};
  }

 private:
  bool ShouldInline(const ir::Inst& call) const {
    const CallGraph::Node& callee = graph_[call.attrs.index];
    const ir::Function& function = module_.functions[call.attrs.index];
    if (function.is_declaration || !function.entry.valid() || callee.recursive) return false;
    if (callee.suspends) return true;
    if (f_.insts.size() > kCallerSize) return false;
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
    const std::vector<ir::BlockId> blocks = CopyFunction(f_, callee);
    for (ir::BlockId block : blocks) {
      for (ir::InstId id : f_.at_block(block).insts) {
        ir::Inst& inst = f_.inst(id);
        if (inst.op == Opcode::kSymbol && inst.attrs.space == ir::Space::kLocal)
          inst.attrs.index += first_local;
        if (inst.op != Opcode::kRet) continue;
        inst.op = Opcode::kBr;
        inst.edges = {{after, std::move(inst.operands)}};
        inst.operands.clear();
      }
    }
    return blocks[0];
  }

  const ir::Module& module_;
  ir::Function& f_;
  const PassOptions& options_;
  const CallGraph& graph_;
};

}  // namespace

Status InlineCalls(ir::Module& module, ir::Function& f, const PassOptions& options) {
  const bool calls = std::ranges::any_of(
      f.insts, [](const ir::Inst& inst) { return inst.op == Opcode::kCall && inst.block.valid(); });
  if (!calls) return {};
  return Inliner(module, f, options, CallGraph(module)).Run();
}

}  // namespace ptx2cpu::lowering
