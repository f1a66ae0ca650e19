// Exchange between the ranks of several machines: all elements go over connections between each two ranks.
//
// A reduction has two rounds, as the usual ring has, and moves as many bytes: each rank receives its segment
// of the elements from all others, reduces it in the order of the ranks, and passes the result on. Small ones
// have one round: all ranks reduce everything.
#pragma once

#include <vector>

#include "runtime/cuda/libraries/nccl/exchange.h"
#include "runtime/cuda/libraries/nccl/mesh.h"

namespace ptx2cpu::nccl {

class NetExchange : public Exchange {
 public:
  NetExchange(int rank, std::vector<Descriptor> peers);

  int ranks() const override { return ranks_; }
  cuda::ncclResult_t Join() override { return cuda::ncclSuccess; }
  Outcome Collective(const Operation& operation) override;
  Outcome Messages(std::span<const Operation> operations) override;
  Outcome Pass(const Card& own, std::vector<Card>& all) override;
  void Leave() override { mesh_.Close(); }
  void Abort() override { mesh_.Close(); }

 private:
  struct Work;
  Outcome Move(const Work& work);
  Outcome Broadcast(const Work& work);
  Outcome ReduceInPieces(const Work& work);
  Outcome ReducePiece(const Work& work, size_t at, size_t count, bool small);
  Outcome PassResults(const Work& work, size_t at, size_t count, std::byte* own);
  Outcome Scatter(const Work& work);

  Mesh mesh_;
  const int rank_, ranks_;
  std::vector<std::byte> received_;  // of all ranks, one after the other
};

}  // namespace ptx2cpu::nccl
