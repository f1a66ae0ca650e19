#include "runtime/cuda/driver/graph/graph_footprint.h"

#include <algorithm>

namespace ptx2cpu::driver {

GraphFootprint& GraphFootprint::Get() {
  static GraphFootprint& footprint = *new GraphFootprint;
  return footprint;
}

size_t GraphFootprint::Used(int device) const {
  size_t used = 0;
  for (const Piece& piece : pieces_) used += piece.device == device ? piece.bytes : 0;
  return used;
}

size_t& GraphFootprint::High(int device) {
  const auto place = static_cast<size_t>(device);
  if (high_.size() <= place) high_.resize(place + 1);
  return high_[place];
}

GraphFootprint::Piece& GraphFootprint::Find(const MemoryStep& step, const rt::Ticket& ticket) {
  Piece* best = nullptr;
  for (Piece& piece : pieces_) {
    if (piece.address == step.address) return piece;  // left by the launch before, which the next one frees
    const bool usable = piece.address == 0 && piece.device == step.device && piece.bytes >= step.bytes &&
                        (piece.last.stream == ticket.stream || piece.last.Done());
    if (usable && (best == nullptr || piece.bytes < best->bytes)) best = &piece;
  }
  return best != nullptr ? *best : pieces_.emplace_back(Piece{step.bytes, step.device, 0, {}});
}

void GraphFootprint::Launch(std::span<const MemoryStep> steps, const rt::Ticket& ticket) {
  if (steps.empty()) return;
  std::lock_guard lock(mutex_);
  for (const MemoryStep& step : steps) {
    if (step.bytes != 0) {
      Piece& piece = Find(step, ticket);
      piece.address = step.address;
      piece.last = ticket;
      High(step.device) = std::max(High(step.device), Used(step.device));
      continue;
    }
    const auto piece = std::ranges::find(pieces_, step.address, &Piece::address);
    if (piece == pieces_.end()) continue;
    piece->address = 0;
    piece->last = ticket;
  }
}

void GraphFootprint::Free(cuda::CUdeviceptr address) {
  std::lock_guard lock(mutex_);
  const auto piece = std::ranges::find(pieces_, address, &Piece::address);
  if (piece != pieces_.end()) piece->address = 0;
}

void GraphFootprint::Trim(int device) {
  std::lock_guard lock(mutex_);
  std::erase_if(pieces_, [&](const Piece& piece) {
    return piece.device == device && piece.address == 0 && piece.last.Done();
  });
}

GraphFootprint::Sizes GraphFootprint::SizesOf(int device) {
  std::lock_guard lock(mutex_);
  return {Used(device), High(device)};
}

void GraphFootprint::ResetHigh(int device) {
  std::lock_guard lock(mutex_);
  High(device) = Used(device);
}

}  // namespace ptx2cpu::driver
