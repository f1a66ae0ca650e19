#include "runtime/cuda/libraries/nccl/mesh.h"

#include <poll.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>

namespace ptx2cpu::nccl {

namespace {

// The system refuses bytes at a bad address without a signal. Accessing the bytes first makes the fault
// appear at its address, and commits pages of our own memory.
void Touch(const void* data, size_t bytes, bool write) {
  constexpr size_t kPage = 4096;
  auto* const at = static_cast<volatile char*>(const_cast<void*>(data));
  for (size_t i = 0; i < bytes; i += std::min(kPage, bytes - i)) {
    const char value = at[i];
    if (write) at[i] = value;
  }
}

}  // namespace

// Transfers with one rank in one direction.
struct Mesh::Queue {
  int peer;
  bool sends;
  std::deque<Transfer*> waiting;
  Header read = {};  // of the first, as far as it has come
};

Mesh::Mesh(int rank, std::vector<Descriptor> peers) : rank_(rank), peers_(std::move(peers)) {}

void Mesh::Close() {
  closed_ = true;
  for (const Descriptor& peer : peers_) {
    if (peer) shutdown(peer.number(), SHUT_RDWR);
  }
}

Mesh::Step Mesh::Send(Transfer& transfer) const {
  const size_t head = std::min(transfer.done, sizeof transfer.header), body = transfer.done - head;
  auto* const bytes = static_cast<std::byte*>(const_cast<void*>(transfer.from));
  iovec parts[] = {{reinterpret_cast<std::byte*>(&transfer.header) + head, sizeof transfer.header - head},
                   {bytes + body, transfer.header.bytes - body}};
  msghdr message{};
  message.msg_iov = parts, message.msg_iovlen = 2;
  const ssize_t sent =
      sendmsg(peers_[static_cast<size_t>(transfer.peer)].number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) {
    transfer.done += static_cast<size_t>(sent);
    return Step::kAdvanced;
  }
  if (errno == EFAULT) Touch(bytes + body, transfer.header.bytes - body, false);
  if (errno == EINTR || errno == EFAULT) return Step::kAdvanced;
  return errno == EAGAIN ? Step::kWaits : Step::kGone;
}

Mesh::Step Mesh::Receive(Transfer& transfer, Header& read) const {
  const bool begins = transfer.done < sizeof read;
  const size_t body = begins ? 0 : transfer.done - sizeof read;
  auto* const bytes = static_cast<std::byte*>(transfer.to);
  std::byte* const at = begins ? reinterpret_cast<std::byte*>(&read) + transfer.done : bytes + body;
  const size_t left = begins ? sizeof read - transfer.done : transfer.header.bytes - body;
  const ssize_t got = recv(peers_[static_cast<size_t>(transfer.peer)].number(), at, left, MSG_DONTWAIT);
  if (got == 0) return Step::kGone;
  if (got < 0) {
    if (errno == EFAULT) Touch(at, left, true);
    if (errno == EINTR || errno == EFAULT) return Step::kAdvanced;
    return errno == EAGAIN ? Step::kWaits : Step::kGone;
  }
  transfer.done += static_cast<size_t>(got);
  if (begins && transfer.done == sizeof read) {
    if (!(read.shape == transfer.header.shape) || read.bytes != transfer.header.bytes) return Step::kMismatch;
    transfer.header = read;
  }
  return Step::kAdvanced;
}

Mesh::Step Mesh::Advance(Transfer& transfer, Header& read) const {
  return transfer.sends ? Send(transfer) : Receive(transfer, read);
}

Outcome Mesh::MoveToItself(std::span<Transfer> transfers) const {
  std::deque<Transfer*> sends, receives;
  for (Transfer& transfer : transfers) {
    if (transfer.peer == rank_) (transfer.sends ? sends : receives).push_back(&transfer);
  }
  if (sends.size() != receives.size()) return Outcome::kMismatch;
  for (size_t i = 0; i < sends.size(); ++i) {
    const Header& sent = sends[i]->header;
    Header& expected = receives[i]->header;
    if (!(sent.shape == expected.shape) || sent.bytes != expected.bytes) return Outcome::kMismatch;
    expected = sent;
    if (sent.bytes != 0) std::memmove(receives[i]->to, sends[i]->from, sent.bytes);
  }
  return Outcome::kDone;
}

Outcome Mesh::Move(std::span<Transfer> transfers) {
  if (const Outcome outcome = MoveToItself(transfers); outcome != Outcome::kDone) return outcome;
  std::vector<Queue> queues;
  for (Transfer& transfer : transfers) {
    if (transfer.peer == rank_) continue;
    auto queue = std::ranges::find_if(queues, [&](const Queue& other) {
      return other.peer == transfer.peer && other.sends == transfer.sends;
    });
    if (queue == queues.end())
      queue = queues.insert(queue, {.peer = transfer.peer, .sends = transfer.sends, .waiting = {}});
    queue->waiting.push_back(&transfer);
  }
  while (!queues.empty()) {
    std::vector<pollfd> places;
    for (Queue& queue : queues) {
      while (!queue.waiting.empty()) {
        Transfer& first = *queue.waiting.front();
        const Step step = Advance(first, queue.read);
        if (step == Step::kMismatch) return Outcome::kMismatch;
        if (step == Step::kGone || closed_) return Outcome::kGone;
        if (step == Step::kWaits) break;
        if (first.over()) queue.waiting.pop_front();
      }
      if (queue.waiting.empty()) continue;
      const auto events = static_cast<short>(queue.sends ? POLLOUT : POLLIN);
      places.push_back({peers_[static_cast<size_t>(queue.peer)].number(), events, 0});
    }
    std::erase_if(queues, [](const Queue& queue) { return queue.waiting.empty(); });
    if (!queues.empty()) poll(places.data(), places.size(), -1);
  }
  return Outcome::kDone;
}

}  // namespace ptx2cpu::nccl
