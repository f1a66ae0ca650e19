// The frame of a kernel and of a device function; what decides a branch.
#include <bit>
#include <utility>

#include "tests/random/generator/writer.h"

namespace ptx2cpu::random_kernels {

namespace {
constexpr uint32_t kFunctionIds = 0xC000;  // barriers of device functions
}

void Writer::Fold(const std::string& value) {
  Line("xor.b32 %h, %h, {}", value);
  Line("mad.lo.u32 %h, %h, 0x9E3779B1, {}", 0x7F4A7C15u + static_cast<uint32_t>(body_.size()));
}

void Writer::FoldPredicate(const std::string& predicate) {
  Fold(Compute("selp.b32", "0x5BD1", "0x2F", predicate));
}

std::string Writer::LoadInput(const std::string& index) {
  const std::string address = Wide();
  Line("mad.wide.u32 {}, {}, 4, %in", address, Compute("and.b32", index, kInputs - 1));
  return Compute("ld.global.u32", "[" + address + "]");
}

std::string Writer::HashWord(uint32_t word, const std::string& trip) {
  const std::string mixed = Compute("mad.lo.u32", "%warp", "0x85EBCA6B", trip);
  const std::string times = Compute("mul.lo.u32", Compute("xor.b32", mixed, word), "0xC2B2AE35");
  return Compute("xor.b32", times, Compute("shr.u32", times, 15));
}

std::string Writer::BitOf(const std::string& set, const std::string& number) {
  const std::string result = Predicate();
  Line("setp.ne.u32 {}, {}, 0", result, Compute("and.b32", Compute("shr.u32", set, number), 1));
  return result;
}

std::string Writer::CountOf(const Place& place) {
  return Compute("shl.b32", Compute("popc.b32", place.warps), 5);
}

Choice Writer::ChooseLanes(uint32_t word, const Place& place) {
  constexpr uint32_t kPatterns[] = {0x55555555, 0x0000FFFF, 0xFF00FF00, 0x33333333,
                                    1,          0x80000000, 0x7FFFFFFF, 0xFFFFFFFE};
  const uint32_t detail = word >> 8;
  const std::string mine = Predicate();
  switch (word % 8) {
    case 0: {  // lanes below a number
      Line("setp.lt.u32 {}, %lane, {}", mine, detail % 32);
      return {Compute("mov.b32", (1u << detail % 32) - 1), mine};
    }
    case 1: {  // every other lane
      Line("setp.ne.u32 {}, {}, 0", mine, Compute("and.b32", "%me", 1));
      return {Compute("mov.b32", "0xAAAAAAAA"), mine};
    }
    case 2: {  // threads below a number
      const uint32_t bound = 1 + detail % (tree_.block + 8);
      Line("setp.lt.u32 {}, %me, {}", mine, bound);
      const std::string rest =
          Compute("max.s32", Compute("sub.s32", bound, Compute("shl.b32", "%warp", 5)), 0);
      return {Compute("sub.u32", Compute("shl.b32", 1, rest), 1), mine};
    }
    case 3: {  // the first that is here
      const std::string first = Compute("and.b32", place.lanes, Compute("neg.s32", place.lanes));
      Line("setp.eq.u32 {}, {}, %own", mine, first);
      return {first, mine};
    }
    case 4: {  // a loaded word
      const std::string set =
          LoadInput(Compute("add.u32", Compute("add.u32", "%warp", place.trip), detail % kInputs));
      return {set, BitOf(set, "%lane")};
    }
    case 5: {
      const std::string set = Compute("mov.b32", kPatterns[detail % 8]);
      Line("setp.ne.u32 {}, {}, 0", mine, Compute("and.b32", set, "%own"));
      return {set, mine};
    }
    default: {
      const std::string set = HashWord(word, place.trip);
      return {set, BitOf(set, "%lane")};
    }
  }
}

Choice Writer::ChooseWarps(uint32_t word, const Place& place) {
  const uint32_t detail = word >> 8;
  if (word % 4 == 0) {
    const std::string mine = Predicate();
    Line("setp.lt.u32 {}, %warp, {}", mine, 1 + detail % 7);
    return {Compute("mov.b32", (1u << (1 + detail % 7)) - 1), mine};
  }
  std::string set;
  if (word % 4 == 1) {
    set = LoadInput(Compute("add.u32", place.trip, detail % kInputs));
  } else {
    const std::string mixed = Compute("mul.lo.u32", Compute("xor.b32", place.trip, word), "0x9E3779B1");
    set = Compute("shr.u32", mixed, 7);
  }
  return {set, BitOf(set, "%warp")};
}

Choice Writer::ChooseBlock(uint32_t word, const Place& place) {
  const std::string mine = Predicate();
  std::string value;
  if (word % 2 == 0)
    value = LoadInput(Compute("add.u32", place.trip, word >> 8 & 63));
  else
    value = Compute("add.u32", Compute("mov.u32", "%ctaid.x"), word >> 8 & 3);
  Line("setp.ne.u32 {}, {}, 0", mine, Compute("and.b32", value, 1));
  return {"", mine};
}

// The hash and where the thread is, from the special registers.
void Writer::LaneFacts() {
  Line("mov.u32 %me, %tid.x");
  if (tree_.seed % 2 == 0)
    Line("mov.u32 %lane, %laneid");
  else
    Line("and.b32 %lane, %me, 31");
  Line("shr.u32 %warp, %me, 5");
  Line("shl.b32 %own, 1, %lane");
  if (uses_shared_) Line("mov.u32 %shared, {}_shared", kernel_);
}

void Writer::Prologue() {
  Line("ld.param.u64 %out, [p_out]");
  Line("ld.param.u64 %sums, [p_sums]");
  Line("ld.param.u64 %in, [p_in]");
  LaneFacts();
  Line("mad.lo.u32 %h, %me, 0x9E3779B1, {}", static_cast<uint32_t>(tree_.seed));
  Line("xor.b32 %h, %h, {}", LoadInput("%me"));
  Line("mov.u32 %trip, 0");
  // The lanes of this warp: the last one may be short.
  const std::string rest = Compute("sub.u32", tree_.block, Compute("shl.b32", "%warp", 5));
  const std::string short_warp = Predicate();
  Line("setp.lt.u32 {}, {}, 32", short_warp, rest);
  Line("shl.b32 %cur, 1, {}", rest);
  Line("sub.u32 %cur, %cur, 1");
  Line("selp.b32 %cur, %cur, -1, {}", short_warp);
  Line("mov.u32 %wcur, {}", (1u << (tree_.block + 31) / 32) - 1);
  if (!uses_shared_) return;
  const std::string others = Predicate(), end = NewLabel();
  Line("st.shared.u32 [{}], %h", SlotOf(kGroupArea, "%me"));
  Line("st.shared.u32 [{}], %h", SlotOf(kWarpArea, "%me"));
  Line("setp.ne.u32 {}, %me, 0", others);
  Line("@{} bra {}", others, end);
  const std::string zero = Compute("mov.u32", 0);
  for (uint32_t i = 0; i < kSingleEnd; i += 4)
    Line("st.shared.v4.u32 [%shared+{}], {{{}, {}, {}, {}}}", (kSingles + i) * 4, zero, zero, zero, zero);
  Label(end);
  Line("bar.sync 0");
}

void Writer::StoreAndExit() {
  const std::string index = Compute("mad.lo.u32", Compute("mov.u32", "%ctaid.x"), tree_.block, "%me");
  const std::string address = Wide();
  Line("mad.wide.u32 {}, {}, 4, %out", address, index);
  Line("st.global.u32 [{}], %h", address);
  Line("exit");
}

void Writer::Epilogue() {
  if (uses_shared_) {
    for (const uint32_t word :
         {kLockSum, kLockXor, kLaneSum, kCounter, kSum, kXor, kMax, kMin, kOr, kWarpSum}) {
      Fold(Compute("ld.volatile.shared.u32", "[" + Shared(word) + "]"));
    }
  }
  StoreAndExit();
}

std::string Writer::Declarations() const {
  std::string text =
      "  .reg .b32 %h, %cur, %wcur, %trip, %me, %lane, %warp, %own, %shared;\n  .reg .b64 %out, %sums, "
      "%in;\n";
  if (regs_ != 0) text += fmt::format("  .reg .b32 %r<{}>;\n", regs_);
  if (predicates_ != 0) text += fmt::format("  .reg .pred %p<{}>;\n", predicates_);
  if (wides_ != 0) text += fmt::format("  .reg .b64 %d<{}>;\n", wides_);
  return text;
}

// A device function takes and gives the hash; what it must know of its place comes along.
std::string Writer::WriteFunction(size_t number) {
  const Function& function = tree_.functions[number];
  const size_t outer = in_function_;
  in_function_ = number;
  const std::string saved_body = std::exchange(body_, "");
  const uint32_t saved_regs = std::exchange(regs_, 0), saved_predicates = std::exchange(predicates_, 0);
  const uint32_t saved_wides = std::exchange(wides_, 0), saved_labels = std::exchange(labels_, 0);
  const uint32_t saved_number = std::exchange(function_number_, static_cast<uint32_t>(number) + 1);
  const char* registers[] = {"%h", "%cur", "%wcur", "%trip"};
  std::string parameters;
  for (size_t i = 0; i < 4; ++i) {
    parameters += fmt::format(".param .b32 a{}, ", i);
    Line("ld.param.b32 {}, [a{}]", registers[i], i);
  }
  Line("ld.param.b64 %in, [a4]");
  Line("ld.param.b64 %sums, [a5]");
  LaneFacts();
  Place place{.nothing_dropped = false, .once = false};
  place.lanes_together = place.warps_together = function.with_barriers;
  if (function.with_barriers)
    place.ids = place.clean = Allowed(Feature::k_named) ? kFunctionIds : 1;
  else
    place.may_drop = true;
  if (!function.with_barriers && function.word % 2 == 0) {
    Scope scope{.end = Scope::End::kReturn};
    scope.leaving = Compute("and.b32", ChooseLanes(function.word >> 1, place).set, place.lanes);
    scope.keep = Compute("not.b32", scope.leaving);
    place.scopes.push_back(scope);
  }
  Write(function.body, place);
  if (function.with_barriers && place.clean != place.ids) Sync(place, function.word);
  Line("st.param.b32 [result], %h");
  Line("ret");
  const std::string text =
      fmt::format(".func (.param .b32 result) {}_f{}({}.param .b64 a4, .param .b64 a5)\n{{\n{}{}}}\n\n",
                  kernel_, number, parameters, Declarations(), body_);
  body_ = saved_body;
  regs_ = saved_regs, predicates_ = saved_predicates, wides_ = saved_wides, labels_ = saved_labels;
  function_number_ = saved_number;
  in_function_ = outer;
  return text;
}

KernelText Writer::Run() {
  // Twice: the first time shows whether shared memory is used at all.
  std::string entry;
  for (int pass = 0; pass < 2; ++pass) {
    body_.clear(), functions_.clear();
    regs_ = predicates_ = wides_ = labels_ = chains_ = 0;
    needs_ = 0;
    function_written_.assign(tree_.functions.size(), false);
    Place place;
    place.ids = place.clean = Allowed(Feature::k_named) ? 0x3FFF : 1;
    Prologue();
    Write(tree_.body, place);
    if (uses_shared_) {
      // Threads that ended have left their last atomics; the others meet here.
      const uint32_t id = static_cast<uint32_t>(std::countr_zero(place.clean));
      Line("bar.sync {}", id);
    }
    Epilogue();
  }
  entry = fmt::format(
      ".visible .entry {}(.param .u64 p_out, .param .u64 p_sums, .param .u64 p_in)\n{}{{\n{}{}}}\n", kernel_,
      tree_.states_block ? fmt::format("  .reqntid {}, 1, 1\n", tree_.block) : "", Declarations(), body_);
  KernelText result{.text = "", .name = kernel_, .needs = needs_ | Bit(Feature::k_alu)};
  result.text = fmt::format("// seed {}: {}\n", tree_.seed, NamesOf(result.needs));
  if (uses_shared_)
    result.text +=
        fmt::format(".shared .align 16 .b8 {}_shared[{}];\n\n", kernel_, (kSingles + kSingleEnd) * 4);
  result.text += functions_ + entry;
  return result;
}

KernelText Write(const Tree& tree, const std::string& name) { return Writer(tree, name).Run(); }

std::string KernelText::RunLine(const Tree& tree) const {
  return fmt::format(
      "// run: {} grid={} block={} compare=bits out:u32:{} out:u32:{} in:u32:gen(bits,{},{})\n", name,
      tree.grid, tree.block, tree.grid * tree.block, kSums, kInputs, tree.seed % 1000 + 1);
}

std::string ModuleHead() { return ".version 8.3\n.target sm_90\n.address_size 64\n\n"; }

std::string WriteModule(const Tree& tree, const std::string& name) {
  const KernelText kernel = Write(tree, name);
  return ModuleHead() + kernel.text + kernel.RunLine(tree);
}

}  // namespace ptx2cpu::random_kernels
