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
