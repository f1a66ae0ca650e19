#include "runtime/cuda/libraries/nccl/memory_exchange.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/cuda/libraries/nccl/status.h"

namespace ptx2cpu::nccl {

using namespace cuda;

namespace {

void CopyBytes(std::byte* to, const std::byte* from, size_t bytes) {
  if (to != from && bytes != 0) std::memcpy(to, from, bytes);
}
const std::byte* BytesAt(const void* buffer, size_t elements, size_t size) {
  return static_cast<const std::byte*>(buffer) + elements * size;
}
std::byte* BytesAt(void* buffer, size_t elements, size_t size) {
  return static_cast<std::byte*>(buffer) + elements * size;
}

bool AllOfOneProcess(const Region& region) {
  for (int i = 1; i < region.ranks(); ++i) {
    if (region.part(i).process != region.part(0).process) return false;
  }
  return true;
}

}  // namespace

MemoryExchange::MemoryExchange(std::shared_ptr<Region> region, int rank)
    : shared_(std::move(region)), region_(*shared_), rank_(rank), ranks_(region_.ranks()) {}

ncclResult_t MemoryExchange::Join() {
  if (!region_.Join(rank_, ProcessNumber()))
    return Fail(ncclInvalidUsage, "ncclCommInitRank", "rank " + std::to_string(rank_) + " exists already");
  if (!region_.AwaitAll()) {
    region_.Leave(rank_);
    return Fail(ncclRemoteError, "ncclCommInitRank", "a rank ended before all had come");
  }
  direct_ = AllOfOneProcess(region_);
  return ncclSuccess;
}

Outcome MemoryExchange::AwaitAnnouncements() {
  if (!region_.Barrier()) return Outcome::kGone;
  for (int i = 1; i < ranks_; ++i) {
    if (!(Shown(i).shape == Shown(0).shape)) return Outcome::kMismatch;
  }
  return Outcome::kDone;
}

Outcome MemoryExchange::Pass(const Card& card, std::vector<Card>& all) {
  Announcement& own = AnnouncementOf(rank_, number_++);
  own.shape = {};
  own.shape.kind = static_cast<uint32_t>(Kind::kSplit);
  own.card = card;
  const Outcome outcome = AwaitAnnouncements();
  all.clear();
  for (int i = 0; i < ranks_; ++i) all.push_back(Shown(i).card);
  return outcome;
}

Outcome MemoryExchange::Announce(const Operation& operation) {
  const uint64_t factor = FactorOf(operation);
  Announcement& own = AnnouncementOf(rank_, number_++);
  own.shape = ShapeOf(operation);
  own.send = operation.send, own.receive = operation.receive, own.scalar = factor;
  return AwaitAnnouncements();
}

Outcome MemoryExchange::Collective(const Operation& operation) {
  if (const Outcome outcome = Announce(operation); outcome != Outcome::kDone) return outcome;
  const bool moves = MovementOf(operation.kind) != nullptr;
  if (direct_) {
    const Outcome outcome = moves ? MoveDirectly(operation) : ReduceDirectly(operation);
    // Other ranks read and write this rank's buffers until all are done.
    return outcome == Outcome::kDone && !region_.Barrier() ? Outcome::kGone : outcome;
  }
  if (moves) return MoveInStages(operation);
  return operation.kind == Kind::kReduceScatter ? ScatterInStages(operation) : ReduceInStages(operation);
}

Outcome MemoryExchange::ReduceDirectly(const Operation& operation) {
  const size_t size = SizeOf(operation.type);
  std::vector<const std::byte*> sources;
  std::vector<uint64_t> factors;
  for (int i = 0; i < ranks_; ++i) {
    const Announcement& other = Shown(i);
    sources.push_back(static_cast<const std::byte*>(other.send));
    factors.push_back(other.scalar);
  }
  if (operation.kind == Kind::kReduceScatter) {
    Reduce(operation.type, operation.reduction, sources, operation.count * static_cast<size_t>(rank_),
           operation.count, factors, static_cast<std::byte*>(operation.receive));
    return Outcome::kDone;
  }
  // Each rank reduces a segment, and writes it to the rank that receives: in place, no other rank reads it.
  const Segment segment(operation.count, rank_, ranks_);
  constexpr size_t kAtOnce = 4096;
  alignas(64) std::byte part[kAtOnce * sizeof(uint64_t)];
  for (size_t done = 0; done < segment.count; done += kAtOnce) {
    const size_t at = segment.begin + done, count = std::min(kAtOnce, segment.count - done);
    Reduce(operation.type, operation.reduction, sources, at, count, factors, part);
    for (int i = 0; i < ranks_; ++i) {
      if (operation.kind == Kind::kReduce && i != operation.root) continue;
      std::memcpy(BytesAt(Shown(i).receive, at, size), part, count * size);
    }
  }
  return Outcome::kDone;
}

Outcome MemoryExchange::MoveDirectly(const Operation& operation) {
  const Movement& movement = *MovementOf(operation.kind);
  if (movement.root_takes && rank_ != operation.root) return Outcome::kDone;
  const size_t size = SizeOf(operation.type), count = operation.count;
  for (int i = 0; i < ranks_; ++i) {
    if (movement.root_gives && i != operation.root) continue;
    const size_t from = movement.each ? static_cast<size_t>(rank_) * count : 0;
    const size_t to = movement.root_gives ? 0 : static_cast<size_t>(i) * count;
    CopyBytes(BytesAt(operation.receive, to, size), BytesAt(Shown(i).send, from, size), count * size);
  }
  return Outcome::kDone;
}

// Each round has a barrier after ranks wrote to their stages. The next round uses the other area; when its
// barrier is over, all have read this one.
Outcome MemoryExchange::MoveInStages(const Operation& operation) {
  const Movement& movement = *MovementOf(operation.kind);
  const size_t size = SizeOf(operation.type), count = operation.count;
  const int parts = movement.each ? ranks_ : 1;
  const size_t at_once = Region::kStage / (size * static_cast<size_t>(parts));
  const bool gives = !movement.root_gives || rank_ == operation.root;
  const bool takes = !movement.root_takes || rank_ == operation.root;
  for (size_t at = 0; at < count; at += at_once, ++turn_) {
    const size_t length = std::min(at_once, count - at) * size;
    for (int part = 0; gives && part < parts; ++part) {
      CopyBytes(region_.stage(rank_, turn_) + static_cast<size_t>(part) * length,
                BytesAt(operation.send, static_cast<size_t>(part) * count + at, size), length);
    }
    if (!region_.Barrier()) return Outcome::kGone;
    for (int i = 0; takes && i < ranks_; ++i) {
      if (movement.root_gives && i != operation.root) continue;
      const size_t to = (movement.root_gives ? 0 : static_cast<size_t>(i) * count) + at;
      CopyBytes(BytesAt(operation.receive, to, size),
                region_.stage(i, turn_) + (movement.each ? static_cast<size_t>(rank_) * length : 0), length);
    }
  }
  return Outcome::kDone;
}

namespace {

// The stages of all ranks, as sources of a reduction.
struct Stages {
  std::vector<const std::byte*> sources;
  std::vector<uint64_t> factors;

