// Loads or stores of one thread that lie side by side become one access of several elements, where
// neighbouring threads' elements follow each other: records in an array, elements that a thread has in a row.
//
//   before                                     after
//     %a = load i32 global %p                    %a, %b = load i32 global %p {align 4}
//     %p4 = add i64 %p, 4
//     %b = load i32 global %p4                   (%p = %base + 8 * %tid)
//
// Apart, each access of a vector of threads is a gather with a stride; together they are one run of memory
// that shuffles divide. Where threads' runs are far from each other (a row for each thread, a record that an
// index chooses), each thread's is one access. Accesses that overlap those of the next thread (x[i - 1],
// x[i], x[i + 1]) are best as they are. The stride only decides whether joining pays, so it may be a guess.
// Loads move up to the first of them and stores down to the last, past accesses that cannot meet them.
//
// Parts of a word that were loaded one by one and packed, as code does that may not assume that the word is
// aligned, are a load of the word whatever the stride; so are several such words that lie side by side:
//
//   %a = load i16 global %p                    %w = load i32 global align 2 %p
//   %b = load i16 global %p2
//   %w = pack i32 from i16 %a, %b
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "ir/edit.h"
#include "lowering/passes.h"
#include "lowering/passes/constant_offsets.h"
#include "lowering/passes/thread_strides.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::InstId;
using ir::Opcode;
using ir::Space;
using ir::ValueId;

constexpr int64_t kMaxParts = 4, kManyParts = 8;  // that the emitter divides a run of memory into; of words
constexpr int64_t kMinRowBytes = 4;               // of an element, where each thread's run is elsewhere
constexpr int kMaxWordBits = 64;
constexpr size_t kMaxWords = 2;  // of a load that its lanes make each for itself

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
// A pack of loads.
struct Word {
  InstId pack;
  int64_t offset = 0;         // as of its first part
  std::vector<Access> parts;  // by address
};

class AccessJoiner {
 public:
  explicit AccessJoiner(ir::Function& f) : f_(f), strides_(f), offsets_(f), made_(f) {}

  void Run() {
    FindPacks();
    for (BlockId block : ir::ReversePostOrder(f_)) FindGroups(block);
    for (const Group& group : found_) Join(group);
    for (const std::vector<Word>& words : found_words_) JoinWords(words);
    if (found_.empty() && found_words_.empty()) return;
    made_.Finish();
    replaced_.resize(f_.values.size());
    ir::ReplaceUses(f_, replaced_);
    ir::RemoveAll(f_, gone_);
  }

 private:
  static bool IsJoinable(const ir::Inst& inst) {
    const Space space = inst.attrs.space;
    return (inst.op == Opcode::kLoad || inst.op == Opcode::kStore) &&
           inst.attrs.order == ir::MemoryOrder::kWeak && (inst.attrs.flags & ir::kVolatile) == 0 &&
           ir::Bits(inst.type) >= 8 && ir::Bits(inst.type) <= 64 &&
           (space == Space::kGlobal || space == Space::kShared || space == Space::kGeneric);
  }

  Access AccessOf(InstId id) {
    const ir::Inst& inst = f_.at_inst(id);
    const Place place = offsets_.Of(inst.operands[0], inst.attrs.space);
    const auto parts = static_cast<int64_t>(std::max(inst.results.size(), inst.operands.size() - 1));
    return {id, place.root, place.offset, parts, parts * ir::Bytes(inst.type)};
  }

  // Accesses of one kind may become one.
  using Kind = std::tuple<uint32_t, Opcode, ir::Type, Space, uint32_t>;
  Kind KindOf(const Access& access) const {
    const ir::Inst& inst = f_.at_inst(access.inst);
    return {access.root.index, inst.op, inst.type, inst.attrs.space, inst.attrs.flags};
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
    uint32_t number = 0;
    for (InstId id : f_.at_block(block).insts) {
      const ir::Inst& inst = f_.at_inst(id);
      if (IsJoinable(inst)) {
        const Access access = AccessOf(id);
        number_[id.index] = number++;
        EndGroups(access);
        if (inst.op == Opcode::kStore) NotePassed(access);
        Enter(access);
        continue;
      }
      const bool frozen = inst.op == Opcode::kLoad &&
                          (inst.attrs.space == Space::kParam || inst.attrs.space == Space::kConst);
      if (frozen || inst.op == Opcode::kCheckAccess || ir::Info(inst.op).effect == ir::Effect::kPure)
        continue;
      // Generic addresses may also reach the thread's own variables.
      CloseAll();
    }
    CloseAll();
  }

