// random_sequences FIRST COUNT FOLDER: kernels of random sequences for a GPU, as FOLDER/sequences_<seed>.ptx;
// a record of what the GPU gives (record_vectors) is compared by `sequences_of_gpu FOLDER`. random_sequences
// --print SEED [SEQUENCES]: the kernel of the campaign (sequence_test). random_sequences --templates: each
// opcode that sequences are made of, with the row of the table.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "tests/random/sequences/tree.h"

using namespace ptx2cpu::random_sequences;

namespace {

int PrintTemplates() {
  VisitTemplates([](std::string_view row, const Template& made) {
    std::printf("%.*s\t%s\t", static_cast<int>(row.size()), row.data(), made.opcode.c_str());
    for (const Slot& slot : made.slots) {
      const std::string_view type = ptx2cpu::ptx::Name(slot.type);
      std::printf("%s%s%d%s%s:%.*s%s", slot.before, slot.written ? "d" : "", slot.bits,
                  slot.constant ? "c" : "",
                  slot.states_part ? "s"
                  : slot.part      ? "p"
                                   : "",
                  static_cast<int>(type.size()), type.data(), slot.after);
    }
    std::printf("\t%s\n", made.newer ? "newer" : "");
  });
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count == 2 && std::strcmp(words[1], "--templates") == 0) return PrintTemplates();
  if (count >= 3 && std::strcmp(words[1], "--print") == 0) {
    const uint32_t sequences =
        count > 3 ? static_cast<uint32_t>(std::strtoul(words[3], nullptr, 10)) : kSequences;
    std::fputs(WriteModule(Grow(std::strtoull(words[2], nullptr, 10), Output::kHashes, sequences)).c_str(),
               stdout);
    return 0;
  }
  if (count != 4) return std::fprintf(stderr, "usage: random_sequences FIRST COUNT FOLDER\n"), 2;
  const uint64_t first = std::strtoull(words[1], nullptr, 10), kernels = std::strtoull(words[2], nullptr, 10);
  for (uint64_t seed = first; seed < first + kernels; ++seed) {
    const std::string name = "sequences_" + std::to_string(seed);
    std::ofstream(std::string(words[3]) + "/" + name + ".ptx")
        << WriteModule(Grow(seed, Output::kTrace, kSequences), name);
  }
}
