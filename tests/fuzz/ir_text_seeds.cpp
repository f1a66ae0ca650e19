// ir_text_seeds DIRECTORY: writes seeds for ir_text_fuzzer there, and its dictionary to standard output.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "ir/text/text.h"
#include "tests/ir/sample_modules.h"

using namespace ptx2cpu;

namespace {

template <typename Enum>
void PrintWords() {
  for (int i = 0; i < ir::kCountOf<Enum>; ++i) fmt::print("\"{}\"\n", ir::Name(static_cast<Enum>(i)));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    fmt::print(stderr, "usage: ir_text_seeds DIRECTORY > DICTIONARY\n");
    return 2;
  }
  std::filesystem::path directory = arguments[1];
  std::filesystem::create_directories(directory);
  int number = 0;
  for (const char* sample :
       {test::kSimtSample, test::kSplitSample, test::kCollapsedSample, test::kFlatSample}) {
    std::ofstream(directory / fmt::format("sample{}.ir", number++)) << sample;
  }
  for (size_t i = 0; i < static_cast<size_t>(ir::Opcode::kCount); ++i) {
    std::string_view mnemonic = ir::Info(static_cast<ir::Opcode>(i)).mnemonic;
    fmt::print("\"{}\"\n", mnemonic);
    std::ofstream(directory / fmt::format("{}.ir", mnemonic)) << fmt::format(
        "^b:\n  %a = undef i32\n  %c = {} i32 from i32 %a, %a {{ftz}} ; ptx 3\n  ret", mnemonic);
  }
#define ATTRIBUTE(type, member, field, presence) PrintWords<ir::type>();
#include "ir/attributes.def"
  for (const char* word :
       {"function", "declare", "aggregate", "relocation", "signature", "variable", "entry", "addend",
        "noreturn", "required_cluster", "phase collapsed", "phase split", "src 1:", "bit31"}) {
    fmt::print("\"{}\"\n", word);
  }
  return 0;
}
