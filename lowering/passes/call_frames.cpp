#include "lowering/passes/call_frames.h"

#include <algorithm>

#include "analysis/values/liveness.h"
#include "lowering/passes/block_editing.h"

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Opcode;
using ir::Space;
using ir::Type;
using ir::ValueId;

void CallFrames::Connect(ir::Position at) {
  SaveValues();
  ConnectReturns();
  Start(at);
}

void CallFrames::OwnNewBlocks(uint32_t owner) {
  std::vector<uint32_t>& blocks = blocks_of_[owner];
  for (size_t n = owner_.size(); n < f_.blocks.size(); ++n) blocks.push_back(static_cast<uint32_t>(n));
  owner_.resize(f_.blocks.size(), owner);
}

void CallFrames::AddSite(Site site, BlockId after, std::vector<uint32_t>& same) {
  site.back = ir::AddBlock(f_, "return");
  std::vector<ValueId> results;
  ir::Builder back{f_, site.back, site.at};
  for (size_t n = 0; n < f_.at_block(after).params.size(); ++n) {
    const Type type = f_.type_of(f_.at_block(after).params[n]);
    results.push_back(Fetch(back, Place(back, results_, static_cast<uint32_t>(16 * n)), type));
  }
  back.Br(after, results);
  OwnNewBlocks(site.caller);
  Enter(site, site.call);
  site.place = static_cast<uint32_t>(same.size());
  same.push_back(static_cast<uint32_t>(sites_.size()));
  sites_.push_back(std::move(site));
}

// Ends the block of the call.
void CallFrames::Enter(const Site& site, BlockId block) {
  std::vector<ir::Edge> edges;
  ir::Builder b{f_, block, site.at};
  for (uint32_t callee : site.callees) {
    const BlockId entry = bodies_.at(callee).entry;
    std::vector<ValueId> args = site.args;
    for (size_t n = 0; n < args.size(); ++n) {  // bits pass as they are
      const Type type = f_.type_of(f_.at_block(entry).params[n]);
      if (type != f_.type_of(args[n])) args[n] = b.Bitcast(type, args[n]);
    }
    edges.push_back({entry, std::move(args)});
  }
  if (site.chosen.valid())
    b.Terminate(Opcode::kSwitch, {site.chosen}, std::move(edges));
  else
    b.Br(edges[0].to, edges[0].args);
}

CallFrames::Shape CallFrames::ShapeOf(const std::vector<ValueId>& args,
                                      const std::vector<ValueId>& results) const {
  Shape shape;
  for (const ValueId arg : args) shape.push_back(ir::Bits(f_.type_of(arg)));
  shape.push_back(0);
  for (const ValueId result : results) shape.push_back(ir::Bits(f_.type_of(result)));
  return shape;
}

CallFrames::Shape CallFrames::ShapeOf(uint32_t function) const {
  const ir::Function& f = module_.functions[function];
  Shape shape;
  for (const ValueId param : f.at_block(f.entry).params) shape.push_back(ir::Bits(f.type_of(param)));
  shape.push_back(0);
  for (const ir::Param& result : f.returns) {
    if (result.type != Type::kVoid) shape.push_back(ir::Bits(result.type));  // else it is an argument
  }
  return shape;
}

uint32_t CallFrames::FrameBytes(uint32_t function) const {
  const Body& body = bodies_.at(function);
  return RoundUp(body.saved, 16) + RoundUp(body.locals, 16);
}

// What a site needs after it is found with every site as a root of the graph; bodies still end in ret. What
// is needed after a later call of the same function lives through that call.
void CallFrames::SaveValues() {
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

uint32_t CallFrames::SizeOf(ValueId value) const {
  return std::max(4u, static_cast<uint32_t>(ir::Bits(f_.type_of(value))) / 8);
}

void CallFrames::ConnectReturns() {
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

void CallFrames::Push(const Site& site) {
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
  uint32_t bytes = 0;
  for (uint32_t callee : site.callees) bytes = std::max(bytes, FrameBytes(callee));
  ValueId end = InFrame(b, frame, bytes);
  ValueId limit = Place(b, stack_, kStackBytes);
  const BlockId fits = ir::AddBlock(f_, ""), overflow = ir::AddBlock(f_, "stack overflow");
  b.CondBr(b.Icmp(ir::Compare::kUle, end, limit), {fits, {}}, {overflow, {}});
  ir::Builder{f_, overflow, site.at}.Terminate(Opcode::kTrap);
  ir::Builder in{f_, fits, site.at};
  in.Store(Type::kI64, Space::kLocal, Place(in, pointer_, 0), {frame});
  in.Store(Type::kI32, Space::kLocal, frame, {in.Const(Type::kI32, NumberOf(site))});
  Enter(site, fits);
}

// The sites that a function returns to: first those of indirect calls, then those that call it by name.
std::span<const uint32_t> CallFrames::IndirectSitesOf(uint32_t function) const {
  const bool is_target = std::ranges::find(targets_, function) != targets_.end();
  const auto found = is_target ? indirect_.find(ShapeOf(function)) : indirect_.end();
  return found == indirect_.end() ? std::span<const uint32_t>() : std::span(found->second);
}

uint32_t CallFrames::NumberOf(const Site& site) const {
  const bool is_indirect = site.chosen.valid();
  return site.place + (is_indirect ? 0 : static_cast<uint32_t>(IndirectSitesOf(site.callees[0]).size()));
}

void CallFrames::Pop(Site& site, std::map<ValueId, Versions>& versions) {
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
void CallFrames::MoveSymbols() {
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

void CallFrames::Return(uint32_t function, ir::InstId id) {
  const ir::Inst inst = f_.at_inst(id);
  const BlockId block = inst.block;
  f_.inst(id).block = {};
  f_.block(block).insts.pop_back();
  ir::Builder b{f_, block, inst.at};
  for (uint32_t n = 0; n < inst.operands.size(); ++n) Put(b, Place(b, results_, 16 * n), inst.operands[n]);
  ValueId site = b.Load(Type::kI32, Space::kLocal, FrameBase(b));
  std::vector<ir::Edge> edges;
  for (uint32_t number : IndirectSitesOf(function)) edges.push_back({sites_[number].back, {}});
  for (uint32_t number : bodies_.at(function).sites) edges.push_back({sites_[number].back, {}});
  b.Terminate(Opcode::kSwitch, {site}, std::move(edges));
}

// The kernel's own frame is the first.
void CallFrames::Start(ir::Position at) {
  const BlockId entry = ir::AddBlock(f_, "");
  ir::Builder b{f_, entry, at};
  b.Store(Type::kI64, Space::kLocal, Place(b, pointer_, 0), {b.Symbol(Space::kLocal, stack_)});
  b.Br(f_.entry);
  f_.entry = entry;
}

}  // namespace ptx2cpu::lowering
