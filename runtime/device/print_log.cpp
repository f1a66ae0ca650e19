#include "runtime/device/print_log.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <vector>

namespace ptx2cpu::rt {

PrintLog::Shard* PrintLog::Shards() {
  if (Shard* made = shards_.load(std::memory_order_acquire)) return made;
  std::lock_guard lock(lock_);
  if (owned_ == nullptr) owned_ = std::make_unique<Shard[]>(kShards);
  shards_.store(owned_.get(), std::memory_order_release);
  return owned_.get();
}

void PrintLog::Append(unsigned worker, uint64_t block, std::string text, uint64_t limit) {
  if (text.empty()) return;
  Shard& shard = Shards()[worker % kShards];
  std::lock_guard lock(shard.lock);
  shard.bytes += text.size();
  shard.pieces.push_back({time_.fetch_add(1, std::memory_order_relaxed), block, std::move(text)});
  while (shard.bytes > limit && shard.pieces.size() > 1) {
    shard.bytes -= shard.pieces.front().text.size();
    shard.pieces.pop_front();
  }
}

void PrintLog::AppendError(std::string_view text) {
  std::lock_guard lock(lock_);
  errors_ += text;
}

std::string PrintLog::Take(Order order, uint64_t limit) {
  std::vector<Piece> pieces;
  if (Shard* shards = shards_.load(std::memory_order_acquire)) {
    for (Shard* shard = shards; shard != shards + kShards; ++shard) {
      std::ranges::move(shard->pieces, std::back_inserter(pieces));
      shard->pieces.clear();
      shard->bytes = 0;
    }
  }
  std::ranges::sort(pieces, {}, &Piece::time);
  uint64_t bytes = 0;
  auto kept = pieces.end();
  while (kept != pieces.begin() && (kept == pieces.end() || bytes + std::prev(kept)->text.size() <= limit)) {
    --kept;
    bytes += kept->text.size();
  }
  pieces.erase(pieces.begin(), kept);
  if (order == Order::kByBlock) std::ranges::stable_sort(pieces, {}, &Piece::block);
  std::string text;
  text.reserve(bytes);
  for (const Piece& piece : pieces) text += piece.text;
  return text;
}

}  // namespace ptx2cpu::rt
