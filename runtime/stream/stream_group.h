// The streams of one context: their sticky error, the order between the legacy default stream and blocking
// streams, and waiting for all of them. Costs nothing for streams that are idle.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/stream/stream.h"

namespace ptx2cpu::rt {

class StreamGroup {
 public:
  StreamGroup();
  // Waits for all work. Streams may outlive their group, but take no more work.
  ~StreamGroup();
  StreamGroup(const StreamGroup&) = delete;
  StreamGroup& operator=(const StreamGroup&) = delete;

  Stream& legacy() { return *legacy_; }
  std::shared_ptr<Stream> NewStream(StreamKind kind, int priority = 0);
  // Waits for everything that was queued on any stream of the group.
  void Synchronize();
  // True when no stream has work.
  bool Idle();
  // True when nothing is queued that the legacy stream would wait for.
  bool BlockingIdle();
  const std::shared_ptr<ErrorState>& errors() const { return errors_; }

 private:
  friend class Stream;
  // Queues the waits that the legacy rules require before the next operation.
  void Order(Stream& stream);
  // After an operation was queued.
  void List(Stream& stream);
  std::vector<Ticket> Busy();
  // Drops idle streams from a list; the flag states that a stream is in it.
  static void Prune(std::vector<std::shared_ptr<Stream>>& list, size_t& limit,
                    std::atomic<bool> Stream::Listed::* flag);

  const std::shared_ptr<ErrorState> errors_;
  std::shared_ptr<Stream> legacy_;
  SpinLock lock_;
  std::vector<std::shared_ptr<Stream>> busy_;      // had work since they were last seen idle
  std::vector<std::shared_ptr<Stream>> blocking_;  // had work that the legacy stream does not wait for yet
  std::atomic<size_t> blocking_count_{0};          // of blocking_
  size_t prune_busy_ = 64, prune_blocking_ = 64;   // sizes at which idle ones are dropped
};

}  // namespace ptx2cpu::rt
