#include "analysis/lanes/lane_patterns.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <set>

namespace ptx2cpu::analysis {

using ir::Opcode;
using ir::ValueId;

namespace {

constexpr int kMaxPatternDepth = 32;  // of an address
constexpr size_t kMaxParts = 8;
constexpr int64_t kMaxDistance = int64_t{1} << 24;  // of a lane from the first one, in bytes
constexpr int64_t kLineBytes = 64, kPageBytes = 4096;

using Distances = std::vector<int64_t>;
using Pattern = LaneRegion::Pattern;
using MaybePattern = std::optional<Pattern>;

std::optional<int64_t> ConstantOf(const ir::Function& f, ValueId value) {
  const ir::InstId def = f.at_value(value).def;
  if (!def.valid() || f.at_inst(def).op != Opcode::kConst) return std::nullopt;
  const ir::Inst& inst = f.at_inst(def);
  const int unused = std::max(64 - ir::Bits(inst.type), 0);
  return static_cast<int64_t>(inst.attrs.bits << unused) >> unused;
}

bool IsWidened(const ir::Inst& inst) {
  return (inst.op == Opcode::kZext || inst.op == Opcode::kSext) && inst.from == ir::Type::kI32;
}

bool IsSumOrMultiple(const ir::Inst& inst) {
  return inst.op == Opcode::kAdd || inst.op == Opcode::kSub || inst.op == Opcode::kMul ||
         inst.op == Opcode::kShl;
}

class PatternFinder {
 public:
  PatternFinder(const ir::Function& f, const LaneRegionOptions& options, LaneRegion& region)
      : f_(f), options_(options), r_(region) {}

  void Run() {
    for (ir::BlockId block : r_.blocks) {
      for (ir::InstId id : f_.at_block(block).insts) {
        const ir::Inst& inst = f_.at_inst(id);
        const bool is_access = inst.op == Opcode::kLoad || inst.op == Opcode::kStore;
        if (is_access && r_.shapes[inst.operands[0].index].varying()) Of(inst.operands[0], 0);
      }
    }
  }

 private:
  MaybePattern Of(ValueId value, int depth) {
    if (!visited_.insert(value.index).second) {
      const auto known = r_.patterns.find(value.index);
      return known == r_.patterns.end() ? std::nullopt : MaybePattern(known->second);
    }
    MaybePattern found = depth == kMaxPatternDepth ? std::nullopt : Find(value, depth + 1);
    const bool is_far = found && std::ranges::any_of(found->distances, [](int64_t distance) {
                          return distance > kMaxDistance || distance < -kMaxDistance;
                        });
    if (is_far) found.reset();
    if (found) r_.patterns.emplace(value.index, *found);
    return found;
  }

  bool IsInside(ValueId id) const {
    const ir::BlockId block = f_.at_value(id).block;
    return block.valid() && r_.level_of[block.index] != LaneRegion::kNone;
  }

  MaybePattern Find(ValueId id, int depth) {
    const ir::Value& value = f_.at_value(id);
    if (!IsInside(id)) return options_.varies_outside(id) ? std::nullopt : MaybePattern(Sequence(0));
    const ThreadShape& shape = r_.shapes[id.index];
    if (shape.uniform()) return Sequence(0);
    if (shape.affine()) return Sequence(shape.stride, !shape.guess);
    if (!value.def.valid()) return OfParameter(value, depth);
    const ir::Inst& inst = f_.at_inst(value.def);
    if (!ir::IsInteger(inst.type) || inst.results.size() != 1 || (inst.attrs.flags & ir::kSat) != 0)
      return std::nullopt;
    return OfOperation(inst, depth);
  }

  Pattern Sequence(int64_t stride, bool is_certain = true) const {
    Pattern pattern{Distances(options_.width), is_certain};
    for (size_t lane = 0; lane < pattern.distances.size(); ++lane)
      pattern.distances[lane] = static_cast<int64_t>(lane) * stride;
    return pattern;
  }

  // The first value of a loop's parameter decides.
  MaybePattern OfParameter(const ir::Value& value, int depth) {
    for (ir::BlockId block : r_.blocks) {
      for (const ir::Edge& edge : f_.terminator(block).edges) {
        if (edge.to != value.block) continue;
        if (MaybePattern pattern = Of(edge.args[value.number], depth)) return Supposed(pattern);
      }
    }
    return std::nullopt;
  }

