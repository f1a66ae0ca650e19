#include "analysis/lanes/lane_patterns.h"

#include <algorithm>
#include <bit>
#include <set>

namespace ptx2cpu::analysis {

using ir::Opcode;
using ir::ValueId;

namespace {

constexpr int kMaxDepth = 32;  // of an address
constexpr size_t kMaxParts = 8;
constexpr int64_t kMaxDistance = int64_t{1} << 24;  // of a lane from the first one, in bytes
constexpr int64_t kLineBytes = 64, kPageBytes = 4096;

using Pattern = std::vector<int64_t>;
using MaybePattern = std::optional<Pattern>;

std::optional<int64_t> ConstantOf(const ir::Function& f, ValueId value) {
  const ir::InstId def = f.at_value(value).def;
  if (!def.valid() || f.at_inst(def).op != Opcode::kConst) return std::nullopt;
  const ir::Inst& inst = f.at_inst(def);
  const int unused = std::max(64 - ir::Bits(inst.type), 0);
  return static_cast<int64_t>(inst.attrs.bits << unused) >> unused;
}

bool IsSumOrMultiple(const ir::Inst& inst) {
  return inst.op == Opcode::kAdd || inst.op == Opcode::kSub || inst.op == Opcode::kMul ||
         inst.op == Opcode::kShl;
}

class Finder {
 public:
  Finder(const ir::Function& f, const LaneRegionOptions& options, LaneRegion& region)
      : f_(f), options_(options), r_(region) {}

  void Run() {
    for (ir::BlockId block : r_.blocks) {
      for (ir::InstId id : f_.at_block(block).insts) {
        const ir::Inst& inst = f_.at_inst(id);
        if (inst.op != Opcode::kLoad || !r_.shapes[inst.operands[0].index].varying()) continue;
        Of(inst.operands[0], 0);
      }
    }
  }

 private:
  MaybePattern Of(ValueId value, int depth) {
    if (!visited_.insert(value.index).second) {
      const auto known = r_.patterns.find(value.index);
      return known == r_.patterns.end() ? std::nullopt : MaybePattern(known->second);
    }
    MaybePattern found = depth == kMaxDepth ? std::nullopt : Find(value, depth + 1);
    const bool is_far = found && std::ranges::any_of(*found, [](int64_t distance) {
                          return distance > kMaxDistance || distance < -kMaxDistance;
                        });
    if (is_far) found.reset();
    if (found) r_.patterns.emplace(value.index, *found);
    return found;
  }

  MaybePattern Find(ValueId id, int depth) {
    const ir::Value& value = f_.at_value(id);
    const bool is_inside = value.block.valid() && r_.level_of[value.block.index] != LaneRegion::kNone;
    if (!is_inside) return options_.varies_outside(id) ? std::nullopt : MaybePattern(Sequence(0));
    const ThreadShape& shape = r_.shapes[id.index];
    if (shape.uniform()) return Sequence(0);
    if (shape.affine()) return Sequence(shape.stride);
    if (!value.def.valid()) return OfParameter(value, depth);
    const ir::Inst& inst = f_.at_inst(value.def);
    if (!ir::IsInteger(inst.type) || inst.results.size() != 1 || (inst.attrs.flags & ir::kSat) != 0)
      return std::nullopt;
    return OfOperation(inst, depth);
  }

  Pattern Sequence(int64_t stride) const {
    Pattern pattern(options_.width);
    for (size_t lane = 0; lane < pattern.size(); ++lane) pattern[lane] = static_cast<int64_t>(lane) * stride;
    return pattern;
  }

  // What a loop begins with decides.
  MaybePattern OfParameter(const ir::Value& value, int depth) {
    for (ir::BlockId block : r_.blocks) {
      for (const ir::Edge& edge : f_.terminator(block).edges) {
        if (edge.to != value.block) continue;
        if (MaybePattern pattern = Of(edge.args[value.number], depth)) return pattern;
      }
    }
    return std::nullopt;
  }

  template <typename Operation>
  MaybePattern Each(MaybePattern pattern, Operation operation) {
    if (!pattern) return pattern;
    for (int64_t& distance : *pattern) distance = operation(distance);
    return pattern;
  }

  MaybePattern Sum(const ir::Inst& inst, int depth) {
    MaybePattern a = Of(inst.operands[0], depth), b = Of(inst.operands[1], depth);
    if (!a || !b) return std::nullopt;
    for (size_t lane = 0; lane < a->size(); ++lane)
      (*a)[lane] += inst.op == Opcode::kSub ? -(*b)[lane] : (*b)[lane];
    return a;
  }

