// launch_bench [--json] [LIBCUDA]: measures the cost of a launch, here and in the installed OpenCL
// implementation, in turns.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "tools/launch_bench/measure.h"

using namespace ptx2cpu::launch_bench;

namespace {

struct Row {
  std::string what;
  std::string limit;  // what is aimed at
  std::vector<std::optional<double>> microseconds;
};

constexpr unsigned kBatches = 31;

std::optional<double> Pipelined(const System& system) {
  return PerCall(kBatches, 2000, system.launch, system.finish);
}

std::optional<double> Synchronised(const System& system) {
  return PerCall(kBatches, 300, [&] { system.launch(), system.finish(); }, [] {});
}

std::optional<double> ManyStreams(const System& system, bool synchronise) {
  if (!system.streams) return std::nullopt;
  system.streams(1000);
  return synchronise ? Synchronised(system) : Pipelined(system);
}

std::optional<double> Grid(const System& system) {
  return PerCall(5, 1, [&] { system.launch_grid(1u << 20); }, system.finish);
}

std::optional<double> Graph(const System& system) {
  if (!system.graph) return std::nullopt;
  return PerCall(kBatches, 50, system.graph, system.finish);
}

std::vector<Row> Measure(const std::vector<System>& systems) {
  struct Case {
    const char *what, *limit;
    std::optional<double> (*run)(const System&);
  };
  const Case cases[] = {
      {"launch, pipelined", "1", Pipelined},
      {"launch and synchronise", "5", Synchronised},
      {"grid of 1,048,576 blocks of one thread", "", Grid},
      {"graph of 100 empty kernels", "", Graph},
      {"launch, pipelined, 1000 streams exist", "1",
       [](const System& system) { return ManyStreams(system, false); }},
      {"launch and synchronise, 1000 streams exist", "5",
       [](const System& system) { return ManyStreams(system, true); }},
  };
  std::vector<Row> rows;
  for (const Case& each : cases) {
    Row row{each.what, each.limit, {}};
    for (const System& system : systems) row.microseconds.push_back(each.run(system));
    rows.push_back(std::move(row));
  }
  return rows;
}

void Print(const std::vector<System>& systems, const std::vector<Row>& rows) {
  std::printf("| microseconds, median | aim |");
  for (const System& system : systems) std::printf(" %s |", system.name.c_str());
  std::printf("\n|---|---|");
  for (size_t i = 0; i < systems.size(); ++i) std::printf("---|");
  std::printf("\n");
  for (const Row& row : rows) {
    std::printf("| %s | %s |", row.what.c_str(), row.limit.c_str());
    for (const auto& value : row.microseconds) value ? std::printf(" %.2f |", *value) : std::printf(" |");
    std::printf("\n");
  }
}

void PrintJson(const std::vector<System>& systems, const std::vector<Row>& rows) {
  std::printf("[");
  for (size_t r = 0; r < rows.size(); ++r) {
    std::printf("%s\n  {\"what\": \"%s\"", r == 0 ? "" : ",", rows[r].what.c_str());
    for (size_t i = 0; i < systems.size(); ++i) {
      if (rows[r].microseconds[i])
        std::printf(", \"%s\": %.3f", systems[i].name.c_str(), *rows[r].microseconds[i]);
    }
    std::printf("}");
  }
  std::printf("\n]\n");
}

}  // namespace

int main(int count, char** words) {
  bool json = false;
  std::string library =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../lib/ptx2cpu/libcuda.so.1")
          .string();
  for (int i = 1; i < count; ++i) {
    if (std::string(words[i]) == "--json")
      json = true;
    else
      library = words[i];
  }
  std::vector<System> systems;
  std::string why;
  if (System driver = OpenDriver(library, why); driver.launch)
    systems.push_back(std::move(driver));
  else
    return std::fprintf(stderr, "%s\n", why.c_str()), 1;
  if (System opencl = OpenOpenCl(why); opencl.launch)
    systems.push_back(std::move(opencl));
  else
    std::fprintf(stderr, "without OpenCL: %s\n", why.c_str());
  const std::vector<Row> rows = Measure(systems);
  json ? PrintJson(systems, rows) : Print(systems, rows);
  return 0;
}
