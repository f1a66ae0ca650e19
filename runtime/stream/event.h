// Events: a place in a stream, and when it was reached.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "runtime/stream/stream.h"

namespace ptx2cpu::rt {

struct EventState {
  std::atomic<uint64_t> latest_record{0};
  std::atomic<int64_t> nanoseconds{0};  // steady clock
};

class Event {
 public:
  explicit Event(bool timed = true);

  // Records everything queued on the stream so far. An event may be recorded again; it is then that of the
  // latest record.
  void Record(Stream& stream);
  // For a graph: work that takes this event's time and opens a gate of the launch; SetTicket sets the waiter
  // for it. The event is done at the latest when the launch is, even if the waiter has not run yet.
  LaunchRecordWork WorkForGraph(uint32_t slot) const { return {state_, slot}; }
  void SetTicket(Ticket waiter, Ticket launch);

  // The latest record; done when the event was never recorded.
  Ticket ticket() const;
  bool recorded() const;
  bool timed() const { return timed_; }
  bool Query() const;
  void Synchronize() const { ticket().Synchronize(); }
  // Both must be timed, recorded and done.
  double MillisecondsSince(const Event& earlier) const;
  int64_t nanoseconds() const;

 private:
  const bool timed_;
  const std::shared_ptr<EventState> state_;
  mutable SpinLock lock_;
  bool recorded_ = false;
  Ticket ticket_;
  Ticket launch_;  // of a graph, whose ticket_ may be done later than it
};

}  // namespace ptx2cpu::rt
