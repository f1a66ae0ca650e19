// Handles are addresses of objects of this library. One registry lists the live ones, so that a handle that
// never existed, or no longer exists, is an error and not a crash. A query takes no lock: it is part of every
// launch.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace ptx2cpu::driver {

enum class HandleKind : uint16_t {
  kContext = 1,
  kModule,
  kFunction,
  kLibrary,
  kKernel,
  kLinkState,
  kStream,
  kEvent,
  kGraph,
  kGraphNode,
  kGraphExec,
  kUserObject,
  kArray,
  kMipmappedArray,
  kTexref,
  kSurfref,
  kMemoryPool,
  kTextureObject,
  kSurfaceObject,
};

class Handles {
 public:
  static Handles& Get();

  void Add(const void* object, HandleKind kind);
  // False: it was not registered. The caller that gets true destroys the object.
  bool Remove(const void* object, HandleKind kind);
  bool Has(const void* object, HandleKind kind) const;
  // The objects of one kind, in no order.
  std::vector<const void*> All(HandleKind kind) const;
  size_t count() const;

 private:
  // Open addressing over words of address and kind; a word that goes leaves a tombstone. An outgrown table is
  // kept, since threads may still read it.
  struct Table {
    explicit Table(size_t capacity);
    const size_t mask;
    const std::unique_ptr<std::atomic<uint64_t>[]> words;
  };

  Handles();
  static uint64_t WordOf(const void* object, HandleKind kind);
  static size_t Hash(uint64_t word);
  void Grow();
  std::atomic<uint64_t>* Find(const Table& table, uint64_t word) const;

  mutable std::mutex mutex_;  // writers
  std::vector<std::unique_ptr<Table>> tables_;
  std::atomic<Table*> table_;
  size_t used_ = 0, live_ = 0;  // words that are not empty; of them, handles
};

// A class T with handles declares `using Handle = cuda::CUstream; static constexpr HandleKind kKind = ...;`.
// The object, or null for what is not a live handle of T.
template <typename T>
T* From(typename T::Handle handle) {
  T* object = reinterpret_cast<T*>(handle);
  return Handles::Get().Has(object, T::kKind) ? object : nullptr;
}

template <typename T>
typename T::Handle HandleOf(const T* object) {
  return reinterpret_cast<typename T::Handle>(const_cast<T*>(object));
}

// Hands the object to the program: registered until Release.
template <typename T>
typename T::Handle Publish(std::unique_ptr<T> object) {
  Handles::Get().Add(object.get(), T::kKind);
  return HandleOf(object.release());
}

// Takes the object back from the program; null for what is not a live handle.
template <typename T>
std::unique_ptr<T> Withdraw(typename T::Handle handle) {
  T* object = reinterpret_cast<T*>(handle);
  if (!Handles::Get().Remove(object, T::kKind)) return nullptr;
  return std::unique_ptr<T>(object);
}

}  // namespace ptx2cpu::driver
