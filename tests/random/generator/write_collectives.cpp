// Warp operations. Every lane of the mask is known to come; what a lane outside the mask would give is not
// folded.
#include "tests/random/generator/writer.h"

namespace ptx2cpu::random_kernels {

Collective Writer::MakeCollective(Collective::Op op, uint32_t word) {
  constexpr const char* kVotes[] = {"vote.sync.all.pred", "vote.sync.any.pred", "vote.sync.uni.pred"};
  constexpr const char* kModes[] = {"shfl.sync.idx.b32", "shfl.sync.up.b32", "shfl.sync.down.b32",
                                    "shfl.sync.bfly.b32"};
  constexpr const char* kMatches[] = {"match.any.sync.b32", "match.all.sync.b32", "match.any.sync.b64",
                                      "match.all.sync.b64"};
  constexpr const char* kReductions[] = {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32",
                                         "max.s32", "and.b32", "or.b32",  "xor.b32"};
  const uint32_t detail = word >> 4;
  switch (op) {
    case Collective::Op::kShuffle:
      Need(Feature::k_shuffle);
      return {op, kModes[detail % 4], word};
    case Collective::Op::kVote:
      Need(Feature::k_vote);
      return {op, kVotes[detail % 3], word};
    case Collective::Op::kBallot:
      Need(Feature::k_vote);
      return {op, "vote.sync.ballot.b32", word};
    case Collective::Op::kMatch:
      Need(Feature::k_match);
      return {op, kMatches[detail % 4], word, detail % 4 >= 2};
    case Collective::Op::kRedux:
      Need(Feature::k_redux);
      return {op, std::string("redux.sync.") + kReductions[detail % 9], word};
    case Collective::Op::kSync:
      break;
  }
  Need(Feature::k_warp_sync);
  return {Collective::Op::kSync, "bar.warp.sync", word};
}

Collective Writer::AnyCollective(uint32_t word) {
  using Op = Collective::Op;
  std::vector<Op> ops;
  if (Allowed(Feature::k_shuffle)) ops.insert(ops.end(), {Op::kShuffle, Op::kShuffle});
  if (Allowed(Feature::k_vote)) ops.insert(ops.end(), {Op::kVote, Op::kBallot});
  if (Allowed(Feature::k_match)) ops.push_back(Op::kMatch);
  if (Allowed(Feature::k_redux)) ops.push_back(Op::kRedux);
  if (Allowed(Feature::k_warp_sync) || ops.empty()) ops.push_back(Op::kSync);
  return MakeCollective(ops[word % ops.size()], word);
}

// All lanes of the warp, as a constant, where that is right.
std::string Writer::MaskOperand(const Place& place, uint32_t word) {
  const bool all = place.lanes_together && place.nothing_dropped && tree_.block % 32 == 0;
  return all && word % 4 < 3 ? "-1" : place.lanes;
}

void Writer::Shuffle(const Collective& collective, const std::string& mask, uint32_t word,
                     const std::string& guard) {
  constexpr uint32_t kSegments[] = {0, 0, 16, 24, 28, 30, 31};
  const char mode = collective.text[10];  // shfl.sync.M
  const uint32_t segment = kSegments[word % 7];
  const bool whole = (word >> 4) % 4 != 0;
  const uint32_t clamp = whole ? (mode == 'u' ? 0u : 31u) : word >> 6 & 31;
  const uint32_t c = segment << 8 | clamp;
  std::string b = fmt::format("{}", word >> 12 & 31);
  if ((word >> 17) % 3 == 0)
    b = Compute("and.b32", Compute("mad.lo.u32", "%lane", 5, word >> 12 & 31), 31);
  else if ((word >> 17) % 3 == 1)
    b = Compute("and.b32", "%h", 31);
  const std::string c_operand = (word >> 20) % 3 == 0 ? Compute("mov.u32", c) : fmt::format("{}", c);
  const std::string d = Reg(), p = Predicate();
  Line("{}{} {}|{}, %h, {}, {}, {}", guard, collective.text, d, p, b, c_operand, mask);
  // Whether the lane that gives belongs to the mask.
  const std::string minimum = Compute("and.b32", "%lane", segment);
  const std::string b5 = Compute("and.b32", b, 31);
  std::string source;
  if (mode == 'i')
    source = Compute("or.b32", minimum, Compute("and.b32", b5, ~segment & 31));
  else if (mode == 'u')
    source = Compute("sub.s32", "%lane", b5);
  else if (mode == 'd')
    source = Compute("add.u32", "%lane", b5);
  else
    source = Compute("xor.b32", "%lane", b5);
  source = Compute("selp.b32", source, "%lane", p);
  const std::string member = BitOf(mask, Compute("and.b32", source, 31));
  Fold(Compute("selp.b32", d, "0x3C6EF372", member));
  FoldPredicate(p);
}

// `guard`: "" or "@%p "; then what is folded is folded by the lanes of the mask only, by a branch of the
// caller.
void Writer::Perform(const Collective& collective, const std::string& mask, uint32_t word,
                     const std::string& guard) {
  using Op = Collective::Op;
  switch (collective.op) {
    case Op::kShuffle:
      return Shuffle(collective, mask, word, guard);
    case Op::kVote:
    case Op::kBallot: {
      const std::string vote = Predicate();
      const uint32_t rare = word % 3;  // so that all and uni hold sometimes
      const std::string value = Compute("and.b32", "%h", rare == 0 ? 1 : rare == 1 ? 0x300 : 0xF000);
      Line("setp.{}.u32 {}, {}, 0", word % 2 == 0 ? "eq" : "ne", vote,
           rare == 0 && word % 5 == 0 ? mask : value);
      const std::string negated = (word >> 8) % 3 == 0 ? "!" : "";
      if (collective.op == Op::kBallot) {
        const std::string d = Reg();
        Line("{}{} {}, {}{}, {}", guard, collective.text, d, negated, vote, mask);
        return Fold(d);
      }
      const std::string d = Predicate();
      Line("{}{} {}, {}{}, {}", guard, collective.text, d, negated, vote, mask);
      return FoldPredicate(d);
    }
    case Op::kMatch: {
      const std::string narrow = Compute("and.b32", "%h", word % 4 == 0 ? 0 : word % 8);
      std::string value = narrow;
      if (collective.wide) {
        value = Wide();
        Line("mul.wide.u32 {}, {}, 0x1000193", value, narrow);
      }
      const std::string d = Reg();
      if (collective.text.starts_with("match.all") && (word >> 8) % 4 != 0) {
        const std::string p = Predicate();
        Line("{}{} {}|{}, {}, {}", guard, collective.text, d, p, value, mask);
        FoldPredicate(p);
      } else {
        Line("{}{} {}, {}, {}", guard, collective.text, d, value, mask);
      }
      return Fold(d);
    }
    case Op::kRedux: {
      const std::string d = Reg();
      Line("{}{} {}, %h, {}", guard, collective.text, d, mask);
      return Fold(d);
    }
    case Op::kSync:
      Line("{}bar.warp.sync {}", guard, mask);
  }
}

// Which lane is elected is not defined: fold only what holds for any.
void Writer::Elect(const Place& place) {
  const std::string d = Reg(), p = Predicate(), is_leader = Predicate(), agree = Predicate();
  Line("elect.sync {}|{}, {}", d, p, place.lanes);
  Line("setp.eq.u32 {}, {}, %lane", is_leader, d);
  Line("xor.pred {}, {}, {}", agree, p, is_leader);
  FoldPredicate(agree);
  FoldPredicate(BitOf(place.lanes, d));
}

// The lanes that take part are chosen by a guard; the others' registers keep their values.
void Writer::Guarded(const Node& node, Place& place) {
  const Choice choice = ChooseLanes(node.word[0], place);
  const std::string mask = Compute("and.b32", choice.set, place.lanes);
  const Collective collective = AnyCollective(node.word[1]);
  const std::string before = Compute("mov.b32", "%h");
  // Destinations that the guard keeps from being written would be undefined, so fold under the same guard.
  Perform(collective, mask, node.word[2], "@" + choice.mine + " ");
  Line("selp.b32 %h, %h, {}, {}", before, choice.mine);
}

// Lanes part, and meet in one collective from two or four places, under the mask of all of them.
Dropped Writer::Split(const Node& node, Place& place) {
  const Collective collective = AnyCollective(node.word[0]);
  const std::string meeting = Compute("mov.b32", place.lanes);
  const bool four = node.word[1] % 3 == 0;
  const Choice outer = ChooseLanes(node.word[2], place);
  const Choice inner = ChooseLanes(node.word[3], place);
  const std::string end = NewLabel();
  std::vector<std::string> labels;
  for (int i = 0; i < (four ? 4 : 2); ++i) labels.push_back(NewLabel());
  if (four) {
    const std::string upper = NewLabel();
    Line("@{} bra {}", outer.mine, upper);
    Line("@{} bra {}", inner.mine, labels[1]);
    Line("bra {}", labels[0]);
    Label(upper);
    Line("@{} bra {}", inner.mine, labels[3]);
    Line("bra {}", labels[2]);
  } else {
    Line("@{} bra {}", outer.mine, labels[1]);
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    Label(labels[i]);
    Place arm = place;
    arm.lanes_together = false, arm.may_drop = false, arm.scopes.clear();
    const bool outer_side = four ? i >= 2 : i == 1;
    arm.lanes = Compute("and.b32", place.lanes, outer_side ? outer.set : Compute("not.b32", outer.set));
    if (four)
      Line("and.b32 {}, {}, {}", arm.lanes, arm.lanes,
           i % 2 == 1 ? inner.set : Compute("not.b32", inner.set));
    const bool before = node.word[1] >> (4 + i) & 1;
    if (before) Arm(node, i, arm);
    Perform(collective, meeting, node.word[0] + static_cast<uint32_t>(i) * 0x31415927);
    if (!before) Arm(node, i, arm);
    if (i + 1 < labels.size()) Line("bra {}", end);
  }
  Label(end);
  return 0;
}

// Each lane meets the others in a trip of its own.
Dropped Writer::Appointment(const Node& node, Place& place) {
  const Collective collective = AnyCollective(node.word[0]);
  const std::string mine = Compute("and.b32", Compute("shr.u32", "%h", node.word[1] % 16), 3);
  const std::string trip = Compute("mov.u32", 0);
  const std::string head = NewLabel(), next = NewLabel(), other = Predicate(), more = Predicate();
  Label(head);
  Line("setp.ne.u32 {}, {}, {}", other, trip, mine);
  Line("@{} bra {}", other, next);
  Perform(collective, place.lanes, node.word[2]);
  Label(next);
  Fold(trip);
  Line("add.u32 {}, {}, 1", trip, trip);
  Line("setp.lt.u32 {}, {}, 4", more, trip);
  Line("@{} bra {}", more, head);
  return 0;
}

}  // namespace ptx2cpu::random_kernels
