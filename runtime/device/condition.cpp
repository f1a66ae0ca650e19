// Conditions live in chunks that are never freed, so that even an invalid handle can be looked up without a
// lock. A handle has the place in its low bits and a count of conditions above them; the place stores its
// current handle.
#include "runtime/device/condition.h"

#include <array>
#include <mutex>
#include <vector>

namespace ptx2cpu::rt {

namespace {

constexpr uint64_t kPlaceBits = 20, kChunkBits = 10;
constexpr uint64_t kPlaceMask = (uint64_t{1} << kPlaceBits) - 1, kChunkMask = (uint64_t{1} << kChunkBits) - 1;
constexpr uint64_t kChunks = (kPlaceMask + 1) / (kChunkMask + 1);
using Chunk = std::array<Condition, kChunkMask + 1>;

struct Places {
  std::array<std::atomic<Chunk*>, kChunks> chunks{};
  std::mutex mutex;  // what follows
  std::vector<uint64_t> free;
  uint64_t used = 0, made = 0;
};
Places& AllPlaces() {
  static Places& places = *new Places;  // kernels may run while the process ends
  return places;
}

Condition& At(const Places& places, uint64_t place) {
  return (*places.chunks[place >> kChunkBits].load(std::memory_order_acquire))[place & kChunkMask];
}

}  // namespace

std::shared_ptr<Condition> Condition::New() {
  Places& places = AllPlaces();
  std::lock_guard lock(places.mutex);
  uint64_t place;
  if (!places.free.empty()) {
    place = places.free.back();
    places.free.pop_back();
  } else {
    place = places.used;
    if (place > kPlaceMask) return nullptr;
    auto& chunk = places.chunks[place >> kChunkBits];
    if (chunk.load(std::memory_order_relaxed) == nullptr) chunk.store(new Chunk, std::memory_order_release);
    ++places.used;
  }
  Condition& condition = At(places, place);
  condition.Set(0);
  condition.handle_.store(++places.made << kPlaceBits | place, std::memory_order_release);
  return {&condition, [place](Condition* gone) {
            Places& all = AllPlaces();
            std::lock_guard relock(all.mutex);
            gone->handle_.store(0, std::memory_order_relaxed);
            all.free.push_back(place);
          }};
}

Condition* Condition::Find(uint64_t handle) {
  const Places& places = AllPlaces();
  const uint64_t place = handle & kPlaceMask;
  if (handle == 0 || places.chunks[place >> kChunkBits].load(std::memory_order_acquire) == nullptr)
    return nullptr;
  Condition& condition = At(places, place);
  return condition.handle_.load(std::memory_order_acquire) == handle ? &condition : nullptr;
}

}  // namespace ptx2cpu::rt
