// Ranks of tests: threads of the test, or processes of ranks/nccl_rank.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <functional>
#include <thread>
#include <utility>

#include "tests/libraries/nccl_case.h"

namespace ptx2cpu::nccl_case {

inline const Nccl& Library() {
  static const Nccl library;
  return library;
}

// Calls body(rank) on a thread for each, with a communicator and a stream.
inline std::vector<Rank> OnThreads(int ranks, const std::function<void(Rank&)>& body) {
  ncclUniqueId id{};
  REQUIRE(Library().Call("ncclGetUniqueId", &id) == ncclSuccess);
  std::vector<Rank> all;
  for (int i = 0; i < ranks; ++i) all.push_back({.nccl = Library(), .rank = i, .ranks = ranks});
  std::vector<std::thread> threads;
  for (Rank& rank : all) {
    threads.emplace_back([&] {
      rank.Check("stream", cudart::cudaStreamCreate(&rank.stream));
      rank.Check("init", Library().Call("ncclCommInitRank", &rank.comm, ranks, id, rank.rank));
      body(rank);
      rank.Check("destroy", Library().Call("ncclCommDestroy", rank.comm));
      rank.Check("destroy stream", cudart::cudaStreamDestroy(rank.stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Rank& rank : all) CHECK(rank.failures == 0);
  return all;
}

using Variables = std::vector<std::pair<const char*, const char*>>;

// Ranks that meet over the loopback, as those of two machines do over what connects them.
inline const Variables kNetwork = {{"NCCL_SHM_DISABLE", "1"}, {"NCCL_SOCKET_IFNAME", "lo"}};

// Variables of the environment while it exists.
class Environment {
 public:
  explicit Environment(const Variables& variables) : variables_(variables) {
    for (const auto& [name, value] : variables) setenv(name, value, 1);
  }
  ~Environment() {
    for (const auto& [name, value] : variables_) unsetenv(name);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const Variables variables_;
};

// A process of nccl_rank, its standard output read.
class Process {
 public:
  Process(int ranks, int rank, const std::string& id, const char* mode, const Variables& variables = {}) {
    const Environment environment(variables);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const std::string count = std::to_string(ranks), number = std::to_string(rank);
    child_ = fork();
    REQUIRE(child_ >= 0);
    if (child_ == 0) {
      dup2(ends[1], 1);
      close(ends[0]), close(ends[1]);
      const char* const program = PTX2CPU_BINARY_DIR "/bin/nccl_rank";
      execl(program, program, count.c_str(), number.c_str(), id.c_str(), mode, nullptr);
      _exit(127);
    }
    close(ends[1]);
    out_ = fdopen(ends[0], "r");
  }
  ~Process() {
    if (child_ > 0) Kill(), End();
    fclose(out_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  std::string Line() {
    char text[256] = {};
    if (std::fgets(text, sizeof text, out_) == nullptr) return {};
    const std::string line = text;
    return line.substr(0, line.find('\n'));
  }
  void Kill() const { kill(child_, SIGKILL); }
  int End() {
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = 0;
    return status;
  }

 private:
  pid_t child_ = 0;
  FILE* out_ = nullptr;
};

}  // namespace ptx2cpu::nccl_case
