#include "tests/translate/run_ptx.h"

namespace ptx2cpu::ptx::test {

std::string Kernel(std::string_view body, std::string_view before) {
  return Header(std::string(before) +
                ".visible .entry k(.param .u64 p) {\n"
                ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<20>; .reg .f32 %f<12>; .reg .b64 %rd<16>; "
                ".reg .f64 %fd<8>;\n"
                "ld.param.u64 %rd1, [p];\nmov.u32 %r0, %tid.x;\n" +
                std::string(body) + "\nret;\n}\n");
}

ir::Module TranslateText(std::string text, std::string_view kernel) {
  Result<ast::Module> tree = Parse(std::move(text), "test.ptx");
  if (!tree) FAIL(tree.error().Render());
  Result<ir::Module> module = Translate(*tree, kernel);
  if (!module) FAIL(module.error().Render());
  Status status = ir::Verify(*module);
  if (!status) FAIL(status.error().Render() << "\n" << ir::Print(*module));
  return std::move(*module);
}

Error TranslateError(std::string text, std::string_view kernel) {
  Result<ast::Module> tree = Parse(std::move(text), "test.ptx");
  if (!tree) FAIL(tree.error().Render());
  Result<ir::Module> module = Translate(*tree, kernel);
  if (module) FAIL("translated, but should not:\n" << ir::Print(*module));
  return module.error();
}

}  // namespace ptx2cpu::ptx::test
