// Any bytes as textual IR: no crash, no hang; a text that parses prints to a text that parses to the same
// print, and the verifier accepts or refuses it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "ir/text/text.h"
#include "ir/verify/verify.h"

namespace {

// Most inputs die at the head of the module, so those that do not start with one are given one.
constexpr const char* kHead = "module \"m\" ptx 8.0 sm 80\nkernel @k () phase simt {\n";

void Require(bool holds, const char* what, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "%s\n%s\n", what, text.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ptx2cpu;
  std::string text(reinterpret_cast<const char*>(data), size);
  if (!text.starts_with("module")) text = kHead + text + "\n}\n";
  Result<ir::Module> module = ir::Parse(text, "fuzz.ir");
  if (!module) {
    Require(module.error().code == ErrorCode::kSyntax && module.error().at.line != 0,
            "an error without its place", text);
    Require(!module.error().Render().empty(), "an empty error", text);
    return 0;
  }
  std::string printed = ir::Print(*module);
  Result<ir::Module> again = ir::Parse(printed, "printed.ir");
  Require(again.has_value(), "the print does not parse", printed + (again ? "" : again.error().Render()));
  Require(ir::Print(*again) == printed, "the print of the print differs", printed);
  Status first = ir::Verify(*module), second = ir::Verify(*again);
  Require(first.has_value() == second.has_value(), "the verifier changes its mind", printed);
  Require(first || first.error().message == second.error().message, "the verifier changes its words",
          printed);
  return 0;
}
