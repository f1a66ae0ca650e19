// Parse, match and translate: no crash, and every translated kernel passes the verifier.
//
// The input's first byte selects what the rest is: PTX text, or choices from which a kernel is written with
// instructions of the PTX table: any row, any form, any words of its groups, operands of any kind, labels,
// guards, branches.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "ir/verify/verify.h"
#include "ptx-parser/match/table.h"
#include "ptx-parser/parse/parse.h"
#include "ptx-parser/translate/translate.h"

namespace {

using namespace ptx2cpu;

class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  size_t Below(size_t bound) {
    if (empty() || bound == 0) return 0;
    size_t value = data_[at_++];
    if (bound > 256 && !empty()) value = value * 256 + data_[at_++];
    return value % bound;
  }
  template <typename List>
  const auto& Of(const List& list) {
    return list[Below(std::size(list))];
  }

 private:
  const uint8_t* data_;
  size_t size_, at_ = 0;
};

constexpr const char* kHead =
    ".version 9.0\n.target sm_90\n.address_size 64\n"
    ".global .align 8 .b8 g[64];\n.const .align 4 .u32 c[2] = {1, 2};\n.shared .align 8 .b8 sh[64];\n"
    ".func (.param .b32 o) f(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; st.param.b32 [o], %x; ret; "
    "}\n"
    ".visible .entry k(.param .u64 p0, .param .align 4 .b8 p1[12]) {\n"
    ".reg .pred %p<3>; .reg .b8 %c<2>; .reg .b16 %h<3>; .reg .b32 %r<4>; .reg .f32 %f<3>; .reg .b64 %rd<3>; "
    ".reg .f64 %fd<3>;"
    ".reg .u32 %u<2>; .reg .s32 %s<2>; .reg .b128 %q<2>; .local .align 8 .b8 l[16]; .param .b32 a0; .param "
    ".b32 r0;\n"
    "T: .branchtargets L0, L1, L2;\nP: .callprototype (.param .b32 _) _ (.param .b32 _);\nL0:\n";

constexpr const char* kAtoms[] = {"%p0",
                                  "%p1",
                                  "%h0",
                                  "%h1",
                                  "%r0",
                                  "%r1",
                                  "%r2",
                                  "%f0",
                                  "%f1",
                                  "%rd0",
                                  "%rd1",
                                  "%fd0",
                                  "%fd1",
                                  "%u0",
                                  "%s1",
                                  "%c0",
                                  "%q0",
                                  "0",
                                  "1",
                                  "-1",
                                  "31",
                                  "0x80000000",
                                  "0f3F800000",
                                  "0d3FF0000000000000",
                                  "1.5",
                                  "%tid.x",
                                  "%laneid",
                                  "%clock64",
                                  "sh",
                                  "g+4",
                                  "l",
                                  "c",
                                  "p0",
                                  "a0",
                                  "f",
                                  "_",
                                  "!%p0",
                                  "%p0|%p1",
                                  "%r0|%p1",
                                  "{%r0, %r1}",
                                  "{%h0, %h1}",
                                  "{%f0, %f1, %r0, %r1}",
                                  "{%rd0, %rd1}",
                                  "L1",
                                  "T"};
constexpr const char* kAddresses[] = {"[%rd0]", "[%rd1+8]", "[%r0]", "[sh]", "[g+4]",     "[l+8]", "[c]",
                                      "[p0]",   "[p1+4]",   "[a0]",  "[r0]", "[%rd0+-4]", "[16]"};
constexpr const char* kFixed[] = {"bra L0;",
                                  "bra L1;",
                                  "bra L2;",
                                  "brx.idx %r0, T;",
                                  "ret;",
                                  "exit;",
                                  "trap;",
                                  "call (r0), f, (a0);",
                                  "call (r0), %rd0, (a0), P;",
                                  "call (%r0), f, (%r1);"};

std::string Operand(Choices& choices, const ptx::OperandSpec& spec) {
  if (spec.shape == ptx::OperandShape::kMemory && choices.Below(8) != 0) return choices.Of(kAddresses);
  if (spec.shape == ptx::OperandShape::kImmediate && choices.Below(8) != 0) return "16";
  return choices.Of(kAtoms);
}

std::string Instruction(Choices& choices) {
  if (choices.Below(8) == 0) return choices.Of(kFixed);
  const ptx::Row& row = choices.Of(ptx::Rows());
  const ptx::Form& form = choices.Of(row.forms);
  std::string text = form.base;
  for (const ptx::Element& element : form.elements) {
    if (element.optional && choices.Below(2) == 0) continue;
    text += "." + choices.Of(element.words);
  }
  for (size_t i = 0; i < form.operands.size(); ++i) {
    if (form.operands[i].optional && choices.Below(2) == 0) break;
    text += (i == 0 ? " " : ", ") + Operand(choices, form.operands[i]);
  }
  return text + ";";
}

// Instructions that the matcher refuses are left out, so that long kernels stay translatable.
bool Matches(const std::string& instruction) {
  auto module = ptx::Parse(std::string(kHead) + instruction + "\nL1: L2: ret;\n}\n", "one.ptx");
  return module && ptx::CheckInstructions(*module);
}

std::string KernelText(Choices& choices) {
  std::string body;
  bool has_l1 = false;
  for (int i = 0; i < 24 && !choices.empty(); ++i) {
    std::string instruction = Instruction(choices);
    if (!Matches(instruction)) continue;
    size_t guard = choices.Below(6);
    if (guard == 0) body += "@%p0 ";
    if (guard == 1) body += "@!%p1 ";
    body += instruction + "\n";
    if (!has_l1 && choices.Below(4) == 0) {
      body += "L1:\n";
      has_l1 = true;
    }
  }
  if (!has_l1) body += "L1:\n";
  return kHead + body + "L2: st.global.u32 [%rd0], %r0;\nret;\n}\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  Choices choices(data + 1, size - 1);
  std::string text =
      data[0] & 1 ? KernelText(choices) : std::string(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto module = ptx::Parse(std::move(text), "fuzz.ptx");
  if (!module) return 0;
  for (const std::string& kernel : ptx::ListKernels(*module)) {
    const auto translated = ptx::Translate(*module, kernel);
    if (!translated) {
      if (translated.error().code == ErrorCode::kInternal || translated.error().Render().empty())
        std::abort();
      continue;
    }
    if (const Status status = ir::Verify(*translated); !status) {
      std::fputs((status.error().Render() + *module->text).c_str(), stderr);
      std::abort();
    }
  }
  return 0;
}
