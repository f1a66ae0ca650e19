// Sends and receives within a machine: each rank goes through its messages again and again, and sleeps on its
// bell when none of them advances.
#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/cuda/libraries/nccl/memory_exchange.h"

namespace ptx2cpu::nccl {

struct MemoryExchange::Message {
  const Operation* operation = nullptr;
  size_t bytes = 0, done = 0;
  bool begun = false, over = false, mismatch = false;

  int peer() const { return operation->root; }
  bool sends() const { return operation->kind == Kind::kSend; }
};

namespace {

// Bytes between a buffer and a ring, from the stream's byte `at` on.
void CopyToRing(std::byte* ring, uint64_t at, const std::byte* from, size_t bytes) {
  const size_t place = at % Channel::kRing, first = std::min(bytes, Channel::kRing - place);
  if (bytes == 0) return;
  std::memcpy(ring + place, from, first);
  std::memcpy(ring, from + first, bytes - first);
}
void CopyFromRing(const std::byte* ring, uint64_t at, std::byte* to, size_t bytes) {
  const size_t place = at % Channel::kRing, first = std::min(bytes, Channel::kRing - place);
  if (bytes == 0) return;
  std::memcpy(to, ring + place, first);
  std::memcpy(to + first, ring, bytes - first);
}

}  // namespace

bool MemoryExchange::AdvanceSend(Message& message, Channel& channel) {
  const int peer = message.peer();
  if (!message.begun) {
    if (channel.taken.load() != channel.announced.load()) return false;
    channel.bytes = message.bytes, channel.from = message.operation->send;
    ReleaseOrder();
    channel.announced.fetch_add(1);
    message.begun = true;
    region_.Ring(peer);
    return true;
  }
  if (Direct(peer)) {
    message.over = channel.taken.load() == channel.announced.load();
    if (message.over) AcquireOrder();
    return message.over;
  }
  const size_t room = Channel::kRing - (channel.written.load() - channel.read.load());
  const size_t bytes = std::min(room, message.bytes - message.done);
  CopyToRing(region_.ring(rank_, peer), channel.written.load(),
             static_cast<const std::byte*>(message.operation->send) + message.done, bytes);
  channel.written.fetch_add(bytes);
  message.done += bytes;
  message.over = message.done == message.bytes;
  if (bytes != 0) region_.Ring(peer);
  return bytes != 0 || message.over;
}

bool MemoryExchange::AdvanceReceive(Message& message, Channel& channel) {
  const int peer = message.peer();
  auto* const to = static_cast<std::byte*>(message.operation->receive);
  if (!message.begun) {
    if (channel.taken.load() == channel.announced.load()) return false;
    AcquireOrder();
    message.begun = true;
    message.mismatch = channel.bytes != message.bytes;
    return true;
  }
  const bool direct = Direct(peer);
  const size_t there = direct ? message.bytes : channel.written.load() - channel.read.load();
  const size_t bytes = std::min(there, message.bytes - message.done);
  if (direct) {
    if (bytes != 0) std::memcpy(to, channel.from, bytes);
  } else {
    CopyFromRing(region_.ring(peer, rank_), channel.read.load(), to + message.done, bytes);
    channel.read.fetch_add(bytes);
  }
  message.done += bytes;
  message.over = message.done == message.bytes;
  if (message.over) {
    ReleaseOrder();
    channel.taken.fetch_add(1);
  }
  if (bytes != 0 || message.over) region_.Ring(peer);
  return bytes != 0 || message.over;
}

bool MemoryExchange::Advance(Message& message) {
  const int peer = message.peer();
  return message.sends() ? AdvanceSend(message, region_.channel(rank_, peer))
                         : AdvanceReceive(message, region_.channel(peer, rank_));
}

Outcome MemoryExchange::Messages(std::span<const Operation> operations) {
  std::vector<Message> messages;
  for (const Operation& operation : operations)
    messages.push_back({.operation = &operation, .bytes = operation.count * SizeOf(operation.type)});
  const auto same = [](const Message& a, const Message& b) {
    return a.peer() == b.peer() && a.sends() == b.sends();
  };
  for (bool last_look = false; !messages.empty();) {
    const uint32_t seen = region_.part(rank_).bell.load();
    bool advanced = false;
    for (size_t i = 0; i < messages.size(); ++i) {
      const bool first = std::ranges::none_of(std::span(messages).first(i),
                                              [&](const Message& m) { return same(m, messages[i]); });
      while (first && !messages[i].over && Advance(messages[i])) {
        advanced = true;
        if (messages[i].mismatch) return Outcome::kMismatch;
      }
    }
    std::erase_if(messages, [](const Message& message) { return message.over; });
    if (advanced) {
      last_look = false;
      continue;
    }
    if (last_look) return Outcome::kGone;
    std::vector<int> peers;
    for (const Message& message : messages) peers.push_back(message.peer());
    last_look = !region_.AwaitBell(rank_, seen, peers);
  }
  return Outcome::kDone;
}

}  // namespace ptx2cpu::nccl
