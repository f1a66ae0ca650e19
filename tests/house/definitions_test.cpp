// A name is one type: where a program has two definitions of a type under one name in one namespace, its
// behaviour is undefined, and the linker keeps the functions of one of them without a message. The same holds
// for inline functions. Names in an unnamed namespace are exempt.
#include <catch2/catch.hpp>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/house/tree.h"

using namespace ptx2cpu::house_test;

namespace {

// No program has both.
const std::set<std::string> kOneOfEach = {
    "ptx2cpu::rt::matrix::DownA",     // of 512 bits or of 256: a source is compiled for one kind of processor
    "ptx2cpu::rt::matrix::DownB",     //
    "ptx2cpu::rt::matrix::DownSums",  //
    "ptx2cpu::test::Outcome",         // of a kernel or of a command
};

using Places = std::map<std::string, std::set<std::string>>;

void AddDefinitions(const std::string& file, const std::vector<std::string>& lines, Places& places) {
  static const std::regex space("namespace ?([A-Za-z0-9_:]*) \\{"),
      type(
          "(?:struct|class|union|enum class|enum) (?:\\[\\[\\w+\\]\\] )?(\\w+)(?: final)?(?: ?:[^:][^;{]*)? "
          "\\{.*"),
      function("(inline [^={]*\\([^{]*\\)(?: const)?) \\{.*");
  std::vector<std::string> within;
  std::string name;
  bool own = false;
  for (const std::string& line : lines) {
    std::smatch match;
    if (std::regex_match(line, match, space)) {
      within.push_back(match[1]);
    } else if (line.starts_with("}  // namespace") && !within.empty()) {
      within.pop_back();
    } else if (std::regex_match(line, match, type) || std::regex_match(line, match, function)) {
      if (own) continue;
      places[name + match[1].str()].insert(file);
      continue;
    } else {
      continue;
    }
    own = false;
    name.clear();
    for (const std::string& each : within) {
      own |= each.empty();
      name += each + "::";
    }
  }
}

std::vector<std::string> Twice(const Places& places) {
  std::vector<std::string> found;
  for (const auto& [name, files] : places) {
    if (files.size() < 2 || kOneOfEach.contains(name)) continue;
    std::string line = name + ":";
    for (const std::string& file : files) line += " " + file;
    found.push_back(line);
  }
  return found;
}

}  // namespace

TEST_CASE("a name is one type") {
  Places places;
  for (const fs::path& file : Sources()) {
    const std::string extension = file.extension().string();
    if (extension == ".h" || extension == ".cpp") AddDefinitions(file.string(), Lines(file), places);
  }
  CHECK(places.size() > 500);
  for (const std::string& line : Twice(places)) FAIL_CHECK(line);
}

TEST_CASE("definitions of one name are found, those of an unnamed namespace are apart") {
  const std::vector<std::string> type = {"namespace a {", "struct B : C {", "}  // namespace a"},
                                 own = {"namespace a {", "namespace {", "struct B {", "}  // namespace",
                                        "}  // namespace a"},
                                 function = {"namespace a {", "inline int F(int x) {", "}  // namespace a"};
  const auto count = [](const std::vector<std::string>& first, const std::vector<std::string>& second) {
    Places places;
    AddDefinitions("first", first, places);
    AddDefinitions("second", second, places);
    return Twice(places).size();
  };
  CHECK(count(type, type) == 1);
  CHECK(count(function, function) == 1);
  CHECK(count(type, own) == 0);
  CHECK(count(own, own) == 0);
  CHECK(count(type, {"namespace b {", "enum class B : uint8_t {", "}  // namespace b"}) == 0);
  CHECK(count(type, {"namespace a {", "enum class B : uint8_t {", "}  // namespace a"}) == 1);
  CHECK(count(type, {"namespace a {", "struct B;", "struct B::D {", "}  // namespace a"}) == 0);
}
