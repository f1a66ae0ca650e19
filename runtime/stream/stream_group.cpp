#include "runtime/stream/stream_group.h"

#include <algorithm>
#include <mutex>

namespace ptx2cpu::rt {

// Drops idle streams when the list has doubled since the last time, so that each listing pays for the
// examination of at most one stream.
void StreamGroup::Prune(std::vector<std::shared_ptr<Stream>>& list, size_t& limit,
                        std::atomic<bool> Stream::Listed::* flag) {
  if (list.size() < limit) return;
  std::erase_if(list, [&](const std::shared_ptr<Stream>& stream) {
    std::atomic<bool>& listed = stream->listed_.*flag;
    listed.store(false);  // before the check, because a submitting thread checks it afterwards (List)
    if (stream->Idle()) return true;
    listed.store(true);
    return false;
  });
  limit = std::max<size_t>(64, 2 * list.size());
}

StreamGroup::StreamGroup() : errors_(std::make_shared<ErrorState>()) {
  legacy_ = NewStream(StreamKind::kLegacy);
}

StreamGroup::~StreamGroup() { Synchronize(); }

std::shared_ptr<Stream> StreamGroup::NewStream(StreamKind kind, int priority) {
  return std::make_shared<Stream>(*this, kind, priority);
}

// Waits name operations that are queued already, so streams that wait for the legacy stream and the legacy
// stream that waits for them cannot form a cycle, whatever threads do at the same time.
void StreamGroup::Order(Stream& stream) {
  if (stream.kind() == StreamKind::kNonBlocking) return;
  if (stream.kind() == StreamKind::kBlocking) {
    const uint64_t number = legacy_->submitted();
    if (legacy_->completed() >= number ||
        stream.listed_.legacy_waited.load(std::memory_order_relaxed) >= number)
      return;
    stream.Append(WaitWork{legacy_, number});
    stream.listed_.legacy_waited.store(number, std::memory_order_relaxed);
    return;
  }
  if (blocking_count_.load() == 0) return;
  std::vector<std::shared_ptr<Stream>> streams;
  {
    std::lock_guard lock(lock_);
    streams.swap(blocking_);
    blocking_count_.store(0);
    prune_blocking_ = 64;
    for (const auto& blocking : streams) blocking->listed_.blocking.store(false);
  }
  for (const auto& blocking : streams) {
    const uint64_t number = blocking->submitted();
    if (blocking->completed() < number) stream.Append(WaitWork{blocking, number});
  }
}

// After the operation: a thread that takes a stream off a list reads its queue afterwards, so one of the two
// sees the other.
void StreamGroup::List(Stream& stream) {
  const bool blocking = stream.kind() == StreamKind::kBlocking;
  const bool list_busy = !stream.listed_.busy.load(),
             list_blocking = blocking && !stream.listed_.blocking.load();
  if (!list_busy && !list_blocking) return;
  std::lock_guard lock(lock_);
  if (list_busy && !stream.listed_.busy.exchange(true)) {
    busy_.push_back(stream.shared_from_this());
    Prune(busy_, prune_busy_, &Stream::Listed::busy);
  }
  if (list_blocking && !stream.listed_.blocking.exchange(true)) {
    blocking_.push_back(stream.shared_from_this());
    Prune(blocking_, prune_blocking_, &Stream::Listed::blocking);
    blocking_count_.store(blocking_.size());
  }
}

std::vector<Ticket> StreamGroup::Busy() {
  std::vector<Ticket> tickets;
  std::lock_guard lock(lock_);
  prune_busy_ = 0;
  Prune(busy_, prune_busy_, &Stream::Listed::busy);
  tickets.reserve(busy_.size());
  for (const auto& stream : busy_) tickets.push_back(stream->Last());
  return tickets;
}

bool StreamGroup::Idle() { return Busy().empty(); }

bool StreamGroup::BlockingIdle() {
  if (blocking_count_.load() == 0) return true;
  std::lock_guard lock(lock_);
  return std::ranges::all_of(blocking_, [](const auto& stream) { return stream->Idle(); });
}

void StreamGroup::Synchronize() {
  for (const Ticket& ticket : Busy()) ticket.Synchronize();
}

}  // namespace ptx2cpu::rt