  // By a number; the low bits of the first lane's value are taken for zero.
  MaybePattern OfOperation(const ir::Inst& inst, int depth) {
    auto operand = [&](size_t number) { return Of(inst.operands[number], depth); };
    if (inst.op == Opcode::kAdd || inst.op == Opcode::kSub) return Sum(inst, depth);
    if (inst.op == Opcode::kZext || inst.op == Opcode::kSext || inst.op == Opcode::kTrunc ||
        inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric)
      return operand(0);
    if (inst.operands.size() != 2) return std::nullopt;
    const size_t with = ConstantOf(f_, inst.operands[1]) ? 1 : 0;
    const std::optional<int64_t> number = ConstantOf(f_, inst.operands[with]);
    if (!number) return std::nullopt;
    const bool is_shift = inst.op == Opcode::kShl || inst.op == Opcode::kShrS || inst.op == Opcode::kShrU;
    if (is_shift && (with != 1 || *number < 0 || *number > 31)) return std::nullopt;
    const int64_t n = *number;
    if (n > kMaxDistance || n < -kMaxDistance) return std::nullopt;
    if (inst.op == Opcode::kMul) return Each(operand(1 - with), [&](int64_t at) { return at * n; });
    if (inst.op == Opcode::kShl) return Each(operand(0), [&](int64_t at) { return at << n; });
    if (is_shift) return Each(operand(0), [&](int64_t at) { return at >> n; });
    if (inst.op == Opcode::kAnd) return Each(operand(1 - with), [&](int64_t at) { return at & n; });
    if (inst.op == Opcode::kOr) return Each(operand(1 - with), [&](int64_t at) { return (at | n) - n; });
    return std::nullopt;
  }

  const ir::Function& f_;
  const LaneRegionOptions& options_;
  LaneRegion& r_;
  std::set<uint32_t> visited_;
};

}  // namespace

void FindLanePatterns(const ir::Function& f, const LaneRegionOptions& options, LaneRegion& region) {
  Finder(f, options, region).Run();
}

std::vector<ValueId> PartsOfPattern(const ir::Function& f, const LaneRegion& region, const ir::Inst& load,
                                    const std::function<bool(ir::BlockId)>& always_runs) {
  const uint32_t level = region.level_of[load.block.index];
  const auto is_near = [&](ir::BlockId block) {
    return block == load.block || (region.level_of[block.index] == level && always_runs(block));
  };
  std::vector<ValueId> parts, open{load.operands[0]};
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    const ir::BlockId block = f.at_value(value).block;
    const bool is_inside = block.valid() && region.level_of[block.index] != LaneRegion::kNone;
    const ThreadShape& shape = region.shapes[value.index];
    if (!is_inside || shape.uniform()) continue;
    const ir::InstId def = f.at_value(value).def;
    const bool is_made = def.valid() && is_near(block) && !shape.affine();
    if (is_made && parts.size() + open.size() < kMaxParts && IsSumOrMultiple(f.at_inst(def))) {
      open.insert(open.end(), f.at_inst(def).operands.begin(), f.at_inst(def).operands.end());
    } else if (std::ranges::find(parts, value) == parts.end()) {
      parts.push_back(value);
    }
  }
  return parts;
}

std::optional<LaneGroups> GroupsOf(const Pattern& pattern, int64_t element_bytes, int64_t elements) {
  const int64_t access = element_bytes * elements;
  const bool is_row = std::ranges::adjacent_find(pattern, [&](int64_t before, int64_t after) {
                        return after - before != access;
                      }) == pattern.end();
  if (is_row) return std::nullopt;
  const auto [first, last] = std::ranges::minmax(pattern);
  const bool is_near = last + access - first <= kPageBytes;
  const auto width = static_cast<unsigned>(pattern.size());
  for (unsigned lanes = width; lanes >= 2; lanes /= 2) {
    LaneGroups groups{lanes, 0, {}};
    bool fits = true;
    for (unsigned lane = 0; lane < width; lane += lanes) {
      const auto [low, high] = std::minmax_element(pattern.begin() + lane, pattern.begin() + lane + lanes);
      groups.begin.push_back(*low);
      groups.bytes = std::max(groups.bytes, *high + access - *low);
      fits &= std::all_of(pattern.begin() + lane, pattern.begin() + lane + lanes,
                          [&](int64_t distance) { return (distance - *low) % element_bytes == 0; });
    }
    if (!fits || groups.bytes > kLineBytes) continue;
    const auto bytes = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(groups.bytes)));
    if (bytes != groups.bytes && !is_near) continue;
    groups.bytes = bytes;
    // What is between two lanes' elements is on a page of one of them; what is after the last one may not be.
    for (int64_t& begin : groups.begin) {
      const int64_t over = std::max<int64_t>(begin + bytes - (last + access), 0);
      begin -= (over + element_bytes - 1) / element_bytes * element_bytes;
      fits &= begin >= first;
    }
    if (fits) return groups;
  }
  return std::nullopt;
}

}  // namespace ptx2cpu::analysis
