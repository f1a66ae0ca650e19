#include "tests/litmus/litmus.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "lowering/compile.h"
#include "tools/harness/compiled_call.h"

namespace ptx2cpu::litmus {

namespace {

constexpr uint32_t kStride = 64;  // bytes between the words of two times: a cache line each
constexpr size_t kX = 0, kY = 1, kResults = 2, kShared = 3;  // arguments

std::string Replace(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

rt::Argument Buffer(size_t bytes) {
  return {rt::ArgumentRole::kInOut, rt::FindScalarType("u32"), std::vector<std::byte>(bytes)};
}
rt::Argument Word(uint32_t value) {
  rt::Argument argument{rt::ArgumentRole::kScalar, rt::FindScalarType("u32"),
                        std::vector<std::byte>(sizeof value)};
  std::memcpy(argument.data.data(), &value, sizeof value);
  return argument;
}

// `role`: of the first block or warp.
harness::KernelCall MakeCall(const Litmus& litmus, const Plan& plan, uint32_t role) {
  const auto roles = static_cast<uint32_t>(litmus.roles.size());
  harness::KernelCall call;
  call.grid = {plan.scope == Scope::kGpu ? roles : 1, 1, 1};
  call.block = {plan.scope == Scope::kCta ? 32 * roles : 32, 1, 1};
  call.cooperative = true;
  call.arguments = {Buffer(size_t{plan.times} * kStride),
                    Buffer(size_t{plan.times} * kStride),
                    Buffer(size_t{plan.times} * sizeof(Outcome)),
                    Buffer(kSharedWords * sizeof(uint32_t)),
                    Word(plan.times),
                    Word(plan.batch),
                    Word(role)};
  return call;
}

uint32_t* Words(harness::KernelCall& call, size_t argument) {
  return reinterpret_cast<uint32_t*>(call.arguments[argument].data.data());
}

Tally Count(const Litmus& litmus, harness::KernelCall& call, uint32_t times) {
  Tally tally;
  const uint32_t* words = Words(call, kResults);
  for (uint32_t i = 0; i < times; ++i) {
    Outcome outcome;
    std::copy_n(words + i * outcome.size(), outcome.size(), outcome.begin());
    ++tally.seen[outcome];
    tally.forbidden += litmus.forbidden(outcome);
  }
  std::copy_n(Words(call, kShared), tally.shared.size(), tally.shared.begin());
  return tally;
}

Result<std::shared_ptr<const ir::Module>> Build(const Litmus& litmus, const Plan& plan) {
  const auto ptx = TRY(lowering::PtxModule::Parse(KernelText(litmus, plan.scope), litmus.name));
  lowering::BuildOptions options;
  options.pipeline.passes.tier = plan.tier;
  return std::make_shared<const ir::Module>(TRY(ptx.Build("litmus", options)));
}

constexpr const char* kBegin = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry litmus(.param .u64 px, .param .u64 py, .param .u64 presults, .param .u64 pshared,
                       .param .u32 ptimes, .param .u32 pbatch, .param .u32 prole)
{
  .reg .pred %p, %q; .reg .b32 %r<4>; .reg .b32 %i, %times, %batch, %role, %goal, %roles, %t, %u;
  .reg .b64 %x, %y, %results, %lock, %total, %sum, %meeting;
  mov.u32 %t, %tid.x;
  and.b32 %u, %t, 31;
  setp.ne.u32 %p, %u, 0;
  @%p bra DONE;
  ld.param.u32 %role, [prole];
)";

constexpr const char* kMiddle = R"(
  add.u32 %role, %role, %t;
  ld.param.u64 %x, [px];
  ld.param.u64 %y, [py];
  ld.param.u64 %results, [presults];
  ld.param.u64 %meeting, [pshared];
  add.u64 %lock, %meeting, 64;
  add.u64 %total, %meeting, 128;
  add.u64 %sum, %meeting, 192;
  ld.param.u32 %times, [ptimes];
  ld.param.u32 %batch, [pbatch];
  mov.u32 %i, 0;
  mov.u32 %goal, 0;
AGAIN:
  setp.ge.u32 %p, %i, %times;
  @%p bra DONE;
  rem.u32 %t, %i, %batch;
  setp.ne.u32 %p, %t, 0;
  @%p bra GO;
  add.u32 %goal, %goal, %roles;
  red.relaxed.sys.global.add.u32 [%meeting], 1;
WAIT:
  ld.relaxed.sys.global.u32 %t, [%meeting];
  setp.lt.u32 %p, %t, %goal;
  @%p bra WAIT;
GO:
)";

constexpr const char* kEnd = R"(
NEXT:
  add.u64 %x, %x, 64;
  add.u64 %y, %y, 64;
  add.u64 %results, %results, 16;
  add.u32 %i, %i, 1;
  bra AGAIN;
DONE:
  ret;
}
)";

}  // namespace

