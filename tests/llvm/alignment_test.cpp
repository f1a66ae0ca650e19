// What is known of addresses' low bits, and misaligned accesses in every form of code.
#include <catch2/catch.hpp>

#include "analysis/lanes/block_order.h"
#include "analysis/lanes/residues.h"
#include "ir/function.h"
#include "ir/text/text.h"
#include "lowering/compile.h"
#include "lowering/llvm/module/kernel_layout.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;
using analysis::Residue;
using lowering::AlignmentChecks;

namespace {

// k(p, q, n): %p, %q and %n, %i is the thread; %t an address of aligned shared memory.
std::string KernelText(const std::string& body, const std::string& end = "") {
  return kHead + R"(
.visible .entry k(.param .u64 pp, .param .u64 pq, .param .u32 pn)
{
  .reg .pred %c<4>; .reg .b32 %i, %n, %a<8>; .reg .f32 %f<4>; .reg .b64 %p, %q, %t, %d<8>;
  .shared .align 16 .b8 tile[4096];
  .local .align 8 .b8 frame[64];
  ld.param.u64 %p, [pp];
  ld.param.u64 %q, [pq];
  ld.param.u32 %n, [pn];
  mov.u32 %i, %tid.x;
  mov.u64 %t, tile;
)" + body +
         "\n" + end + "  ret;\n}\n";
}

// -- residues --

struct Stored {
  ir::Module module;
  lowering::KernelLayout layout;
  ir::ValueId address;  // of the first store to global memory
};

Stored AddressOf(const std::string& body) {
  Stored stored{BuildKernel(KernelText(body), "k"), {}, {}};
  auto layout = lowering::LayoutOf(stored.module, *stored.module.FindFunction("k"));
  if (!layout) FAIL(layout.error().Render());
  stored.layout = *std::move(layout);
  for (const ir::Inst& inst : stored.module.FindFunction("k")->insts) {
    if (inst.op != ir::Opcode::kStore || !inst.block.valid() || stored.address.valid()) continue;
    if (inst.attrs.space == ir::Space::kGlobal || inst.attrs.space == ir::Space::kShared)
      stored.address = inst.operands[0];
  }
  REQUIRE(stored.address.valid());
  return stored;
}

Residue ResidueOf(const std::string& body, uint64_t align) {
  const Stored stored = AddressOf(body);
  const ir::Function& k = *stored.module.FindFunction("k");
  return analysis::Residues(stored.module, k, stored.layout.shared_offset, k.param_bytes)
      .Of(stored.address, align);
}

TEST_CASE("an address is congruent to a parameter, to a number, or to itself", "[alignment]") {
  const std::string index = "  mul.wide.u32 %d0, %i, 4; add.s64 %d1, %p, %d0;\n";
  const auto parameter = [](const Residue& residue, uint64_t place, uint64_t offset) {
    return residue.root == Residue::Root::kParameter && residue.place == place && residue.offset == offset;
  };
  CHECK(parameter(ResidueOf(index + "  st.global.u32 [%d1], %i;", 4), 0, 0));
  CHECK(parameter(ResidueOf(index + "  st.global.u32 [%d1+6], %i;", 4), 0, 2));
  CHECK(ResidueOf(index + "  st.global.u32 [%d1], %i;", 8).root == Residue::Root::kValue);
  CHECK(parameter(
      ResidueOf(
          "  shl.b32 %a0, %i, 2; mul.wide.u32 %d0, %a0, 4; add.s64 %d1, %q, %d0; st.global.u32 [%d1], %i;",
          16),
      8, 0));
  CHECK(parameter(
      ResidueOf("  and.b32 %a0, %n, -4; cvt.u64.u32 %d0, %a0; add.s64 %d1, %d0, %p; st.global.u32 [%d1], %i;",
                4),
      0, 0));
  CHECK(ResidueOf("  cvt.u64.u32 %d0, %n; add.s64 %d1, %d0, %p; st.global.u32 [%d1], %i;", 4).root ==
        Residue::Root::kValue);
  CHECK(ResidueOf("  ld.global.u64 %d1, [%p]; st.global.u32 [%d1], %i;", 4).root == Residue::Root::kValue);
  CHECK(ResidueOf("  and.b64 %d1, %p, -16; st.global.u32 [%d1+32], %i;", 16).IsZero());
  CHECK(ResidueOf("  mul.wide.u32 %d0, %n, 16; add.s64 %d1, %t, %d0; st.shared.u32 [%d1], %i;", 16).IsZero());
  const Residue odd =
      ResidueOf("  mul.wide.u32 %d0, %n, 16; add.s64 %d1, %t, %d0; st.shared.u32 [%d1+20], %i;", 16);
  CHECK((odd.root == Residue::Root::kNone && odd.offset == 4));
}

TEST_CASE("pointers that loops move keep the residue of where they began", "[alignment]") {
  const std::string loop = R"(
  mov.u64 %d1, %p; mov.u32 %a0, 0;
AGAIN:
  st.global.u32 [%d1], %a0;
  bar.sync 0;
  add.s64 %d1, %d1, STEP;
  add.u32 %a0, %a0, 1; setp.lt.u32 %c0, %a0, %n; @%c0 bra AGAIN;
)";
  const auto with = [&](const std::string& step) {
    return std::string(loop).replace(loop.find("STEP"), 4, step);
  };
  CHECK(ResidueOf(with("16"), 4).root == Residue::Root::kParameter);
  CHECK(ResidueOf(with("16"), 16).root == Residue::Root::kParameter);
  CHECK(ResidueOf(with("6"), 4).root == Residue::Root::kValue);
  CHECK(ResidueOf(with("6"), 2).root == Residue::Root::kParameter);
}

