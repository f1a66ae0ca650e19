// Accesses that are entered together (rows, lanes, words, parts of words) report what a cell for each byte
// reports to which one thread after the other comes: random accesses of a few blocks, of which many race.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <sstream>
#include <utility>

#include "runtime/check/block_check.h"

using namespace ptx2cpu;
using namespace ptx2cpu::rt::check;

namespace {

constexpr uint32_t kBlockThreads = 64, kBytes = 256;

// What is reported of two lines.
struct Report {
  uint64_t count = 0;
  std::array<uint32_t, 3> thread{}, other{}, other_block{};  // of the first
  std::string other_text;
  bool operator==(const Report&) const = default;
};
using Reports = std::map<std::pair<uint32_t, uint32_t>, Report>;

Reports Found() {
  Reports reports;
  for (const Finding& finding : Findings::Get().All()) {
    if (finding.error != Error::kRace) continue;
    reports[{finding.party.ptx_line, finding.other.ptx_line}] = {
        finding.count, finding.party.thread, finding.other.thread, finding.other.block, finding.other_text};
  }
  return reports;
}

std::string Listed(const Reports& reports) {
  std::ostringstream text;
  for (const auto& [lines, report] : reports) {
    text << "  line " << lines.first << " after " << lines.second << ": " << report.count << " times, thread "
         << report.thread[0] << " after the " << report.other_text << " of " << report.other[0]
         << " in block " << report.other_block[0] << "\n";
  }
  return text.str();
}

// A cell for each byte.
class Bytes {
 public:
  void Begin(uint32_t block) { clock_.Begin(launch_, block + 1, kBlockThreads), shared_ = {}; }
  void MeetAtBarrier() {
    clock_.ArriveAtBlock();
    clock_.LeaveBlock(0, ~uint64_t{0});
    shared_ = {};  // all that was done to it comes before all that will be
  }
  void MeetInWarp(uint32_t first) {
    clock_.ArriveAtWarp(first, ~uint64_t{0} >> 32);
    clock_.LeaveWholeWarp(first, ~0u);
  }
  // `at`: the first byte.
  void Access(const Accesses& accesses, uint32_t lane, uint64_t at, bool is_shared) {
    const bool strong = (accesses.form & PTX2CPU_ACCESS_STRONG) != 0;
    const CellAccess access{.stamp = clock_.Now(accesses.thread + lane, accesses.ptx_line, strong),
                            .writes = (accesses.form & PTX2CPU_ACCESS_WRITES) != 0};
    std::optional<Conflict> first;
    for (uint64_t byte = at; byte < at + accesses.bytes; ++byte) {
      Conflict conflict;
      const bool is_free = Enter((is_shared ? shared_ : global_)[byte], access, clock_, conflict);
      if (!is_free && !first) first = conflict;
    }
    if (!first) return;
    const uint32_t other_line = first->with.ptx_line;
    Report& report = reports[{accesses.ptx_line, other_line}];
    if (report.count++ != 0) return;
    report.thread = {accesses.thread + lane, 0, 0};
    report.other = {first->with.thread, 0, 0}, report.other_block = {first->with.block - 1, 0, 0};
    report.other_text = first->was_write ? "write" : "read";
  }

  Reports reports;

 private:
  LaunchClock launch_;
  BlockClock clock_;
  std::array<Cell, kBytes> shared_{}, global_{};
};

class TwoChecks {
 public:
  explicit TwoChecks(uint32_t seed) : random_(seed) {
    static uint64_t launches = 0;
    launch_.number = ++launches;
    launch_.kernel = "random";
    launch_.heap = &heap_;
    launch_.shadow = &shadow_;
    for (uint32_t thread = 0; thread < kBlockThreads; ++thread) tid_[thread] = thread;
    block_.tid = tid_.data();
    block_.shared = shared_.data();
    block_.window_bytes = block_.shared_bytes = kBytes;
    block_.nctaid[0] = 1000, block_.nctaid[1] = block_.nctaid[2] = 1;
    block_.ntid[0] = kBlockThreads, block_.ntid[1] = block_.ntid[2] = 1;
    block_.thread_count = block_.thread_padded = kBlockThreads;
    block_.warp_count = kBlockThreads / kLanes;
    const auto base = reinterpret_cast<uintptr_t>(global_.data());
    SetMemorySource({[base](uintptr_t address) -> std::optional<MemoryRange> {
                       if (address - base < kBytes) return MemoryRange{base, kBytes};
                       return std::nullopt;
                     },
                     {},
                     [] { return uint64_t{1}; }});
    Findings::Get().Clear();
    check_.Join(launch_, block_);
    Begin();
  }

  void Step() {
    const uint32_t what = Below(24);
    if (what == 0) return Begin();
    if (what < 8) return Barrier();
    if (what == 8) return Warp();
    Access();
  }
  const Reports& by_bytes() const { return bytes_.reports; }

 private:
  uint32_t Below(uint32_t end) { return static_cast<uint32_t>(random_() >> 8) % end; }

