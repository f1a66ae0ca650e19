#include "runtime/cuda/libraries/nccl/region.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <thread>

#include "runtime/cuda/driver/core/local_socket.h"

namespace ptx2cpu::nccl {

namespace {

constexpr int kLooks = 200;                 // before a waiting thread sleeps
constexpr long kLookForLivesNs = 50000000;  // how often one that sleeps looks whether the others live

// Words in memory that processes share; runtime/worker/futex.h is for those of one process.
void SharedWait(std::atomic<uint32_t>& word, uint32_t value) {
  const timespec limit = {0, kLookForLivesNs};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &limit, nullptr, 0);
}
void SharedWake(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

size_t RoundUp(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

}  // namespace

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PTX2CPU_ORDER_IS_SHOWN
#endif
#endif
#ifdef PTX2CPU_ORDER_IS_SHOWN
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
namespace {
constexpr char kOrder = 0;  // its address is what all ranks have in common
}  // namespace
void ReleaseOrder() { __tsan_release(const_cast<char*>(&kOrder)); }
void AcquireOrder() { __tsan_acquire(const_cast<char*>(&kOrder)); }
#else
void ReleaseOrder() {}
void AcquireOrder() {}
#endif

uint64_t ProcessNumber() {
  static const uint64_t random = [] {
    uint64_t made = 0;
    return driver::FillRandom(&made, sizeof made) ? made : static_cast<uint64_t>(getppid());
  }();
  return random + static_cast<uint64_t>(getpid()) * 0x9e3779b97f4a7c15;  // a forked child is another one
}

// Offsets of the parts of a region; pages that are not used cost nothing.
struct Region::Layout {
  explicit Layout(size_t ranks)
      : parts(RoundUp(sizeof(Head))),
        stages(parts + RoundUp(ranks * sizeof(RankPart))),
        channels(stages + ranks * 2 * kStage),
        rings(channels + RoundUp(ranks * ranks * sizeof(Channel))),
        end(rings + ranks * ranks * Channel::kRing) {}
  size_t parts, stages, channels, rings, end;
};

int Region::MakeFile(int ranks) {
  const int file = memfd_create("ptx2cpu-nccl", MFD_CLOEXEC);
  const Layout layout(static_cast<size_t>(ranks));
  if (file < 0 || ftruncate(file, static_cast<off_t>(layout.end)) != 0) {
    if (file >= 0) close(file);
    return -1;
  }
  void* const base = mmap(nullptr, layout.stages, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (base == MAP_FAILED) {
    close(file);
    return -1;
  }
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  auto* const parts = reinterpret_cast<RankPart*>(static_cast<std::byte*>(base) + layout.parts);
  for (int i = 0; i < ranks; ++i) pthread_mutex_init(&parts[i].life, &attributes);
  pthread_mutexattr_destroy(&attributes);
  munmap(base, layout.stages);
  return file;
}

std::shared_ptr<Region> Region::Map(int file, int ranks) {
  const size_t bytes = Layout(static_cast<size_t>(ranks)).end;
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  close(file);
  if (base == MAP_FAILED) return nullptr;
  return std::shared_ptr<Region>(new Region(static_cast<std::byte*>(base), bytes, ranks));
}

Region::Region(std::byte* base, size_t bytes, int ranks)
    : base_(base),
      bytes_(bytes),
      ranks_(ranks),
      head_(reinterpret_cast<Head*>(base)),
      parts_(reinterpret_cast<RankPart*>(base + Layout(static_cast<size_t>(ranks)).parts)) {}

Region::~Region() { munmap(base_, bytes_); }

Channel& Region::channel(int from, int to) const {
  const auto ranks = static_cast<size_t>(ranks_);
  const size_t index = static_cast<size_t>(from) * ranks + static_cast<size_t>(to);
  return reinterpret_cast<Channel*>(base_ + Layout(ranks).channels)[index];
}
std::byte* Region::ring(int from, int to) const {
  const auto ranks = static_cast<size_t>(ranks_);
  const size_t index = static_cast<size_t>(from) * ranks + static_cast<size_t>(to);
  return base_ + Layout(ranks).rings + index * Channel::kRing;
}
std::byte* Region::stage(int rank, unsigned turn) const {
  return base_ + Layout(static_cast<size_t>(ranks_)).stages +
         (static_cast<size_t>(rank) * 2 + turn % 2) * kStage;
}

bool Region::Join(int rank, uint64_t process) {
  RankPart& own = parts_[rank];
  if (pthread_mutex_trylock(&own.life) != 0) return false;
  if (own.joined.load() != 0) {
    pthread_mutex_unlock(&own.life);
    return false;
  }
  own.process = process;
  own.joined.store(1);
  head_->joined.fetch_add(1);
  SharedWake(head_->joined);
  return true;
}

void Region::Leave(int rank) { pthread_mutex_unlock(&parts_[rank].life); }

bool Region::Gone(int rank) const {
  RankPart& other = parts_[rank];
  if (other.joined.load() == 0) return false;
  const int state = pthread_mutex_trylock(&other.life);
  // Ranks that look later find it free, or beyond recovery.
  if (state == 0 || state == EOWNERDEAD) pthread_mutex_unlock(&other.life);
  return state != EBUSY;
}

bool Region::SomeoneGone() const {
  for (int i = 0; i < ranks_; ++i) {
    if (Gone(i)) return true;
  }
  return false;
}

template <typename Done, typename IsGone>
bool Region::Await(std::atomic<uint32_t>& word, const Done& done, const IsGone& gone) {
  for (int looks = 0;; ++looks) {
    const uint32_t seen = word.load();
    if (done()) return true;
    if (aborted()) return false;
    if (looks < kLooks) {
      std::this_thread::yield();
      continue;
    }
    SharedWait(word, seen);
    if (done()) return true;
    if (gone()) return done();  // what is waited for may have been its last act
  }
}

bool Region::AwaitAll() {
  return Await(
      head_->joined, [&] { return head_->joined.load() == static_cast<uint32_t>(ranks_); },
      [this] { return SomeoneGone(); });
}

bool Region::Barrier() {
  if (aborted()) return false;
  ReleaseOrder();
  const uint32_t generation = head_->generation.load();
  if (head_->arrived.fetch_add(1) + 1 == static_cast<uint32_t>(ranks_)) {
    head_->arrived.store(0);
    head_->generation.fetch_add(1);
    SharedWake(head_->generation);
    AcquireOrder();
    return true;
  }
  const bool all_came = Await(
      head_->generation, [&] { return head_->generation.load() != generation; },
      [this] { return SomeoneGone(); });
  if (all_came) AcquireOrder();
  return all_came;
}

bool Region::AwaitBell(int rank, uint32_t seen, std::span<const int> peers) {
  std::atomic<uint32_t>& bell = parts_[rank].bell;
  return Await(
      bell, [&] { return bell.load() != seen; },
      [&] { return std::ranges::any_of(peers, [this](int peer) { return Gone(peer); }); });
}

void Region::Ring(int rank) {
  parts_[rank].bell.fetch_add(1);
  SharedWake(parts_[rank].bell);
}

void Region::Abort() {
  head_->aborted.store(1);
  SharedWake(head_->joined);
  SharedWake(head_->generation);
  for (int i = 0; i < ranks_; ++i) Ring(i);
}

}  // namespace ptx2cpu::nccl
