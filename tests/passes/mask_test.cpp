// Divergent branches around collectives: which are masked, what that makes of them, what stays a fault. That
// masked kernels mean the same as before is seen with all others in kernels_test.cpp.
#include "ir/verify/verify.h"
#include "tests/passes/count_instructions.h"
#include "tests/passes/kernel_run.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

ir::Module Collapsed(const std::string& name) {
  ir::Module module = ParseModule(ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/kernels/" + name + ".ir"));
  Result<ir::Module> result = After(module, "sequence-divergent-arms");
  if (!result) FAIL(result.error().Render());
  return std::move(*result);
}

bool Contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("branches with collectives in their arms are masked", "[passes][mask]") {
  struct {
    const char* name;
    // set_live_mask: three for each branch, two where one way only ends lanes; to pass an argument to the
    // join is an arm, too. Where lanes gather, one for each such place.
    uint32_t masks;
  } const expected[] = {{"masked_if_then", 3},          {"masked_if_not", 3},      {"masked_if_else", 3},
                        {"masked_nested", 9},           {"masked_loop", 3},        {"masked_in_loop", 3},
                        {"masked_exit_shared_join", 5}, {"masked_exit_value", 6},  {"masked_shared_arm", 4},
                        {"masked_skip_second", 9},      {"masked_shared_end", 12}, {"masked_three_deep", 11},
                        {"masked_two_in_turn", 9}};
  for (const auto& [name, masks] : expected) {
    ir::Module module = Collapsed(name);
    const ir::Function& f = Kernel(module);
    INFO(name << "\n" << ir::Print(module));
    CHECK(f.parked_slot != ~0u);
    CHECK(f.has_early_exit);
    CHECK(Count(f, ir::Opcode::kAgree) == 0);
    CHECK(Count(f, ir::Opcode::kSetLiveMask) == masks);
  }
}

TEST_CASE("kernels without such branches park no lane", "[passes][mask]") {
  for (const char* name : {"shuffle_reduce", "partial_exit_ballot", "straight", "tree_reduce"}) {
    ir::Module module = Collapsed(name);
    INFO(name << "\n" << ir::Print(module));
    CHECK(Kernel(module).parked_slot == ~0u);
    CHECK(Count(Kernel(module), ir::Opcode::kSetLiveMask) == 0);
  }
}

TEST_CASE("a mask that names lanes of the other arm faults", "[passes][mask]") {
  ir::Module module = Collapsed("fault_masked_other_arm");
  Outcome outcome = RunKernel(module, Kernel(module), 64, 0);
  REQUIRE_FALSE(outcome.status);
  CHECK(outcome.status.error().code == ErrorCode::kFault);
  CHECK(outcome.status.error().at.line == 11);
  CHECK(Contains(outcome.status.error().message, "tier T3"));
  // One lane alone waits for no other.
  CHECK(RunKernel(module, Kernel(module), 1, 0).status);
}

TEST_CASE("a divergent if becomes its arm under a mask", "[passes][mask]") {
  ir::Module module = ParseModule(R"(module "m" ptx 8.0 sm 80
kernel @k (data: i64 @0, n: i32 @8) phase simt {
^b0:
  %lane = special i32 laneid
  %five = const i32 0x5
  %p = icmp i32 ult %lane, %five
  cond_br %p, ^then, ^join ; ptx 9
^then:
  %m = activemask ; ptx 11
  br ^join
^join:
  %all = activemask ; ptx 13
  ret
}
)");
  Result<ir::Module> split = After(module, "mask-divergent-arms");
  if (!split) FAIL(split.error().Render());
  CHECK(Contains(ir::Print(*split), "{divergent} ; ptx 9"));
  CHECK_FALSE(Contains(ir::Print(*split), "agree"));
  Result<ir::Module> loops = After(module, "collapse");
  if (!loops) FAIL(loops.error().Render());
  CHECK(Contains(ir::Print(*loops), "{divergent} ; ptx 9"));
  CHECK(Kernel(*loops).parked_slot == ~0u);
  CHECK_FALSE(ir::IsFinished(Kernel(*loops)));
  Result<ir::Module> collapsed = After(module, "sequence-divergent-arms");
  if (!collapsed) FAIL(collapsed.error().Render());
  CHECK(ir::IsFinished(Kernel(*collapsed)));
  std::string text = ir::Print(*collapsed);
  INFO(text);
  size_t at = 0;
  for (const char* part : {"early_exit parked #", "live_mask", "ballot", "not i32", "and i32",
                           "slot_store i32", "icmp i32 ne", "cond_br"}) {
    at = text.find(part, at);
    REQUIRE(at != std::string::npos);
  }
  CHECK(Count(Kernel(*collapsed), ir::Opcode::kSetLiveMask) ==
        2);  // the lanes without an arm are there already
  // The arm's own loop reads masks, those around it do not.
  CHECK(Contains(text, "{uniform}"));
  Result<ir::Module> again = ir::Parse(text, "again.ir");
  if (!again) FAIL(again.error().Render());
  CHECK(ir::Print(*again) == text);
}

TEST_CASE("what sequencing leaves may not have open arms", "[passes][mask]") {
  Result<ir::Module> loops =
      After(ParseModule(ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/kernels/masked_if_then.ir")), "collapse");
  if (!loops) FAIL(loops.error().Render());
  REQUIRE(ir::HasOpenArms(Kernel(*loops)));
  CHECK(ir::Verify(*loops));
  ir::Function& f = Kernel(*loops);
  f.slots.push_back({ir::Type::kI32, ir::Level::kWarp});
  f.parked_slot = static_cast<uint32_t>(f.slots.size() - 1);
  const Status status = ir::Verify(*loops);
  REQUIRE_FALSE(status);
  CHECK(Contains(status.error().message, "sequenced"));
}

TEST_CASE("warps are not resumable before the last pass", "[passes]") {
  const ir::Module kernel = ParseModule(ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/kernels/exchange.ir"));
  Result<ir::Module> before = AfterTier(kernel, lowering::Tier::kResumable, "sequence-divergent-arms");
  if (!before) FAIL(before.error().Render());
  CHECK_FALSE(ir::HasOpenArms(Kernel(*before)));
  CHECK_FALSE(ir::IsFinished(Kernel(*before)));
  Result<ir::Module> after = AfterTier(kernel, lowering::Tier::kResumable, "make-warps-resumable");
  if (!after) FAIL(after.error().Render());
  CHECK(ir::IsFinished(Kernel(*after)));
}

TEST_CASE("lanes that an active mask names stay together, others in a loop that lanes leave out do not",
          "[passes][mask]") {
  const std::string text = ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/kernels/masked_own_group.ir");
  const auto tier = [](const std::string& kernel) {
    const auto after = AfterTier(ParseModule(kernel), lowering::Tier::kAuto);
    REQUIRE(after);
    return after->functions.back().resumes;
  };
  CHECK(tier(text) == ir::Resumes::kNever);
  // The lanes that were active before the loop: at the collective they may be in different trips.
  std::string before = text;
  const std::string named = "  %mask = activemask ; ptx 11\n";
  const size_t at = before.find(named);
  REQUIRE(at != std::string::npos);
  before.erase(at, named.size());
  const std::string start = "  cond_br %start, ^top(%zero, %v, %zero), ^join(%v)\n";
  REQUIRE(before.find(start) != std::string::npos);
  before.replace(
      before.find(start), start.size(),
      "  %mask = ballot %start, %full ; ptx 9\n  cond_br %start, ^top(%zero, %v, %zero), ^join(%v)\n");
  CHECK(tier(before) == ir::Resumes::kLanes);
}

namespace {

// Where `condition` of a thread (%tid, %lane, %five) holds, the lanes of `mask` add their numbers.
ir::Module SumOfArm(const std::string& condition, const std::string& mask, bool other_arm = false) {
  return ParseModule(R"(module "m" ptx 8.0 sm 80
kernel @k (data: i64 @0, n: i32 @8) phase simt {
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %tid = special i32 tid.x
  %lane = special i32 laneid
  %one = const i32 0x1
  %seven = const i32 0x7
  %eight = const i32 0x8
  %two = const i32 0x2
  %tid64 = zext i64 from i32 %tid
  %toff = shl i64 %tid64, %two
  %mine = add i64 %data, %toff
  %mask = const i32 )" +
                     mask + "\n" + condition + "\n  cond_br %p, " +
                     (other_arm ? "^join(%tid), ^arm" : "^arm, ^join(%tid)") + R"( ; ptx 9
^arm:
  %sum = redux i32 add %tid, %mask ; ptx 11
  br ^join(%sum)
^join(%r: i32):
  %full = const i32 0xffffffff
  %odd = and i32 %r, %one
  %is_odd = icmp i32 eq %odd, %one
  %all = ballot %is_odd, %full ; ptx 13
  %both = add i32 %r, %all
  store i32 global %mine, %both
  ret
}
)");
}

ir::Resumes TierIn(ir::Module& module, std::optional<analysis::LaunchShape> shape) {
  lowering::PipelineOptions options;
  options.passes.tier = lowering::Tier::kAuto;
  options.passes.launch = shape;
  const auto result = lowering::RunPipeline(module, options);
  if (!result) FAIL(result.error().Render());
  return module.functions.front().resumes;
}

}  // namespace

TEST_CASE("members that are numbers are lanes of an arm that the thread's place decides about",
          "[passes][mask]") {
  constexpr auto kNever = ir::Resumes::kNever, kLanes = ir::Resumes::kLanes;
  using Shape = std::optional<analysis::LaunchShape>;
  const std::string first = "  %p = icmp i32 ult %tid, %eight",
                    not_first = "  %p = icmp i32 ugt %tid, %seven";
  const std::string lanes = "  %p = icmp i32 ult %lane, %eight";
  const std::string residue = "  %low = and i32 %tid, %seven\n  %p = icmp i32 ult %low, %two";
  const std::string memory = "  %w = load i32 global %data\n  %p = icmp i32 ult %tid, %w";
  const Shape line = {{256, 1, 1}}, short_line = {{6, 1, 1}}, tile = {{16, 4, 1}}, odd_rows = {{12, 8, 1}},
              any = {};
  struct {
    const char* what;
    std::string condition, mask;
    bool other_arm;
    Shape shape;
    ir::Resumes tier;
  } const rows[] = {
      {"the arm's lanes", first, "0xff", false, line, kNever},
      {"some of them", first, "0x3f", false, line, kNever},
      {"a lane more", first, "0x1ff", false, line, kLanes},
      {"all lanes of a block without that lane", first, "0x1ff", false, short_line, kNever},
      {"the other arm's lanes", first, "0xffffff00", true, line, kNever},
      {"a negated condition", not_first, "0xff", true, line, kNever},
      {"blocks of any shape: other threads", first, "0xff", false, any, kLanes},
      {"places in the warp in blocks of any shape", lanes, "0xff", false, any, kNever},
      {"a lane more of these", lanes, "0x1ff", false, any, kLanes},
      {"rows that fill warps", first, "0x00ff00ff", false, tile, kNever},
      {"rows that begin elsewhere in each warp", first, "0xff", false, odd_rows, kLanes},
      {"every fourth pair", residue, "0x03030303", false, line, kNever},
      {"a lane between these", residue, "0x07030303", false, line, kLanes},
      {"a bound from memory", memory, "0xff", false, line, kLanes},
  };
  for (const auto& row : rows) {
    INFO(row.what);
    ir::Module module = SumOfArm(row.condition, row.mask, row.other_arm);
    const ir::Module before = module;
    const ir::Resumes tier = TierIn(module, row.shape);
    CHECK(tier == row.tier);
    if (row.tier != kNever || !row.shape) continue;
    const std::array<uint32_t, 3> block{row.shape->x, row.shape->y, row.shape->z};
    const Outcome expected = RunKernel(before, before.functions.front(), block, 0);
    const Outcome actual = RunKernel(module, module.functions.front(), block, 0);
    // Lanes of the arm that the mask does not name have no result to compare.
    if (!expected.status) continue;
    if (!actual.status) FAIL(actual.status.error().Render());
    CHECK(actual.data == expected.data);
  }
}