  static MaybePattern Supposed(MaybePattern pattern) {
    if (pattern) pattern->is_certain = false;
    return pattern;
  }

  template <typename Operation>
  MaybePattern Each(MaybePattern pattern, Operation operation) {
    if (!pattern) return pattern;
    for (int64_t& distance : pattern->distances) distance = operation(distance);
    return pattern;
  }

  MaybePattern Sum(const ir::Inst& inst, int depth) {
    MaybePattern a = Of(inst.operands[0], depth), b = Of(inst.operands[1], depth);
    if (!a || !b) return std::nullopt;
    for (size_t lane = 0; lane < a->distances.size(); ++lane)
      a->distances[lane] += inst.op == Opcode::kSub ? -b->distances[lane] : b->distances[lane];
    a->is_certain &= b->is_certain;
    return a;
  }

  // The lanes' distances fill only bits that are zero in the first lane's value.
  bool HasOwnBits(ValueId id) const {
    const ThreadShape& shape = r_.shapes[id.index];
    return IsInside(id) && shape.affine() && !shape.guess && shape.stride > 0 &&
           shape.stride * static_cast<int64_t>(options_.width - 1) < int64_t{1} << shape.align;
  }

  // By a number; the low bits of the first lane's value count as zero, which is certain where they are
  // the lanes' own.
  MaybePattern OfBits(const ir::Inst& inst, size_t with, int64_t n, int depth) {
    const ValueId id = inst.operands[1 - with];
    MaybePattern of = Of(id, depth);
    if (!of) return of;
    const bool own = HasOwnBits(id);
    const uint8_t zeros = own ? r_.shapes[id.index].align : 0;
    const int64_t low = own ? (int64_t{1} << zeros) - 1 : -1;  // of the number: what meets the lanes' bits
    of->is_certain = own;
    if (inst.op == Opcode::kAnd) return Each(of, [&](int64_t at) { return at & n; });
    if (inst.op == Opcode::kOr) return Each(of, [&](int64_t at) { return (at | (n & low)) - (n & low); });
    if (inst.op == Opcode::kXor && own)
      return Each(of, [&](int64_t at) { return (at ^ (n & low)) - (n & low); });
    if (inst.op == Opcode::kShrU || inst.op == Opcode::kShrS) {
      of->is_certain &= n <= zeros;
      return Each(of, [&](int64_t at) { return at >> n; });
    }
    const bool divides = n > 0 && (low + 1) % n == 0 && own;
    if (inst.op == Opcode::kDivU && divides) return Each(of, [&](int64_t at) { return at / n; });
    if (inst.op == Opcode::kRemU && divides) return Each(of, [&](int64_t at) { return at % n; });
    return std::nullopt;
  }

  // x & number | y, where y has zeros in the bits of the number, is their sum. The zeros are certain for a
  // value that is the same in all lanes. For lanes at a distance they are assumed and tested at run time: a
  // sum may carry into the bits.
  MaybePattern OfApart(const ir::Inst& inst, int depth) {
    for (size_t n = 0; n < 2; ++n) {
      const ValueId bits = inst.operands[n], other = inst.operands[1 - n];
      const ThreadShape& shape = r_.shapes[other.index];
      const ir::InstId def = f_.at_value(bits).def;
      if (!def.valid() || f_.at_inst(def).op != Opcode::kAnd) continue;
      for (ValueId mask : f_.at_inst(def).operands) {
        const std::optional<int64_t> number = ConstantOf(f_, mask);
        if (!number || *number < 0) continue;
        if (shape.uniform() && IsInside(other) && *number >> shape.align == 0) return Of(bits, depth);
        const MaybePattern of = Of(other, depth);
        const bool leaves_bits = of && std::ranges::all_of(of->distances, [&](int64_t distance) {
                                   return (distance & *number) == 0;
                                 });
        if (leaves_bits) return Supposed(Sum(inst, depth));
      }
    }
    return std::nullopt;
  }