  Stages(const Region& region, unsigned turn, uint64_t number) {
    for (int i = 0; i < region.ranks(); ++i) {
      sources.push_back(region.stage(i, turn));
      factors.push_back(region.part(i).announcements[number % 2].scalar);
    }
  }
};

}  // namespace

Outcome MemoryExchange::ScatterInStages(const Operation& operation) {
  const size_t size = SizeOf(operation.type), count = operation.count;
  const size_t at_once = Region::kStage / (size * static_cast<size_t>(ranks_));
  for (size_t at = 0; at < count; at += at_once, ++turn_) {
    const size_t length = std::min(at_once, count - at);
    for (int part = 0; part < ranks_; ++part) {
      CopyBytes(region_.stage(rank_, turn_) + static_cast<size_t>(part) * length * size,
                BytesAt(operation.send, static_cast<size_t>(part) * count + at, size), length * size);
    }
    if (!region_.Barrier()) return Outcome::kGone;
    const Stages stages(region_, turn_, number_ - 1);
    Reduce(operation.type, operation.reduction, stages.sources, static_cast<size_t>(rank_) * length, length,
           stages.factors, BytesAt(operation.receive, at, size));
  }
  return Outcome::kDone;
}

// Each rank reduces its segment of a piece into its own stage, where no other rank reads it as a source.
Outcome MemoryExchange::ReduceInStages(const Operation& operation) {
  const size_t size = SizeOf(operation.type), count = operation.count;
  const size_t at_once = Region::kStage / size;
  const bool takes = operation.kind == Kind::kAllReduce || rank_ == operation.root;
  for (size_t at = 0; at < count; at += at_once, ++turn_) {
    const size_t length = std::min(at_once, count - at);
    CopyBytes(region_.stage(rank_, turn_), BytesAt(operation.send, at, size), length * size);
    if (!region_.Barrier()) return Outcome::kGone;
    const Stages stages(region_, turn_, number_ - 1);
    const Segment own(length, rank_, ranks_);
    Reduce(operation.type, operation.reduction, stages.sources, own.begin, own.count, stages.factors,
           region_.stage(rank_, turn_) + own.begin * size);
    if (!region_.Barrier()) return Outcome::kGone;
    for (int i = 0; takes && i < ranks_; ++i) {
      const Segment segment(length, i, ranks_);
      CopyBytes(BytesAt(operation.receive, at + segment.begin, size),
                region_.stage(i, turn_) + segment.begin * size, segment.count * size);
    }
  }
  return Outcome::kDone;
}

}  // namespace ptx2cpu::nccl
