// Chains of products of bytes by tiles: several rows and columns of products whose accumulators stay in slots
// over a loop with a barrier, chains of many lengths, tiles that are not full, columns without a neighbour.
#include <catch2/catch.hpp>
#include <random>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 64, kTrips = 3, kRegistersOfC = 4;

struct Form {
  const char *shape, *a, *b;
  uint32_t registers_of_a;
  uint32_t rows, columns, steps;  // products of a trip
  const char* saturates = "";
};
constexpr Form kForms[] = {
    {"m16n8k32", "s8", "s8", 4, 2, 2, 2},
    {"m16n8k32", "u8", "u8", 4, 5, 3, 1},
    {"m16n8k32", "s8", "u8", 4, 1, 3, 9},
    {"m16n8k32", "u8", "s8", 4, 4, 2, 3},
    {"m16n8k16", "s8", "s8", 2, 2, 3, 5},
    {"m16n8k16", "u8", "u8", 2, 1, 1, 4},
    {"m16n8k64", "s4", "s4", 4, 2, 2, 2},
    {"m16n8k64", "u4", "s4", 4, 1, 4, 1},
    {"m16n8k32", "s4", "u4", 2, 3, 1, 3},
    {"m16n8k32", "u4", "u4", 2, 2, 1, 2},
    {"m16n8k32", "s8", "s8", 4, 2, 1, 2, ".satfinite"},
};

uint32_t RegistersOfB(const Form& form) { return form.registers_of_a / 2; }

// Thread t has words kThreads * n + t of each array, in register n.
std::string Kernel(const Form& form) {
  const uint32_t of_a = form.rows * form.steps * form.registers_of_a,
                 of_b = form.columns * form.steps * RegistersOfB(form),
                 of_c = form.rows * form.columns * kRegistersOfC;
  auto declared = [](const char* name, uint32_t count) {
    return " %" + std::string(name) + "<" + std::to_string(count) + ">";
  };
  std::string text = kHead + R"(
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc) .reqntid 64
{
  .reg .pred %p; .reg .b64 %pa, %pb, %pc, %at;
  .reg .b32 %i, %t,)" +
                     declared("x", of_a) + "," + declared("y", of_b) + "," + declared("c", of_c) + R"(;
  ld.param.u64 %pa, [pa];
  ld.param.u64 %pb, [pb];
  ld.param.u64 %pc, [pc];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %at, %t, 4;
  add.s64 %pa, %pa, %at;
  add.s64 %pb, %pb, %at;
  add.s64 %pc, %pc, %at;
)";
  auto move = [&](bool loads, const char* name, const char* from, uint32_t count) {
    for (uint32_t n = 0; n < count; ++n) {
      const std::string place = "[%" + std::string(from) + "+" + std::to_string(n * kThreads * 4) + "]",
                        one = "%" + std::string(name) + std::to_string(n);
      text += loads ? "  ld.global.b32 " + one + ", " + place + ";\n"
                    : "  st.global.b32 " + place + ", " + one + ";\n";
    }
  };
  auto list = [](const char* name, uint32_t number, uint32_t count) {
    std::string registers = "{";
    for (uint32_t n = 0; n < count; ++n)
      registers += (n == 0 ? "%" : ", %") + (name + std::to_string(number * count + n));
    return registers + "}";
  };
  move(true, "c", "pc", of_c);
  text += "  mov.u32 %i, 0;\nLOOP:\n  bar.sync 0;\n";
  move(true, "x", "pa", of_a);
  move(true, "y", "pb", of_b);
  for (uint32_t step = 0; step < form.steps; ++step) {
    for (uint32_t row = 0; row < form.rows; ++row) {
      for (uint32_t column = 0; column < form.columns; ++column) {
        const std::string sums = list("c", row * form.columns + column, kRegistersOfC);
        text += std::string("  mma.sync.aligned.") + form.shape + ".row.col" + form.saturates + ".s32." +
                form.a + "." + form.b + ".s32 " + sums + ", " +
                list("x", row * form.steps + step, form.registers_of_a) + ", " +
                list("y", column * form.steps + step, RegistersOfB(form)) + ", " + sums + ";\n";
      }
    }
  }
  text += "  add.u32 %i, %i, 1;\n  setp.lt.u32 %p, %i, " + std::to_string(kTrips) + ";\n  @%p bra LOOP;\n";
  move(false, "c", "pc", of_c);
  return text + "  ret;\n}\n";
}

