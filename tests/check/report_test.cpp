// The report files of checks are what their formats require: SARIF 2.1.0 (of its schema what concerns what is
// written: required properties, types, bounds, references), and JSON of our own.
#include <boost/property_tree/json_parser.hpp>
#include <catch2/catch.hpp>
#include <fstream>
#include <regex>
#include <set>

#include "runtime/check/report_file.h"
#include "tests/scratch_folder.h"

using namespace ptx2cpu::rt::check;
using Tree = boost::property_tree::ptree;

namespace {

// One with both sides and a source line, one that has no line, one of the host; names that JSON and URIs must
// escape.
std::vector<LocatedFinding> Sample() {
  LocatedFinding race;
  race.finding.error = Error::kRace;
  race.finding.kernel = "k<\"a\\b\">";
  race.finding.party = {{1, 2, 3}, {4, 5, 6}, 70};
  race.finding.text = "write of 4 bytes";
  race.finding.other = {{0, 0, 0}, {1, 0, 0}, 60};
  race.finding.other_text = "read";
  race.finding.count = 12;
  race.place = {.file = "a module:1",
                .excerpt = "st.global.u32 [%rd1], %r1;",
                .source_file = "a folder/with #1.cu",
                .line = 70,
                .source_line = 9};
  race.other.file = "a module:1";
  race.other.excerpt = "\tld.global.u32 %r1, [%rd1];";
  race.other.line = 60;
  LocatedFinding fault, host;
  fault.finding.error = Error::kFault;
  fault.finding.kernel = "k";
  fault.finding.text = "the blocks wait for each other";
  host.finding.error = Error::kBadFree;
  host.finding.text = "cuMemFree of 0x10";
  host.finding.caller = "program+0x2787";
  return {race, fault, host};
}

Tree Read(const std::string& end) {
  const ptx2cpu::test::ScratchFolder folder;
  const std::string path = folder / ("report." + end);
  REQUIRE(WriteReport(path, Sample()));
  Tree tree;
  boost::property_tree::read_json(path, tree);
  return tree;
}

void CheckLocation(const Tree& location) {
  static const std::regex reference("([A-Za-z0-9._~!$&'()*+,;=@/-]|%[0-9A-F]{2})+");
  const Tree& place = location.get_child("physicalLocation");
  CHECK(std::regex_match(place.get<std::string>("artifactLocation.uri"), reference));
  if (const auto region = place.get_child_optional("region")) CHECK(region->get<int>("startLine") >= 1);
}

}  // namespace

TEST_CASE("SARIF reports have what the format requires") {
  const Tree tree = Read("sarif");
  CHECK(tree.get<std::string>("version") == "2.1.0");
  CHECK(tree.get<std::string>("$schema").ends_with("sarif-2.1.0.json"));
  REQUIRE(tree.get_child("runs").size() == 1);
  const Tree& run = tree.get_child("runs").front().second;
  CHECK(run.get<std::string>("tool.driver.name") == "ptx2cpu");
  std::set<std::string> rules;
  for (const auto& [_, rule] : run.get_child("tool.driver.rules")) {
    CHECK(rules.insert(rule.get<std::string>("id")).second);
    CHECK_FALSE(rule.get<std::string>("shortDescription.text").empty());
  }
  const Tree& results = run.get_child("results");
  REQUIRE(results.size() == 3);
  for (const auto& [_, result] : results) {
    CHECK(rules.contains(result.get<std::string>("ruleId")));
    CHECK(result.get<std::string>("level") == "error");
    CHECK_FALSE(result.get<std::string>("message.text").empty());
    CHECK(result.get<int>("occurrenceCount") >= 1);
    for (const auto& [_, location] : result.get_child("locations")) CheckLocation(location);
    if (const auto related = result.get_child_optional("relatedLocations")) {
      for (const auto& [_, location] : *related) CheckLocation(location);
    }
  }
  const Tree& place =
      results.front().second.get_child("locations").front().second.get_child("physicalLocation");
  CHECK(place.get<std::string>("artifactLocation.uri") == "a%20folder/with%20%231.cu");
  CHECK(place.get<int>("region.startLine") == 9);
}

TEST_CASE("JSON reports have both sides, places and the program's call") {
  const Tree tree = Read("json");
  const Tree& findings = tree.get_child("findings");
  REQUIRE(findings.size() == 3);
  const Tree& race = findings.front().second;
  CHECK(race.get<std::string>("error") == "race");
  CHECK(race.get<std::string>("kernel") == "k<\"a\\b\">");
  CHECK(race.get<int>("count") == 12);
  CHECK(race.get<int>("by.ptx_line") == 70);
  CHECK(race.get<std::string>("by.source_file") == "a folder/with #1.cu");
  CHECK(race.get<int>("by.source_line") == 9);
  CHECK(race.get<std::string>("after") == "read");
  CHECK(race.get<int>("after_by.ptx_line") == 60);
  CHECK(race.get<std::string>("after_by.text").starts_with("\tld"));
  const Tree& host = findings.back().second;
  CHECK(host.get<std::string>("caller") == "program+0x2787");
  CHECK(host.count("by") == 0);
}
