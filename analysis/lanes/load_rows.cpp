#include "analysis/lanes/load_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace ptx2cpu::analysis {

namespace {

using ir::Opcode;
using ir::ValueId;

// A sum of values times numbers, and a number. Widening is followed as if nothing wrapped around: the result
// decides only whether the order pays, not whether it is right.
struct Place {
  std::map<uint32_t, int64_t> terms;  // factor, by value
  int64_t constant = 0;
};

constexpr int kMaxRowDepth = 16;
constexpr int64_t kMaxRowBytes = 1024;  // half of the largest register file: one value of each thread

class LoadRowFinder {
 public:
  LoadRowFinder(const ir::Function& f, const LaunchShape& launch) : f_(f), launch_(launch) {}

  Place Of(ValueId value) const {
    Place place;
    Add(place, value, 1, kMaxRowDepth);
    std::erase_if(place.terms, [](const auto& term) { return term.second == 0; });
    return place;
  }

 private:
  void Add(Place& place, ValueId value, int64_t factor, int depth) const {
    const ir::InstId def = f_.at_value(value).def;
    if (!def.valid() || depth == 0) {
      place.terms[value.index] += factor;
      return;
    }
    const ir::Inst& inst = f_.at_inst(def);
    if (const std::optional<int64_t> number = Number(value)) {
      place.constant += factor * *number;
    } else if (inst.op == Opcode::kAdd || inst.op == Opcode::kSub) {
      Add(place, inst.operands[0], factor, depth - 1);
      Add(place, inst.operands[1], inst.op == Opcode::kAdd ? factor : -factor, depth - 1);
    } else if (inst.op == Opcode::kZext || inst.op == Opcode::kSext || inst.op == Opcode::kToGeneric ||
               inst.op == Opcode::kFromGeneric) {
      Add(place, inst.operands[0], factor, depth - 1);
    } else if (const auto number = Number(inst.operands.size() == 2 ? inst.operands[1] : value);
               number && inst.op == Opcode::kMul) {
      Add(place, inst.operands[0], factor * *number, depth - 1);
    } else if (number && inst.op == Opcode::kShl && *number >= 0 && *number < 32) {
      Add(place, inst.operands[0], factor * (int64_t{1} << *number), depth - 1);
    } else {
      place.terms[value.index] += factor;
    }
  }

  std::optional<int64_t> Number(ValueId value) const {
    const ir::InstId def = f_.at_value(value).def;
    if (!def.valid()) return std::nullopt;
    const ir::Inst& inst = f_.at_inst(def);
    if (inst.op == Opcode::kSpecialRegister && inst.attrs.special == ir::Special::kNtidX)
      return static_cast<int64_t>(launch_.x);
    if (inst.op != Opcode::kConst || ir::Bits(inst.type) > 64) return std::nullopt;
    const int unused = 64 - ir::Bits(inst.type);
    return static_cast<int64_t>(inst.attrs.bits << unused) >> unused;
  }

  const ir::Function& f_;
  const LaunchShape& launch_;
};

}  // namespace

std::vector<ir::InstId> RowsLoaded(const ir::Function& f, ir::BlockId block, const LaunchShape& launch) {
  if (launch.x == 0 || launch.y != 1 || launch.z != 1) return {};
  const LoadRowFinder finder(f, launch);
  std::map<uint32_t, int64_t> array;  // what the addresses share
  std::vector<std::pair<int64_t, ir::InstId>> rows;
  int64_t bytes = 0;
  for (ir::InstId id : f.at_block(block).insts) {
    const ir::Inst& inst = f.at_inst(id);
    const bool far = inst.attrs.space == ir::Space::kGlobal || inst.attrs.space == ir::Space::kGeneric;
    if (inst.op != Opcode::kLoad || !far) continue;
    if (inst.attrs.order != ir::MemoryOrder::kWeak || (inst.attrs.flags & ir::kVolatile) != 0) return {};
    if (inst.results.size() != 1 || (bytes != 0 && bytes != ir::Bytes(inst.type))) return {};
    bytes = ir::Bytes(inst.type);
    if (bytes * static_cast<int64_t>(launch.x) > kMaxRowBytes) return {};
    Place place = finder.Of(inst.operands[0]);
    if (!rows.empty() && place.terms != array) return {};
    array = std::move(place.terms);
    rows.push_back({place.constant, id});
  }
  std::ranges::sort(rows, {}, &std::pair<int64_t, ir::InstId>::first);
  std::vector<ir::InstId> loads;
  for (size_t n = 0; n < rows.size(); ++n) {
    if (n != 0 && rows[n].first - rows[n - 1].first != bytes * static_cast<int64_t>(launch.x)) return {};
    loads.push_back(rows[n].second);
  }
  return loads.size() >= 2 ? loads : std::vector<ir::InstId>{};
}

}  // namespace ptx2cpu::analysis