  MaybePattern OfOperation(const ir::Inst& inst, int depth) {
    auto operand = [&](size_t number) { return Of(inst.operands[number], depth); };
    if (inst.op == Opcode::kAdd || inst.op == Opcode::kSub) return Sum(inst, depth);
    if (inst.op == Opcode::kTrunc) return operand(0);
    if (inst.op == Opcode::kZext || inst.op == Opcode::kSext || inst.op == Opcode::kToGeneric ||
        inst.op == Opcode::kFromGeneric)
      return Supposed(operand(0));
    if (inst.operands.size() != 2) return std::nullopt;
    const size_t with = ConstantOf(f_, inst.operands[1]) ? 1 : 0;
    const std::optional<int64_t> number = ConstantOf(f_, inst.operands[with]);
    if (!number) return inst.op == Opcode::kOr ? OfApart(inst, depth) : std::nullopt;
    const bool is_shift = inst.op == Opcode::kShl || inst.op == Opcode::kShrS || inst.op == Opcode::kShrU;
    if (is_shift && (with != 1 || *number < 0 || *number > 31)) return std::nullopt;
    const int64_t n = *number;
    if (n > kMaxDistance || n < -kMaxDistance) return std::nullopt;
    if (inst.op == Opcode::kMul) return Each(operand(1 - with), [&](int64_t at) { return at * n; });
    if (inst.op == Opcode::kShl) return Each(operand(0), [&](int64_t at) { return at << n; });
    const bool is_symmetric = inst.op == Opcode::kAnd || inst.op == Opcode::kOr || inst.op == Opcode::kXor;
    return with == 1 || is_symmetric ? OfBits(inst, with, n, depth) : std::nullopt;
  }

  const ir::Function& f_;
  const LaneRegionOptions& options_;
  LaneRegion& r_;
  std::set<uint32_t> visited_;
};

}  // namespace

void FindLanePatterns(const ir::Function& f, const LaneRegionOptions& options, LaneRegion& region) {
  PatternFinder(f, options, region).Run();
}

namespace {

// Whatever the lanes that are active, the block's code has run before that of a block after it.
bool RunsFirst(const LaneRegion& region, ir::BlockId block) {
  if (region.level_of[block.index] != 0) return false;
  const uint32_t number = region.item_of[block.index];
  const LaneRegion::Item& item = region.levels[0].items[number];
  return item.loop == LaneRegion::kNone && (number == 0 || item.same_as == 0);
}

}  // namespace

PatternParts PartsOfPattern(const ir::Function& f, const LaneRegion& region, const ir::Inst& access,
                            const std::function<bool(ir::BlockId)>& always_runs) {
  const uint32_t level = region.level_of[access.block.index];
  const auto has_run = [&](ir::BlockId block) {
    return block == access.block || RunsFirst(region, block) ||
           (region.level_of[block.index] == level && always_runs(block));
  };
  PatternParts of;
  std::vector<ValueId> open{access.operands[0]};
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    const ir::BlockId block = f.at_value(value).block;
    const bool is_inside = block.valid() && region.level_of[block.index] != LaneRegion::kNone;
    const ThreadShape& shape = region.shapes[value.index];
    if (!is_inside || shape.uniform()) continue;
    const ir::InstId def = f.at_value(value).def;
    const bool is_made = def.valid() && !shape.affine() && has_run(block);
    const bool has_room = of.parts.size() + open.size() < kMaxParts;
    const auto pattern = region.patterns.find(value.index);
    const bool follows = pattern != region.patterns.end() && pattern->second.is_certain;
    if (is_made && has_room && (follows || IsSumOrMultiple(f.at_inst(def)))) {
      open.insert(open.end(), f.at_inst(def).operands.begin(), f.at_inst(def).operands.end());
    } else if (is_made && has_room && IsWidened(f.at_inst(def))) {
      open.push_back(f.at_inst(def).operands[0]);
      of.widened.push_back(def);
    } else if (std::ranges::find(of.parts, value) == of.parts.end()) {
      of.parts.push_back(value);
    }
  }
  return of;
}

std::vector<int> LanesOfGroup(const Distances& pattern, const LaneGroups& groups, size_t group,
                              int64_t element_bytes, int64_t elements) {
  std::vector<int> lanes(static_cast<size_t>(groups.bytes / element_bytes), -1);
  for (size_t lane = 0; lane < pattern.size(); ++lane) {
    if (groups.of_lane[lane] != group) continue;
    const int64_t first = (pattern[lane] - groups.begin[group]) / element_bytes;
    for (int64_t k = 0; k < elements; ++k) {
      int& taken = lanes[static_cast<size_t>(first + k)];
      if (taken < 0) taken = static_cast<int>(lane);
    }
  }
  return lanes;
}

