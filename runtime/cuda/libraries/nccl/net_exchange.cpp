#include "runtime/cuda/libraries/nccl/net_exchange.h"

#include <algorithm>
#include <cstring>

namespace ptx2cpu::nccl {

namespace {

constexpr size_t kPiece = size_t{8} << 20;   // bytes of all ranks' elements that are reduced at once
constexpr size_t kSmall = size_t{64} << 10;  // bytes that a rank receives rather than have a second round

void CopyBytes(void* to, const void* from, size_t bytes) {
  if (to != from && bytes != 0) std::memmove(to, from, bytes);
}

}  // namespace

// A collective and its transfers.
struct NetExchange::Work {
  const Operation& operation;
  Shape shape;
  size_t size;  // of an element
  uint64_t factor;

  explicit Work(const Operation& of)
      : operation(of), shape(ShapeOf(of)), size(SizeOf(of.type)), factor(nccl::FactorOf(of)) {}

  const std::byte* SendAt(size_t element) const {
    return static_cast<const std::byte*>(operation.send) + element * size;
  }
  std::byte* ReceiveAt(size_t element) const {
    return static_cast<std::byte*>(operation.receive) + element * size;
  }
  Transfer To(int peer, const void* from, size_t count) const {
    return {.peer = peer, .sends = true, .from = from, .header = {shape, count * size, factor}};
  }
  Transfer From(int peer, void* to, size_t count) const {
    return {.peer = peer, .to = to, .header = {shape, count * size, 0}};
  }
};

NetExchange::NetExchange(int rank, std::vector<Descriptor> peers)
    : mesh_(rank, std::move(peers)), rank_(rank), ranks_(mesh_.ranks()) {}

Outcome NetExchange::Collective(const Operation& operation) {
  const Work work(operation);
  if (operation.kind == Kind::kBroadcast) return Broadcast(work);
  if (operation.kind == Kind::kReduceScatter) return Scatter(work);
  return MovementOf(operation.kind) != nullptr ? Move(work) : ReduceInPieces(work);
}

Outcome NetExchange::Messages(std::span<const Operation> operations) {
  std::vector<Transfer> transfers;
  for (const Operation& operation : operations) {
    const size_t bytes = operation.count * SizeOf(operation.type);
    const bool sends = operation.kind == Kind::kSend;
    const Shape shape = {static_cast<uint32_t>(Kind::kSend), 0, 0, 0, bytes};
    transfers.push_back({.peer = operation.root,
                         .sends = sends,
                         .from = operation.send,
                         .to = operation.receive,
                         .header = {shape, bytes, 0}});
  }
  return mesh_.Move(transfers);
}

Outcome NetExchange::Pass(const Card& own, std::vector<Card>& all) {
  all.assign(static_cast<size_t>(ranks_), own);
  const Header header = {{static_cast<uint32_t>(Kind::kSplit), 0, 0, 0, 1}, sizeof own, 0};
  std::vector<Transfer> transfers;
  for (int i = 0; i < ranks_; ++i) {
    if (i == rank_) continue;
    transfers.push_back({.peer = i, .sends = true, .from = &own, .header = header});
    transfers.push_back({.peer = i, .to = &all[static_cast<size_t>(i)], .header = header});
  }
  return mesh_.Move(transfers);
}

Outcome NetExchange::Move(const Work& work) {
  const Movement& movement = *MovementOf(work.operation.kind);
  const size_t count = work.operation.count;
  const int root = work.operation.root;
  const auto passes = [&](int from, int to) {
    return (!movement.root_gives || from == root) && (!movement.root_takes || to == root);
  };
  const auto given = [&](int to) { return work.SendAt(movement.each ? static_cast<size_t>(to) * count : 0); };
  const auto place = [&](int from) {
    return work.ReceiveAt(movement.root_gives ? 0 : static_cast<size_t>(from) * count);
  };
  std::vector<Transfer> transfers;
  for (int i = 0; i < ranks_; ++i) {
    if (i == rank_ || count == 0) continue;
    if (passes(rank_, i)) transfers.push_back(work.To(i, given(i), count));
    if (passes(i, rank_)) transfers.push_back(work.From(i, place(i), count));
  }
  if (passes(rank_, rank_)) CopyBytes(place(rank_), given(rank_), count * work.size);
  return mesh_.Move(transfers);
}

// Many bytes in two rounds, so that the root sends them little more than once: a segment to each rank, which
// passes it on.
Outcome NetExchange::Broadcast(const Work& work) {
  const size_t count = work.operation.count;
  const int root = work.operation.root;
  if (ranks_ < 3 || count * work.size <= kSmall) return Move(work);
  const bool gives = rank_ == root;
  std::byte* const whole = work.ReceiveAt(0);
  if (gives) CopyBytes(whole, work.operation.send, count * work.size);
  const auto at = [&](const Segment& segment) { return whole + segment.begin * work.size; };
  const Segment own(count, rank_, ranks_);
  std::vector<Transfer> first, second;
  for (int i = 0; i < ranks_; ++i) {
    const Segment other(count, i, ranks_);
    if (i == rank_) continue;
    if (gives) first.push_back(work.To(i, at(other), other.count));
    if (i != root) second.push_back(work.To(i, at(own), own.count));
    if (!gives) second.push_back(work.From(i, at(other), other.count));
  }
  if (!gives) first.push_back(work.From(root, at(own), own.count));
  if (const Outcome outcome = mesh_.Move(first); outcome != Outcome::kDone) return outcome;
  return mesh_.Move(second);
}

Outcome NetExchange::ReduceInPieces(const Work& work) {
  const size_t all = work.operation.count;
  const bool small = all * work.size * static_cast<size_t>(ranks_) <= kSmall;
  const size_t at_once = kPiece / work.size;
  for (size_t at = 0; at < all; at += at_once) {
    const Outcome outcome = ReducePiece(work, at, std::min(at_once, all - at), small);
    if (outcome != Outcome::kDone) return outcome;
  }
  return Outcome::kDone;
}

Outcome NetExchange::ReducePiece(const Work& work, size_t at, size_t count, bool small) {
  const Operation& operation = work.operation;
  const auto takes = [&](int rank) { return operation.kind == Kind::kAllReduce || rank == operation.root; };
  // What a rank reduces: its segment, or everything that it is to have.
  const auto reduced = [&](int rank) {
    return small ? Segment(takes(rank) ? count : 0, 0, 1) : Segment(count, rank, ranks_);
  };
  const Segment own = reduced(rank_);
  const size_t bytes = own.count * work.size;
  received_.resize(bytes * static_cast<size_t>(ranks_));
  std::vector<Transfer> transfers;
  std::vector<const std::byte*> sources(static_cast<size_t>(ranks_), work.SendAt(at + own.begin));
  std::vector<uint64_t> factors(static_cast<size_t>(ranks_), work.factor);
  for (int i = 0; i < ranks_; ++i) {
    const Segment other = reduced(i);
    if (i == rank_) continue;
    if (other.count != 0) transfers.push_back(work.To(i, work.SendAt(at + other.begin), other.count));
    std::byte* const place = received_.data() + bytes * static_cast<size_t>(i);
    if (own.count != 0) transfers.push_back(work.From(i, place, own.count));
    sources[static_cast<size_t>(i)] = place;
  }
  if (const Outcome outcome = mesh_.Move(transfers); outcome != Outcome::kDone) return outcome;
  for (const Transfer& transfer : transfers) {
    if (!transfer.sends) factors[static_cast<size_t>(transfer.peer)] = transfer.header.scalar;
  }
  // The rank's own place among what was received is free.
  std::byte* const result =
      takes(rank_) ? work.ReceiveAt(at + own.begin) : received_.data() + bytes * static_cast<size_t>(rank_);
  if (own.count != 0) Reduce(operation.type, operation.reduction, sources, 0, own.count, factors, result);
  return small ? Outcome::kDone : PassResults(work, at, count, result);
}

Outcome NetExchange::PassResults(const Work& work, size_t at, size_t count, std::byte* own) {
  const auto takes = [&](int rank) {
    return work.operation.kind == Kind::kAllReduce || rank == work.operation.root;
  };
  const Segment segment(count, rank_, ranks_);
  std::vector<Transfer> transfers;
  for (int i = 0; i < ranks_; ++i) {
    const Segment other(count, i, ranks_);
    if (i == rank_) continue;
    if (takes(i) && segment.count != 0) transfers.push_back(work.To(i, own, segment.count));
    if (takes(rank_) && other.count != 0)
      transfers.push_back(work.From(i, work.ReceiveAt(at + other.begin), other.count));
  }
  return mesh_.Move(transfers);
}

// Each rank receives its part from all others.
Outcome NetExchange::Scatter(const Work& work) {
  const size_t all = work.operation.count;
  const size_t at_once = std::max(kPiece / work.size / static_cast<size_t>(ranks_), size_t{1});
  for (size_t at = 0; at < all; at += at_once) {
    const size_t count = std::min(at_once, all - at), bytes = count * work.size;
    received_.resize(bytes * static_cast<size_t>(ranks_));
    std::vector<Transfer> transfers;
    std::vector<const std::byte*> sources(static_cast<size_t>(ranks_),
                                          work.SendAt(static_cast<size_t>(rank_) * all + at));
    std::vector<uint64_t> factors(static_cast<size_t>(ranks_), work.factor);
    for (int i = 0; i < ranks_; ++i) {
      if (i == rank_) continue;
      std::byte* const place = received_.data() + bytes * static_cast<size_t>(i);
      transfers.push_back(work.To(i, work.SendAt(static_cast<size_t>(i) * all + at), count));
      transfers.push_back(work.From(i, place, count));
      sources[static_cast<size_t>(i)] = place;
    }
    if (const Outcome outcome = mesh_.Move(transfers); outcome != Outcome::kDone) return outcome;
    for (const Transfer& transfer : transfers) {
      if (!transfer.sends) factors[static_cast<size_t>(transfer.peer)] = transfer.header.scalar;
    }
    Reduce(work.operation.type, work.operation.reduction, sources, 0, count, factors, work.ReceiveAt(at));
  }
  return Outcome::kDone;
}

}  // namespace ptx2cpu::nccl
