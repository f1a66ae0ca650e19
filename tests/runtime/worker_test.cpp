// What workers are: how many, and what becomes of work that throws.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/stream/stream_group.h"
#include "runtime/worker/processors.h"
#include "runtime/worker/spin_lock.h"
#include "runtime/worker/thread_pool.h"
#include "tests/scratch_folder.h"

namespace fs = std::filesystem;
using namespace ptx2cpu::rt;

namespace {

// Files as a machine has them, under a folder.
struct Machine {
  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((root + path).substr(0, (root + path).rfind('/')));
    std::ofstream(root + path) << text;
  }
  ptx2cpu::test::ScratchFolder folder;
  std::string root = folder.path().string();
};

constexpr const char* kUnified = "25 1 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kOld =
    "30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "31 25 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";

class Throwing final : public Job, public std::enable_shared_from_this<Throwing> {
 public:
  void Work(unsigned, Arena&) override {
    if (!help_requested()) ThreadPool::Get().RequestHelp(*this);
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

// The owner works until another worker has joined, at most ten seconds.
class Meeting final : public Job, public std::enable_shared_from_this<Meeting> {
 public:
  void Work(unsigned, Arena&) override {
    if (help_requested()) {
      met = true;
      return;
    }
    ThreadPool::Get().RequestHelp(*this);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!met && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  }
  bool Exhausted() const override { return met; }
  void Break(const Failure&) override {}
  std::atomic<bool> met = false;
};

// Pieces that each take some microseconds; each worker counts itself once.
class Pieces final : public Job {
 public:
  Pieces(int count, unsigned helpers) : count_(count), helpers_(helpers) {}
  void Work(unsigned worker, Arena&) override {
    if (!help_requested()) ThreadPool::Get().RequestHelp(*this, helpers_);
    workers.fetch_add(1);
    if (seen[worker].exchange(true)) ++twice;
    for (int n; (n = next_.fetch_add(1)) < count_; ++done) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(3);
      while (std::chrono::steady_clock::now() < end) Pause();
    }
    seen[worker] = false;
  }
  bool Exhausted() const override { return next_ >= count_; }
  void Break(const Failure&) override {}
  std::atomic<unsigned> workers = 0, twice = 0;
  std::atomic<int> done = 0;
  std::atomic<bool> seen[4096] = {};

 private:
  const int count_;
  const unsigned helpers_;
  std::atomic<int> next_ = 0;
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

TEST_CASE("files of control groups without a sensible number are no limit") {
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

// An OpenMP runtime's places: the processors in PTX2CPU_TEST_PLACES, each one place.
extern "C" {
int omp_get_num_places();
int omp_get_place_num_procs(int place);
void omp_get_place_proc_ids(int place, int* processors);
}

namespace {

std::vector<int> Places() {
  const char* text = std::getenv("PTX2CPU_TEST_PLACES");
  std::istringstream in(text == nullptr ? "" : text);
  return {std::istream_iterator<int>(in), {}};
}

// Runs this program in a child that is bound to the first of its processors before it begins.
int RunBound(const std::string& environment, const std::string& tag) {
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  std::string places;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &before)) places += std::to_string(processor) + " ";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  const int status = std::system(("env -u PTX2CPU_THREADS -u OMP_PROC_BIND -u OMP_PLACES -u "
                                  "GOMP_CPU_AFFINITY -u KMP_AFFINITY PTX2CPU_TEST_PLACES='" +
                                  places + "' " + environment + " '" + self + "' '" + tag + "' > /dev/null")
                                     .c_str());
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
  return status;
}

}  // namespace

int omp_get_num_places() { return static_cast<int>(Places().size()); }
int omp_get_place_num_procs(int) { return 1; }
void omp_get_place_proc_ids(int place, int* processors) {
  *processors = Places()[static_cast<size_t>(place)];
}

// Called by the next one.
TEST_CASE("bound to one processor", "[.one_processor]") {
  CHECK(UsableProcessors() == 1);
  CHECK(ThreadPool::Get().size() == 1);
}
TEST_CASE("bound by OpenMP", "[.openmp_places]") {
  const unsigned places = static_cast<unsigned>(Places().size());
  const auto quota = ProcessorQuota();
  CHECK(UsableProcessors() == (quota ? std::min(places, static_cast<unsigned>(std::ceil(*quota))) : places));
}

TEST_CASE("a process that is bound from its start has as many workers as processors") {
  CHECK(RunBound("", "[.one_processor]") == 0);
  CHECK(RunBound("OMP_PROC_BIND=true", "[.openmp_places]") == 0);  // bound by its OpenMP runtime
}

TEST_CASE("a job that throws ends with an error on each worker that met it") {
  const auto job = std::make_shared<Throwing>();
  ThreadPool::Get().Run(job, 0);
  CHECK(job->entered >= 1);
  CHECK(job->broken == job->entered);
}

TEST_CASE(
    "many short jobs from several threads: all pieces are done, by no more workers than were asked for") {
  std::vector<std::thread> owners;
  std::atomic<int> wrong = 0;
  for (unsigned owner = 0; owner < 20; ++owner) {  // more than there are places for
    owners.emplace_back([&, owner] {
      for (int n = 0; n < 200; ++n) {
        const int count = 1 + (n * 7 + static_cast<int>(owner)) % 12;
        const unsigned helpers = n % 4;
        const auto job = std::make_shared<Pieces>(count, helpers);
        ThreadPool::Get().Run(job, n % 3 == 0 ? 2 : 0);
        const unsigned most = 1 + (n % 3 == 0 ? std::min(helpers, 1u) : helpers);
        if (job->done != count || job->workers > most || job->twice != 0) ++wrong;
        if (n % 50 == 49) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // workers sleep
      }
    });
  }
  for (std::thread& owner : owners) owner.join();
  CHECK(wrong == 0);
}

TEST_CASE("a call for help wakes a worker that may join, not the one whose number the owner has") {
  if (ThreadPool::Get().size() != 2) return;  // with more workers, others join
  StreamGroup group;
  group.legacy().Submit(CallWork{[] {}, false});  // the thread of worker 0 exists for streams
  group.legacy().Synchronize();
  for (int i = 0; i < 6; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // both are parked
    const auto job = std::make_shared<Meeting>();
    ThreadPool::Get().Run(job, 0);
    REQUIRE(job->met);
  }
}

TEST_CASE("a thread leaves a processor, and may use all of them afterwards") {
  if (UsableProcessors() < 2) return;
  std::thread([] {
    cpu_set_t before, after;
    REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
    for (int i = 0; i < 20; ++i) {
      const int here = CurrentProcessor();
      REQUIRE(here >= 0);
      cpu_set_t only;  // so that nothing else moves it meanwhile
      CPU_ZERO(&only);
      CPU_SET(here, &only);
      REQUIRE(sched_setaffinity(0, sizeof only, &only) == 0);
      LeaveProcessor(here);  // there is no other
      CHECK(CurrentProcessor() == here);
      REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
      LeaveProcessor(CurrentProcessor() + 1);  // not on it
      REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0);
      CHECK(CPU_EQUAL(&before, &after));
      LeaveProcessor(CurrentProcessor());
      REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0);
      CHECK(CPU_EQUAL(&before, &after));
    }
  }).join();
}

TEST_CASE("a thread moves when it leaves its processor") {
  if (UsableProcessors() < 2) return;
  std::thread([] {
    int moved = 0;
    for (int i = 0; i < 20; ++i) {
      const int here = CurrentProcessor();
      LeaveProcessor(here);
      moved += CurrentProcessor() != here;
    }
    CHECK(moved >= 10);  // the system may move it back at any time
  }).join();
}
