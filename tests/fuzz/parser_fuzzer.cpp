// Any bytes as PTX: no crash, no hang; and a text that parses prints to a text that parses to the same print.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "ptx-parser/parse/parse.h"
#include "ptx-parser/parse/print.h"

namespace {

// Most inputs die at the head of the module, so those that do not start with one are given one.
constexpr const char* kHead = ".version 8.5\n.target sm_90\n.address_size 64\n";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ptx2cpu;
  std::string text(reinterpret_cast<const char*>(data), size);
  if (!text.starts_with(".version")) text = kHead + text;
  const auto module = ptx::Parse(std::move(text), "fuzz.ptx");
  if (!module) {
    if (module.error().code == ErrorCode::kInternal || module.error().Render().empty()) std::abort();
    return 0;
  }
  const std::string printed = ptx::Print(*module);
  const auto again = ptx::Parse(printed, "printed.ptx");
  if (!again || ptx::Print(*again) != printed) std::abort();
  return 0;
}
