#include "runtime/stream/event.h"

#include "runtime/stream/stream_group.h"

namespace ptx2cpu::rt {

Event::Event(bool timed) : timed_(timed), state_(std::make_shared<EventState>()) {}

void Event::Record(Stream& stream) {
  const uint64_t record = state_->latest_record.fetch_add(1) + 1;
  const uint64_t number = stream.Submit(RecordWork{state_, record});
  std::lock_guard lock(lock_);
  if (record != state_->latest_record.load()) return;  // recorded again by another thread
  recorded_ = true;
  ticket_ = stream.At(number);
  launch_ = {};
}

void Event::SetTicket(Ticket waiter, Ticket launch) {
  std::lock_guard lock(lock_);
  recorded_ = true;
  ticket_ = std::move(waiter);
  launch_ = std::move(launch);
}

bool Event::Query() const {
  Ticket ticket, launch;
  {
    std::lock_guard lock(lock_);
    ticket = ticket_;
    launch = launch_;
  }
  return ticket.Done() || (launch.stream != nullptr && launch.Done());
}

Ticket Event::ticket() const {
  std::lock_guard lock(lock_);
  return ticket_;
}

bool Event::recorded() const {
  std::lock_guard lock(lock_);
  return recorded_;
}

int64_t Event::nanoseconds() const { return state_->nanoseconds.load(); }

double Event::MillisecondsSince(const Event& earlier) const {
  return static_cast<double>(nanoseconds() - earlier.nanoseconds()) * 1e-6;
}

}  // namespace ptx2cpu::rt
