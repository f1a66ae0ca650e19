#include "tests/ir/broken.h"

#include <catch2/catch.hpp>

#include "ir/verify/verify.h"
#include "tests/ir/sample_modules.h"

namespace ptx2cpu::test {

void CheckBroken(const ir::Module& module, const std::string& message) {
  INFO(ir::Print(module));
  Status status = ir::Verify(module);
  REQUIRE_FALSE(status);
  CHECK(status.error().code == ErrorCode::kInternal);
  CHECK_THAT(status.error().message, Catch::Contains(message));
}

std::string Around(const std::string& phase, const std::string& body) {
  return "module \"m\" ptx 8.0 sm 80\n"
         "variable shared @tile align 4 size 64 offset 0\n"
         "signature #0 (a: i32) -> (r: f32)\n"
         "declare function @f (a: i32, s: aggregate size 8) -> (r: aggregate size 16, v: i16) phase simt\n"
         "kernel @k () phase " +
         phase + " {\n" + body + "\n}\n";
}

void CheckAll(const std::string& phase, const std::vector<Broken>& cases) {
  for (const Broken& c : cases) CheckBroken(ParseOrFail(Around(phase, c.text)), c.message);
}

}  // namespace ptx2cpu::test
