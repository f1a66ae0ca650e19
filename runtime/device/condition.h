// The value that a conditional node of a graph tests. Device code sets it by a handle
// (cudaGraphSetConditional).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace ptx2cpu::rt {

class Condition {
 public:
  // Null: there are too many.
  static std::shared_ptr<Condition> New();
  // The condition of a handle. Null: it is not a handle, or its condition no longer exists. The caller
  // ensures that the graph of the condition exists.
  static Condition* Find(uint64_t handle);

  Condition() = default;
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  uint64_t handle() const { return handle_.load(std::memory_order_relaxed); }
  uint32_t value() const { return value_.load(std::memory_order_relaxed); }
  void Set(uint32_t value) { value_.store(value, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> handle_{0};  // 0: free
  std::atomic<uint32_t> value_{0};
};

}  // namespace ptx2cpu::rt
