// What workers are: how many, and what becomes of work that throws.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "runtime/worker/processors.h"
#include "runtime/worker/thread_pool.h"

namespace fs = std::filesystem;
using namespace ptx2cpu::rt;

namespace {

// Files as a machine has them, under a folder.
struct Machine {
  Machine() {
    std::string name = (fs::temp_directory_path() / "ptx2cpu_worker_test_XXXXXX").string();
    root = mkdtemp(name.data());
  }
  ~Machine() { fs::remove_all(root); }
  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((root + path).substr(0, (root + path).rfind('/')));
    std::ofstream(root + path) << text;
  }
  std::string root;
};

constexpr const char* kUnified = "25 1 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kOld =
    "30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "31 25 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";

class Throwing final : public Job, public std::enable_shared_from_this<Throwing> {
 public:
  void Work(unsigned, Arena&) override {
    if (!help_requested()) ThreadPool::Get().RequestHelp(shared_from_this());
    if (++entered >= 1) throw std::runtime_error("a mistake of ours");
  }
  bool Exhausted() const override { return false; }
  void Break(const Failure& failure) override {
    if (failure.kind == Failure::Kind::kInternal &&
        failure.text.find("a mistake of ours") != std::string::npos &&
        failure.text.find("report") != std::string::npos)
      ++broken;
  }
  std::atomic<int> entered = 0, broken = 0;
};

}  // namespace

TEST_CASE("quotas of control groups, version 2: the least of the path") {
  const Machine machine;
  machine.Write("/proc/self/cgroup", "0::/a/b\n");
  machine.Write("/proc/self/mountinfo", kUnified);
  CHECK_FALSE(ProcessorQuota(machine.root));
  machine.Write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  CHECK_FALSE(ProcessorQuota(machine.root));
  machine.Write("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  CHECK(ProcessorQuota(machine.root) == 1.5);
  machine.Write("/sys/fs/cgroup/a/b/cpu.max", "20000 10000\n");
  CHECK(ProcessorQuota(machine.root) == 1.5);
  machine.Write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  CHECK(ProcessorQuota(machine.root) == 0.5);
}

TEST_CASE("quotas of control groups, version 1, in a container that sees its own folder alone") {
  const Machine machine;
  machine.Write("/proc/self/cgroup", "3:cpuset:/x\n2:cpu,cpuacct:/docker/123\n1:name=systemd:/docker/123\n");
  machine.Write("/proc/self/mountinfo", kOld);
  machine.Write("/sys/fs/cgroup/cpu,cpuacct/docker/123/cpu.cfs_quota_us", "300000\n");
  machine.Write("/sys/fs/cgroup/cpu,cpuacct/docker/123/cpu.cfs_period_us", "100000\n");
  CHECK(ProcessorQuota(machine.root) == 3.0);
  machine.Write("/proc/self/mountinfo",
                "30 25 0:26 /docker/123 /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
  machine.Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n");
  machine.Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  CHECK(ProcessorQuota(machine.root) == 2.5);
  machine.Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  CHECK_FALSE(ProcessorQuota(machine.root));
}

TEST_CASE("files of control groups that say nothing sensible are no limit") {
  const Machine machine;
  CHECK_FALSE(ProcessorQuota(machine.root));
  machine.Write("/proc/self/cgroup", "nonsense\n0::\n7:cpu:/../..\n");
  machine.Write("/proc/self/mountinfo", std::string("short\n\n") + kUnified + kOld);
  machine.Write("/sys/fs/cgroup/cpu.max", "-5 0\n");
  CHECK_FALSE(ProcessorQuota(machine.root));
  machine.Write("/sys/fs/cgroup/cpu.max", "many 100000\n");
  CHECK_FALSE(ProcessorQuota(machine.root));
}

TEST_CASE("workers run on the processors of the process, not on those of the thread that comes first") {
  const pid_t child = fork();
  if (child == 0) {
    cpu_set_t before, one, found;
    if (sched_getaffinity(0, sizeof before, &before) != 0) _exit(2);
    int first = 0;
    while (!CPU_ISSET(first, &before)) ++first;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    bool same = false;
    std::thread([&] {
      sched_setaffinity(0, sizeof one, &one);
      std::atomic<bool> done = false;
      if (!StartThread([&] {
            same = sched_getaffinity(0, sizeof found, &found) == 0 && CPU_EQUAL(&found, &before);
            done = true;
            done.notify_one();
          }))
        _exit(3);
      done.wait(false);
    }).join();
    _exit(same && UsableProcessors() <= static_cast<unsigned>(CPU_COUNT(&before)) ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a job that throws ends with an error on each worker that met it") {
  const auto job = std::make_shared<Throwing>();
  ThreadPool::Get().Run(job, 0);
  CHECK(job->entered >= 1);
  CHECK(job->broken == job->entered);
}
