// Loads of which a few neighbouring lanes have their elements close together: an access for each such group,
// also beside pages that are not there, and gathers where the lanes turn out to be elsewhere.
#include <sys/mman.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "lowering/llvm/module/lane_report.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 96;
constexpr size_t kPage = 4096, kParameterBytes = 20;

struct Records {
  const char* what;
  int shift;             // 2^shift threads share a record
  uint32_t apart, step;  // bytes from record to record, and from thread to thread
  const char* load;      // of %w, from [%at]
  uint32_t bytes;        // that it reads
  uint32_t moved = 0;    // added to the thread's number
  uint32_t tested = 1;   // loads that a test decides on
  bool beside = false;   // the thread's bits are put beside the record's address, not added
};
constexpr Records kCases[] = {
    {"words", 3, 36, 4, "ld.global.u32 %w, [%at];", 4},
    {"words with gaps", 2, 48, 12, "ld.global.u32 %w, [%at];", 4},
    {"halves", 2, 34, 8, "ld.global.u16 %w, [%at];", 2},
    {"one word for all four", 2, 20, 0, "ld.global.u32 %w, [%at];", 4},
    {"words in two halves", 2, 34, 8,
     "ld.global.u16 %h0, [%at];\n  ld.global.u16 %h1, [%at+2];\n  mov.b32 %w, {%h0, %h1};", 4},
    {"two words in halves", 2, 34, 8,
     "ld.global.u16 %h0, [%at];\n  ld.global.u16 %h1, [%at+2];\n  ld.global.u16 %h2, [%at+4];\n"
     "  ld.global.u16 %h3, [%at+6];\n  mov.b32 %w, {%h0, %h1};\n  mov.b32 %v, {%h2, %h3};\n"
     "  mad.lo.u32 %w, %v, 77, %w;",
     8},
    {"pairs of words", 1, 40, 8, "ld.global.v2.u32 {%w, %v}, [%at];\n  xor.b32 %w, %w, %v;", 8},
    {"double words", 2, 72, 16, "ld.global.u64 %d, [%at];\n  cvt.u32.u64 %w, %d;", 8},
    {"records on pages of their own", 2, 8192, 4, "ld.global.u32 %w, [%at];", 4},
    {"a word of each of four rows, for all lanes", 2, 0, 288, "ld.global.u32 %w, [%at];", 4},
    {"pairs of words of rows", 1, 0, 96, "ld.global.v2.u32 {%w, %v}, [%at];\n  xor.b32 %w, %w, %v;", 8},
    {"records that begin elsewhere", 2, 34, 8, "ld.global.u16 %w, [%at];", 2, 1},
    {"halves by bits beside a record's", 2, 144, 2, "ld.global.u16 %w, [%at];", 2, 0, 1, true},
};

std::string KernelOf(const Records& records) {
  const std::string mask = std::to_string((1 << records.shift) - 1);
  const std::string sum = "  add.s64 %at, %at, %d;\n",
                    place = "  mul.wide.u32 %e, %low, " + std::to_string(records.step) + ";\n";
  const std::string bits = "  and.b64 %e, %e, " + std::to_string(records.step * ((1u << records.shift) - 1)) +
                           ";\n  or.b64 %d, %d, %e;\n";
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
{
  .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %i, %m, %n, %low, %w, %v; .reg .b64 %at, %out, %d, %e;
  ld.param.u64 %at, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %i, %tid.x;
  setp.ge.u32 %p0, %i, %n;
  @%p0 bra done;
  add.u32 %m, %i, )" +
         std::to_string(records.moved) + ";\n  and.b32 %low, %m, " + mask + ";\n  shr.u32 %m, %m, " +
         std::to_string(records.shift) + ";\n  mul.wide.u32 %d, %m, " + std::to_string(records.apart) +
         ";\n" + place + (records.beside ? bits + sum : sum + "  add.s64 %at, %at, %e;\n") + "  " +
         records.load + R"(
  mul.wide.u32 %d, %i, 4;
  add.s64 %out, %out, %d;
  st.global.u32 [%out], %w;
done:
  ret;
}
)";
}

lowering::JitOptions Options(const std::string& target, uint32_t width) {
  return {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .lane_width = width};
}

