// Loads or stores of one thread that lie side by side become one access of several elements, where
// neighbouring threads' elements follow each other: records in an array, elements that a thread has in a row.
//
//   before                                     after
//     %a = load i32 global %p                    %a, %b = load i32 global %p {align 4}
//     %p4 = add i64 %p, 4
//     %b = load i32 global %p4                   (%p = %base + 8 * %tid)
//
// Apart, each access of a vector of threads is a gather with a stride; together they are one run of memory
// that shuffles divide. Where the stride from thread to thread is another one nothing is gained, and
// accesses that overlap those of the next thread (x[i - 1], x[i], x[i + 1]) are best as they are. The stride
// only decides whether it pays, so that it may be a guess. Loads move up to the first of them and stores down
// to the last, past accesses that cannot meet them.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "ir/build.h"
#include "lowering/passes.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::InstId;
using ir::Opcode;
using ir::Space;
using ir::ValueId;

constexpr int64_t kMaxParts = 4;  // that the emitter divides a run of memory into
constexpr int kMaxDepth = 64;     // of an address

bool IsConstant(const ir::Function& f, ValueId value, int64_t* number) {
  const ir::InstId def = f.at_value(value).def;
  if (!def.valid() || f.at_inst(def).op != Opcode::kConst) return false;
  const ir::Inst& inst = f.at_inst(def);
  const int unused = std::max(64 - ir::Bits(inst.type), 0);
  *number = static_cast<int64_t>(inst.attrs.bits << unused) >> unused;
  return true;
}

// By how much a value grows from thread to thread along x, if nothing wraps around.
class Strides {
 public:
  explicit Strides(const ir::Function& f) : f_(f), incoming_(f.blocks.size()) {
    for (const ir::Block& block : f.blocks) {
      if (block.removed) continue;
      for (const ir::Edge& edge : f.at_inst(block.insts.back()).edges)
        incoming_[edge.to.index].push_back(&edge);
    }
  }

  std::optional<int64_t> Of(ValueId value, int depth = 0) {
    if (const auto it = known_.find(value.index); it != known_.end()) return it->second;
    known_[value.index] = std::nullopt;  // on a cycle: the other ways decide
    return known_[value.index] = depth == kMaxDepth ? std::nullopt : Find(value, depth + 1);
  }

 private:
  std::optional<int64_t> Find(ValueId id, int depth) {
    const ir::Value& value = f_.at_value(id);
    if (!value.def.valid()) return OfParameter(value, depth);
    const ir::Inst& inst = f_.at_inst(value.def);
    if (inst.op == Opcode::kSpecialRegister) return OfRegister(inst.attrs.special);
    std::vector<int64_t> operands;
    for (ValueId operand : inst.operands) {
      const std::optional<int64_t> stride = Of(operand, depth);
      if (!stride) return std::nullopt;
      operands.push_back(*stride);
    }
    const bool uniform = std::ranges::all_of(operands, [](int64_t stride) { return stride == 0; });
    const ir::Effect effect = ir::Info(inst.op).effect;
    if (uniform && (effect == ir::Effect::kPure || inst.op == Opcode::kLoad)) return 0;
    return OfOperation(inst, operands);
  }

  // What a loop begins with decides, or all ways into an ordinary block that are known.
  std::optional<int64_t> OfParameter(const ir::Value& value, int depth) {
    if (value.block == f_.entry) return 0;
    for (const ir::Edge* edge : incoming_[value.block.index]) {
      if (const std::optional<int64_t> stride = Of(edge->args[value.number], depth)) return stride;
    }
    return std::nullopt;
  }

  static std::optional<int64_t> OfRegister(ir::Special special) {
    if (special == ir::Special::kTidX || special == ir::Special::kLaneId) return 1;
    if (special == ir::Special::kTidY || special == ir::Special::kTidZ) return 0;
    switch (ir::Info(special).varies) {
      case ir::Varies::kUniformInGrid:
      case ir::Varies::kUniformInBlock:
      case ir::Varies::kUniformInWarp:
        return 0;
      case ir::Varies::kAffineInTid:
      case ir::Varies::kAffineInLane:
      case ir::Varies::kVarying:
      case ir::Varies::kTime:
        break;
    }
    return std::nullopt;
  }

  std::optional<int64_t> OfOperation(const ir::Inst& inst, const std::vector<int64_t>& operands) const {
    int64_t number = 0;
    auto constant = [&](size_t n) { return IsConstant(f_, inst.operands[n], &number); };
    if (inst.op == Opcode::kAdd) return operands[0] + operands[1];
    if (inst.op == Opcode::kSub) return operands[0] - operands[1];
    if (inst.op == Opcode::kMul && constant(1)) return operands[0] * number;
    if (inst.op == Opcode::kMul && constant(0)) return operands[1] * number;
    if (inst.op == Opcode::kShl && constant(1) && number >= 0 && number < 32) return operands[0] << number;
    if (inst.op == Opcode::kZext || inst.op == Opcode::kSext || inst.op == Opcode::kTrunc ||
        inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric)
      return operands[0];
    // The lane's number; a sum of parts that do not meet.
    if (inst.op == Opcode::kAnd && constant(1) && (number & 31) == 31) return operands[0];
    if (inst.op == Opcode::kOr) return operands[0] + operands[1];
    return std::nullopt;
  }

