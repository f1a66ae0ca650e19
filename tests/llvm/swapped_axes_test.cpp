// Kernels whose threads walk memory along y run with x and y exchanged: which ones do, and that results and
// the names of faulting threads are those of the program's launch.
#include "runtime/abi/swapped_axes.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>

#include "ir/function.h"
#include "runtime/launch/later_code.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kWidth = 8, kHeight = 12;
const std::string kRequired = ".reqntid 8, 12\n";
// %i: a place that is side by side along y; %j: along x.
const std::string kAlongY = "mad.lo.s32 %i, %x, %n, %y;\n  mov.u32 %j, %i;";
const std::string kAlongX = "mad.lo.s32 %i, %y, %n, %x;\n  mov.u32 %j, %i;";
const std::string kReadsAlongX = "mad.lo.s32 %i, %x, %n, %y;\n  mad.lo.s32 %j, %y, %n, %x;";
const std::string kReadsAlongY = "mad.lo.s32 %i, %y, %n, %x;\n  mad.lo.s32 %j, %x, %n, %y;";

// Threads at x, y below n: out[i] = 3 * in[j] + x + 1000 * y + 100000 * z + `value` + the launch's extents.
std::string Kernel(const std::string& required, const std::string& places, const std::string& value = "") {
  return kHead + ".visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)\n" + required + R"({
  .reg .pred %p<8>; .reg .b32 %x, %y, %z, %n, %v, %i, %j, %a<8>; .reg .b64 %in, %out, %at, %b<4>;
  .shared .align 4 .b8 tile[512];
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %a0, %ctaid.x;
  mov.u32 %a1, %ntid.x;
  mov.u32 %a2, %tid.x;
  mad.lo.s32 %x, %a0, %a1, %a2;
  mov.u32 %a3, %ctaid.y;
  mov.u32 %a4, %ntid.y;
  mov.u32 %a5, %tid.y;
  mad.lo.s32 %y, %a3, %a4, %a5;
  mov.u32 %z, %ctaid.z;
  setp.ge.s32 %p0, %x, %n;
  setp.ge.or.s32 %p0, %y, %n, %p0;
  @%p0 bra DONE;
  )" + places +
         R"(
  mul.lo.u32 %a6, %n, %n;
  mad.lo.u32 %i, %z, %a6, %i;
  mad.lo.u32 %j, %z, %a6, %j;
  mul.wide.s32 %at, %i, 4;
  add.s64 %out, %out, %at;
  mul.wide.s32 %at, %j, 4;
  add.s64 %in, %in, %at;
  ld.global.u32 %v, [%in];
  mad.lo.u32 %v, %v, 3, %x;
  mad.lo.u32 %v, %y, 1000, %v;
  mad.lo.u32 %v, %z, 100000, %v;
  mov.u32 %a7, 0;
  )" + value +
         R"(
  add.u32 %v, %v, %a7;
  mov.u32 %a6, %nctaid.x;
  mad.lo.u32 %v, %a6, 1000000, %v;
  mov.u32 %a6, %nctaid.y;
  mad.lo.u32 %v, %a6, 17000000, %v;
  mad.lo.u32 %v, %a1, 7, %v;
  st.global.u32 [%out], %v;
DONE:
  ret;
}
)";
}

bool Swaps(const SharedKernel& kernel) {
  return (kernel->kernel().kernel->flags & PTX2CPU_KERNEL_SWAPS_AXES) != 0;
}

harness::KernelCall CallOf(const Dim3& grid, uint32_t n) {
  harness::KernelCall call{grid, {kWidth, kHeight, 1}, 0, {}, {}, {}};
  for (uint32_t array = 0; array < 2; ++array) {
    call.arguments.push_back(MixedWords(n * n * grid.z, 1 + array));
  }
  call.arguments.push_back(*rt::ParseSpec("u32:" + std::to_string(n)));
  return call;
}

