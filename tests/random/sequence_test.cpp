// Random sequences of instructions of the PTX table (sequences/tree.h) in the interpreter, after each pass,
// and as machine code of every width and for each kind of processor, as a library and for the blocks' own
// shape.
//
//   PTX2CPU_RANDOM_...   as in campaign.h; a seed is a kernel of sequences
#include "tests/random/campaign.h"
#include "tests/random/sequences/tree.h"

using namespace ptx2cpu;
using namespace ptx2cpu::random_test;
namespace rs = ptx2cpu::random_sequences;

namespace {

// Small kernels become vectors, large ones are compiled thread by thread, which takes far less time a
// sequence.
uint32_t SequencesOf(uint64_t seed) {
  static const bool long_run = std::getenv("PTX2CPU_RANDOM_COUNT") != nullptr;
  return seed % 2 == 1 ? 4 : long_run ? 128 : 24;
}

void Run(double seconds, const std::function<std::vector<Engine>(uint64_t seed)>& engines) {
  size_t sequences = 0;
  Campaign<rs::Tree>(seconds, [&](uint64_t seed) {
    rs::Tree tree = rs::Grow(seed, rs::Output::kHashes, SequencesOf(seed));
    sequences += tree.sequences.size();
    return tree;
  }).Run(engines);
  WARN(sequences << " sequences");
}

// Every third kernel in this machine's own form.
harness::VectorForm FormOf(uint64_t seed) {
  const auto& forms = harness::kVectorForms;
  return seed % 3 == 0 ? harness::VectorForm{} : forms[seed / 3 % forms.size()];
}

int OptimisationOf(uint64_t seed) { return seed % 16 == 3 ? 2 : seed % 4 == 1 ? 1 : 0; }

}  // namespace

TEST_CASE("random sequences mean the same after each pass") {
  Run(1.5, [](uint64_t seed) {
    const auto stages = lowering::StageNames();
    return std::vector{InterpretAfter(stages[1 + seed % (stages.size() - 1)]), InterpretAfter(""),
                       InterpretForBlock()};
  });
}

TEST_CASE("random sequences give the same as machine code") {
  Run(3, [](uint64_t seed) {
    std::vector<Engine> engines;
    for (const harness::VectorForm form : FormsOr(FormOf(seed)))
      engines.push_back(Compiled(OptimisationOf(seed), lowering::Tier::kAuto, form));
    return engines;
  });
}

TEST_CASE("random sequences give the same as object code") {
  Run(1.5, [](uint64_t seed) { return std::vector{AsObject(OptimisationOf(seed))}; });
}

TEST_CASE("random sequences give the same by code for their blocks' shape") {
  Run(3, [](uint64_t seed) {
    std::vector<Engine> engines;
    for (const harness::VectorForm form : FormsOr(FormOf(seed + 5)))
      engines.push_back(CompiledForBlock(OptimisationOf(seed), form));
    return engines;
  });
}
