// The thread that the report of a hardware fault names, in code in which one instruction serves many threads.
#include <array>
#include <vector>

#include "run_program.h"

namespace ptx2cpu::api_test {
namespace {

// k(p): `code` with the global index of the thread in %r0, its place in the block in %r1, 4 * %r0 in %d1.
std::string Kernel64(const std::string& code) {
  return R"(
.global .align 8 .u64 table[4];
.visible .entry k(.param .u64 p) {
  .reg .b64 %d<6>; .reg .b32 %r<6>; .reg .pred %q<2>;
  .shared .align 4 .b8 tile[256];
  ld.param.u64 %d0, [p]; mov.u32 %r0, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r1, %tid.x;
  mad.lo.u32 %r0, %r0, %r2, %r1; mul.wide.u32 %d1, %r0, 4;
)" + code +
         "\n  ret;\n}\n";
}

constexpr uint32_t kThreads = 64, kBlocks = 40, kBad = 20 * kThreads + 37;

std::string ErrorOf(const std::string& code, uint32_t* memory, unsigned workers = 1) {
  const Kernel kernel = Get(Linked({Kernel64(code)}, {}), "k");
  const Status status =
      kernel.Launch({.grid = {kBlocks}, .block = {kThreads}, .max_workers = workers}, memory);
  return status ? "" : status.error().Render();
}

const std::string kThread = "block (20,0,0), thread (37,0,0)";

TEST_CASE("a fault in vector code names its thread, also where blocks run together", "[faulting_thread]") {
  // Each thread loads its index, one of which leads far away: to an address that the processor reports, and
  // to one that it does not.
  const auto [factor, address] =
      GENERATE(std::pair("1024", "bad address 0x"), std::pair("1048576", "bad address 0x1"));
  const std::string access = GENERATE(
      "ld.global.u32 %r4, [%d3+10240]; st.global.u32 [%d2+20480], %r4;", "st.global.u32 [%d3+10240], %r1;",
      "atom.global.add.u32 %r4, [%d3+10240], 1; st.global.u32 [%d2+20480], %r4;");
  std::vector<uint32_t> words(size_t{3} * kThreads * kBlocks, 0);
  words[kBad] = 0xffffff00;
  const std::string gather = std::string(R"(
  add.u64 %d2, %d0, %d1; ld.global.u32 %r3, [%d2]; mul.wide.u32 %d3, %r3, )") +
                             factor + R"(; add.u64 %d3, %d0, %d3;
)";
  for (const unsigned workers : {1u, 2u}) {
    const std::string text = ErrorOf(gather + access, words.data(), workers);
    CHECK_THAT(text, Catch::Contains(kThread) && Catch::Contains(address) && !Catch::Contains("0x0\n"));
  }
}

TEST_CASE("looking for the thread changes no memory", "[faulting_thread]") {
  // Each block adds 1 to a counter; then one thread faults. The blocks before it ran once.
  std::vector<uint32_t> words(4);
  const std::string code = R"(
  setp.eq.u32 %q0, %r1, 0; @%q0 red.global.add.u32 [%d0], 1;
  bar.sync 0;
  setp.eq.u32 %q1, %r0, )" +
                           std::to_string(kBad) + R"(;
  mov.u64 %d2, 16; @%q1 st.global.u32 [%d2], %r0;)";
  CHECK_THAT(ErrorOf(code, words.data()), Catch::Contains(kThread));
  CHECK(words[0] >= 1);
  CHECK(words[0] <= kBlocks);
  CHECK(words[1] == 0);
}

TEST_CASE("a thread that another run of its block does not show is not named", "[faulting_thread]") {
  // The index that led astray is no longer there.
  std::vector<uint32_t> indices(size_t{kThreads} * kBlocks, 0);
  indices[kBad] = 0xffffff00;
  const std::string text = ErrorOf(R"(
  add.u64 %d2, %d0, %d1; ld.global.u32 %r3, [%d2]; st.global.u32 [%d2], 0; bar.sync 0;
  mul.wide.u32 %d3, %r3, 64; mul.lo.u64 %d3, %d3, 4096; add.u64 %d3, %d0, %d3; st.global.u32 [%d3], %r1;)",
                                   indices.data());
  CHECK_THAT(text, Catch::Contains("bad address 0x") && !Catch::Contains("thread ("));
}

TEST_CASE("a fault through an address that a variable holds names its thread", "[faulting_thread]") {
  std::vector<uint32_t> words(size_t{kThreads} * kBlocks, 0);
  const std::string code = R"(
  mov.u64 %d2, table; setp.eq.u32 %q0, %r1, 0; mov.u64 %d3, 4096; @%q0 st.global.u64 [%d2+8], %d3; bar.sync 0;
  ld.global.u64 %d4, [%d2+8]; setp.eq.u32 %q1, %r1, 37; @!%q1 mov.u64 %d4, %d0; st.global.u32 [%d4+8], %r1;)";
  CHECK_THAT(ErrorOf(code, words.data()), Catch::Contains("block (0,0,0), thread (37,0,0)"));
}

TEST_CASE("a fault just outside shared memory names its thread", "[faulting_thread]") {
  // The last: as far as a kernel reaches that is launched with less than all of a device's shared memory.
  for (const uint32_t past : {1024u, 16384u, 228u << 10}) {
    std::vector<uint32_t> words(size_t{kThreads} * kBlocks, 0);
    words[kBad] = past;
    const std::string text = ErrorOf(R"(
  add.u64 %d2, %d0, %d1; ld.global.u32 %r3, [%d2]; mov.u32 %r4, tile; add.u32 %r4, %r4, %r3; st.shared.u32 [%r4], %r1;
  bar.sync 0; ld.shared.u32 %r5, [tile]; st.global.u32 [%d2], %r5;)",
                                     words.data());
    CHECK_THAT(text, Catch::Contains("just outside shared memory") && Catch::Contains(kThread));
  }
}

}  // namespace
}  // namespace ptx2cpu::api_test
