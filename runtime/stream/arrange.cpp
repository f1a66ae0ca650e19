#include "runtime/stream/arrange.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace ptx2cpu::rt {

namespace {

constexpr size_t kMaxLanes = 32;  // of work that only computes
constexpr size_t kMaxWaitingLanes = 1024;
constexpr uint32_t kNone = ~0u;

// Whether the work may wait for something other than a worker's time.
struct Waits {
  template <OneOf<HostWork, PollWork, LaunchWaitWork, ConditionalWork, WaitWork, GateWork> T>
  bool operator()(const T&) const {
    return true;
  }
  template <OneOf<std::monostate, KernelWork, CopyWork, FillWork, CallWork, RecordWork, LaunchRecordWork,
                  BranchesWork, SequenceWork>
                T>
  bool operator()(const T&) const {
    return false;
  }
};

bool MayWait(const GraphItem& item) {
  return std::ranges::any_of(item.works, [](const Work& work) { return std::visit(Waits{}, work); });
}

void MoveSteps(Steps& from, Steps& to) { std::ranges::move(from, std::back_inserter(to)); }

// Items that everything before them leads to, and on which everything after them depends.
std::vector<bool> FindCuts(const std::vector<GraphItem>& items) {
  const size_t count = items.size();
  std::vector<size_t> first_dependent(count, count);
  for (size_t i = 0; i < count; ++i) {
    for (const uint32_t before : items[i].after)
      first_dependent[before] = std::min(first_dependent[before], i);
  }
  std::vector<bool> cuts(count);
  size_t farthest = 0;  // among those before: the first that needs it
  for (size_t i = 0; i < count; ++i) {
    cuts[i] = farthest <= i;
    farthest = std::max(farthest, first_dependent[i]);
  }
  size_t nearest = count;  // among those after: one more than the last that it needs
  for (size_t i = count; i-- > 0;) {
    cuts[i] = cuts[i] && nearest > i;
    nearest = std::min(nearest, items[i].after.empty() ? 0 : size_t{std::ranges::max(items[i].after)} + 1);
  }
  return cuts;
}

// Items between two cuts, on lanes. Each item continues the lane of one that it depends on where that is the
// lane's last, else a lane of which all is known to be done before it, else a new one.
class BlockArranger {
 public:
  BlockArranger(std::vector<GraphItem>& items, size_t begin, size_t end)
      : items_(items), begin_(begin), placed_(end - begin) {}

  Steps Arrange() {
    for (size_t i = 0; i < placed_.size(); ++i) Place(i);
    Branches branches;
    const std::vector<Steps> steps = MakeParts(branches);
    return Finish(std::move(branches), steps);
  }

 private:
  struct Lane {
    std::vector<uint32_t> items;
    bool waits = false;
  };
  struct Placed {
    uint32_t lane = 0, place = 0, part = 0;
    bool awaited = false;         // by another lane
    std::vector<uint32_t> after;  // of other lanes, without what these imply
    std::vector<uint32_t> known;  // of each lane, how many items are done when this one is
  };

  static void Merge(std::vector<uint32_t>& known, const std::vector<uint32_t>& more) {
    if (known.size() < more.size()) known.resize(more.size());
    for (size_t lane = 0; lane < more.size(); ++lane) known[lane] = std::max(known[lane], more[lane]);
  }

  std::vector<uint32_t> DependenciesOf(size_t i) const {
    std::vector<uint32_t> before;
    for (const uint32_t item : items_[begin_ + i].after) {
      if (item >= begin_) before.push_back(static_cast<uint32_t>(item - begin_));
    }
    std::ranges::sort(before, std::greater<>());
    return before;
  }

  uint32_t ChooseLane(const std::vector<uint32_t>& before, const std::vector<uint32_t>& known, bool waits) {
    for (const uint32_t item : before) {
      if (lanes_[placed_[item].lane].items.back() == item) return placed_[item].lane;
    }
    uint32_t shortest = kNone;
    size_t alike = 0;
    for (uint32_t lane = 0; lane < lanes_.size(); ++lane) {
      if (lane < known.size() && known[lane] == lanes_[lane].items.size()) return lane;
      if (lanes_[lane].waits != waits) continue;
      ++alike;
      if (shortest == kNone || lanes_[lane].items.size() < lanes_[shortest].items.size()) shortest = lane;
    }
    if (alike >= (waits ? kMaxWaitingLanes : kMaxLanes)) return shortest;
    lanes_.emplace_back();
    return static_cast<uint32_t>(lanes_.size() - 1);
  }