template <typename Run>
std::vector<std::byte> Results(const Form& form, Run run) {
  std::mt19937 random(7);
  harness::KernelCall call{{1, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
  const uint32_t counts[] = {form.rows * form.steps * form.registers_of_a,
                             form.columns * form.steps * RegistersOfB(form),
                             form.rows * form.columns * kRegistersOfC};
  for (const uint32_t count : counts) {
    auto words = rt::ParseSpec("inout:u32:[0]");
    REQUIRE(words);
    words->data.resize(size_t{4} * count * kThreads);
    for (size_t n = 0; n < words->data.size(); n += 4) {
      // Also bytes of the largest magnitude, whose sums of pairs exceed 16 bits.
      const auto bits = static_cast<uint32_t>(random());
      const uint32_t word = n / 4 % 5 == 0 ? 0x80808080 : n / 4 % 7 == 0 ? 0xffffffff : bits;
      std::memcpy(words->data.data() + n, &word, 4);
    }
    call.arguments.push_back(std::move(*words));
  }
  const Status status = run(call);
  if (!status) FAIL(status.error().Render());
  return call.arguments[2].data;
}

std::string Code(const ir::Module& module, const char* target) {
  auto jit =
      lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target)});
  REQUIRE(jit);
  auto code = (*jit)->Explain(module, "k", lowering::Jit::Stage::kLlvm);
  REQUIRE(code);
  return *code;
}

size_t Count(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

bool HaveTiles() { return lowering::TraitsOf(*lowering::ResolveTarget("native")).has_byte_tiles; }

uint32_t NoTiles(ptx2cpu_block*) { return 0; }

// What a system gives that does not permit tiles.
std::vector<ptx2cpu_entry_point> EntryPointsWithoutTiles() {
  std::vector<ptx2cpu_entry_point> all(EntryPoints().begin(), EntryPoints().end());
  for (ptx2cpu_entry_point& entry : all) {
    if (std::string_view(entry.name) == "ptx2cpu_may_use_tiles")
      entry.address = reinterpret_cast<void*>(&NoTiles);
  }
  return all;
}

}  // namespace

TEST_CASE("tiles of bytes have the sums of the interpreter, with AMX and without it", "[matrix][long]") {
  const std::vector<ptx2cpu_entry_point> without = EntryPointsWithoutTiles();
  for (const Form& form : kForms) {
    INFO(form.shape << " " << form.a << " " << form.b << " " << form.rows << " x " << form.columns << " x "
                    << form.steps);
    const BuiltKernel module = BuildKernel(Kernel(form), "k");
    const auto wanted =
        Results(form, [&](harness::KernelCall& call) { return harness::RunInterpreter(module, call); });
    for (const char* target : {"native", "x86-64-v4"}) {
      for (const auto& entries : {EntryPoints(), std::span(without)}) {
        auto kernel =
            JitKernel::Create(module, {.entry_points = entries, .target = *lowering::ResolveTarget(target)});
        if (!kernel) FAIL(kernel.error().Render());
        CHECK(Results(form, [&](harness::KernelCall& call) { return (*kernel)->Run(call); }) == wanted);
      }
    }
  }
}

TEST_CASE("chains of products are a call for two columns, by tiles that are made once", "[matrix]") {
  if (!HaveTiles()) return;
  for (const Form& form : kForms) {
    INFO(form.shape << " " << form.a << " " << form.b << " " << form.rows << " x " << form.columns << " x "
                    << form.steps);
    const bool by_tiles = std::string(form.saturates).empty();
    const BuiltKernel module = BuildKernel(Kernel(form), "k");
    const std::string native = Code(module, "native"), other = Code(module, "x86-64-v4");
    // At most 256 bytes of k at once.
    const uint32_t depth = static_cast<uint32_t>(std::stoul(std::string(form.shape).substr(6))),
                   parts = (form.steps * depth + 255) / 256;
    CHECK(Count(native, "call void @ptx2cpu_matrix_tiles_a(") == (by_tiles ? form.rows * form.steps : 0));
    CHECK(Count(native, "call void @ptx2cpu_matrix_tiles_b(") == (by_tiles ? form.columns * form.steps : 0));
    const std::string kind = std::string(form.a).substr(0, 1) + "8_" + form.b[0] + "8(";
    CHECK(Count(native, "call void @ptx2cpu_matrix_tiles_" + kind) ==
          (by_tiles ? (form.columns + 1) / 2 * parts : 0));
    CHECK(Count(native, "call void @ptx2cpu_matrix_tiles_begin(") == (by_tiles ? 1 : 0));
    CHECK(Count(native, "call void @ptx2cpu_matrix_tiles_end(") == (by_tiles ? 1 : 0));
    CHECK(Count(other, "ptx2cpu_matrix_tiles") == 0);
  }
}
