// Operations of a stream, in order. Their memory is reused: they move from list to list.
#pragma once

#include <cstddef>
#include <utility>

#include "runtime/stream/work.h"

namespace ptx2cpu::rt {

struct Operation {
  Work work;
  Operation* next = nullptr;
};

// A list owns its operations.
class OperationList {
 public:
  OperationList() = default;
  ~OperationList() {
    while (first_ != nullptr) delete PopFront();
  }
  OperationList(OperationList&& other) noexcept { swap(other); }
  OperationList& operator=(OperationList&& other) noexcept {
    swap(other);
    return *this;
  }

  Operation* first() const { return first_; }
  size_t count() const { return count_; }
  void PushFront(Operation* operation) {
    operation->next = first_;
    if (first_ == nullptr) last_ = operation;
    first_ = operation;
    ++count_;
  }
  void PushBack(Operation* operation) {
    operation->next = nullptr;
    (first_ != nullptr ? last_->next : first_) = operation;
    last_ = operation;
    ++count_;
  }
  Operation* PopFront() {
    --count_;
    return std::exchange(first_, first_->next);
  }
  // Takes all operations of the other list and puts them before those of this one.
  void TakeInFront(OperationList& other) {
    if (other.first_ == nullptr) return;
    if (first_ == nullptr) return swap(other);
    other.last_->next = first_;
    first_ = std::exchange(other.first_, nullptr);
    count_ += std::exchange(other.count_, 0);
  }

 private:
  void swap(OperationList& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
    std::swap(count_, other.count_);
  }

  Operation* first_ = nullptr;
  Operation* last_ = nullptr;  // while there is a first one
  size_t count_ = 0;
};

}  // namespace ptx2cpu::rt
