// Calls that cannot be inlined and lead to a barrier, a warp operation or an exit (recursion, function
// pointers) become jumps with a stack in local memory, so that all places where a lane may wait are in the
// kernel itself (tier T3).
//
// clang-format off
//   before                                   after
//     bb0: %r = call @walk(%x)                 bb0: store what is needed after the call; push frame, site 0
//          store ..., %r                            br walk(%x)
//     @walk: w0(%a): ... shuffle ...           walk(%a): ... shuffle ... ; result to its place
//            ... call @walk ... ret %b                   switch site of the frame, site0, site1
//                                              site0: pop frame; load what is needed; %r = result ; store ..., %r
// clang-format on
//
// Frame: the site it returns to, what its function needs after its calls, its local variables. The body of
// each function is in the kernel once. An indirect call compares the address with those of such functions
// first, then pushes one frame for whichever it is: the sites of indirect calls have the same numbers in all
// functions that they may reach.
#include <algorithm>
#include <set>
#include <utility>

#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"
#include "lowering/passes/call_frames.h"
#include "lowering/passes/call_graph.h"
#include "lowering/passes/diagnose.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::Opcode;
using ir::Space;
using ir::Type;
using ir::ValueId;

class CallFlattener : CallFrames {
 public:
  CallFlattener(const ir::Module& module, ir::Function& f, const CallGraph& calls)
      : CallFrames(module, f, calls.IndirectTargets()), calls_(calls) {}

  Status Run() {
    const ir::Position at = f_.at;
    Add();
    bodies_.emplace(kKernel, Body{});
    OwnNewBlocks(kKernel);
    TRY_STATUS(FlattenCallsOf(kKernel));
    // Bodies are added while calls of others are met.
    for (size_t i = 0; i < waiting_.size(); ++i) TRY_STATUS(FlattenCallsOf(waiting_[i]));
    Connect(at);
    f_.resumes = ir::Resumes::kLanes;
    return {};
  }

 private:
  // -- calls --

  Status FlattenCallsOf(uint32_t caller) {
    // The list grows: what follows a call is a block of its own.
    for (size_t next = 0; next < blocks_of_[caller].size(); ++next) {
      const uint32_t n = blocks_of_[caller][next];
      if (f_.blocks[n].removed) continue;
      for (size_t i = 0; i < f_.blocks[n].insts.size(); ++i) {
        const ir::Inst inst = f_.at_inst(f_.blocks[n].insts[i]);
        const bool direct = inst.op == Opcode::kCall && calls_[inst.attrs.index].suspends;
        const bool indirect =
            inst.op == Opcode::kCallIndirect && !targets_.empty() && !kept_.contains(f_.blocks[n].insts[i]);
        if (!direct && !indirect) continue;
        const BlockId after = SplitBlock(f_, {n}, i + 1, "");
        f_.inst(f_.at_block({n}).insts.back()).block = {};  // the branch that SplitBlock made
        f_.block({n}).insts.pop_back();
        if (direct) {
          f_.inst(f_.at_block({n}).insts.back()).block = {};
          f_.block({n}).insts.pop_back();
          OwnNewBlocks(caller);
          AdoptResults(after, inst);
          TRY_STATUS(Jump({n}, after, caller, inst.attrs.index, inst.operands, inst.at));
        } else {
          TRY_STATUS(JumpIndirect({n}, after, caller, inst));
        }
        break;
      }
    }
    return {};
  }

  // The call's results become parameters of the block after it.
  void AdoptResults(BlockId after, const ir::Inst& call) {
    f_.block(after).params = call.results;
    for (uint32_t n = 0; n < call.results.size(); ++n) {
      f_.values[call.results[n].index] = {f_.type_of(call.results[n]), {}, after, n};
    }
  }

  Status Jump(BlockId block, BlockId after, uint32_t caller, uint32_t callee, std::vector<ValueId> args,
              ir::Position at) {
    TRY_STATUS(AddBody(callee, at));
    std::vector<uint32_t>& same = bodies_.at(callee).sites;
    AddSite({.caller = caller,
             .callees = {callee},
             .call = block,
             .back = {},
             .args = std::move(args),
             .chosen = {},
             .saved = {},
             .at = at},
            after, same);
    return {};
  }