  const ir::Function& f_;
  std::vector<std::vector<const ir::Edge*>> incoming_;
  std::unordered_map<uint32_t, std::optional<int64_t>> known_;
};

struct Access {
  InstId inst;
  ValueId root;        // its address is that + offset
  int64_t offset = 0;  // bytes
  int64_t parts = 0;
  int64_t bytes = 0;  // of all parts
};

struct Group {
  std::vector<Access> members;      // in program order
  std::vector<Access> passed = {};  // stores that a further load would move past
};
constexpr size_t kMaxPassed = 64;

class Joiner {
 public:
  explicit Joiner(ir::Function& f) : f_(f), strides_(f) {}

  void Run() {
    for (BlockId block : ir::ReversePostOrder(f_)) FindGroups(block);
    for (const Group& group : found_) Join(group);
    if (found_.empty()) return;
    replaced_.resize(f_.values.size());
    ir::ReplaceUses(f_, replaced_);
    for (InstId id : gone_) ir::Remove(f_, id);
  }

 private:
  static bool IsWeak(const ir::Inst& inst) {
    return inst.attrs.order == ir::MemoryOrder::kWeak && (inst.attrs.flags & ir::kVolatile) == 0;
  }
  static bool IsJoinable(const ir::Inst& inst) {
    const Space space = inst.attrs.space;
    return (inst.op == Opcode::kLoad || inst.op == Opcode::kStore) && IsWeak(inst) &&
           ir::Bits(inst.type) >= 8 && ir::Bits(inst.type) <= 64 &&
           (space == Space::kGlobal || space == Space::kShared || space == Space::kGeneric);
  }

  Access AccessOf(InstId id) const {
    const ir::Inst& inst = f_.at_inst(id);
    Access access{.inst = id, .root = inst.operands[0]};
    const size_t parts = inst.op == Opcode::kLoad ? inst.results.size() : inst.operands.size() - 1;
    access.parts = static_cast<int64_t>(parts);
    access.bytes = access.parts * ir::Bytes(inst.type);
    for (int64_t number = 0;;) {
      const ir::InstId def = f_.at_value(access.root).def;
      if (!def.valid() || f_.at_inst(def).op != Opcode::kAdd || f_.at_inst(def).type != ir::Type::kI64 ||
          (f_.at_inst(def).attrs.flags & ir::kSat) != 0 ||
          !IsConstant(f_, f_.at_inst(def).operands[1], &number))
        return access;
      access.offset += number;
      access.root = f_.at_inst(def).operands[0];
    }
  }

  bool OfOneKind(const Access& a, const Access& b) const {
    const ir::Inst &first = f_.at_inst(a.inst), &second = f_.at_inst(b.inst);
    return a.root == b.root && first.op == second.op && first.type == second.type &&
           first.attrs.space == second.attrs.space && first.attrs.flags == second.attrs.flags;
  }

  // Whether the order of the two accesses of one thread matters.
  bool MayMeet(const Access& a, const Access& b) const {
    const ir::Inst &first = f_.at_inst(a.inst), &second = f_.at_inst(b.inst);
    if (first.op == Opcode::kLoad && second.op == Opcode::kLoad) return false;
    const Space x = first.attrs.space, y = second.attrs.space;
    if (x != y) return x == Space::kGeneric || y == Space::kGeneric;
    return a.root != b.root || (a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes);
  }

  void FindGroups(BlockId block) {
    for (InstId id : f_.at_block(block).insts) {
      const ir::Inst& inst = f_.at_inst(id);
      if (IsJoinable(inst)) {
        const Access access = AccessOf(id);
        CloseIf([&](const Group& group) { return Ends(group, access); });
        if (inst.op == Opcode::kStore) NotePassed(access);
        Enter(access);
        continue;
      }
      const bool frozen = inst.op == Opcode::kLoad &&
                          (inst.attrs.space == Space::kParam || inst.attrs.space == Space::kConst);
      if (frozen || ir::Info(inst.op).effect == ir::Effect::kPure) continue;
      // Generic addresses may reach the thread's own variables too.
      CloseIf([](const Group&) { return true; });
    }
    CloseIf([](const Group&) { return true; });
  }

  // Stores do not move down past what may meet them, nor a load up past a store that may.
  bool Ends(const Group& group, const Access& access) const {
    auto meets = [&](const Access& other) { return MayMeet(other, access); };
    if (f_.at_inst(group.members[0].inst).op == Opcode::kStore)
      return std::ranges::any_of(group.members, meets);
    return OfOneKind(group.members[0], access) && std::ranges::any_of(group.passed, meets);
  }

