// An array whose elements begin as zero bytes, and of which only pages that are touched take memory.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace ptx2cpu::rt::check {

template <typename T>
class ZeroArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  ZeroArray() = default;
  // Throws bad_alloc.
  // `is_dense`: most of what lies near an element that is touched will be, so that large pages pay.
  explicit ZeroArray(size_t count, bool is_dense = false) : size_(count) {
    void* const memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (is_dense) madvise(memory, count * sizeof(T), MADV_HUGEPAGE);  // refused: only slower
#endif
    elements_ = static_cast<T*>(memory);
  }
  ZeroArray(ZeroArray&& other) noexcept
      : elements_(std::exchange(other.elements_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  ZeroArray& operator=(ZeroArray&& other) noexcept {
    std::swap(elements_, other.elements_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~ZeroArray() {
    if (elements_ != nullptr) munmap(elements_, size_ * sizeof(T));
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return elements_[i]; }
  const T& operator[](size_t i) const { return elements_[i]; }

 private:
  T* elements_ = nullptr;
  size_t size_ = 0;
};

}  // namespace ptx2cpu::rt::check