  // call_indirect %p: if %p is one of those functions, a jump; else the call as it was.
  Status JumpIndirect(BlockId block, BlockId after, uint32_t caller, const ir::Inst& call) {
    const ir::InstId old = f_.at_block(block).insts.back();
    kept_.insert(old);
    f_.block(block).insts.pop_back();
    const BlockId plain = ir::AddBlock(f_, "");
    f_.inst(old).block = plain;
    f_.block(plain).insts.push_back(old);
    std::vector<ValueId> results;
    for (ValueId result : call.results)
      results.push_back(
          ir::AddValue(f_, f_.type_of(result), old, plain, static_cast<uint32_t>(results.size())));
    f_.inst(old).results = results;
    AdoptResults(after, call);
    ir::Builder{f_, plain, call.at}.Br(after, results);
    OwnNewBlocks(caller);
    Site site{.caller = caller,
              .callees = {},
              .call = {},
              .back = {},
              .args = {call.operands.begin() + 1, call.operands.end()},
              .chosen = {},
              .saved = {},
              .at = call.at};
    const Shape shape = ShapeOf(site.args, results);
    for (uint32_t target : targets_) {
      if (ShapeOf(target) == shape) site.callees.push_back(target);
    }
    if (!site.callees.empty()) {
      site.call = ir::AddBlock(f_, "");
      site.chosen = ir::AddParam(f_, site.call, Type::kI32);
      for (uint32_t n = 0; n < site.callees.size(); ++n)
        block = Compare(block, call, site.callees[n], site.call, n);
      OwnNewBlocks(caller);
      for (uint32_t callee : site.callees) TRY_STATUS(AddBody(callee, call.at));
      std::vector<uint32_t>& same = indirect_[shape];
      AddSite(std::move(site), after, same);
    }
    ir::Builder{f_, block, call.at}.Br(plain);
    return {};
  }

  // If the call is of `target`, to `found` with its number; else to the block that is returned.
  BlockId Compare(BlockId block, const ir::Inst& call, uint32_t target, BlockId found, uint32_t number) {
    const BlockId next = ir::AddBlock(f_, "");
    ir::Builder b{f_, block, call.at};
    const ValueId address = b.Inst1(Opcode::kFunctionAddress, Type::kVoid, {}, {.index = target});
    const ValueId same = b.Icmp(ir::Compare::kEq, call.operands[0], address);
    const ValueId chosen = b.Const(Type::kI32, number);
    b.CondBr(same, {found, {chosen}}, {next, {}});
    return next;
  }

  Status AddBody(uint32_t callee, ir::Position at) {
    if (bodies_.contains(callee)) return {};
    const ir::Function& function = module_.functions[callee];
    if (function.is_declaration || !function.entry.valid()) {
      return Unsupported(module_, at, "function '" + function.name + "' is declared only",
                         "define it in the module");
    }
    Body body;
    body.variables = function.locals;
    body.locals = function.local_bytes;
    const std::vector<BlockId> blocks = CopyFunction(f_, function);
    OwnNewBlocks(callee);
    body.entry = blocks[0];
    for (BlockId block : blocks) {
      for (ir::InstId id : f_.at_block(block).insts) {
        const ir::Inst& inst = f_.at_inst(id);
        if (inst.op == Opcode::kSymbol && inst.attrs.space == Space::kLocal) symbols_.push_back(id);
        if (inst.op == Opcode::kRet) body.returns.push_back(id);
      }
    }
    bodies_.emplace(callee, std::move(body));
    waiting_.push_back(callee);
    return {};
  }

  const CallGraph& calls_;
  std::set<ir::InstId> kept_;  // indirect calls after the comparisons
  std::vector<uint32_t> waiting_;
};

}  // namespace

Status FlattenCalls(ir::Module& module, ir::Function& f, const PassOptions&) {
  const bool any_call = std::ranges::any_of(f.insts, [](const ir::Inst& inst) {
    return inst.block.valid() && (inst.op == Opcode::kCall || inst.op == Opcode::kCallIndirect);
  });
  if (!any_call) return {};
  const CallGraph calls(module);
  const bool indirect = !calls.IndirectTargets().empty();
  bool any = false;
  for (ir::BlockId block : ir::ReversePostOrder(f)) {
    for (ir::InstId id : f.at_block(block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      any |= inst.op == Opcode::kCall && calls[inst.attrs.index].suspends;
      any |= inst.op == Opcode::kCallIndirect && indirect;
    }
  }
  return any ? CallFlattener(module, f, calls).Run() : Status{};
}

}  // namespace ptx2cpu::lowering
