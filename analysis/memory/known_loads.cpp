#include "analysis/memory/known_loads.h"

#include <algorithm>
#include <map>

#include "analysis/graph/loops.h"
#include "analysis/values/polynomial.h"

namespace ptx2cpu::analysis {
namespace {

constexpr uint32_t kTop = ~0u, kNone = ~0u - 1;  // of states: not reached yet; not known
constexpr uint64_t kMaxFlowWork = 20'000'000;

// Forward data flow on stretches. A state has, per class of accesses (same address, width and number of
// parts) which effect had the bytes last. The meet ensures that the address and the values are still the same
// SSA values at a later point: a value that has been computed again since would also be reached on a path
// without the effect.
class KnownLoadSolver {
 public:
  KnownLoadSolver(const ir::Function& f, const MemoryEffects& effects, const BarrierIntervals& intervals)
      : f_(f), effects_(effects), intervals_(intervals) {}

  std::vector<KnownLoad> Solve() {
    FindClasses();
    if (classes_.empty() || !FindPoison()) return {};
    FindSources();
    const std::vector<Stretch>& stretches = intervals_.stretches();
    in_.assign(stretches.size(), State(classes_.size(), kTop));
    if (!stretches.empty()) in_[0].assign(classes_.size(), kNone);
    std::vector<State> out(stretches.size(), State(classes_.size(), kTop));
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t s = 0; s < stretches.size(); ++s) {
        for (uint32_t p : sources_[s]) Meet(in_[s], out[p]);
        State state = in_[s];
        Walk(s, state, nullptr);
        changed |= state != out[s];
        out[s] = std::move(state);
      }
    }
    std::vector<KnownLoad> found;
    for (uint32_t s = 0; s < stretches.size(); ++s) Walk(s, in_[s], &found);
    return found;
  }

 private:
  using State = std::vector<uint32_t>;

  std::vector<ir::ValueId> Parts(const MemoryEffect& effect) const {
    const ir::Inst& inst = f_.at_inst(effect.inst);
    if (effect.access == Access::kRead) return inst.results;
    return {inst.operands.begin() + 1, inst.operands.end()};
  }

  // Classes with a load and another access: only those can be known.
  void FindClasses() {
    const std::vector<MemoryEffect>& all = effects_.all();
    class_of_.assign(all.size(), kNone);
    std::map<std::vector<int64_t>, std::vector<uint32_t>> groups;
    for (uint32_t e = 0; e < all.size(); ++e) {
      if (all[e].access == Access::kUnknown) continue;
      const ir::Inst& inst = f_.at_inst(all[e].inst);
      std::vector<int64_t> key{all[e].in_window, ir::Bits(inst.type), all[e].bytes};
      AppendTo(key, all[e].address);
      groups[key].push_back(e);
    }
    for (const auto& [key, members] : groups) {
      bool loads = std::any_of(members.begin(), members.end(),
                               [&](uint32_t e) { return all[e].access == Access::kRead; });
      if (!loads || members.size() < 2) continue;
      for (uint32_t e : members) class_of_[e] = static_cast<uint32_t>(classes_.size());
      classes_.push_back(members[0]);
    }
  }

  // Stretches in which another thread may write the bytes of a class meanwhile.
  bool FindPoison() {
    const std::vector<MemoryEffect>& all = effects_.all();
    const std::vector<Stretch>& stretches = intervals_.stretches();
    uint64_t work = 0;
    for (uint32_t s = 0; s < stretches.size(); ++s) work += intervals_.effects_around(s).size();
    if (classes_.size() * (work + all.size() + stretches.size()) > kMaxFlowWork) return false;
    poison_.assign(stretches.size(), std::vector<bool>(classes_.size()));
    for (uint32_t c = 0; c < classes_.size(); ++c) {
      std::vector<bool> writes(all.size());
      for (uint32_t e = 0; e < all.size(); ++e) {
        bool fence = f_.at_inst(all[e].inst).op == ir::Opcode::kFence;
        writes[e] = all[e].access != Access::kRead && !fence && effects_.MayMeet(all[e], all[classes_[c]]);
      }
      for (uint32_t s = 0; s < stretches.size(); ++s) {
        const std::vector<uint32_t>& around = intervals_.effects_around(s);
        poison_[s][c] = std::any_of(around.begin(), around.end(), [&](uint32_t e) { return writes[e]; });
      }
    }
    return true;
  }

  void FindSources() {
    const std::vector<Stretch>& stretches = intervals_.stretches();
    sources_.resize(stretches.size());
    for (uint32_t s = 0; s < stretches.size(); ++s) {
      for (uint32_t next : stretches[s].next) sources_[next].push_back(s);
      if (stretches[s].barrier != kNoNode)
        sources_[intervals_.barriers()[stretches[s].barrier].after].push_back(s);
    }
  }

  static void Meet(State& state, const State& other) {
    for (size_t c = 0; c < state.size(); ++c) {
      if (other[c] == kTop || other[c] == state[c]) continue;
      state[c] = state[c] == kTop ? other[c] : kNone;
    }
  }

  void Walk(uint32_t stretch, State& state, std::vector<KnownLoad>* found) const {
    auto drop_poisoned = [&] {
      for (uint32_t c = 0; c < state.size(); ++c) {
        if (poison_[stretch][c]) state[c] = kNone;
      }
    };
    drop_poisoned();
    for (uint32_t e : intervals_.stretches()[stretch].effects) {
      const MemoryEffect& effect = effects_.all()[e];
      uint32_t own = class_of_[e];
      if (effect.access == Access::kUnknown) {
        std::fill(state.begin(), state.end(), kNone);
      } else if (effect.access == Access::kWrite) {
        for (uint32_t c = 0; c < state.size(); ++c) {
          if (state[c] == kNone || c == own) continue;
          if (effects_.MayMeetOwn(effect, effects_.all()[classes_[c]])) state[c] = kNone;
        }
        if (own != kNone) state[own] = e;
      } else if (own != kNone) {
        if (found && state[own] < kNone) Report(e, state[own], *found);
        if (state[own] == kNone) state[own] = e;
      }
      if (own != kNone && poison_[stretch][own]) state[own] = kNone;
    }
  }

  void Report(uint32_t load, uint32_t source, std::vector<KnownLoad>& found) const {
    const MemoryEffect &to = effects_.all()[load], &from = effects_.all()[source];
    // A loop that reads again and again what was there before it may wait for a word from outside the block.
    if (to.reach != Reach::kShared && loops_.innermost[f_.at_inst(to.inst).block.index] !=
                                          loops_.innermost[f_.at_inst(from.inst).block.index])
      return;
    if (load != source) found.push_back({to.inst, from.inst, Parts(from)});
  }

  const ir::Function& f_;
  const MemoryEffects& effects_;
  const BarrierIntervals& intervals_;
  LoopForest loops_ = Loops(BuildCfg(f_));
  std::vector<uint32_t> class_of_;  // per effect
  std::vector<uint32_t> classes_;   // one effect of each
  std::vector<std::vector<bool>> poison_;
  std::vector<std::vector<uint32_t>> sources_;
  std::vector<State> in_;
};

}  // namespace

std::vector<KnownLoad> FindKnownLoads(const ir::Function& f, const MemoryEffects& effects,
                                      const BarrierIntervals& intervals) {
  if (!intervals.AllTogether()) return {};
  return KnownLoadSolver(f, effects, intervals).Solve();
}

}  // namespace ptx2cpu::analysis