// Memory whose last byte is the last one of its page, before a page that is not there.
class Guarded {
 public:
  explicit Guarded(size_t bytes) : bytes_(bytes), whole_((bytes + kPage - 1) / kPage * kPage) {
    void* pages = mmap(nullptr, whole_ + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    pages_ = static_cast<uint8_t*>(pages);
    REQUIRE(mprotect(pages_ + whole_, kPage, PROT_NONE) == 0);
    for (size_t i = 0; i < bytes; ++i) data()[i] = static_cast<uint8_t>(i * 7 + i / 251);
  }
  ~Guarded() { munmap(pages_, whole_ + kPage); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  uint8_t* data() const { return pages_ + whole_ - bytes_; }

 private:
  size_t bytes_, whole_;
  uint8_t* pages_;
};

// The kernel, compiled once.
class Compiled {
 public:
  Compiled(const ir::Module& module, const std::string& target, uint32_t width) {
    auto jit = lowering::Jit::Create(Options(target, width));
    REQUIRE(jit);
    jit_ = *std::move(jit);
    auto compiled = jit_->Add(module);
    if (!compiled) FAIL(compiled.error().Render());
    kernel_ = compiled->kernel;
  }
  std::vector<uint32_t> Run(const uint8_t* in, uint32_t n, uint32_t rows = 1) const {
    std::vector<uint32_t> out(kThreads, 7);
    struct {
      const uint8_t* in;
      uint32_t* out;
      uint32_t n;
    } params{in, out.data(), n};
    const auto error =
        rt::Launch(*kernel_, {{1, 1, 1}, {kThreads / rows, rows, 1}, 0},
                   std::as_bytes(std::span(&params, 1)).first(kParameterBytes), {.max_workers = 1});
    if (error) FAIL(error->message);
    return out;
  }

 private:
  std::unique_ptr<lowering::Jit> jit_;
  const ptx2cpu_kernel* kernel_ = nullptr;
};

// As many bytes as the threads read from.
size_t BytesOf(const Records& records, uint32_t n) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t number = i + records.moved, low = number & ((1u << records.shift) - 1);
    const size_t begin = size_t{number >> records.shift} * records.apart + low * records.step;
    bytes = std::max(bytes, begin + records.bytes);
  }
  return bytes;
}

}  // namespace

TEST_CASE("neighbouring lanes whose elements are close together are loaded together", "[groups][long]") {
  for (const Records& records : kCases) {
    INFO(records.what);
    const BuiltKernel module = BuildKernel(KernelOf(records), "k");
    auto report_jit = lowering::Jit::Create(Options("x86-64-v4", 16));
    REQUIRE(report_jit);
    const auto report = (*report_jit)->ReportLanes(module, "k");
    REQUIRE(report);
    REQUIRE(report->loops.size() == 1);
    CHECK(report->loops[0].loads.tested == records.tested);
    CHECK(report->loops[0].loads.gathers == 0);
    const Compiled one_by_one(module, "native", 1);
    for (const auto& [target, width] :
         {std::pair("native", 8u), std::pair("native", 16u), std::pair("native", 32u),
          std::pair("x86-64-v3", 16u), std::pair("x86-64-v2", 8u)}) {
      const Compiled compiled(module, target, width);
      for (const uint32_t n : {kThreads, 33u, 1u}) {
        INFO(n << " threads, width " << width << ", " << target);
        const Guarded memory(BytesOf(records, n));
        CHECK(compiled.Run(memory.data(), n) == one_by_one.Run(memory.data(), n));
      }
    }
  }
}

TEST_CASE("bits beside an address whose lanes leave them free are a pattern", "[groups]") {
  auto jit = lowering::Jit::Create(Options("x86-64-v4", 16));
  REQUIRE(jit);
  const auto code =
      (*jit)->Explain(BuildKernel(KernelOf(*std::ranges::find(kCases, true, &Records::beside)), "k"), "k",
                      lowering::Jit::Stage::kOptimized);
  REQUIRE(code);
  CHECK(code->find("load <4 x i16>") != std::string::npos);  // a record of four lanes
}

TEST_CASE("lanes that share an element need no gather where some are inactive", "[groups]") {
  for (const char* what : {"one word for all four", "a word of each of four rows, for all lanes"}) {
    INFO(what);
    const auto shared = std::ranges::find(kCases, std::string_view(what), &Records::what);
    auto jit = lowering::Jit::Create(Options("x86-64-v4", 16));
    REQUIRE(jit);
    const auto code =
        (*jit)->Explain(BuildKernel(KernelOf(*shared), "k"), "k", lowering::Jit::Stage::kOptimized);
    REQUIRE(code);
    CHECK(code->find("llvm.masked.load") != std::string::npos);
    CHECK(code->find("llvm.masked.gather") == std::string::npos);
  }
}

