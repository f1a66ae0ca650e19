#include "runtime/cuda/driver/memory/memory_advice.h"

namespace ptx2cpu::driver {

AdviceMap& AdviceMap::Get() {
  static auto* map = new AdviceMap;
  return *map;
}

void AdviceMap::SplitAt(uintptr_t address) {
  auto piece = pieces_.upper_bound(address);
  if (piece == pieces_.begin()) return;
  --piece;
  if (piece->first == address || piece->second.end <= address) return;
  pieces_.emplace(address, Piece{piece->second.end, piece->second.advice});
  piece->second.end = address;
}

void AdviceMap::Change(uintptr_t begin, uintptr_t end, const std::function<void(Advice&)>& change) {
  const std::lock_guard lock(mutex_);
  SplitAt(begin);
  SplitAt(end);
  for (uintptr_t at = begin; at < end;) {
    const auto piece = pieces_.lower_bound(at);
    if (piece != pieces_.end() && piece->first == at) {
      change(piece->second.advice);
      at = piece->second.end;
      continue;
    }
    const uintptr_t until = piece == pieces_.end() || piece->first > end ? end : piece->first;
    change(pieces_.emplace(at, Piece{until, {}}).first->second.advice);
    at = until;
  }
}

void AdviceMap::Look(uintptr_t begin, uintptr_t end, const std::function<void(const Advice&)>& look) const {
  const std::lock_guard lock(mutex_);
  auto piece = pieces_.upper_bound(begin);
  if (piece != pieces_.begin() && std::prev(piece)->second.end > begin) --piece;
  uintptr_t at = begin;
  for (; piece != pieces_.end() && piece->first < end; ++piece) {
    if (piece->first > at) look(Advice{});
    look(piece->second.advice);
    at = piece->second.end;
  }
  if (at < end) look(Advice{});
}

void AdviceMap::Forget(uintptr_t begin, uintptr_t end) {
  const std::lock_guard lock(mutex_);
  if (pieces_.empty()) return;
  SplitAt(begin);
  SplitAt(end);
  pieces_.erase(pieces_.lower_bound(begin), pieces_.lower_bound(end));
}

}  // namespace ptx2cpu::driver
