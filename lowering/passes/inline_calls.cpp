// Inlines calls whose callee leads to a barrier, a warp collective or an exit, directly or through others:
// those concern the caller's regions. Small callees and those called once are inlined too, and those that
// call nothing themselves (a power, the reduction of a large angle), since a region that calls stays code of
// one thread at a time. The rest stay calls of one lane.
//
//   before                              after
//     bb0: %r = call @scan(%x)            bb0: br s0(%x)
//          store ..., %r                  s0(%a): ... shuffle ... ; br bb1(%b)
//     @scan: s0(%a): ... shuffle ...      bb1(%r): store ..., %r
//            ret %b
//
// Recursion through such functions, and indirect calls that may reach one, are left to flatten-calls. So are
// functions whose copies would make a kernel too large: flatten-calls takes each body once.
//
// What is inlined is decided from sizes, callees before callers, and nothing is copied for it. Then bodies
// are copied from the outside in, into the functions that remain: a chain of n calls costs n copies.
// Functions that the kernel no longer reaches become declarations.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"
#include "lowering/passes/call_graph.h"

namespace ptx2cpu::lowering {
namespace {

using ir::Opcode;

constexpr size_t kSmallSize = 40;  // instructions of a callee that is inlined wherever it is called
constexpr size_t kCalledOnceSize = 2000;
constexpr size_t kCopiesSize = 4000;     // of all copies that a caller would get of what calls no other
constexpr size_t kCallerSize = 100000;   // no voluntary inlining beyond
constexpr size_t kExpandedSize = 50000;  // of a kernel with all functions that suspend
constexpr size_t kFlattenedSize = 4000;  // the same where flatten-calls has work anyway

// Which functions are inlined wherever they are called.
class InlinePlan {
 public:
  InlinePlan(const ir::Module& module, const CallGraph& graph)
      : module_(module), graph_(graph), inlines_(module.functions.size()) {
    if (LargestKernel(true) > (IsFlattened() ? kFlattenedSize : kExpandedSize)) LargestKernel(false);
  }
  bool Inlines(uint32_t callee) const { return inlines_[callee]; }
  // Its callers need it in their regions: however large they are.
  bool Must(uint32_t callee) const { return inlines_[callee] && graph_[callee].suspends; }

 private:
  bool IsFlattened() const {
    const bool indirect = !graph_.IndirectTargets().empty();
    return std::ranges::any_of(graph_.order(), [&](uint32_t n) {
      const CallGraph::Node& node = graph_[n];
      return (node.suspends && node.recursive) || (indirect && node.calls_indirectly);
    });
  }

  // Decides for all functions; `all`: those that suspend are inlined whatever their size.
  size_t LargestKernel(bool all) {
    size_t largest = 0;
    std::vector<size_t> sizes(inlines_.size());  // with what is inlined
    for (uint32_t n : graph_.order()) {
      const CallGraph::Node& node = graph_[n];
      const ir::Function& function = module_.functions[n];
      size_t& size = sizes[n];
      size = node.size;
      for (uint32_t callee : node.calls)
        size += inlines_[callee] ? std::min(sizes[callee], kExpandedSize + 1) : 0;
      if (function.is_kernel) largest = std::max(largest, size);
      const bool once = node.call_sites == 1;
      const bool is_leaf = node.calls.empty() && !node.calls_indirectly && !node.suspends;
      const bool wanted = size <= kSmallSize || (once && size <= kCalledOnceSize) ||
                          (is_leaf && size * node.most_calls <= kCopiesSize) ||
                          (node.suspends && (all || once));
      inlines_[n] = wanted && !function.is_declaration && function.entry.valid() && !node.recursive;
    }
    return largest;
  }

  const ir::Module& module_;
  const CallGraph& graph_;
  std::vector<bool> inlines_;
};

class Inliner {
 public:
  Inliner(const ir::Module& module, ir::Function& f, const InlinePlan& plan)
      : module_(module), f_(f), plan_(plan) {}

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
    return plan_.Must(call.attrs.index) ||
           (plan_.Inlines(call.attrs.index) && f_.insts.size() <= kCallerSize);
  }

  Status Inline(ir::BlockId block, size_t where) {
    ir::Inst call = f_.at_inst(f_.at_block(block).insts[where]);
    const ir::Function& callee = module_.functions[call.attrs.index];  // another one: it is not recursive
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
  const InlinePlan& plan_;
};

// The functions that kernels reach, in the order in which they are found. The calls of each are read once, so
// that it can be changed before.
class Reached {
 public:
  explicit Reached(const ir::Module& module)
      : module_(module), reached_(module.functions.size()), targets_(ir::IndirectTargets(module)) {
    for (uint32_t n = 0; n < reached_.size(); ++n) {
      if (!module.functions[n].is_declaration) definitions_.try_emplace(module.functions[n].name, n);
    }
    for (uint32_t n = 0; n < reached_.size(); ++n) {
      if (module.functions[n].is_kernel) Add(n);
    }
  }
  bool Next(uint32_t& function) {
    if (next_ == found_.size()) return false;
    function = found_[next_++];
    return true;
  }
  void AddCallsOf(const ir::Function& f) {
    for (const ir::Block& block : f.blocks) {
      if (block.removed) continue;
      for (ir::InstId id : block.insts) {
        const ir::Inst& inst = f.at_inst(id);
        if (inst.op == Opcode::kCall) Add(inst.attrs.index);
        if (inst.op == Opcode::kCallIndirect) AddTargets();
      }
    }
  }
  bool Contains(uint32_t function) const { return reached_[function]; }

 private:
  void Add(uint32_t function) {
    if (reached_[function]) return;
    reached_[function] = true;
    found_.push_back(function);
    const ir::Function& f = module_.functions[function];
    const auto definition = f.is_declaration ? definitions_.find(f.name) : definitions_.end();
    if (definition != definitions_.end()) Add(definition->second);
  }
  void AddTargets() {
    if (std::exchange(calls_indirectly_, true)) return;
    for (uint32_t n = 0; n < targets_.size(); ++n) {
      if (targets_[n]) Add(n);
    }
  }

  const ir::Module& module_;
  std::unordered_map<std::string_view, uint32_t> definitions_;
  std::vector<bool> reached_;
  const std::vector<bool> targets_;
  std::vector<uint32_t> found_;
  size_t next_ = 0;
  bool calls_indirectly_ = false;
};

}  // namespace

Status InlineCalls(ir::Module& module, const PassOptions& options) {
  if (std::ranges::count(module.functions, false, &ir::Function::is_declaration) < 2) return {};
  FlagCallsThatAsk(module);
  const CallGraph graph(module);
  const InlinePlan plan(module, graph);
  Reached reached(module);
  for (uint32_t n = 0; reached.Next(n);) {
    ir::Function& f = module.functions[n];
    if (f.is_declaration) continue;
    TRY_STATUS(Inliner(module, f, plan).Run());
    reached.AddCallsOf(f);
  }
  for (uint32_t n = 0; n < module.functions.size(); ++n) {
    if (!reached.Contains(n)) MakeDeclaration(module.functions[n]);
  }
  return {};
}

}  // namespace ptx2cpu::lowering
