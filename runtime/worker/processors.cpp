#include "runtime/worker/processors.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

// Functions of an OpenMP runtime, where the program has one. It binds the first thread to the first of its
// places before main, perhaps before this library is opened: then only the OpenMP runtime knows the other
// processors.
extern "C" {
[[gnu::weak]] int omp_get_num_places();
[[gnu::weak]] int omp_get_place_num_procs(int place);
[[gnu::weak]] void omp_get_place_proc_ids(int place, int* processors);
}

namespace ptx2cpu::rt {

namespace fs = std::filesystem;

namespace {

// -- affinity --

// The processors of one thread, as the system has them: as many sets as it takes.
using Mask = std::vector<cpu_set_t>;

Mask MaskOf(pid_t thread) {
  for (size_t sets = 1; sets <= 64; sets *= 2) {
    Mask mask(sets);
    if (sched_getaffinity(thread, sets * sizeof(cpu_set_t), mask.data()) == 0) return mask;
    if (errno != EINVAL) break;
  }
  return {};
}

void Unite(Mask& to, const Mask& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) CPU_OR(&to[i], &to[i], &from[i]);
}

// Read while the program's objects are initialised. A library whose constructors ran before may have bound
// the first thread by then; what other threads have is added when the processors are counted.
Mask& ProcessMask() {
  static Mask& mask = *new Mask(MaskOf(getpid()));
  return mask;
}
[[maybe_unused]] const bool was_read_at_start = (ProcessMask(), true);

bool BindsOpenMpThreads() {
  const char* const variables[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"};
  return std::ranges::any_of(variables, [](const char* name) { return std::getenv(name) != nullptr; }) &&
         omp_get_num_places != nullptr && omp_get_place_num_procs != nullptr &&
         omp_get_place_proc_ids != nullptr;
}

// Called only where threads are bound, since the call may start the runtime.
Mask OpenMpPlaces() {
  Mask mask;
  if (!BindsOpenMpThreads()) return mask;
  const int places = omp_get_num_places();
  for (int place = 0; place < places; ++place) {
    std::vector<int> processors(static_cast<size_t>(std::max(omp_get_place_num_procs(place), 0)));
    if (!processors.empty()) omp_get_place_proc_ids(place, processors.data());
    for (const int processor : processors) {
      if (processor < 0) continue;
      const size_t set = static_cast<size_t>(processor) / CPU_SETSIZE;
      if (set >= mask.size()) mask.resize(set + 1);
      CPU_SET(static_cast<size_t>(processor) % CPU_SETSIZE, &mask[set]);
    }
  }
  return mask;
}

const Mask& WholeMask() {
  static const Mask& mask = []() -> const Mask& {
    Mask& whole = ProcessMask();
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc/self/task", error)) {
      pid_t thread = 0;
      const std::string name = entry.path().filename();
      std::from_chars(name.data(), name.data() + name.size(), thread);
      if (thread > 0) Unite(whole, MaskOf(thread));
    }
    Unite(whole, OpenMpPlaces());
    return whole;
  }();
  return mask;
}

unsigned Count(const Mask& mask) {
  int count = 0;
  for (const cpu_set_t& set : mask) count += CPU_COUNT(&set);
  return static_cast<unsigned>(std::max(count, 0));
}

// -- control groups --

bool HasWord(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

// The place where a hierarchy of control groups is mounted, and the folder of the hierarchy that is mounted
// there.
struct Mount {
  std::string root, point;
};

std::optional<Mount> FindMount(const std::string& root, bool unified) {
  std::ifstream table(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string skipped, word, type, options;
    Mount mount;
    words >> skipped >> skipped >> skipped >> mount.root >> mount.point;
    while (words >> word && word != "-") {
    }
    words >> type >> skipped >> options;
    if (unified ? type == "cgroup2" : type == "cgroup" && HasWord(options, "cpu")) return mount;
  }
  return std::nullopt;
}

double NumberIn(const fs::path& file) {
  double number = 0;
  std::ifstream in(file);
  return in >> number ? number : -1;
}

// Quota over period, for one folder.
std::optional<double> QuotaOf(const fs::path& folder, bool unified) {
  double quota = -1, period = -1;
  if (unified) {
    std::ifstream in(folder / "cpu.max");
    std::string word;
    if (!(in >> word >> period) || word == "max") return std::nullopt;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), quota);
    if (error != std::errc()) return std::nullopt;
  } else {
    quota = NumberIn(folder / "cpu.cfs_quota_us"), period = NumberIn(folder / "cpu.cfs_period_us");
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

std::optional<double> Least(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

// The least quota of the group and all groups above it, as far as they can be read.
std::optional<double> QuotaOfPath(const std::string& root, std::string path, bool unified) {
  const auto mount = FindMount(root, unified);
  if (!mount) return std::nullopt;
  // In a container without a namespace of its own, the group's path is the host's, and only its folder is
  // mounted.
  if (mount->root != "/") path = path.starts_with(mount->root) ? path.substr(mount->root.size()) : "";
  std::optional<double> least;
  for (fs::path below = fs::path("/" + path).lexically_normal();; below = below.parent_path()) {
    least = Least(least, QuotaOf(fs::path(root + mount->point) / below.relative_path(), unified));
    if (below == below.parent_path()) return least;
  }
}

unsigned CountProcessors() {
  unsigned count = Count(WholeMask());
  if (count == 0) count = std::max(1u, std::thread::hardware_concurrency());
  if (const auto quota = ProcessorQuota()) {
    const double whole = std::ceil(*quota);
    if (whole < count) count = static_cast<unsigned>(std::max(1.0, whole));
  }
  return count;
}

}  // namespace

std::optional<double> ProcessorQuota(const std::string& root) {
  std::optional<double> least;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:path
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (unified || HasWord(controllers, "cpu"))
      least = Least(least, QuotaOfPath(root, line.substr(second + 1), unified));
  }
  return least;
}

unsigned UsableProcessors() {
  static const unsigned count = CountProcessors();
  return count;
}

void UseAllProcessors() {
  const Mask& mask = WholeMask();
  if (!mask.empty()) sched_setaffinity(0, mask.size() * sizeof(cpu_set_t), mask.data());
}

void BlockSignalsOfProgram() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&signals, fault);
  pthread_sigmask(SIG_SETMASK, &signals, nullptr);
}

bool StartThread(std::function<void()> work) {
  try {
    std::thread([work = std::move(work)] {
      BlockSignalsOfProgram();
      UseAllProcessors();
      work();
    }).detach();
    return true;
  } catch (const std::exception&) {  // no thread, no memory for one
    return false;
  }
}

int CurrentProcessor() { return sched_getcpu(); }

// The system moves a thread at once whose processor it may not use any more.
void LeaveProcessor(int processor) {
  if (processor < 0 || sched_getcpu() != processor) return;
  const Mask all = MaskOf(0);
  Mask others = all;
  const size_t bytes = others.size() * sizeof(cpu_set_t);
  if (bytes == 0) return;
  CPU_CLR_S(static_cast<size_t>(processor), bytes, others.data());
  if (CPU_COUNT_S(bytes, others.data()) == 0) return;
  sched_setaffinity(0, bytes, others.data());
  sched_setaffinity(0, bytes, all.data());
}

}  // namespace ptx2cpu::rt
