// The frames of flatten-calls: functions whose bodies are in the kernel, the sites that call them, and what
// is stored around a call. A site pushes its frame and jumps; a body returns by the number in the frame.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "lowering/passes/call_stack.h"
#include "lowering/passes/ssa_repair.h"

namespace ptx2cpu::lowering {

class CallFrames : protected CallStack {
 protected:
  using BlockId = ir::BlockId;

  // `targets`: the functions that an indirect call may reach and that have bodies here.
  CallFrames(const ir::Module& module, ir::Function& f, std::vector<uint32_t> targets)
      : CallStack(f), module_(module), targets_(std::move(targets)) {}

  static constexpr uint32_t kKernel = ~0u;
  static constexpr uint32_t kFrameHead = 16;  // the site, padded
  struct Body {
    BlockId entry;
    uint32_t locals = 0;          // bytes of its local variables
    uint32_t saved = kFrameHead;  // bytes before its local variables
    std::vector<ir::LocalVariable> variables;
    std::vector<ir::InstId> returns;
    std::vector<uint32_t> sites;  // that call it by name
  };
  struct Site {
    uint32_t caller;
    std::vector<uint32_t> callees;  // of an indirect call those that it may reach
    BlockId call, back;             // where the frame is pushed and popped
    std::vector<ValueId> args;
    ValueId chosen;                                  // which callee; invalid: the only one
    std::vector<std::pair<ValueId, ValueId>> saved;  // value, what it is loaded as
    ir::Position at;
    uint32_t place = 0;  // among those of its callees that are of its kind
  };

  // Blocks that were added since the last call are those of this function's body.
  void OwnNewBlocks(uint32_t owner);
  // After the call it continues at `after`, whose parameters are the results. `same`: the sites that it is
  // numbered with.
  void AddSite(Site site, BlockId after, std::vector<uint32_t>& same);
  // Bits of each parameter and of each result: all that an indirect call and what it reaches agree on.
  using Shape = std::vector<int>;
  Shape ShapeOf(const std::vector<ValueId>& args, const std::vector<ValueId>& results) const;
  Shape ShapeOf(uint32_t function) const;
  // Once all sites are known: frames are pushed and popped, bodies return, the kernel makes the first frame.
  void Connect(ir::Position at);

  const ir::Module& module_;
  const std::vector<uint32_t> targets_;
  std::vector<uint32_t> owner_;                          // by block: function whose body it is, kKernel
  std::map<uint32_t, std::vector<uint32_t>> blocks_of_;  // the same by function
  std::map<uint32_t, Body> bodies_;
  std::map<Shape, std::vector<uint32_t>> indirect_;  // sites of indirect calls
  std::vector<ir::InstId> symbols_;                  // of local variables, in bodies

 private:
  void Enter(const Site& site, BlockId block);
  uint32_t FrameBytes(uint32_t function) const;
  uint32_t SizeOf(ValueId value) const;
  void SaveValues();
  void ConnectReturns();
  void Push(const Site& site);
  void Pop(Site& site, std::map<ValueId, Versions>& versions);
  void MoveSymbols();
  void Return(uint32_t function, ir::InstId id);
  void Start(ir::Position at);
  std::span<const uint32_t> IndirectSitesOf(uint32_t function) const;
  uint32_t NumberOf(const Site& site) const;

  std::vector<Site> sites_;
};

}  // namespace ptx2cpu::lowering
