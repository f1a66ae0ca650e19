// Random kernels of memory and number patterns (patterns/tree.h) in the interpreter, after each pass, and as
// machine code of every width and for each kind of processor, general and for the blocks' own shape.
//
//   PTX2CPU_RANDOM_...   as in campaign.h
#include "tests/random/campaign.h"
#include "tests/random/patterns/tree.h"

using namespace ptx2cpu;
using namespace ptx2cpu::random_test;
namespace rp = ptx2cpu::random_patterns;

namespace {

Campaign<rp::Tree> Patterns(double seconds) {
  return {seconds, [](uint64_t seed) { return rp::Grow(seed); }};
}

// Every second kernel in this machine's own form.
harness::VectorForm FormOf(uint64_t seed) {
  const auto& forms = harness::kVectorForms;
  return seed % 2 == 0 ? harness::VectorForm{} : forms[seed / 2 % forms.size()];
}

int OptimisationOf(uint64_t seed) { return seed % 16 == 3 ? 3 : seed % 4 == 1 ? 1 : 0; }

}  // namespace

TEST_CASE("random patterns do not depend on the order of threads") {
  Patterns(1).Run([](uint64_t seed) {
    return std::vector{InterpretAfter("ir", {.slice = 3 + seed % 17, .backwards = true}),
                       InterpretAfter("ir", {.slice = 1 + seed % 5, .fill = 0xa5})};
  });
}

TEST_CASE("random patterns mean the same after each pass") {
  Patterns(2).Run([](uint64_t seed) {
    const auto stages = lowering::StageNames();
    return std::vector{InterpretAfter(stages[1 + seed % (stages.size() - 1)]), InterpretAfter(""),
                       InterpretForBlock()};
  });
}

TEST_CASE("random patterns give the same as machine code") {
  Patterns(4).Run([](uint64_t seed) {
    std::vector<Engine> engines;
    for (const harness::VectorForm form : FormsOr(FormOf(seed)))
      engines.push_back(Compiled(OptimisationOf(seed), lowering::Tier::kAuto, form, 1 + seed % 3));
    return engines;
  });
}

TEST_CASE("random patterns give the same by code for their blocks' shape") {
  Patterns(4).Run([](uint64_t seed) {
    std::vector<Engine> engines;
    for (const harness::VectorForm form : FormsOr(FormOf(seed + 3)))
      engines.push_back(CompiledForBlock(OptimisationOf(seed), form));
    return engines;
  });
}
