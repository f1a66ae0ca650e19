// NCCL: ranks as processes, sharing memory or over the network, and what becomes of those that end.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include "tests/libraries/nccl_ranks.h"

using namespace ptx2cpu;
using namespace ptx2cpu::nccl_case;

namespace {

std::vector<std::string> SharedFiles() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    if (entry.path().filename().string().contains("nccl")) names.push_back(entry.path());
  }
  return names;
}

// Four processes, and in which environment each of them is.
void CompareWithThreads(const std::vector<Variables>& of_ranks) {
  constexpr int kRanks = 4;
  const auto threads = OnThreads(kRanks, [](Rank& rank) { rank.All(); });
  std::vector<std::unique_ptr<Process>> processes;
  processes.push_back(std::make_unique<Process>(kRanks, 0, "-", "cases", of_ranks[0]));
  const std::string id = processes[0]->Line();
  REQUIRE(id.starts_with("id "));
  for (int i = 1; i < kRanks; ++i)
    processes.push_back(
        std::make_unique<Process>(kRanks, i, id.substr(3), "cases", of_ranks[static_cast<size_t>(i)]));
  for (size_t i = 0; i < kRanks; ++i) {
    INFO("rank " << i);
    std::set<std::string> expected, got;
    for (const auto& [name, bytes] : threads[i].results) {
      char line[128];
      std::snprintf(line, sizeof line, "%s: %016llx", name.c_str(),
                    static_cast<unsigned long long>(Fnv1a(bytes)));
      expected.insert(line);
    }
    for (std::string line = processes[i]->Line(); !line.empty(); line = processes[i]->Line())
      got.insert(line);
    CHECK(got == expected);
    CHECK(processes[i]->End() == 0);
  }
}

}  // namespace

TEST_CASE("nccl: four processes have the bits of four threads") {
  CompareWithThreads(std::vector<Variables>(4));
}

TEST_CASE("nccl: processes that meet over the network have the bits of threads") {
  CompareWithThreads(std::vector<Variables>(4, kNetwork));
}

TEST_CASE("nccl: one rank that comes over the network, three of one machine") {
  const Variables machine = {{"NCCL_SOCKET_IFNAME", "lo"}};
  CompareWithThreads({machine, machine, kNetwork, machine});
}

TEST_CASE("nccl: a rank that ends, is killed or fails is an error of the others, and leaves no file") {
  const bool network = GENERATE(false, true);
  const Variables variables = network ? kNetwork : Variables{};
  for (const std::string how : {"stay", "quit", "fault"}) {
    INFO(how << ", network " << network);
    Process first(3, 0, "-", "wait", variables);
    const std::string id = first.Line();
    REQUIRE(id.starts_with("id "));
    Process second(3, 1, id.substr(3), "wait", variables);
    Process third(3, 2, id.substr(3), how.c_str(), variables);
    if (how == "stay") {
      CHECK(third.Line() == "joined");
      third.Kill();
    }
    CHECK(first.Line() == "cuda error nccl 6");
    CHECK(second.Line() == "cuda error nccl 6");
    if (how == "fault") CHECK(third.Line() == "cuda error nccl 1");
    first.End(), second.End(), third.End();
  }
  CHECK(SharedFiles().empty());
}

TEST_CASE("nccl: ranks whose calls differ") {
  const bool network = GENERATE(false, true);
  const Variables variables = network ? kNetwork : Variables{};
  INFO("network " << network);
  Process first(3, 0, "-", "wait", variables);
  const std::string id = first.Line();
  REQUIRE(id.starts_with("id "));
  Process second(3, 1, id.substr(3), "wait", variables), third(3, 2, id.substr(3), "other", variables);
  // A rank that finds it out ends the calls of the others.
  const std::set<std::string> ends = {"cuda error nccl 5", "cuda error nccl 6"};
  std::vector<std::string> got;
  for (Process* process : {&first, &second, &third}) got.push_back(process->Line());
  for (const std::string& line : got) CHECK(ends.contains(line));
  CHECK(std::ranges::count(got, "cuda error nccl 5") != 0);
}

TEST_CASE("nccl: a rank that is killed before all have come") {
  const bool network = GENERATE(false, true);
  const Variables variables = network ? kNetwork : Variables{};
  INFO("network " << network);
  Process first(3, 0, "-", "wait", variables);
  const std::string id = first.Line();
  REQUIRE(id.starts_with("id "));
  Process second(3, 1, id.substr(3), "wait", variables);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  second.Kill();
  CHECK(first.Line() == "");
  CHECK(first.End() != 0);
}

TEST_CASE("nccl: an id has the address of an interface that NCCL's variables allow") {
  const auto id_with = [](const char* names) {
    const Environment environment({{"NCCL_SOCKET_IFNAME", names}});
    ncclUniqueId id{};
    REQUIRE(Library().Call("ncclGetUniqueId", &id) == ncclSuccess);
    return std::string(id.internal);
  };
  const Environment environment({{"NCCL_SOCKET_FAMILY", "AF_INET"}});
  for (const char* loopback : {"lo", "=lo", "nothing,lo", "l", "^=l"}) CHECK(id_with(loopback).contains('@'));
  for (const char* loopback : {"lo", "=lo", "nothing,lo"}) CHECK(id_with(loopback).contains("@127.0.0.1:"));
  for (const char* none : {"=l", "nothing", "^l,e,w,d,t,v,b,i"})
    CHECK(!id_with(none).contains("@127.0.0.1:"));
  // A rank that has no address for others.
  ncclUniqueId id{};
  {
    const Environment made(kNetwork);
    REQUIRE(Library().Call("ncclGetUniqueId", &id) == ncclSuccess);
  }
  const Environment none({{"NCCL_SHM_DISABLE", "1"}, {"NCCL_SOCKET_IFNAME", "nothing"}});
  ncclComm_t comm = nullptr;
  CHECK(Library().Call("ncclCommInitRank", &comm, 1, id, 0) == ncclSystemError);
  CHECK(std::string(Library().Call<const char*>("ncclGetLastError", comm)).contains("NCCL_SOCKET_IFNAME"));
}