std::vector<std::byte> Run(const SharedKernel& kernel, const Dim3& grid, uint32_t n, unsigned workers = 1) {
  harness::KernelCall call = CallOf(grid, n);
  RunOrFail(*kernel, call, workers);
  return {call.arguments[1].data.begin(), call.arguments[1].data.end()};
}

}  // namespace

TEST_CASE("kernels that walk along y have their axes exchanged", "[axes]") {
  CHECK(Swaps(CompileText(Kernel(kRequired, kAlongY))));
  CHECK(
      Swaps(CompileText(Kernel(kRequired, kReadsAlongX))));  // scattered stores cost more than gathered loads
  CHECK_FALSE(Swaps(CompileText(Kernel(kRequired, kReadsAlongY))));
  CHECK_FALSE(Swaps(CompileText(Kernel(kRequired, kAlongX))));
  CHECK_FALSE(Swaps(CompileText(Kernel("", kAlongY))));  // of any shape
  CHECK_FALSE(Swaps(CompileText(Kernel(".reqntid 96, 1\n", kAlongY))));
  CHECK_FALSE(Swaps(CompileText(Kernel(kRequired, kAlongY), {.lane_width = 1})));
  const SharedKernel swapped = CompileText(Kernel(kRequired, kAlongY));
  CHECK(swapped->kernel().kernel->required_threads[0] == kWidth);
  CHECK(swapped->kernel().kernel->required_threads[1] == kHeight);
}

TEST_CASE("kernels that know more of their threads than coordinates keep their axes", "[axes]") {
  const char* values[] = {
      "mov.u32 %a7, %laneid;",
      "mov.u32 %a7, %smid;",
      "atom.global.add.u32 %a7, [%out], 1;",
      "ld.volatile.global.u32 %a7, [%out];",
      "ld.acquire.gpu.global.u32 %a7, [%out];",
      "bar.sync 0;",
      R"(shl.b32 %a6, %a2, 2;
  mov.u32 %a7, tile;
  add.u32 %a6, %a6, %a7;
  st.shared.u32 [%a6], %x;
  ld.shared.u32 %a7, [%a6];)",
  };
  for (const char* value : values) {
    INFO(value);
    CHECK_FALSE(Swaps(CompileText(Kernel(kRequired, kAlongY, value))));
  }
}

TEST_CASE("exchanged axes change no result", "[axes]") {
  for (const std::string& places : {kAlongY, kReadsAlongX}) {
    const SharedKernel plain = CompileText(Kernel("", places), {.lane_width = 1});
    for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
      for (const unsigned width : {0u, 4u, 8u, 64u}) {
        const lowering::JitOptions options{.target = *lowering::ResolveTarget(target), .lane_width = width};
        const SharedKernel swapped = CompileText(Kernel(kRequired, places), options);
        REQUIRE(Swaps(swapped));
        for (const auto& [grid, n] : {std::pair{Dim3{1, 1, 1}, 8u},
                                      {Dim3{3, 2, 1}, 20u},
                                      {Dim3{2, 5, 3}, 41u},
                                      {Dim3{40, 3, 2}, 310u}}) {
          INFO(target << ", width " << width << ", " << grid.x << "x" << grid.y << " blocks, n " << n);
          const std::vector<std::byte> expected = Run(plain, grid, n);
          CHECK(Run(swapped, grid, n) == expected);
          CHECK(Run(swapped, grid, n, 2) == expected);
        }
      }
    }
  }
}

