// Sequences as PTX.
#include <fmt/format.h>

#include "tests/random/sequences/inputs.h"
#include "tests/random/sequences/tree.h"

namespace ptx2cpu::random_sequences {

using ptx::PtxType;

namespace {

constexpr const char* kParts[] = {"", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};
constexpr uint32_t kFactor = 0x9E3779B1;

uint32_t OutputsOf(const Step& step) {
  uint32_t count = 0;
  for (const Slot& slot : step.instruction.slots) count += slot.written;
  return count;
}

uint32_t OutputWords(const Tree& tree) {
  uint32_t results = 0, steps = 0;
  for (const Sequence& sequence : tree.sequences) {
    steps += static_cast<uint32_t>(sequence.size());
    for (const Step& step : sequence) results += OutputsOf(step);
  }
  switch (tree.output) {
    case Output::kHashes:
      return tree.threads * static_cast<uint32_t>(tree.sequences.size());
    case Output::kTrace:
      return (tree.threads * steps + 3) / 4;
    case Output::kValues:
      return tree.threads * results * 2;
  }
  return 0;
}

class Writer {
 public:
  explicit Writer(const Tree& tree)
      : tree_(tree), table_(MakeTable(tree.seed)), small_(tree.sequences.size() == 1) {}

  // The inputs; of one sequence alone only those that it reads.
  const std::vector<uint32_t>& Inputs() const { return small_ ? read_ : table_; }

  std::string Run(const std::string& name) {
    Prologue();
    for (size_t i = 0; i < tree_.sequences.size(); ++i) {
      body_ += fmt::format("  // sequence {}\n", i);
      Write(tree_.sequences[i]);
      if (tree_.output != Output::kHashes) continue;
      Line("st.global.b32 [%out+{}], {}", 4 * tree_.threads * i, hash_);
    }
    std::string text = fmt::format("// seed {}\n.version 9.0\n.target {}\n.address_size 64\n\n", tree_.seed,
                                   tree_.newer ? "sm_100a" : "sm_90");
    text += fmt::format(".visible .entry {}(.param .u64 p_out, .param .u64 p_in)\n{{\n", name);
    text += "  .reg .b64 %out, %in, %in16, %in32, %in64;\n  .reg .b32 %lane;\n";
    for (const auto& [letter, bits] : kLetters) {
      if (const uint32_t count = counts_[bits / 16])
        text += fmt::format("  .reg .{} %{}<{}>;\n", bits == 1 ? "pred" : fmt::format("b{}", bits), letter,
                            count);
    }
    return text + body_ + "  ret;\n}\n";
  }

 private:
  static constexpr std::pair<char, uint8_t> kLetters[] = {{'p', 1}, {'h', 16}, {'r', 32}, {'d', 64}};

  template <typename... Words>
  void Line(fmt::format_string<Words...> format, Words&&... words) {
    body_ += "  " + fmt::format(format, std::forward<Words>(words)...) + ";\n";
  }

  std::string Reg(uint8_t bits) {
    for (const auto& [letter, width] : kLetters) {
      if (width == bits) return fmt::format("%{}{}", letter, counts_[bits / 16]++);
    }
    return "";
  }

  void Prologue() {
    Line("mov.u32 %lane, %tid.x");
    Line("ld.param.u64 %out, [p_out]");
    Line("ld.param.u64 %in, [p_in]");
    for (const uint32_t bytes : {2, 4, 8}) Line("mad.wide.u32 %in{}, %lane, {}, %in", 8 * bytes, bytes);
    const uint32_t bytes[] = {4, 1, 8};
    Line("mad.wide.u32 %out, %lane, {}, %out", bytes[static_cast<size_t>(tree_.output)]);
  }

  std::string Load(uint8_t bits, uint32_t element) {
    const std::string value = Reg(bits);
    const uint32_t offset = TableOffset(bits) + element * bits / 8;
    Line("ld.global.b{} {}, [%in{}+{}]", bits, value, bits, small_ ? Keep(offset, bits) : offset);
    return value;
  }

  // Where the elements of all threads from an offset of the table on are in a smaller table.
  uint32_t Keep(uint32_t offset, uint8_t bits) {
    if (read_.size() % 2 != 0) read_.push_back(0);
    const uint32_t at = 4 * static_cast<uint32_t>(read_.size());
    const uint32_t first = offset / 4, last = (offset + tree_.threads * bits / 8 + 3) / 4;
    for (uint32_t word = first; word < last; ++word) read_.push_back(table_[word]);
    return at + offset % 4;
  }