TEST_CASE("the earliest block that leads to another", "[alignment]") {
  auto module = ir::Parse(R"(module "t" ptx 8.0 sm 80 static_shared 0
kernel @k (n: i32 @0) phase simt entry ^b0 {
^b0:
  %0 = special i32 tid.x
  %1 = const i32 0x5
  %2 = icmp i32 ult %0, %1
  br ^b1
^b1:
  cond_br %2, ^b2, ^b5
^b2:
  br ^b3
^b3:
  cond_br %2, ^b3, ^b4
^b4:
  br ^b5
^b5:
  exit
}
)",
                          "t");
  if (!module) FAIL(module.error().Render());
  const analysis::BlockOrder order(module->functions[0], {0});
  const auto earliest = [&](uint32_t block) { return order.EarliestEquivalent({block}).index; };
  CHECK(earliest(5) == 0);
  CHECK(earliest(4) == 2);
  CHECK(earliest(3) == 2);
  CHECK(earliest(2) == 2);
  CHECK(order.Dominates({1}, {4}));
  CHECK_FALSE(order.Dominates({2}, {5}));
}

// -- faults --

// Runs k on a block of 64 threads with pointers into two buffers, `p_offset` bytes after the first one's
// begin.
Status RunAt(JitKernel& kernel, uint64_t p_offset, uint32_t n = 40) {
  alignas(64) static uint64_t first[512], second[512];
  for (uint64_t i = 0; i < 512; ++i)
    first[i] = second[i] = reinterpret_cast<uint64_t>(second) + 8 * i + (i == 35 ? 2 : 0);
  struct {
    uint64_t p, q;
    uint32_t n;
  } params{reinterpret_cast<uint64_t>(first) + p_offset, reinterpret_cast<uint64_t>(second), n};
  auto error = rt::Launch(*kernel.kernel().kernel, {{1, 1, 1}, {64, 1, 1}, 0},
                          std::as_bytes(std::span(&params, 1)).first(20), {.max_workers = 1});
  if (!error) return {};
  Error failure{ErrorCode::kFault, error->message};
  failure.at.line = error->ptx_line;
  return Fail(std::move(failure));
}

std::shared_ptr<JitKernel> Load(const std::string& text, AlignmentChecks checks, uint32_t lane_width,
                                int optimisation, lowering::Tier tier = lowering::Tier::kAuto) {
  auto parsed = lowering::PtxModule::Parse(text, "t.ptx");
  if (!parsed) FAIL(parsed.error().Render());
  lowering::BuildOptions build;
  build.pipeline.passes.tier = tier;
  auto module = parsed->Build("k", build);
  if (!module) FAIL(module.error().Render());
  auto jit = JitKernel::Create(*std::move(module),
                               {.optimisation = optimisation, .lane_width = lane_width, .alignment = checks});
  if (!jit) FAIL(jit.error().Render());
  return *jit;
}

uint32_t LineOf(const std::string& text, const std::string& part) {
  return static_cast<uint32_t>(
      1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(text.find(part)), '\n'));
}

const std::string kShuffle = "  shfl.sync.bfly.b32 %a7, %i, 1, 31, -1;\n";  // lanes of a warp, for vectors
const std::string kWait =
    "  setp.lt.u32 %c3, %i, 32;\n  @%c3 bra SKIP;\n  bar.sync 1, 32;\nSKIP:\n";  // resumable