  // Stores do not move down past what may meet them, nor a load up past a store that may. The stores of all
  // groups are few: they pass each other.
  void EndGroups(const Access& access) {
    std::set<size_t, std::greater<>> ended;
    const auto meets = [&](const Access& other) { return MayMeet(other, access); };
    for (size_t stores : of_stores_) {
      if (std::ranges::any_of(open_.at(stores).members, meets)) ended.insert(stores);
    }
    const auto own = by_kind_.find(KindOf(access));
    if (own != by_kind_.end() && f_.at_inst(access.inst).op == Opcode::kLoad &&
        std::ranges::any_of(open_.at(own->second).passed, meets))
      ended.insert(own->second);
    for (size_t number : ended) Close(number);
  }

  // A group is met here no more often than it may be passed.
  void NotePassed(const Access& store) {
    std::vector<size_t> full;
    for (const auto& [number, group] : open_) {
      if (group.passed.size() == kMaxPassed) full.push_back(number);
    }
    for (size_t n = full.size(); n-- > 0;) Close(full[n]);
    for (auto& [number, group] : open_) group.passed.push_back(store);
  }

  void Enter(const Access& access) {
    const auto [own, is_new] = by_kind_.try_emplace(KindOf(access), groups_);
    if (is_new && f_.at_inst(access.inst).op == Opcode::kStore) of_stores_.insert(groups_);
    open_[own->second].members.push_back(access);
    groups_ += is_new;
  }

  void Close(size_t number) {
    const auto group = open_.find(number);
    by_kind_.erase(KindOf(group->second.members[0]));
    of_stores_.erase(number);
    Divide(group->second);
    open_.erase(group);
  }

  void CloseAll() {
    while (!open_.empty()) Close(open_.rbegin()->first);
  }

  // Packs by their first part, and how often a value is used.
  void FindPacks() {
    uses_.assign(f_.values.size(), 0);
    for (const ir::Block& block : f_.blocks) {
      if (block.removed) continue;
      for (InstId id : block.insts) {
        const ir::Inst& inst = f_.at_inst(id);
        for (ValueId operand : inst.operands) ++uses_[operand.index];
        for (const ir::Edge& edge : inst.edges) {
          for (ValueId arg : edge.args) ++uses_[arg.index];
        }
        if (inst.op == Opcode::kPack && ir::IsInteger(inst.type) && ir::Bits(inst.type) <= kMaxWordBits)
          packs_.emplace(inst.operands[0].index, id);
      }
    }
  }

  // The parts of a pack, if all are single loads of the group (`loads`) and lie in memory as in the word.
  std::optional<Word> WordOf(const std::unordered_map<uint32_t, Access>& loads, const Access& first) const {
    const auto pack = packs_.find(f_.at_inst(first.inst).results[0].index);
    if (pack == packs_.end()) return std::nullopt;
    Word word{pack->second, first.offset, {}};
    for (ValueId operand : f_.at_inst(pack->second).operands) {
      const auto part = loads.find(f_.at_value(operand).def.index);
      const int64_t at = first.offset + static_cast<int64_t>(word.parts.size()) * first.bytes;
      if (part == loads.end() || part->second.parts != 1 || part->second.offset != at) return std::nullopt;
      word.parts.push_back(part->second);
    }
    return word;
  }