  static std::string Constant(const Operand& operand, const Slot& slot) {
    if (slot.type == PtxType::kF32) return fmt::format("0f{:08X}", operand.value);
    if (slot.type == PtxType::kF64) return fmt::format("0d{:016X}", operand.value);
    return fmt::format("0x{:x}", operand.value);
  }

  std::string Register(const Operand& operand) {
    if (operand.from == Operand::From::kResult) return results_[operand.step][operand.slot];
    if (operand.bits != 1) return Load(operand.bits, operand.element);
    const std::string value = Load(32, operand.element), holds = Reg(1);
    Line("setp.lt.s32 {}, {}, 0", holds, value);
    return holds;
  }

  std::string Read(const Operand& operand, const Slot& slot) {
    if (slot.members) return "0xffffffff";
    if (operand.from == Operand::From::kConstant) return Constant(operand, slot);
    return (operand.negated ? "!" : "") + Register(operand) + kParts[operand.part];
  }

  // -- one step --

  void Write(const Sequence& sequence) {
    results_.clear();
    hash_.clear();
    carry_ = false;
    std::vector<std::vector<bool>> read = Readers(sequence);
    for (size_t s = 0; s < sequence.size(); ++s) {
      const Step& step = sequence[s];
      if (step.instruction.reads_carry && !carry_) SetCarry();
      carry_ |= step.instruction.writes_carry;
      Execute(step);
      Store(step, read[s]);
    }
  }

  // Which results later steps read.
  static std::vector<std::vector<bool>> Readers(const Sequence& sequence) {
    std::vector<std::vector<bool>> read;
    for (const Step& step : sequence) read.emplace_back(step.operands.size());
    const auto mark = [&](const Operand& operand) {
      if (operand.from == Operand::From::kResult) read[operand.step][operand.slot] = true;
    };
    for (const Step& step : sequence) {
      for (size_t i = 0; i < step.operands.size(); ++i) {
        if (!step.instruction.slots[i].written) mark(step.operands[i]);
      }
      if (!step.guarded) continue;
      mark(step.guard);
      for (size_t i = 0; i < step.otherwise.size(); ++i) {
        if (step.instruction.slots[i].written) mark(step.otherwise[i]);
      }
    }
    return read;
  }

  void SetCarry() {
    const std::string value = Load(32, 5);
    Line("add.cc.u32 {}, {}, {}", Reg(32), value, value);
    carry_ = true;
  }

