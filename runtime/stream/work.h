// One operation of a stream as plain data: it is queued on a stream, kept in a graph's node, or replayed by a
// graph. Addresses are host addresses, sizes in bytes unless stated otherwise.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/launch/launch.h"

namespace ptx2cpu::rt {

class Stream;
struct EventState;

// A kernel's parameter buffer: owned, without an allocation up to kInlineBytes, on 16 bytes.
class ParameterBlock {
 public:
  static constexpr size_t kInlineBytes = 256;

  ParameterBlock() = default;
  explicit ParameterBlock(std::span<const std::byte> bytes) {
    std::byte* to = Resize(bytes.size());
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  }
  ParameterBlock(const ParameterBlock& other) : ParameterBlock(other.bytes()) {}
  ParameterBlock(ParameterBlock&& other) noexcept { Take(other); }
  ParameterBlock& operator=(ParameterBlock other) noexcept {
    large_.reset();
    Take(other);
    return *this;
  }

  // Sets the block's size; contents are undefined until written.
  std::byte* Resize(size_t size) {
    large_ = size > kInlineBytes ? std::make_unique_for_overwrite<std::byte[]>(size) : nullptr;
    size_ = size;
    return data();
  }
  std::byte* data() { return large_ ? large_.get() : small_; }
  const std::byte* data() const { return large_ ? large_.get() : small_; }
  size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data(), size_}; }

 private:
  void Take(ParameterBlock& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    large_ = std::move(other.large_);
    if (!large_) std::memcpy(small_, other.small_, size_);
  }

  size_t size_ = 0;
  std::unique_ptr<std::byte[]> large_;
  alignas(16) std::byte small_[kInlineBytes];
};

struct KernelWork;
// Called once, on the thread that ran the kernel, with the reason why it did not run to its end; may add to
// the reason.
using FaultReporter = std::function<void(const KernelWork& work, LaunchError&)>;

// Code of a kernel, and what may replace it (later_code.h); null: it is final. Both live as long as
// KernelWork::keep.
struct LaunchCode {
  const ptx2cpu_kernel* kernel = nullptr;
  LaterCode* later = nullptr;
};

// Runs `launch`, which is the kernel's, and sees memory before and after it. Null in most processes.
class LaunchWitness {
 public:
  virtual std::optional<LaunchError> Around(const KernelWork& work,
                                            const std::function<std::optional<LaunchError>()>& launch) = 0;

 protected:
  ~LaunchWitness() = default;
};

// The submitting code has checked the shape (CheckShape, MaxCooperativeBlocks). Device printf is written
// to stdout when the kernel has ended.
struct KernelWork {
  const ptx2cpu_kernel* kernel = nullptr;
  LaunchShape shape;
  bool cooperative = false;
  ParameterBlock params;
  std::shared_ptr<const void> keep;    // what `kernel` lives in
  FaultReporter report;                // may be empty; beside the stream's ErrorState
  DeviceServices* services = nullptr;  // outlive the work; null: those of the process
  LaterCode* later = nullptr;          // LaunchCode's
  // For work that graphs keep: each run calls this for the best code that exists then. Null: it runs
  // `kernel`.
  LaunchCode (*latest)(const KernelWork& work) = nullptr;
  LaunchWitness* witness = nullptr;  // outlives the process's streams
};

// height and depth count rows and slices; pitches are from row to row, slice to slice.
struct CopyWork {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  size_t width = 0, height = 1, depth = 1;
  size_t from_pitch = 0, from_slice = 0, to_pitch = 0, to_slice = 0;
};

struct FillWork {
  std::byte* to = nullptr;
  uint32_t value = 0;
  uint8_t value_bytes = 1;  // 1, 2 or 4: the low bytes of `value`
  size_t width = 0;         // elements in a row
  size_t height = 1;
  size_t pitch = 0;  // bytes
};

// Runs on the host-function thread; the stream waits for it.
struct HostWork {
  void (*function)(void*) = nullptr;
  void* data = nullptr;
  bool always = false;  // also after a fault
};

// Runs on whichever thread runs the stream. Must not wait for streams.
struct CallWork {
  std::function<void()> run;
  bool always = false;  // also after a fault: work that frees memory
};

// The stream waits until this returns true; called repeatedly, from any thread, so it must be cheap.
struct PollWork {
  std::function<bool()> ready;
};

// Takes the time for an event (event.h makes these) while that is its latest record.
struct RecordWork {
  std::shared_ptr<EventState> event;
  uint64_t record = 0;
};

// Waits until `stream` has done everything up to `number` (Stream::WaitFor makes these); without a stream:
// nothing to wait for. Not within a sequence.
struct WaitWork {
  std::shared_ptr<Stream> stream;
  uint64_t number = 0;
};

// A gate that a graph launch opens while it runs; streams wait for it.
class Gate;
struct GateWork {
  std::shared_ptr<Gate> gate;
  WaitWork launch;  // the launch that opens it, so that a waiting thread can run that launch itself
};

// In a graph: waits for the ticket that the launch has at this number (LaunchData::waits).
struct LaunchWaitWork {
  uint32_t slot = 0;
};

// In a graph: takes the time for an event, and opens a gate of the launch (LaunchData::gates).
struct LaunchRecordWork {
  std::shared_ptr<EventState> event;
  uint32_t slot = 0;
};

class Condition;
struct Branches;

// Parts of a graph side by side; done when all are.
struct BranchesWork {
  std::shared_ptr<const Branches> branches;
};

struct SequenceWork;
struct ConditionalWork;

using Work = std::variant<std::monostate, KernelWork, CopyWork, FillWork, HostWork, CallWork, PollWork,
                          RecordWork, WaitWork, GateWork, LaunchWaitWork, LaunchRecordWork, BranchesWork,
                          ConditionalWork, SequenceWork>;

// For visitors that treat several kinds alike: they name the kinds, so that a new kind needs a decision.
template <typename T, typename... Kinds>
concept OneOf = (std::is_same_v<T, Kinds> || ...);

// The data that differs between launches of one graph.
struct LaunchData {
  std::vector<WaitWork> waits;
  std::vector<std::shared_ptr<Gate>> gates;
};

// Steps in order. A graph launch is one of these as one operation; within it they nest.
using Steps = std::vector<Work>;
struct SequenceWork {
  std::shared_ptr<const Steps> steps;
  std::shared_ptr<const LaunchData> launch = {};  // of the operation; may be null if nothing within needs it
};

// The work that a condition's value selects: kIf runs bodies[0] where it is not 0, else bodies[1] if there is
// one; kWhile repeats the body while it is not 0; kSwitch runs the body with that number.
struct ConditionalWork {
  enum class Kind : uint8_t { kIf, kWhile, kSwitch };
  Kind kind = Kind::kIf;
  std::shared_ptr<const Condition> condition;
  std::vector<std::shared_ptr<const Steps>> bodies;
};

// Each lane is a queue of its own; `after` names earlier parts that must be done first.
struct Branches {
  struct Part {
    uint32_t lane = 0;
    std::vector<uint32_t> after;
    std::shared_ptr<const Steps> steps;
  };
  uint32_t lanes = 0;
  std::vector<Part> parts;
  std::shared_ptr<const Steps> own;  // what the stream itself does meanwhile; may be null
};

}  // namespace ptx2cpu::rt
