// Random sequences, and smaller ones.
#include <algorithm>

#include "tests/random/sequences/inputs.h"
#include "tests/random/sequences/tree.h"

namespace ptx2cpu::random_sequences {

namespace {

class Grower {
 public:
  Grower(RandomWords& random, const Tree& tree) : random_(random), tree_(tree) {}

  Sequence Run() {
    const size_t steps = 4 + random_.Below(9);
    bool carry = false;  // of the step before
    while (sequence_.size() < steps) {
      Template instruction =
          DrawTemplate(random_, {.newer = tree_.newer, .for_gpu = tree_.output == Output::kTrace});
      if (instruction.of_warp && !tree_.of_warps) continue;
      if (carry && !instruction.reads_carry && !random_.Chance(60)) continue;
      carry = instruction.writes_carry;
      Add(std::move(instruction));
    }
    return std::move(sequence_);
  }

  Sequence Run(const Template& instruction) {
    Add(instruction);
    return std::move(sequence_);
  }

 private:
  void Add(Template instruction) {
    Step step;
    bool reads_register = false;
    for (const Slot& slot : instruction.slots) {
      const bool may = reads_register || &slot != LastRead(instruction);
      step.operands.push_back(slot.written ? Written(slot) : Read(slot, may));
      reads_register |= !slot.written && step.operands.back().from != Operand::From::kConstant;
    }
    if (MayBeGuarded(instruction) && random_.Chance(8)) {
      step.guarded = true;
      step.guard = Register(ptx::PtxType::kPred, 1);
      step.guard.negated = random_.Chance(2);
      for (const Operand& operand : step.operands)
        step.otherwise.push_back(Register(ptx::PtxType::kNone, operand.bits));
    }
    step.shown = random_.Chance(4);
    step.instruction = std::move(instruction);
    sequence_.push_back(std::move(step));
  }

  bool MayBeGuarded(const Template& instruction) const {
    if (instruction.of_warp || instruction.reads_carry || instruction.writes_carry) return false;
    return tree_.output != Output::kTrace || !instruction.loses_guard;
  }

  // An instruction of constants alone would be no instruction: its last operand is no constant then.
  static const Slot* LastRead(const Template& instruction) {
    const Slot* last = nullptr;
    for (const Slot& slot : instruction.slots) {
      if (!slot.written && !slot.constant && !slot.members) last = &slot;
    }
    return last;
  }

  uint8_t DrawBits(const Slot& slot) {
    if (!slot.wider || slot.bits >= 64 || !random_.Chance(3)) return slot.bits;
    // 8 bits may also be in a register of 16.
    if (ptx::Bits(slot.type) == 8 && random_.Chance(2)) return 16;
    return random_.Chance(2) ? 64 : 32;
  }

  uint8_t DrawPart(bool stated) {
    if (!stated && random_.Chance(2)) return 0;
    return static_cast<uint8_t>(1 + random_.Below(6));
  }

  Operand Written(const Slot& slot) {
    return {.from = Operand::From::kResult,
            .bits = DrawBits(slot),
            .part = slot.states_part ? DrawPart(true) : uint8_t{0}};
  }

  Operand Read(const Slot& slot, bool may_be_constant) {
    if (slot.members) return {.bits = slot.bits};
    const bool takes = slot.takes_number && may_be_constant;
    if (slot.constant || (takes && random_.Chance(8))) {
      Operand constant{.from = Operand::From::kConstant, .bits = slot.bits};
      constant.value = slot.constant ? random_.Below(256) : DrawConstant(random_, slot.type);
      if (slot.constant || slot.rule == nullptr || slot.rule->Allows(static_cast<int64_t>(constant.value)))
        return constant;
    }
    Operand operand = Register(slot.type, DrawBits(slot));
    operand.negated = slot.negatable && random_.Chance(2);
    if (slot.part) operand.part = DrawPart(false);
    return operand;
  }

  // A result of an earlier step, or an input.
  Operand Register(ptx::PtxType type, uint8_t bits) {
    std::vector<Operand> results;
    for (uint32_t s = 0; s < sequence_.size(); ++s) {
      const Step& step = sequence_[s];
      for (uint32_t i = 0; i < step.operands.size(); ++i) {
        if (!step.instruction.slots[i].written || step.operands[i].bits != bits) continue;
        // Later ones more often.
        for (uint32_t again = s + 1 == sequence_.size() ? 3 : 1; again != 0; --again)
          results.push_back({.from = Operand::From::kResult, .step = s, .slot = i, .bits = bits});
      }
    }
    if (!results.empty() && !random_.Chance(4)) return results[random_.Below(results.size())];
    Operand input{.from = Operand::From::kInput, .bits = bits};
    input.element = DrawElement(random_, type, bits == 1 ? uint8_t{32} : bits);
    return input;
  }