  void NotePassed(const Access& store) {
    CloseIf([](const Group& group) { return group.passed.size() == kMaxPassed; });
    for (Group& group : open_) group.passed.push_back(store);
  }

  void Enter(const Access& access) {
    for (Group& group : open_) {
      if (!OfOneKind(group.members[0], access)) continue;
      group.members.push_back(access);
      return;
    }
    open_.push_back({{access}});
  }

  template <typename Condition>
  void CloseIf(Condition condition) {
    for (size_t n = open_.size(); n-- > 0;) {
      if (!condition(open_[n])) continue;
      Divide(open_[n]);
      open_.erase(open_.begin() + static_cast<ptrdiff_t>(n));
    }
  }

  // Into runs that are as long as the stride.
  void Divide(const Group& group) {
    if (group.members.size() < 2) return;
    const std::optional<int64_t> stride = strides_.Of(group.members[0].root);
    const int64_t bytes = ir::Bytes(f_.at_inst(group.members[0].inst).type);
    if (!stride || *stride % bytes != 0 || *stride / bytes < 2 || *stride / bytes > kMaxParts ||
        *stride / bytes == 3)
      return;
    std::vector<Access> sorted = group.members;
    std::ranges::stable_sort(sorted, {}, &Access::offset);
    std::vector<Access> run;
    for (const Access& access : sorted) {
      const int64_t end = run.empty() ? access.offset : run.back().offset + run.back().bytes;
      if (access.offset < end) continue;  // once more
      if (access.offset != end) run.clear();
      run.push_back(access);
      const int64_t length = access.offset + access.bytes - run[0].offset;
      if (length > *stride) run.clear();
      if (length != *stride) continue;
      if (run.size() > 1) found_.push_back({run});
      run.clear();
    }
  }

  // `group`: one run, by address.
  void Join(const Group& group) {
    const std::vector<Access>& parts = group.members;
    const BlockId block = f_.at_inst(parts[0].inst).block;
    const std::vector<InstId>& list = f_.at_block(block).insts;
    std::vector<size_t> places;
    for (const Access& part : parts)
      places.push_back(static_cast<size_t>(std::ranges::find(list, part.inst) - list.begin()));
    const bool loads = f_.at_inst(parts[0].inst).op == Opcode::kLoad;
    size_t where = loads ? std::ranges::min(places) : std::ranges::max(places);
    const ir::Inst like = f_.at_inst(list[where]);
    ir::Inst joined = like;
    joined.results.clear();
    joined.operands = {AddressAt(block, where, parts[0], like.at)};
    joined.attrs.align = AlignOf(like);
    uint32_t count = 0;
    for (const Access& part : parts) {
      const ir::Inst& inst = f_.at_inst(part.inst);
      joined.attrs.align = std::min(joined.attrs.align, AlignOf(inst));
      count += static_cast<uint32_t>(part.parts);
      if (!loads)
        joined.operands.insert(joined.operands.end(), inst.operands.begin() + 1, inst.operands.end());
    }
    const InstId id = ir::Insert(f_, block, where, std::move(joined), loads ? count : 0);
    replaced_.resize(f_.values.size());
    size_t number = 0;
    for (const Access& part : parts) {
      for (ValueId result : f_.at_inst(part.inst).results)
        replaced_[result.index] = f_.at_inst(id).results[number++];
      gone_.push_back(part.inst);
    }
  }

  static uint32_t AlignOf(const ir::Inst& inst) {
    const size_t parts = inst.op == Opcode::kLoad ? inst.results.size() : inst.operands.size() - 1;
    return inst.attrs.align != 0 ? inst.attrs.align
                                 : static_cast<uint32_t>(parts) * static_cast<uint32_t>(ir::Bytes(inst.type));
  }

  // The address of a part, made before position `where` where it may not be known yet.
  ValueId AddressAt(BlockId block, size_t& where, const Access& part, const ir::Position& at) {
    if (part.offset == 0) return part.root;
    ir::Inst number;
    number.op = Opcode::kConst;
    number.type = ir::Type::kI64;
    number.attrs.bits = static_cast<uint64_t>(part.offset);
    number.at = at;
    const InstId offset = ir::Insert(f_, block, where++, std::move(number));
    ir::Inst sum;
    sum.op = Opcode::kAdd;
    sum.type = ir::Type::kI64;
    sum.operands = {part.root, f_.at_inst(offset).results[0]};
    sum.at = at;
    const InstId address = ir::Insert(f_, block, where++, std::move(sum));
    return f_.at_inst(address).results[0];
  }

  ir::Function& f_;
  Strides strides_;
  std::vector<Group> open_, found_;
  std::vector<ValueId> replaced_;
  std::vector<InstId> gone_;
};

}  // namespace

Status JoinNeighbouringAccesses(ir::Module&, ir::Function& f, const PassOptions&) {
  Joiner(f).Run();
  return {};
}

}  // namespace ptx2cpu::lowering
