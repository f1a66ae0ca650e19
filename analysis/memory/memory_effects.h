// The effects of each instruction on memory that other threads of the block can observe, and whether two such
// effects can concern one byte.
//
// A barrier orders the effects of different threads; each thread observes its own effects in program order
// anyway. So only effects of two different threads matter to a barrier, and an address that is an injective
// function of the thread's ids (with at least the size of the access between neighbours) never meets itself:
// the bytes are the thread's own (Polygeist, sections III-A and IV-A). Barriers order global memory in the
// block as well.
#pragma once

#include <memory>
#include <unordered_map>

#include "analysis/values/address_form.h"
#include "analysis/values/address_space.h"

namespace ptx2cpu::analysis {

enum class Access : uint8_t {
  kRead,
  kWrite,
  kUnknown,  // atomics, volatile and ordered accesses, fences, calls, asynchronous copies, mbarriers,
             // barriers of the cluster: orders or changes memory in ways that are not followed
};

enum class Reach : uint8_t { kShared, kGlobal, kEither };

struct MemoryEffect {
  ir::InstId inst;
  Access access = Access::kUnknown;
  Reach reach = Reach::kEither;
  uint32_t bytes = 0;
  MemoryObject object;
  Polynomial address;      // in shared memory an offset in the window where that is known
  bool in_window = false;  // `address` is such an offset
  bool strong = false;     // of checks: atomic, or volatile, which does not race with its like
};

class MemoryEffects {
 public:
  // What has effects: the instructions, or the accesses that checks announce (kCheckAccess), for which
  // nothing else counts.
  enum class Of : uint8_t { kInstructions, kChecks };
  // The shape of the block: `launch`, or what the kernel promises.
  MemoryEffects(const ir::Module& module, const ir::Function& f, std::optional<LaunchShape> launch = {},
                Of of = Of::kInstructions);

  const std::vector<MemoryEffect>& all() const { return effects_; }
  // The effect of an instruction as an index; kNone if other threads cannot observe that it ran.
  static constexpr uint32_t kNone = ~0u;
  uint32_t IndexOf(ir::InstId inst) const { return index_[inst.index]; }

  // Whether the order of the two matters, when two different threads run them.
  bool Conflict(uint32_t a, uint32_t b) const;
  // Whether the bytes of two effects of different threads may overlap.
  bool MayMeet(const MemoryEffect& a, const MemoryEffect& b) const;
  // The same for one thread, with all values that the addresses are made of unchanged between the two.
  bool MayMeetOwn(const MemoryEffect& a, const MemoryEffect& b) const;

  const UniformityResult& uniformity() const { return uniformity_; }

 private:
  std::optional<MemoryEffect> EffectOf(const ir::Inst& inst) const;
  std::optional<MemoryEffect> EffectOfCheck(const ir::Inst& check) const;
  std::optional<Reach> ReachOf(const ir::Inst& inst) const;
  void Locate(MemoryEffect& effect, const ir::Inst& inst) const;
  bool Apart(const MemoryEffect& a, const MemoryEffect& b) const;

  const ir::Module& module_;
  const ir::Function& f_;
  UniformityResult uniformity_;
  AddressSpaceResult spaces_;
  std::unique_ptr<AddressForms> forms_;
  std::vector<MemoryEffect> effects_;
  std::vector<uint32_t> index_;
  mutable std::unordered_map<uint64_t, bool> conflicts_;
};

}  // namespace ptx2cpu::analysis
