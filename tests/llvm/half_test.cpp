// 16-bit floats in machine code, as vectors and lane by lane, against exact arithmetic.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>

#include "ir/interpret/exact.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;
using namespace ptx2cpu::ir::interpret;

namespace {

struct Operands {
  std::vector<uint16_t> a, b, c;
};

struct Operation {
  std::string ptx;  // with TYPE
  Number (*exact)(const Number& a, const Number& b, const Number& c);
};

const Operation kOperations[] = {
    {"fma.rn.TYPE %a, %a, %b, %c;",
     [](const Number& a, const Number& b, const Number& c) {
       return Add(Multiply(a, b), c, ir::Rounding::kNearestEven);
     }},
    {"add.rn.TYPE %a, %a, %b;",
     [](const Number& a, const Number& b, const Number&) { return Add(a, b, ir::Rounding::kNearestEven); }},
    {"sub.rn.TYPE %a, %a, %b;", [](const Number& a, const Number& b,
                                   const Number&) { return Add(a, Negate(b), ir::Rounding::kNearestEven); }},
    {"mul.rn.TYPE %a, %a, %b;",
     [](const Number& a, const Number& b, const Number&) { return Multiply(a, b); }},
};

// Any bits; exponents side by side, so that sums cancel; and third operands close to half a unit of the
// product, or far below it, where the product alone would be a tie.
Operands SomeOperands(const Format& format, size_t count) {
  std::mt19937 random(1);
  Operands all;
  auto any = [&] { return static_cast<uint16_t>(random()); };
  for (size_t i = 0; i < count; ++i) {
    const uint16_t a = any();
    uint16_t b = any(), c = any();
    if (i % 4 == 1) b = static_cast<uint16_t>((a ^ 0x8000u) + random() % 5 - 2);
    if (i % 4 >= 2) {
      const Number product = Multiply(Decode(format, a), Decode(format, b));
      const auto rounded = static_cast<uint32_t>(Encode(format, product, {}));
      const uint32_t below = random() % 40 << format.fraction_bits, magnitude = rounded & 0x7FFFu;
      c = static_cast<uint16_t>((random() & 0x8000u) |
                                (magnitude > below ? magnitude - below : random() % 4));
      if (i % 8 == 3) c = static_cast<uint16_t>(c & ~((1u << format.fraction_bits) - 1));
    }
    all.a.push_back(a), all.b.push_back(b), all.c.push_back(c);
  }
  return all;
}

// Warp operations make the lanes of a warp the vectors.
std::string KernelOf(const Operation& operation, const std::string& type) {
  std::string code = operation.ptx;
  code.replace(code.find("TYPE"), 4, type);
  return ".version 8.6\n.target sm_90\n.address_size 64\n" + std::string(R"(
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pout)
{
  .reg .b16 %a, %b, %c; .reg .b32 %i, %n, %m; .reg .b64 %p, %at;
  mov.u32 %i, %ctaid.x;
  mov.u32 %n, %ntid.x;
  mov.u32 %m, %tid.x;
  mad.lo.u32 %i, %i, %n, %m;
  shfl.sync.idx.b32 %n, %i, 0, 31, -1;
  mul.wide.u32 %at, %i, 2;
  ld.param.u64 %p, [pa];
  add.s64 %p, %p, %at;
  ld.global.b16 %a, [%p];
  ld.param.u64 %p, [pb];
  add.s64 %p, %p, %at;
  ld.global.b16 %b, [%p];
  ld.param.u64 %p, [pc];
  add.s64 %p, %p, %at;
  ld.global.b16 %c, [%p];
  )") + code +
         R"(
  ld.param.u64 %p, [pout];
  add.s64 %p, %p, %at;
  st.global.b16 [%p], %a;
  ret;
}
)";
}

std::vector<uint16_t> Run(const std::string& text, const lowering::JitOptions& options,
                          const Operands& operands) {
  const SharedKernel kernel = CompileText(text, options);
  harness::KernelCall call{
      {static_cast<uint32_t>(operands.a.size() / 256), 1, 1}, {256, 1, 1}, 0, {}, {}, {}};
  std::vector<uint16_t> result(operands.a.size());
  for (const std::vector<uint16_t>* values :
       {&operands.a, &operands.b, &operands.c, &std::as_const(result)}) {
    auto argument = rt::ParseSpec("inout:u16:[0]");
    REQUIRE(argument);
    argument->data.resize(2 * values->size());
    std::memcpy(argument->data.data(), values->data(), argument->data.size());
    call.arguments.push_back(std::move(*argument));
  }
  RunOrFail(*kernel, call);
  std::memcpy(result.data(), call.arguments[3].data.data(), 2 * result.size());
  return result;
}

void Compare(const std::vector<uint16_t>& got, const std::vector<uint16_t>& wanted, const Operands& from,
             const Format& format) {
  for (size_t i = 0; i < got.size(); ++i) {
    if (IsNan(format, wanted[i]) ? IsNan(format, got[i]) : got[i] == wanted[i]) continue;
    FAIL(std::hex << from.a[i] << " " << from.b[i] << " " << from.c[i] << ": " << got[i] << ", not "
                  << wanted[i]);
  }
}

}  // namespace

TEST_CASE("arithmetic of 16-bit floats is rounded once", "[half][long]") {
  const size_t count = std::getenv("PTX2CPU_QUICK_TESTS") != nullptr ? 1 << 16 : 1 << 20;
  for (const char* type : {"f16", "bf16"}) {
    const Format& format = FormatOf(type[0] == 'b' ? ir::Type::kBF16 : ir::Type::kF16);
    const Operands operands = SomeOperands(format, count);
    for (const Operation& operation : kOperations) {
      INFO(operation.ptx << " " << type);
      std::vector<uint16_t> wanted;
      for (size_t i = 0; i < count; ++i) {
        const Number exact = operation.exact(Decode(format, operands.a[i]), Decode(format, operands.b[i]),
                                             Decode(format, operands.c[i]));
        wanted.push_back(static_cast<uint16_t>(Encode(format, exact, {})));
      }
      const std::string text = KernelOf(operation, type);
      for (uint32_t width : {0u, 1u})
        Compare(Run(text, {.lane_width = width}, operands), wanted, operands, format);
      for (const char* target : {"x86-64-v3", "x86-64-v2"}) {
        if (!lowering::ResolveTarget("native")->triple.starts_with("x86_64")) continue;
        Compare(Run(text, {.target = *lowering::ResolveTarget(target)}, operands), wanted, operands, format);
      }
    }
  }
}