  void Begin() {
    block_.ctaid[0] = blocks_;
    check_.Begin(block_);
    bytes_.Begin(blocks_++);
  }
  void Barrier() {
    check_.Sync(block_, {0, 1, ~uint64_t{0}, PTX2CPU_SYNC_BLOCK_ARRIVE, 0, 0});
    check_.Sync(block_, {0, 1, ~uint64_t{0}, PTX2CPU_SYNC_BLOCK_LEAVE, 0, 0});
    bytes_.MeetAtBarrier();
  }
  void Warp() {
    const uint32_t first = Below(2) * kLanes;
    check_.Sync(block_, {first, 1, ~uint64_t{0} >> 32, PTX2CPU_SYNC_WARP_ARRIVE, ~0u, 0});
    check_.Sync(block_, {first, 1, ~uint64_t{0} >> 32, PTX2CPU_SYNC_WARP_LEAVE, ~0u, 0});
    bytes_.MeetInWarp(first);
  }

  void Access() {
    const uint32_t bytes = Below(4) != 0 ? mostly_ : 1u << Below(5);
    const bool is_shared = Below(2) == 0, writes = Below(3) == 0, strong = Below(8) == 0;
    const uint64_t base = is_shared ? 0 : reinterpret_cast<uint64_t>(global_.data());
    Accesses accesses;
    accesses.thread = Below(5) * 8, accesses.ptx_line = 1 + Below(4), accesses.bytes = bytes;
    accesses.range = PTX2CPU_NO_CHECK_RANGE;
    accesses.form = (writes ? PTX2CPU_ACCESS_WRITES : PTX2CPU_ACCESS_READS) |
                    (strong ? PTX2CPU_ACCESS_STRONG : 0) |
                    (is_shared ? PTX2CPU_SPACE_SHARED : PTX2CPU_SPACE_GLOBAL) << PTX2CPU_ACCESS_SPACE_SHIFT;
    std::array<uint64_t, 64> addresses{};
    if (Below(8) == 0) {  // anywhere
      const uint32_t count = 1 + Below(16);
      for (uint32_t i = 0; i < count; ++i) addresses[i] = base + Below(kBytes / bytes) * bytes;
      accesses.addresses = addresses.data();
      accesses.lanes = ~uint64_t{0} >> (64 - count);
    } else {
      const uint32_t apart = Below(4) == 0 ? 0 : bytes << (Below(4) == 0 ? Below(4) : 0);
      const uint32_t room = apart == 0 ? 64 : (kBytes - bytes) / apart + 1;
      const uint32_t most = std::min({room, kBlockThreads - accesses.thread, 64u});
      const uint32_t count = Below(2) == 0 ? most : 1 + Below(most);
      const uint64_t last = kBytes - bytes - uint64_t{apart} * (count - 1);
      const uint64_t own = uint64_t{accesses.thread} * apart;
      const bool is_own = Below(4) != 0 && own <= last;
      accesses.first = base + (is_own ? own : Below(static_cast<uint32_t>(last / bytes) + 1) * bytes);
      accesses.stride = apart;
      accesses.lanes = ~uint64_t{0} >> (64 - count);
    }
    if (Below(4) == 0) accesses.lanes &= random_() | uint64_t{random_()} << 32;
    check_.Access(block_, accesses);
    for (uint32_t lane = 0; lane < 64; ++lane) {
      if ((accesses.lanes >> lane & 1) != 0)
        bytes_.Access(accesses, lane, accesses.AddressOf(lane) - base, is_shared);
    }
  }

  std::mt19937 random_;
  rt::DeviceHeap heap_;
  GlobalShadow shadow_;
  LaunchCheck launch_;
  ptx2cpu_block block_{};
  std::array<uint32_t, kBlockThreads> tid_{};
  alignas(64) std::array<uint8_t, kBytes> shared_{}, global_{};
  BlockCheck check_;
  Bytes bytes_;
  uint32_t blocks_ = 0;
  const uint32_t mostly_ = 1u << Below(5);  // bytes of most accesses
};

// Thousands of races are not printed.
class Quiet {
 public:
  Quiet() : stderr_(dup(STDERR_FILENO)) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);
    close(null);
  }
  ~Quiet() {
    dup2(stderr_, STDERR_FILENO);
    close(stderr_);
    Findings::Get().Clear();
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  const int stderr_;
};

}  // namespace

// Up to the first that races: what a race leaves in the shadow is not the same.
TEST_CASE("accesses entered together report what those of single bytes by single threads report") {
  if ((WantedKinds() & PTX2CPU_CHECKS_RACE) == 0) return;
  constexpr uint32_t kSeeds = 3000, kSteps = 60;
  const Quiet quiet;
  size_t races = 0, steps = 0;
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    TwoChecks checks(seed);
    for (uint32_t step = 0; step < kSteps && checks.by_bytes().empty() && Found().empty(); ++step, ++steps)
      checks.Step();
    const Reports together = Found(), single = checks.by_bytes();
    INFO("seed " << seed << "\ntogether:\n" << Listed(together) << "single:\n" << Listed(single));
    CHECK(together == single);
    races += single.empty() ? 0 : 1;
  }
  CHECK(races > kSeeds / 10);
  CHECK(races < kSeeds);
  CHECK(steps > 6 * kSeeds);
}