  void Place(size_t i) {
    const std::vector<uint32_t> before = DependenciesOf(i);
    std::vector<uint32_t> known;
    for (const uint32_t item : before) Merge(known, placed_[item].known);
    const bool waits = MayWait(items_[begin_ + i]);
    Placed& placed = placed_[i];
    placed.lane = ChooseLane(before, known, waits);
    Lane& lane = lanes_[placed.lane];
    placed.place = static_cast<uint32_t>(lane.items.size());
    if (!lane.items.empty()) placed.known = placed_[lane.items.back()].known;
    for (const uint32_t item : before) {  // the latest first: they may know of the others
      const Placed& other = placed_[item];
      if (other.lane < placed.known.size() && placed.known[other.lane] > other.place) continue;
      placed.after.push_back(item);
      placed_[item].awaited = true;
      Merge(placed.known, other.known);
    }
    lane.items.push_back(static_cast<uint32_t>(i));
    lane.waits |= waits;
    if (placed.known.size() <= placed.lane) placed.known.resize(placed.lane + 1);
    placed.known[placed.lane] = placed.place + 1;
  }

  // Runs of a lane in which nothing waits and nothing is waited for become one part.
  std::vector<Steps> MakeParts(Branches& branches) {
    std::vector<Steps> steps;
    std::vector<uint32_t> open(lanes_.size(), kNone);
    for (size_t i = 0; i < placed_.size(); ++i) {
      Placed& placed = placed_[i];
      uint32_t& part = open[placed.lane];
      const bool behind_awaited =
          placed.place != 0 && placed_[lanes_[placed.lane].items[placed.place - 1]].awaited;
      if (part == kNone || !placed.after.empty() || behind_awaited) {
        part = static_cast<uint32_t>(branches.parts.size());
        branches.parts.push_back({placed.lane, {}, nullptr});
        for (const uint32_t item : placed.after) branches.parts.back().after.push_back(placed_[item].part);
        steps.emplace_back();
      }
      placed.part = part;
      MoveSteps(items_[begin_ + i].works, steps[part]);
    }
    return steps;
  }

  // A lane that neither waits nor is waited for can be the stream's own; the longest that only computes.
  std::optional<uint32_t> OwnPart(const Branches& branches) const {
    std::vector<size_t> parts(lanes_.size()), ends(lanes_.size());
    for (const Branches::Part& part : branches.parts) {
      ++parts[part.lane];
      ends[part.lane] += part.after.size();
      for (const uint32_t before : part.after) ++ends[branches.parts[before].lane];
    }
    std::optional<uint32_t> own;
    for (uint32_t i = 0; i < branches.parts.size(); ++i) {
      const uint32_t lane = branches.parts[i].lane;
      if (parts[lane] != 1 || ends[lane] != 0 || lanes_[lane].waits) continue;
      if (!own || lanes_[branches.parts[*own].lane].items.size() < lanes_[lane].items.size()) own = i;
    }
    return own;
  }

  Steps Finish(Branches branches, const std::vector<Steps>& steps) {
    if (lanes_.size() == 1) {
      Steps all;
      for (const Steps& part : steps) all.insert(all.end(), part.begin(), part.end());
      return all;
    }
    for (size_t i = 0; i < steps.size(); ++i)
      branches.parts[i].steps = std::make_shared<const Steps>(steps[i]);
    branches.lanes = static_cast<uint32_t>(lanes_.size());
    if (const auto own = OwnPart(branches)) Separate(branches, *own);
    return {BranchesWork{std::make_shared<const Branches>(std::move(branches))}};
  }

  static void Separate(Branches& branches, uint32_t own) {
    branches.own = branches.parts[own].steps;
    const uint32_t lane = branches.parts[own].lane;
    branches.parts.erase(branches.parts.begin() + own);
    --branches.lanes;
    for (Branches::Part& part : branches.parts) {
      if (part.lane > lane) --part.lane;
      for (uint32_t& before : part.after) {
        if (before > own) --before;
      }
    }
  }

  std::vector<GraphItem>& items_;
  const size_t begin_;
  std::vector<Placed> placed_;
  std::vector<Lane> lanes_;
};

}  // namespace

Steps Arrange(std::vector<GraphItem> items) {
  const std::vector<bool> cuts = FindCuts(items);
  Steps steps;
  for (size_t i = 0; i < items.size();) {
    if (cuts[i]) {
      MoveSteps(items[i++].works, steps);
      continue;
    }
    size_t end = i;
    while (end < items.size() && !cuts[end]) ++end;
    Steps block = BlockArranger(items, i, end).Arrange();
    MoveSteps(block, steps);
    i = end;
  }
  return steps;
}

}  // namespace ptx2cpu::rt
