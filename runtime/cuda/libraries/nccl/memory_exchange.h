// Exchange between the ranks of one machine. Ranks of one process read each other's buffers. Ranks of several
// processes pass their elements in pieces through the stages of the region that they share.
#pragma once

#include <memory>

#include "runtime/cuda/libraries/nccl/exchange.h"
#include "runtime/cuda/libraries/nccl/region.h"

namespace ptx2cpu::nccl {

class MemoryExchange : public Exchange {
 public:
  MemoryExchange(std::shared_ptr<Region> region, int rank);

  int ranks() const override { return ranks_; }
  cuda::ncclResult_t Join() override;
  Outcome Collective(const Operation& operation) override;
  Outcome Messages(std::span<const Operation> operations) override;
  Outcome Pass(const Card& own, std::vector<Card>& all) override;
  void Leave() override { region_.Leave(rank_); }
  void Abort() override { region_.Abort(); }

 private:
  struct Message;
  Announcement& AnnouncementOf(int rank, uint64_t number) const {
    return region_.part(rank).announcements[number % 2];
  }
  const Announcement& Shown(int rank) const { return AnnouncementOf(rank, number_ - 1); }
  Outcome Announce(const Operation& operation);
  Outcome AwaitAnnouncements();
  Outcome ReduceDirectly(const Operation& operation);
  Outcome MoveDirectly(const Operation& operation);
  Outcome ReduceInStages(const Operation& operation);
  Outcome ScatterInStages(const Operation& operation);
  Outcome MoveInStages(const Operation& operation);
  bool Direct(int peer) const { return region_.part(peer).process == region_.part(rank_).process; }
  bool Advance(Message& message);
  bool AdvanceSend(Message& message, Channel& channel);
  bool AdvanceReceive(Message& message, Channel& channel);

  const std::shared_ptr<Region> shared_;
  Region& region_;
  const int rank_, ranks_;
  bool direct_ = false;  // all ranks are of this process
  uint64_t number_ = 0;  // of collectives
  unsigned turn_ = 0;    // which area of the stages is next
};

}  // namespace ptx2cpu::nccl
