// Finds misaligned accesses of lanes without a branch at the access: a branch there keeps loops over lanes
// from becoming vectors, and x86 itself does not fault.
//
//   for lanes: if (i < n) y[i] = x[i]     ->   bad = (x | y) & 3 ? true : false
//                                              for lanes: if (i < n) { noted |= bad; y[i] = x[i]; }
//                                              if (noted) fault(x & 3 ? line of the load : line of the store)
//
// The remainder of an address modulo the access's size is mostly known from a kernel parameter alone
// (residues.h): such accesses are noted once per region, in the earliest block that always leads to them.
// Others are noted in place, unless an earlier access has the same residue. Notes are single bits: vectors of
// them are masks, and joining a mask's lanes is cheap.
//
// Even so, LLVM interleaves loops that carry bits more than others, and the masks are joined for each row of
// a block's threads: matrix products lost 7 %. So code of the JIT assumes that parameters are as aligned as
// the accesses that depend on them alone need it (AlignmentChecks::kAssumed, KernelLayout::alignments): the
// launcher checks the parameters, and uses code with notes if they are not. Few kernels have anything left to
// note then.
//
// Where a branch costs little (lanes one by one, called functions, atomics, code above lane level) there is
// one at the access: CheckAlignment in memory.cpp.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <map>
#include <optional>
#include <vector>

#include "analysis/lanes/residues.h"
#include "ir/function.h"

namespace ptx2cpu::lowering {

using analysis::Residue;
using analysis::Residues;

struct FunctionEmitter;

// An operand that must be aligned where an instruction accesses memory, and its alignment.
struct AlignedOperand {
  size_t operand = 0;
  uint64_t align = 1;
};
// Loads, stores and asynchronous copies; atomics are checked in place.
std::vector<AlignedOperand> AlignedOperandsOf(const ir::Function& f, const ir::Inst& inst);

class AlignmentNotes {
 public:
  // Finds the notes of the region that begins at `entry`. `all_enter`: some lane runs `entry` each time, so
  // that the notes of that block may be made before the loop. Emits code in front of the region's loop.
  AlignmentNotes(FunctionEmitter& e, ir::BlockId entry, bool all_enter);

  bool Has(ir::BlockId block) const { return at_block_.contains(block); }
  void AtBlock(ir::BlockId block);  // where the block's code begins
  // Whether the access needs a note of its own.
  bool Needs(const ir::Inst& inst, size_t operand) const { return own_.contains({&inst, operand}); }
  void Note(const ir::Inst& inst, size_t operand, llvm::Value* is_misaligned);
  // Whether the loop over lanes carries bits and is larger than what LLVM would interleave without them: with
  // them it always does, and short rows of threads then do not fill a step.
  bool HoldBack() const { return carries_ && work_ > kLittleWork; }
  void Finish();  // after the loop: the fault

 private:
  struct Access {
    const ir::Inst* inst;
    size_t operand;
    uint64_t align;
    Residue residue;
    ir::BlockId block;  // where it is noted
    uint32_t order;     // in the region
  };
  // One bit that loops over lanes carry, and what it may mean.
  struct Flag {
    struct Cause {
      uint32_t line;
      llvm::Value* misaligned;  // null: the bit itself
    };
    llvm::AllocaInst* bit = nullptr;
    std::vector<Cause> causes;
  };
  static constexpr size_t kMaxFlags = 8;

  std::vector<Access> Find(ir::BlockId entry, bool* calls);
  void Place(ir::BlockId entry, bool calls, std::vector<Access>& accesses) const;
  size_t NewFlag();
  void Assign(const std::vector<Access>& accesses);
  void Add(size_t flag, llvm::Value* misaligned);
  llvm::Value* LineOf(llvm::ArrayRef<llvm::Value*> bits);

  FunctionEmitter& e_;
  llvm::IRBuilder<>& b_;
  struct Placed {
    size_t flag;
    llvm::Value* misaligned;  // i1
  };
  std::map<ir::BlockId, Placed> at_block_;
  std::map<std::pair<const ir::Inst*, size_t>, size_t> own_;  // flag
  std::vector<Flag> flags_;
  static constexpr size_t kLittleWork = 20;
  size_t work_ = 0;  // instructions of a lane, roughly
  bool carries_ = false;
};

// The known alignment of a function's addresses, and the notes of the region that is being emitted.
class Alignment {
 public:
  explicit Alignment(FunctionEmitter& e) : e_(e) {}
  // The remainder of an address divided by `align`.
  Residue ResidueOf(ir::ValueId address, uint64_t align);
  // Whether the launcher ensures that such an address is aligned.
  bool IsAssumed(const Residue& residue, uint64_t align);
  // For residues that are not values: whether such an address is misaligned (i1), computed in the function's
  // entry block.
  llvm::Value* IsMisaligned(const Residue& residue, uint64_t align);
  // Null where misaligned accesses are not noted.
  AlignmentNotes* notes() { return notes_ ? &*notes_ : nullptr; }

  // Encloses the loop over lanes that runs the region at `entry`; Finish() is called after the loop.
  class Region {
   public:
    Region(Alignment& alignment, ir::BlockId entry, bool all_enter);
    ~Region() { alignment_.notes_.reset(); }
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;
    void Finish();

   private:
    Alignment& alignment_;
  };

 private:
  FunctionEmitter& e_;
  std::optional<Residues> residues_;
  std::optional<AlignmentNotes> notes_;
};

}  // namespace ptx2cpu::lowering
