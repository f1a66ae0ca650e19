#include "tools/vectors/kernel_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/record/edges.h"

namespace ptx2cpu::vectors {

using namespace ptx;

namespace {

// How an operand of a type travels between memory and a register.
struct Lane {
  std::string reg;   // register type: "b32"
  std::string load;  // memory type of ld: "u8" is widened
  std::string spec;  // SPEC type of the buffer
  int elements = 1;  // SPEC elements per thread
  int bytes = 4;     // bytes per thread
};

std::optional<Lane> LaneOf(PtxType type) {
  const TypeInfo& info = Info(type);
  const std::string word(info.word);
  if (type == PtxType::kPred) return Lane{"pred", "b32", "b32", 1, 4};
  if (type == PtxType::kTF32) return Lane{"b32", "b32", "f32", 1, 4};
  if (info.kind == TypeKind::kNarrow) {
    if (info.bits() == 16) return Lane{"b16", "b16", "b16", 1, 2};
    return std::nullopt;  // needs 8-bit registers
  }
  if (info.kind == TypeKind::kOpaque || info.bits() > 64 || info.kind == TypeKind::kNone) return std::nullopt;
  if (info.bits() == 8)
    return Lane{"b32", info.kind == TypeKind::kSigned ? "s8" : "u8",
                info.kind == TypeKind::kSigned ? "s8" : "u8", 1, 1};
  const std::string bits = fmt::format("b{}", info.bits());
  if (info.elements == 2) {
    return Lane{bits, bits, std::string(word.substr(0, word.size() - 2)), 2, info.bits() / 8};
  }
  return Lane{bits, bits, word, 1, info.bits() / 8};
}

struct Input {
  std::string parameter;
  Lane lane;
  bool is_predicate = false;
};
struct Output {
  std::string parameter;
  Lane lane;
  bool is_float = false;
};

// Tolerances of approximate instructions against a GPU, from the bounds the manual states for either side.
std::string RuleFor(const Row& row, const std::string& opcode, bool is_float) {
  const std::string_view name = row.name;
  const bool f64 = opcode.ends_with("f64");
  if (name == "cvt_tf32") return "value";  // the low bits of a NaN are free
  if (!is_float) return "bits";
  if (name == "tanh_half" || name == "ex2_half") return "near:0:2";
  if (name == "tanh") return "near:0:8192";  // relative 2^-11
  if (name == "sin" || name == "cos")
    return "near:2e-6:0";  // absolute 2^-20.5, twice, and the range reduction
  if (name == "lg2") return "near:6e-7:4";
  if (name == "ex2" || name == "rsqrt" || opcode.find("approx") != std::string::npos ||
      opcode.find(".full") != std::string::npos) {
    return f64 ? "near:0:17179869184" : "near:0:4";  // f64: relative 2^-20
  }
  return "value";
}

bool NeedsSmallArguments(const Row& row) { return row.name == "sin" || row.name == "cos"; }

// The carry chain rows read or write CC.CF: lines before set it from an input, lines after store it.
struct CarryFrame {
  bool reads = false, writes = false;
};
CarryFrame CarryOf(const Row& row, const std::string& opcode) {
  CarryFrame frame;
  if (row.family != "extended_precision") return frame;
  frame.reads = row.name == "addc" || row.name == "subc" || row.name == "madc";
  frame.writes = opcode.find(".cc") != std::string::npos;
  return frame;
}

// Immediate operands of value rows are truth tables (lop3).
constexpr const char* kTruthTables[] = {"0x80", "0xe8", "0x96", "0x1b", "0x40"};

class KernelWriter {
 public:
  KernelWriter(const Row& row, std::string opcode, size_t number)
      : row_(row), opcode_(std::move(opcode)), number_(number) {}