  void Execute(const Step& step) {
    const Template& instruction = step.instruction;
    std::vector<std::string> results(step.operands.size());
    std::string list, guard;
    if (step.guarded) guard = fmt::format("@{}{} ", step.guard.negated ? "!" : "", Register(step.guard));
    for (size_t i = 0; i < step.operands.size(); ++i) {
      const Slot& slot = instruction.slots[i];
      const Operand& operand = step.operands[i];
      std::string text;
      if (slot.written) {
        text = results[i] = Reg(operand.bits);
        text += kParts[operand.part];
        if (step.guarded)
          Line("mov.{} {}, {}", operand.bits == 1 ? "pred" : fmt::format("b{}", operand.bits), results[i],
               Register(step.otherwise[i]));
      } else {
        text = Read(operand, slot);
      }
      list += slot.before + text + slot.after;
    }
    Line("{}{} {}", guard, instruction.opcode, list);
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].empty() || instruction.moves) continue;
      results[i] = Defined(instruction, results[i], instruction.slots[i].type);
    }
    results_.push_back(std::move(results));
  }

  // -- results whose bits are defined --

  std::string Defined(const Template& instruction, const std::string& value, PtxType type) {
    if (type == PtxType::kF32x2 ||
        (instruction.approximate && (type == PtxType::kF16x2 || type == PtxType::kBF16x2)))
      return OfHalves(instruction, value, type);
    const std::string one = OneNan(value, type);
    const bool differs = instruction.bounded || (instruction.approximate && tree_.output == Output::kTrace);
    return differs ? WithoutNumbers(one, type) : one;
  }

  std::string OfHalves(const Template& instruction, const std::string& value, PtxType type) {
    const auto whole = static_cast<uint8_t>(ptx::Bits(type)), bits = static_cast<uint8_t>(whole / 2);
    const PtxType half = type == PtxType::kF32x2   ? PtxType::kF32
                         : type == PtxType::kF16x2 ? PtxType::kF16
                                                   : PtxType::kBF16;
    const std::string low = Reg(bits), high = Reg(bits);
    Line("mov.b{} {{{}, {}}}, {}", whole, low, high, value);
    const std::string first = Defined(instruction, low, half), second = Defined(instruction, high, half);
    return Into(whole, fmt::format("mov.b{}", whole), fmt::format("{{{}, {}}}", first, second));
  }

  // The bits of a NaN that was computed are not.
  std::string OneNan(const std::string& value, PtxType type) {
    if (type == PtxType::kF16x2 || type == PtxType::kBF16x2)
      return Into(32, fmt::format("max.NaN.{}", ptx::Name(type)), value + ", " + value);
    if (type == PtxType::kTF32) return Selected("0x7fffffff", value, PtxType::kF32);
    if (type == PtxType::kF16 || type == PtxType::kBF16) return Selected("0x7fff", value, type);
    if (type == PtxType::kF32) return Selected("0x7fffffff", value, type);
    if (type == PtxType::kF64) return Selected("0x7fffffffffffffff", value, type);
    return value;
  }

  std::string Selected(const char* nan, const std::string& value, PtxType type) {
    const std::string is_nan = Reg(1);
    Line("setp.nan.{} {}, {}, {}", ptx::Name(type), is_nan, value, value);
    return Into(static_cast<uint8_t>(ptx::Bits(type)), fmt::format("selp.b{}", ptx::Bits(type)),
                fmt::format("{}, {}, {}", nan, value, is_nan));
  }

  // Another approximation is another number; which results are infinities or NaN is defined.
  std::string WithoutNumbers(const std::string& value, PtxType type) {
    const auto bits = static_cast<uint8_t>(ptx::Bits(type));
    const char* infinity = type == PtxType::kF64   ? "0x7ff0000000000000"
                           : type == PtxType::kF16 ? "0x7c00"
                           : bits == 16            ? "0x7f80"
                                                   : "0x7f800000";
    const std::string exponent = Into(bits, fmt::format("and.b{}", bits), value + ", " + infinity);
    const std::string is_none = Reg(1);
    Line("setp.eq.b{} {}, {}, {}", bits, is_none, exponent, infinity);
    return Into(bits, fmt::format("selp.b{}", bits), fmt::format("{}, 0, {}", value, is_none));
  }

  std::string Into(uint8_t bits, const std::string& opcode, const std::string& operands) {
    const std::string result = Reg(bits);
    Line("{} {}, {}", opcode, result, operands);
    return result;
  }

  // -- what is stored --

  void Store(const Step& step, const std::vector<bool>& read) {
    const std::vector<std::string>& results = results_.back();
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].empty()) continue;
      const uint8_t bits = step.operands[i].bits;
      if (tree_.output == Output::kValues) {
        const std::string wide = bits == 64 ? results[i] : Into(64, "cvt.u64.u32", Word(results[i], bits));
        Line("st.global.b64 [%out+{}], {}", 8 * tree_.threads * stored_++, wide);
      } else if (tree_.output == Output::kTrace || !read[i] || step.shown) {
        Mix(results[i], bits);
      }
    }
    if (tree_.output != Output::kTrace) return;
    const std::string high =
        Into(32, "shr.u32", Into(32, "mul.lo.u32", fmt::format("{}, {}", hash_, kFactor)) + ", 24");
    Line("st.global.b8 [%out+{}], {}", tree_.threads * stored_++, high);
    hash_.clear();
  }

  std::string Word(const std::string& value, uint8_t bits) {
    if (bits == 1) return Into(32, "selp.b32", "1, 0, " + value);
    return bits == 16 ? Into(32, "cvt.u32.u16", value) : value;
  }

  void Mix(const std::string& value, uint8_t bits) {
    if (bits != 64) return MixWord(Word(value, bits));
    const std::string low = Reg(32), high = Reg(32);
    Line("mov.b64 {{{}, {}}}, {}", low, high, value);
    MixWord(low);
    MixWord(high);
  }

  void MixWord(const std::string& word) {
    hash_ = hash_.empty() ? word : Into(32, "mad.lo.u32", fmt::format("{}, {}, {}", hash_, kFactor, word));
  }

  const Tree& tree_;
  const std::vector<uint32_t> table_;
  const bool small_;
  std::vector<uint32_t> read_;
  std::string body_, hash_;
  std::vector<std::vector<std::string>> results_;  // registers, by step and operand
  uint32_t counts_[5] = {}, stored_ = 0;           // counts by width / 16
  bool carry_ = false;
};

}  // namespace

std::string WriteModule(const Tree& tree, const std::string& name) {
  Writer writer(tree);
  const std::string text = writer.Run(name);
  std::string table;
  for (const uint32_t word : writer.Inputs())
    table += fmt::format("{}0x{:x}", table.empty() ? "" : ",", word);
  return text + fmt::format("// run: {} block={} compare=bits out:u32:{} in:b32:[{}]\n", name, tree.threads,
                            OutputWords(tree), table);
}

}  // namespace ptx2cpu::random_sequences