std::string KernelText(const Litmus& litmus, Scope scope) {
  static constexpr const char* kScopes[] = {"cta", "gpu", "sys"};
  static constexpr const char* kMembars[] = {"cta", "gl", "sys"};
  std::string text = kBegin;
  text += scope == Scope::kCta ? "  shr.u32 %t, %t, 5;" : "  mov.u32 %t, %ctaid.x;";
  text += kMiddle;
  text = Replace(text, "%goal, %roles;", fmt::format("%goal, {};", litmus.roles.size()));
  for (size_t role = 0; role < litmus.roles.size(); ++role) {
    text += fmt::format("  setp.eq.u32 %p, %role, {};\n  @%p bra ROLE{};\n", role, role);
  }
  text += "  trap;\n";
  for (size_t role = 0; role < litmus.roles.size(); ++role) {
    std::string ptx = Replace(litmus.roles[role].ptx, "$S", kScopes[static_cast<int>(scope)]);
    ptx =
        Replace(Replace(std::move(ptx), "$M", kMembars[static_cast<int>(scope)]), "$R", std::to_string(role));
    text += fmt::format("ROLE{}:\n  {}\n", role, ptx);
    for (const int r : litmus.roles[role].writes)
      text += fmt::format("  st.global.u32 [%results+{}], %r{};\n", 4 * r, r);
    text += "  bra NEXT;\n";
  }
  return text + kEnd;
}

Result<Tally> RunJit(const Litmus& litmus, const Plan& plan) {
  auto compiled = TRY(harness::CompiledCall::Make(TRY(Build(litmus, plan))));
  auto call = MakeCall(litmus, plan, 0);
  TRY_STATUS(compiled.Run(call, plan.workers));
  return Count(litmus, call, plan.times);
}

Result<Tally> RunInterpreter(const Litmus& litmus, const Plan& plan) {
  const auto module = TRY(Build(litmus, plan));
  auto call = MakeCall(litmus, plan, 0);
  TRY_STATUS(harness::RunInterpreter(*module, call, {.slice = 7}));
  return Count(litmus, call, plan.times);
}

Result<Tally> RunWithHost(const Litmus& litmus, const Plan& plan, uint32_t role, const HostRole& host) {
  auto compiled = TRY(harness::CompiledCall::Make(TRY(Build(litmus, plan))));
  auto call = MakeCall(litmus, plan, role);
  uint32_t *x = Words(call, kX), *y = Words(call, kY), *results = Words(call, kResults);
  const std::atomic_ref<uint32_t> meeting(Words(call, kShared)[kMeeting]);
  std::atomic<bool> over = false;  // the kernel has ended, perhaps too early
  Status status;
  std::thread device([&] {
    status = compiled.Run(call, 1);
    over.store(true);
  });
  uint32_t goal = 0;
  for (uint32_t i = 0; i < plan.times; ++i) {
    if (i % plan.batch == 0) {
      goal += 2;
      meeting.fetch_add(1, std::memory_order_relaxed);
      while (meeting.load(std::memory_order_relaxed) < goal && !over.load()) std::this_thread::yield();
    }
    const size_t at = size_t{i} * (kStride / sizeof(uint32_t));
    Outcome outcome{};
    host(std::atomic_ref(x[at]), std::atomic_ref(y[at]), outcome);
    for (const int r : litmus.roles[1 - role].writes)
      results[i * outcome.size() + static_cast<size_t>(r)] = outcome[static_cast<size_t>(r)];
  }
  device.join();
  TRY_STATUS(status);
  return Count(litmus, call, plan.times);
}

std::string Tally::Text() const {
  std::string text;
  for (const auto& [outcome, times] : seen)
    text += fmt::format("{} {} {} {}: {} times\n", outcome[0], outcome[1], outcome[2], outcome[3], times);
  return text;
}

uint32_t Times(uint32_t by_default) {
  return std::getenv("PTX2CPU_FULL_TESTS") != nullptr ? by_default * 40 : by_default;
}

}  // namespace ptx2cpu::litmus