// The access that is wrong when p is 2 bytes off, or always.
const std::string kAccesses[] = {
    "  mul.wide.u32 %d0, %i, 4; add.s64 %d0, %d0, %p;\n  st.global.u32 [%d0], %i;",
    "  mul.wide.u32 %d0, %i, 4; add.s64 %d0, %d0, %p; setp.lt.u32 %c0, %i, %n;\n  @%c0 ld.u32 %a0, [%d0];\n  "
    "st.global.u32 [%q], %a0;",
    "  ld.global.u64 %d0, [%p+4]; st.global.u64 [%q], %d0;",
    "  mul.wide.u32 %d0, %i, 16; add.s64 %d0, %d0, %q;\n  st.global.v4.u32 [%d0+8], {%i, %i, %n, %n};",
    "  mul.wide.u32 %d0, %i, 8; add.s64 %d0, %d0, %q;\n  st.global.v2.u64 [%d0], {%d0, %d0};",
    "  mul.wide.u32 %d0, %i, 8; add.s64 %d0, %d0, %q; ld.global.u64 %d1, [%d0];\n  st.global.u32 [%d1], %i;",
    "  mul.wide.u32 %d0, %i, 2; add.s64 %d0, %d0, %t;\n  st.shared.u32 [%d0], %i;",
    "  mul.wide.u32 %d0, %i, 4; add.s64 %d0, %d0, %t;\n  st.shared.u32 [%d0+2], %i;",
    "  mov.u64 %d0, frame; and.b32 %a1, %i, 7; cvt.u64.u32 %d1, %a1; add.s64 %d0, %d0, %d1;\n  st.local.u32 "
    "[%d0], %i;\n  ld.local.u16 %a2, [%d0]; cvt.u64.u32 %d2, %a2; st.global.u8 [%q+80], %a2;",
    "  mul.wide.u32 %d0, %i, 4; add.s64 %d0, %d0, %p;\n  atom.global.add.u32 %a0, [%d0], 1;",
    "  mul.wide.u32 %d0, %i, 4; add.s64 %d0, %d0, %p;\n  red.shared.add.u32 [%t+2], 1;",
    "  mul.wide.u32 %d0, %i, 4; add.s64 %d1, %d0, %t; add.s64 %d0, %d0, %p;\n  cp.async.ca.shared.global "
    "[%d1], [%d0], 4; cp.async.wait_all;",
    "  mov.u32 %a0, 0;\nLOOP:\n  add.u32 %a1, %i, %a0; mul.wide.u32 %d0, %a1, 4; add.s64 %d0, %d0, %p;\n  "
    "ld.global.f32 %f0, [%d0]; add.u32 %a0, %a0, 1; setp.lt.u32 %c1, %a0, %n; @%c1 bra LOOP; st.global.f32 "
    "[%q], %f0;",
};

struct Form {
  const char* name;
  std::string before;
  uint32_t lane_width;
  int optimisation;
  AlignmentChecks checks;
  lowering::Tier tier = lowering::Tier::kAuto;
};
const Form kForms[] = {
    {"flat", "", 0, 3, AlignmentChecks::kNoted},
    {"flat at -O0", "", 0, 0, AlignmentChecks::kNoted},
    {"flat, at the access", "", 0, 3, AlignmentChecks::kAtAccess},
    {"warp, loops", kShuffle, 1, 3, AlignmentChecks::kNoted},
    {"warp, vectors", kShuffle, 32, 3, AlignmentChecks::kNoted},
    {"warp, at the access", kShuffle, 0, 3, AlignmentChecks::kAtAccess},
    {"resumable, vectors", kWait, 32, 3, AlignmentChecks::kNoted},
    {"resumable, loops", kWait, 1, 3, AlignmentChecks::kNoted},
    {"lanes", kShuffle, 0, 3, AlignmentChecks::kNone, lowering::Tier::kLanes},
};

TEST_CASE("misaligned accesses are faults with their line, in every form of code", "[alignment][long]") {
  for (const Form& form : kForms) {
    for (const std::string& access : kAccesses) {
      const std::string text = KernelText(form.before + access);
      INFO(form.name << "\n" << text);
      const auto kernel = Load(text, form.checks, form.lane_width, form.optimisation, form.tier);
      const Status status = RunAt(*kernel, 2);
      REQUIRE_FALSE(status.has_value());
      CHECK_THAT(status.error().message, Catch::Contains("misaligned"));
      const bool in_loop = access.find("LOOP:") != std::string::npos,
                 in_first = access.find('\n') == std::string::npos;
      const uint32_t access_line = LineOf(text, access) + (in_loop ? 3 : in_first ? 0 : 1);
      CHECK(status.error().at.line == access_line);
      const bool names_thread = status.error().message.find("thread") != std::string::npos;
      if (form.checks == AlignmentChecks::kAtAccess || form.tier == lowering::Tier::kLanes)
        CHECK(names_thread);
    }
  }
}

