// Copies and fills on the thread that runs the stream; large ones are jobs of the pool.
#include <algorithm>
#include <cinttypes>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <string>

#include "runtime/check/written_bytes.h"
#include "runtime/stream/executor.h"
#include "runtime/worker/fault.h"

namespace ptx2cpu::rt {

namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;  // what one thread claims of a large copy

// Pieces of rows: (row, first byte, bytes). A fault ends the job.
class TransferJob : public Job, public std::enable_shared_from_this<TransferJob> {
 public:
  TransferJob(size_t row_bytes, uint64_t rows)
      : row_bytes_(row_bytes),
        per_row_((row_bytes + kPieceBytes - 1) / kPieceBytes),
        rows_per_claim_(std::max<uint64_t>(1, kPieceBytes / row_bytes)),
        rows_(rows),
        total_(per_row_ > 1 ? per_row_ * rows : (rows + rows_per_claim_ - 1) / rows_per_claim_) {}

  void Work(unsigned worker, Arena& arena) override;
  bool Exhausted() const override {
    return next_.load(std::memory_order_relaxed) >= total_ || failed_.load();
  }
  void Break(const Failure& failure) override {
    if (!failed_.exchange(true))
      error = LaunchError{LaunchError::Kind::kInternal, std::string(name()) + ": " + failure.text};
  }
  std::optional<LaunchError> error;

 protected:
  virtual const char* name() const = 0;
  virtual void Piece(uint64_t row, size_t first, size_t bytes) = 0;

 private:
  void Claim(uint64_t index);

  const size_t row_bytes_, per_row_;
  const uint64_t rows_per_claim_, rows_, total_;
  std::atomic<uint64_t> next_{0};
  std::atomic<bool> failed_{false};
};

void TransferJob::Claim(uint64_t index) {
  if (per_row_ > 1) {
    const size_t first = index % per_row_ * kPieceBytes;
    return Piece(index / per_row_, first, std::min(kPieceBytes, row_bytes_ - first));
  }
  const uint64_t end = std::min(rows_, (index + 1) * rows_per_claim_);
  for (uint64_t row = index * rows_per_claim_; row < end; ++row) Piece(row, 0, row_bytes_);
}

void TransferJob::Work(unsigned, Arena&) {
  LandingPoint landing;
  LandingScope scope(landing);
  if (sigsetjmp(landing.jump, 0) != 0) {
    UnblockFaultSignals();
    if (failed_.exchange(true)) return;
    char text[96];
    std::snprintf(text, sizeof text, "%s: bad address 0x%" PRIxPTR, name(), landing.record.address);
    error = LaunchError{LaunchError::Kind::kFault, text, landing.record.kind};
    error->pc = landing.record.pc, error->address = landing.record.address;
    return;
  }
  if (total_ > 1)
    ThreadPool::Get().RequestHelp(*this, static_cast<unsigned>(std::min<uint64_t>(total_ - 1, 1 << 16)));
  while (!failed_.load(std::memory_order_relaxed)) {
    const uint64_t index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= total_) return;
    Claim(index);
  }
}

class CopyJob final : public TransferJob {
 public:
  explicit CopyJob(const CopyWork& copy)
      : TransferJob(copy.width, uint64_t{copy.height} * copy.depth), copy_(copy) {}

 private:
  const char* name() const override { return "copy"; }
  void Piece(uint64_t row, size_t first, size_t bytes) override {
    const size_t y = row % copy_.height, z = row / copy_.height;
    std::byte* const to = copy_.to + z * copy_.to_slice + y * copy_.to_pitch + first;
    const std::byte* const from = copy_.from + z * copy_.from_slice + y * copy_.from_pitch + first;
    check::NoteHostWrite(to, from, bytes);
    std::memcpy(to, from, bytes);
  }
  const CopyWork copy_;
};

class FillJob final : public TransferJob {
 public:
  explicit FillJob(const FillWork& fill)
      : TransferJob(fill.width * fill.value_bytes, fill.height), fill_(fill) {}

 private:
  const char* name() const override { return "fill"; }
  void Piece(uint64_t row, size_t first, size_t bytes) override {
    std::byte* to = fill_.to + row * fill_.pitch + first;
    check::NoteHostWrite(to, nullptr, bytes);
    if (fill_.value_bytes == 1) {
      std::memset(to, static_cast<int>(fill_.value & 0xff), bytes);
    } else if (fill_.value_bytes == 2) {
      FillElements(to, static_cast<uint16_t>(fill_.value), bytes);
    } else {
      FillElements(to, fill_.value, bytes);
    }
  }
  template <typename T>
  static void FillElements(std::byte* to, T value, size_t bytes) {
    for (size_t i = 0; i < bytes; i += sizeof value) std::memcpy(to + i, &value, sizeof value);
  }
  const FillWork fill_;
};

std::optional<LaunchError> RunTransfer(const std::shared_ptr<TransferJob>& job, RunContext& context) {
  ThreadPool::Get().Run(job, 0, context.worker, context.arena);
  return std::move(job->error);
}

}  // namespace

std::optional<LaunchError> RunCopy(const CopyWork& work, RunContext& context) {
  if (work.width == 0 || work.height == 0 || work.depth == 0) return std::nullopt;
  return RunTransfer(std::make_shared<CopyJob>(work), context);
}

std::optional<LaunchError> RunFill(const FillWork& work, RunContext& context) {
  if (work.width == 0 || work.height == 0) return std::nullopt;
  return RunTransfer(std::make_shared<FillJob>(work), context);
}

}  // namespace ptx2cpu::rt
