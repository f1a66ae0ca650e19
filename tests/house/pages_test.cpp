// The pages that a reader begins with name files and folders that exist.
#include <algorithm>
#include <catch2/catch.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/house/tree.h"

using namespace ptx2cpu::house_test;

namespace {

bool IsTopFolder(const std::string& name) {
  static const std::set<std::string> kFolders = {"ptx-parser", "ir",    "analysis", "lowering",
                                                 "runtime",    "tests", "tools",    "corpus"};
  return kFolders.contains(name);
}

// `a/b.cpp` and `[...](a/b.md)`: what begins with a folder of the root. <name>, * and {} are placeholders.
std::set<std::string> PathsIn(const std::string& text) {
  static const std::regex kPath("[`(]([a-z][a-z-]*)(/[A-Za-z0-9_./-]*)?[`)#]");
  std::set<std::string> paths;
  for (std::sregex_iterator at(text.begin(), text.end(), kPath), end; at != end; ++at) {
    if (IsTopFolder((*at)[1])) paths.insert((*at)[1].str() + (*at)[2].str());
  }
  return paths;
}

// `a/b` is also short for a/b.h and a/b.cpp, as tables of files write it.
bool Exists(const std::string& path) {
  return fs::exists(kRoot / path) || fs::exists(kRoot / (path + ".h")) || fs::exists(kRoot / (path + ".cpp"));
}

// The two lines of CONTRIBUTING that state where to add `what`.
std::string AnswerFor(const std::string& what) {
  const std::string text = TextOf("CONTRIBUTING.md");
  const size_t begin = text.find("\n- **" + what + "**");
  if (begin == std::string::npos) return {};
  const size_t end = std::min(text.find("\n- **", begin + 1), text.find("\n\n", begin + 1));
  return text.substr(begin + 1, end - begin);
}

}  // namespace

TEST_CASE("files and folders that pages name exist") {
  REQUIRE(PathsIn("`ir/type.h` `lowering/<name>.cpp` ([x](corpus)) `build/release`") ==
          std::set<std::string>{"ir/type.h", "corpus"});
  for (const fs::path& page : Pages()) {
    if (page == "CHANGELOG.md") continue;  // it names what was
    for (const std::string& path : PathsIn(TextOf(page))) {
      if (!Exists(path)) FAIL_CHECK(page << " names " << path << ", which does not exist");
    }
  }
}

TEST_CASE("CONTRIBUTING answers where to add something, in two lines with existing files") {
  for (const char* what : {"A PTX instruction", "A special register", "A pass", "A driver function",
                           "A runtime API function", "A texture format", "A verb of the tool"}) {
    INFO(what);
    const std::string answer = AnswerFor(what);
    REQUIRE_FALSE(answer.empty());
    CHECK(std::count(answer.begin(), answer.end(), '\n') == 2);
    CHECK(PathsIn(answer).size() >= 2);
  }
}