// What is after a condition that does not hold, or after the thread's end, faults no thread.
const std::string kUnreached[] = {
    "  and.b64 %d0, %p, 3; setp.ne.s64 %c0, %d0, 0; @%c0 bra OUT; mul.wide.u32 %d0, %i, 4; add.s64 %d0, %d0, "
    "%p; st.global.u32 [%d0], %i;\nOUT:\n",
    "  mul.wide.u32 %d0, %i, 4; add.s64 %d0, %d0, %p; setp.gt.u32 %c0, %i, 1000; @%c0 st.global.u32 [%d0], "
    "%i;",
    "  setp.lt.u32 %c0, %i, 1000; @%c0 exit; ld.global.u64 %d1, [%p+4]; st.global.u64 [%p], %d1;",
    "  mul.wide.u32 %d0, %i, 8; add.s64 %d0, %d0, %q; ld.global.u64 %d1, [%d0]; setp.eq.u32 %c0, %i, 35; "
    "@!%c0 st.global.u32 [%d1], %i;",
    "  mov.u32 %a0, 1000;\nLOOP:\n  setp.ge.u32 %c1, %a0, %n; @%c1 bra OUT; ld.global.u32 %a1, [%p]; add.u32 "
    "%a0, %a0, %a1; bra LOOP;\nOUT:\n",
};

TEST_CASE("accesses that no thread reaches are no faults, however misaligned they would be", "[alignment]") {
  test::Sample sample(5);
  for (const Form& form : kForms) {
    for (const std::string& access : kUnreached) {
      if (sample.Skips()) continue;
      const std::string text = KernelText(form.before + access);
      INFO(form.name << "\n" << text);
      const auto kernel = Load(text, form.checks, form.lane_width, form.optimisation, form.tier);
      CHECK(RunAt(*kernel, 2).has_value());
    }
    for (const std::string& access : {kAccesses[0], kAccesses[1], kAccesses[12]}) {
      INFO(form.name << "\n" << access);
      if (sample.Skips()) continue;
      CHECK(RunAt(*Load(KernelText(form.before + access), form.checks, form.lane_width, form.optimisation,
                        form.tier),
                  4)
                .has_value());
    }
  }
}

TEST_CASE("notes leave loops over threads vectors", "[alignment]") {
  auto target = lowering::ResolveTarget("x86-64-v3");
  REQUIRE(target);
  const auto text = [&](AlignmentChecks checks) {
    const BuiltKernel module = BuildKernel(kVecAdd, "vecadd");
    auto jit = lowering::Jit::Create({.entry_points = EntryPoints(), .target = *target, .alignment = checks});
    if (!jit) FAIL(jit.error().Render());
    auto code = (*jit)->Explain(module, "vecadd", lowering::Jit::Stage::kOptimized);
    if (!code) FAIL(code.error().Render());
    return *code;
  };
  const auto is_vector = [](const std::string& code) {
    return code.find("fadd <16 x float>") != std::string::npos;
  };
  const auto looks = [](const std::string& code) { return code.find("@ptx2cpu_fault") != std::string::npos; };
  for (const AlignmentChecks checks :
       {AlignmentChecks::kNone, AlignmentChecks::kAssumed, AlignmentChecks::kNoted}) {
    const std::string code = text(checks);
    INFO(code);
    CHECK(is_vector(code));
    CHECK(looks(code) == (checks == AlignmentChecks::kNoted));
  }
}

TEST_CASE("code that assumes aligned parameters lists them", "[alignment]") {
  const auto kernel =
      Load(kVecAdd.substr(0, kVecAdd.find("vecadd")) + "k" + kVecAdd.substr(kVecAdd.find("vecadd") + 6),
           AlignmentChecks::kAssumed, 0, 3);
  const ptx2cpu_kernel& descriptor = *kernel->kernel().kernel;
  std::vector<uint32_t> offsets;
  for (const ptx2cpu_alignment& alignment : std::span(descriptor.alignments, descriptor.alignment_count)) {
    offsets.push_back(alignment.offset);
    CHECK(alignment.mask == 3);
    CHECK(alignment.addend == 0);
  }
  CHECK(offsets == std::vector<uint32_t>{0, 8, 16});
}

}  // namespace
