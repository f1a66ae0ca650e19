// sequences_of_gpu FOLDER: compares what a GPU gave for the kernels of random_sequences
// (FOLDER/sequences_<seed>.gpu) with the interpreter. A difference is listed with its step and thread, what
// the thread's registers hold up to there, and the sequence as a kernel of its own.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>

#include "tests/random/engines.h"
#include "tests/random/sequences/tree.h"

using namespace ptx2cpu;
using namespace ptx2cpu::random_test;
namespace rs = ptx2cpu::random_sequences;
namespace fs = std::filesystem;

namespace {

constexpr size_t kShown = 40;

Result<std::vector<std::byte>> Interpret(const rs::Tree& tree) {
  const std::string text = rs::WriteModule(tree);
  const auto ptx = TRY(lowering::PtxModule::Parse(text, "sequences.ptx"));
  const Buffers buffers = TRY(InterpretAfter("ir").run(ptx, TRY(RunOf(text))));
  return buffers[0];
}

struct Comparing {
  size_t kernels = 0, sequences = 0, shown = 0;
  std::map<std::string, size_t> opcodes;  // of the first step of each sequence that differs

  // What the steps up to the differing one leave in registers, of one thread.
  void Show(const rs::Tree& tree, size_t sequence, size_t step, uint32_t thread, const std::string& threads) {
    rs::Tree alone = tree;
    alone.sequences = {tree.sequences[sequence]};
    alone.sequences[0].resize(step + 1);
    const rs::Step& last = alone.sequences[0].back();
    const std::string opcode = (last.guarded ? "guarded " : "") + last.instruction.opcode;
    if (++opcodes[opcode] > 2 || ++shown > kShown) return;
    std::printf("\nseed %lu, sequence %zu, step %zu (%s), threads%s; of thread %u:\n", tree.seed, sequence,
                step, opcode.c_str(), threads.c_str(), thread);
    alone.output = rs::Output::kValues;
    const auto values = Interpret(alone);
    size_t number = 0;
    for (const rs::Step& each : alone.sequences[0]) {
      std::printf("  %s:", each.instruction.opcode.c_str());
      for (const rs::Slot& slot : each.instruction.slots) {
        if (!slot.written || !values) continue;
        uint64_t value = 0;
        std::memcpy(&value, values->data() + 8 * (number++ * tree.threads + thread), 8);
        std::printf(" 0x%lx", value);
      }
      std::printf("\n");
    }
    alone.output = rs::Output::kHashes;
    std::printf("%s", rs::WriteModule(alone).c_str());
  }

  void Compare(const rs::Tree& tree, const std::vector<std::byte>& ours, const std::vector<std::byte>& gpu) {
    size_t at = 0;
    for (size_t i = 0; i < tree.sequences.size(); ++i) {
      bool differs = false;
      for (size_t s = 0; s < tree.sequences[i].size(); ++s, at += tree.threads) {
        std::string threads;
        uint32_t first = tree.threads;
        for (uint32_t t = 0; t < tree.threads && !differs; ++t) {
          if (ours[at + t] == gpu[at + t]) continue;
          threads += " " + std::to_string(t);
          first = std::min(first, t);
        }
        if (first == tree.threads) continue;
        differs = true;
        ++sequences;
        Show(tree, i, s, first, threads);
      }
    }
  }
};

}  // namespace

int main(int count, char** words) {
  if (count != 2) return std::fprintf(stderr, "usage: sequences_of_gpu FOLDER\n"), 2;
  Comparing comparing;
  for (const auto& entry : fs::directory_iterator(words[1])) {
    if (entry.path().extension() != ".gpu") continue;
    const std::string name = entry.path().stem();
    const uint64_t seed = std::stoull(name.substr(name.find('_') + 1));
    const rs::Tree tree = rs::Grow(seed, rs::Output::kTrace, rs::kSequences);
    const auto record = rt::ReadVectorRecord(entry.path());
    const auto ours = Interpret(tree);
    if (!record || !ours || record->value().buffers.empty()) {
      std::fprintf(stderr, "%s: cannot be compared\n", name.c_str());
      continue;
    }
    ++comparing.kernels;
    comparing.Compare(tree, *ours, record->value().buffers.begin()->second);
  }
  std::printf("\n%zu kernels of %u sequences compared, %zu sequences differ; first by opcode:\n",
              comparing.kernels, rs::kSequences, comparing.sequences);
  for (const auto& [opcode, times] : comparing.opcodes) std::printf("%6zu %s\n", times, opcode.c_str());
  return comparing.sequences == 0 ? 0 : 1;
}
