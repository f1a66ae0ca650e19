#include "tests/llvm/matrix_kernel.h"

namespace ptx2cpu::llvm_test {

std::string Kernel(const Form& form) {
  std::string text = kHead + R"(
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc)
{
  .reg .b32 %lane, %a<4>, %b<2>, %x<4>; .reg .f32 %c<4>; .reg .b64 %pa, %pb, %pc, %at;
  ld.param.u64 %pa, [pa];
  ld.param.u64 %pb, [pb];
  ld.param.u64 %pc, [pc];
  mov.u32 %lane, %tid.x;
  mul.wide.u32 %at, %lane, 4;
  add.s64 %pa, %pa, %at;
  add.s64 %pb, %pb, %at;
  add.s64 %pc, %pc, %at;
)";
  const std::string c = std::string(form.sum) == "f16" ? "x" : "c";
  auto list = [&](const std::string& name, uint32_t count) {
    std::string registers = "{";
    for (uint32_t n = 0; n < count; ++n) registers += (n == 0 ? "%" : ", %") + name + std::to_string(n);
    return registers + "}";
  };
  auto move = [&](const char* op, const std::string& name, const char* from, uint32_t count) {
    for (uint32_t n = 0; n < count; ++n) {
      const std::string place = "[%" + std::string(from) + "+" + std::to_string(n * kLanes * 4) + "]",
                        one = "%" + name + std::to_string(n);
      text +=
          "  " + std::string(op) + ".b32 " + (op[0] == 'l' ? one + ", " + place : place + ", " + one) + ";\n";
    }
  };
  move("ld.global", "a", "pa", form.a);
  move("ld.global", "b", "pb", form.b);
  move("ld.global", c, "pc", form.c);
  text += std::string("  mma.sync.aligned.") + form.shape + ".row.col." + form.sum + "." + form.factor + "." +
          form.factor + "." + form.sum + " " + list(c, form.c) + ", " + list("a", form.a) + ", " +
          list("b", form.b) + ", " + list(c, form.c) + ";\n";
  move("st.global", c, "pc", form.c);
  return text + "  ret;\n}\n";
}

}  // namespace ptx2cpu::llvm_test