namespace {

// Sums over records that lie `apart` bytes from trip to trip; in each trip all threads may store, before they
// load two words of the record.
constexpr const char* kAcrossBlocks = R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
.reqntid 96
{
  .reg .pred %p<3>; .reg .b32 %i, %m, %n, %low, %w, %v, %sum, %trip; .reg .b64 %at, %from, %out, %own, %d;
  ld.param.u64 %at, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %i, %tid.x;
  and.b32 %low, %i, 3;
  shr.u32 %m, %i, 2;
  mul.wide.u32 %d, %m, 34;
  add.s64 %at, %at, %d;
  mul.wide.u32 %d, %low, 8;
  add.s64 %at, %at, %d;
  mul.wide.u32 %d, %i, 4;
  add.s64 %own, %out, %d;
  mov.u32 %sum, 0;
  mov.u32 %trip, 0;
again:
  mul.wide.u32 %d, %trip, 816;
  add.s64 %from, %at, %d;
  ld.global.u16 %w, [%from];
  add.u32 %sum, %sum, %w;
  setp.ne.u32 %p1, %n, 77;
  @%p1 bra on;
  st.global.u32 [%own], %w;
on:
  ld.global.u16 %v, [%from+2];
  mad.lo.u32 %sum, %v, 77, %sum;
  add.u32 %trip, %trip, 1;
  setp.lt.u32 %p2, %trip, %n;
  @%p2 bra again;
  st.global.u32 [%own], %sum;
  ret;
}
)";

}  // namespace

TEST_CASE("what an address is made of is not tested in the loop, also for a later block", "[groups]") {
  const BuiltKernel module = BuildKernel(std::string(kHead) + kAcrossBlocks, "k");
  auto jit = lowering::Jit::Create(Options("x86-64-v4", 16));
  REQUIRE(jit);
  const auto code = (*jit)->Explain(module, "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(code);
  const size_t loop = code->find("lanes_loop:");
  REQUIRE(loop != std::string::npos);
  CHECK(code->substr(loop).find("icmp ne <16 x i64>") == std::string::npos);
  CHECK(code->substr(loop).find("icmp eq <16 x i64>") == std::string::npos);
  const Compiled one_by_one(module, "native", 1);
  for (const auto& [target, width] : {std::pair("native", 16u), std::pair("native", 32u),
                                      std::pair("x86-64-v3", 16u), std::pair("x86-64-v2", 8u)}) {
    for (const uint32_t n : {1u, 3u, 77u}) {
      const Guarded memory(size_t{816} * n);
      CHECK(Compiled(module, target, width).Run(memory.data(), n) == one_by_one.Run(memory.data(), n));
    }
  }
}

namespace {

// An address whose bits come from two coordinates, used after a barrier: four words of each of eight rows.
constexpr const char* kAfterBarrier = R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
.reqntid 32, 3
{
  .reg .b32 %x, %y, %low, %row, %at, %own, %i, %w; .reg .b64 %in, %out, %d; .shared .b32 tile[768];
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  shl.b32 %i, %y, 5;
  add.u32 %i, %i, %x;
  and.b32 %low, %x, 3;
  and.b32 %row, %y, 1;
  mul.lo.u32 %row, %row, 288;
  or.b32 %low, %low, %row;
  shr.u32 %row, %x, 2;
  mad.lo.u32 %at, %row, 36, %low;
  shl.b32 %at, %at, 2;
  mov.u32 %w, tile;
  add.u32 %at, %at, %w;
  shl.b32 %own, %i, 3;
  add.u32 %own, %own, %w;
  mul.wide.u32 %d, %i, 8;
  add.u64 %in, %in, %d;
  ld.global.u32 %w, [%in];
  st.shared.u32 [%own], %w;
  ld.global.u32 %w, [%in+4];
  st.shared.u32 [%own+4], %w;
  bar.sync 0;
  ld.shared.u32 %w, [%at];
  mul.wide.u32 %d, %i, 4;
  add.u64 %out, %out, %d;
  st.global.u32 [%out], %w;
  ret;
}
)";

}  // namespace

TEST_CASE("addresses made of bits of several coordinates are computed again after a barrier", "[groups]") {
  const BuiltKernel module = BuildKernel(std::string(kHead) + kAfterBarrier, "k");
  auto jit = lowering::Jit::Create(Options("x86-64-v4", 32));
  REQUIRE(jit);
  const auto code = (*jit)->Explain(module, "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(code);
  CHECK(code->find("icmp ne <32 x i") == std::string::npos);
  CHECK(code->find("icmp eq <32 x i") == std::string::npos);
  const Guarded memory(size_t{8} * kThreads);
  const Compiled one_by_one(module, "native", 1);
  for (const auto& [target, width] : {std::pair("native", 32u), std::pair("x86-64-v3", 16u)})
    CHECK(Compiled(module, target, width).Run(memory.data(), kThreads, 3) ==
          one_by_one.Run(memory.data(), kThreads, 3));
}