bool IsInjective(const Distances& pattern, int64_t bytes) {
  Distances sorted = pattern;
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted, [&](int64_t a, int64_t b) { return b - a < bytes; }) ==
         sorted.end();
}

namespace {

using MaybeGroups = std::optional<LaneGroups>;

// With the number of bytes that a vector has; nothing where too much is read.
MaybeGroups WholeVectors(LaneGroups groups, const Distances& pattern, int64_t element_bytes, int64_t access) {
  if (groups.bytes > kLineBytes) return std::nullopt;
  const auto [first, last] = std::ranges::minmax(pattern);
  const bool is_near = last + access - first <= kPageBytes;
  const auto bytes = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(groups.bytes)));
  if (bytes != groups.bytes && !is_near) return std::nullopt;
  groups.bytes = bytes;
  // What is between two lanes' elements is on a page of one of them; what is after the last one may not be.
  for (int64_t& begin : groups.begin) {
    const int64_t over = std::max<int64_t>(begin + bytes - (last + access), 0);
    begin -= (over + element_bytes - 1) / element_bytes * element_bytes;
    if (begin < first) return std::nullopt;
  }
  return groups;
}

// As many neighbouring lanes as have their elements on one line.
MaybeGroups NeighbourGroups(const Distances& pattern, int64_t element_bytes, int64_t access) {
  const auto width = static_cast<unsigned>(pattern.size());
  for (unsigned lanes = width; lanes >= 2; lanes /= 2) {
    LaneGroups groups{std::vector<unsigned>(width), 0, {}};
    bool fits = true;
    for (unsigned lane = 0; lane < width; ++lane) groups.of_lane[lane] = lane / lanes;
    for (unsigned lane = 0; lane < width; lane += lanes) {
      const auto [low, high] = std::minmax_element(pattern.begin() + lane, pattern.begin() + lane + lanes);
      groups.begin.push_back(*low);
      groups.bytes = std::max(groups.bytes, *high + access - *low);
      fits &= std::all_of(pattern.begin() + lane, pattern.begin() + lane + lanes,
                          [&](int64_t distance) { return (distance - *low) % element_bytes == 0; });
    }
    if (!fits) continue;
    if (MaybeGroups whole = WholeVectors(groups, pattern, element_bytes, access)) return whole;
  }
  return std::nullopt;
}

// Groups the lanes whose elements are on one line, wherever the lanes are: several lanes may read the same
// row of a matrix.
MaybeGroups GroupsByPlace(const Distances& pattern, int64_t element_bytes, int64_t access) {
  const size_t most = pattern.size() / 4;  // a gather of all takes longer
  std::vector<size_t> order(pattern.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::less(), [&](size_t lane) { return pattern[lane]; });
  LaneGroups groups{std::vector<unsigned>(pattern.size()), 0, {}};
  for (size_t lane : order) {
    const int64_t begin = groups.begin.empty() ? 0 : groups.begin.back(), way = pattern[lane] - begin;
    if (groups.begin.empty() || way + access > kLineBytes || way % element_bytes != 0) {
      if (groups.begin.size() == most) return std::nullopt;
      groups.begin.push_back(pattern[lane]);
    }
    groups.of_lane[lane] = static_cast<unsigned>(groups.begin.size() - 1);
    groups.bytes = std::max(groups.bytes, pattern[lane] + access - groups.begin.back());
  }
  return WholeVectors(groups, pattern, element_bytes, access);
}

}  // namespace

MaybeGroups GroupsOf(const Distances& pattern, int64_t element_bytes, int64_t elements, bool any_lanes) {
  const int64_t access = element_bytes * elements;
  const bool is_row = std::ranges::adjacent_find(pattern, [&](int64_t before, int64_t after) {
                        return after - before != access;
                      }) == pattern.end();
  if (is_row) return std::nullopt;
  MaybeGroups neighbours = NeighbourGroups(pattern, element_bytes, access);
  if (!any_lanes || pattern.size() < 4) return neighbours;
  MaybeGroups by_place = GroupsByPlace(pattern, element_bytes, access);
  const bool is_gain = by_place && (!neighbours || 2 * by_place->begin.size() <= neighbours->begin.size());
  return is_gain ? by_place : neighbours;
}

}  // namespace ptx2cpu::analysis