  // Takes the words, and the parts that are used in nothing else, out of the group.
  void TakeWords(Group& group) {
    const ir::Inst& like = f_.at_inst(group.members[0].inst);
    if (like.op != Opcode::kLoad || !ir::IsInteger(like.type) || ir::Bits(like.type) > 32) return;
    std::unordered_map<uint32_t, Access> loads;
    for (const Access& access : group.members) loads.emplace(access.inst.index, access);
    std::vector<Word> words;
    for (const Access& access : group.members) {
      if (access.parts != 1) continue;
      if (std::optional<Word> word = WordOf(loads, access)) words.push_back(*std::move(word));
    }
    std::ranges::stable_sort(words, {}, &Word::offset);
    const std::optional<int64_t> stride = strides_.Of(group.members[0].root);
    std::vector<Word> run;
    auto end_run = [&] {
      if (!run.empty()) found_words_.push_back(std::exchange(run, {}));
    };
    for (Word& word : words) {
      const ir::Type type = f_.at_inst(word.pack).type;
      const int64_t bytes = ir::Bytes(type);
      for (const Access& part : word.parts) {
        --uses_[f_.at_inst(part.inst).results[0].index];
        loads.erase(part.inst.index);
      }
      const bool follows = !run.empty() && f_.at_inst(run[0].pack).type == type &&
                           word.offset == run.back().offset + bytes && run.size() < kMaxWords;
      // Words of the next thread would be between those of this one.
      if (!follows || stride == bytes) end_run();
      run.push_back(std::move(word));
    }
    end_run();
    std::erase_if(group.members, [&](const Access& access) { return !loads.contains(access.inst.index); });
  }

  // Into runs that are as long as the stride, or rows.
  void Divide(Group& group) {
    TakeWords(group);
    if (group.members.size() < 2) return;
    const std::optional<int64_t> stride = strides_.Of(group.members[0].root);
    const int64_t bytes = ir::Bytes(f_.at_inst(group.members[0].inst).type);
    std::vector<Access> sorted = group.members;
    std::ranges::stable_sort(sorted, {}, &Access::offset);
    if (bytes == kMinRowBytes && stride == kManyParts * bytes && DivideRuns(sorted, *stride)) return;
    const bool may_be_rows = f_.type_of(group.members[0].root) == ir::Type::kI64;
    if (!may_be_rows && stride && *stride > kMaxParts * bytes) return;
    if (stride ? std::abs(*stride) > kMaxParts * bytes : strides_.IsApart(group.members[0].root))
      return DivideRows(sorted, bytes);
    if (stride && *stride % bytes == 0 && *stride >= 2 * bytes) DivideRuns(sorted, *stride);
  }

  // Into runs that are as long as the stride. `sorted`: by address. False: there are none.
  bool DivideRuns(const std::vector<Access>& sorted, int64_t stride) {
    const size_t before = found_.size();
    std::vector<Access> run;
    for (const Access& access : sorted) {
      const int64_t end = run.empty() ? access.offset : run.back().offset + run.back().bytes;
      if (access.offset < end) continue;  // once more
      if (access.offset != end) run.clear();
      run.push_back(access);
      const int64_t length = access.offset + access.bytes - run[0].offset;
      if (length == stride && run.size() > 1) found_.push_back({run});
      if (length >= stride) run.clear();
    }
    return found_.size() > before;
  }

  // What other threads have is elsewhere: into runs that are as long as they may be. `sorted`: by address.
  void DivideRows(const std::vector<Access>& sorted, int64_t bytes) {
    if (bytes < kMinRowBytes) return;
    std::vector<Access> run;
    int64_t parts = 0;
    auto end_run = [&] {
      if (run.size() > 1) found_.push_back({std::exchange(run, {})});
      run.clear();
      parts = 0;
    };
    for (const Access& access : sorted) {
      const int64_t end = run.empty() ? access.offset : run.back().offset + run.back().bytes;
      if (access.offset < end) continue;  // once more
      if (access.offset != end || parts + access.parts > kMaxParts) end_run();
      run.push_back(access);
      parts += access.parts;
    }
    end_run();
  }

