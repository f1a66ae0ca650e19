// Rows ask for modifiers by spelling: every word and group they ask for must be one of the PTX table.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "ptx-parser/match/table.h"

namespace ptx2cpu::ptx::test {
namespace {

TEST_CASE("words that translation asks for are words of the table") {
  std::set<std::string> words, groups;
  for (const Row& row : Rows()) {
    for (const Form& form : row.forms) {
      for (const Element& element : form.elements) {
        groups.insert(element.name);
        words.insert(element.words.begin(), element.words.end());
      }
    }
  }
  size_t found = 0;
  std::filesystem::path folder = std::filesystem::path(PTX2CPU_SOURCE_DIR) / "ptx-parser/translate";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".cpp") continue;
    std::ifstream in(entry.path());
    std::ostringstream text;
    text << in.rdbuf();
    const std::string source = text.str();
    for (const auto& [call, known] : {std::pair(std::string("Has(\""), &words), {"At(\"", &groups}}) {
      for (size_t at = source.find(call); at != source.npos; at = source.find(call, at + 1)) {
        if (at > 0 && std::isalnum(static_cast<unsigned char>(source[at - 1])) != 0) continue;
        const size_t word = at + call.size();
        const std::string asked = source.substr(word, source.find('"', word) - word);
        ++found;
        INFO(entry.path().filename().string() << ": " << call << asked);
        CHECK(known->contains(asked));
      }
    }
  }
  CHECK(found > 60);
}

}  // namespace
}  // namespace ptx2cpu::ptx::test
