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
// first.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analysis/values/liveness.h"
#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"
#include "lowering/passes/call_graph.h"
#include "lowering/passes/call_stack.h"
#include "lowering/passes/diagnose.h"
#include "lowering/passes/ssa_repair.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::Opcode;
using ir::Space;
using ir::Type;
using ir::ValueId;

constexpr uint32_t kFrameHead = 16;  // the site, padded

class CallFlattener : CallStack {
 public:
  CallFlattener(const ir::Module& module, ir::Function& f, const CallGraph& calls)
      : CallStack(f), module_(module), calls_(calls), targets_(calls.IndirectTargets()) {}

  Status Run() {
    const ir::Position at = f_.at;
    Add();
    bodies_.emplace(kKernel, Body{});
    OwnNewBlocks(kKernel);
    TRY_STATUS(FlattenCallsOf(kKernel));
    // Bodies are added while calls of others are met.
    for (size_t i = 0; i < waiting_.size(); ++i) TRY_STATUS(FlattenCallsOf(waiting_[i]));
    SaveValues();
    ConnectReturns();
    Start(at);
    f_.resumes = ir::Resumes::kLanes;
    return {};
  }

 private:
  static constexpr uint32_t kKernel = ~0u;
  struct Body {
    BlockId entry;
    uint32_t locals = 0;          // bytes of its local variables
    uint32_t saved = kFrameHead;  // bytes before its local variables
    std::vector<ir::LocalVariable> variables;
    std::vector<ir::InstId> returns;
    std::vector<uint32_t> sites;  // that call it; a frame holds the position in this list
  };
  struct Site {
    uint32_t caller, callee;
    BlockId call, back;                              // where the frame is pushed and popped
    std::vector<std::pair<ValueId, ValueId>> saved;  // value, what it is loaded as
    ir::Position at;
    uint32_t place = 0;  // among the sites of its callee
  };

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

  void OwnNewBlocks(uint32_t owner) {
    std::vector<uint32_t>& blocks = blocks_of_[owner];
    for (size_t n = owner_.size(); n < f_.blocks.size(); ++n) blocks.push_back(static_cast<uint32_t>(n));
    owner_.resize(f_.blocks.size(), owner);
  }

  // The call's results become parameters of the block after it.
  void AdoptResults(BlockId after, const ir::Inst& call) {
    f_.block(after).params = call.results;
    for (uint32_t n = 0; n < call.results.size(); ++n) {
      f_.values[call.results[n].index] = {f_.type_of(call.results[n]), {}, after, n};
    }
  }

  Status Jump(BlockId block, BlockId after, uint32_t caller, uint32_t callee, std::vector<ValueId> args,
              const ir::Position& at) {
    TRY_STATUS(AddBody(callee, at));
    Site site{caller, callee, block, ir::AddBlock(f_, "return"), {}, at};
    std::vector<ValueId> results;
    ir::Builder back{f_, site.back, at};
    for (size_t n = 0; n < f_.at_block(after).params.size(); ++n) {
      const Type type = f_.type_of(f_.at_block(after).params[n]);
      results.push_back(Fetch(back, Place(back, results_, static_cast<uint32_t>(16 * n)), type));
    }
    back.Br(after, results);
    OwnNewBlocks(caller);
    ir::Builder{f_, block, at}.Br(bodies_.at(callee).entry, std::move(args));
    std::vector<uint32_t>& same = bodies_.at(callee).sites;
    site.place = static_cast<uint32_t>(same.size());
    same.push_back(static_cast<uint32_t>(sites_.size()));
    sites_.push_back(std::move(site));
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
    for (uint32_t target : targets_) {
      const ir::Function& function = module_.functions[target];
      if (function.at_block(function.entry).params.size() + 1 != call.operands.size()) continue;
      const BlockId jump = ir::AddBlock(f_, ""), next = ir::AddBlock(f_, "");
      OwnNewBlocks(caller);
      ir::Builder b{f_, block, call.at};
      ValueId address = b.Inst1(Opcode::kFunctionAddress, Type::kVoid, {}, {.index = target});
      b.CondBr(b.Icmp(ir::Compare::kEq, call.operands[0], address), {jump, {}}, {next, {}});
      TRY_STATUS(
          Jump(jump, after, caller, target, {call.operands.begin() + 1, call.operands.end()}, call.at));
      block = next;
    }
    ir::Builder{f_, block, call.at}.Br(plain);
    return {};
  }

