// Lengths of sources and of functions, names of files.
#include <catch2/catch.hpp>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/house/tree.h"

using namespace ptx2cpu::house_test;

namespace {

constexpr size_t kMaxLines = 400, kMaxBody = 60;
// Sources that may be longer, and how long: declarations of one ABI, which a reader searches rather than
// reads, and families that have not been divided yet.
const std::map<std::string, size_t> kLonger = {
    {"runtime/cuda/abi/runtime_types.h", 480},
    {"runtime/cuda/abi/driver_memory.h", 480},
    {"runtime/cuda/abi/driver_device.h", 440},
};
// Functions that may be longer: a case for each special register, and a loop whose state is its own
// variables.
const std::set<std::string> kLongFunctions = {
    "ir/interpret/value.cpp SpecialValue",
    "lowering/llvm/emit/values.cpp SpecialValue",
    "runtime/launch/plain_job.cpp RunBlocks",
};

struct LongFunction {
  std::string name;
  size_t lines;  // of its body
  friend bool operator==(const LongFunction&, const LongFunction&) = default;
};

// Functions with more than `most` lines, in a text as clang-format leaves it: the line of the last parameter
// ends in a bracket, and the body ends where a bracket is below the first character of the function.
std::vector<LongFunction> LongFunctions(const std::vector<std::string>& lines, size_t most) {
  static const std::regex begins(
      "^( {0,4})(?!(namespace|struct|class|enum|union|if|for|while|switch|do|else|case|"
      "default|return)\\b)[\\w~].*?(~?\\w+|operator\\S+)\\("),
      continues("^( {5}| *: )"), last_parameter("\\)( const)?( noexcept)?( override)?( ->.*)? \\{$");
  constexpr size_t kMaxParameterLines = 30;
  std::vector<LongFunction> found;
  for (size_t opening = 0; opening < lines.size(); ++opening) {
    if (!lines[opening].ends_with(" {") || !std::regex_search(lines[opening], last_parameter)) continue;
    std::smatch match;
    size_t begin = opening;
    std::string head = lines[begin];
    while (begin > 0 && opening - begin < kMaxParameterLines && std::regex_search(lines[begin], continues))
      head.insert(0, lines[--begin]);
    const bool is_lambda = head.find("](") != std::string::npos;
    if (is_lambda || !std::regex_search(lines[begin], match, begins)) continue;
    size_t end = opening + 1;
    while (end < lines.size() && !lines[end].starts_with(match[1].str() + "}")) ++end;
    if (end - opening - 1 > most) found.push_back({match[3], end - opening - 1});
  }
  return found;
}

}  // namespace

TEST_CASE("sources stay readable: length, names, tables exempt") {
  const std::regex vague("(^|_)(utils?|helpers?|common|manager|misc)(_|$)");
  for (const fs::path& file : Sources()) {
    const std::string stem = file.stem();
    CHECK_FALSE(std::regex_search(stem, vague));
    if (file.extension() == ".def" || file.string().starts_with("tests/")) continue;
    const size_t length = Lines(file).size();
    const auto longer = kLonger.find(file.generic_string());
    const size_t limit = longer == kLonger.end() ? kMaxLines : longer->second;
    if (length > limit) FAIL_CHECK(file << " has " << length << " lines; split it by family");
    if (longer != kLonger.end() && length <= kMaxLines) FAIL_CHECK(file << " is no exception any more");
  }
}

TEST_CASE("the search for long functions finds them") {
  CHECK(LongFunctions({"int F(int a,", "      int b) {", "  return a;", "}"}, 0) ==
        std::vector<LongFunction>{{"F", 1}});
  CHECK(LongFunctions({"class C {", "  void G() const override {", "    a();", "    b();", "  }", "};"}, 1) ==
        std::vector<LongFunction>{{"G", 2}});
  CHECK(LongFunctions({"struct S {", "  int a;", "  int b;", "};", "void F() {", "  if (a) {", "  }", "}"}, 2)
            .empty());
}

TEST_CASE("functions of the product have at most 60 lines") {
  std::set<std::string> unseen = kLongFunctions;
  for (const fs::path& file : Sources()) {
    const std::string path = file.generic_string();
    if (path.starts_with("tests/") || (file.extension() != ".cpp" && file.extension() != ".h")) continue;
    for (const LongFunction& function : LongFunctions(Lines(file), kMaxBody)) {
      const std::string name = path + " " + function.name;
      if (unseen.erase(name) == 0 && !kLongFunctions.contains(name))
        FAIL_CHECK(name << " has " << function.lines << " lines; divide it by what its parts do");
    }
  }
  for (const std::string& name : unseen) FAIL_CHECK(name << " is no exception any more");
}
