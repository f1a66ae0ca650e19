#include "tools/ptx2cpu/profile/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <vector>

#include "runtime/engine/cache/kernel_cache.h"
#include "runtime/engine/machine_identity.h"
#include "runtime/engine/ptx2cpu.h"
#include "runtime/worker/processors.h"

namespace ptx2cpu::tool::profile {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kUndisturbed = 0.75;  // of the processors' time
constexpr uint32_t kThreads = 256, kRounds = 2048, kChains = 16;
constexpr size_t kCopied = size_t{64} << 20;  // bytes; more than a processor's caches

constexpr std::string_view kCopy = R"(.visible .entry copy(.param .u64 to, .param .u64 from) {
  .reg .b32 %r<5>; .reg .b64 %rd<6>; .reg .f32 %f<5>;
  ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [from];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd5];
  st.global.f32 [%rd4], %f1;
  ret;
}
)";

// Each thread has independent chains, so that what is measured is how many there are at once.
std::string MultiplyAdds() {
  std::string text = R"(.visible .entry multiply_adds(.param .u64 to, .param .f32 a, .param .f32 b) {
  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<4>; .reg .f32 %a, %b, %s, %c<)" +
                     std::to_string(kChains) + R"(>;
  ld.param.u64 %rd1, [to]; ld.param.f32 %a, [a]; ld.param.f32 %b, [b];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  mul.wide.u32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2;
  cvt.rn.f32.u32 %s, %r4;
)";
  for (uint32_t n = 0; n < kChains; ++n)
    text += fmt::format("  add.f32 %c{}, %s, 0f{:08x};\n", n, 0x3f800000 + n);
  text += "  mov.u32 %r5, 0;\nloop:\n";
  for (uint32_t n = 0; n < kChains; ++n) text += fmt::format("  fma.rn.f32 %c{0}, %c{0}, %a, %b;\n", n);
  text += fmt::format("  add.u32 %r5, %r5, 1;\n  setp.lt.u32 %p, %r5, {};\n  @%p bra loop;\n", kRounds);
  for (uint32_t n = 1; n < kChains; ++n) text += fmt::format("  add.f32 %c0, %c0, %c{};\n", n);
  return text + "  st.global.f32 [%rd3], %c0;\n  ret;\n}\n";
}

// The least of some runs, in seconds; the first one is not measured: pages and caches are cold.
template <typename Run>
Result<double> Least(const Run& run) {
  constexpr int kRuns = 7;
  double least = 1e9;
  for (int n = 0; n <= kRuns; ++n) {
    const auto start = Clock::now();
    TRY_STATUS(run());
    if (n != 0) least = std::min(least, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return least;
}

Result<Roofline> Measure() {
  Roofline measured;
  measured.workers = rt::UsableProcessors();
  LoadOptions options;
  const Program program = TRY(Program::FromPtx(
      ".version 7.0\n.target sm_70\n.address_size 64\n" + std::string(kCopy) + MultiplyAdds(), "roofline",
      options));
  const Kernel copy = TRY(program.Get("copy")), chains = TRY(program.Get("multiply_adds"));
  std::vector<float> from(kCopied / sizeof(float), 1), to(from.size());
  const Shape all = {.grid = {static_cast<uint32_t>(from.size() / kThreads)}, .block = {kThreads}};
  const auto start = Clock::now();
  const std::clock_t used = std::clock();
  const double copied = TRY(Least([&] { return copy.Launch(all, to.data(), from.data()); }));
  measured.bytes = 2 * static_cast<double>(kCopied) / copied;
  const uint32_t blocks = 16 * measured.workers;
  const double computed = TRY(
      Least([&] { return chains.Launch({.grid = {blocks}, .block = {kThreads}}, to.data(), 0.5f, 0.25f); }));
  measured.operations = 2.0 * kChains * kRounds * kThreads * blocks / computed;
  const double wall = std::chrono::duration<double>(Clock::now() - start).count();
  const double busy = static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC;
  measured.disturbed = busy < kUndisturbed * wall * measured.workers;
  return measured;
}

}  // namespace

Result<Roofline> MeasureRoofline() {
  rt::KernelCache* const cache = rt::KernelCache::Get();
  const rt::Digest key = rt::ContentHash()
                             .Add("roofline 2")
                             .Add(rt::MachineIdentity())
                             .Add(uint64_t{rt::UsableProcessors()})
                             .Finish();
  if (const auto kept = cache == nullptr ? std::nullopt : cache->Find(key)) {
    Roofline known;
    known.from_cache = true;
    if (std::sscanf(kept->c_str(), "%lf %lf %u", &known.bytes, &known.operations, &known.workers) == 3)
      return known;
  }
  const Roofline measured = TRY(Measure());
  if (cache != nullptr && !measured.disturbed)
    cache->Keep(key, fmt::format("{} {} {}", measured.bytes, measured.operations, measured.workers));
  return measured;
}

}  // namespace ptx2cpu::tool::profile
