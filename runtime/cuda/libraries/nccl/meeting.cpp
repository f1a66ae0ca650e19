// The process that made a unique id, until all ranks have met. Any process may connect: only ranks know the
// name.
#include "runtime/cuda/libraries/nccl/meeting.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "runtime/cuda/libraries/nccl/region.h"

namespace ptx2cpu::nccl {

namespace {

struct Guest {
  Descriptor socket;
  bool local = false;
  bool known = false;  // a rank
  Hello hello = {};
  size_t got = 0;  // bytes of the message that is awaited
};

class Meeting {
 public:
  Meeting(const std::string& name, const Descriptor& local, const Descriptor& network)
      : name_(name), local_(local), network_(network) {}

  void Host() {
    if (!AwaitRanks()) return Send(Answer::kGone);
    std::ranges::sort(guests_, {}, [](const Guest& guest) { return guest.hello.rank; });
    if (std::ranges::all_of(guests_, &Guest::local)) {
      const Descriptor file(Region::MakeFile(ranks_));
      if (file) Send(Answer::kMemory, file.number());
      return;
    }
    Send(Answer::kNetwork);
    std::vector<Place> places(guests_.size());
    if (!Collect(places)) return;
    for (const Guest& guest : guests_) SendAll(guest.socket, places.data(), places.size() * sizeof(Place));
    std::vector<char> ready(guests_.size());
    if (!Collect(ready)) return;
    for (const Guest& guest : guests_) SendAll(guest.socket, ready.data(), 1);
  }

 private:
  enum class Read : uint8_t { kPart, kAll, kEnd };

  // More of a message, without waiting.
  static Read ReadMore(Guest& guest, void* message, size_t bytes) {
    const ssize_t got = recv(guest.socket.number(), static_cast<std::byte*>(message) + guest.got,
                             bytes - guest.got, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Read::kPart;
    if (got <= 0) return Read::kEnd;
    guest.got += static_cast<size_t>(got);
    return guest.got == bytes ? Read::kAll : Read::kPart;
  }

  std::vector<pollfd> Places() const {
    std::vector<pollfd> places;
    for (const Guest& guest : guests_) places.push_back({guest.socket.number(), POLLIN, 0});
    return places;
  }

  // False: a rank has ended meanwhile, or the system refuses.
  bool AwaitRanks() {
    while (ranks_ == 0 || present_ < ranks_) {
      std::vector<pollfd> places = Places();
      places.push_back({local_.number(), POLLIN, 0});
      places.push_back({network_.number(), POLLIN, 0});  // negative: ignored
      if (poll(places.data(), places.size(), -1) < 0 && errno != EINTR) return false;
      for (size_t i = 0; i < guests_.size(); ++i) {
        if (places[i].revents != 0 && !Hear(guests_[i])) return false;
      }
      std::erase_if(guests_, [](const Guest& guest) { return !guest.socket; });
      if (places[places.size() - 2].revents != 0)
        Admit({.socket = driver::AcceptFrom(local_), .local = true});
      if (places.back().revents != 0) Admit({.socket = AcceptPeer(network_)});
    }
    std::erase_if(guests_, [](const Guest& guest) { return !guest.known; });
    return true;
  }
  void Admit(Guest guest) {
    if (guest.socket) guests_.push_back(std::move(guest));
  }

  // False: a rank has ended.
  bool Hear(Guest& guest) {
    if (guest.known) return false;  // it sends nothing more
    const Read read = ReadMore(guest, &guest.hello, sizeof guest.hello);
    if (read == Read::kPart) return true;
    const Hello& hello = guest.hello;
    if (read == Read::kEnd || name_ != std::string(hello.name, strnlen(hello.name, kNameBytes)) ||
        hello.ranks < 1 || hello.rank < 0 || hello.rank >= hello.ranks) {
      guest.socket = {};
      return true;
    }
    if (ranks_ == 0) ranks_ = hello.ranks;
    const bool taken = std::ranges::any_of(
        guests_, [&](const Guest& other) { return other.known && other.hello.rank == hello.rank; });
    if (hello.ranks != ranks_ || taken) {
      Reply(guest, taken ? Answer::kTaken : Answer::kOtherCount);
      guest.socket = {};
      return true;
    }
    guest.known = true, guest.got = 0;
    ++present_;
    return true;
  }

  // A message of each rank, in their order. False: a rank has ended.
  template <typename Message>
  bool Collect(std::vector<Message>& messages) {
    for (Guest& guest : guests_) guest.got = 0;
    for (size_t complete = 0; complete < guests_.size();) {
      std::vector<pollfd> places = Places();
      if (poll(places.data(), places.size(), -1) < 0 && errno != EINTR) return false;
      for (size_t i = 0; i < guests_.size(); ++i) {
        if (places[i].revents == 0) continue;
        if (guests_[i].got == sizeof(Message)) return false;  // it sends nothing more
        const Read read = ReadMore(guests_[i], &messages[i], sizeof(Message));
        if (read == Read::kEnd) return false;
        complete += read == Read::kAll ? 1 : 0;
      }
    }
    return true;
  }

  static void Reply(const Guest& guest, Answer answer, int file = -1) {
    driver::SendWithFile(guest.socket, &answer, sizeof answer, file);
  }
  void Send(Answer answer, int file = -1) const {
    for (const Guest& guest : guests_) {
      if (guest.known) Reply(guest, answer, file);
    }
  }

  const std::string name_;
  const Descriptor& local_;
  const Descriptor& network_;
  std::vector<Guest> guests_;
  int ranks_ = 0, present_ = 0;
};

}  // namespace

void HostMeeting(const std::string& name, const Descriptor& local, const Descriptor& network) {
  Meeting(name, local, network).Host();
}

}  // namespace ptx2cpu::nccl
