// api_table WHAT TABLE NAMESPACE [MAJOR [NODE]]: writes one of the generated texts to standard output.
// api_table check-coverage TABLE NAMESPACE PAGE: exit code 1 when the page is stale.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "tools/api_table/api_table.h"

using namespace ptx2cpu;
using namespace ptx2cpu::api_table;

namespace {

const std::map<std::string, Target> kTargets = {
#define TABLE(space, file, header, folder, success, title) \
  {#space, {#space, file, header, folder, success, title}},
#include "tools/api_table/libraries.def"
};

int Usage() {
  std::fputs(
      "usage: api_table declarations|refused|families|exports|map|coverage|check-coverage TABLE NAMESPACE "
      "[MAJOR [NODE|- [SYSTEM_NODE]]] | PAGE\n",
      stderr);
  return 2;
}

int CheckCoverage(const std::string& text, const std::string& page) {
  std::ostringstream stands;
  stands << std::ifstream(page).rdbuf();
  if (stands.str() == text) return 0;
  std::fprintf(stderr, "%s is stale: run the target update_docs\n", page.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || !kTargets.contains(argv[3])) return Usage();
  const std::string what = argv[1];
  const Target& target = kTargets.at(argv[3]);
  Result<Table> table = Read(argv[2]);
  if (!table) {
    std::fprintf(stderr, "%s\n", table.error().message.c_str());
    return 1;
  }
  if (what == "check-coverage")
    return argc == 5 ? CheckCoverage(WriteCoverage(*table, target), argv[4]) : Usage();
  const int major = argc > 4 ? std::atoi(argv[4]) : 0;
  std::string text;
  if (what == "declarations")
    text = WriteDeclarations(*table, target);
  else if (what == "refused")
    text = WriteRefused(*table, target);
  else if (what == "families")
    text = WriteFamilies(*table, target);
  else if (what == "exports")
    text = WriteExports(*table, target, major);
  else if (what == "entries")
    text = WriteExports(*table, target, 0) + WriteEntries(*table, target);
  else if (what == "map")
    text = WriteVersionScript(*table, major, argc > 5 && argv[5] != std::string("-") ? argv[5] : "",
                              argc > 6 ? argv[6] : "");
  else if (what == "coverage")
    text = WriteCoverage(*table, target);
  else
    return Usage();
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}