  Status AddBody(uint32_t callee, const ir::Position& at) {
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

  // -- frames --

  uint32_t FrameBytes(uint32_t function) const {
    const Body& body = bodies_.at(function);
    return RoundUp(body.saved, 16) + RoundUp(body.locals, 16);
  }

  // What a site needs after it is found with every site as a root of the graph; bodies still end in ret. What
  // is needed after a later call of the same function lives through that call.
  void SaveValues() {
    std::vector<ir::Edge> roots{{f_.entry, {}}};
    const BlockId start = ir::AddBlock(f_, ""), real = f_.entry;
    for (const Site& site : sites_) {
      roots.push_back({site.back, {}});
      f_.inst(f_.at_block(site.call).insts.back()).edges.push_back({site.back, {}});
    }
    ir::Builder b{f_, start};
    b.Terminate(Opcode::kSwitch, {b.Const(Type::kI32, 0)}, std::move(roots));
    f_.entry = start;
    const analysis::LivenessResult live = analysis::AnalyzeLiveness(f_);
    for (const Site& site : sites_) f_.inst(f_.at_block(site.call).insts.back()).edges.pop_back();
    for (Site& site : sites_) {
      for (ValueId value : live.in[site.back.index].Values()) site.saved.push_back({value, {}});
      uint32_t offset = kFrameHead;
      for (auto [value, loaded] : site.saved) offset = RoundUp(offset, SizeOf(value)) + SizeOf(value);
      Body& body = bodies_.at(site.caller);
      body.saved = std::max(body.saved, offset);
    }
    f_.entry = real;
    f_.block(start).removed = true;
    f_.block(start).insts.clear();
  }
  uint32_t SizeOf(ValueId value) const {
    return std::max(4u, static_cast<uint32_t>(ir::Bits(f_.type_of(value))) / 8);
  }

  void ConnectReturns() {
    std::map<ValueId, Versions> versions;
    for (Site& site : sites_) {
      Push(site);
      Pop(site, versions);
    }
    MoveSymbols();
    for (auto& [number, body] : bodies_) {
      for (ir::InstId id : body.returns) Return(number, id);
    }
    ir::RemoveUnreachableBlocks(f_);  // sites of functions that never return
    std::vector<Versions> all;
    for (auto& [value, list] : versions) all.push_back(std::move(list));
    RepairSsa(f_, all, std::vector<bool>(f_.blocks.size(), true));
  }

  void Push(const Site& site) {
    const std::vector<ValueId> args = f_.successors(site.call)[0].args;
    f_.inst(f_.at_block(site.call).insts.back()).block = {};
    f_.block(site.call).insts.pop_back();
    ir::Builder b{f_, site.call, site.at};
    ValueId base = FrameBase(b);
    uint32_t offset = kFrameHead;
    for (auto [value, loaded] : site.saved) {
      offset = RoundUp(offset, SizeOf(value));
      Put(b, InFrame(b, base, offset), value);
      offset += SizeOf(value);
    }
    ValueId frame = InFrame(b, base, FrameBytes(site.caller));
    ValueId end = InFrame(b, frame, FrameBytes(site.callee));
    ValueId limit = Place(b, stack_, kStackBytes);
    const BlockId fits = ir::AddBlock(f_, ""), overflow = ir::AddBlock(f_, "stack overflow");
    b.CondBr(b.Icmp(ir::Compare::kUle, end, limit), {fits, {}}, {overflow, {}});
    ir::Builder{f_, overflow, site.at}.Terminate(Opcode::kTrap);
    ir::Builder in{f_, fits, site.at};
    in.Store(Type::kI64, Space::kLocal, Place(in, pointer_, 0), {frame});
    in.Store(Type::kI32, Space::kLocal, frame, {in.Const(Type::kI32, site.place)});
    in.Br(bodies_.at(site.callee).entry, args);
  }

  void Pop(Site& site, std::map<ValueId, Versions>& versions) {
    // In front of the loads of results.
    const BlockId back = site.back, rest = SplitBlock(f_, back, 0, "");
    f_.inst(f_.at_block(back).insts.back()).block = {};
    f_.block(back).insts.pop_back();
    ir::Builder b{f_, back, site.at};
    ValueId size = b.Const(Type::kI64, FrameBytes(site.caller));
    ValueId base = b.Binary(Opcode::kSub, Type::kI64, FrameBase(b), size);
    b.Store(Type::kI64, Space::kLocal, Place(b, pointer_, 0), {base});
    uint32_t offset = kFrameHead;
    for (auto& [value, loaded] : site.saved) {
      offset = RoundUp(offset, SizeOf(value));
      loaded = Fetch(b, InFrame(b, base, offset), f_.type_of(value));
      offset += SizeOf(value);
      versions.try_emplace(value, Versions{value}).first->second.push_back(loaded);
    }
    b.Br(rest);
  }

  // Addresses of local variables are computed right where their symbols were.
  void MoveSymbols() {
    std::vector<bool> holds(f_.blocks.size()), moves(f_.insts.size());
    for (ir::InstId id : symbols_) {
      moves[id.index] = true;
      holds[f_.at_inst(id).block.index] = true;
    }
    std::vector<ValueId> replaced(f_.values.size());
    for (uint32_t n = 0; n < holds.size(); ++n) {
      if (!holds[n]) continue;
      const std::vector<ir::InstId> old = std::exchange(f_.block({n}).insts, {});
      for (ir::InstId id : old) {
        if (id.index >= moves.size() || !moves[id.index]) {
          f_.block({n}).insts.push_back(id);
          continue;
        }
        const ir::Inst inst = f_.at_inst(id);
        const Body& body = bodies_.at(owner_[n]);
        ir::Builder b{f_, {n}, inst.at};
        const uint32_t offset = RoundUp(body.saved, 16) + body.variables[inst.attrs.index].offset;
        replaced[inst.results[0].index] = InFrame(b, FrameBase(b), offset);
        f_.inst(id).block = {};
      }
    }
    ir::ReplaceUses(f_, replaced);
  }

  void Return(uint32_t function, ir::InstId id) {
    const ir::Inst inst = f_.at_inst(id);
    const BlockId block = inst.block;
    f_.inst(id).block = {};
    f_.block(block).insts.pop_back();
    ir::Builder b{f_, block, inst.at};
    for (uint32_t n = 0; n < inst.operands.size(); ++n) Put(b, Place(b, results_, 16 * n), inst.operands[n]);
    ValueId site = b.Load(Type::kI32, Space::kLocal, FrameBase(b));
    std::vector<ir::Edge> edges;
    for (uint32_t number : bodies_.at(function).sites) edges.push_back({sites_[number].back, {}});
    b.Terminate(Opcode::kSwitch, {site}, std::move(edges));
  }

  // The kernel's own frame is the first.
  void Start(const ir::Position& at) {
    const BlockId entry = ir::AddBlock(f_, "");
    ir::Builder b{f_, entry, at};
    b.Store(Type::kI64, Space::kLocal, Place(b, pointer_, 0), {b.Symbol(Space::kLocal, stack_)});
    b.Br(f_.entry);
    f_.entry = entry;
  }

  const ir::Module& module_;
  const CallGraph& calls_;
  const std::vector<uint32_t> targets_;
  std::set<ir::InstId> kept_;                            // indirect calls after the comparisons
  std::vector<uint32_t> owner_;                          // by block: function whose body it is, kKernel
  std::map<uint32_t, std::vector<uint32_t>> blocks_of_;  // the same by function
  std::map<uint32_t, Body> bodies_;
  std::vector<uint32_t> waiting_;
  std::vector<Site> sites_;
  std::vector<ir::InstId> symbols_;
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