  uint32_t NumberOf(const Access& access) const { return number_.at(access.inst.index); }

  // `group`: one run, by address.
  void Join(const Group& group) {
    const std::vector<Access>& parts = group.members;
    const auto number = [&](const Access& part) { return NumberOf(part); };
    const bool loads = f_.at_inst(parts[0].inst).op == Opcode::kLoad;
    const InstId where =
        loads ? std::ranges::min(parts, {}, number).inst : std::ranges::max(parts, {}, number).inst;
    const ir::Inst like = f_.at_inst(where);
    ir::Inst joined = like;
    joined.results.clear();
    joined.operands = {AddressAt(where, parts[0])};
    joined.attrs.align = AlignOf(like);
    uint32_t count = 0;
    for (const Access& part : parts) {
      const ir::Inst& inst = f_.at_inst(part.inst);
      joined.attrs.align = std::min(joined.attrs.align, AlignOf(inst));
      count += static_cast<uint32_t>(part.parts);
      if (!loads)
        joined.operands.insert(joined.operands.end(), inst.operands.begin() + 1, inst.operands.end());
    }
    const InstId id = made_.Before(where, std::move(joined), loads ? count : 0);
    replaced_.resize(f_.values.size());
    size_t result = 0;
    for (const Access& part : parts) {
      for (ValueId old : f_.at_inst(part.inst).results)
        replaced_[old.index] = f_.at_inst(id).results[result++];
      gone_.push_back(part.inst);
    }
  }

  void JoinWords(const std::vector<Word>& words) {
    InstId where = words[0].parts[0].inst;
    ir::Inst joined = f_.at_inst(where);
    for (const Word& word : words) {
      for (const Access& part : word.parts) {
        if (NumberOf(part) < number_.at(where.index)) where = part.inst;
        joined.attrs.align = std::min(AlignOf(joined), AlignOf(f_.at_inst(part.inst)));
      }
    }
    joined.type = f_.at_inst(words[0].pack).type;
    joined.results.clear();
    joined.operands = {AddressAt(where, words[0].parts[0])};
    const InstId id = made_.Before(where, std::move(joined), static_cast<uint32_t>(words.size()));
    replaced_.resize(f_.values.size());
    for (size_t n = 0; n < words.size(); ++n) {
      replaced_[f_.at_inst(words[n].pack).results[0].index] = f_.at_inst(id).results[n];
      gone_.push_back(words[n].pack);
      for (const Access& part : words[n].parts) {
        if (uses_[f_.at_inst(part.inst).results[0].index] == 0) gone_.push_back(part.inst);
      }
    }
  }

  static uint32_t AlignOf(const ir::Inst& inst) {
    const size_t parts = inst.op == Opcode::kLoad ? inst.results.size() : inst.operands.size() - 1;
    return inst.attrs.align != 0 ? inst.attrs.align
                                 : static_cast<uint32_t>(parts) * static_cast<uint32_t>(ir::Bytes(inst.type));
  }

  ValueId AddressAt(InstId where, const Access& part) {
    return AddressOf({part.root, part.offset}, f_, made_, where);
  }

  ir::Function& f_;
  ThreadStrides strides_;
  ConstantOffsets offsets_;
  ir::Insertions made_;
  std::unordered_map<uint32_t, uint32_t> number_;  // by access: in program order of its block
  std::map<size_t, Group> open_;                   // by age
  std::map<Kind, size_t> by_kind_;                 // of those that are open
  std::set<size_t> of_stores_;
  size_t groups_ = 0;
  std::vector<Group> found_;
  std::vector<std::vector<Word>> found_words_;  // side by side
  std::unordered_map<uint32_t, InstId> packs_;  // by their first part
  std::vector<uint32_t> uses_;
  std::vector<ValueId> replaced_;
  std::vector<InstId> gone_;
};

}  // namespace

Status JoinNeighbouringAccesses(ir::Module&, ir::Function& f, const PassOptions&) {
  AccessJoiner(f).Run();
  return {};
}

}  // namespace ptx2cpu::lowering