TEST_CASE("accesses along y are side by side in vectors", "[axes]") {
  auto jit = lowering::Jit::Create(
      {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4"), .lane_width = 16});
  REQUIRE(jit);
  const auto report = [&](const std::string& required) {
    return (*jit)->ReportLanes(BuildKernel(Kernel(required, kAlongY), "k"), "k").value();
  };
  const lowering::LaneReport swapped = report(kRequired), plain = report("");
  REQUIRE((swapped.loops.size() == 1 && plain.loops.size() == 1));
  CHECK((swapped.loops[0].stores.consecutive == 1 && swapped.loops[0].loads.consecutive == 1));
  CHECK((plain.loops[0].stores.consecutive == 0 && plain.loops[0].loads.consecutive == 0));
}

TEST_CASE("a fault names the program's block and thread", "[axes]") {
  const std::string fault = "setp.eq.s32 %p3, %x, 13;\n  setp.eq.and.s32 %p3, %y, 31, %p3;\n  @%p3 trap;";
  const SharedKernel swapped = CompileText(Kernel(kRequired, kAlongY, fault));
  REQUIRE(Swaps(swapped));
  harness::KernelCall call = CallOf({3, 8, 1}, 96);
  const Status status = swapped->Run(call);
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().message, Catch::Matchers::Contains("block (1,2,0), thread (5,7,0)"));
}

namespace {

// Returns the code at the second call.
class Second final : public rt::LaterCode {
 public:
  explicit Second(const ptx2cpu_kernel& code) : code_(code) {}
  const ptx2cpu_kernel* Newest(int64_t) override {
    has_come_ = ++asked_ > 1;
    return has_come_ ? &code_ : nullptr;
  }
  void AddTime(int64_t) override {}
  bool has_come() const { return has_come_; }

 private:
  const ptx2cpu_kernel& code_;
  std::atomic<uint32_t> asked_ = 0;
  std::atomic<bool> has_come_ = false;
};

// The output, or the error, of a launch whose blocks change from the first code to the second.
std::string RunBoth(const SharedKernel& first, const SharedKernel& second, const Dim3& grid, uint32_t n,
                    unsigned workers, bool& changed) {
  harness::KernelCall call = CallOf(grid, n);
  const ir::Function& kernel = first->module().functions[0];
  const auto parameters = harness::PackParameters(kernel.params, kernel.param_bytes, call);
  REQUIRE(parameters);
  Second later(*second->kernel().kernel);
  rt::LaunchOptions options;
  options.max_workers = workers;
  options.later = &later;
  const auto error = rt::Launch(*first->kernel().kernel, {grid, call.block}, *parameters, options);
  changed = later.has_come();
  if (error) return error->message;
  const std::vector<std::byte>& data = call.arguments[1].data;
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

}  // namespace

TEST_CASE("code with other axes replaces a launch's code while it runs", "[axes]") {
  const std::string fault = "setp.eq.s32 %p3, %x, 237;\n  setp.eq.and.s32 %p3, %y, 1907, %p3;\n  @%p3 trap;";
  for (const std::string& value : {std::string(), fault}) {
    const std::string text = Kernel(kRequired, kAlongY, value);
    const SharedKernel swapped = CompileText(text), plain = CompileText(text, {.lane_width = 1});
    REQUIRE((Swaps(swapped) && !Swaps(plain)));
    const Dim3 grid{30, 170, value.empty() ? 2u : 1u};
    const uint32_t n = value.empty() ? 235 : 2040;
    const std::vector<std::byte> expected = value.empty() ? Run(plain, grid, n) : std::vector<std::byte>();
    for (const auto& [first, second] : {std::pair{plain, swapped}, {swapped, plain}}) {
      for (const unsigned workers : {1u, 2u}) {
        bool changed = false;
        // Only one chunk of the grid may be left: then there is no second call.
        for (int run = 0; run < 20 && !changed; ++run) {
          const std::string result = RunBoth(first, second, grid, n, workers, changed);
          if (value.empty())
            CHECK(std::ranges::equal(result, expected, {}, {},
                                     [](std::byte b) { return static_cast<char>(b); }));
          else
            CHECK_THAT(result, Catch::Matchers::Contains("block (29,158,0), thread (5,11,0)"));
        }
        CHECK(changed);
      }
    }
  }
}