  bool AddOperand(const OperandSpec& spec, const Modifiers& modifiers) {
    const PtxType type = TypeOf(spec, modifiers);
    switch (spec.shape) {
      case OperandShape::kImmediate:
        text_.push_back(kTruthTables[number_ % std::size(kTruthTables)]);
        return true;
      case OperandShape::kPredicate:
        text_.push_back((number_ % 2 ? "!" : "") + AddInput(*LaneOf(PtxType::kPred)));
        return true;
      case OperandShape::kPair:
      case OperandShape::kMaybePair: {
        const auto lane = LaneOf(type);
        if (!lane) return false;
        const std::string first = AddOutput(*lane, IsFloat(type));
        text_.push_back(first + "|" + AddOutput(*LaneOf(PtxType::kPred), false));
        return true;
      }
      case OperandShape::kValue:
      case OperandShape::kMovable:
      case OperandShape::kReadable: {
        const auto lane = LaneOf(type);
        if (!lane) return false;
        text_.push_back(spec.written ? AddOutput(*lane, IsFloat(type)) : AddInput(*lane));
        return true;
      }
      case OperandShape::kVectorOfVec:
      case OperandShape::kVectorOf:
      case OperandShape::kWords:
      case OperandShape::kMemory:
      case OperandShape::kAddress:
      case OperandShape::kLabel:
      case OperandShape::kTargetList:
      case OperandShape::kPart:
      case OperandShape::kParts:
      case OperandShape::kAnything:
      case OperandShape::kRest:
        break;
    }
    return false;
  }

  TestKernel Finish() {
    const CarryFrame carry = CarryOf(row_, opcode_);
    const std::string word = opcode_.substr(opcode_.rfind('.') + 1);  // u32, s64 ...
    if (carry.reads) carry_in_ = AddInput(*LaneOf(FindType(word)));
    if (carry.writes) carry_out_ = AddOutput(*LaneOf(FindType(word)), false);
    TestKernel kernel;
    kernel.name = fmt::format("{}_{}", row_.name, number_);
    kernel.ptx = Text(kernel.name, carry, word);
    kernel.runs = Runs(kernel.name);
    return kernel;
  }

 private:
  std::string AddInput(const Lane& lane) {
    inputs_.push_back({fmt::format("in{}", inputs_.size()), lane, lane.reg == "pred"});
    return "%" + inputs_.back().parameter;
  }
  std::string AddOutput(Lane lane, bool is_float) {
    if (lane.bytes == 1)
      lane = {"b32", "b32", "b32", 1, 4};  // the complete register: shows how it was extended
    outputs_.push_back({fmt::format("out{}", outputs_.size()), lane, is_float});
    return "%" + outputs_.back().parameter;
  }

  std::string Text(const std::string& name, const CarryFrame& carry, const std::string& word) const {
    std::string parameters;
    for (const Output& output : outputs_)
      parameters += fmt::format("{}.param .u64 p_{}", parameters.empty() ? "" : ", ", output.parameter);
    for (const Input& input : inputs_) parameters += fmt::format(", .param .u64 p_{}", input.parameter);
    std::string body = "  .reg .b64 %at;\n  .reg .b32 %i, %flag;\n  mov.u32 %i, %tid.x;\n";
    for (const Input& input : inputs_) {
      body += fmt::format("  .reg .{} %{};\n  ld.param.u64 %at, [p_{}];\n  mad.wide.u32 %at, %i, {}, %at;\n",
                          input.lane.reg, input.parameter, input.parameter, input.lane.bytes);
      if (input.is_predicate)
        body += fmt::format("  ld.global.b32 %flag, [%at];\n  setp.ne.b32 %{}, %flag, 0;\n", input.parameter);
      else
        body += fmt::format("  ld.global.{} %{}, [%at];\n", input.lane.load, input.parameter);
    }
    for (const Output& output : outputs_)
      body += fmt::format("  .reg .{} %{};\n", output.lane.reg, output.parameter);
    if (carry.reads) {
      // Bit 0 of the input becomes the carry (add_) or the borrow (sub_).
      const std::string bits = fmt::format("b{}", word.substr(1));
      body += fmt::format("  .reg .{0} %one, %dead;\n  and.{0} %one, {1}, 1;\n", bits, carry_in_);
      body += row_.name == "subc" ? fmt::format("  sub.cc.{0} %dead, 0, %one;\n", word)
                                  : fmt::format("  add.cc.{0} %dead, %one, -1;\n", word);
    }
    body += fmt::format("  {} ", opcode_);
    for (size_t i = 0; i < text_.size(); ++i) body += fmt::format("{}{}", i == 0 ? "" : ", ", text_[i]);
    body += ";\n";
    if (carry.writes)
      body += fmt::format("  {}.{} {}, 0, 0;\n", row_.name.starts_with("sub") ? "subc" : "addc", word,
                          carry_out_);
    for (const Output& output : outputs_) {
      body += fmt::format("  ld.param.u64 %at, [p_{}];\n  mad.wide.u32 %at, %i, {}, %at;\n", output.parameter,
                          output.lane.bytes);
      if (output.lane.reg == "pred")
        body +=
            fmt::format("  selp.b32 %flag, 1, 0, %{};\n  st.global.b32 [%at], %flag;\n", output.parameter);
      else
        body += fmt::format("  st.global.b{} [%at], %{};\n", output.lane.bytes * 8, output.parameter);
    }
    return fmt::format(".visible .entry {}({})\n{{\n{}  ret;\n}}\n", name, parameters, body);
  }

