#include "runtime/check/phase_objects.h"

#include "runtime/abi/mbarrier.h"

namespace ptx2cpu::rt::check {

void CountedUses::Arrive(uint32_t thread, uint32_t barrier, const Knowledge& knowledge) {
  if (turns_.empty()) {
    turns_.resize(threads_);
    for (auto& uses : uses_) uses = {};
  }
  const uint32_t number = barrier % kBarriers, turn = turns_[thread][number]++;
  Use& use = uses_[number][turn % 2];
  if (use.turn != turn) use = {turn, {}};
  use.knowledge.Join(knowledge);
}

const Knowledge* CountedUses::Leave(uint32_t thread, uint32_t barrier) const {
  if (turns_.empty()) return nullptr;
  const uint32_t number = barrier % kBarriers, turn = turns_[thread][number] - 1u;
  const Use& use = uses_[number][turn % 2];
  return use.turn == turn ? &use.knowledge : nullptr;
}

void PhaseObject::Complete() {
  known_.Join(pending_);
  pending_ = {};
  copies_.insert(copies_.end(), pending_copies_.begin(), pending_copies_.end());
  pending_copies_.clear();
}

void PhaseObject::Look(uint64_t found) {
  if (found == memory_) return;
  if ((found ^ now_) >> mbarrier::kPhaseShift != 0) Complete();
  memory_ = now_ = found;
}

void PhaseObject::Change(uint64_t change) {
  if (change == ~uint64_t{0}) return;
  const uint64_t next = mbarrier::Update(now_, change);
  if ((next ^ now_) >> mbarrier::kPhaseShift != 0) Complete();
  now_ = next;
}

void PhaseObjects::Begin() {
  tested_.clear();
  objects_.clear();
  hull_ = {};
}

PhaseObject& PhaseObjects::At(uint64_t address, uint64_t memory) {
  PhaseObject& object = objects_.try_emplace(address, memory).first->second;
  hull_.Add(address);
  object.Look(memory);
  return object;
}

bool PhaseObjects::IsIncomplete(uint32_t thread, uint64_t memory) const {
  const auto tested = tested_.find(thread);
  return tested != tested_.end() && tested->second == memory >> mbarrier::kPhaseShift;
}

}  // namespace ptx2cpu::rt::check