  RandomWords& random_;
  const Tree& tree_;
  Sequence sequence_;
};

// RandomWords of neighbouring seeds are one stream from different places on: sequences must not repeat.
uint64_t Scattered(uint64_t seed) {
  RandomWords words(seed);
  const uint64_t high = words.Word();
  return high << 32 | words.Word();
}

// Without a step: the steps that read it read an input of its width instead.
Sequence Without(const Sequence& sequence, uint32_t dropped) {
  Sequence smaller;
  const auto change = [&](Operand& operand) {
    if (operand.from != Operand::From::kResult) return;
    if (operand.step == dropped) {
      operand.from = Operand::From::kInput;
      operand.element = 17 * dropped % 64;
    } else if (operand.step > dropped) {
      --operand.step;
    }
  };
  for (uint32_t s = 0; s < sequence.size(); ++s) {
    if (s == dropped) continue;
    smaller.push_back(sequence[s]);
    Step& step = smaller.back();
    for (size_t i = 0; i < step.operands.size(); ++i) {
      if (!step.instruction.slots[i].written) change(step.operands[i]);
    }
    change(step.guard);
    for (Operand& operand : step.otherwise) change(operand);
  }
  return smaller;
}

}  // namespace

Tree Grow(uint64_t seed, Output output, uint32_t sequences) {
  constexpr uint32_t kThreads[] = {32, 40, 64, 37, 33};
  Tree tree{.seed = seed, .threads = 32, .of_warps = true, .output = output, .sequences = {}};
  if (output == Output::kHashes) {
    tree.of_warps = seed % 8 == 1;
    if (!tree.of_warps) tree.threads = kThreads[seed % std::size(kThreads)];
    tree.newer = seed % 4 == 3;
  }
  RandomWords random(Scattered(seed));
  for (uint32_t i = 0; i < sequences; ++i) tree.sequences.push_back(Grower(random, tree).Run());
  return tree;
}

Tree GrowEach(uint64_t seed, const std::vector<Template>& opcodes) {
  Tree tree{.seed = seed, .threads = 32, .of_warps = true, .output = Output::kHashes, .sequences = {}};
  RandomWords random(Scattered(seed));
  for (const Template& opcode : opcodes) {
    tree.newer |= opcode.newer;
    tree.sequences.push_back(Grower(random, tree).Run(opcode));
  }
  return tree;
}

Tree Reduce(Tree tree, bool (*keep)(const Tree&, void*), void* context) {
  const auto try_sequences = [&](std::vector<Sequence> smaller) {
    Tree candidate = tree;
    candidate.sequences = std::move(smaller);
    if (candidate.sequences.empty() || !keep(candidate, context)) return false;
    tree = std::move(candidate);
    return true;
  };
  for (bool halved = true; halved && tree.sequences.size() > 1;) {
    const auto middle = tree.sequences.begin() + static_cast<ptrdiff_t>(tree.sequences.size() / 2);
    halved = try_sequences({tree.sequences.begin(), middle}) || try_sequences({middle, tree.sequences.end()});
  }
  for (size_t i = tree.sequences.size(); i-- > 0 && tree.sequences.size() > 1;) {
    auto smaller = tree.sequences;
    smaller.erase(smaller.begin() + static_cast<ptrdiff_t>(i));
    try_sequences(std::move(smaller));
  }
  for (size_t i = 0; i < tree.sequences.size(); ++i) {
    for (uint32_t s = static_cast<uint32_t>(tree.sequences[i].size()); s-- > 0;) {
      auto smaller = tree.sequences;
      smaller[i] = Without(smaller[i], s);
      if (!smaller[i].empty()) try_sequences(std::move(smaller));
    }
  }
  return tree;
}

size_t CountNodes(const Tree& tree) {
  size_t count = 0;
  for (const Sequence& sequence : tree.sequences) count += sequence.size();
  return count;
}

}  // namespace ptx2cpu::random_sequences