  std::string Runs(const std::string& name) const {
    const size_t values =
        std::count_if(inputs_.begin(), inputs_.end(), [](const Input& input) { return !input.is_predicate; });
    std::string text;
    const auto line = [&](size_t threads, auto&& generator) {
      text += fmt::format(
          "// run: {} block={} compare={}", name, threads,
          RuleFor(row_, opcode_,
                  std::any_of(outputs_.begin(), outputs_.end(), [](const Output& o) { return o.is_float; })));
      for (const Output& output : outputs_)
        text +=
            fmt::format(" out:{}:{}", output.lane.spec, threads * static_cast<size_t>(output.lane.elements));
      size_t index = 0, stride = 1;
      for (const Input& input : inputs_)
        text += fmt::format(" in:{}:{}", input.lane.spec, generator(input, index++, stride));
      text += "\n";
    };
    // Two inputs meet in every pair of edge values; three or more, and comparisons (whose forms are many),
    // use fewer.
    const bool few = values >= 3 || row_.family == "compare_select" || row_.name.starts_with("set");
    size_t most = 1;
    for (const Input& input : inputs_)
      most = std::max(most, rt::EdgeBits(*rt::FindScalarType(input.lane.spec), few).size());
    size_t threads = 1;
    for (size_t i = 0; i < std::min<size_t>(values, 3); ++i) threads *= most;
    if (!NeedsSmallArguments(row_)) {
      line(threads, [&](const Input& input, size_t index, size_t& stride) {
        const size_t count = threads * static_cast<size_t>(input.lane.elements);
        if (input.is_predicate) return fmt::format("gen(bits,{},{})", count, 77 + index);
        std::string generator = fmt::format("gen({},{},{})", few ? "fewedges" : "edges", count, stride);
        stride *= most;
        return generator;
      });
    }
    line(64, [&](const Input& input, size_t index, size_t&) {
      const size_t count = 64 * static_cast<size_t>(input.lane.elements);
      const bool is_float = input.lane.spec.find('f') != std::string::npos;
      if (input.is_predicate || !is_float)
        return fmt::format("gen(bits,{},{})", count, 1000 * index + number_);
      if (NeedsSmallArguments(row_))
        return fmt::format("gen(uniform,{},{},-6.2831853,6.2831853)", count, 1000 * index + number_);
      return fmt::format("gen(uniform,{},{},-8,8)", count, 1000 * index + number_);
    });
    return text;
  }

  const Row& row_;
  const std::string opcode_;
  const size_t number_;
  std::vector<std::string> text_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::string carry_in_, carry_out_;
};

}  // namespace

std::optional<TestKernel> MakeKernel(const Row& row, const Form& form, const Choice& choice, size_t number) {
  std::string opcode = form.base;
  std::vector<std::string> words;
  for (const std::string& word : choice) {
    if (word.empty()) continue;
    opcode += "." + word;
    words.push_back(word);
  }
  std::vector<std::string_view> views(words.begin(), words.end());
  Modifiers modifiers;
  size_t offending = 0;
  std::string missing;
  if (!FitModifiers(views, form, modifiers, offending, missing)) return std::nullopt;
  KernelWriter writer(row, opcode, number);
  for (const OperandSpec& operand : form.operands) {
    if (operand.optional) continue;
    if (!writer.AddOperand(operand, modifiers)) return std::nullopt;
  }
  TestKernel kernel = writer.Finish();
  kernel.ptx = fmt::format("// {}\n", opcode) + kernel.ptx;
  kernel.form = &form;
  kernel.choice = choice;
  return kernel;
}

}  // namespace ptx2cpu::vectors
